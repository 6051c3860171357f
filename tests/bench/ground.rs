//! A workspace with a state of its own, and the real binary in it.

use planwright::testing::scripted_model::MODEL;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Long before it, a machine that is only slow has come to the end.
const DEADLINE: Duration = Duration::from_secs(60);

pub struct Ground {
    pub root: PathBuf,
    base: PathBuf,
    url: String,
    _keep: tempfile::TempDir,
}

impl Ground {
    /// A root that `fill` writes, this configuration, and the model's server.
    pub fn new(config: &str, url: &str, fill: impl FnOnce(&Path)) -> Ground {
        let keep = tempfile::tempdir().unwrap();
        let base = keep.path().canonicalize().unwrap();
        let root = base.join("work");
        fill(&root);
        std::fs::write(base.join("config.toml"), config).unwrap();
        let git = Command::new("git").args(["init", "-q"]).current_dir(&root).status().unwrap();
        assert!(git.success());
        Ground { root, base, url: url.to_owned(), _keep: keep }
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_planwright"));
        command.args(words).current_dir(&self.root);
        command.env("PLANWRIGHT_STATE_DIR", self.state()).env("PLANWRIGHT_CACHE_DIR", self.base.join("cache"));
        command.env("PLANWRIGHT_CONFIG", self.base.join("config.toml"));
        command.env("OPENAI_BASE_URL", &self.url).env("OPENAI_MODEL", MODEL);
        command.env_remove("OPENAI_API_KEY").env_remove("ANTHROPIC_API_KEY");
        command
    }

    pub fn state(&self) -> PathBuf {
        self.base.join("state")
    }

    /// Runs the binary to its end, which is to be one of these codes.
    pub fn run(&self, words: &[&str], codes: &[i32]) -> String {
        let out = self.command(words).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        let code = out.status.code().unwrap_or(-1);
        assert!(codes.contains(&code), "{words:?} ends with {code}: {said}{}", String::from_utf8_lossy(&out.stderr));
        said
    }

    /// Makes a plan's text a task.
    pub fn task(&self, document: &str) -> String {
        let at = self.base.join("document.md");
        std::fs::write(&at, document).unwrap();
        let said = self.run(&["plan", "Do it", "--document", at.to_str().unwrap(), "--json"], &[0, 3]);
        let said: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
        said["task"].as_str().unwrap_or_else(|| panic!("no task: {said}")).to_owned()
    }

    /// The plan document of a task, from the root.
    pub fn document(&self, task: &str) -> String {
        let folder = format!(".planwright/tasks/{task}");
        let names = std::fs::read_dir(self.root.join(&folder)).unwrap();
        let mut names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        let name = names.find(|name| name.ends_with(".plan.md")).expect("a plan document");
        format!("{folder}/{name}")
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }
}

/// Waits.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
