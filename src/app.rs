//! The composition root: the only file that knows every module. Configuration becomes ports, ports become an engine,
//! an engine becomes this process's host or another one is attached to.
//!
//! Invariant: everything that a run of the program reads from its surroundings is read here, once. Absent: any rule.

mod fresh;
mod joined;
mod lsp;

use crate::arena::cage::{self, Rung1, Why};
use crate::arena::{self, CagedArena, CopyArena};
use crate::cli::{self, Exit, Here, House, Needs, Parsed, Terminal};
use crate::clock::SystemClock;
use crate::config::{Arguments, Config, Environment, KeyFrom, ModelConfig, Origin};
use crate::desk::Surroundings;
use crate::domain::task::action::{Actor, Refusal, RefusalKind};
use crate::domain::task::decide::refuse;
use crate::engine::{self, Buffered, Limits, Running, World};
use crate::host::{self, Port, Seat, StateDir};
use crate::model::{Key, Memory, ModelSettings, NoModel, OpenAi, Secret, Timeouts, Whence};
use crate::ports::{Arena, Documents, Fut, Model, Store, StoreFault, Workspace};
use crate::store::{Opened, Sqlite};
use crate::syntax::{Index, Stamped, TreeSitter};
use crate::workspace::{Buffers, Disk, watch};
use fresh::Fresh;
use joined::{Hosted, Joined};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

/// Runs one command line to its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(code) = cage::enter(&arguments) {
        return code;
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(_) => return Exit::Failed.code(),
    };
    let exit = runtime.block_on(run(arguments));
    // A blocked reader of standard input would hold the runtime's end until the pipe closes.
    runtime.shutdown_background();
    exit.code()
}

async fn run(arguments: Vec<OsString>) -> Exit {
    let environment = Environment::of_process();
    let mut io = Terminal::of_process(actor(&environment));
    let parsed = match cli::parse(arguments) {
        Ok(parsed) => parsed,
        Err(not) => return cli::say_not_an_action(&mut io, &not),
    };
    match serve(&parsed, &environment, &mut io).await {
        Ok(exit) => exit,
        Err(refusal) => cli::say_refusal(&mut io, &refusal, parsed.json),
    }
}

async fn serve(parsed: &Parsed, environment: &Environment, io: &mut Terminal) -> Result<Exit, Refusal> {
    match parsed.needs() {
        Needs::Tour => return Ok(cli::tour::run(parsed, io).await),
        Needs::Editor => return Ok(lsp::run(environment).await),
        Needs::Engine | Needs::Nothing(_) => {}
    }
    let config = crate::config::load(environment, &Arguments::default()).map_err(|fault| {
        refuse(RefusalKind::Broken, fault.to_string(), "mend the configuration; nothing was started")
    })?;
    let cwd = std::env::current_dir().and_then(|dir| dir.canonicalize()).map_err(|error| {
        refuse(
            RefusalKind::Broken,
            format!("the working directory cannot be used: {error}"),
            "go to a folder that exists",
        )
    })?;
    let site = Arc::new(Site::open(config, environment.clone(), cwd, Arc::new(Buffers::new()))?);
    log_to(&site.state.folder().join("planwright.log"), &site.config.log.value);
    if parsed.has("end-host") {
        return end_host(&site, io).await;
    }
    let house = site.house();
    // Until this process ends: nobody becomes host of what is being removed.
    let _unhosted = if parsed.removes() { Some(host::keep_unhosted(&site.state)?) } else { None };
    let running = Hosted::default();
    let exit = cli::serve(parsed, io, &house, async || {
        let seat = Seat::terminal("terminal", site.documents.clone());
        let joined: Box<dyn Port> = Box::new(Joined::join(site.clone(), seat, running.clone()).await?);
        Ok(joined)
    })
    .await;
    for said in site.urgent.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        cli::say_warning(io, &said);
    }
    running.leave().await;
    Ok(exit)
}

/// Ends a host that does not answer, on the user's word.
async fn end_host(site: &Site, io: &mut Terminal) -> Result<Exit, Refusal> {
    match host::end_holder(&site.state).await? {
        Some((holder, children)) => {
            io.print(&format!("ended {} and {children} of its commands\n", holder.describe()));
        }
        None => io.print("no process holds this workspace\n"),
    }
    Ok(Exit::Done)
}

