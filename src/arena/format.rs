//! The project's formatter: text in, text out.
//!
//! Invariant: it sees nothing but the text (an empty folder, a scrubbed environment), and whatever goes wrong leaves
//! the text as it is. Absent: a gate; the person configured the program, and only its changes inside the changed
//! items are kept.

use super::Limits;
use super::environment::scrubbed;
use super::run::{Streams, end, spawn};
use crate::domain::plan::Command;
use std::path::Path;
use std::process::Stdio;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// `None` = the program is missing, failed, took too long, or answered with no text.
pub(super) async fn format(argv: &[String], text: &str, limits: Limits) -> Option<String> {
    let folder = tempfile::tempdir().ok()?;
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
