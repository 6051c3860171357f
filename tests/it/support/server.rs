//! The language server as a process, and the wire to it.

use super::{Project, until};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine; only a failing test waits for it.
const DEADLINE: Duration = Duration::from_secs(40);

/// An end that is no hang. The process itself is gone in a small part of it.
const QUICKLY: Duration = Duration::from_secs(5);

/// A server with its pipes held open.
pub struct Server {
    /// Its process.
    pub child: Child,
    /// Closed by taking it.
    pub input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    said: Option<Receiver<Value>>,
}

impl Server {
    /// Starts it.
    pub fn start(project: &Project, flags: &[&str]) -> Server {
        Server::start_with(project, flags, None)
    }

    /// The same with a variable of its own.
    pub fn start_with(project: &Project, flags: &[&str], variable: Option<(&str, &str)>) -> Server {
        let mut command = project.command(&[&["lsp"], flags].concat());
        command.envs(variable);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Server { child, input, output, said: None }
    }

    /// Reads from now on. Whatever is no frame of the protocol fails the test.
    pub fn read(&mut self) {
        let mut output = BufReader::new(self.output.take().unwrap());
        let (tell, said) = channel();
        std::thread::spawn(move || {
            loop {
                let mut head = String::new();
                if output.read_line(&mut head).unwrap_or(0) == 0 {
                    return;
                }
                let length = head.strip_prefix("Content-Length: ").unwrap_or_else(|| panic!("on the wire: {head:?}"));
                let mut body = vec![0; length.trim().parse::<usize>().unwrap() + 2];
                if output.read_exact(&mut body).is_err() || tell.send(serde_json::from_slice(&body).unwrap()).is_err() {
                    return;
                }
            }
        });
        self.said = Some(said);
    }

    /// Writes a message.
    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let mut input = self.input.as_ref().unwrap();
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        input.flush().unwrap();
    }

    /// Asks.
    pub fn request(&mut self, id: i32, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// Tells.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// The answer to a request; what comes before it is passed over.
    #[track_caller]
    pub fn answer(&self, id: i32) -> Value {
        loop {
            let said = self.said.as_ref().unwrap().recv_timeout(DEADLINE).expect("no answer");
            if said["id"] == id && said.get("method").is_none() {
                return said;
            }
        }
    }

    /// The first messages of an editor that can do nothing.
    pub fn initialize(&mut self, project: &Project, process: Value) {
        let root = format!("file://{}", project.root.display());
        let said = json!({"processId": process, "rootUri": root, "capabilities": {}});
        self.request(1, "initialize", said);
        self.notify("initialized", json!({}));
    }

    /// A server that reads, is read, and knows its root.
    pub fn ready(project: &Project) -> Server {
        let mut server = Server::start(project, &["--stdio"]);
        server.read();
        server.initialize(project, Value::Null);
        assert_eq!(server.answer(1)["result"]["serverInfo"]["name"], "planwright");
        server
    }

    /// The next message that is meant; what comes before it is passed over. None once it has ended.
    #[track_caller]
    pub fn next(&self, meant: impl Fn(&Value) -> bool) -> Option<Value> {
        let said = self.said.as_ref().unwrap();
        loop {
            match said.recv_timeout(DEADLINE) {
                Ok(said) if meant(&said) => return Some(said),
                Ok(_) => {}
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return None,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("it says nothing more"),
            }
        }
    }

    /// What it has said by now and nobody has heard.
    pub fn so_far(&self) -> Vec<Value> {
        self.said.as_ref().unwrap().try_iter().collect()
    }

    /// Waits for the process, and checks that it was killed.
    #[track_caller]
    pub fn was_killed(&mut self) {
        until("the server has been killed", || self.child.try_wait().unwrap().is_some());
        assert_eq!(self.child.wait().unwrap().signal(), Some(9));
    }

    /// Waits for the process; its pipes stay open. The exit code, and how long it took.
    #[track_caller]
    pub fn ends(&mut self) -> (Option<i32>, Duration) {
        let begun = Instant::now();
        until("the server has ended", || self.child.try_wait().unwrap().is_some());
        (self.child.wait().unwrap().code(), begun.elapsed())
    }

    /// Waits for its end by this code, and soon.
    #[track_caller]
    pub fn ends_with(&mut self, code: i32) {
        let (found, took) = self.ends();
        assert_eq!(found, Some(code));
        assert!(took < QUICKLY, "it took {took:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
