//! What becomes of a decision in an editor that says one thing and does another, and of one that the world overtakes.

use super::*;
use planwright::testing::editor::{Edits, Tells};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Five numbers, far enough apart for a hunk each.
const TEXT: &str = "//! Numbers.

pub fn one() -> u32 {
    1
}

pub fn two() -> u32 {
    2
}

pub fn three() -> u32 {
    3
}

pub fn four() -> u32 {
    4
}

pub fn five() -> u32 {
    5
}
";

const PAIRS: &[(&str, &str)] = &[
    ("    1\n", "    111\n"),
    ("    2\n", "    222\n"),
    ("    3\n", "    333\n"),
    ("    4\n", "    444\n"),
    ("    5\n", "    555\n"),
];

/// A misapplied edit is noticed in this time; and a loaded machine gets as much again.
const NOTICED: Duration = Duration::from_secs(4);

/// What is done, beside accepting the first hunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deed {
    /// Nothing.
    Nothing,
    /// The person types once the edit is in the text.
    Types,
    /// The document is closed while the edit is on its way.
    Closes,
    /// Another program writes the file before, at another place.
    Overwritten,
    /// Another program writes the file before, at the hunk, and the editor does not look.
    Rewritten,
    /// A formatter changes other lines while the file is saved.
    Formats,
    /// Saved at once.
    Saves,
    /// Another branch is checked out, and then this one again, with the file closed.
    Branches,
    /// All five are accepted, and the document is closed without being saved.
    AllAndClosed,
}
use Deed::*;

