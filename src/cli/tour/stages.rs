//! The tour's order: what is done, and what must have come of it.
//!
//! Invariant: no task is named, because there is one; hunks are named by ids that depend on their content alone, so
//! that the same commands do the same in another copy of the sample. Absent: how anything is shown or run.

use super::guide::{Guide, Left};
use super::sample;
use crate::domain::ids::RevisionRef;
use serde_json::Value;

/// From the goal to the timeline.
///
/// # Errors
/// Something came out otherwise than was said, or the person left.
pub(super) async fn walk(guide: &mut Guide<'_>) -> Result<(), Left> {
    let before = files(guide)?;
    guide.open();
    plan(guide).await?;
    let isolated = text(&guide.ask("doctor").await?, "/surroundings/rung") == "cage";
    if isolated {
        hold(guide).await?
    } else {
        run(guide).await?
    }
    expect(files(guide)? == before, "no file changes before a hunk is accepted")?;
    kill(guide).await?;
    go_on(guide, isolated).await?;
    expect(files(guide)? == before, "no file changes before a hunk is accepted")?;
    review(guide, &before).await?;
    timeline(guide).await
}

async fn plan(guide: &mut Guide<'_>) -> Result<(), Left> {
    guide
        .stage(
            "1  A goal becomes a plan",
            "A plan is a Markdown document that you read and edit. A model would write it; this one is given.\n\
             Below it stands what it means: what may be written, what is run, where you are asked.",
        )
        .await?;
    guide.run(&["plan", sample::GOAL, "--document", sample::PLAN], 0, "the plan stands").await?;
    let shown = guide.ask("show").await?;
    let document = text(&shown, "/path");
    expect(
        std::path::Path::new(&document).starts_with(&guide.ground.project),
        &format!(
            "the workspace is the sample, and its plan is not {document}; is the temporary folder in a git worktree?"
        ),
    )?;
    guide
        .stage(
            "2  You approve exactly what you read",
            "The revision's name ends in a digest of every byte that will count. Change the plan, and the approval\n\
             is void.",
        )
        .await?;
    let revision = shown.pointer("/revision").cloned().unwrap_or_default();
    let revision: RevisionRef =
        serde_json::from_value(revision).map_err(|error| Left::Unmet(format!("the plan has no revision: {error}")))?;
    guide.run(&["approve", "--revision", &revision.to_string()], 0, "this revision may run").await
}

async fn run(guide: &mut Guide<'_>) -> Result<(), Left> {
    guide
        .stage(
            "3  It runs, up to where you have a say",
            "Two steps, both by rule, in a copy: your files stay as they are. The first is checked by a search; the\n\
             second by a command, and no command starts without your word. The exit code says who is awaited.",
        )
        .await?;
    guide.run(&["run"], 3, "it waits for you").await?;
    let status = guide.ask("status").await?;
    expect(
        gate(&status) == "g1" && step(&status, sample::KEPT) == "done (verified)",
        "the second step waits at gate g1",
    )?;
    guide.run(&["gate", "g1", "allow"], 0, "allowed, this once").await
}

/// Where commands are isolated there is nothing to ask about one that only tests.
async fn hold(guide: &mut Guide<'_>) -> Result<(), Left> {
    guide
        .stage(
            "3  What runs is held",
            "Two steps, both by rule, in a view: your files stay as they are. The first is checked by a search; the\n\
             second by a command. It sees the change at the project's own path, and can write nothing else.",
        )
        .await?;
    guide.run(&["doctor"], 0, "commands are isolated").await
}

async fn kill(guide: &mut Guide<'_>) -> Result<(), Left> {
    guide
        .stage(
            "4  Something kills it",
            "One test of the sample waits for a file. While it waits, the tour sends SIGKILL: nothing can be saved,\n\
             tidied up or said good-bye to.",
        )
        .await?;
    guide.kill(&["run"], sample::WAITING).await
}

async fn go_on(guide: &mut Guide<'_>, isolated: bool) -> Result<(), Left> {
    let again = if isolated {
        "The check is,\nfrom the start: what it had begun is gone with it."
    } else {
        "The check is, but\nyou had allowed it once, so you are asked anew; this time the answer is for the whole plan."
    };
    let words = format!("Everything was in the journal before it was done. The first step is not done again. {again}");
    guide.stage("5  It goes on where it was", &words).await?;
    guide.touch(sample::MARKER)?;
    if !isolated {
        guide.run(&["resume"], 3, "it waits for you").await?;
        let status = guide.ask("status").await?;
        expect(gate(&status) == "g2" && attempts(&status, sample::KEPT) == 1, "only the killed check is to run again")?;
        guide.run(&["gate", "g2", "allow", "--for-plan"], 0, "allowed, as often as this plan needs it").await?;
    }
    guide.run(&["resume"], 3, "it waits for you").await?;
    let status = guide.ask("status").await?;
    expect(attempts(&status, sample::KEPT) == 1, "the first step was not done again")?;
    expect(text(&status, "/words") == "awaiting review", "the hunks are ready for review")?;
    expect(step(&status, sample::LEFT_OUT) == "done (verified)", "the second step's check passes")?;
    expect(accepted(&status), "the acceptance check passes with all hunks")
}

