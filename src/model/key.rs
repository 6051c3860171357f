//! Where a model's key comes from.
//!
//! Invariant: a key is never printed, logged or stored; a key command is an argument vector, never a shell line, and
//! its standard error is not shown, since it may quote the key. Absent: keys in files of a repository.

use super::ModelSettings;
use super::redact::{Secret, shown_url};
use crate::domain::agent::dialogue::{ModelFault, ModelFaultKind};
use crate::ports::Clock;
use std::process::Stdio;
use std::time::Duration;

/// How long a key command may take. It may open a password manager, but nobody can see that it waits.
const PATIENCE: Duration = Duration::from_secs(10);
/// No key is longer; more is another program's output.
const LONGEST_KEY: usize = 16 << 10;

/// A model's key, or how to get it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Key {
    /// A local server wants none.
    None,
    /// As found in the environment.
    Value(Secret),
    /// The variable that should hold it is not set.
    Missing(String),
    /// Print it on standard output.
    Command(Vec<String>),
}

impl Key {
    /// The key itself; `None` when none is needed.
    ///
    /// # Errors
    /// `Credentials`, with what to do.
    pub async fn resolve(&self, settings: &ModelSettings, clock: &dyn Clock) -> Result<Option<Secret>, ModelFault> {
        match self {
            Key::None => Ok(None),
            Key::Value(secret) => Ok(Some(secret.clone())),
            Key::Missing(variable) => Err(fault(
                format!("the key for {} should be in ${variable}, which is not set", shown_url(&settings.base_url)),
                format!(
                    "set {variable} where the editor or the command is started, or name another key_env or a \
                     key_command in {} (`planwright doctor` says what is found)",
                    settings.whence.config
                ),
            )),
            Key::Command(argv) => {
                let program = argv.first().map_or("", String::as_str);
                let next = || "run the command by hand; it must print the key and nothing else".to_owned();
                let fail = |why: String| fault(format!("the key command `{program}` {why}"), next());
                tokio::select! {
                    output = run(argv) => output.map(Some).map_err(fail),
                    () = clock.sleep(PATIENCE) => Err(fail(format!("did not end within {} s", PATIENCE.as_secs()))),
                }
            }
        }
    }
}

async fn run(argv: &[String]) -> Result<Secret, String> {
    let (program, arguments) = argv.split_first().ok_or("is empty")?;
    let child = tokio::process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("could not be started ({})", error.kind()))?;
    let output = child.wait_with_output().await.map_err(|error| format!("failed ({})", error.kind()))?;
    if !output.status.success() {
        return Err(format!("failed ({})", output.status));
    }
    let key = Secret::new(std::str::from_utf8(&output.stdout).map_err(|_| "printed bytes that are no text")?);
    let plain =
        !key.reveal().is_empty() && key.reveal().len() <= LONGEST_KEY && !key.reveal().contains(char::is_whitespace);
    if plain { Ok(key) } else { Err("did not print one key on one line".to_owned()) }
}

fn fault(message: String, next: String) -> ModelFault {
    ModelFault { kind: ModelFaultKind::Credentials, message, next, tries: 0 }
}
