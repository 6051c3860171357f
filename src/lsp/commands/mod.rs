//! `planwright.…`: what a client's commands come to, and the carrying out of it.
//!
//! Invariant: a command is answered before anything is done; commands are begun in the order in which they came, none
//! before the root is open. What comes of one is seen in the views, in a page that is shown at once, or in one line of
//! an error; the log has all of it. A decision acts on what it names, or on the only candidate there is. Absent: rules
//! about tasks, plans and hunks; the engine has them.

mod arguments;
pub(in crate::lsp) mod carry;
mod errand;
mod memory;
mod moment;
mod paper;

#[cfg(test)]
mod serving;
#[cfg(test)]
mod tests;

pub use memory::Memory;

use crate::actions::ACTIONS;
use crate::desk::Desk;
use crate::domain::ids::{TaskId, WorkspacePath};
use crate::domain::task::action::{Refusal, RefusalKind};
use crate::domain::task::decide::refuse;
use crate::lsp::ground::Place;
use crate::lsp::session::Session;
use crate::lsp::views::words;
use arguments::{Given, Known};
use errand::Errand;
use futures_util::FutureExt;
use moment::Moment;
use paper::Asked;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::mpsc;
use tower_lsp::lsp_types::Url;

/// Characters of an error that is shown. Neovim writes `LSP[planwright]` before it, and stops everything at a line that
/// has no room in its 80 columns.
const SHOWN: usize = 60;

/// Characters of an error in the log: a refusal may quote a whole plan.
const LOGGED: usize = 4000;

/// How long a root may take to open under a command that came early.
const OPENING: Duration = Duration::from_secs(10);

/// What the user asked for.
pub(super) struct Order {
    what: What,
    moment: Moment,
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
    take(session, What::Command { id: id.to_owned(), arguments: arguments.to_vec() });
}

/// A page with words was saved.
pub fn saved(session: &Arc<Session>, path: &WorkspacePath) {
    if !is_words_page(path) {
        return;
    }
    let Some(document) = session.id().and_then(|id| session.documents().of(id, path)) else { return };
    let Some(asked) = paper::read(&document.text).filter(|asked| asked.wanted.page() == path.as_str()) else { return };
    session.acted();
    // Here, so that of two that are saved at once one is acted on.
    if session.commands().lock().asked.insert(asked.key()) {
        take(session, What::Page(asked));
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
    let order = Order { what, moment: Moment::now(session) };
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
async fn opened(session: &Session) -> Result<Arc<dyn Place>, Refusal> {
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
async fn done(session: Arc<Session>, root: Arc<dyn Place>, order: Order) {
    let doing = AssertUnwindSafe(carried_out(&session, root, &order)).catch_unwind().await;
    let (message, next) = match doing {
        Ok(Ok(())) => return,
        Ok(Err(reason)) => reason,
        Err(_panic) => ("the command failed in planwright itself".to_owned(), "please report this fault".to_owned()),
    };
    order.forget(&session);
    complain(&session, &message, &next);
}

async fn carried_out(session: &Arc<Session>, root: Arc<dyn Place>, order: &Order) -> Result<(), (String, String)> {
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
    let done = carry::out(session, root.as_ref(), errand, order.moment).await;
    done.map_err(|refusal| (refusal.message, refusal.next))
}

impl Order {
    /// Nothing came of it: a page that is saved again is tried again.
    fn forget(&self, session: &Session) {
        if let What::Page(asked) = &self.what {
            session.commands().lock().asked.remove(&asked.key());
        }
    }
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

/// One line that is shown; the log has all of it, with the next step.
pub(super) fn complain(session: &Session, message: &str, next: &str) {
    let joined = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = joined(format!("planwright: {message}"));
    let whole = joined(format!("{message}; next: {next}"));
    let shown = if whole.chars().count() <= SHOWN { &whole } else { &message };
    session.client().show_error(&words::line(shown, SHOWN));
    session.client().log(words::line(&whole, LOGGED));
}

fn refusal_of(error: &std::io::Error) -> Refusal {
    refuse(RefusalKind::Broken, format!("the page cannot be written: {error}"), "planwright doctor, in a terminal")
}
