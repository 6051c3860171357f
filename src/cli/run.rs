//! One command line from its words to its exit code.
//!
//! Invariant: every way out prints either a result or an error with its next step, in JSON where that was asked for.
//! Absent: how anything is waited for or shown; `wait` and `render` know.

use super::act::{Errand, Misuse, errand};
use super::exit::Exit;
use super::parse::{Alone, Needs, usage};
use super::render::{Paper, Tone};
use super::wait::{Until, Waited, is_over, status, unexpected, wait};
use super::{House, NotAnAction, Parsed, Port, Terminal, doctor, render, walk};
use crate::actions::Verb;
use crate::desk::{Query, ShowView, StatusView, Surroundings, View};
use crate::domain::change::HunkState;
use crate::domain::ids::{RevisionRef, StepId, TaskId};
use crate::domain::plan::small;
use crate::domain::problem::Severity;
use crate::domain::task::action::*;
use crate::domain::task::standing::TaskState;
use crate::domain::text::sanitize;
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Why a command line ended without a result.
enum Stop {
    Refused(Refusal),
    Misused(Misuse),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Stop::Refused(refusal)
    }
}

impl From<Misuse> for Stop {
    fn from(misuse: Misuse) -> Self {
        Stop::Misused(misuse)
    }
}

/// Serves a command line. `join` becomes the host of the workspace or joins the one there is; it is called only if the
/// action needs that. The tour is served elsewhere.
pub async fn serve(
    parsed: &Parsed,
    io: &mut Terminal,
    house: &House,
    join: impl AsyncFnOnce() -> Result<Box<dyn Port>, Refusal>,
) -> Exit {
    let as_json = parsed.json;
    match parsed.needs() {
        Needs::Engine => match join().await {
            Ok(port) => run(parsed, port.as_ref(), io, house).await,
            Err(refusal) => say_refusal(io, &refusal, as_json),
        },
        Needs::Nothing(Alone::Clean) => clean(parsed, io, house),
        Needs::Nothing(Alone::Schema) => schema(parsed, io, house),
        Needs::Nothing(Alone::Doctor) => {
            let finding = doctor::find(&house.settings, surroundings(join).await);
            show(io, as_json, &finding, doctor::render);
            if finding.problem.is_some() { Exit::Failed } else { Exit::Done }
        }
        Needs::Tour => {
            let message = "the tour has a workspace and processes of its own";
            say_error(io, "usage", message, "planwright tour", as_json, Exit::Usage)
        }
        Needs::Editor => {
            let message = "the language server speaks to an editor, not to a terminal";
            say_error(io, "usage", message, "planwright lsp", as_json, Exit::Usage)
        }
    }
}

async fn surroundings(join: impl AsyncFnOnce() -> Result<Box<dyn Port>, Refusal>) -> Result<Surroundings, Refusal> {
    match join().await?.ask(Query::Surroundings).await? {
        View::Surroundings(found) => Ok(found),
        other => Err(unexpected(&other)),
    }
}

async fn run(parsed: &Parsed, port: &dyn Port, io: &mut Terminal, house: &House) -> Exit {
    let mut counter = Counter { parsed, port, io };
    let outcome = counter.serve(house).await;
    match outcome {
        Ok(exit) => exit,
        Err(Stop::Refused(refusal)) => say_refusal(io, &refusal, parsed.json),
        Err(Stop::Misused(misuse)) => say_error(io, "usage", &misuse.message, &misuse.next, parsed.json, Exit::Usage),
    }
}

fn clean(parsed: &Parsed, io: &mut Terminal, house: &House) -> Exit {
    let found = super::clean::clean(&house.kept, parsed.removes());
    show(io, parsed.json, found.as_slice(), super::clean::render);
    if found.iter().any(|found| found.problem.is_some()) { Exit::Failed } else { Exit::Done }
}

