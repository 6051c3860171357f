//! The task that shows what there is to see, as long as its session lives.
//!
//! Invariant: it never waits for the client: a bar of progress is asked for in a task of its own. Of many changes that
//! came while it worked it shows the last. A document's change is shown at once, desks at [`PACE`] at most. Absent: what
//! things look like.

use super::board::{Board, Changes};
use super::glue::{self, Told};
use super::progress::{Bars, Move, at_work};
use super::{OfSession, hunks, tasks};
use crate::desk::Desk;
use crate::domain::ids::{TaskId, WorkspacePath};
use crate::lsp::client::Progress;
use crate::lsp::ground::Workplace;
use crate::lsp::session::Session;
use crate::ports::DocumentEvent;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc};
use tower_lsp::lsp_types::notification;
use tower_lsp::lsp_types::{
    NumberOrString, ProgressParams, ProgressParamsValue, WorkDoneProgress, WorkDoneProgressEnd,
};

/// Between two desks that are shown. A person sees no faster, and a run of a hundred events is one.
const PACE: Duration = Duration::from_millis(20);

/// Between two calls for lenses and hints: each makes the client ask for those of all its documents.
const REFRESH: Duration = Duration::from_millis(250);

/// Helix drops what comes while its prompt is open, and a spinner whose end was dropped turns for ever; the same end
/// again clears it.
const AGAIN: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(20)];

/// Documents that changed and were not looked at yet.
#[derive(Default)]
struct Heard {
    paths: Mutex<BTreeMap<WorkspacePath, bool>>,
    wake: Notify,
}

impl Heard {
    fn add(&self, path: &WorkspacePath, opened: bool) {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        *paths.entry(path.clone()).or_default() |= opened;
        self.wake.notify_one();
    }

