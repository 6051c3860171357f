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

/// A misapplied edit is noticed in this time.
const NOTICED: Duration = Duration::from_secs(2);

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
    ("said to be applied", Edits::Pretended, None, Nothing, "open", "the editor's text does not show"),
    ("refused", Edits::Refused, None, Nothing, "open", "did not apply"),
    ("no answer", Edits::Ignored, None, Nothing, "open", "has not answered an edit of FILE for"),
    ("applied, and said not to be", Edits::Denied, None, Nothing, "accepted", ""),
    ("answered late", LATE, None, Nothing, "accepted", ""),
    ("told before the answer", Edits::Made, Some(Tells::Before), Nothing, "accepted", ""),
    ("told after the answer", Edits::Made, Some(Tells::After), Nothing, "accepted", ""),
    ("told with what was typed", Edits::Made, Some(Tells::WithTheNext), Types, "accepted", ""),
    ("closed in between", Edits::Ignored, None, Closes, "open", "is no longer"),
    ("changed on disk elsewhere", Edits::Made, None, Overwritten, "open", ""),
    ("changed on disk at the hunk", Edits::Made, None, Rewritten, "touched", ""),
    ("saved at once", Edits::Made, None, Saves, "saved", ""),
    ("formatted at the save", Edits::Made, None, Formats, "saved", ""),
    ("branches", Edits::Made, None, Branches, "open", ""),
    ("five accepted, closed unsaved", Edits::Made, None, AllAndClosed, "open", ""),
    ("misapplied", Edits::Misplaced, None, Nothing, "open", "the editor changed it in another way"),
];

fn file_of(row: usize) -> String {
    format!("src/f{row:02}.rs")
}

/// What the text holds of a hunk's two sides.
fn sides(text: &str) -> (usize, usize) {
    (text.matches("    1\n").count(), text.matches("    111\n").count())
}

/// What is said of the file, in full: on the line where that has room for it, else at the head of the file.
async fn told(seat: &Seat, path: &str, roomy: bool) -> String {
    let shown = seat.expect("window/showMessage").await["message"].as_str().unwrap().to_owned();
    let whole = if roomy {
        shown.clone()
    } else {
        assert!(shown.chars().count() <= 61, "{shown}");
        let begins = shown.trim_end_matches('…').to_owned();
        let all = || seat.messages(path).into_iter().find(|said| said.starts_with(&begins));
        seat.until("all of it at the file", all).await
    };
    assert!(whole.contains(path) && whole.contains("; next: "), "{whole}");
    seat.until("it is in the log", || seat.screen(|screen| screen.log.contains(&whole).then_some(()))).await;
    whole
}

/// Runs one row, and says what it came to.
async fn row(work: &Modelled, row: usize, quirk: Quirk, editor: Profile) -> String {
    let (_, edits, tells, deed, ends, says) = quirk;
    let path = file_of(row);
    let roomy = editor.name == "Visual Studio Code";
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
            let refused = told(&seat, &path, roomy).await;
            let expected = format!("planwright: {path}: {first} no longer fits, the text at its place has changed");
            assert!(refused.starts_with(&expected), "{refused}");
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
        let told = told(&seat, &path, roomy);
        said = if edits == Edits::Misplaced {
            tokio::time::timeout(NOTICED, told).await.unwrap_or_else(|_| panic!("not noticed in {NOTICED:?}"))
        } else {
            told.await
        };
        said = said.replace(&path, "FILE");
        assert!(said.contains(says), "{said}");
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
    let status: String = status.chars().filter(|c| !c.is_ascii_digit()).collect();
    format!("{ends}{}{status}", if status.is_empty() { "" } else { "; " })
}

/// A second decision in a document whose editor has not answered the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_editor_that_does_not_answer_is_named_at_once_and_holds_back_one_document() {
    let (one, other) = (file_of(0), file_of(1));
    let (work, _) = proposed(&[(&one, TEXT), (&other, TEXT)], &[("s00", &one, PAIRS), ("s01", &other, PAIRS)]);
    let seat = Seat::take(Profile { edits: Edits::Ignored, ..Profile::vscode_1_139() }, &work).await;
    seat.edit(&work, &one);
    seat.edit(&work, &other);
    let hunks =
        async |path: &str| seat.until("five hunks", || Some(seat.hunks(path)).filter(|found| found.len() == 5)).await;
    let (first, elsewhere) = (hunks(&one).await, hunks(&other).await);
    let accept = async |hunk: &str| seat.command("planwright.accept", json!([{ "hunk": hunk }])).await.unwrap();
    accept(&first[0].0).await;
    seat.expect("workspace/applyEdit").await;
    let says = format!("planwright: Visual Studio Code has not answered an edit of {one} for ");
    let said = told(&seat, &one, true).await;
    assert!(said.starts_with(&says), "{said}");
    // Asked again it is told so before any edit could be made.
    accept(&first[1].0).await;
    let said = told(&seat, &one, true).await;
    assert!(said.starts_with(&says) && said.contains("s, then decide again"), "{said}");
    seat.adjust(|profile| profile.edits = Edits::Made);
    accept(&elsewhere[0].0).await;
    seat.expect("workspace/applyEdit").await;
    let made = TEXT.replace("    1\n", "    111\n");
    seat.until("the other document has its edit", || (seat.text(&other)? == made).then_some(())).await;
    assert_eq!(seat.text(&one).unwrap(), TEXT);
    seat.leave().await;
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
    said to be applied: open; planwright: FILE: the editor's text does not show the edit; the hunk stays open, decide again
    refused: open; planwright: FILE: the editor did not apply the edit: it gave no reason; the hunk stays open
    no answer: open; planwright: Visual Studio Code has not answered an edit of FILE for  s; answer what it asks, or wait  s, then decide again
    applied, and said not to be: accepted
    answered late: accepted
    told before the answer: accepted
    told after the answer: accepted
    told with what was typed: accepted
    closed in between: open; planwright: FILE is no longer open in the editor; decide again
    changed on disk elsewhere: open
    changed on disk at the hunk: touched
    saved at once: saved
    formatted at the save: saved
    branches: open
    five accepted, closed unsaved: open
    misapplied: open; planwright: FILE: the editor changed it in another way than it was asked to; undo that in the editor, then decide again
    ");
}