fn schema(parsed: &Parsed, io: &mut Terminal, house: &House) -> Exit {
    let schema = match parsed.words.as_slice() {
        [name] => house.schemas.get(name),
        [..] => None,
    };
    let Some(schema) = schema else {
        let names = house.schemas.keys().cloned().collect::<Vec<_>>().join(", ");
        let message = format!("a schema has one of these names: {names}");
        return say_error(io, "usage", &message, &usage(Verb::Schema), parsed.json, Exit::Usage);
    };
    io.json(schema);
    Exit::Done
}

/// Says help, version or a usage error.
pub fn say_not_an_action(io: &mut Terminal, not: &NotAnAction) -> Exit {
    match not {
        NotAnAction::Asked(text) => {
            io.print(text);
            Exit::Done
        }
        NotAnAction::Nothing(help) => {
            io.remark(help);
            Exit::Usage
        }
        NotAnAction::Wrong { message, next, json } => say_error(io, "usage", message, next, *json, Exit::Usage),
    }
}

/// Says a refusal and gives its exit code.
pub fn say_refusal(io: &mut Terminal, refusal: &Refusal, as_json: bool) -> Exit {
    let kind = serde_json::to_value(refusal.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
    let kind = kind.unwrap_or_default();
    say_error(io, &kind, &refusal.message, &refusal.next, as_json, Exit::of_refusal(refusal))
}

/// Says something that was not asked for and must be heard.
pub fn say_warning(io: &mut Terminal, message: &str) {
    let mut paper = Paper::new();
    paper.put(Tone::Warn, "warning: ").put(Tone::Plain, message).end();
    io.remark(paper.text());
}

pub(super) fn say_error(io: &mut Terminal, kind: &str, message: &str, next: &str, as_json: bool, exit: Exit) -> Exit {
    if as_json {
        io.json(&json!({ "error": { "kind": kind, "message": message, "next": next } }));
        return exit;
    }
    let mut paper = Paper::new();
    paper.put(Tone::Bad, "error").put(Tone::Faint, &format!(" ({}): ", kind.replace('_', " ")));
    paper.block("", Tone::Plain, message);
    paper.put(Tone::Strong, "next: ").put(Tone::Plain, next).end();
    io.remark(paper.text());
    exit
}

fn show<T: serde::Serialize + ?Sized>(io: &mut Terminal, as_json: bool, value: &T, render: impl Fn(&T) -> Paper) {
    if as_json {
        io.json(&value);
    } else {
        io.print(render(value).text());
    }
}

/// Where one command line is served.
struct Counter<'a> {
    parsed: &'a Parsed,
    port: &'a dyn Port,
    io: &'a mut Terminal,
}

