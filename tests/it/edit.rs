//! Two steps by a model over the real wire, with a person's hands on the plan between them.
//!
//! Invariant: what the document says beside its approval starts nothing; a step that is done stays done under a plan
//! approved anew. Absent: the model's faults; they are the adapter's tests.

use crate::support::Project;
use planwright::testing::script::{Script, Turn};
use planwright::testing::scripted_model::{MODEL, ScriptedModel};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn project(model: &ScriptedModel) -> Project {
    let mut project = Project::new(&[
        ("src/one.rs", "pub fn one() -> u32 {\n    1\n}\n"),
        ("src/two.rs", "pub fn two() -> u32 {\n    2\n}\n"),
        ("src/three.rs", "pub fn three() -> u32 {\n    3\n}\n"),
    ]);
    for (name, value) in
        [("OPENAI_BASE_URL", model.base_url()), ("OPENAI_API_KEY", "k".to_owned()), ("OPENAI_MODEL", MODEL.to_owned())]
    {
        project.env.push((name.to_owned(), value));
    }
    project
}

fn step(id: &str, title: &str, path: &str, instruction: &str) -> Value {
    let file = json!({ "path": path, "new": false, "focus": "" });
    json!({ "id": id, "title": title, "kind": "edit", "files": [file], "command": "", "rule": "", "after": [],
        "check": "", "instruction": instruction })
}

fn script() -> Script {
    let plan = json!({
        "title": "Count higher",
        "scope": ["src/**"],
        "accept": ["absent: `no such text`, in `src`"],
        "steps": [
            step("first", "Raise one", "src/one.rs", "Raise it."),
            step("second", "Raise two", "src/two.rs", "Raise it too."),
        ],
        "assumptions": [], "questions": [], "advice": [],
    });
    let raise = |path: &str, from: &str, to: &str| {
        Turn::call("replace", json!({ "path": path, "pairs": [{ "search": from, "replace": to }] }))
    };
    let finish = || Turn::call("finish", json!({ "summary": "raised" }));
    Script::by(move |request: &Value, _| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let turns = messages.iter().filter(|message| message["role"] == "assistant").count();
        let said = |part: &str| messages.iter().any(|m| m["content"].as_str().is_some_and(|text| text.contains(part)));
        match turns {
            _ if request.get("tools").is_none() => Turn::text(&plan.to_string()),
            0 if said("Raise one") => raise("src/one.rs", "    1\n", "    10\n"),
            0 => raise("src/two.rs", "    2\n", "    20\n"),
            1 if said("three.rs") => raise("src/three.rs", "    3\n", "    30\n"),
            _ => finish(),
        }
    })
}

/// The one plan document of the workspace.
fn document(project: &Project, task: &str) -> PathBuf {
    let folder = project.path(".planwright/tasks").join(task);
    let files = std::fs::read_dir(folder).unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    files.into_iter().find(|path| path.to_string_lossy().ends_with(".plan.md")).unwrap()
}

