//! The ways out that are tried, as a table.
//!
//! Each row is run outside first, where it must do what it says it does; a row that does nothing there proves nothing
//! inside. Absent: how they are run and judged.

/// One way out.
pub struct Row {
    /// What a person reads when it opens.
    pub name: &'static str,
    /// Shell, or Python if it begins with `#py`.
    pub script: &'static str,
    /// What shows that it worked.
    pub shows: Shows,
    pub who: Who,
    pub expected: Expected,
}

/// By what a row is seen to have worked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shows {
    /// Something outside of the view has other bytes, modes, times or names.
    Touched,
    /// A secret was printed.
    Said,
    /// A server outside got a word.
    Heard,
    /// It exits with 0.
    Exited,
    /// A process outside is dead.
    Killed,
    /// A process of it lives on.
    Lives,
}

/// For whom it can work outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    Anyone,
    Root,
    /// It depends on the kernel or its settings; without its control the row is passed over, and said to be.
    Somewhere,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    Refused,
    /// A hole that is known.
    Possible,
}

const fn row(name: &'static str, shows: Shows, script: &'static str) -> Row {
    Row { name, script, shows, who: Who::Anyone, expected: Expected::Refused }
}

const fn root(name: &'static str, shows: Shows, script: &'static str) -> Row {
    Row { name, script, shows, who: Who::Root, expected: Expected::Refused }
}

const fn maybe(name: &'static str, shows: Shows, script: &'static str) -> Row {
    Row { name, script, shows, who: Who::Somewhere, expected: Expected::Refused }
}

const fn hole(name: &'static str, shows: Shows, script: &'static str) -> Row {
    Row { name, script, shows, who: Who::Anyone, expected: Expected::Possible }
}

use Shows::{Exited, Heard, Killed, Lives, Said, Touched};

/// Before each Python script.
pub const PYTHON: &str = r#"
import ctypes, os, platform, select, signal, socket, struct, subprocess, sys, time
E = os.environ
OUT, WS, H, SAY = E['OUT'], E['WS'], E['H'], E['SAY'].encode()
VICTIM = int(E.get('VICTIM', '0'))
libc = ctypes.CDLL(None, use_errno=True)
X = platform.machine() == 'x86_64'
N = dict(unshare=272, setns=308, keyctl=250, add_key=248, request_key=249, bpf=321, perf=298, uffd=323, mount=165,
         ptrace=101, vm_readv=310, clone=56, by_handle=304, chroot=161) if X else \
    dict(unshare=97, setns=268, keyctl=219, add_key=217, request_key=218, bpf=280, perf=241, uffd=282, mount=40,
         ptrace=117, vm_readv=270, clone=220, by_handle=265, chroot=51)
def call(n, *a):
    r = libc.syscall(ctypes.c_long(n), *[ctypes.c_long(v) if isinstance(v, int) else v for v in a])
    if r < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return r
"#;

