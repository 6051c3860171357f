//! `planwright.…`: what a client's commands come to, and the carrying out of it.
//!
//! Invariant: a command is answered before anything is done; commands are begun in the order in which they came, none
//! before the root is open. What comes of one is seen in the views, in a page that is shown at once, or in one line of
//! an error; the log has all of it, and so has the file that it is about where the line has no room. A decision acts on
//! what it names, or on the only candidate there is. Absent: rules about tasks, plans and hunks; the engine has them.

mod about;
mod arguments;
pub(in crate::lsp) mod carry;
mod errand;
mod issued;
mod memory;
mod paper;
mod which;

#[cfg(test)]
mod serving;
#[cfg(test)]
mod tests;

pub use memory::Memory;

use crate::actions::{ACTIONS, Row, Verb};
use crate::desk::{Desk, Query, View};
use crate::domain::ids::{TaskId, WorkspacePath};
use crate::domain::task::action::{Refusal, RefusalKind};
use crate::domain::task::decide::refuse;
use crate::lsp::facts::ClientFacts;
use crate::lsp::ground::Workplace;
use crate::lsp::session::Session;
use crate::lsp::views::{Section, diagnostic, words};
use crate::ports::LoosePage;
use arguments::{Given, Known};
use errand::Errand;
use futures_util::FutureExt;
use issued::Issued;
use memory::Goal;
use paper::Asked;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::mpsc;
use tower_lsp::lsp_types::{Diagnostic, DiagnosticSeverity, NumberOrString, Range, Url};

/// Characters of an error that is shown in a terminal. Neovim writes `LSP[planwright]` before it, and stops everything
/// at a line that has no room in its 80 columns.
const SHOWN: usize = 60;

/// The same where an error has a window of its own.
const ROOMY: usize = 400;

/// Characters of an error in the log: a refusal may quote a whole plan.
const LOGGED: usize = 4000;

/// How long a root may take to open under a command that came early.
const OPENING: Duration = Duration::from_secs(10);

/// Said on a page with a goal that became no task.
const LEFT_OVER: &str = "this goal is no task yet\nnext: save this page (:w), and it is planned";

/// What the user asked for.
pub(super) struct Order {
    what: What,
    issued: Issued,
    goal: Goal,
}

enum What {
    /// A command, as the client wrote it.
    Command { id: String, arguments: Vec<Value> },
    /// A page with words was saved.
    Page(Asked),
}

/// Takes a command. What it is about is looked at behind the handler: that may read files and texts.
pub fn run(session: &Arc<Session>, id: &str, arguments: &[Value]) {
    session.acted();
    // What the last one came to was read, or is in the log.
    session.commands().forget_told(session);
    take(session, What::Command { id: id.to_owned(), arguments: arguments.to_vec() });
}

/// A page with words was saved.
pub fn saved(session: &Arc<Session>, path: &WorkspacePath) {
    if !is_words_page(path) {
        return;
    }
    let Some(document) = session.id().and_then(|id| session.documents().of(id, path)) else { return };
    if path.as_str() == paper::PAGE {
        say_of_goal(session, Vec::new());
    }
    let Some(asked) = paper::read(&document.text).filter(|asked| asked.wanted.page() == path.as_str()) else { return };
    session.acted();
    // Here, so that of two that are saved at once one is acted on.
    if session.commands().lock().asked.insert(asked.key()) {
        take(session, What::Page(asked));
    }
}

/// A goal that was saved and became no task, because editor and server ended first: it is said on its page, and
/// becomes one when the page is saved again. Nothing begins by itself (B2).
pub async fn left_over(session: &Session, root: &dyn Workplace) {
    let Ok(View::Loose(Some(page))) = root.port().ask(Query::Loose { page: LoosePage::Goal, text: None }).await else {
        return;
    };
    if paper::read(&page).is_some_and(|asked| session.commands().is_unsent(&asked, &session.desk())) {
        say_of_goal(
            session,
            vec![Diagnostic {
                code: Some(NumberOrString::String("state".to_owned())),
                ..diagnostic(Range::default(), DiagnosticSeverity::INFORMATION, LEFT_OVER.to_owned())
            }],
        );
    }
}

fn say_of_goal(session: &Session, said: Vec<Diagnostic>) {
    if let Ok(path) = WorkspacePath::new(paper::PAGE) {
        session.views().put(&path, Section::State, said);
    }
}

/// Where a goal is written, or other words that a command asks for.
pub fn is_words_page(path: &WorkspacePath) -> bool {
    path.as_str() == paper::PAGE || path.as_str() == paper::WORDS
}

/// A page as we wrote it holds none.
pub fn holds_words(page: &str) -> bool {
    paper::read(page).is_some()
}

fn take(session: &Arc<Session>, what: What) {
    let order = Order { issued: Issued::now(session), goal: session.commands().goal(), what };
    if !order.may_be_a_goal() {
        order.goal.over();
    }
    let orders = session.commands().orders(|| {
        let (orders, queue) = mpsc::unbounded_channel();
        tokio::spawn(serve(Arc::downgrade(session), queue));
        orders
    });
    // Who takes them lives as long as the session.
    let _gone = orders.send(order);
}

