//! The world around a cage: files, secrets, servers and a process, and whether a way out reached one of them.

use super::*;
use crate::support::in_time;
use planwright::arena::cage::{Bound, CageLimits, Network, secrets};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Servers that write down what they are told.
pub struct Servers {
    heard: Arc<Mutex<Vec<u8>>>,
    pub tcp: u16,
    tcp6: Option<u16>,
    udp: u16,
    folder: PathBuf,
    name: String,
    tried: Mutex<BTreeMap<&'static str, usize>>,
}

impl Servers {
    pub fn start(base: &Path) -> Self {
        let folder = base.join("servers");
        std::fs::create_dir(&folder).unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("planwright-escape-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp6 = TcpListener::bind("[::1]:0").ok();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let dgram = UnixDatagram::bind(folder.join("dgram")).unwrap();
        let started = Self {
            heard: heard.clone(),
            tcp: tcp.local_addr().unwrap().port(),
            tcp6: tcp6.as_ref().map(|tcp6| tcp6.local_addr().unwrap().port()),
            udp: udp.local_addr().unwrap().port(),
            name: name.clone(),
            folder: folder.clone(),
            tried: Mutex::default(),
        };
        for listener in [Some(tcp), tcp6].into_iter().flatten() {
            let heard = heard.clone();
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    listen(stream, &heard);
                }
            });
        }
        started.unix(UnixListener::bind(folder.join("stream")).unwrap());
        started.unix(UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap());
        let hears = heard.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 512];
            while let Ok((n, _)) = udp.recv_from(&mut buffer) {
                hears.lock().unwrap().extend(&buffer[..n]);
            }
        });
        std::thread::spawn(move || {
            let mut buffer = [0; 512];
            while let Ok(n) = dgram.recv(&mut buffer) {
                heard.lock().unwrap().extend(&buffer[..n]);
            }
        });
        started
    }

    pub fn unix(&self, listener: UnixListener) {
        let heard = self.heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                listen(stream, &heard);
            }
        });
    }

    pub fn has_heard(&self, word: &str) -> bool {
        self.heard.lock().unwrap().windows(word.len()).any(|part| part == word.as_bytes())
    }

    pub fn count(&self, row: &Row) {
        let who = match row.who {
            Who::Anyone => "anyone's",
            Who::Root => "root's",
            Who::Somewhere => "of this kernel",
        };
        *self.tried.lock().unwrap().entry(who).or_default() += 1;
    }

    pub fn played(&self) -> usize {
        self.tried.lock().unwrap().values().sum()
    }

    pub fn counts(&self) -> String {
        let tried = self.tried.lock().unwrap();
        tried.iter().map(|(who, count)| format!("{count} {who}")).collect::<Vec<_>>().join(", ")
    }
}

fn listen(mut stream: impl Read + Send + 'static, heard: &Arc<Mutex<Vec<u8>>>) {
    let heard = heard.clone();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        heard.lock().unwrap().extend(bytes);
    });
}

/// What came of a try.
pub struct Tried {
    pub worked: bool,
    pub said: String,
}

/// One workspace with all that lies around it.
pub struct Fixture<'a> {
    ground: &'a Ground,
    servers: &'a Servers,
    pub at: PathBuf,
    shared: [PathBuf; 2],
    token: String,
    pub say: String,
    nap: String,
    folder: OwnedFd,
    before: BTreeMap<PathBuf, String>,
    /// A process outside, with a secret among its variables; it lets itself be traced.
    victim: Option<std::process::Child>,
    /// Others at work outside.
    others: Vec<std::process::Child>,
}

impl Drop for Fixture<'_> {
    fn drop(&mut self) {
        for child in self.victim.iter_mut().chain(&mut self.others) {
            let _ = child.kill();
            let _ = child.wait();
        }
        for process in processes(&self.nap) {
            let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        }
        for folder in &self.shared {
            let _ = std::fs::remove_dir_all(folder);
        }
        let _ = Command::new("chmod").args(["-R", "u+rwx"]).arg(&self.at).status();
        let _ = std::fs::remove_dir_all(&self.at);
    }
}