/// What the configured server says of itself, as a remark.
async fn with_probe(mut found: Surroundings, site: &Site) -> Surroundings {
    let Some(strong) = &site.config.strong else { return found };
    let model = OpenAi::new(settings(strong, site), Arc::new(SystemClock), Arc::new(NoMemory));
    let probe = model.probe().await;
    found.remarks.push(match &probe.models {
        Ok(models) => format!(
            "the model server {} answers; {} models, in use: {}, window: {}",
            probe.base_url,
            models.len(),
            probe.model.as_deref().unwrap_or("none could be chosen"),
            probe.window.map_or("not told".to_owned(), |window| format!("{window} tokens")),
        ),
        Err(fault) => format!("the model server {} cannot be used: {} — {}", probe.base_url, fault.message, fault.next),
    });
    found
}

/// Where this run of the program is.
#[derive(Clone)]
struct Site {
    config: Config,
    environment: Environment,
    cwd: PathBuf,
    state: StateDir,
    disk: Disk,
    /// What editors have open, of this process and of those that attach to it.
    documents: Arc<dyn Documents>,
    /// What a person must hear whatever they asked for.
    urgent: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn open(
        config: Config,
        environment: Environment,
        cwd: PathBuf,
        documents: Arc<dyn Documents>,
    ) -> Result<Site, Refusal> {
        let broken = |error: crate::workspace::OpenError| {
            refuse(RefusalKind::Broken, error.to_string(), "go to a folder that can be read")
        };
        let root = Disk::open(cwd.clone(), config.dirs.state.value.clone()).map_err(broken)?.root().to_path_buf();
        let state = StateDir::for_root(&config.dirs.state.value, &root)?;
        let disk = Disk::open(root, state.folder().to_path_buf()).map_err(broken)?;
        Ok(Site { config, environment, cwd, state, disk, documents, urgent: Arc::default() })
    }

    /// The cache of this root, named as its state is.
    fn cache(&self) -> PathBuf {
        let name = self.state.folder().file_name().unwrap_or_default();
        self.config.dirs.cache.value.join(name)
    }

    fn house(&self) -> House {
        let settings = self.config.rows(&self.environment).into_iter();
        let settings = settings.map(|row| cli::doctor::Setting { key: row.key, value: row.value, origin: row.origin });
        let kept = |what: &str, path: PathBuf| cli::clean::Kept { what: what.to_owned(), path };
        let schemas = BTreeMap::from([
            ("plan".to_owned(), crate::domain::plan::json::schema()),
            ("config".to_owned(), crate::config::schema()),
            ("tools".to_owned(), tool_schemas()),
        ]);
        House {
            here: Here { cwd: self.cwd.clone(), root: self.disk.root().to_path_buf() },
            settings: settings.collect(),
            kept: vec![
                kept("copies for checks and the symbol index of this workspace", self.cache()),
                kept("task folders in the workspace", self.disk.root().join(".planwright")),
                // Last: the lock is in it, which keeps hosts away from the others.
                kept("journal, payloads, approvals and log of this workspace", self.state.folder().to_path_buf()),
            ],
            schemas,
        }
    }
}

