//! The whole job on a sample project, for somebody who has just built the program.
//!
//! Invariant: what the person sees is the program itself: each public command is printed and then run as it was
//! printed, by this same binary, and the tour succeeds only if each did what was said of it. Nothing of the person's own
//! is read or written; the tour's temporary folder is left behind. Absent: a model, a network, configuration; and
//! any way into the engine but its commands.

mod child;
mod guide;
mod key;
mod sample;
mod stages;

use super::render::{Paper, Tone};
use super::{Exit, Parsed, Terminal};
use child::Ground;
use guide::{Guide, Left};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Goes through the whole job, or only writes the sample project.
pub async fn run(parsed: &Parsed, io: &mut Terminal) -> Exit {
    if let Some(folder) = parsed.value("unpack") {
        return unpack(Path::new(folder), io, parsed.json);
    }
    if let Err(why) = child::version_of("cargo").await {
        let message = format!("the sample's check is a `cargo test`, and cargo cannot be run here ({why})");
        return super::run::say_error(
            io,
            "missing",
            &message,
            "install Rust (https://rustup.rs)",
            parsed.json,
            Exit::Failed,
        );
    }
    let ground = match prepare() {
        Ok(ground) => ground,
        Err(why) => {
            let message = format!("the temporary folder cannot be made: {why}");
            return super::run::say_error(
                io,
                "broken",
                &message,
                "TMPDIR=… planwright tour",
                parsed.json,
                Exit::Failed,
            );
        }
    };
    let mut guide = Guide::new(io, ground, parsed.json);
    let outcome = stages::walk(&mut guide).await;
    guide.leave(&outcome);
    match outcome {
        Ok(()) => Exit::Done,
        Err(Left::Interrupted) => Exit::Interrupted,
        Err(Left::Unmet(_)) => Exit::Failed,
    }
}

fn unpack(folder: &Path, io: &mut Terminal, as_json: bool) -> Exit {
    if let Err(error) = sample::lay_out(folder) {
        let message = format!("{} cannot be written: {error}", folder.display());
        let next = "planwright tour --unpack DIR, with a folder that does not exist yet";
        return super::run::say_error(io, "usage", &message, next, as_json, Exit::Usage);
    }
    if as_json {
        io.json(&json!({ "folder": folder, "plan": sample::PLAN }));
        return Exit::Done;
    }
    let plan = shell_words::join(["planwright", "plan", sample::GOAL, "--document", sample::PLAN]);
    let mut paper = Paper::new();
    paper.put(Tone::Plain, &format!("the sample project is in {}", folder.display())).end();
    paper.next(&format!("cd {} && {plan}", shell_words::quote(&folder.to_string_lossy())), "begins the job");
    io.print(paper.text());
    Exit::Done
}

/// The temporary folder: the project, an empty configuration, and room for state and cache. It outlives the tour.
fn prepare() -> std::io::Result<Ground> {
    let base: PathBuf = tempfile::Builder::new().prefix("planwright-tour-").tempdir()?.keep();
    let ground = Ground::at(base.canonicalize()?);
    sample::lay_out(&ground.project)?;
    std::fs::write(ground.base.join("config.toml"), "# The tour needs none.\n")?;
    Ok(ground)
}
