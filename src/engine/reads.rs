//! Reads that a snapshot alone cannot answer: a plan text being typed, candidates, code, pages.
//!
//! Invariant: none of it passes the engine's inbox or waits for its work, and nothing it does changes a task. What costs
//! (the walk over the workspace, the manifests) is kept for a moment and made anew when the watcher reports a path that
//! it does not know. Absent: what a page says (`desk::page`).

use super::page::{examine, versions};
use super::pages::Pages;
use super::start;
use super::work;
use super::world::World;
use crate::desk::*;
use crate::domain::agent::dialogue::ModelRequest;
use crate::domain::change::Entry;
use crate::domain::ids::*;
use crate::domain::plan::{self, Plan, outlook, small};
use crate::domain::prompt::shown::shown;
use crate::domain::symbols::{FileSymbols, Symbol, SymbolKind};
use crate::domain::task::action::{Place, Refusal, RefusalKind, Which};
use crate::domain::task::decide::refuse;
use crate::domain::task::standing::TaskState;
use crate::ports::{LoosePage, Source};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;

/// How old the list of files may be before it is made anew beside, for workspaces that cannot be watched.
const FRESH_MS: u64 = 2_000;

/// Lines of a definition or a file's head that are shown.
const LINES: usize = 60;

/// The files of the workspace as a walk found them.
struct Listing {
    files: BTreeSet<WorkspacePath>,
    at: Time,
    /// With the texts of manifests, once somebody needs them.
    manifests: OnceCell<Vec<(WorkspacePath, Option<Arc<str>>)>>,
}

/// What the reads keep.
pub(super) struct Reads {
    world: Arc<World>,
    pages: Arc<Pages>,
    listing: Mutex<Option<Arc<Listing>>>,
    /// One walk at a time.
    walking: tokio::sync::Mutex<()>,
    /// The approved plans of tasks, by digest: they are compared at each keystroke.
    approved: Mutex<HashMap<ContentHash, Arc<Plan>>>,
    /// The file that was parsed last: a client asks as the cursor moves in it.
    parsed: Mutex<Option<(Source, Arc<FileSymbols>)>>,
}

impl Reads {
    pub(super) fn new(world: Arc<World>, pages: Arc<Pages>) -> Self {
        Self {
            world,
            pages,
            listing: Mutex::default(),
            walking: tokio::sync::Mutex::default(),
            approved: Mutex::default(),
            parsed: Mutex::default(),
        }
    }