/// Ports from the configuration, and an engine on them.
async fn open(site: &Site) -> Result<Running, Refusal> {
    let broken = |message: String| {
        refuse(RefusalKind::Broken, message, "planwright doctor; nothing of the workspace was touched")
    };
    let cache = site.cache();
    let probing = probing(site, cache.join("probe"));
    let (store, opened) = Sqlite::open(&site.state.database(), &site.state.blobs())
        .map_err(|fault: StoreFault| broken(fault.to_string()))?;
    let store: Arc<dyn Store> = Arc::new(store);
    #[cfg(feature = "testing")]
    let store = crate::testing::failpoint::wrap(store);
    let mut remarks = remarks(site, &opened);
    if let (Opened::SetAside { .. }, Some(said)) = (&opened, opened.remark()) {
        site.urgent.lock().unwrap_or_else(PoisonError::into_inner).push(said);
    }
    let formatters =
        site.config.format.iter().map(|(extension, argv)| (extension.clone(), argv.value.clone())).collect();
    let limits = arena::Limits {
        output: site.config.limits.output_bytes.value.max(1 << 20),
        parallel: u64::from(site.config.limits.parallel.value),
        ..arena::Limits::default()
    };
    let arena = CopyArena::new(site.disk.root(), &cache, formatters, limits).map_err(|fault| {
        let next = "set PLANWRIGHT_CACHE_DIR to a folder of your own that can be written";
        refuse(RefusalKind::Broken, fault.to_string(), next)
    })?;
    let syntax = TreeSitter::with_index(Index::open(cache.join("symbols")));
    let model: Arc<dyn Model> = match &site.config.strong {
        None => Arc::new(NoModel::new(config_file(&site.config))),
        Some(strong) => {
            let memory = Arc::new(StoreMemory(store.clone()));
            Arc::new(OpenAi::new(settings(strong, site), Arc::new(SystemClock), memory))
        }
    };
    let changes = {
        let root = site.disk.root().to_path_buf();
        tokio::task::spawn_blocking(move || watch(&root)).await.ok()
    };
    if let Some(why) = changes.as_ref().and_then(|changes| changes.incomplete()) {
        remarks.push(format!(
            "not every folder can be watched ({why}); changes are found by looking, a second or more later"
        ));
    }
    let syntax = Arc::new(syntax);
    index(&syntax, &site.disk).await;
    let arena = isolated(site, arena, probing, &mut remarks).await;
    let limits = &site.config.limits;
    let disk: Arc<dyn Workspace> = Arc::new(site.disk.clone());
    let files: Arc<dyn Workspace> = Arc::new(Buffered::new(disk.clone(), site.documents.clone()));
    let fresh = Arc::new(Fresh { files: files.clone(), syntax: syntax.clone() });
    let world = World {
        store,
        workspace: files,
        disk,
        documents: site.documents.clone(),
        syntax,
        model,
        arena,
        clock: Arc::new(SystemClock),
        limits: Limits {
            parallel: usize::try_from(limits.parallel.value).unwrap_or(2),
            turns: limits.turns.value,
            command: limits.command_timeout.value,
            context: limits.context.value,
            ..Limits::default()
        },
        remarks,
        sound: engine::Sound::default(),
    };
    let running = engine::start(Arc::new(world)).await.map_err(|fault| broken(fault.to_string()))?;
    site.urgent.lock().unwrap_or_else(PoisonError::into_inner).extend(running.urgent.iter().cloned());
    fresh.clone().follow_documents(site.documents.as_ref());
    if let Some(changes) = changes {
        tokio::spawn(fresh.follow_disk(changes, running.changed(), running.overlooked()));
    }
    Ok(running)
}

/// Whether commands can be isolated here, found out while everything else is opened.
fn probing(site: &Site, scratch: PathBuf) -> tokio::task::JoinHandle<Result<Rung1, Why>> {
    let (switched, root) = (site.config.isolation.clone(), site.disk.root().to_path_buf());
    tokio::spawn(async move {
        if !switched.value {
            return Err(Why(format!("it is switched off ({})", switched.origin)));
        }
        if let Some(why) = cage::unfit(&root) {
            return Err(why);
        }
        // Our own program, also when a newer one lies at its path by now.
        cage::probe(Path::new("/proc/self/exe"), &scratch).await
    })
}

/// The highest rung that holds here. Why it is not the first is said.
async fn isolated(
    site: &Site,
    copy: CopyArena,
    probing: tokio::task::JoinHandle<Result<Rung1, Why>>,
    remarks: &mut Vec<String>,
) -> Arc<dyn Arena> {
    match probing.await.unwrap_or_else(|error| Err(Why(error.to_string()))) {
        Ok(rung) => {
            let dirs = &site.config.dirs;
            // Whole: what is known of another workspace is no command's either.
            let own = [&dirs.state.value, &dirs.cache.value, &dirs.config_file.value];
            Arc::new(CagedArena::new(copy, rung, &own.map(PathBuf::as_path)))
        }
        Err(why) => {
            remarks.push(format!("commands are not isolated: {why}"));
            Arc::new(copy)
        }
    }
}

/// The tools a model can be offered, each with its arguments' schema.
fn tool_schemas() -> serde_json::Value {
    let rows =
        crate::domain::policy::tools::table().iter().map(|row| serde_json::to_value(row.spec()).unwrap_or_default());
    serde_json::Value::Array(rows.collect())
}

/// Brings the symbol index up to date with the disk.
async fn index(syntax: &Arc<TreeSitter>, disk: &Disk) {
    let listed = disk.list().await;
    let (syntax, root) = (syntax.clone(), disk.root().to_path_buf());
    let refreshed = tokio::task::spawn_blocking(move || {
        let stamped: Vec<Stamped> = listed
            .into_iter()
            .filter_map(|file| {
                let file_path = root.join(file.path.as_str());
                let meta = file_path.metadata().ok()?;
                let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
                let modified = i64::try_from(modified).unwrap_or(0);
                Some(Stamped { path: file.path, absolute: file_path, modified, size: meta.len() })
            })
            .collect();
        syntax.index().refresh(&stamped)
    })
    .await;
    if let Ok(refreshed) = refreshed {
        tracing::info!(parsed = refreshed.parsed, kept = refreshed.kept, "symbols are up to date");
    }
}

