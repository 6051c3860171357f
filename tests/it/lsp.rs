//! The language server as a process: how it starts, what it hears, how it ends.

use crate::support::server::Server;
use crate::support::{Project, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::Command;

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
fn what_is_no_message_is_answered_and_a_header_without_a_length_ends_the_session() {
    let project = project();
    let mut server = Server::ready(&project);
    let log = || std::fs::read_to_string(project.database().with_file_name("planwright.log")).unwrap_or_default();
    until("the root is open", || project.state.exists() && project.state.read_dir().unwrap().count() > 0);
    until("the symbols are read", || log().contains("symbols are up to date"));
    server.input.as_ref().unwrap().write_all(b"Content-Length: 2\r\n\r\n{[").unwrap();
    let answer = server.next(|said| said["id"].is_null() && said.get("error").is_some()).unwrap();
    assert_eq!(answer["error"]["code"], -32700);
    // It goes on, and has noted what it was.
    server.request(2, "workspace/symbol", json!({"query": ""}));
    assert!(server.answer(2).get("error").is_none());
    until("it is in the log", || log().contains("what is no message") && log().contains("{["));

    server.input.as_ref().unwrap().write_all(b"X-Length: 2\r\n\r\n{}").unwrap();
    let answer = server.next(|said| said["id"].is_null() && said.get("error").is_some()).unwrap();
    assert!(answer["error"]["message"].as_str().unwrap().contains("no Content-Length; the session ends"), "{answer}");
    server.ends_with(1);
    assert!(log().contains("no Content-Length"));
    // In order: whoever comes next finds no host.
    project.run(&["tasks"]).exits(0);
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
