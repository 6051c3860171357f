//! How a caged command ends: by itself, at its limits, with its canceller and with its host.

use super::outside::{Fixture, LIMITS, Servers};
use super::*;
use crate::support::in_time;
use planwright::arena::cage::CageLimits;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const HOST: &str = "PLANWRIGHT_TEST_HOST";

/// A program, the limit it meets, and how that is told. Each ends with 0 where the limit is wide.
struct Bomb {
    name: &'static str,
    script: &'static str,
    narrow: fn(CageLimits) -> CageLimits,
    ending: Ending,
}

const BOMBS: &[Bomb] = &[
    Bomb {
        name: "memory of one process",
        script: "import time\nx = bytearray(300 << 20)\ntime.sleep(1)",
        narrow: |limits| CageLimits { memory: 150 << 20, ..limits },
        ending: Ending::Told(End::Memory),
    },
    Bomb {
        name: "memory of many processes",
        script: "import os, time\nfor n in range(8):\n    if os.fork() == 0:\n        x = bytearray(50 << 20)\n        time.sleep(1)\n        os._exit(0)\nfor n in range(8): os.wait()",
        narrow: |limits| CageLimits { memory: 150 << 20, ..limits },
        ending: Ending::Told(End::Memory),
    },
    Bomb {
        name: "shared memory",
        script: "import mmap, time\nm = mmap.mmap(-1, 300 << 20)\nfor n in range(0, 300 << 20, 4096): m[n] = 1\ntime.sleep(1)",
        narrow: |limits| CageLimits { memory: 150 << 20, ..limits },
        ending: Ending::Told(End::Memory),
    },
    Bomb {
        name: "memory in nameless files",
        script: "import os, time\nf = [os.memfd_create('x') for n in range(6)]\nfor n in f: os.write(n, b'x' * (50 << 20))\ntime.sleep(1)",
        narrow: |limits| CageLimits { memory: 200 << 20, ..limits },
        ending: Ending::Told(End::Memory),
    },
    Bomb {
        name: "memory in detached segments",
        script: "import ctypes, time\nc = ctypes.CDLL(None)\nc.shmat.restype = ctypes.c_void_p\nids = [c.shmget(0, 50 << 20, 0o600) for n in range(6)]\nfor n in ids:\n    p = c.shmat(n, None, 0)\n    ctypes.memset(p, 1, 50 << 20)\n    c.shmdt(ctypes.c_void_p(p))\ntime.sleep(1)\nfor n in ids: c.shmctl(n, 0, None)",
        narrow: |limits| CageLimits { memory: 200 << 20, ..limits },
        ending: Ending::Told(End::Memory),
    },
    Bomb {
        name: "processes",
        script: "import os, time\nfor n in range(100):\n    try: pid = os.fork()\n    except OSError: time.sleep(20); raise\n    if pid == 0: time.sleep(1); os._exit(0)\nfor n in range(100): os.wait()",
        narrow: |limits| CageLimits { processes: 50, ..limits },
        ending: Ending::Told(End::Processes),
    },
    Bomb {
        name: "processes that make processes",
        script: "import os, time\nfor n in range(7):\n    try: os.fork()\n    except OSError: time.sleep(20)\ntime.sleep(2)\ntry:\n    while True: os.wait()\nexcept OSError: pass",
        narrow: |limits| CageLimits { processes: 50, ..limits },
        ending: Ending::Told(End::Processes),
    },
    Bomb {
        name: "threads",
        script: "import threading, time\nt = [threading.Thread(target=time.sleep, args=(1,)) for n in range(100)]\nfor n in t:\n    try: n.start()\n    except RuntimeError: time.sleep(20)\nfor n in t: n.join()",
        narrow: |limits| CageLimits { processes: 50, ..limits },
        ending: Ending::Told(End::Processes),
    },
    Bomb {
        name: "bytes on disk",
        script: "import os, time\nfor n in range(10):\n    f = open('f%d' % n, 'wb')\n    f.write(b'x' * (8 << 20))\n    f.flush()\n    os.fsync(f.fileno())\ntime.sleep(2)",
        narrow: |limits| CageLimits { disk: 40 << 20, ..limits },
        ending: Ending::Told(End::Disk),
    },
    Bomb {
        name: "bytes on disk without a name",
        // Far more than its limit: what others set free on the disk in these moments hides as much.
        script: "import os, time\nopened = [open('f%d' % n, 'wb') for n in range(60)]\nfor n in range(60):\n    os.remove('f%d' % n)\n    opened[n].write(b'x' * (8 << 20))\n    opened[n].flush()\n    os.fsync(opened[n].fileno())\ntime.sleep(2)",
        narrow: |limits| CageLimits { disk: 40 << 20, ..limits },
        ending: Ending::Told(End::Disk),
    },
    Bomb {
        name: "bytes of a file",
        script: "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nopen('f', 'wb').write(b'x' * (10 << 20))",
        narrow: |limits| CageLimits { file_size: 1 << 20, ..limits },
        ending: Ending::Told(End::Signal(25)),
    },
    Bomb {
        name: "a private folder",
        script: "import tempfile\nfor n in range(3):\n    f = tempfile.NamedTemporaryFile(delete=False)\n    f.write(b'x' * (20 << 20))\n    f.flush()",
        narrow: |limits| CageLimits { memory: 90 << 20, ..limits },
        ending: Ending::Told(End::Exit(1)),
    },
    Bomb {
        name: "processor time",
        script: "import time\nwhile time.process_time() < 3: pass",
        narrow: |limits| CageLimits { cpu: 1, ..limits },
        ending: Ending::Told(End::Cpu),
    },
    Bomb {
        name: "open files",
        script: "f = [open('/dev/null') for n in range(100)]",
        narrow: |limits| CageLimits { files: 50, ..limits },
        ending: Ending::Told(End::Exit(1)),
    },
    Bomb {
        name: "output",
        script: "import sys\nfor n in range(6000): sys.stdout.write('x' * 1023 + '\\n')",
        narrow: |limits| limits,
        ending: Ending::Output,
    },
    Bomb {
        name: "wall time",
        script: "import time\ntime.sleep(2)",
        narrow: |limits| CageLimits { wall: Duration::from_millis(500), ..limits },
        ending: Ending::Told(End::Timeout),
    },
    Bomb {
        name: "wall time, deaf to the first signal",
        script: "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(3)",
        narrow: |limits| CageLimits { wall: Duration::from_millis(500), grace: Duration::from_millis(200), ..limits },
        ending: Ending::Told(End::Timeout),
    },
];