#[test]
fn an_edit_voids_the_approval_and_a_wider_plan_keeps_what_is_done() {
    let model = ScriptedModel::start(script()).unwrap();
    let project = project(&model);
    project.run(&["plan", "Count higher", "--json"]).exits(0);
    let task = project.only_task();
    let at = document(&project, &task);
    let edit = |from: &str, to: &str| {
        let text = std::fs::read_to_string(&at).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(&at, text.replace(from, to)).unwrap();
    };

    // Between plan and approval the document is the person's.
    edit("Raise it too.", "Raise it too, tenfold.");
    let show = project.run(&["show", &task, "--json"]).exits(0).json();
    assert_eq!(show["revision"]["number"], 2, "{show}");
    project.run(&["approve", &task, "--yes", "--upto", "first"]).exits(0);

    // An edit of the approved document: no step starts, no model is asked.
    let asked = model.requests().len();
    edit("tenfold", "twentyfold");
    let refused = project.run(&["run", &task]);
    assert!(refused.code != Some(0) && refused.err.contains("plan document"), "{refused:?}");
    assert_eq!(model.requests().len(), asked, "{refused:?}");

    // Restored, the approval holds again.
    edit("twentyfold", "tenfold");
    project.run(&["run", &task]).exits(3);
    let review = project.run(&["review", &task, "--json"]).json();
    let first = review["hunks"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(review["hunks"].as_array().unwrap().len(), 1, "{review}");

    // Wider, and approved anew: the done step is not done again.
    edit("`src/two.rs`", "`src/two.rs`, `src/three.rs`");
    project.run(&["approve", &task, "--yes"]).exits(0);
    let ran = project.run(&["run", &task]).exits(3);
    let status = project.run(&["status", &task, "--json"]).json();
    let attempts: Vec<&Value> = status["steps"].as_array().unwrap().iter().map(|step| &step["attempts"]).collect();
    assert_eq!(attempts, [1, 1], "{ran:?}");
    let review = project.run(&["review", &task, "--json"]).json();
    let paths: Vec<&str> = review["hunks"].as_array().unwrap().iter().filter_map(|h| h["path"].as_str()).collect();
    assert_eq!(paths, ["src/one.rs", "src/three.rs", "src/two.rs"]);
    assert!(review.to_string().contains(&first), "{review}");
    project.run(&["accept", &task, "--all"]).exits(0);
    assert_eq!(project.git(&["diff", "--stat"]).lines().count(), 4);
    let status = project.run(&["status", &task, "--json"]).json();
    assert_eq!(status["words"], "done (verified)", "{status}");
}

#[test]
fn a_step_whose_symbol_changed_since_the_approval_is_held() {
    let lib = "pub struct Total {\n    sum: u32,\n}\n\nimpl Total {\n    pub fn sum(&self) -> u32 {\n        self.sum\n    }\n}\n";
    let project = Project::new(&[("src/lib.rs", lib)]);
    let plan = "# Rename\n\nIt.\n\n## Contract\n\n- scope: `src/**`\n- accept: absent: `no such text`, in `src`\n\n## Steps\n\n### it: Rename it\n\n- transform: rename `Total` to `Sum`\n";
    let task = project.approved("Rename", plan);
    project.write("src/lib.rs", lib.replace("    sum: u32,\n", "    sum: u32,\n    count: u32,\n"));
    let held = project.run(&["run", &task]).exits(3);
    assert!(held.out.contains("+    count: u32,"), "the difference is shown: {held:?}");
    project.run(&["gate", &task, "g1", "deny", "--comment", "not yet"]).exits(0);
    let denied = project.run(&["run", &task]);
    assert!(denied.out.contains("going on was refused: not yet") && !denied.out.contains("hunks  "), "{denied:?}");
    project.run(&["retry", &task, "it"]).exits(3);
    project.run(&["gate", &task, "g2", "allow"]).exits(0);
    project.run(&["run", &task]).exits(3);
    project.run(&["accept", &task, "--all"]).exits(0);
    assert!(project.read("src/lib.rs").starts_with("pub struct Sum {\n    sum: u32,\n    count: u32,\n}"));
}

#[test]
fn a_cancel_from_elsewhere_ends_the_terminal_that_runs() {
    let project = Project::new(&[("src/lib.rs", "")]);
    let plan = "# Wait\n\nIt.\n\n## Contract\n\n- scope: `src/**`\n- accept: absent: `no such text`, in `src`\n\n## Steps\n\n### it: Wait for it\n\n- run: `sleep 600`\n";
    let task = project.approved("Wait", plan);
    project.run(&["run", &task]).exits(3);
    project.run(&["gate", &task, "g1", "allow"]).exits(0);
    let mut running = project
        .command(&["run", &task, "--timeout", "60s"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let seen = project.run(&["status", &task]);
        if seen.out.contains("runs `sleep 600`") {
            break;
        }
        assert!(Instant::now() < deadline, "the command never ran: {seen:?}");
    }
    // The host may leave before its answer is out; what counts is that it did as it was told, and left.
    let _answered_or_host_gone = project.run(&["cancel", &task]);
    let status = running.wait().unwrap();
    assert_eq!(status.code(), Some(3), "it waits for a person; its time was not up");
    assert!(project.run(&["status", &task]).out.contains("paused"));
}

#[test]
fn all_means_what_still_fits() {
    let project = Project::new(&[
        ("src/lib.rs", "mod a;\nmod b;\npub fn total() {}\n"),
        ("src/a.rs", "fn a() {\n    crate::total()\n}\n"),
        ("src/b.rs", "fn b() {\n    crate::total()\n}\n"),
    ]);
    let plan = "# Rename\n\nIt.\n\n## Contract\n\n- scope: `src/**`\n- accept: absent: `no such text`, in `src`\n\n## Steps\n\n### it: Rename it\n\n- transform: rename `total` to `sum`\n";
    let task = project.approved("Rename", plan);
    project.run(&["run", &task]).exits(3);
    project.write("src/b.rs", "fn b() {\n    crate::something()\n}\n");
    let said = project.run(&["accept", &task, "--all"]).exits(0);
    assert!(said.err.contains("1 no longer fit"), "{said:?}");
    assert_eq!(project.read("src/a.rs"), "fn a() {\n    crate::sum()\n}\n");
    assert_eq!(project.read("src/b.rs"), "fn b() {\n    crate::something()\n}\n");
}

#[test]
fn a_rename_that_could_not_be_finished_is_not_begun() {
    let project = Project::new(&[
        ("src/lib.rs", "mod a;\npub fn total() {}\n"),
        ("src/a.rs", "fn a( ) {\n    crate::total( );   other( )\n}\n"),
    ]);
    let plan = "# Rename\n\nIt.\n\n## Contract\n\n- scope: `src/**`\n- accept: absent: `no such text`, in `src`\n\n## Steps\n\n### it: Rename it\n\n- transform: rename `total` to `sum`\n- write: `src/lib.rs`\n";
    let task = project.approved("Rename", plan);
    let said = project.run(&["run", &task]);
    assert!(said.out.contains("is used in `src/a.rs` too"), "{said:?}");
    // And in a file that no formatter keeps, nothing but the name changes.
    project.run(&["abandon", &task]).exits(0);
    let wider = project.state.join("wider.plan.md");
    std::fs::write(&wider, plan.replace("- write: `src/lib.rs`\n", "")).unwrap();
    project.run(&["plan", "Rename", "--document", wider.to_str().unwrap(), "--run"]).exits(3);
    project.run(&["accept", "--all"]).exits(0);
    assert_eq!(project.read("src/a.rs"), "fn a( ) {\n    crate::sum( );   other( )\n}\n");
}