    /// The items of a text, parsed beside those who only wait, and once.
    async fn outline(&self, source: Source) -> Arc<FileSymbols> {
        let known = self.parsed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, symbols)) = known.filter(|(known, _)| known.path == source.path && known.text == source.text) {
            return symbols;
        }
        let (syntax, own) = (self.world.syntax.clone(), source.clone());
        // A parser that panics finds nothing.
        let nothing = |_| FileSymbols { content: ContentHash::of(&*source.text), symbols: vec![], mentions: vec![] };
        let symbols = tokio::task::spawn_blocking(move || syntax.outline(&own)).await;
        let symbols = Arc::new(symbols.unwrap_or_else(nothing));
        *self.parsed.lock().unwrap_or_else(PoisonError::into_inner) = Some((source, symbols.clone()));
        symbols
    }

    /// Where pages go through.
    pub(super) fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Answers a query about this snapshot.
    ///
    /// # Errors
    /// The desk's refusal, or `Broken` where the store or the disk does not go along.
    pub(super) async fn answer(self: &Arc<Self>, desk: &Arc<Desk>, query: &Query) -> Result<View, Refusal> {
        match query {
            Query::Compile { task, text } => {
                Ok(View::Compiled(Box::new(self.compile(desk.clone(), task.clone(), text.clone()).await)))
            }
            Query::Candidates { of, prefix } => Ok(View::Candidates(self.candidates(desk, of, prefix).await)),
            Query::Code { path, symbol } => Ok(View::Code(self.code(path, symbol.as_deref()).await)),
            Query::Item { place } => Ok(View::Item(self.item(place).await)),
            Query::Page { task, page } => self.page(desk, task, page).await.map(View::Page),
            Query::Loose { page, text } => self.loose(*page, text.as_deref()).await,
            Query::Preview { .. } => match desk.answer(query)? {
                View::Preview(view) => self.with_text(view).await.map(View::Preview),
                view => Ok(view),
            },
            Query::Status { task } => {
                let dossier = desk.find(task)?.clone();
                let View::Status(view) = desk.answer(query)? else { return desk.answer(query) };
                let (answers, page) = (self.answers(&dossier).await, self.task_page(&dossier.task.id));
                Ok(View::Status(Box::new(StatusView { answers, page, ..*view })))
            }
            Query::Show { .. } => match desk.answer(query)? {
                View::Show(view) => {
                    let page = self.task_page(&view.task);
                    Ok(View::Show(Box::new(ShowView { page, ..*view })))
                }
                view => Ok(view),
            },
            Query::Tasks
            | Query::Review { .. }
            | Query::Why { .. }
            | Query::Timeline { .. }
            | Query::Compare { .. }
            | Query::Surroundings => desk.answer(query),
        }
    }

    /// Paths changed on disk: what was listed may be no longer what is there.
    pub(super) fn changed(&self, paths: &[WorkspacePath]) {
        let mut listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let known = listing.as_ref().is_some_and(|listing| {
            let same = |path: &WorkspacePath| {
                listing.files.contains(path) && !crate::domain::policy::detect::MANIFESTS.contains(&path.file_name())
            };
            paths.iter().all(same)
        });
        if !known {
            *listing = None;
        }
    }

    fn listed(&self) -> Option<Arc<Listing>> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The files, from the last walk if that was a moment ago.
    async fn files(self: &Arc<Self>) -> Arc<Listing> {
        match self.listed() {
            Some(listing) if self.world.clock.now().since(listing.at) < FRESH_MS => listing,
            Some(listing) => {
                // Nobody waits for a walk that most likely finds the same.
                let own = self.clone();
                tokio::spawn(async move {
                    if let Ok(_one_at_a_time) = own.walking.try_lock() {
                        own.walk().await;
                    }
                });
                listing
            }
            None => {
                let _one_at_a_time = self.walking.lock().await;
                match self.listed() {
                    Some(listing) => listing,
                    None => self.walk().await,
                }
            }
        }
    }

    async fn walk(&self) -> Arc<Listing> {
        let at = self.world.clock.now();
        let files = self.world.workspace.list().await.into_iter().map(|file| file.path).collect();
        let listing = Arc::new(Listing { files, at, manifests: OnceCell::new() });
        *self.listing.lock().unwrap_or_else(PoisonError::into_inner) = Some(listing.clone());
        listing
    }

    async fn compile(self: &Arc<Self>, desk: Arc<Desk>, task: Option<TaskId>, text: String) -> CompiledView {
        let listing = self.files().await;
        let own = self.clone();
        let working = tokio::task::spawn_blocking(move || own.compiled(&desk, task.as_ref(), &text, &listing.files));
        working.await.unwrap_or_else(|error| CompiledView {
            problems: Vec::new(),
            revision: RevisionRef { number: 0, digest: String::new() },
            contract: vec![format!("a fault of planwright: {error}; please report it")],
            approved: false,
        })
    }

    fn compiled(
        &self,
        desk: &Desk,
        task: Option<&TaskId>,
        text: &str,
        files: &BTreeSet<WorkspacePath>,
    ) -> CompiledView {
        let world = &self.world;
        let dossier = task.and_then(|id| desk.tasks.iter().find(|dossier| &dossier.task.id == id));
        let mut studied = examine(world, text, files);
        if let Some(dossier) = dossier {
            studied = studied.after(&dossier.task, self.approved(dossier).as_deref());
        }
        let digest = &studied.normal.digest;
        let known = dossier
            .and_then(|dossier| dossier.task.revisions.iter().rev().find(|known| known.name.digest == digest.short()));
        let newest = dossier.and_then(|dossier| dossier.task.newest()).map_or(0, |newest| newest.name.number);
        let approval = dossier.and_then(|dossier| dossier.task.approval.as_ref());
        CompiledView {
            revision: known
                .map(|known| known.name.clone())
                .unwrap_or_else(|| RevisionRef { number: newest.saturating_add(1), digest: digest.short().to_owned() }),
            contract: outlook::lines(
                &studied.parsed.plan,
                &studied.normal,
                world.arena.rung(),
                world.model.info().as_ref(),
            ),
            approved: approval.is_some_and(|approval| &approval.digest == digest),
            problems: studied.problems,
        }
    }

    /// The plan that the task's approval is about.
    fn approved(&self, dossier: &Dossier) -> Option<Arc<Plan>> {
        let approval = dossier.task.approval.as_ref()?;
        let mut known = self.approved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = known.get(&approval.digest) {
            return Some(plan.clone());
        }
        let (_, text) = dossier.revisions.iter().rev().find(|(name, _)| name == &approval.revision)?;
        let read = plan::parse(text).plan;
        if plan::normal(&read, &versions(&self.world)).digest != approval.digest {
            return None;
        }
        let read = Arc::new(read);
        known.insert(approval.digest.clone(), read.clone());
        Some(read)
    }

    async fn candidates(self: &Arc<Self>, desk: &Desk, of: &Candidates, prefix: &str) -> Vec<String> {
        match of {
            Candidates::Files => best(self.files().await.files.iter().map(|path| path.as_str()), prefix),
            Candidates::Symbols { path } => {
                let table = self.world.syntax.table();
                let own: Vec<&Symbol> = match path {
                    Some(path) => table.files.get(path).into_iter().flat_map(|file| &file.symbols).collect(),
                    None => table.files.values().flat_map(|file| &file.symbols).collect(),
                };
                let named = own.into_iter().filter(|symbol| symbol.kind != SymbolKind::Impl);
                best(named.map(|symbol| symbol.path.as_str()), prefix)
            }
            Candidates::Commands => {
                let listing = self.files().await;
                let seen = self.manifests(&listing).await;
                let detected = start::suggested(seen, None);
                let mut all: Vec<String> = detected.in_order().into_iter().map(small::check_words).collect();
                for dossier in desk.tasks.iter().rev() {
                    let Some(page) = &dossier.page else { continue };
                    all.extend(
                        outlook::commands(&page.plan).into_iter().map(|command| shell_words::join(&command.argv)),
                    );
                }
                best(all.iter().map(String::as_str), prefix)
            }
        }
    }

    async fn manifests<'a>(&self, listing: &'a Listing) -> &'a [(WorkspacePath, Option<Arc<str>>)] {
        listing
            .manifests
            .get_or_init(|| start::with_manifests(&self.world, listing.files.iter().cloned().collect()))
            .await
    }

    async fn code(&self, path: &WorkspacePath, symbol: Option<&str>) -> Option<CodeView> {
        let Ok(Entry::File { text, .. }) = self.world.workspace.read(path).await else { return None };
        let range = match symbol {
            None => 0..text.len(),
            Some(symbol) => {
                let name = symbol.split_once('#').map_or(symbol, |(_, name)| name);
                let outline = self.outline(Source { path: path.clone(), text: text.clone() }).await;
                let found = outline.named(name).find(|found| found.kind != SymbolKind::Impl)?;
                found.range.clone()
            }
        };
        let whole = text.get(range.clone())?;
        let shown: String = whole.split_inclusive('\n').take(LINES).collect();
        Some(CodeView {
            path: path.clone(),
            line: line_of(&text, range.start),
            text: if shown.len() < whole.len() { format!("{shown}…\n") } else { shown },
            range,
        })
    }

    async fn item(self: &Arc<Self>, place: &Place) -> ItemView {
        let listing = self.files().await;
        let check = start::suggested(self.manifests(&listing).await, Some(&place.path));
        let check = check.quick.or(check.full).as_ref().map(small::check_words);
        let lines = place.lines.unwrap_or((1, 1));
        let nothing = ItemView { symbol: None, lines, check: check.clone() };
        let (Some((first, last)), Ok(Entry::File { text, .. })) =
            (place.lines, self.world.workspace.read(&place.path).await)
        else {
            return nothing;
        };
        let outline = self.outline(Source { path: place.path.clone(), text: text.clone() }).await;
        match around(&outline.symbols, &span(&text, first, last)) {
            None => nothing,
            Some(item) => ItemView {
                symbol: Some(item.path.clone()),
                lines: (
                    line_of(&text, item.range.start).saturating_add(1),
                    line_of(&text, item.range.end.saturating_sub(1)).saturating_add(1),
                ),
                check,
            },
        }
    }

    async fn page(self: &Arc<Self>, desk: &Desk, task: &Which, kind: &PageKind) -> Result<PageView, Refusal> {
        let dossier = desk.find(task)?;
        let id = &dossier.task.id;
        let (name, text) = match kind {
            PageKind::Task => (page::TASK.to_owned(), page::task(dossier, &self.aids(dossier).await)),
            PageKind::Review => (page::REVIEW.to_owned(), page::review(dossier)),
            PageKind::Timeline(mode) => (page::TIMELINE.to_owned(), page::timeline(dossier, *mode)),
            PageKind::Preview(work) => {
                let query = Query::Preview { task: task.clone(), work: work.clone() };
                let View::Preview(view) = desk.answer(&query)? else {
                    return Err(refuse(RefusalKind::Broken, "no preview was made", "run the command again"));
                };
                let view = self.with_text(view).await?;
                (page::preview_name(&view), page::preview(&view))
            }
        };
        let path = self.pages.put(id, &name, &text).await.map_err(|refusal| {
            refuse(RefusalKind::Broken, refusal.to_string(), "planwright doctor shows where task folders are")
        })?;
        Ok(PageView { path, text })
    }

    /// A page of no task: written, or read.
    async fn loose(&self, page: LoosePage, text: Option<&str>) -> Result<View, Refusal> {
        let broken = |why: String| refuse(RefusalKind::Broken, why, "planwright doctor, in a terminal");
        let disk = &self.world.disk;
        match text {
            Some(text) => {
                let written = disk.write_loose(page, text).await;
                let path = written.map_err(|refusal| broken(refusal.to_string()))?;
                Ok(View::Page(PageView { path, text: text.to_owned() }))
            }
            None => Ok(View::Loose(disk.read_loose(page).await.map_err(|refusal| broken(refusal.to_string()))?)),
        }
    }

    /// What a page of the task shows beside the snapshot. What the store has lost is left at its first characters.
    pub(super) async fn aids(self: &Arc<Self>, dossier: &Dossier) -> page::Aids {
        let answers = self.answers(dossier).await;
        let sketch = match (&dossier.page, &dossier.state) {
            (None, TaskState::Planning) => Some(self.sketch(dossier).await),
            (_, _) => None,
        };
        page::Aids { answers, sketch }
    }

    async fn answers(&self, dossier: &Dossier) -> Vec<AnswerView> {
        let mut answers = Vec::new();
        for (step, payload) in page::found(dossier) {
            let text = work::read(&self.world, payload).await.unwrap_or_else(|_| payload.head().to_owned());
            answers.push(AnswerView { step: step.clone(), text });
        }
        answers
    }

    fn task_page(&self, id: &TaskId) -> Option<std::path::PathBuf> {
        Some(self.world.workspace.page_path(id, page::TASK))
    }

    async fn sketch(self: &Arc<Self>, dossier: &Dossier) -> page::Sketch {
        let listing = self.files().await;
        let place = dossier.task.goal.place.as_ref().map(|place| &place.path);
        let detected = start::suggested(self.manifests(&listing).await, place);
        let checks = detected.in_order().into_iter().map(small::check_words).collect();
        page::Sketch { checks, because: detected.because }
    }

    /// The request itself, secrets masked, from the store.
    async fn with_text(&self, view: PreviewView) -> Result<PreviewView, Refusal> {
        let Some(hash) = &view.request else { return Ok(view) };
        let gone = |why: String| Refusal {
            kind: RefusalKind::Broken,
            message: format!("the request of {} cannot be shown: {why}", view.work),
            next: format!("planwright timeline {} says what came of it", view.task),
        };
        let bytes = self.world.store.blob(hash).await.map_err(|fault| gone(fault.to_string()))?;
        let request: ModelRequest = serde_json::from_slice(&bytes).map_err(|error| gone(error.to_string()))?;
        Ok(PreviewView { text: Some(shown(&request)), ..view })
    }
}