/// A quirk: its name, what the editor does with edits, when it tells of them, what happens meanwhile; where the first hunk
/// ends, and what the server says (nothing, or a part of it).
type Quirk = (&'static str, Edits, Option<Tells>, Deed, &'static str, &'static str);

const LATE: Edits = Edits::Late(Duration::from_millis(2600));

const QUIRKS: &[Quirk] = &[
    ("applied", Edits::Made, None, Nothing, "accepted", ""),
    ("said to be applied", Edits::Pretended, None, Nothing, "open", "the editor's text of"),
    ("refused", Edits::Refused, None, Nothing, "open", "did not apply"),
    ("no answer", Edits::Ignored, None, Nothing, "open", "the editor's text of"),
    ("applied, and said not to be", Edits::Denied, None, Nothing, "accepted", ""),
    ("answered late", LATE, None, Nothing, "accepted", ""),
    ("told before the answer", Edits::Made, Some(Tells::Before), Nothing, "accepted", ""),
    ("told after the answer", Edits::Made, Some(Tells::After), Nothing, "accepted", ""),
    ("told with what was typed", Edits::Made, Some(Tells::WithTheNext), Types, "accepted", ""),
    ("closed in between", Edits::Ignored, None, Closes, "open", "is no longer"),
    ("changed on disk elsewhere", Edits::Made, None, Overwritten, "open", ""),
    ("changed on disk at the hunk", Edits::Made, None, Rewritten, "touched", ""),
    ("saved at once", Edits::Made, None, Saves, "saved", ""),
    ("formatted at the save", Edits::Made, None, Formats, "saved", "the editor changed"),
    ("branches", Edits::Made, None, Branches, "open", ""),
    ("five accepted, closed unsaved", Edits::Made, None, AllAndClosed, "open", ""),
    ("misapplied", Edits::Misplaced, None, Nothing, "open", "the editor changed"),
];

fn file_of(row: usize) -> String {
    format!("src/f{row:02}.rs")
}

/// What the text holds of a hunk's two sides.
fn sides(text: &str) -> (usize, usize) {
    (text.matches("    1\n").count(), text.matches("    111\n").count())
}

/// Runs one row, and says what it came to.
async fn row(work: &Modelled, row: usize, quirk: Quirk, editor: Profile) -> String {
    let (_, edits, tells, deed, ends, says) = quirk;
    let path = file_of(row);
    let seat = Seat::take(Profile { edits, tells: tells.unwrap_or(editor.tells), ..editor }, work).await;
    seat.edit(work, &path);
    let hunks = seat.until("five hunks", || Some(seat.hunks(&path)).filter(|found| found.len() == 5)).await;
    let ids: Vec<&str> = hunks.iter().map(|(id, _)| id.as_str()).collect();
    let first = ids[0];
    let state = || {
        let found = seat.hunks(&path).into_iter().find(|(id, _)| id == first);
        found.map_or("saved".to_owned(), |(_, state)| state.replace("accepted, not saved", "accepted"))
    };
    let accept = |hunk: &str| {
        seat.begin(
            "workspace/executeCommand",
            json!({
                "command": "planwright.accept", "arguments": [{ "hunk": hunk }],
            }),
        )
    };
    let edited = || seat.expect("workspace/applyEdit");
    let accepted = TEXT.replace("    1\n", "    111\n");
    let begun = Instant::now();
    match deed {
        Nothing => {
            accept(first).answer().await.unwrap();
            edited().await;
        }
        Types => {
            accept(first).answer().await.unwrap();
            edited().await;
            seat.until("it is in the text", || (seat.text(&path)? == accepted).then_some(())).await;
            seat.replace(&path, 0..0, "// typed\n");
        }
        Closes => {
            accept(first).answer().await.unwrap();
            edited().await;
            seat.close(&path);
        }
        Overwritten => work.write(&path, TEXT.replace("Numbers", "More numbers")),
        Rewritten => {
            seat.close(&path);
            work.write(&path, TEXT.replace("    1\n", "    7\n"));
        }
        Saves | Formats => {
            accept(first).answer().await.unwrap();
            edited().await;
            seat.until("it is in the text", || (seat.text(&path)? == accepted).then_some(())).await;
            if deed == Formats {
                let at = seat.text(&path).unwrap().find("pub fn five").unwrap();
                seat.replace(&path, at..at, "\n\n");
            }
            seat.write(work, &path);
        }
        Branches => {
            seat.close(&path);
            work.git(&["checkout", "-q", "other"]);
            let checked_out = Instant::now();
            seat.until("it is touched", || (state() == "touched").then_some(())).await;
            assert!(checked_out.elapsed() < NOTICED, "shown after {:?}", checked_out.elapsed());
            // What is decided there is compared with what stands there.
            accept(first).answer().await.unwrap();
            let refused = seat.expect("window/showMessage").await;
            assert!(refused["message"].as_str().unwrap().contains("no longer fits"), "{refused}");
            work.git(&["checkout", "-q", "main"]);
        }
        AllAndClosed => {
            for id in &ids {
                accept(id).answer().await.unwrap();
                edited().await;
            }
            let all = PAIRS.iter().fold(TEXT.to_owned(), |text, (old, new)| text.replace(old, new));
            seat.until("they are in the text", || (seat.text(&path)? == all).then_some(())).await;
            seat.until("all are accepted", || {
                let found = seat.hunks(&path);
                (found.len() == 5 && found.iter().all(|(_, state)| state == "accepted, not saved")).then_some(())
            })
            .await;
            seat.close(&path);
            seat.until("all are open", || {
                let found = seat.hunks(&path);
                (found.len() == 5 && found.iter().all(|(_, state)| state == "open")).then_some(())
            })
            .await;
        }
    }
    let mut said = String::new();
    if !says.is_empty() {
        // There is room for its beginning; the log has all of it.
        let shown = seat.expect("window/showMessage").await;
        said = shown["message"].as_str().unwrap().replace(&path, "FILE");
        assert!(said.contains(says), "{said}");
    }
    if edits == Edits::Misplaced {
        assert!(begun.elapsed() < NOTICED, "noticed after {:?}", begun.elapsed());
    }
    seat.until(ends, || (state() == ends).then_some(())).await;
    let text = seat.text(&path).unwrap_or_else(|| work.read(&path));
    let (old, new) = sides(&text);
    // Of a misapplied edit the editor's undo takes back what stands in the wrong place.
    let sum = if edits == Edits::Misplaced { 2 } else { usize::from(ends != "touched") };
    let whole = old + new == sum;
    assert!(whole, "{old} old and {new} new sides in\n{text}");
    assert_eq!(new == 1, ends == "accepted" || ends == "saved" || edits == Edits::Misplaced, "{text}");
    let status = said.split("; next").next().unwrap_or_default();
    format!("{ends}{}{status}", if status.is_empty() { "" } else { "; " })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_decision_is_lost_or_made_twice_whatever_the_editor_says() {
    let paths: Vec<(String, String)> = (0..QUIRKS.len()).map(|row| (format!("s{row:02}"), file_of(row))).collect();
    let sources: Vec<(&str, &str)> = paths.iter().map(|(_, path)| (path.as_str(), TEXT)).collect();
    let steps: Vec<Step<'_>> = paths.iter().map(|(step, path)| (step.as_str(), path.as_str(), PAIRS)).collect();
    let (work, _) = proposed(&sources, &steps);
    work.git(&["checkout", "-q", "-b", "other"]);
    let row_of = QUIRKS.iter().position(|(_, _, _, deed, ..)| *deed == Branches).unwrap();
    work.write(&file_of(row_of), TEXT.replace("    1\n", "    8\n"));
    work.git(&["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-am", "other"]);
    work.git(&["checkout", "-q", "main"]);
    let mut told = String::new();
    for (index, quirk) in QUIRKS.iter().enumerate() {
        let editor = if index % 2 == 0 { Profile::neovim_0_11() } else { Profile::vscode_1_139() };
        let outcome = tokio::time::timeout(Duration::from_secs(45), row(&work, index, *quirk, editor)).await;
        writeln!(told, "{}: {}", quirk.0, outcome.unwrap_or_else(|_| panic!("{} never ends", quirk.0))).unwrap();
    }
    insta::assert_snapshot!(told, @r"
    applied: accepted
    said to be applied: open; planwright: the editor's text of FILE does not show th…
    refused: open; planwright: the editor did not apply the edit to FILE:…
    no answer: open; planwright: the editor's text of FILE does not show th…
    applied, and said not to be: accepted
    answered late: accepted
    told before the answer: accepted
    told after the answer: accepted
    told with what was typed: accepted
    closed in between: open; planwright: FILE is no longer open in the editor; deci…
    changed on disk elsewhere: open
    changed on disk at the hunk: touched
    saved at once: saved
    formatted at the save: saved; planwright: the editor changed FILE in another way tha…
    branches: open
    five accepted, closed unsaved: open
    misapplied: open; planwright: the editor changed FILE in another way tha…
    ");
}
