//! The plan documents that a session has open: compiled as they are typed, newest text first.
//!
//! Invariant: a text that was typed over is not waited for; what is shown is about the text that stands there. An
//! approval that was written and saved is handed to the engine in the order of the client's own messages. Absent: any
//! rule about plans; the parts of `plan_doc` have those as pure functions.

use super::moment::Moment;
use super::offer::Offered;
use super::say::Ruler;
use super::signature::{self, Signature};
use super::{Whose, findings, whose};
use crate::desk::{CompiledView, Desk, Dossier, Query, View};
use crate::domain::ids::{HunkId, RevisionRef, StepId, TaskId, WorkspacePath};
use crate::domain::plan::{Parsed, parse};
use crate::domain::task::action::Which;
use crate::lsp::commands::carry::approve_and_run;
use crate::lsp::commands::complain;
use crate::lsp::ground::Workplace;
use crate::lsp::session::Session;
use crate::lsp::views::Section;
use crate::ports::{Document, DocumentEvent};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower_lsp::lsp_types::{Diagnostic, DiagnosticSeverity};

/// How long after a change its save is told in the same breath: a client that holds changes back for a moment sends
/// both together when the file has been written.
const BREATH: Duration = Duration::from_millis(250);

/// Until a text is compiled again that the engine refused to: its host may be gone, and another comes.
const PAUSE: Duration = Duration::from_secs(1);

/// The plan documents of a session.
#[derive(Default)]
pub struct Plans {
    known: Mutex<HashMap<WorkspacePath, Known>>,
    declined: Mutex<HashSet<HunkId>>,
}

/// A text and what was found out about it.
#[derive(Clone)]
struct Known {
    text: Arc<str>,
    parsed: Arc<Parsed>,
    compiled: Option<Arc<CompiledView>>,
}

/// A plan document with all that is known of it, to be asked about.
pub struct Reading {
    /// Which.
    pub path: WorkspacePath,
    /// As the session has it.
    pub document: Document,
    /// What it says.
    pub parsed: Arc<Parsed>,
    /// What the engine says of this text, if it has.
    pub compiled: Option<Arc<CompiledView>>,
    /// The snapshot it was read beside.
    pub desk: Arc<Desk>,
    /// Its task.
    pub dossier: Option<Arc<Dossier>>,
}

impl Reading {
    fn new(session: &Session, path: &WorkspacePath, document: Document, known: Known) -> Self {
        let desk = session.desk();
        let dossier = match whose(path) {
            Some(Whose::Task(task)) => desk.tasks.iter().find(|dossier| dossier.task.id == task).cloned(),
            Some(Whose::Nobody) | None => None,
        };
        let Known { parsed, compiled, .. } = known;
        Self { path: path.clone(), document, parsed, compiled, desk, dossier }
    }

    /// For the pure functions.
    pub fn moment(&self) -> Moment<'_> {
        Moment {
            text: &self.document.text,
            parsed: &self.parsed,
            compiled: self.compiled.as_deref(),
            dossier: self.dossier.as_deref(),
            place: &self.desk.place,
        }
    }

    /// For the client's columns.
    pub fn ruler(&self, session: &Session) -> Option<Ruler<'_>> {
        let uri = session.uri_of(&self.path)?;
        Some(Ruler::new(&self.document.text, session.encoding(), uri, self.document.version))
    }

    /// What the agent offers for it.
    pub fn offer(&self, session: &Session) -> Option<Offered> {
        let offered = self.dossier.as_ref()?.offered.as_ref()?;
        Offered::new(&self.path, &self.document.text, offered, &session.plans().declined())
    }
}

impl Plans {
    /// A plan document that the session has open, as it stands now. Reading a text that was not read yet is a worker's
    /// business.
    pub async fn read(&self, session: &Session, path: &WorkspacePath) -> Option<Reading> {
        whose(path)?;
        let document = session.documents().of(session.id()?, path)?;
        if let Some(known) = self.known(&document, path) {
            return Some(Reading::new(session, path, document, known));
        }
        let text = document.text.clone();
        let parsed = Arc::new(tokio::task::spawn_blocking(move || parse(&text)).await.ok()?);
        let known = Known { text: document.text.clone(), parsed, compiled: None };
        Some(Reading::new(session, path, document, known))
    }

