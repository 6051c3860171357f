//! A workspace in a temporary folder with state and cache of its own, and the real binary to run in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A project with its own state.
pub struct Project {
    _keep: TempDir,
    /// The root.
    pub root: PathBuf,
    /// `PLANWRIGHT_STATE_DIR`.
    pub state: PathBuf,
    /// `PLANWRIGHT_CACHE_DIR`.
    pub cache: PathBuf,
    /// Further variables for every command.
    pub env: Vec<(String, String)>,
}

/// What a command said.
#[derive(Debug)]
pub struct Said {
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// The exit code; absent when a signal ended it.
    pub code: Option<i32>,
}

impl Said {
    /// Of a process that has ended.
    pub fn of(output: &Output) -> Said {
        Said {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
        }
    }

    /// Checks that each of these stands in the output or beside it.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.out.contains(part) || self.err.contains(part), "it does not say `{part}`: {self:?}");
        }
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// Checks the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }
}

impl Project {
    /// A git repository with these files, all of them committed.
    pub fn new(files: &[(&str, &str)]) -> Project {
        let project = Project::without_git(files);
        project.git(&["init", "-q", "-b", "main"]);
        project.git(&["add", "-A"]);
        project.git(&[
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "base",
        ]);
        project
    }

    /// The same in no repository.
    pub fn without_git(files: &[(&str, &str)]) -> Project {
        let keep = tempfile::tempdir().unwrap();
        let base = keep.path().canonicalize().unwrap();
        let (root, state, cache) = (base.join("work"), base.join("state"), base.join("cache"));
        std::fs::create_dir_all(&root).unwrap();
        // Beside the state and not in it: a test may take the state's rights away.
        std::fs::write(base.join("config.toml"), "").unwrap();
        let project = Project { _keep: keep, root, state, cache, env: Vec::new() };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    /// A clone of a repository of this machine.
    pub fn cloned(repository: &Path) -> Project {
        let project = Project::without_git(&[]);
        let from = repository.canonicalize().unwrap();
        project.git(&["clone", "-q", from.to_str().unwrap(), "."]);
        project
    }

    /// Writes a file of the workspace.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Reads one.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// Runs git in the workspace.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git").args(arguments).current_dir(&self.root).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The binary, ready to be run in the workspace: its own state, nothing of the machine's models.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_planwright"));
        command.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        for name in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "ANTHROPIC_API_KEY"] {
            command.env_remove(name);
        }
        command.env("PLANWRIGHT_STATE_DIR", &self.state).env("PLANWRIGHT_CACHE_DIR", &self.cache);
        command.env("PLANWRIGHT_CONFIG", self.root.with_file_name("config.toml"));
        // Most games here are about what a person decides at a command's gate. Those about isolation switch it on.
        command.env("PLANWRIGHT_ISOLATION", "off");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Said {
        Said::of(&self.command(arguments).output().unwrap())
    }

    /// Opens a task with this plan document and approves it; gives its id.
    #[track_caller]
    pub fn approved(&self, goal: &str, plan: &str) -> String {
        let file = self.state.join("given.plan.md");
        std::fs::create_dir_all(&self.state).unwrap();
        std::fs::write(&file, plan).unwrap();
        self.run(&["plan", goal, "--document", file.to_str().unwrap()]).exits(0);
        let task = self.only_task();
        self.run(&["approve", &task, "--yes"]).exits(0);
        task
    }

    /// The id of the only task.
    #[track_caller]
    pub fn only_task(&self) -> String {
        let tasks = self.run(&["tasks", "--json"]).json();
        let text = tasks.to_string();
        tasks["tasks"][0]["task"]
            .as_str()
            .or_else(|| tasks["tasks"][0]["id"].as_str())
            .unwrap_or_else(|| panic!("{text}"))
            .to_owned()
    }

    /// Where the workspace's own database is.
    pub fn database(&self) -> PathBuf {
        let folder = std::fs::read_dir(&self.state)
            .unwrap()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.is_dir())
            .unwrap();
        folder.join("journal.db")
    }

    /// A path below the root.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }
}