fn processes(word: &str) -> Vec<rustix::process::Pid> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mine = ids.filter(|id| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
    });
    mine.filter_map(rustix::process::Pid::from_raw).collect()
}

const FILES: &[(&str, &str)] = &[
    ("ws/a.txt", "the user's text\n"),
    ("ws/d/f", "deep\n"),
    ("ws/build.rs", "fn main() {}\n// build\n"),
    ("ws/package.json", "{\"scripts\":{\"test\":\"true\"}}\n"),
    ("ws/.git/config", "[core]\n"),
    ("ws/.git/hooks/x", ""),
    ("beside/victim", "precious\n"),
    ("beside/dir/f", "precious\n"),
    ("home/.ssh/id_rsa", "TOKEN\n"),
    ("home/.aws/credentials", "TOKEN\n"),
    ("home/.netrc", "TOKEN\n"),
    ("home/.docker/config.json", "TOKEN\n"),
    ("home/.cargo/credentials.toml", "TOKEN\n"),
    ("home/.cargo/registry/src/x/lib.rs", "// code\n"),
    ("home/.cargo/bin/tool", "x\n"),
    ("home/.gnupg/key", "TOKEN\n"),
    ("home/.mozilla/cookies", "TOKEN\n"),
    ("home/.bash_history", "login TOKEN\n"),
    ("home/.bashrc", "# start\n"),
    ("home/.npm/_cacache/x", "x\n"),
    ("home/.cache/pip/x", "x\n"),
    ("state/journal", "TOKEN\n"),
];

impl<'a> Fixture<'a> {
    /// Without what git would take for a repository.
    pub fn bare(ground: &'a Ground, servers: &'a Servers) -> Self {
        let made = Self::new(ground, servers);
        std::fs::remove_dir_all(made.at.join("ws/.git")).unwrap();
        made
    }

