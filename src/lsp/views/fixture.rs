//! Tasks with hunks, and a text that somebody types, for the tests of the views.
//!
//! Invariant: hunks of a desk are what its changes and the text on disk say. Absent: an engine, a client.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a broken fixture is to fail its test")]

use super::Texts;
use crate::desk::fixture::{anna, approved, dossier, opened, page, revised};
use crate::desk::{Desk, Dossier, ReviewHunk, Surroundings};
use crate::domain::change::{Decision, Entry, FileChange, HunkKind, HunkState, file_change, spot};
use crate::domain::ids::*;
use crate::domain::task::standing::TaskState;
use crate::ports::{Document, SessionId, Standings};
use std::sync::Arc;
use tower_lsp::lsp_types::{Diagnostic, NumberOrString, Range};

pub fn path(name: &str) -> WorkspacePath {
    WorkspacePath::new(name).unwrap()
}

pub fn file(text: &str) -> Entry {
    Entry::File { text: text.into(), mode: 0o644 }
}

pub fn change(name: &str, before: &Entry, after: &Entry) -> FileChange {
    file_change(path(name), before, after, &StepId::new("policy"), None)
}

/// As the engine derives them from what stands on disk.
pub fn review(change: &FileChange, current: &Entry, decided: &[(usize, Decision)]) -> Vec<ReviewHunk> {
    let here = current.text();
    let standings = spot::derive(change, current).into_iter().enumerate();
    standings
        .map(|(n, standing)| {
            let hunk = change.hunk(&standing.id).unwrap();
            let decision = decided.iter().find(|(at, _)| *at == n).map(|(_, decision)| (decision.clone(), anna()));
            let rejected = matches!(decision, Some((Decision::Reject(_), _)));
            let tail = here.get(standing.range.end..).unwrap();
            let head = here.get(..standing.range.start).unwrap();
            ReviewHunk {
                id: hunk.id.clone(),
                step: hunk.author.clone(),
                path: change.path.clone(),
                kind: match hunk.kind {
                    HunkKind::Lines { .. } => "lines",
                    HunkKind::Create => "create",
                    HunkKind::Delete => "delete",
                    HunkKind::Mode => "mode",
                }
                .to_owned(),
                line: u32::try_from(head.matches('\n').count()).unwrap() + 1,
                old: change.old_text(hunk).to_owned(),
                new: change.new_text(hunk).to_owned(),
                context: (
                    head.split_inclusive('\n').next_back().unwrap_or("").to_owned(),
                    tail.split_inclusive('\n').take(3).collect(),
                ),
                touching: standing.touching,
                exact: standing.exact,
                state: standing.state,
                on_disk: true,
                decision,
                pending: standing.state != HunkState::Accepted && !rejected,
                flags: hunk.flags.clone(),
                verdict: "`cargo check` passes".to_owned(),
                shown: ContentHash::of("shown"),
            }
        })
        .collect()
}

/// A task in review with these changes; on disk stands what each started from.
pub fn task(id: &str, changes: Vec<FileChange>) -> Dossier {
    let hunks = changes.iter().flat_map(|change| review(change, &change.before, &[])).collect();
    Dossier {
        page: Some(Arc::new(page("# Retries\n\n## Steps\n\n### policy: Add RetryPolicy\n\n- edit: `src/net.rs`\n"))),
        hunks: Arc::new(hunks),
        changes: Arc::new(changes.into_iter().map(Arc::new).collect()),
        ..dossier(
            id,
            vec![(0, opened("make retries configurable")), (1, revised(1)), (2, approved(1))],
            TaskState::AwaitingReview,
        )
    }
}

pub fn desk(dossiers: Vec<Dossier>) -> Desk {
    let place = Surroundings { root: "/w".into(), ..Surroundings::default() };
    Desk { place, tasks: dossiers.into_iter().map(Arc::new).collect() }
}

/// Nothing is open.
pub struct Shut;

impl Texts for Shut {
    fn of(&self, _: &WorkspacePath) -> Option<Document> {
        None
    }

    fn standings(&self, _: &FileChange) -> Option<Standings> {
        None
    }
}

/// One document is open, with this text.
pub struct Open(pub WorkspacePath, pub Document);

impl Open {
    pub fn with(name: &str, text: &str) -> Self {
        Self(path(name), Document { session: SessionId(1), version: 7, text: text.into() })
    }
}

impl Texts for Open {
    fn of(&self, path: &WorkspacePath) -> Option<Document> {
        (*path == self.0).then(|| self.1.clone())
    }

    fn standings(&self, change: &FileChange) -> Option<Standings> {
        let document = self.of(&change.path)?;
        let hunks = spot::derive(change, &file(&document.text));
        Some(Standings { document, hunks })
    }
}

fn place(range: Range) -> String {
    let Range { start, end } = range;
    if start == end {
        format!("{}:{}", start.line, start.character)
    } else {
        format!("{}:{}-{}:{}", start.line, start.character, end.line, end.character)
    }
}

/// One block a diagnostic; ids are left out, for they are hashes.
pub fn rendered(diagnostics: &[Diagnostic]) -> String {
    let each = diagnostics.iter().map(|one| {
        let code = match &one.code {
            Some(NumberOrString::String(code)) if code.len() == 9 => "hunk",
            Some(NumberOrString::String(code)) => code,
            Some(NumberOrString::Number(_)) | None => "?",
        };
        let severity = format!("{:?}", one.severity.unwrap());
        format!("{} {} {code}\n{}", place(one.range), severity.to_lowercase(), one.message)
    });
    each.collect::<Vec<_>>().join("\n\n")
}
