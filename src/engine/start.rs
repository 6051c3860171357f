//! What a request starts from: scoped code, references, what the project is checked with.
//!
//! Invariant: gathered once for each attempt and journaled; a restart sees the same bytes. Absent: deciding what a
//! model may do with it.

use super::overlay::Overlay;
use super::world::World;
use crate::domain::agent::CallForm;
use crate::domain::change::Entry;
use crate::domain::context::{self, Scope, Texts};
use crate::domain::ids::*;
use crate::domain::policy::detect::{self, Detected, MANIFESTS};
use crate::domain::policy::paths;
use crate::domain::task::action::{Goal, Place};
use crate::ports::{Listed, Source};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a context may be made from. Secret files have no text here.
async fn text(world: &World, over: &Overlay, path: &WorkspacePath) -> Option<Arc<str>> {
    if paths::is_secret(path) {
        return None;
    }
    let entry = match over.get(path) {
        Some(entry) => entry.clone(),
        None => world.workspace.read(path).await.ok()?,
    };
    match entry {
        Entry::File { text, .. } => Some(text),
        Entry::Absent => None,
    }
}

/// Scoped code for a goal and the files that a step names (D1).
///
/// A thread of its own ranks the whole table and reads the few files that come of it; reading all of them first took
/// longer than everything else before the first request.
pub(super) async fn context(
    world: &Arc<World>,
    goal: &Goal,
    named: &[(String, Option<String>)],
    over: &Overlay,
) -> String {
    let (world, goal, named, over) = (world.clone(), goal.clone(), named.to_vec(), over.clone());
    let here = tokio::runtime::Handle::current();
    let ranked = tokio::task::spawn_blocking(move || {
        let known = RefCell::new(BTreeMap::new());
        let read = |path: &WorkspacePath| -> Option<Arc<str>> {
            let found = known.borrow().get(path).cloned();
            found.unwrap_or_else(|| {
                let text = here.block_on(text(&world, &over, path));
                known.borrow_mut().insert(path.clone(), text.clone());
                text
            })
        };
        scoped(&world, &goal, &named, &read)
    });
    // Without context a model still has its tools.
    ranked.await.unwrap_or_default()
}

fn scoped(world: &World, goal: &Goal, named: &[(String, Option<String>)], texts: &Texts<'_>) -> String {
    let table = world.syntax.table();
    // Ignored files are in no table; one that the plan names is meant.
    let known = |path: &WorkspacePath| {
        table.files.contains_key(path) || named.iter().any(|(glob, _)| paths::covers(glob, path))
    };
    let read = |path: &WorkspacePath| if known(path) { texts(path) } else { None };
    let imports =
        |path: &WorkspacePath, text: &str| world.syntax.imports(&Source { path: path.clone(), text: Arc::from(text) });
    let place = goal.place.clone().or_else(|| place_of(named, &read, world));
    let scope = Scope {
        goal: &goal.words,
        place: place.as_ref(),
        table: &table,
        texts: &read,
        imports: &imports,
        budget: world.limits.context,
    };
    context::scope(&scope).render()
}

/// The first focus of a step, as a place; else its first file.
fn place_of(named: &[(String, Option<String>)], read: &Texts<'_>, world: &World) -> Option<Place> {
    let (path, focus) = named.iter().find(|(_, focus)| focus.is_some()).or_else(|| named.first())?;
    let path = WorkspacePath::new(path).ok()?;
    let text = read(&path)?;
    let lines = focus.as_ref().and_then(|focus| {
        let outline = world.syntax.outline(&Source { path: path.clone(), text: text.clone() });
        let range = outline.named(focus).next()?.range.clone();
        let line = |byte: usize| text.get(..byte).map_or(0, |head| head.matches('\n').count());
        let first = u32::try_from(line(range.start)).ok()?.saturating_add(1);
        let last = u32::try_from(line(range.end.saturating_sub(1))).ok()?.saturating_add(1);
        Some((first, last))
    });
    Some(Place { path, lines })
}

/// How the configured model writes calls, as far as it was seen.
pub(super) async fn call_form(world: &World) -> CallForm {
    let Some(info) = world.model.info() else { return CallForm::default() };
    let known = world.store.recall(&form_key(&info.name)).await.ok().flatten();
    known.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Remembers it for the next step.
pub(super) async fn keep_call_form(world: &World, form: CallForm) {
    let Some(info) = world.model.info() else { return };
    let Ok(text) = serde_json::to_string(&form) else { return };
    if let Err(fault) = world.store.remember(&form_key(&info.name), text).await {
        tracing::warn!(%fault, "the model's call form was not remembered; it is found out again next time");
    }
}

fn form_key(model: &str) -> String {
    format!("call-form {model}")
}

/// The checks that the project itself suggests.
pub(super) async fn detected(world: &World, goal: &Goal, listed: &[Listed]) -> Detected {
    let paths = listed.iter().map(|file| file.path.clone()).collect();
    suggested(&with_manifests(world, paths).await, goal.place.as_ref().map(|place| &place.path))
}

/// The files of the workspace, with the texts of those that tell which checks there are.
pub(super) async fn with_manifests(world: &World, paths: Vec<WorkspacePath>) -> Vec<(WorkspacePath, Option<Arc<str>>)> {
    let mut files = Vec::new();
    for path in paths {
        let text = if MANIFESTS.contains(&path.file_name()) {
            match world.workspace.read(&path).await {
                Ok(Entry::File { text, .. }) => Some(text),
                Ok(Entry::Absent) | Err(_) => None,
            }
        } else {
            None
        };
        files.push((path, text));
    }
    files
}

/// The checks that these files suggest, for a place or for the whole.
pub(super) fn suggested(files: &[(WorkspacePath, Option<Arc<str>>)], place: Option<&WorkspacePath>) -> Detected {
    let seen: Vec<(WorkspacePath, Option<&str>)> =
        files.iter().map(|(path, text)| (path.clone(), text.as_deref())).collect();
    match place {
        Some(place) => detect::detect_at(&seen, place),
        None => detect::detect(&seen),
    }
}
