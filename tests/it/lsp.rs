//! The language server as a process: how it starts, what it hears, how it ends.

use crate::support::{Project, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine; only a failing test waits for it.
const DEADLINE: Duration = Duration::from_secs(40);

/// An end that is no hang. The process itself is gone in a small part of it.
const QUICKLY: Duration = Duration::from_secs(5);

/// A server with its pipes held open.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    said: Option<Receiver<Value>>,
}

impl Server {
    fn start(project: &Project, flags: &[&str]) -> Server {
        let mut command = project.command(&[&["lsp"], flags].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Server { child, input, output, said: None }
    }

    /// Reads from now on. Whatever is no frame of the protocol fails the test.
    fn read(&mut self) {
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

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let mut input = self.input.as_ref().unwrap();
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        input.flush().unwrap();
    }

    fn request(&mut self, id: i32, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// The answer to a request; what comes before it is passed over.
    #[track_caller]
    fn answer(&self, id: i32) -> Value {
        loop {
            let said = self.said.as_ref().unwrap().recv_timeout(DEADLINE).expect("no answer");
            if said["id"] == id && said.get("method").is_none() {
                return said;
            }
        }
    }

    fn initialize(&mut self, project: &Project, process: Value) {
        let root = format!("file://{}", project.root.display());
        let said = json!({"processId": process, "rootUri": root, "capabilities": {}});
        self.request(1, "initialize", said);
        self.notify("initialized", json!({}));
    }

    /// A server that reads, is read, and knows its root.
    fn ready(project: &Project) -> Server {
        let mut server = Server::start(project, &["--stdio"]);
        server.read();
        server.initialize(project, Value::Null);
        assert_eq!(server.answer(1)["result"]["serverInfo"]["name"], "planwright");
        server
    }

    /// Waits for the process; its pipes stay open. The exit code, and how long it took.
    #[track_caller]
    fn ends(&mut self) -> (Option<i32>, Duration) {
        let begun = Instant::now();
        until("the server has ended", || self.child.try_wait().unwrap().is_some());
        (self.child.wait().unwrap().code(), begun.elapsed())
    }

    #[track_caller]
    fn ends_with(&mut self, code: i32) {
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

fn project() -> Project {
    Project::new(&[("src/lib.rs", "pub fn total(x: u32) -> u32 {\n    x\n}\n")])
}

#[test]
fn exit_ends_the_process_while_the_editor_holds_the_pipe() {
    let project = project();
    let mut server = Server::ready(&project);
    server.request(2, "shutdown", Value::Null);
    assert_eq!(server.answer(2), json!({"jsonrpc": "2.0", "id": 2, "result": null}));
    server.notify("exit", Value::Null);
    server.ends_with(0);
}

#[test]
fn exit_without_shutdown_and_the_end_of_input_are_failures() {
    let project = project();
    let mut server = Server::ready(&project);
    server.notify("exit", Value::Null);
    server.ends_with(1);

    let mut server = Server::ready(&project);
    server.request(2, "planwright/test/waits", Value::Null);
    server.input = None;
    server.ends_with(1);

    let mut server = Server::start(&project, &[]);
    server.input = None;
    server.ends_with(1);
}

#[test]
fn flags_of_editors_are_passed_over() {
    let project = project();
    let mut server = Server::start(&project, &["--node-ipc", "--clientProcessId=7", "--stdio", "--json", "x"]);
    server.read();
    server.initialize(&project, Value::Null);
    assert!(server.answer(1)["result"]["capabilities"].is_object());
    project.run(&["lsp", "--help"]).exits(0).says(&["started by an editor", "--stdio"]);
}

#[test]
fn what_is_no_message_ends_the_session() {
    let project = project();
    let mut server = Server::ready(&project);
    server.input.as_ref().unwrap().write_all(b"Content-Length: 2\r\n\r\n{[").unwrap();
    server.ends_with(1);
}

#[test]
fn an_editor_that_does_not_read_is_heard_all_the_same() {
    let project = project();
    let mut server = Server::start(&project, &[]);
    server.initialize(&project, Value::Null);
    // 4 MB each, far more than a pipe takes.
    for id in 2..6 {
        server.request(id, "planwright/test/floods", Value::Null);
    }
    for n in 0..2_000 {
        server.notify("$/setTrace", json!({"value": "off", "padding": "x".repeat(n % 300)}));
    }
    server.request(9, "shutdown", Value::Null);
    server.notify("exit", Value::Null);
    server.ends_with(0);
}

#[test]
fn what_was_not_read_at_once_is_read_later() {
    let project = project();
    let mut server = Server::start(&project, &[]);
    server.initialize(&project, Value::Null);
    server.request(2, "planwright/test/floods", Value::Null);
    server.request(3, "workspace/symbol", json!({"query": ""}));
    server.read();
    assert!(server.answer(3).get("error").is_none());
}

#[test]
fn an_editor_that_dies_with_the_pipe_held_open_takes_the_server_with_it() {
    let project = project();
    let mut editor = Command::new("sleep").arg("600").spawn().unwrap();
    let mut server = Server::start(&project, &[]);
    server.read();
    server.initialize(&project, json!(editor.id()));
    server.answer(1);
    let pid = Pid::from_raw(i32::try_from(editor.id()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    server.ends_with(1);
    editor.wait().unwrap();
}

#[test]
fn a_terminal_works_beside_it_and_the_root_is_free_afterwards() {
    let project = project();
    let mut server = Server::ready(&project);
    let log = || {
        let folder = project.database();
        std::fs::read_to_string(folder.with_file_name("planwright.log")).unwrap_or_default()
    };
    until("the root is open", || project.state.exists() && project.state.read_dir().unwrap().count() > 0);
    until("the symbols are read", || log().contains("symbols are up to date"));
    project.run(&["tasks"]).exits(0);
    server.request(2, "shutdown", Value::Null);
    server.answer(2);
    server.notify("exit", Value::Null);
    server.ends_with(0);
    project.run(&["tasks"]).exits(0);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}
