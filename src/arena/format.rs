//! The project's formatter: text in, text out.
//!
//! Invariant: it sees nothing but the text and its own settings (a folder with nothing else in it, a scrubbed
//! environment), and whatever goes wrong leaves the text as it is. Absent: a gate; the person configured the program,
//! and only its changes inside the changed items are kept.

use super::Limits;
use super::environment::scrubbed;
use super::run::{Streams, end, spawn};
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::Command;
use std::path::Path;
use std::process::Stdio;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Formatters whose settings are plain values, and the files these stand in. A settings file that can name code to load
/// (prettier's, say) has no place here: nobody approved that code.
const SETTINGS: [(&str, &[&str]); 1] = [("rustfmt", &["rustfmt.toml", ".rustfmt.toml"])];

/// A settings file is a few lines; anything larger is something else.
const SETTINGS_LIMIT: u64 = 64 * 1024;

/// The nearest settings of the formatter, from the file's folder up to the root: without them it would have another
/// opinion than the project's.
pub(super) fn settings(root: &Path, path: &WorkspacePath, argv: &[String]) -> Option<Settings> {
    let program = Path::new(argv.first()?).file_name()?;
    let (_, names) = SETTINGS.iter().find(|(known, _)| program == *known)?;
    let full = root.join(path.as_str());
    let folders = full.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    let at = folders.flat_map(|folder| names.iter().map(move |name| (*name, folder.join(name))));
    at.filter_map(|(name, at)| {
        // A link could lead anywhere.
        let meta = at.symlink_metadata().ok()?;
        if !meta.is_file() || meta.len() > SETTINGS_LIMIT {
            return None;
        }
        Some(Settings { name, bytes: std::fs::read(&at).ok()? })
    })
    .next()
}

/// A settings file as it lies beside the text.
pub(super) struct Settings {
    name: &'static str,
    bytes: Vec<u8>,
}

/// `None` = the program is missing, failed, took too long, or answered with no text. It runs in a folder below `aside`,
/// which no other user may write above: programs look for their settings in all folders that hold theirs (rustup takes
/// the very program to run from a `rust-toolchain.toml` there), and in the system's temporary folder anybody can put one.
pub(super) async fn format(
    argv: &[String],
    settings: Option<Settings>,
    aside: &Path,
    text: &str,
    limits: Limits,
) -> Option<String> {
    let folder = tempfile::Builder::new().prefix("format-").tempdir_in(aside).ok()?;
    if let Some(Settings { name, bytes }) = settings {
        std::fs::write(folder.path().join(name), bytes).ok()?;
    }
    let command = Command { argv: argv.to_vec(), dir: None, env: Vec::new() };
    let env = scrubbed(std::env::vars_os(), folder.path(), folder.path());
    let streams = Streams { stdin: Stdio::piped(), stdout: Stdio::piped(), stderr: Stdio::null() };
    let (mut child, tree) = spawn(&command, Path::new(folder.path()), env, streams).ok()?;
    let (mut stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
    // A formatter that doubles a text is none.
    let most = limits.output.max(u64::try_from(text.len()).ok()?.saturating_mul(2));
    let mut answer = Vec::new();
    let mut reader = stdout.take(most.saturating_add(1));
    let work = async {
        // Both at once: it may answer before it has read everything.
        let write = async move {
            let _ = stdin.write_all(text.as_bytes()).await;
        };
        let (_, read) = tokio::join!(write, reader.read_to_end(&mut answer));
        read.ok()?;
        child.wait().await.ok()
    };
    let status = tokio::time::timeout(limits.format, work).await.ok().flatten();
    end(&mut child, tree).await;
    let fits = u64::try_from(answer.len()).is_ok_and(|size| size <= most);
    let answer = String::from_utf8(answer).ok().filter(|answer| fits && (!answer.is_empty() || text.is_empty()))?;
    status.filter(std::process::ExitStatus::success).map(|_| answer)
}
