//! `planwright.…`: what a client's commands come to, and the carrying out of it.
//!
//! Invariant: a command is answered before anything is done; what comes of it is seen in the views, in a page that is
//! shown at once, or in one line of an error with the next step. A decision acts on what it names, or on the only
//! candidate there is. Absent: rules about tasks, plans and hunks; the engine has them.

mod arguments;
pub(in crate::lsp) mod carry;
mod errand;
mod moment;
mod paper;

#[cfg(test)]
mod tests;

use crate::actions::ACTIONS;
use crate::desk::Desk;
use crate::domain::ids::{ContentHash, TaskId, WorkspacePath};
use crate::domain::task::action::Refusal;
use crate::lsp::session::Session;
use arguments::{Given, Known};
use errand::Errand;
use futures_util::FutureExt;
use moment::Moment;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tower_lsp::lsp_types::Url;

/// Characters of an error that is shown. Neovim stops at a line that is longer than its screen.
const SHOWN: usize = 240;

/// What commands remember of a session.
#[derive(Default)]
pub struct Memory(Mutex<Remembered>);

#[derive(Default)]
struct Remembered {
    /// Goal pages that were acted on.
    asked: HashSet<ContentHash>,
    /// The hunk that was gone to last: file and 0-based line.
    stop: Option<(WorkspacePath, u32)>,
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins a command. Synchronous as far as the engine's inbox, so that two commands keep their order.
pub fn run(session: &Arc<Session>, id: &str, arguments: &[Value]) {
    session.acted();
    let moment = Moment::now(session);
    match understood(session, id, arguments) {
        Ok(errand) => begin(session, errand, moment),
        Err((message, next)) => complain(session, &message, &next),
    }
}

/// The goal page was saved.
pub fn saved(session: &Arc<Session>, path: &WorkspacePath) {
    if path.as_str() != paper::PAGE {
        return;
    }
    let Some(document) = session.id().and_then(|id| session.documents().of(id, path)) else { return };
    let Some(asked) = paper::read(&document.text) else { return };
    session.acted();
    let hash = asked.hash();
    if !session.commands().lock().asked.insert(hash.clone()) {
        return;
    }
    let moment = Moment::now(session);
    let session = session.clone();
    tokio::spawn(async move {
        if let Err(refusal) = carry::out(&session, carry::of_page(asked), moment).await {
            // Saved again, it is tried again.
            session.commands().lock().asked.remove(&hash);
            complain(&session, &refusal.message, &refusal.next);
        }
    });
}

fn understood(session: &Session, id: &str, arguments: &[Value]) -> Result<Errand, (String, String)> {
    let name = id.strip_prefix("planwright.");
    let row = ACTIONS.iter().find(|row| row.lsp.is_some() && row.lsp == name);
    let row = row.ok_or_else(|| ("there is no such command".to_owned(), "planwright.tasks".to_owned()))?;
    let tasks = tasks(&session.desk());
    let file = |text: &str| file(session, text);
    let given: Result<Given, String> = arguments::given(row, arguments, &Known { tasks: &tasks, file: &file });
    let usage = || format!("{id} {}", row.usage()).trim_end().to_owned();
    errand::errand(row, given.map_err(|what| (what, usage()))?)
}

fn tasks(desk: &Desk) -> Vec<TaskId> {
    desk.tasks.iter().map(|dossier| dossier.task.id.clone()).collect()
}

/// The file that a path or a URI names.
fn file(session: &Session, text: &str) -> Option<WorkspacePath> {
    let uri = if text.contains("://") {
        Url::parse(text).ok()?
    } else {
        // An absolute path replaces the root.
        Url::from_file_path(session.root()?.join(text)).ok()?
    };
    session.path_of(&uri)
}

fn begin(session: &Arc<Session>, errand: Errand, moment: Moment) {
    let own = session.clone();
    let mut going = async move {
        if let Err(refusal) = carry::out(&own, errand, moment).await {
            complain(&own, &refusal.message, &refusal.next);
        }
    }
    .boxed();
    // The first poll puts an action into the inbox.
    if (&mut going).now_or_never().is_none() {
        tokio::spawn(going);
    }
}

/// One line with the next step; the log has all of it.
fn complain(session: &Session, message: &str, next: &str) {
    let whole = format!("planwright: {message}; next: {next}");
    session.client().log(whole.clone());
    let line = whole.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = line.chars().take(SHOWN).collect();
    session.client().show_error(&if shown.len() < line.len() { format!("{shown}…") } else { shown });
}

fn refusal_of(error: &std::io::Error) -> Refusal {
    use crate::domain::task::action::RefusalKind;
    use crate::domain::task::decide::refuse;
    refuse(RefusalKind::Broken, format!("the page cannot be written: {error}"), "planwright doctor, in a terminal")
}
