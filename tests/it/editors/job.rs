//! The whole job in each editor, from a comment to the disk.

use super::*;
use std::fmt::Write as _;

const LIB: &str = "src/lib.rs";
const OTHER: &str = "src/other.rs";

const LIB_TEXT: &str = "//! A till \u{1f600}.

// agent: name things by what they are

/// One.
pub fn one() -> u32 { /* \u{1f600} */ 1 }

/// Two.
pub fn two() -> u32 {
    2
}

/// Three.
pub fn three() -> u32 {
    3
}
";
const OTHER_TEXT: &str = "/// Four.\npub fn four() -> u32 {\n    4\n}\n";

fn work() -> Modelled {
    let script = script(
        &[
            ("raise", LIB, &[("*/ 1 }\n", "*/ 10 }\n"), ("    2\n", "    20\n"), ("    3\n", "    30\n")]),
            ("other", OTHER, &[("    4\n", "    40\n")]),
        ],
        &["absent: `no such text`, in `src`"],
    );
    Modelled::new(&[(LIB, LIB_TEXT), (OTHER, OTHER_TEXT)], script)
}

fn titles(actions: &[Value]) -> String {
    let titles: Vec<&str> = actions.iter().map(|action| action["title"].as_str().unwrap()).collect();
    titles.join(" | ")
}

/// Names that no two runs share.
fn plain(text: &str, task: &str) -> String {
    let text = text.replace(task, "TASK");
    let words: Vec<String> = text
        .split(' ')
        .map(|word| match word.split_once("r1-") {
            Some((before, digest)) if digest.len() >= 12 => format!("{before}r1-DIGEST{}", &digest[12..]),
            _ => word.to_owned(),
        })
        .collect();
    words.join(" ")
}

