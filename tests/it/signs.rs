//! `approved:` typed into a plan document: it approves where it was seen to be written and saved, in whatever editor.
//!
//! Invariant: a line that stood in the file when it was opened approves nothing. Absent: the other ways to approve.

use crate::support::server::Server;
use crate::support::{Project, until};
use serde_json::{Value, json};

const PLAN: &str = "# Retries\n\n## Contract\n\n- scope: `src/**`\n- accept: `true`\n\n## Steps\n\n### note: Note it\n\n- check: `true`\n";

/// A task whose plan waits: its project, the document below the root, its text, and the same with an approval.
fn planned() -> (Project, String, String, String) {
    let project = Project::new(&[("src/lib.rs", "pub fn one() {}\n")]);
    let given = project.root.with_file_name("given.plan.md");
    std::fs::write(&given, PLAN).unwrap();
    project.run(&["plan", "note it", "--document", given.to_str().unwrap()]).exits(0);
    let task = project.only_task();
    let shown = project.run(&["show", &task, "--json"]).json();
    let page = shown["path"].as_str().unwrap_or_else(|| panic!("{shown}"));
    let page = page.strip_prefix(project.root.to_str().unwrap()).unwrap().trim_start_matches('/').to_owned();
    let text = project.read(&page);
    let (number, digest) = (&shown["revision"]["number"], shown["revision"]["digest"].as_str().unwrap());
    let signed =
        text.replacen("- scope: `src/**`\n", &format!("- scope: `src/**`\n- approved: r{number}-{digest}\n"), 1);
    assert_ne!(signed, text);
    (project, page, text, signed)
}

fn uri(project: &Project, page: &str) -> String {
    format!("file://{}", project.path(page).display())
}

fn open(server: &mut Server, uri: &str, text: &str) {
    let document = json!({"uri": uri, "languageId": "markdown", "version": 1, "text": text});
    server.notify("textDocument/didOpen", json!({"textDocument": document}));
}

fn write(server: &mut Server, uri: &str, text: &str) {
    let document = json!({"uri": uri, "version": 2});
    server.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": [{"text": text}]}));
}

fn save(project: &Project, server: &mut Server, page: &str, text: &str) {
    project.write(page, text);
    server.notify("textDocument/didSave", json!({"textDocument": {"uri": uri(project, page)}}));
}

fn is_approved(project: &Project) -> bool {
    let said = project.run(&["status", "--json"]).json();
    !said["approved"].is_null()
}

/// What a client sends first, all at once; nothing is answered yet.
fn early(project: &Project) -> Server {
    let mut server = Server::start(project, &["--stdio"]);
    server.read();
    server.initialize(project, Value::Null);
    server
}

#[test]
fn an_approval_that_is_typed_counts_from_the_first_message_on_and_in_an_attached_editor() {
    for attached in [false, true] {
        let (project, page, text, signed) = planned();
        let _host = attached.then(|| Server::ready(&project));
        until("there is a host", || project.run(&["tasks"]).code == Some(0));
        let mut server = early(&project);
        let uri = uri(&project, &page);
        open(&mut server, &uri, &text);
        write(&mut server, &uri, &signed);
        save(&project, &mut server, &page, &signed);
        until("it is approved", || is_approved(&project));
    }
}

#[test]
fn a_line_that_stood_there_when_the_file_was_opened_approves_nothing() {
    for attached in [false, true] {
        let (project, page, text, signed) = planned();
        let _host = attached.then(|| Server::ready(&project));
        until("there is a host", || project.run(&["tasks"]).code == Some(0));
        project.write(&page, &signed);
        let mut server = early(&project);
        let uri = uri(&project, &page);
        open(&mut server, &uri, &signed);
        save(&project, &mut server, &page, &signed);
        // A finding of a later text is shown when all of the former has been taken in.
        let broken = text.replacen("- check: `true`", "- check: `true`\n- eidt: `src/lib.rs`", 1);
        write(&mut server, &uri, &broken);
        let found = |said: &Value| said["params"]["uri"] == uri.as_str() && said.to_string().contains("eidt");
        assert!(server.next(found).is_some());
        assert!(!is_approved(&project), "attached: {attached}");
    }
}
