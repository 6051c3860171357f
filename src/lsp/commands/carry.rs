//! Carrying out what a command comes to.
//!
//! Invariant: a decision reaches the engine with the names of what it decides on. Absent: waiting for what an action
//! starts; the views show it.

use super::errand::{Decide, Errand, Shown, Wanted};
use super::issued::{Issued, Seen};
use super::memory::Goal as Held;
use super::paper::{self, Asked};
use super::which;
use crate::desk::{Desk, Dossier, PageKind, Query, View};
use crate::domain::change::{Entry, file_change};
use crate::domain::ids::*;
use crate::domain::plan::small;
use crate::domain::problem::Severity;
use crate::domain::task::action::*;
use crate::domain::task::decide::refuse;
use crate::domain::task::standing::TaskState;
use crate::domain::text::counted;
use crate::host::Port;
use crate::lsp::ground::Workplace;
use crate::lsp::plan_doc::{accept_offered, decline_offered};
use crate::lsp::session::Session;
use crate::lsp::views::walk::{self, From};
use crate::lsp::views::{OfSession, tasks, words};
use crate::ports::{Document, EditorOrder, LoosePage};
use std::collections::BTreeSet;
use std::sync::Arc;
use tower_lsp::lsp_types::{Position, Range, Url};

/// Characters of a line of a page: more is no line that a person wrote.
const WIDE: usize = 2000;

/// Carries an errand out.
///
/// # Errors
/// Why not, and what to do next.
pub(super) async fn out(
    session: &Arc<Session>,
    root: &dyn Workplace,
    errand: Errand,
    issued: Issued,
    goal: &Held,
) -> Result<(), Refusal> {
    let doing = Doing { session, root, issued, goal };
    if !matches!(errand, Errand::Begin(_) | Errand::Small { .. }) {
        goal.over();
    }
    match errand {
        Errand::Act(Action::Approve { task, revision, upto }) => doing.approve_and_run(task, revision, upto).await,
        Errand::Act(action) => doing.act(action).await.map(drop),
        Errand::Begin(action) => doing.begin(action).await,
        Errand::Small { place, words, fix } => doing.small(place, words, fix).await,
        Errand::Approve { task, upto } => doing.approve(&task, upto).await,
        Errand::Decide { decision, task, place } => doing.decide(decision, task.as_ref(), place.as_ref()).await,
        Errand::Offered { accept, task, hunks } => doing.offered(accept, &task, &hunks).await,
        Errand::Words { wanted, place } => doing.ask_for_words(wanted, place).await,
        Errand::Show(shown) => doing.show(shown).await,
        Errand::Walk { forward, place, task } => doing.walk(forward, place, task.as_ref()).await,
    }
}

/// Approves a revision, and has the task go on as far as it is approved: in an editor whoever approves wants it done.
///
/// # Errors
/// Why it is not approved; or why it does not go on although it is.
pub async fn approve_and_run(
    session: &Session,
    port: &dyn Port,
    task: Which,
    revision: RevisionRef,
    upto: Option<StepId>,
) -> Result<Reply, Refusal> {
    let approved = port.act(session.actor(), Action::Approve { task, revision, upto }).await?;
    let run = Action::Run { task: Which::Task(approved.task.clone()) };
    match port.act(session.actor(), run).await {
        Ok(runs) => Ok(Reply { message: format!("{}; {}", approved.message, runs.message), ..approved }),
        Err(refusal) => {
            let message = format!("{}, but it does not go on: {}", approved.message, refusal.message);
            Err(Refusal { message, ..refusal })
        }
    }
}

/// What a goal page comes to.
pub fn of_page(asked: Asked) -> Errand {
    let Asked { wanted, place, words } = asked;
    let wanted = match wanted {
        Wanted::Reject { task, hunk } => {
            let (task, target) = (Which::Task(task), Target::Hunks(vec![hunk]));
            return Errand::Act(Action::Reject { task, target, reason: Some(words) });
        }
        Wanted::Say { task, step } => return Errand::Act(Action::Say { task: Which::Task(task), words, step }),
        wanted => wanted,
    };
    let goal = |place| Goal { words: words.clone(), place, references: Vec::new(), comment: None };
    match (wanted, place) {
        (Wanted::Ask, place) => Errand::Begin(Action::AskQuestion { goal: goal(place) }),
        (Wanted::Change, Some(place)) if place.lines.is_some() => {
            Errand::Small { place, words: Some(words), fix: false }
        }
        (_, place) => Errand::Begin(Action::Plan { goal: goal(place), document: None }),
    }
}