pub const ROWS: &[Row] = &[
    // paths
    row("overwrite by absolute path", Touched, "echo x > $OUT/victim"),
    row("append by a path upwards", Touched, "echo x >> ../beside/victim"),
    row("make a file", Touched, "echo x > $OUT/new"),
    row("make a folder", Touched, "mkdir $OUT/newdir"),
    row("remove a file", Touched, "rm -f $OUT/victim"),
    row("remove a folder", Touched, "rm -rf $OUT/dir"),
    row("rename a file", Touched, "mv $OUT/victim $OUT/other"),
    row("move a file out of the view", Touched, "mv a.txt $OUT/a.txt"),
    row("move a file into the view", Touched, "mv $OUT/victim ./stolen && test ! -e $OUT/victim"),
    row("write through a link made in the view", Touched, "ln -s $OUT/victim l && echo x > l"),
    row("write below a linked folder", Touched, "ln -s $OUT/dir l && echo x > l/f"),
    row("write through a link that was there before", Touched, "echo x > led/victim"),
    row("write through /proc/self/root", Touched, "echo x > /proc/self/root$OUT/victim"),
    row("write through /proc/self/cwd", Touched, "echo x > /proc/self/cwd/../beside/victim"),
    row("write through the parent's root", Touched, "echo x > /proc/$PPID/root$OUT/victim"),
    row(
        "write below a folder that was left open",
        Touched,
        "#py\nfd = os.open('victim', os.O_WRONLY | os.O_TRUNC, dir_fd=int(E['FD']))\nos.write(fd, b'x')",
    ),
    row(
        "write below any open folder",
        Touched,
        "#py\nfor n in os.listdir('/proc/self/fd'):\n    try: os.write(os.open('victim', os.O_WRONLY | os.O_TRUNC, dir_fd=int(n)), b'x')\n    except OSError: pass",
    ),
    row("hard link and write", Touched, "ln $OUT/victim l && echo x > l"),
    row("hard link outwards", Touched, "ln a.txt $OUT/l"),
    row("a link to a link's target", Touched, "ln -s victim l2; cp -P l2 $OUT/l2"),
    row(
        "exchange two files",
        Touched,
        "#py\nr = libc.renameat2(-100, (WS + '/a.txt').encode(), -100, (OUT + '/victim').encode(), 2)",
    ),
    row(
        "a nameless file gets a name",
        Touched,
        "#py\nfd = os.open(OUT, os.O_TMPFILE | os.O_WRONLY)\nlibc.linkat(-100, b'/proc/self/fd/%d' % fd, -100, (OUT + '/named').encode(), 0x400)",
    ),
    row("a pipe with a name", Touched, "mkfifo $OUT/fifo"),
    row("a socket with a name", Touched, "#py\nsocket.socket(socket.AF_UNIX).bind(OUT + '/mine')"),
    row(
        "a shared mapping",
        Touched,
        "#py\nimport mmap\nf = open(OUT + '/victim', 'r+b')\nm = mmap.mmap(f.fileno(), 0)\nm[0:1] = b'x'\nm.flush()",
    ),
    row("punch a hole", Touched, "#py\nfd = os.open(OUT + '/victim', os.O_RDWR)\nos.posix_fallocate(fd, 0, 9999)"),
    row(
        "a race of a folder and a link",
        Touched,
        "#py\nos.mkdir('p')\nopen('p/victim', 'w').close()\nos.symlink(OUT, 'q')\npid = os.fork()\nif pid == 0:\n    while True: libc.renameat2(-100, b'p', -100, b'q', 2)\nfor _ in range(3000):\n    try: open('p/victim', 'w').write('x')\n    except OSError: pass\nos.kill(pid, 9)",
    ),
    row("a file in /tmp", Touched, "echo x > $TMPX/new"),
    row("a file in /dev/shm", Touched, "echo x > $SHMX/new"),
    // what a read-only rule by path misses
    row("truncate", Touched, "#py\nos.truncate(OUT + '/victim', 0)"),
    row("chmod", Touched, "chmod 777 $OUT/victim"),
    row("chmod of an open file", Touched, "#py\nos.fchmod(os.open(OUT + '/victim', os.O_RDONLY), 0o777)"),
    row("chmod of a folder", Touched, "chmod 700 $OUT"),
    row("times", Touched, "touch -d 2001-01-01 $OUT/victim"),
    row("times of an open file", Touched, "#py\nos.utime(os.open(OUT + '/victim', os.O_RDONLY), (1, 1))"),
    row("attributes", Touched, "#py\nos.setxattr(OUT + '/victim', 'user.x', b'x')"),
    root("owner", Touched, "chown 12345 $OUT/victim"),
    // what runs outside later
    row("the user's text", Touched, "echo x > a.txt"),
    row("all of the user's text", Touched, "find . -type f -delete"),
    row("a hook of git", Touched, "echo 'rm -rf /' > .git/hooks/pre-commit"),
    row("git's configuration", Touched, "printf '[core]\\n fsmonitor = evil\\n' >> .git/config"),
    row("a build script", Touched, "echo 'fn main() {}' > build.rs"),
    row(
        "cargo's configuration",
        Touched,
        "mkdir -p .cargo && echo '[build]\nrustc-wrapper = \"evil\"' > .cargo/config.toml",
    ),
    row("the editor's tasks", Touched, "mkdir -p .vscode && echo '{}' > .vscode/tasks.json"),
    row("a package's scripts", Touched, "sed -i s/true/evil/ package.json"),
    row("a test's configuration", Touched, "echo 'import os' > conftest.py"),
    row("a file that make reads", Touched, "echo 'all: evil' > Makefile"),
    row("a plan", Touched, "mkdir -p .planwright && echo x > .planwright/evil.plan.md"),
    row("the shell's start", Touched, "echo evil >> $H/.bashrc"),
    row(
        "a service of the user",
        Touched,
        "mkdir -p $H/.config/systemd/user && echo x > $H/.config/systemd/user/evil.service",
    ),
    row("keys that may log in", Touched, "echo key >> $H/.ssh/authorized_keys"),
    row(
        "git's configuration of the user",
        Touched,
        "git config --global core.pager evil || echo '[core]' >> $H/.gitconfig",
    ),
    row("cargo's cache", Touched, "echo evil >> $H/.cargo/registry/src/x/lib.rs"),
    row("npm's cache", Touched, "echo evil >> $H/.npm/_cacache/x"),
    row("pip's cache", Touched, "echo evil >> $H/.cache/pip/x"),
    row("a program on the path", Touched, "echo evil > $H/.cargo/bin/tool"),
    row("our journal", Touched, "echo evil > $STATE/journal"),
    // secrets
    row("a private key", Said, "cat $H/.ssh/id_rsa"),
    row("a cloud's credentials", Said, "cat $H/.aws/credentials"),
    row("passwords by host", Said, "cat $H/.netrc"),
    row("a registry's token", Said, "cat $H/.cargo/credentials.toml"),
    row("keys found by search", Said, "grep -r tok- $H/.gnupg $H/.mozilla 2>/dev/null"),
    row("a history", Said, "cat $H/.bash_history"),
    row("a key through a link", Said, "ln -s $H/.ssh s && cat s/id_rsa"),
    row("a key through /proc/self/root", Said, "cat /proc/self/root$H/.ssh/id_rsa"),
    row("a key by hard link", Said, "ln $H/.ssh/id_rsa s && cat s"),
    row("a key through the parent's root", Said, "cat /proc/$PPID/root$H/.ssh/id_rsa"),
    row(
        "a secret in its tool's folder, replaced while it runs",
        Said,
        "#py\nopen('ready', 'w').close()\nfor _ in range(2000):\n    if os.path.exists(H + '/swapped'): break\n    time.sleep(0.005)\nprint(open(H + '/.docker/config.json').read())",
    ),
    hole(
        "a secret of one file, replaced while it runs",
        Said,
        "#py\nopen('ready', 'w').close()\nfor _ in range(2000):\n    if os.path.exists(H + '/swapped'): break\n    time.sleep(0.005)\nprint(open(H + '/.netrc').read())",
    ),
    row("our state", Said, "cat $STATE/journal"),
    row("the host's variables", Said, "tr '\\0' '\\n' < /proc/$PPID/environ"),
    row("another process's variables", Said, "tr '\\0' '\\n' < /proc/$VICTIM/environ"),
    row("variables of every process", Said, "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'"),
    root("the table of passwords", Exited, "test -s /etc/shadow && cat /etc/shadow > /dev/null"),
    // processes
    row("kill by number", Killed, "kill -9 $VICTIM"),
    row("kill a group", Killed, "#py\nos.killpg(VICTIM, 9)"),
    row("kill by handle", Killed, "#py\nsignal.pidfd_send_signal(os.pidfd_open(VICTIM), 9)"),
    row("signal the host", Exited, "#py\nos.kill(int(E['HOST']), 0)"),
    row("trace", Exited, "#py\ncall(N['ptrace'], 0x4206, VICTIM, 0, 0)"),
    row("read another's memory", Exited, "#py\nopen('/proc/%d/mem' % VICTIM, 'rb')"),
    row("take another's descriptor", Exited, "#py\ncall(438, os.pidfd_open(VICTIM), 1, 0)"),
    row("limit another", Exited, "#py\nimport resource\nresource.prlimit(VICTIM, resource.RLIMIT_CORE, (0, 0))"),
    row("slow another down", Exited, "renice -n 5 -p $VICTIM > /dev/null"),
    row("see another", Exited, "test -d /proc/$VICTIM"),
    maybe(
        "trace the first process",
        Exited,
        "#py\nif os.getppid() == 1: call(N['ptrace'], 0x4206, 1, 0, 0)\nelse: call(N['ptrace'], 0x4206, VICTIM, 0, 0)",
    ),
    row("the first process's descriptors", Exited, "#py\nos.readlink('/proc/%d/fd/0' % os.getppid())"),
    row("a child that nobody waits for", Lives, "sleep $NAP > /dev/null 2>&1 &"),
    row("a session of its own", Lives, "setsid sleep $NAP > /dev/null 2>&1 < /dev/null &"),
    row(
        "a daemon, forked twice",
        Lives,
        "#py\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nos.chdir('/')\nfor n in range(3): os.close(n)\nos.execve('/bin/sleep', ['sleep', E['NAP']], {})",
    ),
    row(
        "deaf to signals",
        Lives,
        "#py\nif os.fork(): os._exit(0)\nfor n in range(1, 64):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nos.setsid()\nos.execv('/bin/sleep', ['sleep', E['NAP']])",
    ),
    // sockets
    row("TCP", Heard, "#py\ns = socket.create_connection(('127.0.0.1', int(E['TCP'])), 2)\ns.sendall(SAY)"),
    row("TCP, version 6", Heard, "#py\ns = socket.create_connection(('::1', int(E['TCP6'])), 2)\ns.sendall(SAY)"),
    row(
        "UDP",
        Heard,
        "#py\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(SAY, ('127.0.0.1', int(E['UDP'])))",
    ),
    row(
        "UDP by message",
        Heard,
        "#py\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([SAY], [], 0, ('127.0.0.1', int(E['UDP'])))",
    ),
    row(
        "TCP with the first bytes in the opening",
        Heard,
        "#py\ns = socket.socket()\ns.sendto(SAY, 0x20000000, ('127.0.0.1', int(E['TCP'])))\ntime.sleep(0)",
    ),
    row(
        "a question to a name server",
        Heard,
        "#py\nq = b'\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0' + bytes([len(SAY)]) + SAY + b'\\3com\\0\\0\\1\\0\\1'\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(q, ('127.0.0.1', int(E['UDP'])))",
    ),
    row("a socket by path", Heard, "#py\ns = socket.socket(socket.AF_UNIX)\ns.connect(E['SOCK'])\ns.sendall(SAY)"),
    row(
        "a socket through a link",
        Heard,
        "#py\nos.symlink(E['SOCK'], 'l')\ns = socket.socket(socket.AF_UNIX)\ns.connect('l')\ns.sendall(SAY)",
    ),
    row(
        "a socket in the workspace",
        Heard,
        "#py\ns = socket.socket(socket.AF_UNIX)\ns.connect(E['INNER'])\ns.sendall(SAY)",
    ),
    row(
        "a datagram socket by path",
        Heard,
        "#py\nsocket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(SAY, E['DGRAM'])",
    ),
    row(
        "a socket by abstract name",
        Heard,
        "#py\ns = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + E['ABSTRACT'])\ns.sendall(SAY)",
    ),
    row(
        "a socket bound by a relative name",
        Heard,
        "#py\ns = socket.socket(socket.AF_UNIX)\ns.connect(E['RELATIVE'])\ns.sendall(SAY)",
    ),
    hole(
        "a socket that got another name",
        Heard,
        "#py\ns = socket.socket(socket.AF_UNIX)\ns.connect(E['RENAMED'])\ns.sendall(SAY)",
    ),
    hole("a pipe of the user's", Heard, "echo $SAY > $PIPE"),
    hole(
        "a lock on the user's file",
        Exited,
        "#py\nimport fcntl\nfcntl.flock(os.open(OUT + '/victim', os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)",
    ),
    row("netlink: events of devices", Exited, "#py\nsocket.socket(16, socket.SOCK_RAW, 15)"),
    row("netlink: other sockets", Exited, "#py\nsocket.socket(16, socket.SOCK_RAW, 4)"),
    row("netlink: generic", Exited, "#py\nsocket.socket(16, socket.SOCK_RAW, 16)"),
    maybe("netlink: crypto", Exited, "#py\nsocket.socket(16, socket.SOCK_RAW, 21)"),
    maybe("packets", Exited, "#py\nsocket.socket(17, socket.SOCK_RAW, 0)"),
    maybe("raw IP", Exited, "#py\nsocket.socket(2, socket.SOCK_RAW, 255)"),
    maybe("the hypervisor's sockets", Exited, "#py\nsocket.socket(40, socket.SOCK_STREAM, 0)"),
    maybe("the kernel's crypto", Exited, "#py\nsocket.socket(38, socket.SOCK_SEQPACKET, 0)"),
    maybe("Bluetooth", Exited, "#py\nsocket.socket(31, socket.SOCK_RAW, 1)"),
    maybe("the other devices of the network", Exited, "#py\nsys.exit(0 if len(socket.if_nameindex()) > 1 else 1)"),
    hole(
        "a socket that is made while it runs",
        Heard,
        "#py\nopen('ready', 'w').close()\nfor _ in range(2000):\n    if os.path.exists(E['LATE']): break\n    time.sleep(0.005)\ns = socket.socket(socket.AF_UNIX)\ns.connect(E['LATE'])\ns.sendall(SAY)",
    ),
    // the kernel
    maybe("a user namespace by unshare", Exited, "#py\ncall(N['unshare'], 0x10000000)"),
    maybe(
        "a user namespace by clone",
        Exited,
        "#py\npid = call(N['clone'], 0x10000000 | 17, 0, 0, 0, 0)\nif pid == 0: os._exit(0)",
    ),
    maybe(
        "a user namespace by clone3",
        Exited,
        "#py\na = (ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, 17, 0, 0, 0)\npid = call(435, ctypes.byref(a), 64)\nif pid == 0: os._exit(0)",
    ),
    maybe("a mount in a user namespace", Exited, "unshare -Urm mount -t tmpfs x /mnt"),
    root("a mount", Exited, "#py\nos.mkdir('m')\ncall(N['mount'], b'x', b'm', b'tmpfs', 0, 0)\nlibc.umount2(b'm', 2)"),
    root("the root written again", Exited, "#py\ncall(N['mount'], 0, b'/', 0, 0x1020 | 0x200000, 0)"),
    maybe("a tree of mounts", Exited, "#py\ncall(428, -100, b'/', 0)"),
    maybe(
        "a file system opened",
        Exited,
        "unshare -Urm python3 -c 'import ctypes,sys; sys.exit(0 if ctypes.CDLL(None).syscall(430, b\"tmpfs\", 0) >= 0 else 1)'",
    ),
    root("a root of its own", Exited, "#py\ncall(N['chroot'], b'.')"),
    root(
        "a file by handle",
        Exited,
        "#py\nh = (ctypes.c_char * 136)()\nctypes.memmove(h, struct.pack('I', 128), 4)\nm = ctypes.c_int()\nassert libc.name_to_handle_at(-100, (OUT + '/victim').encode(), h, ctypes.byref(m), 0) == 0\ncall(N['by_handle'], os.open(OUT, os.O_RDONLY), h, 0)",
    ),
    root(
        "the namespace of a process",
        Exited,
        "#py\ncall(N['setns'], os.open('/proc/%d/ns/uts' % os.getppid(), os.O_RDONLY), 0)",
    ),
    maybe("io_uring", Exited, "#py\np = (ctypes.c_char * 120)()\ncall(425, 1, p)"),
    maybe("a key", Exited, "#py\ncall(N['add_key'], b'user', b'pw', b'x', 1, ctypes.c_long(-3))"),
    maybe("the keys of the session", Exited, "#py\ncall(N['keyctl'], 0, ctypes.c_long(-3), 1)"),
    maybe("a program in the kernel", Exited, "#py\na = (ctypes.c_uint32 * 32)(2, 4, 4, 1)\ncall(N['bpf'], 0, a, 128)"),
    maybe(
        "counters",
        Exited,
        "#py\na = (ctypes.c_uint32 * 32)(1, 128, 0, 0)\na[10] = 0b1100001\ncall(N['perf'], a, 0, ctypes.c_long(-1), ctypes.c_long(-1), 0)",
    ),
    maybe("faults in user space", Exited, "#py\ncall(N['uffd'], 1)"),
    maybe(
        "typing on a terminal",
        Exited,
        "#py\nimport fcntl, pty\nm, s = pty.openpty()\nos.setsid()\nfcntl.ioctl(s, 0x540e, 0)\nfcntl.ioctl(s, 0x5412, b'x')",
    ),
    maybe("another numbering of calls", Exited, "#py\ncall(0x40000000 + 39)"),
    root(
        "a setting of the kernel",
        Exited,
        "#py\np = '/proc/sys/kernel/core_pattern'\nt = open(p).read()\nopen(p, 'w').write(t)",
    ),
    maybe("the magic key", Exited, "#py\nos.open('/proc/sysrq-trigger', os.O_WRONLY)"),
    root("the name of the machine", Exited, "#py\nsocket.sethostname(socket.gethostname())"),
    maybe(
        "a group of control",
        Exited,
        "#py\nfor top in ['/sys/fs/cgroup', '/sys/fs/cgroup/pids']:\n    try: os.mkdir(top + '/pw-escape')\n    except OSError: continue\n    os.rmdir(top + '/pw-escape')\n    sys.exit(0)\nsys.exit(1)",
    ),
    root("a device of its own", Exited, "#py\nos.mknod('dev', 0o60600, os.makedev(254, 0))\nos.remove('dev')"),
    maybe(
        "a device that keeps something",
        Exited,
        "#py\nplain = {'null', 'zero', 'full', 'random', 'urandom', 'tty', 'ptmx', 'stdin', 'stdout', 'stderr'}\nfor n in os.listdir('/dev'):\n    import stat\n    p = '/dev/' + n\n    m = os.stat(p).st_mode\n    if n in plain or not (stat.S_ISCHR(m) or stat.S_ISBLK(m)): continue\n    try: os.open(p, os.O_RDONLY | os.O_NONBLOCK)\n    except OSError: continue\n    sys.exit(0)\nsys.exit(1)",
    ),
    root("the mode of a device", Exited, "chmod 666 /dev/null"),
    maybe("a program that is root's", Exited, "test \"$($SUID -u)\" = 0 && test \"$(id -u)\" != 0"),
    hole(
        "a program from memory",
        Exited,
        "#py\nfd = os.memfd_create('x')\nos.write(fd, open('/bin/true', 'rb').read())\nos.execv('/proc/self/fd/%d' % fd, ['true'])",
    ),
];
