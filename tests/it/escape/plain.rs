//! What projects do all day and no cage may refuse. Sandboxes of others have failed at each of these.

use super::outside::{Fixture, Servers};
use super::*;
use std::ffi::OsString;

/// A thing to do. It ends with 0 outside, where its tools are, and must do so inside.
const PLAIN: &[(&str, &str)] = &[
    (
        "throw away",
        "echo x > /dev/null && head -c 5 /dev/zero | wc -c | grep -q 5 && head -c 9 /dev/urandom > /dev/null",
    ),
    (
        "the streams by name",
        "echo x > /dev/stdout && echo x > /dev/stderr && cat /dev/stdin < /dev/null && ls /dev/fd > /dev/null",
    ),
    ("temporary files", "f=$(mktemp) && echo x > $f && d=$(mktemp -d) && mv $f $d/"),
    (
        "shared memory",
        "python3 -c 'from multiprocessing import shared_memory as s; m = s.SharedMemory(create=True, size=99); m.unlink()'",
    ),
    ("processes that talk", "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [1, -2]))'"),
    (
        "threads",
        "python3 -c 'import concurrent.futures as c; print(list(c.ThreadPoolExecutor(8).map(abs, range(99)))[5])'",
    ),
    ("a terminal of its own", "python3 -c 'import pty; pty.openpty(); pty.spawn([\"true\"])'"),
    (
        "a server and a client",
        "python3 -c 'import socket as s; l = s.create_server((\"127.0.0.1\", 0)); c = s.create_connection(l.getsockname()); c.send(b\"x\"); assert l.accept()[0].recv(1) == b\"x\"'",
    ),
    (
        "a server by name",
        "python3 -c 'import socket as s; l = s.create_server((\"localhost\", 0)); s.create_connection((\"localhost\", l.getsockname()[1]))'",
    ),
    (
        "a server on every address",
        "python3 -c 'import socket as s; l = s.create_server((\"0.0.0.0\", 0)); s.create_connection((\"127.0.0.1\", l.getsockname()[1]))'",
    ),
    (
        "datagrams",
        "python3 -c 'import socket as s; a = s.socket(2, 2); a.bind((\"127.0.0.1\", 0)); b = s.socket(2, 2); b.sendto(b\"x\", a.getsockname()); assert a.recv(1) == b\"x\"'",
    ),
    (
        "a socket in the workspace",
        "python3 -c 'import socket as s; l = s.socket(1); l.bind(\"s.sock\"); l.listen(); c = s.socket(1); c.connect(\"s.sock\")'",
    ),
    (
        "a socket in /tmp",
        "cd $(mktemp -d) && python3 -c 'import socket as s; l = s.socket(1); l.bind(\"s.sock\"); l.listen(); c = s.socket(1); c.connect(\"s.sock\")'",
    ),
    (
        "the addresses of this machine",
        "python3 -c 'import socket; socket.if_nameindex(); socket.getaddrinfo(\"127.0.0.1\", 80)'",
    ),
    ("a script of the workspace", "printf '#!/bin/sh\\nexit 0\\n' > s.sh && chmod +x s.sh && ./s.sh"),
    ("a script that was there", "./tool.sh"),
    ("a folder renamed", "mv d e && test -f e/f"),
    ("a folder removed and made again", "rm -rf d && test ! -e d && mkdir d && test -z \"$(ls d)\""),
    ("an edit in place", "sed -i s/user/person/ a.txt && grep -q person a.txt"),
    ("times kept", "cp -p a.txt b.txt && test ! a.txt -nt b.txt && touch -d 2020-01-01 b.txt && test a.txt -nt b.txt"),
    ("links", "ln a.txt l1 && ln -s a.txt l2 && cmp l1 l2"),
    ("modes", "chmod 600 a.txt && test -r a.txt && chmod 755 d"),
    ("locks", "python3 -c 'import fcntl; fcntl.flock(open(\"a.txt\"), 2); fcntl.lockf(open(\"b\", \"w\"), 2)'"),
    (
        "a database",
        "python3 -c 'import sqlite3; c = sqlite3.connect(\"x.db\"); c.execute(\"pragma journal_mode=wal\"); c.execute(\"create table t (a)\"); c.commit()'",
    ),
    (
        "a mapped file",
        "python3 -c 'import mmap; open(\"m\", \"wb\").write(bytes(9999)); f = open(\"m\", \"r+b\"); m = mmap.mmap(f.fileno(), 0); m[5] = 1; m.flush(); assert open(\"m\", \"rb\").read()[5] == 1'",
    ),
    ("space given ahead", "python3 -c 'import os; os.posix_fallocate(os.open(\"m\", 66), 0, 9999)'"),
    ("signals among its own", "sleep 50 & kill $! && ! wait $!"),
    ("a group of its own", "setsid true && (set -m; sleep 0 & wait)"),
    ("its own processes", "test -d /proc/self && test -r /proc/$$/stat && cat /proc/cpuinfo /proc/meminfo > /dev/null"),
    (
        "a trace of its own child",
        "python3 -c 'import ctypes, os, signal\npid = os.fork()\nif pid == 0:\n    ctypes.CDLL(None).ptrace(0, 0, 0, 0)\n    os.kill(os.getpid(), signal.SIGSTOP)\n    os._exit(0)\nassert os.WIFSTOPPED(os.waitpid(pid, 0)[1])\nctypes.CDLL(None).ptrace(7, pid, 0, 0)'",
    ),
    ("limits of its own", "ulimit -n 50 && ulimit -c 0"),
    (
        "sorting much",
        "python3 -c 'print(\"\\n\".join(map(str, range(200000))))' | sort -S 1M -R | sort -n | tail -1 | grep -q 199999",
    ),
    (
        "make and a compiler",
        "printf 'int main(void) { return 0; }\\n' > m.c && printf 'm: m.c\\n\\tcc -o m m.c\\n' > Makefile && make && ./m",
    ),
    (
        "a library that is loaded",
        "printf 'int f(void) { return 7; }\\n' > f.c && cc -shared -fPIC -o f.so f.c && python3 -c 'import ctypes; assert ctypes.CDLL(\"./f.so\").f() == 7'",
    ),
    (
        "tests in Python",
        "printf 'import unittest\\nclass T(unittest.TestCase):\\n    def test(self):\\n        self.assertEqual(1, 1)\\n' > test_x.py && python3 -m unittest -q test_x",
    ),
    (
        "tests in node",
        "printf 'const t = require(\"node:test\");\\nt(\"x\", () => {});\\n' > x.test.js && node --test x.test.js",
    ),
    ("npm", "npm test --offline"),
    ("a worker in node", "node -e 'const { Worker } = require(\"worker_threads\"); new Worker(\"1\", { eval: true })'"),
    ("git's status", "git init -q r && cd r && git status --porcelain"),
    (
        "a commit",
        "git init -q r && cd r && echo x > f && git add f && git -c user.name=x -c user.email=x@y commit -qm x && git log --oneline | grep -q x",
    ),
    (
        "a working tree of git",
        "git init -q r && cd r && git -c user.name=x -c user.email=x@y commit -q --allow-empty -m x && git worktree add -q ../w && cd ../w && git status --porcelain",
    ),
    ("cargo", "cd crate && cargo test --offline -q"),
    ("cargo, twice", "cd crate && cargo build --offline -q && cargo build --offline 2>&1 | grep -q Finished"),
];