struct Doing<'a> {
    session: &'a Arc<Session>,
    root: &'a dyn Workplace,
    issued: Issued,
    goal: &'a Held,
}

impl Doing<'_> {
    async fn act(&self, action: Action) -> Result<Reply, Refusal> {
        let reply = self.root.port().act(self.session.actor(), action).await?;
        self.session.client().log(format!("planwright: {}", reply.message));
        Ok(reply)
    }

    async fn ask(&self, query: Query) -> Result<View, Refusal> {
        self.root.port().ask(query).await
    }

    /// A new task, whose page is shown at once.
    async fn begin(&self, action: Action) -> Result<(), Refusal> {
        let reply = self.act(action).await?;
        self.goal.over();
        self.page(Which::Task(reply.task), PageKind::Task).await
    }

    async fn small(&self, place: Place, words: Option<String>, fix: bool) -> Result<(), Refusal> {
        let View::Item(item) = self.ask(Query::Item { place: place.clone() }).await? else { return Err(nonsense()) };
        let words = if fix { small::fix_words(&place, words.as_deref(), item.check.as_deref()) } else { words };
        let words = words.ok_or_else(|| {
            let next = "give the command what is wrong there, in words";
            refuse(RefusalKind::NotFound, "nothing says what is wrong there; the project suggests no check", next)
        })?;
        let goal = Goal { words, place: Some(place), references: Vec::new(), comment: None };
        self.begin(Action::Small { goal, focus: item.symbol }).await
    }

    /// Approves what the document says now: in the editor where it is open there, else as the desk has it.
    async fn approve(&self, which: &Which, upto: Option<StepId>) -> Result<(), Refusal> {
        let desk = self.session.desk();
        let dossier = to_approve(&desk, which)?;
        let page = dossier.page.as_ref().ok_or_else(|| {
            refuse(RefusalKind::WrongState, "there is no plan yet that could be approved", "planwright.status")
        })?;
        let path = tasks::plan_of(self.root.root(), dossier);
        let task = dossier.task.id.clone();
        let (seen, now) = match &path {
            Some(path) => (self.issued.plan(path), Seen::now(self.session, path)),
            None => (Seen::default(), Seen::default()),
        };
        if let (Some(here), Some(newest)) = (&seen.here, &seen.newest)
            && here != newest
        {
            let message = format!("another editor shows another plan of {task}; nothing was approved");
            return Err(refuse(RefusalKind::Plan, message, "save it in one of them and load it in the other"));
        }
        let text_of = |open: Seen| open.here.or(open.newest).unwrap_or_else(|| page.text.clone());
        let (text, now) = (text_of(seen), text_of(now));
        let is_astray = |path| self.session.id().is_some_and(|id| self.session.documents().is_astray(id, path));
        if text != now || path.as_ref().is_some_and(is_astray) {
            let message = format!("the plan of {task} changed as it was being approved; nothing was approved");
            return Err(refuse(RefusalKind::Plan, message, "look at it, then approve it again"));
        }
        let text = text.to_string();
        let View::Compiled(compiled) = self.ask(Query::Compile { task: Some(task.clone()), text }).await? else {
            return Err(nonsense());
        };
        let errors = compiled.problems.iter().filter(|problem| problem.severity == Severity::Error);
        let errors: Vec<&str> = errors.map(|problem| problem.message.as_str()).collect();
        if let Some(first) = errors.first() {
            let message = format!("the plan of {task} has {}: {first}", counted(errors.len(), "error"));
            return Err(refuse(RefusalKind::Plan, message, "planwright.openPlan"));
        }
        self.approve_and_run(Which::Task(task), compiled.revision, upto).await
    }

    async fn approve_and_run(&self, task: Which, revision: RevisionRef, upto: Option<StepId>) -> Result<(), Refusal> {
        let reply = approve_and_run(self.session, self.root.port(), task, revision, upto).await?;
        self.session.client().log(format!("planwright: {}", reply.message));
        Ok(())
    }

    async fn decide(&self, decision: Decide, task: Option<&TaskId>, place: Option<&Place>) -> Result<(), Refusal> {
        let desk = self.session.desk();
        let candidates = which::candidates(&desk, &self.texts(), self.session.encoding(), &decision, task, place);
        let [one] = candidates.as_slice() else {
            let refusal = which::none_or_several(&candidates, &decision);
            let tasks: BTreeSet<&TaskId> = candidates.iter().map(|candidate| &candidate.task).collect();
            if let ([_, _, ..], Some(task)) = (candidates.as_slice(), tasks.first()) {
                // What cannot be shown is no reason to say something else than which there are.
                let shown = self.page(Which::Task((*task).clone()), PageKind::Review).await;
                drop(shown);
            }
            return Err(refusal);
        };
        let (task, target) = (Which::Task(one.task.clone()), Target::Hunks(vec![one.hunk.clone()]));
        let action = match decision {
            Decide::RejectFor => {
                let wanted = Wanted::Reject { task: one.task.clone(), hunk: one.hunk.clone() };
                return self.ask_for_words(wanted, None).await;
            }
            Decide::Why => return self.review(task, Some(&one.hunk)).await,
            Decide::Resolve(side) => {
                Action::Resolve { task, hunk: Some(one.hunk.clone()), side, shown: Some(one.shown.clone()) }
            }
            Decide::Accept => Action::Accept { task, target },
            Decide::Reject(reason) => Action::Reject { task, target, reason },
            Decide::Undo => Action::Undo { task, target },
        };
        self.act(action).await.map(drop)
    }

    async fn offered(&self, accept: bool, task: &TaskId, hunks: &[HunkId]) -> Result<(), Refusal> {
        let done = if accept {
            accept_offered(self.session, task, hunks).await
        } else {
            decline_offered(self.session, task, hunks).await
        };
        done.map_err(|not| refuse(RefusalKind::WrongState, not.to_string(), "planwright.openPlan"))
    }

    fn texts(&self) -> OfSession<'_> {
        OfSession { documents: self.session.documents().as_ref(), session: self.session.id() }
    }

    /// Shows a page that the engine writes.
    async fn page(&self, task: Which, kind: PageKind) -> Result<(), Refusal> {
        let View::Page(page) = self.ask(Query::Page { task, page: kind }).await? else { return Err(nonsense()) };
        self.issued.show_file(self.session, &page.path, None).await;
        Ok(())
    }

    /// Shows the review, at a hunk where one is meant.
    async fn review(&self, task: Which, hunk: Option<&HunkId>) -> Result<(), Refusal> {
        let query = Query::Page { task, page: PageKind::Review };
        let View::Page(page) = self.ask(query).await? else { return Err(nonsense()) };
        let line = match hunk {
            Some(hunk) => Some(paper::heading(&page.text, hunk).ok_or_else(|| {
                refuse(RefusalKind::NotFound, format!("there is no hunk {hunk} in this task"), "planwright.openReview")
            })?),
            None => None,
        };
        let at = line.map(|line| Position { line, character: 0 });
        self.issued.show_file(self.session, &page.path, at.map(|at| Range { start: at, end: at })).await;
        Ok(())
    }

    /// Shows a page of all tasks, or of something that no task has a page for.
    async fn loose(&self, page: LoosePage, text: String) -> Result<(), Refusal> {
        let View::Page(page) = self.ask(Query::Loose { page, text: Some(text) }).await? else { return Err(nonsense()) };
        self.issued.show_file(self.session, &page.path, None).await;
        Ok(())
    }

    async fn show(&self, shown: Shown) -> Result<(), Refusal> {
        match shown {
            Shown::Plan(which) => match self.ask(Query::Show { task: which.clone() }).await? {
                View::Show(view) => match &view.path {
                    Some(path) => {
                        self.issued.show_file(self.session, path, None).await;
                        Ok(())
                    }
                    None => self.page(which, PageKind::Task).await,
                },
                _ => Err(nonsense()),
            },
            Shown::Page(which, kind) => self.page(which, kind).await,
            Shown::Review(which, hunk) => self.review(which, hunk.as_ref()).await,
            Shown::Compare(task, from, to) => {
                let View::Compare(view) = self.ask(Query::Compare { task, from, to }).await? else {
                    return Err(nonsense());
                };
                let mut text = format!("# {}: {} and {}\n\n", view.task, view.from, view.to);
                match view.difference.as_slice() {
                    [] => text.push_str("They say the same.\n"),
                    // Indented, so that no line of a plan ends the block.
                    lines => lines.iter().for_each(|line| text.push_str(&format!("    {}\n", words::line(line, WIDE)))),
                }
                self.loose(LoosePage::Compare, text).await
            }
            Shown::Tasks => {
                let View::Tasks(view) = self.ask(Query::Tasks).await? else { return Err(nonsense()) };
                let mut text = "# Tasks of this workspace\n\n".to_owned();
                match view.tasks.as_slice() {
                    [] => return Err(refuse(RefusalKind::NotFound, "there is no task here yet", "planwright.plan")),
                    [one] => return self.page(Which::Task(one.task.clone()), PageKind::Task).await,
                    tasks => {
                        for line in tasks.iter().rev() {
                            let pending = match line.pending {
                                0 => String::new(),
                                count => format!(", {} pending", counted(count, "hunk")),
                            };
                            let (task, goal) = (&line.task, words::title(&line.goal));
                            let state = words::line(&line.words, WIDE);
                            text.push_str(&format!("- [{task}](tasks/{task}/task.md) {state}{pending}: {goal}\n"));
                        }
                    }
                }
                self.loose(LoosePage::Tasks, text).await
            }
        }
    }

    async fn walk(&self, forward: bool, place: Option<Place>, task: Option<&TaskId>) -> Result<(), Refusal> {
        let desk = self.session.desk();
        let last = self.session.commands().lock().stop.clone();
        let from = match (&place, task, &last) {
            (Some(place), _, _) => From::Here(&place.path, place.lines.map_or(0, |(first, _)| first.saturating_sub(1))),
            (None, None, Some((path, line))) => From::Last(path, *line),
            // Where one was in another task says nothing of this one.
            (None, Some(_), _) | (None, None, None) => From::Nowhere,
        };
        let stop = walk::neighbour(&desk, &self.texts(), self.session.encoding(), from, forward, task);
        let stop = stop
            .ok_or_else(|| refuse(RefusalKind::NotFound, "no other hunk waits for a decision", "planwright.tasks"))?;
        self.session.commands().lock().stop = Some((stop.path.clone(), stop.range.start.line));
        let dossier = desk.tasks.iter().find(|dossier| dossier.task.id == stop.task);
        let hunk = dossier.and_then(|dossier| dossier.hunks.iter().find(|hunk| hunk.id == stop.hunk));
        if hunk.is_some_and(|hunk| hunk.kind == "create") {
            // There is no file yet that could be shown.
            return self.page(Which::Task(stop.task), PageKind::Review).await;
        }
        if let Some(uri) = self.session.uri_of(&stop.path) {
            let at = stop.range.start;
            self.issued.show(self.session, uri, Some(Range { start: at, end: at })).await;
        }
        Ok(())
    }

    /// Opens the goal page. One that holds words which nothing came of yet is shown as it is.
    async fn ask_for_words(&self, wanted: Wanted, place: Option<Place>) -> Result<(), Refusal> {
        let blank = paper::blank(&wanted, place.as_ref());
        let page = wanted.page();
        let path = WorkspacePath::new(page).map_err(|_| nonsense())?;
        let (documents, ours) = (self.session.documents(), self.session.id());
        let open = ours.and_then(|id| Some((self.session.uri_of(&path)?, documents.of(id, &path)?)));
        if let Some((uri, document)) = open {
            return self.blank_in_editor(wanted, path, uri, document, blank).await;
        }
        let loose = wanted.loose();
        let stored = self.ask(Query::Loose { page: loose, text: None }).await;
        let elsewhere = documents.newest(&path).map(|document| document.text.to_string());
        let (stored, is_read) = match stored {
            Ok(View::Loose(stored)) => (stored, true),
            // What nobody can read may hold words all the same.
            Ok(_) | Err(_) => (None, false),
        };
        let unsent = stored.into_iter().chain(elsewhere).find_map(|text| self.unsent(page, &text));
        if unsent.is_some() || !is_read {
            self.issued.show_file(self.session, &self.root.root().join(page), None).await;
            return unsent.map_or(Ok(()), |unsent| for_another(&unsent, &wanted));
        }
        self.session.commands().handed_out(page);
        self.loose(loose, blank).await
    }

    /// What a page holds that nothing came of yet.
    fn unsent(&self, page: &'static str, text: &str) -> Option<Asked> {
        let asked = paper::read(text).filter(|asked| asked.wanted.page() == page)?;
        self.session.commands().is_unsent(&asked, &self.session.desk()).then_some(asked)
    }

    /// The same where this client has the page open: what it shows is replaced, if nobody has typed since.
    async fn blank_in_editor(
        &self,
        wanted: Wanted,
        path: WorkspacePath,
        uri: Url,
        document: Document,
        blank: String,
    ) -> Result<(), Refusal> {
        let page = wanted.page();
        self.issued.show(self.session, uri, None).await;
        if let Some(unsent) = self.unsent(page, &document.text) {
            return for_another(&unsent, &wanted);
        }
        if *document.text == *blank {
            self.session.commands().handed_out(page);
            return Ok(());
        }
        let documents = self.session.documents();
        let now = self.session.id().and_then(|id| documents.of(id, &path));
        let as_it_was = now.is_some_and(|now| now.text == document.text);
        let editor = documents.editor(&path, self.session.id());
        let Some((_, editor)) = editor.filter(|(whose, _)| Some(*whose) == self.session.id()) else { return Ok(()) };
        if !as_it_was || !self.issued.lasts(self.session) {
            return Ok(());
        }
        let file = |text: &str| Entry::File { text: text.into(), mode: 0o644 };
        let change = file_change(path, &file(&document.text), &file(&blank), &StepId::new("goal"), None);
        let put = change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
        let order = EditorOrder { change, put, take: Vec::new(), label: "a new goal".to_owned(), until: None };
        match editor.carry_out(order).await {
            Ok(()) => self.session.commands().handed_out(page),
            Err(fault) => self.session.client().log(format!("planwright: {page} stays as it was: {fault}")),
        }
        Ok(())
    }
}