    /// Which, and whether it was opened.
    fn take(&self) -> BTreeMap<WorkspacePath, bool> {
        std::mem::take(&mut *self.paths.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Shows what there is to see, until the session ends. Begun once the root is open.
pub async fn run(session: Arc<Session>, place: Arc<dyn Workplace>) {
    let heard = Arc::new(Heard::default());
    listen(&session, &heard);
    let mut desks = place.port().desks();
    let (bars, mut begun) = mpsc::unbounded_channel();
    let mut show = Show::new(session.clone(), bars);
    let first = desks.borrow_and_update().clone();
    if let Some(line) = tasks::unfinished(&first) {
        session.client().log(line);
    }
    show.desk(first);
    let mut shown = Instant::now();
    loop {
        let next_desk = async {
            tokio::time::sleep_until((shown + PACE).into()).await;
            desks.changed().await
        };
        tokio::select! {
            changed = next_desk => {
                if changed.is_err() {
                    return;
                }
                shown = Instant::now();
                let desk = desks.borrow_and_update().clone();
                show.desk(desk);
            }
            () = heard.wake.notified() => show.documents(heard.take()),
            () = session.views().wake.notified() => show.send(),
            () = session.views().stale.notified() => show.call(),
            Some((task, progress)) = begun.recv() => show.begun(task, progress),
            () = until(show.due()) => show.late(),
        }
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

fn listen(session: &Session, heard: &Arc<Heard>) {
    let ours = session.id();
    let heard = Arc::downgrade(heard);
    session.documents().listen(Arc::new(move |whose, event| {
        if Some(whose) == ours
            && let Some(heard) = heard.upgrade()
        {
            heard.add(event.path(), matches!(event, DocumentEvent::Opened { .. }));
        }
    }));
}

type Begun = (TaskId, Option<Progress>);

/// What is on the screen.
struct Show {
    session: Arc<Session>,
    board: Board,
    told: Told,
    bars: Bars,
    shown: BTreeMap<TaskId, Progress>,
    begin: mpsc::UnboundedSender<Begun>,
    ends: Vec<(Instant, NumberOrString)>,
    refresh: Option<Instant>,
    refreshed: Option<Instant>,
}

impl Show {
    fn new(session: Arc<Session>, begin: mpsc::UnboundedSender<Begun>) -> Self {
        Self {
            session,
            board: Board::default(),
            told: Told::default(),
            bars: Bars::default(),
            shown: BTreeMap::new(),
            begin,
            ends: Vec::new(),
            refresh: None,
            refreshed: None,
        }
    }

    /// A newer desk.
    fn desk(&mut self, desk: Arc<Desk>) {
        let changes = self.board.take(desk);
        let open: BTreeSet<WorkspacePath> = self.session.documents().paths().into_iter().collect();
        for path in changes.files.intersection(&open) {
            self.watch(path);
        }
        self.lay(&changes);
        self.move_bars();
        if !changes.tasks.is_empty() {
            self.tell_tasks();
        }
        if changes.lenses {
            self.call();
        }
    }

    /// Calls for lenses and hints, as soon as that may be.
    fn call(&mut self) {
        let soonest = self.refreshed.map_or_else(Instant::now, |at| at + REFRESH);
        self.refresh.get_or_insert(soonest);
        self.late();
    }

    /// Documents that changed; those that were opened are watched from now on.
    fn documents(&mut self, paths: BTreeMap<WorkspacePath, bool>) {
        let mut changes = Changes::default();
        for (path, opened) in paths {
            if opened {
                self.watch(&path);
            }
            changes.add(Changes::of_document(&path));
        }
        self.lay(&changes);
    }

    fn watch(&self, path: &WorkspacePath) {
        self.session.documents().watch(path, &self.board.watched(path));
    }

    fn lay(&mut self, changes: &Changes) {
        let session = self.session.clone();
        let texts = OfSession { documents: session.documents().as_ref(), session: session.id() };
        self.board.lay(changes, &texts, session.encoding(), &mut session.views().lock_sheets());
        self.send();
        if session.facts().is_some_and(|facts| facts.glue) {
            for path in &changes.files {
                let placed = hunks::placed(self.board.desk(), path, &texts, session.encoding());
                let Some(uri) = session.uri_of(path) else { continue };
                let version = super::Texts::of(&texts, path).map(|document| document.version);
                if let Some(told) = self.told.hunks(path, &uri, version, &placed) {
                    session.client().tell_glue::<glue::Hunks>(told);
                }
            }
        }
    }

    /// Sends what differs.
    fn send(&self) {
        let session = &self.session;
        let version = |path: &WorkspacePath| {
            session.id().and_then(|id| session.documents().of(id, path)).map(|document| document.version)
        };
        let at = |path: &WorkspacePath| Some((session.uri_of(path)?, version(path)));
        let differences = session.views().lock_sheets().differences(at);
        for params in differences {
            let can = session.facts().is_some_and(|facts| facts.related_information);
            let said = if can { hunks::with_related(&params.uri, params.diagnostics) } else { params.diagnostics };
            session.client().publish_diagnostics(params.uri, said, params.version);
        }
    }

    fn tell_tasks(&mut self) {
        let session = &self.session;
        if !session.facts().is_some_and(|facts| facts.glue) {
            return;
        }
        let desk = self.board.desk();
        if let Some(told) = self.told.tasks(desk, |path| session.uri_of(path)) {
            session.client().tell_glue::<glue::Tasks>(told);
        }
        if let Some(told) = self.told.ask(desk) {
            session.client().tell_glue::<glue::Ask>(told);
        }
    }

    fn move_bars(&mut self) {
        let works = at_work(self.board.desk(), &self.bars);
        for one in self.bars.moves(&works, Instant::now()) {
            self.make(one);
        }
    }

    fn make(&mut self, one: Move) {
        match one {
            Move::Begin { task, title, doing } => {
                let (client, begin) = (self.session.client().clone(), self.begin.clone());
                tokio::spawn(async move {
                    let progress = client.begin_progress(&title, Some(doing), true).await;
                    // a session that is gone takes its bars with it
                    let _gone = begin.send((task, progress));
                });
            }
            Move::Report { task, doing, percentage } => {
                if let Some(progress) = self.shown.get(&task) {
                    progress.report(doing, percentage);
                }
            }
            Move::End { task, words } => {
                if let Some(progress) = self.shown.remove(&task) {
                    self.end(progress, Some(words));
                }
            }
        }
    }

    /// The client has the bar; the task may have ended meanwhile.
    fn begun(&mut self, task: TaskId, progress: Option<Progress>) {
        let Some(progress) = progress else {
            // one that shows none at all is not asked again
            if self.session.facts().is_some_and(|facts| facts.progress) {
                self.bars.refused(&task, Instant::now());
            }
            return;
        };
        if !self.bars.shows(&task) {
            self.end(progress, None);
            return;
        }
        self.session.views().lock_tokens().insert(progress.token().clone(), task.clone());
        if let Some(former) = self.shown.insert(task.clone(), progress) {
            self.end(former, None);
        }
        if let Some(newest) = self.bars.begun(&task) {
            self.make(newest);
        }
    }

    fn end(&mut self, progress: Progress, words: Option<String>) {
        let token = progress.token().clone();
        self.session.views().lock_tokens().remove(&token);
        progress.end(words);
        if self.session.facts().is_some_and(|facts| facts.name.eq_ignore_ascii_case("helix")) {
            let now = Instant::now();
            self.ends.extend(AGAIN.map(|after| (now + after, token.clone())));
        }
    }

    /// When to look again though nothing came.
    fn due(&self) -> Option<Instant> {
        let ends = self.ends.iter().map(|(at, _)| *at);
        ends.chain(self.bars.due()).chain(self.refresh).min()
    }

    fn late(&mut self) {
        let now = Instant::now();
        if self.refresh.is_some_and(|at| at <= now) {
            self.refresh = None;
            self.refreshed = Some(now);
            self.session.client().refresh_code_lenses();
            self.session.client().refresh_inlay_hints();
        }
        if self.bars.due().is_some_and(|at| at <= now) {
            self.move_bars();
        }
        let (over, later) = std::mem::take(&mut self.ends).into_iter().partition(|(at, _)| *at <= now);
        self.ends = later;
        let over: Vec<(Instant, NumberOrString)> = over;
        for (_, token) in over {
            let end = WorkDoneProgress::End(WorkDoneProgressEnd { message: None });
            let params = ProgressParams { token, value: ProgressParamsValue::WorkDone(end) };
            self.session.client().notify::<notification::Progress>(params);
        }
    }
}
