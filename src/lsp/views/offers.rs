//! What can be done at a place: hunks, gates, tasks, as the code actions and lenses that offer it.
//!
//! Invariant: an offer names a command of the one table and carries all of its arguments; what does not apply is not
//! offered. Accepting the hunk under the cursor is the first and the only preferred one; what decides on a plan or at
//! a gate is never a quick fix, so that nothing applies it by itself. Absent: doing it; the command does.

use super::hunks::Placed;
use super::{hunks, words};
use crate::actions::ACTIONS;
use crate::desk::{Desk, Dossier, Query, ReviewHunk, View, waits_for};
use crate::domain::change::{Decision, Flag, HunkState, settle};
use crate::domain::ids::{GateId, HunkId, TaskId};
use crate::domain::task::action::{GateAnswer, Side, Which};
use crate::domain::task::event::Ask;
use crate::domain::task::standing::TaskState;
use crate::domain::task::state::{Gate, ProgressState, StepState};
use crate::domain::text::counted;
use serde_json::{Value, json};
use std::sync::Arc;
use tower_lsp::lsp_types::{CodeAction, CodeActionKind, Command, Diagnostic};

/// Tasks that are named wherever a menu is opened: more would bury what belongs to the place.
const WAITING: usize = 3;

/// Something that can be done.
#[derive(Clone, PartialEq, Debug)]
pub struct Offer {
    /// As a menu shows it, without `Agent: `.
    pub title: String,
    /// The same in a word or two, where what it is about stands beside it.
    pub short: Option<&'static str>,
    /// The last part of the command's id.
    pub command: &'static str,
    /// One object with named fields.
    pub arguments: Value,
    /// It settles what a diagnostic says: a quick fix.
    pub fixes: Option<Diagnostic>,
    /// The one that a client may apply without a menu.
    pub preferred: bool,
}

impl Offer {
    /// Of a command that the table has; what this release cannot do is not offered.
    pub fn new(command: &'static str, title: impl Into<String>, arguments: Value) -> Option<Self> {
        let known = ACTIONS.iter().any(|row| row.lsp == Some(command));
        known.then(|| Self { title: title.into(), short: None, command, arguments, fixes: None, preferred: false })
    }

    fn in_short(self, short: &'static str) -> Self {
        Self { short: Some(short), ..self }
    }

    /// The same as the answer to a diagnostic.
    fn for_hunk(self, placed: &Placed<'_>) -> Self {
        Self { fixes: placed.is_pending().then(|| hunks::one(placed)), ..self }
    }

    /// Its command, as clients send it back.
    pub fn to_command(&self) -> Command {
        Command {
            title: format!("Agent: {}", self.title),
            command: format!("planwright.{}", self.command),
            arguments: Some(vec![self.arguments.clone()]),
        }
    }

    /// As a code action. A command only: the server journals, then edits.
    pub fn to_action(&self) -> CodeAction {
        let command = self.to_command();
        CodeAction {
            title: command.title.clone(),
            kind: Some(if self.fixes.is_some() { CodeActionKind::QUICKFIX } else { CodeActionKind::REFACTOR }),
            diagnostics: self.fixes.clone().map(|fixed| vec![fixed]),
            command: Some(command),
            is_preferred: self.preferred.then_some(true),
            ..CodeAction::default()
        }
    }
}

