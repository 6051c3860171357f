//! The plan document and what must be seen before an approval (A6).
//!
//! Invariant: the approve command names the revision that the text shown is. Absent: compiling; the page brings its
//! problems with it.

use super::view::{Choice, ProblemView, QuestionView, ShowView};
use super::{Dossier, page};
use crate::domain::problem::Severity;

/// What a person reads before approving.
pub fn view(dossier: &Dossier) -> ShowView {
    let id = &dossier.task.id;
    let approved = dossier.task.approval.as_ref().map(|approval| &approval.revision);
    let stored = dossier.revisions.last();
    let (path, revision, text, contract, problems) = match &dossier.page {
        Some(page) => {
            let problems = page.problems.iter().map(|problem| ProblemView {
                line: line_of(&page.text, problem.range.start),
                severity: problem.severity,
                code: problem.code.clone(),
                message: problem.message.clone(),
                fix: problem.fix.as_ref().map(|fix| fix.title.clone()),
            });
            let problems: Vec<ProblemView> = problems.collect();
            (Some(page.path.clone()), Some(page.revision.clone()), page.text.clone(), page.contract.clone(), problems)
        }
        None => (
            None,
            stored.map(|(name, _)| name.clone()),
            stored.map(|(_, text)| text.clone()).unwrap_or_default(),
            Vec::new(),
            Vec::new(),
        ),
    };
    let broken = problems.iter().any(|problem| problem.severity == Severity::Error);
    let is_approved = revision.is_some() && revision.as_ref() == approved;
    let open = !broken && !is_approved && path.is_some() && !dossier.task.is_over();
    let offered = dossier.offered.as_ref().zip(revision.as_ref()).map(|((offered, _), here)| {
        let command = format!("planwright compare {id} r{} r{}", here.number, offered.number);
        (offered.clone(), Choice { command, means: format!("what {offered} would change") })
    });
    ShowView {
        offered,
        approve: revision
            .as_ref()
            .filter(|_| open)
            .map(|revision| format!("planwright approve {id} --revision {revision}")),
        task: id.clone(),
        words: super::status::words_of(dossier),
        questions: questions(id.as_str(), &text),
        text: text.to_string(),
        path,
        page: page::beside(dossier, page::TASK),
        revision,
        contract,
        problems,
        approved: is_approved,
    }
}

/// `> question:` lines that no `> answer:` follows in the same quotation.
pub(super) fn questions(task: &str, text: &str) -> Vec<QuestionView> {
    let mut open = Vec::new();
    let mut number = 0;
    let mut asked: Option<String> = None;
    for line in text.lines().chain([""]) {
        let quoted = line.trim_start().strip_prefix('>').map(str::trim);
        let question = quoted.and_then(|said| said.strip_prefix("question:"));
        let answered = quoted.is_some_and(|said| said.starts_with("answer:"));
        if answered {
            asked = None;
        }
        if quoted.is_none() || question.is_some() {
            open.extend(asked.take().map(|question| QuestionView {
                number,
                question,
                answer: format!("planwright answer {task} {number} \"…\""),
            }));
        }
        if let Some(question) = question {
            number += 1;
            asked = Some(question.trim().to_owned());
        }
    }
    open
}

fn line_of(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}