    pub fn new(ground: &'a Ground, servers: &'a Servers) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let at = ground.base.join(format!("f{number}"));
        let word = format!("{}-{number}", std::process::id());
        let token = format!("tok-{word}");
        for (path, text) in FILES {
            std::fs::create_dir_all(at.join(path).parent().unwrap()).unwrap();
            std::fs::write(at.join(path), text.replace("TOKEN", &token)).unwrap();
        }
        for folder in ["upper", "work", "bound"] {
            std::fs::create_dir(at.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink("../beside", at.join("ws/led")).unwrap();
        let shared = ["/tmp", "/dev/shm"].map(|top| Path::new(top).join(format!("planwright-escape-{word}")));
        for folder in &shared {
            std::fs::create_dir(folder).unwrap();
        }
        let folder = OwnedFd::from(std::fs::File::open(at.join("beside")).unwrap());
        let mut made = Self {
            ground,
            servers,
            at,
            shared,
            say: format!("say-{word}-x"),
            nap: format!("3{:06}.{number}", std::process::id()),
            token,
            folder,
            before: BTreeMap::new(),
            victim: None,
            others: Vec::new(),
        };
        made.before = made.digest();
        made
    }

    pub fn with_victim(mut self) -> Self {
        let waits = "import ctypes, time\nctypes.CDLL(None).prctl(0x59616d61, ctypes.c_long(-1), 0, 0, 0)\nprint(flush=True)\ntime.sleep(999)";
        let mut victim = Command::new("/usr/bin/python3")
            .args(["-c", waits])
            .env("SECRET", &self.token)
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(victim.stdout.take().unwrap()).read_line(&mut line).unwrap();
        self.victim = Some(victim);
        self
    }

    /// Somebody listens in the workspace.
    pub fn with_socket(self) -> Self {
        self.servers.unix(bind_in(&self.at.join("ws"), "sock"));
        self
    }

    /// Whoever the row's script counts on.
    pub fn with_others(mut self, row: &Row) -> Self {
        let listens = |bound: &str, named: &str| {
            let [bound, named] = [bound, named].map(|name| format!("{name}-{}", self.say));
            others::listens(&self.servers.folder, &bound, &named, self.servers.tcp)
        };
        if row.script.contains("RELATIVE") {
            self.others = vec![listens("relative", "relative")];
        }
        if row.script.contains("RENAMED") {
            self.others = vec![listens("bound", "renamed")];
        }
        if row.script.contains("PIPE") {
            others::pipe(&self.at.join("beside/pipe"), self.servers.heard.clone());
        }
        self
    }

    /// The folder beside the workspace stays open in whatever is started.
    pub fn with_leak(self) -> Self {
        rustix::io::fcntl_setfd(&self.folder, rustix::io::FdFlags::empty()).unwrap();
        self
    }

    fn victim(&self) -> u32 {
        self.victim.as_ref().map_or(0, std::process::Child::id)
    }

    /// How many of its sleepers live.
    pub fn living(&self) -> usize {
        processes(&self.nap).len()
    }

    /// Everything that could be touched: bytes, kinds, modes, owners, links, times.
    pub fn digest(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let tops = ["ws", "beside", "home", "state"].map(|name| self.at.join(name));
        let mut left: Vec<PathBuf> = tops.into_iter().chain(self.shared.clone()).collect();
        while let Some(path) = left.pop() {
            let Ok(meta) = path.symlink_metadata() else { continue };
            if meta.is_dir() {
                left.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
            }
            let bytes = if meta.is_file() { std::fs::read(&path).unwrap_or_default() } else { Vec::new() };
            let said = format!(
                "{:o} {} {} {} {} {} {bytes:?}",
                meta.mode(),
                meta.uid(),
                meta.nlink(),
                meta.ino(),
                meta.mtime_nsec(),
                meta.ctime_nsec(),
            );
            found.insert(path, said);
        }
        found
    }

    fn env(&self) -> Vec<(OsString, OsString)> {
        let path = |name: &str| self.at.join(name).into_os_string();
        let server = |name: &str| self.servers.folder.join(name).into_os_string();
        [
            ("PATH", PATH.into()),
            ("OUT", path("beside")),
            ("WS", path("ws")),
            ("H", path("home")),
            ("HOME", path("home")),
            ("STATE", path("state")),
            ("TMPX", self.shared[0].clone().into()),
            ("SHMX", self.shared[1].clone().into()),
            ("FD", self.folder.as_raw_fd().to_string().into()),
            ("VICTIM", self.victim().to_string().into()),
            ("HOST", std::process::id().to_string().into()),
            ("SAY", self.say.clone().into()),
            ("NAP", self.nap.clone().into()),
            ("TCP", self.servers.tcp.to_string().into()),
            ("TCP6", self.servers.tcp6.unwrap_or(self.servers.tcp).to_string().into()),
            ("UDP", self.servers.udp.to_string().into()),
            ("SOCK", server("stream")),
            ("DGRAM", server("dgram")),
            ("INNER", path("ws/sock")),
            ("LATE", self.servers.folder.join(format!("late-{}", self.say)).into()),
            ("RELATIVE", server(&format!("relative-{}", self.say))),
            ("RENAMED", server(&format!("renamed-{}", self.say))),
            ("PIPE", path("beside/pipe")),
            ("ABSTRACT", self.servers.name.clone().into()),
            ("SUID", self.ground.base.with_file_name("suid").into()),
        ]
        .map(|(name, value)| (name.into(), value))
        .to_vec()
    }

    fn argv(row: &Row) -> [String; 3] {
        match row.script.strip_prefix("#py\n") {
            Some(script) => ["python3".into(), "-c".into(), format!("{PYTHON}\n{script}")],
            None => ["/bin/sh".into(), "-c".into(), row.script.to_owned()],
        }
    }

    /// Taken outside.
    pub fn outside(&self, row: &Row) -> Tried {
        let [program, flag, script] = Self::argv(row);
        let late = self.make_late(row, &self.at.join("ws/ready"));
        let mut command = Command::new("timeout");
        command.args(["30", &program, &flag, &script]).current_dir(self.at.join("ws")).env_clear();
        // To a file: what lives on keeps a pipe open.
        let output = std::fs::File::create(self.at.join("said")).unwrap();
        command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        // The variables of its parent are a secret too: this process hands its own down.
        let status = command.envs(self.env()).env("OF_HOST", &self.token).status().unwrap();
        let said = String::from_utf8_lossy(&std::fs::read(self.at.join("said")).unwrap()).into_owned();
        let tried = self.judge(row, status.success(), said, true);
        drop(late);
        tried
    }

    /// Taken in a cage.
    pub fn inside(&self, row: &Row) -> Tried {
        let late = self.make_late(row, &self.at.join("upper/ready"));
        let cage = self.cage(Self::argv(row).map(Into::into).to_vec());
        let tried = match run(self.ground, &cage) {
            Ok(ran) => {
                let good = ran.ending == Ending::Told(End::Exit(0));
                self.judge(row, good, format!("{:?} {}", ran.ending, ran.output), row.expected == Expected::Possible)
            }
            // No cage is no proof.
            Err(fault) => Tried { worked: true, said: format!("no cage: {fault}") },
        };
        drop(late);
        tried
    }

    pub fn cage(&self, argv: Vec<OsString>) -> Cage {
        let home = [("HOME".into(), self.at.join("home").into_os_string())];
        let mut hidden = secrets(home.into_iter());
        hidden.push(self.at.join("state"));
        Cage {
            root: self.at.join("ws"),
            layers: Vec::new(),
            upper: self.at.join("upper"),
            work: self.at.join("work"),
            bound: vec![Bound { from: self.at.join("bound"), at: self.at.join("ws/out") }],
            hidden,
            network: Network::Loopback,
            directory: self.at.join("ws"),
            argv,
            env: self.env(),
            limits: LIMITS,
        }
    }

    /// A socket that is not there before the script says that it runs.
    fn make_late(&self, row: &Row, ready: &Path) -> Option<std::thread::JoinHandle<()>> {
        if row.script.contains("swapped") {
            others::replaces(self.at.join("home"), ready.to_owned());
        }
        let wanted = row.script.contains("LATE");
        let (ready, late) = (ready.to_owned(), self.servers.folder.join(format!("late-{}", self.say)));
        let heard = self.servers.heard.clone();
        wanted.then(|| {
            std::thread::spawn(move || {
                in_time(|| ready.exists());
                let listener = UnixListener::bind(late).unwrap();
                if let Ok((stream, _)) = listener.accept() {
                    listen(stream, &heard);
                }
            })
        })
    }

    fn judge(&self, row: &Row, good: bool, said: String, awaited: bool) -> Tried {
        let worked = match row.shows {
            Shows::Touched => self.digest() != self.before,
            Shows::Said => said.contains(&self.token),
            Shows::Exited => good,
            Shows::Killed => {
                let dead = || {
                    let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.victim())).unwrap_or_default();
                    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
                };
                if awaited { in_time(dead) } else { dead() }
            }
            Shows::Lives => {
                if awaited {
                    in_time(|| !processes(&self.nap).is_empty());
                }
                !processes(&self.nap).is_empty()
            }
            Shows::Heard => {
                if awaited {
                    in_time(|| self.servers.has_heard(&self.say));
                } else {
                    self.flush();
                }
                self.servers.has_heard(&self.say)
            }
        };
        Tried { worked, said }
    }

    /// What was sent before has arrived when this has.
    fn flush(&self) {
        let word = format!("flush-{}", self.say.replace("say", "end"));
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(word.as_bytes(), ("127.0.0.1", self.servers.udp)).unwrap();
        in_time(|| self.servers.has_heard(&word));
    }
}

pub const LIMITS: CageLimits = CageLimits {
    cpu: 60,
    memory: 1 << 30,
    processes: 256,
    files: 1024,
    file_size: 64 << 20,
    // Others write to this disk meanwhile.
    disk: 8 << 30,
    wall: Duration::from_secs(60),
    grace: Duration::from_secs(1),
};

/// A path below a deep folder is longer than a socket's name may be.
fn bind_in(folder: &Path, name: &str) -> UnixListener {
    let open = std::fs::File::open(folder).unwrap();
    UnixListener::bind(format!("/proc/self/fd/{}/{name}", open.as_raw_fd())).unwrap()
}
