//! Editors whose host is killed: one of them takes its place, and what was asked for is done once.

use crate::support::server::Server;
use crate::support::{Project, until};
use serde_json::{Value, json};

const SHOP: &str = "pub fn total(x: u32) -> u32 {\n    x\n}\n";

const RENAME: &str = "# Rename total\n\nA better name.\n\n## Contract\n\n- scope: `src/**`\n\
- accept: absent: `\\btotal\\b`, in `src`\n\n## Steps\n\n### rename: Rename total\n\n\
- transform: rename `total` to `sum_of`\n- write: `src/**`\n";

/// Kills the host while a decision waits for an editor; `by_owner`: the editor that has the file open took it.
fn killed_in_a_decision(by_owner: bool) {
    let project = Project::new(&[("src/lib.rs", SHOP)]);
    let task = project.approved("Rename total", RENAME);
    project.run(&["run", &task]);
    assert_eq!(project.read("src/lib.rs"), SHOP);
    let note = || -> Value {
        let text = std::fs::read_to_string(project.database().with_file_name("host.lock")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    };
    let engines = || {
        let log = std::fs::read_to_string(project.database().with_file_name("planwright.log")).unwrap_or_default();
        log.matches("symbols are up to date").count()
    };
    let mut host = Server::ready(&project);
    until("the first is host", || note()["pid"] == host.child.id());
    // Its engine runs: somebody else is answered.
    project.run(&["tasks"]).exits(0);
    let started = engines();
    let mut owner = Server::ready(&project);
    let document = format!("file://{}", project.path("src/lib.rs").display());
    let open = json!({"uri": document, "languageId": "rust", "version": 1, "text": SHOP});
    owner.notify("textDocument/didOpen", json!({"textDocument": open}));
    let change = |version: i32, text: &str| json!({"textDocument": {"uri": document, "version": version}, "contentChanges": [{"text": text}]});
    owner.notify("textDocument/didChange", change(2, &format!("{SHOP}// typed\n")));
    until("the host knows who has documents", || note()["editors"][0][0] == owner.child.id());
    let mut other = Server::ready(&project);
    project.run(&["status", &task]).exits(0);

    let decision = json!({"command": "planwright.accept", "arguments": [{"task": task, "all": true}]});
    let decider = if by_owner { &mut owner } else { &mut other };
    decider.request(2, "workspace/executeCommand", decision);
    let asked = owner.next(|said| said["method"] == "workspace/applyEdit").unwrap();
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    // The editor does what it was asked to, and says so to whoever listens by now.
    let decided = SHOP.replace("total", "sum_of") + "// typed\n";
    owner.notify("textDocument/didChange", change(3, &decided));
    owner.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": true}}));

    let heirs = [owner.child.id(), other.child.id()];
    until("one of the two is host", || heirs.iter().any(|pid| note()["pid"] == *pid));
    let heir = note()["pid"].clone();
    // What is saved is judged: the decision was taken once more by the new host, and found done.
    let status = || project.run(&["status", &task, "--json"]).exits(0).json();
    until("it is accepted and not saved", || status()["hunks"]["unsaved"].as_u64().is_some_and(|count| count > 0));
    assert_eq!(project.read("src/lib.rs"), SHOP, "nothing is written below an open document");
    project.write("src/lib.rs", &decided);
    owner.notify("textDocument/didSave", json!({"textDocument": {"uri": document}}));
    until("the task is done", || status()["state"].to_string().contains("done"));

    assert_eq!(project.read("src/lib.rs"), decided);
    assert_eq!(note()["pid"], heir, "the host stays host");
    assert_eq!(engines(), started + 1, "one engine was started in the place of the old one");
    let said: Vec<Value> = [owner.so_far(), other.so_far()].concat();
    let again = said.iter().filter(|said| said["method"] == "workspace/applyEdit").count();
    assert_eq!(again, 0, "the edit was asked for once");
    // Where the heir found it done, it says so to whoever asked for all that waits.
    let known = "no hunk waits for this decision: 1 accepted";
    let is_known = |said: &Value| said["params"]["message"].as_str().is_some_and(|words| words.contains(known));
    let errors = said.iter().filter(|said| said["method"] == "window/showMessage" && !is_known(said));
    assert_eq!(errors.collect::<Vec<_>>(), Vec::<&Value>::new());
    drop((owner, other));
}

#[test]
fn a_host_killed_in_a_decision_leaves_one_heir_and_one_edit() {
    killed_in_a_decision(true);
}

#[test]
fn a_decision_from_another_editor_survives_its_host_too() {
    killed_in_a_decision(false);
}
