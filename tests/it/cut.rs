//! A process is killed while it writes a user's file; what the next start finds, mends and says.

use crate::support::Project;
use crate::support::server::Server;
use planwright::domain::change::Entry;
use planwright::testing::failpoint;
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;

const OLD: &str = "pub fn total(xs: &[u32]) -> u32 {\n    xs.iter().sum()\n}\n";
const PLAN: &str = "# Rename total\n\nA better name.\n\n## Contract\n\n- scope: `src/**`\n- accept: absent: `\\btotal\\b`, in `src`\n\n## Steps\n\n### rename: Rename total\n\n- transform: rename `total` to `sum_of`\n";

fn hash(text: &str) -> String {
    Entry::File { text: text.into(), mode: 0o644 }.hash().short().to_owned()
}

/// A project with a file of which the write died before its result was known: the text is exchanged, and what somebody
/// had saved in the moment before lies beside.
fn cut() -> (Project, String, String) {
    let project = Project::new(&[("src/lib.rs", OLD)]);
    let task = project.approved("Rename total", PLAN);
    project.run(&["run", &task]).exits(3);
    let mut command = project.command(&["accept", &task, "--all"]);
    let ended = command.env(failpoint::VARIABLE, "before-result:write:1").output().unwrap();
    assert_eq!(ended.status.signal(), Some(9), "{ended:?}");
    let new = OLD.replace("total", "sum_of");
    assert_eq!(project.read("src/lib.rs"), new);
    let mine = format!("// mine\n{OLD}");
    project.write(&format!("src/.lib.rs.planwright-{}-{}-0123456789abcdef", hash(OLD), hash(&new)), &mine);
    project.write("src/.lib.rs.planwright-new-0123456789abcdef", "pub fn sum_o");
    (project, task, mine)
}

#[test]
fn a_text_saved_in_the_moment_of_a_kill_stands_again_at_the_next_start() {
    let (project, task, mine) = cut();
    let said = project.run(&["status", &task]);
    assert_eq!(project.read("src/lib.rs"), mine, "{said:?}");
    assert!(said.err.contains("src/lib.rs: what was saved there"), "{said:?}");
    assert_eq!(project.git(&["status", "--short"]), " M src/lib.rs\n", "nothing lies beside it");
    let hunks = project.run(&["review", &task, "--all", "--json"]).json();
    assert_eq!(hunks["hunks"][0]["state"], "open", "{hunks}");
    assert!(!project.run(&["status", &task]).err.contains("what was saved"), "it is said once");
    project.run(&["accept", &task, "--all"]).exits(0);
    assert_eq!(project.read("src/lib.rs"), mine.replace("total", "sum_of"));
}

#[test]
fn an_editor_is_told_of_a_text_that_stands_again() {
    let (project, _, mine) = cut();
    let server = Server::ready(&project);
    let said = server.next(|message| message["method"] == "window/showMessage").unwrap_or(Value::Null);
    assert!(said["params"]["message"].as_str().is_some_and(|text| text.contains("what was saved there")), "{said}");
    assert_eq!(project.read("src/lib.rs"), mine);
}