fn remarks(site: &Site, opened: &Opened) -> Vec<String> {
    let mut remarks: Vec<String> = opened.remark().into_iter().collect();
    remarks.extend(kept_aside(site.state.folder()).map(|path| {
        format!("a damaged database is kept as {}; remove it when nobody wants it any more", path.display())
    }));
    if let Some(private) = &site.config.dirs.private {
        remarks.push(format!("there is no home directory; everything is kept in {}", private.display()));
    }
    if !site.disk.root().join(".git").exists() {
        remarks.push(
            "this folder is in no git repository; planwright works, but nothing undoes what you accept except `planwright undo`"
                .to_owned(),
        );
    }
    remarks
}

/// Damaged databases of this workspace, without their logs.
fn kept_aside(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    entries.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.contains(".damaged-") && !name.ends_with("-wal") && !name.ends_with("-shm")
    })
}

/// What the model's module wants to know of the configuration.
fn settings(model: &ModelConfig, site: &Site) -> ModelSettings {
    let config = config_file(&site.config);
    let at = |name: &str, origin: &Origin| match origin {
        Origin::Default => format!("{name} in {config}"),
        Origin::File { .. } => format!("{name} in {origin}"),
        Origin::Environment(_) | Origin::Argument(_) => origin.to_string(),
    };
    let whence_key = match &model.key.value {
        KeyFrom::Environment(variable) if model.key.origin == Origin::Environment(variable.clone()) => {
            format!("${variable}")
        }
        KeyFrom::Environment(variable) => format!("${variable} ({})", at("key_env", &model.key.origin)),
        KeyFrom::Command(_) => at("key_command", &model.key.origin),
        KeyFrom::Nowhere => config.clone(),
    };
    let whence = Whence { base_url: at("base_url", &model.base_url.origin), key: whence_key, config };
    let key = match &model.key.value {
        KeyFrom::Nowhere => Key::None,
        KeyFrom::Command(argv) => Key::Command(argv.clone()),
        KeyFrom::Environment(variable) => match site.environment.get(variable) {
            Some(value) => Key::Value(Secret::new(value)),
            None => Key::Missing(variable.clone()),
        },
    };
    ModelSettings {
        base_url: model.base_url.value.clone(),
        model: model.model.value.clone(),
        key,
        max_output: model.max_output.value,
        window: model.window.value,
        timeouts: Timeouts {
            connect: model.connect.value,
            first_byte: model.first_byte.value,
            idle: model.idle.value,
            total: model.total.value,
        },
        prices: model.prices.value,
        headers: model.headers.value.iter().map(|(name, value)| (name.clone(), Secret::new(value))).collect(),
        whence,
    }
}

/// The user's configuration file, there or not.
fn config_file(config: &Config) -> String {
    config.dirs.config_file.value.display().to_string()
}

/// The model's memory, kept in the store. What cannot be kept is found out again.
struct StoreMemory(Arc<dyn Store>);

impl Memory for StoreMemory {
    fn recall<'a>(&'a self, key: &'a str) -> Fut<'a, Option<String>> {
        Box::pin(async move { self.0.recall(key).await.ok().flatten() })
    }

    fn remember<'a>(&'a self, key: &'a str, value: String) -> Fut<'a, ()> {
        Box::pin(async move {
            if let Err(fault) = self.0.remember(key, value).await {
                tracing::warn!(%fault, "what the model's server refused was not remembered");
            }
        })
    }
}

/// For a probe, which sends no prompt and has nothing to remember.
struct NoMemory;

impl Memory for NoMemory {
    fn recall<'a>(&'a self, _: &'a str) -> Fut<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    fn remember<'a>(&'a self, _: &'a str, _: String) -> Fut<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Who is at the terminal: the user the system knows, else what the environment says; anybody can set that.
fn actor(environment: &Environment) -> Actor {
    let named = || ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| environment.get(name));
    let user = host::user().or_else(|| named().map(str::to_owned));
    let user = user.unwrap_or_else(|| rustix::process::getuid().as_raw().to_string());
    Actor { user, client: "terminal".to_owned() }
}

/// Logs go to a file, never to standard output (invariant 11). Without a file there are none.
fn log_to(path: &Path, filter: &str) {
    let Ok(file) = std::fs::OpenOptions::new().create(true).append(true).open(path) else { return };
    let filter =
        tracing_subscriber::EnvFilter::try_new(filter).unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    // A second subscriber in one process is a test's; the first one stands.
    let _first_stands =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Mutex::new(file)).try_init();
}