/// Does the job, and says how it went.
async fn job(profile: Profile) -> (String, String) {
    let work = work();
    let seat = Seat::take(profile.clone(), &work).await;
    let mut told = String::new();
    macro_rules! tell { ($($word:tt)*) => { writeln!(told, $($word)*).unwrap() }; }

    seat.edit(&work, LIB);
    let comment = "// agent:";
    seat.act(LIB, comment, "Agent: plan this comment").await;
    let page = seat.shown_at(&work, "task.md").await;
    let task = page.split('/').nth(2).unwrap().to_owned();
    let stands = || work.read(&page).contains("awaiting approval").then_some(());
    seat.until("the plan stands on the page", stands).await;
    seat.edit(&work, &page);
    let first = seat.until("the page says where it stands", || {
        seat.messages(&page).into_iter().find(|said| said.contains("awaiting approval"))
    });
    tell!("page: {}", plain(&first.await, &task));

    seat.act(&page, "# ", "Agent: open the plan").await;
    let plan = seat.shown_at(&work, ".plan.md").await;
    seat.edit(&work, &plan);
    let sound = seat.text(&plan).unwrap();
    let at = sound.find("- edit:").unwrap();
    seat.replace(&plan, at + 2..at + 6, "eidt");
    let near = |one: &Value| one["code"] == "near-key";
    let found = seat.until("the key is found", || seat.diagnostics(&plan).into_iter().find(near)).await;
    tell!("plan: {}", found["message"].as_str().unwrap());
    let offered = seat.actions(&plan, "eidt").await;
    tell!("at it: {}", plain(&titles(&offered), &task));
    seat.act(&plan, "eidt", "edit").await;
    assert_eq!(seat.text(&plan).unwrap(), sound);
    seat.until("nothing is wrong with it", || (!seat.diagnostics(&plan).iter().any(near)).then_some(())).await;
    seat.write(&work, &plan);
    let approved = seat.act(&plan, "# A plan", "Agent: approve r1").await;
    tell!("approved by: {}", plain(approved["title"].as_str().unwrap(), &task));
    // Where an approval runs the plan, this comes to nothing.
    if crate::editors::job::APPROVE_RUNS {
        tell!("and it runs");
    } else {
        seat.command("planwright.run", json!([{"task": task}])).await.unwrap();
    }

    for (line, file) in [("10 }", LIB), ("20", LIB), ("30", LIB), ("40", OTHER)] {
        let (_, said) = seat.until(&format!("the hunk {line} is shown"), || seat.hunk(file, line)).await;
        tell!("{file}: {}", said.replace('\n', " ; "));
    }
    assert_eq!(work.read(LIB), LIB_TEXT, "nothing is written without a decision");
    let offered = seat.actions(LIB, "*/ 1 }").await;
    let id = seat.hunk(LIB, "10 }").unwrap().0;
    tell!("at the first hunk: {}", plain(&titles(&offered), &task).replace(&id, "HUNK"));

    let one = LIB_TEXT.replace("*/ 1 }", "*/ 10 }");
    seat.act(LIB, "*/ 1 }", "Agent: accept hunk").await;
    seat.until("it is in the text", || (seat.text(LIB)? == one).then_some(())).await;
    let second = seat.hunk(LIB, "20").unwrap().0;
    seat.expect("workspace/applyEdit").await;
    seat.command("planwright.reject", json!([{"hunk": second, "reason": "twenty is too much"}])).await.unwrap();
    seat.until("it is not shown", || seat.hunk(LIB, "20").is_none().then_some(())).await;

    let both = one.replace("    3\n", "    30\n");
    seat.act(LIB, "    3", "Agent: accept hunk").await;
    seat.until("it is in the text", || (seat.text(LIB)? == both).then_some(())).await;
    seat.expect("workspace/applyEdit").await;
    let state = |id: &str| seat.hunks(LIB).into_iter().find(|(known, _)| known == id).map(|(_, state)| state);
    let third = seat
        .until("it is accepted", || seat.hunks(LIB).into_iter().rfind(|(_, state)| state == "accepted, not saved"))
        .await
        .0;
    seat.undo(LIB);
    assert_eq!(seat.text(LIB).unwrap(), one);
    seat.until("it is open again", || (state(&third)? == "open").then_some(())).await;
    tell!("undone: {}", state(&third).unwrap());
    seat.redo(LIB);
    seat.until("it is accepted again", || (state(&third)? == "accepted, not saved").then_some(())).await;
    tell!("done again: {}", state(&third).unwrap());
    assert_eq!(work.read(LIB), LIB_TEXT, "the person saves, not the server");
    seat.write(&work, LIB);
    assert_eq!(work.read(LIB), both);
    seat.until("it is saved", || state(&third).is_none().then_some(())).await;

    seat.edit(&work, OTHER);
    seat.act(OTHER, "    4", "Agent: accept hunk").await;
    let other = OTHER_TEXT.replace("    4\n", "    40\n");
    seat.until("it is in the other text", || (seat.text(OTHER)? == other).then_some(())).await;
    seat.expect("workspace/applyEdit").await;
    seat.write(&work, OTHER);
    seat.until("the other file is settled", || seat.hunks(OTHER).is_empty().then_some(())).await;
    let left = seat.hunks(LIB);
    tell!("left: {left:?}");
    let status = seat.until("the task is over", || {
        let status = work.status(&task);
        let words = status["state"].as_str().or_else(|| status["words"].as_str()).unwrap_or_default().to_owned();
        (words == "done" || words == "completed").then_some(words)
    });
    tell!("task: {}", status.await);
    tell!("log: {}", seat.screen(|screen| plain(&screen.log.join(" ; "), &task)));

    let differences = seat.screen(|screen| {
        let bars = screen.titles.join(", ");
        let asked: Vec<&String> = screen.asked.iter().collect();
        format!("{} {}\n  bars: {bars}\n  asked: {asked:?}", profile.name, profile.version)
    });
    seat.leave().await;
    (told, differences)
}

/// Another command is not needed after the approval.
const APPROVE_RUNS: bool = false;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_a_comment_to_the_disk_in_every_editor() {
    let mut first: Option<String> = None;
    let mut all = String::new();
    for profile in Profile::all() {
        let name = format!("{} {}", profile.name, profile.version);
        let (told, differences) = job(profile).await;
        writeln!(all, "{differences}").unwrap();
        match &first {
            Some(first) => assert_eq!(*first, told, "{name}"),
            None => first = Some(told),
        }
    }
    insta::assert_snapshot!(first.unwrap(), @"");
    insta::assert_snapshot!(all, @"");
}