    /// The same, where it has been read already.
    fn read_already(&self, session: &Session, path: &WorkspacePath) -> Option<Reading> {
        let document = session.documents().of(session.id()?, path)?;
        let known = self.known(&document, path)?;
        Some(Reading::new(session, path, document, known))
    }

    fn known(&self, document: &Document, path: &WorkspacePath) -> Option<Known> {
        self.lock().get(path).filter(|known| known.text == document.text).cloned()
    }

    /// Changes of an offered revision that the person does not want; they are not shown again in this session.
    pub fn decline(&self, session: &Session, path: &WorkspacePath, hunks: impl IntoIterator<Item = HunkId>) {
        self.declined.lock().unwrap_or_else(PoisonError::into_inner).extend(hunks);
        if let Some(reading) = self.read_already(session, path) {
            session.views().put(path, Section::Offered, offered(session, &reading));
        }
    }

    fn declined(&self) -> HashSet<HunkId> {
        self.declined.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WorkspacePath, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the agent offers, at its places.
fn offered(session: &Session, reading: &Reading) -> Vec<Diagnostic> {
    let (Some(offer), Some(ruler)) = (reading.offer(session), reading.ruler(session)) else { return vec![] };
    let hunks = offer.hunks().into_iter();
    hunks.map(|(id, range, said)| ruler.said(&range, DiagnosticSeverity::INFORMATION, id.to_string(), said)).collect()
}

/// What a client told of a document, with its text at that time.
enum Happened {
    Opened(WorkspacePath, Document),
    Changed(WorkspacePath, Document),
    Saved(WorkspacePath),
    Closed(WorkspacePath),
}

/// What was told since the session began.
pub struct Heard(mpsc::UnboundedReceiver<Happened>);

/// Compiles and shows, until the session ends. Begun once the root is open.
pub async fn run(session: Arc<Session>, place: Arc<dyn Workplace>, Heard(heard): Heard) {
    let mut desks = place.port().desks();
    let mut keeper =
        Keeper { session, place, heard, later: VecDeque::new(), open: HashMap::new(), jobs: JoinSet::new() };
    loop {
        keeper.start();
        let refused = keeper.refused();
        tokio::select! {
            told = next(&mut keeper.heard, &mut keeper.later) => match told {
                Some(told) => keeper.take(told).await,
                None => return,
            },
            Some(done) = keeper.jobs.join_next(), if !keeper.jobs.is_empty() => {
                // it guards what may panic in a task of its own
                if let Ok(done) = done {
                    keeper.finish(done);
                }
            }
            () = until(refused) => keeper.again(),
            changed = desks.changed() => {
                if changed.is_err() {
                    return;
                }
                let desk = desks.borrow_and_update().clone();
                keeper.desk(&desk);
            }
        }
    }
}

/// Listens from now on, which is to be before the client tells of a document: what is typed while the root is still
/// being opened is an edit and not the text that the file came with.
pub fn listen(session: &Arc<Session>) -> Heard {
    let (tell, heard) = mpsc::unbounded_channel();
    let Some(ours) = session.id() else { return Heard(heard) };
    let documents = Arc::downgrade(session.documents());
    session.documents().listen(Arc::new(move |whose_session, event| {
        let path = event.path();
        if whose_session != ours {
            return;
        }
        let text = || documents.upgrade().and_then(|documents| documents.of(ours, path));
        let is_plan = whose(path).is_some();
        let told = match event {
            DocumentEvent::Saved { .. } => Some(Happened::Saved(path.clone())),
            DocumentEvent::Opened { .. } if is_plan => text().map(|document| Happened::Opened(path.clone(), document)),
            DocumentEvent::Changed { .. } if is_plan => {
                text().map(|document| Happened::Changed(path.clone(), document))
            }
            DocumentEvent::Closed { .. } if is_plan => Some(Happened::Closed(path.clone())),
            DocumentEvent::Opened { .. } | DocumentEvent::Changed { .. } | DocumentEvent::Closed { .. } => None,
        };
        if let Some(told) = told {
            // A session that is gone hears nothing.
            let _gone = tell.send(told);
        }
    }));
    Heard(heard)
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

async fn next(heard: &mut mpsc::UnboundedReceiver<Happened>, later: &mut VecDeque<Happened>) -> Option<Happened> {
    match later.pop_front() {
        Some(told) => Some(told),
        None => heard.recv().await,
    }
}

/// An open document.
struct Open {
    document: Document,
    signature: Signature,
    /// A compiling is under way.
    busy: bool,
    /// It has to be compiled.
    due: bool,
    /// It has to be then: the engine refused.
    refused: Option<Instant>,
    /// What of the lenses depends on the compiling, as it was last.
    approvable: Option<RevisionRef>,
    /// What of its task the compiling depends on.
    basis: Basis,
}

/// What a compiled view depends on beside the text, as far as the desk has it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Basis {
    approved: Option<RevisionRef>,
    revisions: usize,
    over: Vec<StepId>,
    offered: Option<RevisionRef>,
}

impl Basis {
    fn of(dossier: Option<&Arc<Dossier>>) -> Self {
        let Some(dossier) = dossier else { return Self::default() };
        let task = &dossier.task;
        Self {
            approved: task.approval.as_ref().map(|approval| approval.revision.clone()),
            revisions: task.revisions.len(),
            over: task.steps.iter().filter(|run| run.state.is_over()).map(|run| run.id.clone()).collect(),
            offered: dossier.offered.as_ref().map(|(revision, _)| revision.clone()),
        }
    }
}

struct Done {
    path: WorkspacePath,
    text: Arc<str>,
    /// What was found; nothing where reading it panicked, which it would again.
    known: Option<Known>,
}

struct Keeper {
    session: Arc<Session>,
    place: Arc<dyn Workplace>,
    heard: mpsc::UnboundedReceiver<Happened>,
    /// Heard while something else was waited for.
    later: VecDeque<Happened>,
    open: HashMap<WorkspacePath, Open>,
    jobs: JoinSet<Done>,
}

impl Keeper {
    async fn take(&mut self, told: Happened) {
        match told {
            Happened::Opened(path, document) => {
                let signature = Signature::opened(document.text.clone());
                let basis = self.basis(&path);
                self.open.insert(
                    path,
                    Open { document, signature, busy: false, due: true, refused: None, approvable: None, basis },
                );
            }
            Happened::Changed(path, document) => {
                let Some(open) = self.open.get_mut(&path) else { return };
                open.due = true;
                // until it is compiled, lenses are given without
                open.approvable = None;
                open.document = document.clone();
                let on_disk = match open.signature.is_new_in(&document.text) {
                    true => self.on_disk(&path).await,
                    false => None,
                };
                if let Some(open) = self.open.get_mut(&path) {
                    open.signature.changed(document.text, on_disk.as_deref());
                }
            }
            Happened::Saved(path) => {
                // Any file that is saved may be one that a plan names.
                self.open.values_mut().for_each(|open| open.due = true);
                let revision = self.open.get_mut(&path).and_then(|open| open.signature.saved());
                if let (Some(revision), Some(Whose::Task(task))) = (revision, whose(&path)) {
                    self.approve(task, revision);
                }
            }
            Happened::Closed(path) => {
                self.open.remove(&path);
                self.session.plans().lock().remove(&path);
                self.show(&path, Vec::new(), Vec::new());
            }
        }
    }

    /// The text on disk, unless its being saved is what the client tells next.
    async fn on_disk(&mut self, path: &WorkspacePath) -> Option<String> {
        let file = self.session.root()?.join(path.as_str());
        let text = tokio::fs::read_to_string(file).await.ok()?;
        signature::written(&text)?;
        if self.later.is_empty()
            && let Ok(Some(told)) = tokio::time::timeout(BREATH, self.heard.recv()).await
        {
            self.later.push_back(told);
        }
        let saved = matches!(self.later.front(), Some(Happened::Saved(saved)) if saved == path);
        (!saved).then_some(text)
    }

    fn approve(&self, task: TaskId, revision: RevisionRef) {
        let (session, place) = (self.session.clone(), self.place.clone());
        tokio::spawn(async move {
            let done = approve_and_run(&session, place.port(), Which::Task(task), revision, None).await;
            if let Err(refusal) = done {
                complain(&session, &refusal.message, &refusal.next);
            }
        });
    }

    fn basis(&self, path: &WorkspacePath) -> Basis {
        let desk = self.session.desk();
        let Some(Whose::Task(task)) = whose(path) else { return Basis::default() };
        Basis::of(desk.tasks.iter().find(|dossier| dossier.task.id == task))
    }

    /// A newer desk: what depends on it is compiled again.
    fn desk(&mut self, desk: &Desk) {
        for (path, open) in &mut self.open {
            let Some(Whose::Task(task)) = whose(path) else { continue };
            let basis = Basis::of(desk.tasks.iter().find(|dossier| dossier.task.id == task));
            if basis != open.basis {
                open.basis = basis;
                open.due = true;
            }
        }
    }

    /// Starts what is due and not under way.
    fn start(&mut self) {
        for (path, open) in &mut self.open {
            if !open.due || open.busy {
                continue;
            }
            (open.due, open.busy, open.refused) = (false, true, None);
            let (path, text, place) = (path.clone(), open.document.text.clone(), self.place.clone());
            let task = match whose(&path) {
                Some(Whose::Task(task)) => Some(task),
                Some(Whose::Nobody) | None => None,
            };
            let compiling = text.clone();
            let work = tokio::spawn(async move {
                let (own, text) = (compiling.clone(), &compiling);
                let parsed = tokio::task::spawn_blocking(move || parse(&own));
                let query = Query::Compile { task, text: text.to_string() };
                let (parsed, found) = tokio::join!(parsed, place.port().ask(query));
                let compiled = match found {
                    Ok(View::Compiled(compiled)) => Some(Arc::from(compiled)),
                    Ok(_) | Err(_) => None,
                };
                let parsed = Arc::new(parsed.ok()?);
                Some(Known { text: compiling, parsed, compiled })
            });
            self.jobs.spawn(async move { Done { path, text, known: work.await.ok().flatten() } });
        }
    }

    /// When the engine is asked again what it refused.
    fn refused(&self) -> Option<Instant> {
        self.open.values().filter_map(|open| open.refused).min()
    }

    fn again(&mut self) {
        let now = Instant::now();
        for open in self.open.values_mut().filter(|open| open.refused.is_some_and(|at| at <= now)) {
            (open.due, open.refused) = (true, None);
        }
    }

    /// Shows what was found, if the text is still the same; else it is due again.
    fn finish(&mut self, done: Done) {
        let Some(open) = self.open.get_mut(&done.path) else { return };
        open.busy = false;
        if open.document.text != done.text {
            open.due = true;
            return;
        }
        let Some(known) = done.known else { return };
        open.refused = known.compiled.is_none().then(|| Instant::now() + PAUSE);
        self.session.plans().lock().insert(done.path.clone(), known);
        let Some(reading) = self.session.plans().read_already(&self.session, &done.path) else { return };
        let Some(ruler) = reading.ruler(&self.session) else { return };
        let approvable = reading.moment().approvable().cloned();
        if let Some(open) = self.open.get_mut(&done.path).filter(|open| open.approvable != approvable) {
            open.approvable = approvable;
            self.session.views().outdated();
        }
        let found = findings::problems(&reading.moment());
        let found = found.iter().map(|problem| ruler.diagnostic(problem)).collect();
        let offered = offered(&self.session, &reading);
        self.show(&done.path, found, offered);
    }

    fn show(&self, path: &WorkspacePath, found: Vec<Diagnostic>, offered: Vec<Diagnostic>) {
        self.session.views().put(path, Section::Plan, found);
        self.session.views().put(path, Section::Offered, offered);
    }
}
