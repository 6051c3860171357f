//! Others at work outside while a cage stands: who replaces a secret, who listens on a socket, who reads a pipe.
//!
//! Invariant: each does its part only where a row's script names it. Absent: what a row does with that.

use super::*;
use crate::support::in_time;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::Mutex;

const LISTENS: &str = "import os, socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\nos.rename(sys.argv[1], sys.argv[2])\nprint(flush=True)\nwhile True:\n    said = s.accept()[0].recv(999)\n    socket.create_connection(('127.0.0.1', int(sys.argv[3]))).sendall(said)";

/// A process that binds a socket by a name relative to its folder, gives it another name, and hands on what it hears.
pub fn listens(folder: &Path, bound: &str, named: &str, tcp: u16) -> Child {
    let mut child = Command::new("/usr/bin/python3")
        .args(["-c", LISTENS, bound, named, &tcp.to_string()])
        .current_dir(folder)
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    child
}

/// A pipe with a name, and somebody who reads it.
pub fn pipe(at: &Path, heard: Arc<Mutex<Vec<u8>>>) {
    assert!(Command::new("mkfifo").arg(at).status().unwrap().success());
    let mut pipe = std::fs::File::options().read(true).write(true).open(at).unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok(n) = pipe.read(&mut buffer) {
            heard.lock().unwrap().extend(&buffer[..n]);
        }
    });
}

/// The owner replaces secrets as editors and tools do it: a new file gets the old one's name.
pub fn replaces(home: PathBuf, ready: PathBuf) {
    std::thread::spawn(move || {
        in_time(|| ready.exists());
        for secret in [".netrc", ".docker/config.json"] {
            let (old, new) = (home.join(secret), home.join("new"));
            std::fs::copy(&old, &new).unwrap();
            std::fs::rename(new, old).unwrap();
        }
        std::fs::write(home.join("swapped"), "").unwrap();
    });
}