/// What can be done with the hunks under a selection. `asked`: a person opened the menu; otherwise a client asks on its
/// own, to show a light.
pub fn at_hunks(here: &[Placed<'_>], asked: bool) -> Vec<Offer> {
    let mut offers = Vec::new();
    for placed in here.iter().filter(|placed| placed.is_undecided()) {
        offers.extend(decide(placed, offers.is_empty()));
    }
    if asked {
        offers.extend(here.iter().filter(|placed| placed.is_undecided()).filter_map(reject_for));
        offers.extend(here.iter().filter_map(undo));
        let mut done: Vec<&TaskId> = Vec::new();
        for placed in here.iter().filter(|placed| placed.is_undecided()) {
            if !done.contains(&&placed.dossier.task.id) {
                done.push(&placed.dossier.task.id);
                offers.extend(together(placed));
            }
        }
        for placed in here.iter().filter(|placed| placed.is_undecided()) {
            let (task, hunk) = (&placed.dossier.task.id, &placed.hunk.id);
            offers.extend(Offer::new("why", format!("explain hunk {hunk}"), json!({"task": task, "hunks": [hunk]})));
        }
        if let Some(placed) = here.iter().find(|placed| placed.is_pending()) {
            let place = json!({"path": placed.hunk.path, "line": placed.range.start.line + 1});
            offers.extend(Offer::new("nextHunk", "go to the next hunk", place.clone()));
            offers.extend(Offer::new("previousHunk", "go to the hunk before", place));
        }
    }
    offers
}

/// Accept and reject; where something else stands, that it stays.
pub fn decide(placed: &Placed<'_>, first: bool) -> Vec<Offer> {
    let (task, hunk) = (&placed.dossier.task.id, &placed.hunk.id);
    let about = about(placed);
    let one = |command, title: String, short, arguments| {
        Offer::new(command, title, arguments).map(|offer| offer.in_short(short).for_hunk(placed))
    };
    let this = || json!({"task": task, "hunks": [hunk]});
    let offers = match placed.state {
        // Neither is what a client may apply by itself: both leave a text out.
        HunkState::Touched => {
            let new = &placed.hunk.new;
            let shown = settle::shown(placed.touching.as_deref().unwrap_or(&placed.hunk.old), new);
            let side = |side: Side, words: &str, short| {
                let arguments = json!({"task": task, "hunk": hunk, "side": side, "shown": shown});
                let title = format!("{words} at hunk {hunk} ({about})");
                Offer::new("resolve", title, arguments).map(|offer| offer.in_short(short))
            };
            let theirs = placed.exact.then(|| side(Side::Theirs, "take theirs", "take theirs"));
            vec![side(Side::Mine, "keep mine", "keep mine"), theirs.flatten()]
        }
        HunkState::Open | HunkState::Accepted => vec![
            one("accept", format!("accept hunk {hunk} ({about})"), "accept", this())
                .map(|offer| Offer { preferred: first, ..offer }),
            one("reject", format!("reject hunk {hunk} ({about})"), "reject", this()),
        ],
    };
    offers.into_iter().flatten().collect()
}

/// Left out for a reason, which is written on a page: a menu has no room for words.
fn reject_for(placed: &Placed<'_>) -> Option<Offer> {
    let (task, hunk) = (&placed.dossier.task.id, &placed.hunk.id);
    let title = format!("reject hunk {hunk} with a reason… ({})", placed.hunk.step);
    Offer::new("reject", title, json!({"task": task, "hunks": [hunk], "ask": true}))
}

/// The step of a hunk, and its file where that is not the one looked at.
fn about(placed: &Placed<'_>) -> String {
    match placed.hunk.kind.as_str() {
        "create" => format!("{}, new file {}", placed.hunk.step, placed.hunk.path),
        "delete" => format!("{}, the file goes", placed.hunk.step),
        "mode" => format!("{}, permissions", placed.hunk.step),
        _ => placed.hunk.step.to_string(),
    }
}

fn undo(placed: &Placed<'_>) -> Option<Offer> {
    let (task, hunk) = (&placed.dossier.task.id, &placed.hunk.id);
    let what = match (placed.hunk.decision.as_ref()?, placed.state) {
        // taken back only where exactly the new text stands
        ((Decision::Accept, _), HunkState::Accepted) => "accepting",
        ((Decision::Reject(_), _), HunkState::Open | HunkState::Touched) => "rejecting",
        ((Decision::Accept, _), HunkState::Open | HunkState::Touched)
        | ((Decision::Reject(_), _), HunkState::Accepted)
        | ((Decision::Undo, _), _) => return None,
    };
    Offer::new(
        "undo",
        format!("undo {what} hunk {hunk} ({})", placed.hunk.step),
        json!({"task": task, "hunks": [hunk]}),
    )
}

/// Several at once, where there are several.
fn together(placed: &Placed<'_>) -> Vec<Offer> {
    let dossier = placed.dossier;
    let task = &dossier.task.id;
    let (path, step) = (&placed.hunk.path, &placed.hunk.step);
    let all = certain(dossier);
    let named = |is_one: &dyn Fn(&ReviewHunk) -> bool| -> Vec<&HunkId> {
        all.iter().filter(|hunk| is_one(hunk)).map(|hunk| &hunk.id).collect()
    };
    let in_file = named(&|hunk| hunk.path == *path);
    let of_step = named(&|hunk| hunk.step == *step);
    let all = named(&|_| true);
    let mut offers = Vec::new();
    if in_file.len() > 1 {
        offers.extend(at_once(task, &in_file, &format!(" of {}", path.file_name())));
    }
    if of_step.len() > 1 && of_step != in_file {
        offers.extend(at_once(task, &of_step, &format!(" of step {step}")));
    }
    if all.len() > 1 && all != of_step && all != in_file {
        offers.extend(at_once(task, &all, &format!(" of task {task}")));
    }
    offers
}

/// What several are decided of at once: all that wait, but for uncertain ones.
fn certain(dossier: &Dossier) -> Vec<&ReviewHunk> {
    let is_certain = |hunk: &&ReviewHunk| !hunk.flags.iter().any(|flag| matches!(flag, Flag::Uncertain(_)));
    let waits = |hunk: &&ReviewHunk| hunk.pending && hunk.state == HunkState::Open;
    dossier.hunks.iter().filter(waits).filter(is_certain).collect()
}

/// By name: what comes to the file, the step or the task meanwhile was not seen.
fn at_once(task: &TaskId, hunks: &[&HunkId], whose: &str) -> Vec<Offer> {
    let both = ["accept", "reject"].map(|command| {
        let title = format!("{command} {}{whose}", counted(hunks.len(), "hunk"));
        Offer::new(command, title, json!({"task": task, "hunks": hunks}))
    });
    both.into_iter().flatten().collect()
}

/// The answers of a task's open gates.
pub fn at_gates(dossier: &Dossier) -> Vec<Offer> {
    dossier.task.open_gates().flat_map(|gate| answers(&dossier.task.id, gate)).collect()
}

/// The answers of one open gate, for whoever can ask for words: a question is answered with some.
pub fn at_gate(dossier: &Dossier, gate: &GateId) -> Vec<Offer> {
    let Some(open) = dossier.task.open_gates().find(|open| open.id == *gate) else { return Vec::new() };
    let task = &dossier.task.id;
    let in_words = match &open.ask {
        Ask::Question { .. } => Offer::new("answer", "answer…", json!({"task": task, "gate": gate})),
        Ask::Command { .. }
        | Ask::Person { .. }
        | Ask::Ambiguous { .. }
        | Ask::Changed { .. }
        | Ask::Exceeds { .. }
        | Ask::Failed { .. } => None,
    };
    in_words.into_iter().chain(answers(task, open)).collect()
}

/// The answers that need no words.
fn answers(task: &TaskId, gate: &Gate) -> Vec<Offer> {
    let id = &gate.id;
    let say = |answer: GateAnswer, title: String| {
        Offer::new("gate", title, json!({"task": task, "gate": id, "answer": answer}))
    };
    let command = || {
        let words = gate.of_command().map(|command| shell_words::join(&command.argv)).unwrap_or_default();
        let title = words::title(&words);
        // what a title allows it shows whole
        if title.ends_with('…') {
            format!("the command of gate {id} (whole on the task's page)")
        } else {
            format!("`{title}`")
        }
    };
    let work = &gate.work;
    let offers = match &gate.ask {
        Ask::Command { outside: false, .. } => vec![
            say(GateAnswer::Allow, format!("allow {} once", command())),
            say(GateAnswer::AllowForPlan, format!("allow {} for this plan", command())),
            say(GateAnswer::Deny, format!("deny {}", command())),
        ],
        Ask::Command { outside: true, .. } => vec![
            say(GateAnswer::Allow, format!("allow {} once, in the workspace itself", command())),
            say(GateAnswer::Deny, format!("deny {}", command())),
        ],
        Ask::Person { question, .. } => vec![
            say(GateAnswer::Allow, format!("yes: {}", words::title(question))),
            say(GateAnswer::Deny, format!("no: {}", words::title(question))),
        ],
        Ask::Ambiguous { .. } => vec![
            say(GateAnswer::Happened, format!("{} did happen; go on", command())),
            say(GateAnswer::Allow, format!("{} did not happen; run it again", command())),
            say(GateAnswer::Deny, format!("stop {work} here")),
        ],
        Ask::Changed { .. } => vec![
            say(GateAnswer::Allow, format!("go on with {work}, the change does not matter")),
            say(GateAnswer::Deny, format!("hold {work}")),
            Offer::new("replan", "plan again against the files as they are", json!({"task": task})),
        ],
        Ask::Exceeds { reason } => vec![
            say(GateAnswer::Allow, format!("allow once: {}", words::title(reason))),
            say(GateAnswer::Deny, format!("stay within the plan: {}", words::title(reason))),
        ],
        Ask::Failed { .. } => {
            vec![
                say(GateAnswer::Allow, format!("go on without {work}")),
                say(GateAnswer::Deny, format!("stop at {work}")),
            ]
        }
        Ask::Question { question } => {
            vec![say(GateAnswer::Deny, format!("leave unanswered: {}", words::title(question)))]
        }
    };
    offers.into_iter().flatten().collect()
}

/// The way from anywhere to what waits for a person: a line a task, the newest first, and no more than [`WAITING`].
pub fn to_waiting(desk: &Desk, here: Option<&TaskId>) -> Vec<Offer> {
    let elsewhere = |dossier: &&Arc<Dossier>| here != Some(&dossier.task.id);
    let waiting = desk.tasks.iter().rev().filter(elsewhere).filter_map(|dossier| to_page(dossier));
    waiting.take(WAITING).collect()
}

/// The way to the page of a task that waits for a person.
pub fn to_page(dossier: &Dossier) -> Option<Offer> {
    let task = &dossier.task.id;
    let waits = waits_for(dossier)?;
    let title = format!("open the task page ({task} waits for {})", words::line(&waits, words::TITLE));
    Offer::new("status", title, json!({"task": task}))
}

/// What can be done with a task as a whole, the likeliest first.
pub fn at_task(desk: &Desk, dossier: &Dossier) -> Vec<Offer> {
    let task = &dossier.task.id;
    let whole = |command, title: &str| Offer::new(command, title, json!({"task": task}));
    let mut offers: Vec<Option<Offer>> = Vec::new();
    match &dossier.state {
        TaskState::AwaitingApproval => {
            // Nobody approves before reading; where the plan is read, approving comes first.
            offers.push(whole("openPlan", "open the plan"));
            offers.push(approve(desk, dossier));
        }
        TaskState::Planning | TaskState::Running | TaskState::Verifying | TaskState::Delayed { .. } => {
            // Approved, and nobody has said that it may begin.
            if dossier.state == TaskState::Running && dossier.task.steps.iter().all(|step| step.attempts == 0) {
                offers.push(whole("run", "run the plan"));
            }
            offers.push(whole("openPlan", "open the plan"));
            offers.push(whole("resume", "go on where a process ended"));
            offers.push(whole("pause", "pause"));
            offers.push(whole("cancel", "cancel what runs"));
        }
        TaskState::Paused => {
            offers.push(whole("resume", "go on"));
            offers.push(whole("openPlan", "open the plan"));
        }
        TaskState::Blocked { .. } => {
            offers.extend(after_failure(dossier));
            offers.push(whole("openPlan", "open the plan"));
        }
        TaskState::AwaitingReview => {
            offers.push(whole("openReview", "open the review"));
            offers.push(whole("nextHunk", "go to the first hunk"));
            let open: Vec<&HunkId> = certain(dossier).into_iter().map(|hunk| &hunk.id).collect();
            if !open.is_empty() {
                offers.extend(at_once(task, &open, "").into_iter().map(Some));
            }
            offers.push(whole("openPlan", "open the plan"));
        }
        TaskState::Done { .. } | TaskState::Failed { .. } | TaskState::Abandoned => {
            offers.push(whole("openPlan", "open the plan"));
        }
    }
    offers.push(whole("openTimeline", "show what happened"));
    if !dossier.task.is_over() {
        offers.push(whole("abandon", "abandon the task; accepted hunks stay"));
    }
    offers.into_iter().flatten().collect()
}

/// Exactly the revision that the page shows; none while an error stands.
fn approve(desk: &Desk, dossier: &Dossier) -> Option<Offer> {
    let task = &dossier.task.id;
    let Ok(View::Show(show)) = desk.answer(&Query::Show { task: Which::Task(task.clone()) }) else { return None };
    show.approve.as_ref()?;
    let revision = show.revision?;
    let steps = dossier.page.as_ref().map_or(0, |page| page.plan.steps.len());
    let title = format!("approve {revision} and run it ({})", counted(steps, "step"));
    Offer::new("approve", title, json!({"task": task, "revision": revision.to_string()}))
}

/// What helps after a failure (B11).
fn after_failure(dossier: &Dossier) -> Vec<Option<Offer>> {
    let task = &dossier.task.id;
    let mut offers = Vec::new();
    for run in &dossier.task.steps {
        let step = &run.id;
        let at = || json!({"task": task, "step": step});
        match &run.state {
            StepState::Failed { .. } | StepState::Blocked { .. } => {
                offers.push(Offer::new("retry", format!("try {step} again"), at()));
                offers.push(Offer::new("takeOver", format!("do {step} by hand"), at()));
                offers.push(Offer::new("skip", format!("do without {step}"), at()));
            }
            StepState::TakenOver => offers.push(Offer::new("markDone", format!("{step} is done by hand"), at())),
            StepState::Waiting
            | StepState::Running { .. }
            | StepState::Repairing { .. }
            | StepState::AtGate(_)
            | StepState::Ambiguous(_)
            | StepState::Stale
            | StepState::Done(_)
            | StepState::Skipped => {}
        }
    }
    if let ProgressState::Failed { .. } = dossier.task.planning.state {
        offers.push(Offer::new("replan", "plan again", json!({"task": task})));
    }
    if let ProgressState::Failed { .. } = dossier.task.acceptance.state {
        offers.push(Offer::new("resume", "run the acceptance checks again", json!({"task": task})));
    }
    offers
}
