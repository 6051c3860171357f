//! Two processes at one workspace, a host that stands still or dies, and databases that this release did not write.

use crate::support::{Beside, Project, until};
use rustix::process::Signal;
use std::path::PathBuf;

const LIB: &str = "pub fn total(x: u32) -> u32 {\n    x\n}\n";

/// A rename, and then a check that waits for a file beside the workspace.
const PLAN: &str = "# Rename total\n\n## Contract\n\n- scope: `src/**`\n- accept: absent: `\\btotal\\b`, in `src`\n\n## Steps\n\n### rename: Rename total\n\n- transform: rename `total` to `sum_of`\n\n### wait: Wait\n\n- check: `sh wait.sh`\n";

/// A task whose second step runs until `marker` is there; `begun` has a line for each start of it.
struct Waiting {
    project: Project,
    task: String,
    marker: PathBuf,
    begun: PathBuf,
}

impl Waiting {
    fn new() -> Waiting {
        let project = Project::new(&[("src/lib.rs", LIB)]);
        let beside = project.root.with_file_name("beside");
        std::fs::create_dir(&beside).unwrap();
        let (marker, begun) = (beside.join("marker"), beside.join("begun"));
        let script = format!(
            "echo begun >> '{}'\nwhile [ ! -e '{}' ]; do sleep 0.02; done\n",
            begun.display(),
            marker.display()
        );
        project.write("wait.sh", script);
        let task = project.approved("Rename total", PLAN);
        project.run(&["run", &task]).exits(3);
        project.run(&["gate", &task, "allow", "--for-plan"]).exits(0);
        Waiting { project, task, marker, begun }
    }

    /// A `run` that has come to the check.
    fn host(&self) -> Beside {
        let before = self.starts();
        let host = Beside::start(&self.project, &["run", &self.task]);
        until("the check runs", || self.starts() > before);
        host
    }

    fn starts(&self) -> usize {
        std::fs::read_to_string(&self.begun).unwrap_or_default().lines().count()
    }

    fn go_on(&self) {
        std::fs::write(&self.marker, "").unwrap();
    }
}

#[test]
fn a_second_process_sees_and_does_everything_through_the_first() {
    let waiting = Waiting::new();
    let (project, task) = (&waiting.project, waiting.task.as_str());
    let host = waiting.host();
    project.run(&["status", task]).exits(0).says(&["running", "sh wait.sh"]);
    let second = Beside::start(project, &["run", task]);
    project.run(&["accept", task, "--all"]).exits(0);
    assert_eq!(project.read("src/lib.rs"), LIB.replace("total", "sum_of"));
    let review = project.run(&["review", task, "--json"]).exits(0).json();
    assert_eq!(review["hunks"][0]["state"], "accepted", "the host has not seen the write: {review}");
    waiting.go_on();
    host.end().exits(0).says(&["verified"]);
    second.end().exits(0).says(&["verified"]);
    assert_eq!(waiting.starts(), 1, "the check ran in one process only");
}

#[test]
fn a_stopped_host_is_named_and_ended_on_the_users_word() {
    let waiting = Waiting::new();
    let (project, task) = (&waiting.project, waiting.task.as_str());
    let host = waiting.host();
    host.signal(Signal::STOP);
    let pid = host.pid().to_string();
    for arguments in [["tasks"].as_slice(), &["accept", task, "--all"], &["run", task]] {
        project.run(arguments).exits(1).says(&[&pid, "is stopped", "planwright doctor --end-host"]);
    }
    let said = project.run(&["status", task, "--json"]).exits(1).json();
    assert_eq!(said["error"]["kind"], "held", "{said}");
    project.run(&["doctor"]).exits(1).says(&[&pid, "is stopped"]);
    assert_eq!(project.read("src/lib.rs"), LIB, "nothing was written meanwhile");
    project.run(&["doctor", "--end-host"]).exits(0).says(&["ended", &pid]);
    assert_eq!(host.end().code, None, "a signal ended it");
    project.run(&["tasks"]).exits(0).says(&[task]);
    waiting.go_on();
    project.run(&["resume", task]).exits(3);
    project.run(&["accept", task, "--all"]).exits(0).says(&["verified"]);
    project.run(&["doctor", "--end-host"]).exits(0).says(&["no process holds this workspace"]);
}

#[test]
fn whoever_waits_takes_over_from_a_host_that_is_killed() {
    let waiting = Waiting::new();
    let (project, task) = (&waiting.project, waiting.task.as_str());
    let host = waiting.host();
    let second = Beside::start(project, &["run", task]);
    until("the host has answered the second", || second.said_so_far().contains("it goes on"));
    host.signal(Signal::KILL);
    assert_eq!(host.end().code, None);
    until("the check runs again", || waiting.starts() == 2);
    waiting.go_on();
    let said = second.end().exits(3).says(&["taking over", "wait: done (verified)"]);
    assert!(said.err.contains("the process that ran this task is gone"), "{said:?}");
    project.run(&["accept", task, "--all"]).exits(0).says(&["verified"]);
    assert_eq!(project.read("src/lib.rs"), LIB.replace("total", "sum_of"));
}

#[test]
fn a_newer_database_is_read_and_not_written() {
    let project = Project::new(&[("src/lib.rs", LIB)]);
    let task = project.approved("Rename total", &PLAN.replace("\n### wait: Wait\n\n- check: `sh wait.sh`\n", ""));
    let database = project.database();
    rusqlite::Connection::open(&database).unwrap().pragma_update(None, "user_version", 9_999).unwrap();
    let before = std::fs::read(&database).unwrap();
    project.run(&["tasks"]).exits(0).says(&[&task]);
    project.run(&["doctor"]).exits(0).says(&["newer planwright", "9999"]);
    for arguments in [["run", &task].as_slice(), &["abandon", &task], &["plan", "another goal"]] {
        // A limit, so that a command that waits for ever fails here and not at somebody else's patience.
        Beside::start(&project, arguments).end().exits(1).says(&["newer", "planwright"]);
    }
    assert!(std::fs::read(&database).unwrap() == before, "a newer database was written to");
    assert_eq!(project.read("src/lib.rs"), LIB);
}

#[test]
fn a_corrupt_database_is_kept_and_work_goes_on() {
    let project = Project::new(&[("src/lib.rs", LIB)]);
    project.approved("Rename total", &PLAN.replace("\n### wait: Wait\n\n- check: `sh wait.sh`\n", ""));
    let database = project.database();
    let mut bytes = std::fs::read(&database).unwrap();
    let half = bytes.len() / 2;
    bytes[..half].fill(0xa5);
    std::fs::write(&database, &bytes).unwrap();
    for log in ["journal.db-wal", "journal.db-shm"] {
        drop(std::fs::remove_file(database.with_file_name(log)));
    }
    let said = project.run(&["tasks"]).exits(0);
    assert!(said.err.contains("was damaged"), "an empty list without a word looks like a loss: {said:?}");
    let kept = std::fs::read_dir(database.parent().unwrap())
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .find(|name| name.starts_with("journal.db.damaged-"))
        .expect("the damaged database is kept");
    assert!(std::fs::read(database.with_file_name(&kept)).unwrap() == bytes, "byte for byte");
    assert!(said.err.contains(&kept), "{said:?}");
    project.run(&["doctor"]).exits(0).says(&["a damaged database is kept", &kept]);
    let task = project.approved("Rename total", &PLAN.replace("\n### wait: Wait\n\n- check: `sh wait.sh`\n", ""));
    project.run(&["run", &task]).exits(3);
    project.run(&["accept", &task, "--all"]).exits(0);
}