impl Counter<'_> {
    async fn serve(&mut self, house: &House) -> Result<Exit, Stop> {
        let known: Vec<TaskId> = match self.port.ask(Query::Tasks).await? {
            View::Tasks(view) => view.tasks.into_iter().map(|line| line.task).collect(),
            other => return Err(unexpected(&other).into()),
        };
        match errand(self.parsed, &known, &house.here)? {
            Errand::Plan { goal, document, run, timeout } => self.plan(goal, document.as_deref(), run, timeout).await,
            Errand::Change { place, words, fix, yes, timeout } => self.change(place, words, fix, yes, timeout).await,
            Errand::Act { action, timeout } => self.act(action, timeout).await,
            Errand::Approve { task, upto, yes } => self.approve(task, upto, yes).await,
            Errand::DecideTheOnlyOne { task, accept, reason } => self.decide_the_only_one(task, accept, reason).await,
            Errand::Review { task, all } => self.review(task, all).await,
            Errand::Read(query) => {
                let view = self.port.ask(query).await?;
                self.view(&view);
                Ok(Exit::Done)
            }
        }
    }

    fn view(&mut self, view: &View) {
        show(self.io, self.parsed.json, view, render::view);
    }

    async fn send(&mut self, action: Action) -> Result<Reply, Refusal> {
        self.port.act(self.io.actor.clone(), action).await
    }

    async fn stay(&mut self, task: &TaskId, until: Until, timeout: Option<Duration>) -> Result<Waited, Refusal> {
        wait(self.port, self.io, task, until, timeout, self.parsed.json).await
    }

    async fn act(&mut self, action: Action, timeout: Option<Duration>) -> Result<Exit, Stop> {
        let until = stays_until(&action);
        let word = if matches!(action, Action::Approve { .. }) { "run" } else { "resume" };
        let reply = self.send(action).await?;
        match until {
            None => self.answered(&reply, word).await,
            Some(until) => {
                self.progress(&reply.message);
                let waited = self.stay(&reply.task, until, timeout).await?;
                self.finished(&reply.task, until, waited).await
            }
        }
    }

    /// The answer of an action that starts nothing this terminal stays for; `word` would go on.
    async fn answered(&mut self, reply: &Reply, word: &str) -> Result<Exit, Stop> {
        if self.parsed.json {
            self.io.json(reply);
            return Ok(Exit::Done);
        }
        let mut paper = Paper::new();
        paper.block("", Tone::Plain, &reply.message);
        let state = status(self.port, &reply.task).await?.state;
        let goes_on = matches!(state, TaskState::Planning | TaskState::Running | TaskState::Verifying);
        if goes_on && self.port.is_host() {
            paper.next(&format!("planwright {word} {}", reply.task), "go on; nothing runs when this command has ended");
        }
        self.io.print(paper.text());
        Ok(Exit::Done)
    }

    async fn finished(&mut self, task: &TaskId, until: Until, waited: Waited) -> Result<Exit, Stop> {
        let exit = match (waited.left, until) {
            (Some(left), _) => left,
            (None, Until::Planned) if stands(&self.look(task).await?) => Exit::Done,
            (None, Until::Settled) if !ends_the_task(&waited.status) => Exit::Done,
            (None, Until::Planned | Until::Rest | Until::Settled) => Exit::of_task(&waited.status),
        };
        match until {
            Until::Planned if waited.status.gates.is_empty() && waited.status.failures.is_empty() => {
                let view = View::Show(Box::new(self.look(task).await?));
                self.view(&view);
            }
            Until::Planned | Until::Rest | Until::Settled => self.view(&View::Status(Box::new(waited.status))),
        }
        Ok(exit)
    }

    fn progress(&mut self, message: &str) {
        if !self.parsed.json {
            let mut paper = Paper::new();
            paper.block("", Tone::Plain, message);
            self.io.remark(paper.text());
        }
    }

    async fn look(&mut self, task: &TaskId) -> Result<ShowView, Refusal> {
        match self.port.ask(Query::Show { task: Which::Task(task.clone()) }).await? {
            View::Show(view) => Ok(*view),
            other => Err(unexpected(&other)),
        }
    }

    async fn plan(
        &mut self,
        goal: Goal,
        document: Option<&Path>,
        run: bool,
        timeout: Option<Duration>,
    ) -> Result<Exit, Stop> {
        let begun = Instant::now();
        let left = || timeout.map(|timeout| timeout.saturating_sub(begun.elapsed()));
        let text = match document {
            None => None,
            Some(path) => Some(tokio::fs::read_to_string(path).await.map_err(|error| Misuse {
                message: format!("{} cannot be read: {error}", path.display()),
                next: "planwright plan \"GOAL\" --document FILE".to_owned(),
            })?),
        };
        let reply = self.send(Action::Plan { goal, document: text }).await?;
        self.progress(&reply.message);
        let waited = self.stay(&reply.task, Until::Planned, timeout).await?;
        let view = self.look(&reply.task).await?;
        let revision = view.revision.clone().filter(|_| run && waited.left.is_none() && stands(&view));
        let Some(revision) = revision else {
            return self.finished(&reply.task, Until::Planned, waited).await;
        };
        // `--run` with a document of the caller's own is their word for exactly that text; a plan that somebody else
        // wrote must be seen first.
        if document.is_none() && !self.agrees(&view, &revision).await {
            return self.finished(&reply.task, Until::Rest, waited).await;
        }
        let task = Which::Task(reply.task.clone());
        self.send(Action::Approve { task: task.clone(), revision, upto: None }).await?;
        self.send(Action::Run { task }).await?;
        let waited = self.stay(&reply.task, Until::Rest, left()).await?;
        self.finished(&reply.task, Until::Rest, waited).await
    }

    /// Shows the whole contract in a line and asks; then it is approved and run by that.
    async fn change(
        &mut self,
        place: Place,
        words: Option<String>,
        fix: bool,
        yes: bool,
        timeout: Option<Duration>,
    ) -> Result<Exit, Stop> {
        let item = match self.port.ask(Query::Item { place: place.clone() }).await? {
            View::Item(item) => item,
            other => return Err(unexpected(&other).into()),
        };
        let check = item.check.as_deref();
        let words = if fix { small::fix_words(&place, words.as_deref(), check) } else { words };
        let Some(words) = words else {
            return Err(Misuse {
                message: "this project suggests no check, so nothing says what is wrong there".to_owned(),
                next: format!("planwright fix {}:LINE \"WHAT IS WRONG\"", place.path),
            }
            .into());
        };
        let contract = small::contract(item.symbol.as_deref(), &place.path, check);
        if !yes {
            if !self.io.interactive || self.parsed.json {
                return Err(Misuse {
                    message: format!("it would {contract}, and nobody can be asked whether that is meant"),
                    next: "the same with --yes".to_owned(),
                }
                .into());
            }
            self.io.print(&format!("{}: {contract}? [y/N] ", sanitize::plain(&words)));
            let answer = self.io.line().await;
            if !matches!(answer.as_deref().map(str::trim), Some("y" | "yes")) {
                self.io.print("nothing was done\n");
                return Ok(Exit::Waits);
            }
        }
        let goal = Goal { words, place: Some(place), references: Vec::new(), comment: None };
        self.act(Action::Small { goal, focus: item.symbol }, timeout).await
    }

    /// Shows the plan and asks, where a person is there to answer.
    async fn agrees(&mut self, view: &ShowView, revision: &RevisionRef) -> bool {
        if !self.io.interactive || self.parsed.json {
            return false;
        }
        self.view(&View::Show(Box::new(view.clone())));
        self.io.print(&format!("approve {revision}? [y/N] "));
        let answer = self.io.line().await;
        matches!(answer.as_deref().map(str::trim), Some("y" | "yes"))
    }

    async fn approve(&mut self, task: Which, upto: Option<StepId>, yes: bool) -> Result<Exit, Stop> {
        let view = match self.port.ask(Query::Show { task }).await? {
            View::Show(view) => *view,
            other => return Err(unexpected(&other).into()),
        };
        let named = view.revision.clone();
        let Some(revision) = named.filter(|_| !view.problems.iter().any(|p| p.severity == Severity::Error)) else {
            if !self.parsed.json {
                self.view(&View::Show(Box::new(view.clone())));
            }
            return Err(Refusal {
                kind: RefusalKind::Plan,
                message: "the plan has errors, or none is written yet; it cannot be approved".to_owned(),
                next: format!("edit the document, then planwright approve {}", view.task),
            }
            .into());
        };
        if !yes && !self.agrees(&view, &revision).await {
            if self.io.interactive && !self.parsed.json {
                self.io.print("nothing was approved\n");
                return Ok(Exit::Waits);
            }
            if !self.parsed.json {
                self.view(&View::Show(Box::new(view.clone())));
            }
            return Err(Misuse {
                message: format!("an approval names its revision; the document is {revision}"),
                next: format!("planwright approve {} --revision {revision}", view.task),
            }
            .into());
        }
        let reply = self.send(Action::Approve { task: Which::Task(view.task), revision, upto }).await?;
        self.answered(&reply, "run").await
    }

    async fn decide_the_only_one(&mut self, task: Which, accept: bool, reason: Option<String>) -> Result<Exit, Stop> {
        let view = match self.port.ask(Query::Review { task, all: false }).await? {
            View::Review(view) => view,
            other => return Err(unexpected(&other).into()),
        };
        let pending: Vec<_> = view.hunks.iter().filter(|hunk| hunk.pending).collect();
        match pending.as_slice() {
            [one] => {
                let (task, target) = (Which::Task(view.task.clone()), Target::Hunks(vec![one.id.clone()]));
                let action =
                    if accept { Action::Accept { task, target } } else { Action::Reject { task, target, reason } };
                self.act(action, None).await
            }
            [] => Err(Refusal {
                kind: RefusalKind::NotFound,
                message: "no hunk waits for a decision".to_owned(),
                next: format!("planwright status {}", view.task),
            }
            .into()),
            [..] => {
                let lines: Vec<String> =
                    pending.iter().map(|hunk| format!("  {}  {}:{}", hunk.id, hunk.path, hunk.line)).collect();
                Err(Refusal {
                    kind: RefusalKind::SeveralCandidates,
                    message: format!("{} hunks wait for a decision:\n{}", pending.len(), lines.join("\n")),
                    next: "name hunks, or --file, --step, --all".to_owned(),
                }
                .into())
            }
        }
    }

    async fn review(&mut self, task: Which, all: bool) -> Result<Exit, Stop> {
        let view = self.port.ask(Query::Review { task, all }).await?;
        let View::Review(review) = &view else {
            return Err(unexpected(&view).into());
        };
        let to_decide = review.hunks.iter().any(|hunk| hunk.pending || all && hunk.state == HunkState::Open);
        if !self.io.interactive || self.parsed.json || !to_decide {
            self.view(&view);
            return Ok(Exit::Done);
        }
        if is_over(&status(self.port, &review.task).await?.state) {
            self.view(&view);
            self.io.print(&format!("task {} is over; its decisions stand\n", review.task));
            return Ok(Exit::Done);
        }
        let decisions = walk::walk(self.port, self.io, &review.task, all).await?;
        if decisions == 0 {
            return Ok(Exit::Done);
        }
        let waited = self.stay(&review.task, Until::Settled, None).await?;
        self.finished(&review.task, Until::Settled, waited).await
    }
}