pub fn all(ground: &Ground) {
    if !ground.holds() {
        return;
    }
    let servers = Servers::start(&ground.base);
    let (mut wrong, mut without) = (Vec::new(), Vec::new());
    for (name, script) in PLAIN {
        let outside = project(ground, &servers);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).current_dir(outside.at.join("ws")).env_clear().envs(tools(&outside));
        let control = command.stdin(std::process::Stdio::null()).output().unwrap();
        if !control.status.success() {
            without.push(*name);
            continue;
        }
        let inside = project(ground, &servers);
        let before = inside.digest();
        let mut cage = inside.cage(["/bin/sh", "-c", script].map(Into::into).to_vec());
        cage.env = tools(&inside);
        cage.limits.file_size = 1 << 30;
        let ran = run(ground, &cage);
        if !ran.as_ref().is_ok_and(|ran| ran.ending == Ending::Told(End::Exit(0))) {
            wrong.push(format!("{name}: {ran:?}"));
        }
        if inside.digest() != before {
            wrong.push(format!("{name}: the user's tree is not as it was"));
        }
    }
    println!("{} plain things; no tools here for: {}", PLAIN.len() - without.len(), without.join(", "));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(without.len() < 12, "hardly a tool is here, so hardly a thing was shown: {without:?}");
}

fn project<'a>(ground: &'a Ground, servers: &'a Servers) -> Fixture<'a> {
    let made = Fixture::bare(ground, servers);
    let write = |path: &str, text: &str| {
        std::fs::create_dir_all(made.at.join(path).parent().unwrap()).unwrap();
        std::fs::write(made.at.join(path), text).unwrap();
    };
    write("ws/tool.sh", "#!/bin/sh\nexit 0\n");
    std::fs::set_permissions(made.at.join("ws/tool.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    write("ws/crate/Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n");
    write("ws/crate/src/lib.rs", "pub fn f() -> u8 {\n    1\n}\n#[test]\nfn t() {\n    assert_eq!(f(), 1);\n}\n");
    made
}

/// The tools of whoever runs the tests, in a home of the game's.
fn tools(fixture: &Fixture<'_>) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> = vec![("HOME".into(), fixture.at.join("home").into())];
    env.extend(std::env::var_os("PATH").map(|path| ("PATH".into(), path)));
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    for (name, below) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")] {
        let place = std::env::var_os(name).unwrap_or_else(|| home.join(below).into());
        env.push((name.into(), place));
    }
    env
}
