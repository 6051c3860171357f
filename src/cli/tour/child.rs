//! The program as the tour runs it: this same binary, as a child, in the sample's folder.
//!
//! Invariant: a child sees the tour's own state, cache and configuration, and no model of the machine's. None outlives
//! its deadline. Absent: what is expected of a child; the tour knows.

use crate::cli::Terminal;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

/// The slowest child compiles two small files, perhaps on a machine that is busy with much else.
const PATIENCE: Duration = Duration::from_secs(300);

/// By these a model would be found without a configuration.
const MODELS: [&str; 4] = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"];

/// Where the tour's own things are: all below one temporary folder.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    /// The folder that is left behind.
    pub(super) base: PathBuf,
    /// The project in it.
    pub(super) project: PathBuf,
}

impl Ground {
    pub(super) fn at(base: PathBuf) -> Self {
        let project = base.join("till");
        Self { base, project }
    }

    /// The variables that keep it apart from the person's own planwright.
    pub(super) fn variables(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("PLANWRIGHT_STATE_DIR", self.base.join("state")),
            ("PLANWRIGHT_CACHE_DIR", self.base.join("cache")),
            ("PLANWRIGHT_CONFIG", self.base.join("config.toml")),
        ]
    }

    fn command(&self, program: &Path, words: &[String]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(&self.project).stdin(Stdio::null()).kill_on_drop(true);
        for name in MODELS {
            command.env_remove(name);
        }
        command.envs(self.variables());
        command
    }
}

/// Runs it to its end and gives its exit code. It writes to the tour's own streams, so that colours are as the person's
/// terminal wants them.
///
/// # Errors
/// It could not be started, took too long, or a signal ended it.
pub(super) async fn to_its_end(ground: &Ground, words: &[String], quiet: bool) -> Result<i32, String> {
    let mut command = ground.command(&own()?, words);
    if quiet {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let status = tokio::time::timeout(PATIENCE, command.status())
        .await
        .map_err(|_| format!("it did not end within {} s", PATIENCE.as_secs()))?
        .map_err(|error| error.to_string())?;
    code(status)
}

/// How a child ended that was to be killed.
pub(super) enum Fate {
    /// It was, and this was its process id.
    Killed(u32),
    /// It ended by itself before, with this exit code if no signal ended it.
    Ended(Option<i32>),
}

/// Runs it until it says a line that holds `sign`, and ends it then with a signal that it cannot catch: SIGKILL.
///
/// # Errors
/// It could not be started, or took too long.
pub(super) async fn until_killed(
    ground: &Ground,
    words: &[String],
    sign: &str,
    io: &mut Terminal,
    quiet: bool,
) -> Result<Fate, String> {
    let mut command = ground.command(&own()?, words);
    // What it says goes through our own stream, which strips colours where nobody wants them.
    command.stderr(Stdio::piped()).env("CLICOLOR_FORCE", "1");
    if quiet {
        command.stdout(Stdio::null());
    }
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let pid = child.id().unwrap_or_default();
    let said = child.stderr.take().ok_or("its progress cannot be read")?;
    let seen = async {
        let mut lines = BufReader::new(said).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if !quiet {
                io.remark(&format!("{line}\n"));
            }
            if line.contains(sign) {
                return true;
            }
        }
        false
    };
    let seen = tokio::time::timeout(PATIENCE, seen).await;
    match seen {
        Ok(true) => {}
        Ok(false) => {
            let status = child.wait().await.map_err(|error| error.to_string())?;
            return Ok(Fate::Ended(status.code()));
        }
        Err(_) => return Err(format!("its check did not begin within {} s", PATIENCE.as_secs())),
    }
    child.kill().await.map_err(|error| error.to_string())?;
    Ok(Fate::Killed(pid))
}

/// Asks it for something as JSON.
///
/// # Errors
/// It did not answer, or not with JSON.
pub(super) async fn asked(ground: &Ground, word: &str) -> Result<serde_json::Value, String> {
    let words = [word.to_owned(), "--json".to_owned()];
    let output = tokio::time::timeout(PATIENCE, ground.command(&own()?, &words).output())
        .await
        .map_err(|_| format!("`{word}` did not answer"))?
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("`{word} --json` gave no JSON: {error}"))
}

/// What the machine has, as it names itself.
///
/// # Errors
/// It is not there.
pub(super) async fn version_of(program: &str) -> Result<String, String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output())
        .await
        .map_err(|_| "it does not answer".to_owned())?
        .map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!("`{program} --version` ended with {}", output.status)),
    }
}

fn own() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("this program cannot find itself: {error}"))
}

fn code(status: ExitStatus) -> Result<i32, String> {
    status.code().ok_or_else(|| format!("it was ended: {status}"))
}