/// How long a terminal stays after an action (architecture, "Host"): what would die with this process is waited for,
/// what a person decided is not.
fn stays_until(action: &Action) -> Option<Until> {
    match action {
        Action::Plan { .. } | Action::Revise { .. } | Action::Replan { .. } | Action::Answer { .. } => {
            Some(Until::Planned)
        }
        Action::Small { .. }
        | Action::AskQuestion { .. }
        | Action::Run { .. }
        | Action::Resume { .. }
        | Action::Retry { .. } => Some(Until::Rest),
        Action::Accept { .. } | Action::Reject { .. } | Action::Resolve { .. } | Action::Undo { .. } => {
            Some(Until::Settled)
        }
        Action::Approve { .. }
        | Action::Pause { .. }
        | Action::Cancel { .. }
        | Action::Abandon { .. }
        | Action::Skip { .. }
        | Action::TakeOver { .. }
        | Action::MarkDone { .. }
        | Action::Say { .. }
        | Action::Gate { .. }
        | Action::Offer { .. } => None,
    }
}

/// The plan can be approved, and nothing about it is open.
fn stands(view: &ShowView) -> bool {
    view.approve.is_some() && view.questions.is_empty()
}

/// The last decision was among those carried out: the code is the task's. Otherwise the command did what it was asked,
/// whatever else the task waits for.
fn ends_the_task(status: &StatusView) -> bool {
    match status.state {
        TaskState::Done { .. } | TaskState::Failed { .. } => true,
        TaskState::Blocked { .. } => {
            status.hunks.pending == 0 && status.gates.iter().any(|gate| gate.work == "acceptance")
        }
        TaskState::Planning
        | TaskState::AwaitingApproval
        | TaskState::Running
        | TaskState::Paused
        | TaskState::Delayed { .. }
        | TaskState::Verifying
        | TaskState::AwaitingReview
        | TaskState::Abandoned => false,
    }
}