async fn review(guide: &mut Guide<'_>, before: &[(String, String)]) -> Result<(), Left> {
    guide
        .stage(
            "6  You keep what you like",
            "On a terminal of your own `review` asks hunk by hunk, as `git add -p` does. Here they are decided by\n\
             name: the rename is kept, the rewrite is not. The last decision has what you kept checked again.",
        )
        .await?;
    guide.run(&["review"], 0, "three hunks").await?;
    let hunks = guide.ask("review").await?;
    let (kept, left_out) = (hunks_of(&hunks, sample::KEPT), hunks_of(&hunks, sample::LEFT_OUT));
    let ([first, second], [third]) = (kept.as_slice(), left_out.as_slice()) else {
        return Err(Left::Unmet(format!("two hunks of the rename and one of the rewrite were expected: {hunks}")));
    };
    guide.run(&["accept", first, second], 0, "in your files now").await?;
    guide.run(&["reject", third, "--reason", sample::REASON], 0, "all is decided, and what was kept passes").await?;
    let status = guide.ask("status").await?;
    expect(text(&status, "/words") == "done (verified)" && accepted(&status), "what was kept passes the check")?;
    let wanted: Vec<(String, String)> = before
        .iter()
        .map(|(path, text)| match path.as_str() {
            "src/bill.rs" | "src/price.rs" => (path.clone(), text.replace("total", "sum_of")),
            _ => (path.clone(), text.clone()),
        })
        .collect();
    expect(files(guide)? == wanted, "exactly the two accepted hunks are in the files")
}

async fn timeline(guide: &mut Guide<'_>) -> Result<(), Left> {
    guide
        .stage(
            "7  What happened",
            "The journal, as rows: the kill and what was done about it, who allowed what, and what was kept.",
        )
        .await?;
    guide.run(&["timeline"], 0, "everything is on record").await?;
    let rows = guide.ask("timeline").await?;
    let recovered = rows.pointer("/rows").and_then(Value::as_array).is_some_and(|rows| {
        rows.iter().any(|row| row.pointer("/recovery").is_some_and(|recovery| !recovery.is_null()))
    });
    expect(recovered, "the timeline says how it recovered from the kill")
}

/// The sample's files as they stand.
fn files(guide: &Guide<'_>) -> Result<Vec<(String, String)>, Left> {
    sample::FILES.iter().map(|(path, _)| Ok(((*path).to_owned(), guide.read(path)?))).collect()
}

fn expect(holds: bool, what: &str) -> Result<(), Left> {
    if holds { Ok(()) } else { Err(Left::Unmet(format!("it was expected that {what}"))) }
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn items<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// The gate that is open, if it is the only one.
fn gate(status: &Value) -> String {
    let gates: Vec<String> = items(status, "/gates").map(|gate| text(gate, "/gate")).collect();
    if let [one] = gates.as_slice() { one.clone() } else { String::new() }
}

fn step(status: &Value, id: &str) -> String {
    items(status, "/steps").find(|step| text(step, "/step") == id).map(|step| text(step, "/words")).unwrap_or_default()
}

fn attempts(status: &Value, id: &str) -> u64 {
    let found = items(status, "/steps").find(|step| text(step, "/step") == id);
    found.and_then(|step| step.pointer("/attempts")).and_then(Value::as_u64).unwrap_or_default()
}

/// The acceptance check has passed.
fn accepted(status: &Value) -> bool {
    let of_all = items(status, "/checks").filter(|check| text(check, "/work") == "acceptance");
    let passed: Vec<bool> =
        of_all.map(|check| check.pointer("/passed").and_then(Value::as_bool).unwrap_or_default()).collect();
    !passed.is_empty() && passed.iter().all(|passed| *passed)
}

/// The ids of a step's hunks, in the order of the review.
fn hunks_of(review: &Value, step: &str) -> Vec<String> {
    items(review, "/hunks").filter(|hunk| text(hunk, "/step") == step).map(|hunk| text(hunk, "/id")).collect()
}
