//! What planwright may not do: a workspace, a state folder or a cache that this user cannot write, and no home.
//!
//! Root may write everything, so that under root the binary runs as nobody.

use crate::support::{Project, Said};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The user and group that own nothing.
const NOBODY: u32 = 65_534;

const PLAN: &str = "# Rename total\n\n## Contract\n\n- scope: `src/**`\n- accept: absent: `\\btotal\\b`, in `src`\n\n## Steps\n\n### rename: Rename total\n\n- transform: rename `total` to `sum_of`\n";
const LIB: &str = "pub fn total(x: u32) -> u32 {\n    x\n}\n";

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A project, and what a user without rights needs to work beside it.
struct Strange {
    project: Project,
    binary: PathBuf,
}

impl Strange {
    fn new() -> Strange {
        let project = Project::new(&[("src/lib.rs", LIB)]);
        let base = project.root.parent().unwrap().to_owned();
        mode(&base, 0o755);
        // The build folder may lie where nobody can go.
        let binary = base.join("planwright");
        copied(Path::new(env!("CARGO_BIN_EXE_planwright")), &binary);
        mode(&binary, 0o755);
        for folder in [&project.state, &project.cache] {
            std::fs::create_dir_all(folder).unwrap();
            give(folder);
        }
        std::fs::write(base.join("given.plan.md"), PLAN).unwrap();
        Strange { project, binary }
    }

    fn given(&self) -> String {
        self.project.root.with_file_name("given.plan.md").to_str().unwrap().to_owned()
    }

    /// The command, as a user without rights.
    fn command(&self, arguments: &[&str]) -> Command {
        let given = self.project.command(arguments);
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(&self.project.root).stdin(std::process::Stdio::null());
        for (name, value) in given.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if is_root() {
            command.uid(NOBODY).gid(NOBODY).env_remove("HOME");
        }
        command
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> Said {
        Said::of(&self.command(arguments).output().unwrap())
    }
}

/// By a process of its own: what is started here meanwhile would hold the copy open for writing, and then it is "busy".
fn copied(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn give(path: &Path) {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

#[test]
fn a_workspace_that_cannot_be_written_is_planned_and_reviewed_and_stays_as_it_is() {
    let strange = Strange::new();
    let project = &strange.project;
    for (path, bits) in [("src/lib.rs", 0o444), ("src", 0o555), (".", 0o555)] {
        mode(&project.path(path), bits);
    }
    let state = project.state.to_str().unwrap();
    strange
        .run(&["plan", "Rename total", "--document", &strange.given()])
        .exits(0)
        .says(&[state, "rename-total.plan.md"]);
    strange.run(&["approve", "--yes"]).exits(0);
    strange.run(&["run"]).exits(3);
    strange.run(&["show"]).exits(0).says(&[state]);
    let said = strange.run(&["accept", "--all"]);
    assert_ne!(said.code, Some(0), "{said:?}");
    said.says(&["src/lib.rs", "ermission denied"]);
    let review = strange.run(&["review", "--json"]).exits(0).json();
    assert_eq!(review["hunks"][0]["state"], "open", "{review}");
    assert_eq!(review["hunks"][0]["pending"], true, "{review}");
    assert_eq!(project.read("src/lib.rs"), LIB);
    assert!(!project.path(".planwright").exists());
    // The same hunk goes in once the rights are there.
    for (path, bits) in [(".", 0o755), ("src", 0o777), ("src/lib.rs", 0o666)] {
        mode(&project.path(path), bits);
    }
    give(&project.path("src/lib.rs"));
    give(&project.path("src"));
    strange.run(&["accept", "--all"]).exits(0).says(&["verified"]);
    assert_eq!(project.read("src/lib.rs"), LIB.replace("total", "sum_of"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let strange = Strange::new();
    let project = &strange.project;
    project.write("src/secret.rs", "pub fn s() -> u32 {\n    crate::total(1)\n}\n");
    mode(&project.path("src/secret.rs"), 0o000);
    strange.run(&["plan", "x", "--at", "src/secret.rs:1"]).exits(2).says(&["src/secret.rs", "ermission denied"]);
    strange.run(&["plan", "Rename total", "--document", &strange.given(), "--run"]).exits(3).says(&["src/secret.rs"]);
}

#[test]
fn without_a_home_a_private_folder_stands_in_and_doctor_says_so() {
    let strange = Strange::new();
    let temp = strange.project.root.with_file_name("tmp");
    std::fs::create_dir(&temp).unwrap();
    mode(&temp, 0o1777);
    let homeless = |arguments: &[&str], temp: &Path| {
        let mut command = strange.command(arguments);
        for name in ["PLANWRIGHT_STATE_DIR", "PLANWRIGHT_CACHE_DIR", "PLANWRIGHT_CONFIG"] {
            command.env_remove(name);
        }
        for name in ["XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"] {
            command.env_remove(name);
        }
        command.env("HOME", "/nonexistent").env("TMPDIR", temp);
        Said::of(&command.output().unwrap())
    };
    let said = homeless(&["doctor"], &temp).exits(0);
    let private = std::fs::read_dir(&temp).unwrap().next().expect("a private folder").unwrap();
    assert_eq!(private.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    said.says(&["there is no home directory", private.path().to_str().unwrap()]);
    homeless(&["plan", "Rename total", "--document", &strange.given()], &temp).exits(0);
    homeless(&["tasks"], &temp).exits(0).says(&["Rename total"]);
    // A folder of somebody else's under that name is not used.
    mode(&private.path(), 0o777);
    homeless(&["tasks"], &temp).exits(1).says(&["others can look into it", "PLANWRIGHT_STATE_DIR"]);
    assert_eq!(strange.project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_state_folder_or_cache_that_cannot_be_written_is_named_with_the_variable() {
    let strange = Strange::new();
    let shut = strange.project.root.with_file_name("shut");
    std::fs::create_dir(&shut).unwrap();
    mode(&shut, 0o555);
    for (variable, path) in [
        ("PLANWRIGHT_STATE_DIR", shut.join("state")),
        ("PLANWRIGHT_STATE_DIR", strange.given().into()),
        ("PLANWRIGHT_CACHE_DIR", shut.join("cache")),
    ] {
        let run = |arguments: &[&str]| {
            let mut command = strange.command(arguments);
            Said::of(&command.env(variable, &path).output().unwrap())
        };
        run(&["tasks"]).exits(1).says(&[path.to_str().unwrap(), variable]);
        let said = run(&["plan", "Rename total", "--json"]).exits(1).json();
        assert_eq!(said["error"]["kind"], "broken", "{said}");
    }
    let mut relative = strange.command(&["tasks"]);
    Said::of(&relative.env("PLANWRIGHT_STATE_DIR", "somewhere").output().unwrap()).exits(1).says(&[
        "PLANWRIGHT_STATE_DIR",
        "`somewhere`",
        "absolute",
    ]);
    assert_eq!(strange.project.git(&["status", "--porcelain"]), "");
    mode(&shut, 0o755);
}