/// Begins one after the other, until the session ends.
async fn serve(session: Weak<Session>, mut orders: mpsc::UnboundedReceiver<Order>) {
    while let Some(order) = orders.recv().await {
        let Some(session) = session.upgrade() else { return };
        match opened(&session).await {
            Ok(root) => {
                let mut going = done(session, root, order).boxed();
                // The first poll puts an action into the engine's inbox, in its turn.
                if (&mut going).now_or_never().is_none() {
                    tokio::spawn(going);
                }
            }
            Err(refusal) => {
                order.forget(&session);
                complain(&session, &refusal.message, &refusal.next);
            }
        }
    }
}

/// The root; why there is none, where that is known.
async fn opened(session: &Session) -> Result<Arc<dyn Workplace>, Refusal> {
    if let Some(root) = session.place() {
        return Ok(root);
    }
    if let Some(refusal) = session.commands().lock().shut.clone() {
        return Err(refusal);
    }
    tokio::time::timeout(OPENING, session.placed()).await.map_err(|_| {
        let early = || refuse(RefusalKind::Broken, "this workspace is not open yet", "give the command again");
        session.commands().lock().shut.clone().unwrap_or_else(early)
    })
}

/// Carries one out. A panic ends it and nothing else.
async fn done(session: Arc<Session>, root: Arc<dyn Workplace>, order: Order) {
    let mut of = None;
    let doing = AssertUnwindSafe(carried_out(&session, root, &order, &mut of)).catch_unwind().await;
    let (message, next) = match doing {
        Ok(Ok(())) => return,
        Ok(Err(reason)) => reason,
        Err(_panic) => ("the command failed in planwright itself".to_owned(), "please report this fault".to_owned()),
    };
    order.forget(&session);
    complain_of(&session, of.as_ref(), &message, &next);
}

/// `of`: where the file goes that it is about.
async fn carried_out(
    session: &Arc<Session>,
    root: Arc<dyn Workplace>,
    order: &Order,
    of: &mut Option<WorkspacePath>,
) -> Result<(), (String, String)> {
    let errand = match &order.what {
        What::Command { id, arguments } => understood(session, id, arguments)?,
        What::Page(asked) => {
            if let Some(task) = session.commands().sent(asked, &session.desk()) {
                session.client().log(match asked.wanted.page() {
                    paper::PAGE => format!("planwright: this goal is task {task}; planwright.plan begins another"),
                    page => format!("planwright: {page} is done already, at task {task}"),
                });
                return Ok(());
            }
            carry::of_page(asked.clone())
        }
    };
    *of = about::about(&errand, &session.desk());
    let done = carry::out(session, root.as_ref(), errand, order.issued.clone(), &order.goal).await;
    done.map_err(|refusal| (refusal.message, refusal.next))
}

impl Order {
    /// Of anything else nothing is lost that could not be given again.
    fn may_be_a_goal(&self) -> bool {
        match &self.what {
            What::Command { id, .. } => {
                row(id).is_some_and(|row| matches!(row.verb, Verb::Plan | Verb::Ask | Verb::Change | Verb::Fix))
            }
            What::Page(_) => true,
        }
    }

    /// Nothing came of it: a page that is saved again is tried again.
    fn forget(&self, session: &Session) {
        if let What::Page(asked) = &self.what {
            session.commands().lock().asked.remove(&asked.key());
        }
    }
}

fn row(id: &str) -> Option<&'static Row> {
    let name = id.strip_prefix("planwright.");
    ACTIONS.iter().find(|row| row.lsp.is_some() && row.lsp == name)
}

fn understood(session: &Session, id: &str, arguments: &[Value]) -> Result<Errand, (String, String)> {
    let row = row(id).ok_or_else(|| ("there is no such command".to_owned(), "planwright.tasks".to_owned()))?;
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

/// One line that is shown; the log has all of it, with the next step.
pub(super) fn complain(session: &Session, message: &str, next: &str) {
    complain_of(session, None, message, next);
}

/// The same about a file: where the line has no room for all of it, the file's first line shows it until the next
/// command.
pub(super) fn complain_of(session: &Session, about: Option<&WorkspacePath>, message: &str, next: &str) {
    let joined = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = joined(format!("planwright: {message}"));
    let whole = joined(format!("{message}; next: {next}"));
    let room = if session.facts().is_some_and(ClientFacts::is_roomy) { ROOMY } else { SHOWN };
    let fits = whole.chars().count() <= room;
    session.client().show_error(&words::line(if fits { &whole } else { &message }, room));
    session.client().log(words::line(&whole, LOGGED));
    if let Some(path) = about.filter(|_| !fits) {
        session.commands().told(session, path, words::line(&whole, LOGGED));
    }
}
