//! A goal that is saved as its editor quits, as `:wq` in the only window does.
//!
//! Invariant: it is one task afterwards, or its page holds it and the next start says so; never neither, never two.
//! Absent: what becomes of the task.

use crate::support::server::Server;
use crate::support::{Project, until};
use planwright::testing::failpoint;
use serde_json::{Value, json};

const PAGE: &str = ".planwright/goal.md";

fn project() -> Project {
    Project::new(&[("src/lib.rs", "pub fn one() -> u32 {\n    1\n}\n")])
}

fn uri(project: &Project) -> String {
    format!("file://{}", project.path(PAGE).display())
}

/// The goal page with these words is on disk, open, and saved.
fn save(project: &Project, server: &mut Server, words: &str) {
    let text = format!("do: plan\nat: src/lib.rs:1-3\n\n{words}\n");
    project.write(PAGE, &text);
    let document = json!({"uri": uri(project), "languageId": "markdown", "version": 1, "text": text});
    server.notify("textDocument/didOpen", json!({"textDocument": document}));
    server.notify("textDocument/didSave", json!({"textDocument": {"uri": uri(project)}}));
}

/// How many tasks have this goal.
#[track_caller]
fn tasks(project: &Project, words: &str) -> usize {
    let said = project.run(&["tasks", "--json"]).json();
    let all = said["tasks"].as_array().unwrap_or_else(|| panic!("{said}"));
    all.iter().filter(|task| task["goal"] == words).count()
}

/// What an editor sends as it goes, at once and without waiting for anything.
#[derive(Clone, Copy, Debug)]
enum Farewell {
    Both,
    Exit,
    Nothing,
}

fn leave(server: &mut Server, farewell: Farewell) {
    match farewell {
        Farewell::Both => {
            server.request(9, "shutdown", Value::Null);
            server.notify("exit", Value::Null);
        }
        Farewell::Exit => server.notify("exit", Value::Null),
        Farewell::Nothing => {}
    }
    drop(server.input.take());
    server.ends();
}

#[test]
fn a_goal_that_is_saved_as_the_editor_quits_is_one_task() {
    for farewell in [Farewell::Both, Farewell::Exit, Farewell::Nothing] {
        for (what, early, attached) in
            [("early", true, false), ("later", false, false), ("attached", false, true), ("attached early", true, true)]
        {
            let name = format!("{farewell:?}, {what}");
            let project = project();
            let _host = attached.then(|| {
                let host = Server::ready(&project);
                until("there is a host", || project.run(&["tasks"]).code == Some(0));
                host
            });
            let mut server = Server::start(&project, &["--stdio"]);
            server.read();
            server.initialize(&project, Value::Null);
            if !early {
                server.answer(1);
            }
            save(&project, &mut server, "make one two");
            leave(&mut server, farewell);
            assert_eq!(tasks(&project, "make one two"), 1, "{name}");
            // The page is what it was, and the same page saved again is the same task.
            let mut again = Server::ready(&project);
            save(&project, &mut again, "make one two");
            leave(&mut again, farewell);
            assert_eq!(tasks(&project, "make one two"), 1, "{name}, saved again");
        }
    }
}

#[test]
fn a_goal_whose_server_was_killed_is_a_task_or_is_said_on_its_page() {
    let project = project();
    let mut lost = 0;
    for n in 0..8 {
        let words = format!("make one {n}");
        // One dies for certain before the journal has the goal; the others as it comes.
        let certain = (n == 0).then_some((failpoint::VARIABLE, "before-intent:task:1"));
        let mut server = Server::start_with(&project, &["--stdio"], certain);
        server.read();
        server.initialize(&project, Value::Null);
        if n % 2 == 0 {
            server.answer(1);
        }
        save(&project, &mut server, &words);
        if certain.is_none() {
            server.child.kill().unwrap();
        }
        server.was_killed();
        if tasks(&project, &words) == 0 {
            lost += 1;
            let mut next = Server::ready(&project);
            let is_it = |said: &Value| {
                let (method, params) = (&said["method"], &said["params"]);
                let said = params["diagnostics"][0]["message"].as_str().unwrap_or_default();
                method == "textDocument/publishDiagnostics"
                    && params["uri"] == uri(&project).as_str()
                    && said.starts_with("this goal is no task yet")
            };
            assert!(next.next(is_it).is_some(), "{words} is in no task, and nothing says so");
            save(&project, &mut next, &words);
            leave(&mut next, Farewell::Both);
        }
        assert_eq!(tasks(&project, &words), 1, "{words}");
    }
    assert!(lost >= 1, "none was lost, and so nothing had to say so");
    println!("{lost} of 8 goals were no task when their server was killed");
}

#[test]
fn an_attached_editor_gets_its_goal_page_from_the_host() {
    let project = project();
    let _host = Server::ready(&project);
    until("there is a host", || project.run(&["tasks"]).code == Some(0));
    let mut server = Server::ready(&project);
    server.request(2, "workspace/executeCommand", json!({"command": "planwright.plan", "arguments": []}));
    until("the page is there", || project.path(PAGE).exists());
    let page = project.read(PAGE);
    assert!(page.contains("save with :w. It becomes a task and is planned; the task page opens here."), "{page}");
}
