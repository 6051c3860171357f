//! An engine that plays a script, and a terminal whose both sides are buffers.

use crate::cli::{self, Exit, House, Port, Terminal, parse, say_not_an_action};
use crate::desk::fixture::anna;
use crate::desk::{Desk, Dossier, Query, View};
use crate::domain::ids::{TaskId, Time};
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply};
use crate::engine::handle::Asked;
use crate::engine::{EngineHandle, Update};
use crate::ports::Fut;
use std::ffi::OsString;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, broadcast, mpsc, watch};

/// A local engine is always there and is the host.
impl Port for EngineHandle {
    fn act(&self, actor: Actor, action: Action) -> Fut<'_, Result<Reply, Refusal>> {
        Box::pin(EngineHandle::act(self, actor, action))
    }

    fn ask(&self, query: Query) -> Fut<'_, Result<View, Refusal>> {
        Box::pin(async move { self.desk().answer(&query) })
    }

    fn desks(&self) -> watch::Receiver<Arc<Desk>> {
        EngineHandle::desks(self)
    }

    fn updates(&self) -> broadcast::Receiver<Update> {
        EngineHandle::updates(self)
    }

    fn is_host(&self) -> bool {
        true
    }

    fn lost(&self) -> Fut<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn rejoin(&self) -> Fut<'_, Result<(), Refusal>> {
        Box::pin(async { Ok(()) })
    }
}

/// What the engine does at an action: shows these desks one after the other, each with a line of progress.
pub type Turn = Vec<(&'static str, Dossier)>;

/// An engine that plays a script: the n-th action is answered by the n-th turn; a turn that is missing refuses.
pub struct Fake {
    handle: EngineHandle,
    /// What it was asked to do.
    pub seen: Arc<Mutex<Vec<Action>>>,
}

impl Fake {
    /// Starts with one dossier on the desk, if any.
    pub fn new(first: Option<Dossier>, script: Vec<Turn>) -> Self {
        let place = |dossier: Option<Dossier>| {
            Arc::new(Desk { tasks: dossier.into_iter().map(Arc::new).collect(), ..Desk::default() })
        };
        let (inbox, mut asked) = mpsc::unbounded_channel::<Asked>();
        let (desk, desks) = watch::channel(place(first));
        let (updates, _) = broadcast::channel(64);
        let handle = EngineHandle::new(inbox, desks, updates.clone());
        let seen: Arc<Mutex<Vec<Action>>> = Arc::default();
        let record = seen.clone();
        tokio::spawn(async move {
            let mut script = script.into_iter();
            while let Some(Asked { action, answer, .. }) = asked.recv().await {
                record.lock().unwrap().push(action);
                let Some(turn) = script.next() else {
                    let _ = answer.send(Err(Refusal {
                        kind: RefusalKind::WrongState,
                        message: "the script has ended".to_owned(),
                        next: "nothing".to_owned(),
                    }));
                    continue;
                };
                let mut turn = turn.into_iter();
                let task = TaskId::new("k3xf");
                if let Some((line, dossier)) = turn.next() {
                    desk.send_replace(place(Some(dossier)));
                    let _ = answer.send(Ok(Reply { task: task.clone(), message: line.to_owned() }));
                }
                for (line, dossier) in turn {
                    // The terminal is to see each desk: it asks before it waits.
                    tokio::task::yield_now().await;
                    desk.send_replace(place(Some(dossier)));
                    let _ = updates.send(Update { task: task.clone(), line: line.to_owned() });
                }
            }
        });
        Self { handle, seen }
    }

    /// What the terminal holds of it.
    pub fn port(&self) -> EngineHandle {
        self.handle.clone()
    }

    /// The actions, by name.
    pub fn actions(&self) -> Vec<String> {
        let name =
            |action: &Action| serde_json::to_value(action).unwrap().get("do").unwrap().as_str().unwrap().to_owned();
        self.seen.lock().unwrap().iter().map(name).collect()
    }
}

/// A host in another process, alive or about to die; whoever joins after its death is host.
pub struct Remote {
    engine: EngineHandle,
    dies: bool,
    joined: AtomicBool,
}

impl Remote {
    /// It outlives the test.
    pub fn living(fake: &Fake) -> Self {
        Self { engine: fake.handle.clone(), dies: false, joined: AtomicBool::new(false) }
    }

    /// It is gone as soon as somebody looks.
    pub fn dying(fake: &Fake) -> Self {
        Self { dies: true, ..Self::living(fake) }
    }
}

impl Port for Remote {
    fn act(&self, actor: Actor, action: Action) -> Fut<'_, Result<Reply, Refusal>> {
        Port::act(&self.engine, actor, action)
    }

    fn ask(&self, query: Query) -> Fut<'_, Result<View, Refusal>> {
        Port::ask(&self.engine, query)
    }

    fn desks(&self) -> watch::Receiver<Arc<Desk>> {
        Port::desks(&self.engine)
    }

    fn updates(&self) -> broadcast::Receiver<Update> {
        Port::updates(&self.engine)
    }

    fn is_host(&self) -> bool {
        self.joined.load(Ordering::SeqCst)
    }

    fn lost(&self) -> Fut<'_, ()> {
        Box::pin(async {
            if !self.dies || self.joined.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
        })
    }

    fn rejoin(&self) -> Fut<'_, Result<(), Refusal>> {
        self.joined.store(true, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    }
}

/// A stream into a buffer that the test reads.
#[derive(Clone, Default)]
pub struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Buffer {
    /// What was written.
    pub fn raw(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// The same without styles.
    pub fn text(&self) -> String {
        anstream::adapter::strip_str(&self.raw()).to_string()
    }
}

/// A terminal whose streams are kept.
pub struct Screen {
    /// To be handed in.
    pub io: Terminal,
    /// Its standard output.
    pub out: Buffer,
    /// Its standard error.
    pub err: Buffer,
}

/// A person who types these lines; nobody, where nothing is typed.
pub fn screen(typed: Option<&'static str>) -> Screen {
    let (out, err) = (Buffer::default(), Buffer::default());
    let io = Terminal {
        out: Box::new(out.clone()),
        err: Box::new(err.clone()),
        input: Box::new(typed.unwrap_or_default().as_bytes()),
        interactive: typed.is_some(),
        interrupt: Arc::new(Notify::new()),
        now: || Time(1_795_953_700_000),
        actor: anna(),
    };
    Screen { io, out, err }
}

/// Serves a command line with a port, or without one that could be joined.
pub async fn serve_in(house: &House, line: &str, port: Result<Box<dyn Port>, Refusal>, screen: &mut Screen) -> Exit {
    let words = shell_words::split(&format!("planwright {line}")).unwrap();
    match parse(words.into_iter().map(OsString::from)) {
        Ok(parsed) => cli::serve(&parsed, &mut screen.io, house, async || port).await,
        Err(not) => say_not_an_action(&mut screen.io, &not),
    }
}

/// The same where nothing but the port matters.
pub async fn serve(line: &str, port: impl Port + 'static, screen: &mut Screen) -> Exit {
    serve_in(&House::default(), line, Ok(Box::new(port)), screen).await
}
