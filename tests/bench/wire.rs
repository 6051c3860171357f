//! A client of the language server as a process, that looks at the clock.
//!
//! Invariant: an answer's time is taken when its last byte is read, by a thread that does nothing else before.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(60);

pub struct Wire {
    child: Child,
    input: ChildStdin,
    heard: Receiver<(Instant, Vec<u8>)>,
    root: String,
    asked: i64,
}

impl Wire {
    /// Starts the server.
    pub fn start(mut command: Command, root: &Path) -> Wire {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a server");
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (tell, heard) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let mut head = String::new();
                if output.read_line(&mut head).unwrap_or(0) == 0 {
                    return;
                }
                let length: usize = head.trim().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
                let mut body = vec![0; length + 2];
                if output.read_exact(&mut body).is_err() || tell.send((Instant::now(), body)).is_err() {
                    return;
                }
            }
        });
        Wire { child, input, heard, root: format!("file://{}", root.display()), asked: 0 }
    }

    /// Starts it, and has it answer `initialize`.
    pub fn ready(command: Command, root: &Path) -> Wire {
        let mut wire = Wire::start(command, root);
        wire.initialize();
        wire.notify("initialized", json!({}));
        wire
    }

    /// The first question, as an editor with little to it asks.
    pub fn initialize(&mut self) {
        let capabilities = json!({"general": {"positionEncodings": ["utf-8"]}});
        let said = json!({"processId": null, "rootUri": self.root, "capabilities": capabilities});
        let (_, answer) = self.request("initialize", said);
        assert_eq!(answer["serverInfo"]["name"], "planwright");
    }

    pub fn uri(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }

    pub fn open(&mut self, path: &str, language: &str, text: &str) {
        let document = json!({"uri": self.uri(path), "languageId": language, "version": 0, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    /// One letter is typed.
    pub fn types(&mut self, path: &str, version: i64, line: usize, character: usize) {
        let at = json!({"line": line, "character": character});
        let change = json!({"range": {"start": at, "end": at}, "text": "x"});
        let document = json!({"uri": self.uri(path), "version": version});
        self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Asks, and gives the time from before the question is written to the answer's last byte.
    pub fn request(&mut self, method: &str, params: Value) -> (Duration, Value) {
        self.asked += 1;
        let id = self.asked;
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let from = Instant::now();
        self.send(&body);
        let (at, answer) = self.hear(|said| said["id"] == id && said.get("method").is_none());
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        (at - from, answer["result"].clone())
    }

    pub fn command(&mut self, id: &str, arguments: Value) {
        self.request("workspace/executeCommand", json!({"command": id, "arguments": arguments}));
    }

    /// The next message that is meant; those before it are passed over, questions of the server with `null`.
    pub fn hear(&mut self, meant: impl Fn(&Value) -> bool) -> (Instant, Value) {
        loop {
            let (at, body) = self.heard.recv_timeout(DEADLINE).expect("it says nothing more");
            let said: Value = serde_json::from_slice(&body).unwrap();
            if meant(&said) {
                return (at, said);
            }
            if said.get("method").is_some() && said.get("id").is_some() {
                self.send(&json!({"jsonrpc": "2.0", "id": said["id"], "result": null}));
            }
        }
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let framed = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.input.write_all(framed.as_bytes()).unwrap();
        self.input.flush().unwrap();
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