/// Those that begin with the prefix, then those of which a part does, then those that hold it; shorter ones first.
fn best<'a>(all: impl Iterator<Item = &'a str>, prefix: &str) -> Vec<String> {
    let wanted = prefix.to_lowercase();
    let rank = |name: &str| -> Option<u8> {
        let lower = name.to_lowercase();
        let part = |lower: &str| lower.split(['/', ':', ' ', '.']).any(|part| part.starts_with(&wanted));
        if name.starts_with(prefix) {
            Some(0)
        } else if lower.starts_with(&wanted) {
            Some(1)
        } else if part(&lower) {
            Some(2)
        } else {
            lower.contains(&wanted).then_some(3)
        }
    };
    let mut found: Vec<(u8, usize, &str)> =
        all.filter_map(|name| rank(name).map(|rank| (rank, name.len(), name))).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().take(CANDIDATES).map(|(_, _, name)| name.to_owned()).collect()
}

/// The innermost item that holds all of these bytes. A field or a variant is no item to change by itself.
fn around<'a>(symbols: &'a [Symbol], bytes: &Range<usize>) -> Option<&'a Symbol> {
    let holds = |symbol: &&Symbol| symbol.range.start <= bytes.start && bytes.end <= symbol.range.end;
    let item = |symbol: &&Symbol| !matches!(symbol.kind, SymbolKind::Field | SymbolKind::Variant | SymbolKind::Impl);
    symbols.iter().filter(holds).filter(item).min_by_key(|symbol| symbol.range.len())
}

/// The bytes of some lines without the blanks around them.
fn span(text: &str, first: u32, last: u32) -> Range<usize> {
    let at = |line: u32| usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let start = starts.nth(at(first)).unwrap_or(text.len());
    let rest = text.get(start..).unwrap_or_default();
    let count = at(last).saturating_sub(at(first)).saturating_add(1);
    let whole: usize = rest.split_inclusive('\n').take(count).map(str::len).sum();
    let lines = rest.get(..whole).unwrap_or_default();
    let lead = lines.len() - lines.trim_start().len();
    let body = lines.trim();
    if body.is_empty() { start..start } else { start + lead..start + lead + body.len() }
}

/// 0-based.
fn line_of(text: &str, byte: usize) -> u32 {
    let lines = text.get(..byte).map_or(0, |head| head.matches('\n').count());
    u32::try_from(lines).unwrap_or(u32::MAX)
}