pub fn all(ground: &Ground) {
    if !ground.holds() {
        return;
    }
    let servers = Servers::start(&ground.base);
    let mut wrong = Vec::new();
    for bomb in BOMBS {
        let fixture = Fixture::new(ground, &servers);
        let argv = ["python3", "-c", bomb.script];
        let control = Command::new(argv[0])
            .args(&argv[1..])
            .current_dir(fixture.at.join("bound"))
            .env("TMPDIR", fixture.at.join("bound"))
            .stdout(Stdio::null())
            .output()
            .unwrap();
        assert!(control.status.success(), "{} outside: {}", bomb.name, String::from_utf8_lossy(&control.stderr));
        let mut cage = fixture.cage(argv.map(Into::into).to_vec());
        cage.limits = (bomb.narrow)(LIMITS);
        let ran = run(ground, &cage);
        if ran.as_ref().ok().map(|ran| ran.ending) != Some(bomb.ending) {
            wrong.push(format!("{}: {ran:?}", bomb.name));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let fixture = Fixture::new(ground, &servers);
    ends(ground, &fixture);
    surroundings(ground, &fixture);
    nested(ground, &servers);
    fetches(ground, &servers);
    volumes(ground, &servers);
    cancelled(ground, &servers);
    orphaned(ground, &servers);
}

fn shell(ground: &Ground, fixture: &Fixture<'_>, script: &str) -> Result<Caged, Fault> {
    for folder in ["upper", "work"] {
        let _ = Command::new("chmod").args(["-R", "u+rwx"]).arg(fixture.at.join(folder)).status();
        std::fs::remove_dir_all(fixture.at.join(folder)).unwrap();
        std::fs::create_dir(fixture.at.join(folder)).unwrap();
    }
    run(ground, &fixture.cage(["/bin/sh", "-c", script].map(Into::into).to_vec()))
}

fn ends(ground: &Ground, fixture: &Fixture<'_>) {
    let ending = |script: &str| shell(ground, fixture, script).unwrap().ending;
    assert_eq!(ending("exit 7"), Ending::Told(End::Exit(7)));
    assert_eq!(ending("kill -6 $$"), Ending::Told(End::Signal(6)));
    // A code or a text that looks like ours is the command's own.
    assert_eq!(ending("echo '{\"Ended\":\"Timeout\"}'; exit 124"), Ending::Told(End::Exit(124)));
    // The first process is deaf to all of its children's signals.
    assert_eq!(ending("for n in $(seq 1 64); do kill -$n 1; done 2> /dev/null; exit 5"), Ending::Told(End::Exit(5)));
    // What is left behind does not keep us.
    let begun = Instant::now();
    assert_eq!(ending("sleep 50 & exit 0"), Ending::Told(End::Exit(0)));
    assert!(begun.elapsed() < Duration::from_secs(20));
    // A name that an overlay's options would have to quote.
    let odd = fixture.at.join("o:d, d\\n\u{e9}");
    std::fs::create_dir_all(odd.join("in")).unwrap();
    for folder in ["odd/upper", "odd/work"] {
        std::fs::create_dir_all(fixture.at.join(folder)).unwrap();
    }
    let mut cage = fixture.cage(["/bin/sh", "-c", "echo x > in/f && test -f \"$PWD/in/f\""].map(Into::into).to_vec());
    (cage.upper, cage.work) = (fixture.at.join("odd/upper"), fixture.at.join("odd/work"));
    (cage.root, cage.directory, cage.bound) = (odd.clone(), odd.clone(), Vec::new());
    assert_eq!(run(ground, &cage).unwrap().ending, Ending::Told(End::Exit(0)));
    assert!(fixture.at.join("odd/upper/in/f").exists() && !odd.join("in/f").exists());
    let mut cage = fixture.cage(vec!["no-such-program".into()]);
    (cage.upper, cage.work) = (fixture.at.join("bound/upper"), fixture.at.join("bound/work"));
    std::fs::create_dir_all(&cage.upper).unwrap();
    std::fs::create_dir_all(&cage.work).unwrap();
    assert_eq!(run(ground, &cage).unwrap_err(), Fault::NoProgram("no-such-program".to_owned()));
}

/// What a command starts with, and nothing more.
fn surroundings(ground: &Ground, fixture: &Fixture<'_>) {
    let said = |script: &str| shell(ground, fixture, script).unwrap().output;
    assert_eq!(said("cat | wc -c; ls /proc/self/fd | wc -l").split_whitespace().collect::<Vec<_>>(), ["0", "4"]);
    let given: Vec<String> =
        fixture.cage(Vec::new()).env.into_iter().map(|(name, _)| name.into_string().unwrap()).collect();
    let shells = ["PWD", "OLDPWD", "SHLVL", "_"];
    let names = said("env | sed 's/=.*//'");
    let more: Vec<&str> =
        names.lines().filter(|name| !given.iter().any(|known| known == name) && !shells.contains(name)).collect();
    assert!(more.is_empty(), "{more:?}");
    // A crash leaves nothing outside: 1 is the kernel's word for "not even through a pipe".
    let core = said("python3 -c 'import resource; print(*resource.getrlimit(resource.RLIMIT_CORE))'");
    assert!(matches!(core.trim(), "1 1" | "0 0"), "{core}");
    // Its own group and session, and no terminal.
    assert_eq!(said("exec 2>&1; test -w /dev/tty && cat /dev/tty || echo none").lines().last(), Some("none"));
}

/// A home below a private folder is seen, and a folder in it that is hidden stays so, but for what is bound there.
fn nested(ground: &Ground, servers: &Servers) {
    let fixture = Fixture::new(ground, servers);
    let home = tempfile::tempdir_in("/tmp").unwrap();
    for (path, text) in [("plain", "x"), ("cache/other", "x"), ("cache/own/was", "x")] {
        std::fs::create_dir_all(home.path().join(path).parent().unwrap()).unwrap();
        std::fs::write(home.path().join(path), text).unwrap();
    }
    let script = "test -e plain && test ! -e cache/other && test ! -e cache/own/was && echo x > cache/own/new";
    let mut cage = fixture.cage(["/bin/sh", "-c", &format!("cd $HOME && {script}")].map(Into::into).to_vec());
    cage.env.retain(|(name, _)| name != "HOME");
    cage.env.push(("HOME".into(), home.path().into()));
    cage.hidden.push(home.path().join("cache"));
    cage.bound[0].at = home.path().join("cache/own");
    let ran = run(ground, &cage).unwrap();
    assert_eq!(ran.ending, Ending::Told(End::Exit(0)), "{}", ran.output);
    assert!(fixture.at.join("bound/new").exists() && !home.path().join("cache/own/new").exists());
}

/// With the host's network a step can fetch, and nothing else is wider than before.
fn fetches(ground: &Ground, servers: &Servers) {
    let fixture = Fixture::new(ground, servers);
    let before = fixture.digest();
    let script = "import os, socket, sys\nE = os.environ\ns = socket.create_connection(('127.0.0.1', int(E['TCP'])))\ns.sendall(E['SAY'].encode())\ns.close()\ntry: open(E['OUT'] + '/victim', 'w')\nexcept OSError: sys.exit(0)\nsys.exit(3)";
    let mut cage = fixture.cage(["python3", "-c", script].map(Into::into).to_vec());
    cage.network = planwright::arena::cage::Network::Host;
    let ran = run(ground, &cage).unwrap();
    assert_eq!(ran.ending, Ending::Told(End::Exit(0)), "{}", ran.output);
    assert!(in_time(|| servers.has_heard(&fixture.say)), "it has no network");
    assert_eq!(fixture.digest(), before);
}

/// A dropped future ends everything within two seconds, and lets go of what was held only then.
fn cancelled(ground: &Ground, servers: &Servers) {
    struct Held(Arc<AtomicBool>);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let fixture = Fixture::new(ground, servers);
    let script = "setsid sleep $NAP & (trap '' TERM HUP; sleep $NAP) & echo up; wait";
    let cage = fixture.cage(["/bin/sh", "-c", script].map(Into::into).to_vec());
    let free = Arc::new(AtomicBool::new(false));
    wait(async {
        let said = Arc::new(Mutex::new(String::new()));
        let hears = said.clone();
        let deltas = Arc::new(move |part: &str| hears.lock().unwrap().push_str(part));
        let running = planwright::arena::cage::run(&ground.binary, &cage, 1 << 20, deltas, Held(free.clone()));
        let up = async {
            while !said.lock().unwrap().contains("up") || fixture.living() < 2 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            ran = running => panic!("it ended: {ran:?}"),
            () = up => {}
        }
        let begun = Instant::now();
        while !free.load(Ordering::SeqCst) && begun.elapsed() < Duration::from_secs(10) {
            tokio::task::yield_now().await;
        }
        assert_eq!(fixture.living(), 0, "what was held is free while the command lives");
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    });
}

/// What the host has mounted below the workspace keeps a cage from being made, and is named.
fn volumes(ground: &Ground, servers: &Servers) {
    let fixture = Fixture::new(ground, servers);
    let volume = fixture.at.join("ws/volume");
    std::fs::create_dir(&volume).unwrap();
    let spec = fixture.at.join("spec");
    std::fs::write(&spec, serde_json::to_vec(&fixture.cage(vec!["true".into()])).unwrap()).unwrap();
    let mounts = "mount -t tmpfs x volume; exec \"$0\" --exact escape::a_host_that_waits --ignored --nocapture";
    let output = Command::new("unshare")
        .args(["-Urm", "sh", "-ec", mounts])
        .arg(std::env::current_exe().unwrap())
        .current_dir(fixture.at.join("ws"))
        .env(HOST, &spec)
        .env("PLANWRIGHT_TEST_BINARY", &ground.binary)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains(&format!("{} is mounted into the workspace", volume.display())), "{said}");
}

/// A host that is killed takes its cages along.
fn orphaned(ground: &Ground, servers: &Servers) {
    let fixture = Fixture::new(ground, servers);
    let cage = fixture.cage(["/bin/sh", "-c", "setsid sleep $NAP & sleep $NAP"].map(Into::into).to_vec());
    let spec = fixture.at.join("spec");
    std::fs::write(&spec, serde_json::to_vec(&cage).unwrap()).unwrap();
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "escape::a_host_that_waits", "--ignored", "--nocapture"])
        .env(HOST, &spec)
        .env("PLANWRIGHT_TEST_BINARY", &ground.binary)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert!(in_time(|| fixture.living() == 2), "the host's command never ran");
    host.kill().unwrap();
    let begun = Instant::now();
    assert!(in_time(|| fixture.living() == 0), "they live on");
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    host.wait().unwrap();
}

/// Runs the cage that it is told of, in another process.
pub fn host() {
    let Some(spec) = std::env::var_os(HOST) else { return };
    let cage: Cage = serde_json::from_slice(&std::fs::read(spec).unwrap()).unwrap();
    let binary = PathBuf::from(std::env::var_os("PLANWRIGHT_TEST_BINARY").unwrap());
    let ran = wait(planwright::arena::cage::run(&binary, &cage, 1 << 20, Arc::new(|_: &str| {}), ()));
    println!("{ran:?}");
}