/// Words for another hunk or task must not be taken for these. A goal says on its page what it is.
fn for_another(unsent: &Asked, wanted: &Wanted) -> Result<(), Refusal> {
    if wanted.page() == paper::PAGE || unsent.wanted == *wanted {
        return Ok(());
    }
    let message = "words.md holds words for something else";
    Err(refuse(RefusalKind::WrongState, message, "save it, or empty it, then give the command again"))
}

/// The task whose plan is to be approved: the named one, else the only one whose plan waits for it.
fn to_approve<'a>(desk: &'a Desk, which: &Which) -> Result<&'a Arc<Dossier>, Refusal> {
    if let Which::Task(_) = which {
        return desk.find(which);
    }
    let waits = |dossier: &&Arc<Dossier>| {
        let task = Which::Task(dossier.task.id.clone());
        let offered = || matches!(desk.answer(&Query::Show { task }), Ok(View::Show(show)) if show.approve.is_some());
        !dossier.task.is_over() && (dossier.state == TaskState::AwaitingApproval || offered())
    };
    let waiting: Vec<&Arc<Dossier>> = desk.tasks.iter().filter(waits).collect();
    match waiting.as_slice() {
        [one] => Ok(one),
        [] => Err(refuse(RefusalKind::NotFound, "no plan waits for an approval", "planwright.tasks")),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|dossier| format!("{} ({})", dossier.task.id, words::title(&dossier.task.goal.words)))
                .collect();
            Err(refuse(
                RefusalKind::SeveralCandidates,
                format!("several plans wait for an approval: {}", names.join(", ")),
                "planwright.approve TASK",
            ))
        }
    }
}

fn nonsense() -> Refusal {
    refuse(RefusalKind::Broken, "the host answered something else than was asked", "please report this fault")
}
