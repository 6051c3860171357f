//! The whole job in each editor, from a comment to the disk.

use super::*;
use std::collections::BTreeSet;
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
    seat.act(&plan, "eidt", "write `edit`").await;
    assert_eq!(seat.text(&plan).unwrap(), sound);
    seat.until("nothing is wrong with it", || (!seat.diagnostics(&plan).iter().any(near)).then_some(())).await;
    seat.write(&work, &plan);
    let approved = seat.act(&plan, "# A plan", "Agent: approve r1").await;
    tell!("approved by: {}", plain(approved["title"].as_str().unwrap(), &task));
    seat.command("planwright.run", json!([{"task": task}])).await.unwrap();

    for (line, file) in [("10 }", LIB), ("20", LIB), ("30", LIB), ("40", OTHER)] {
        let judged = || seat.hunk(file, line).filter(|(_, said)| said.contains("syntax passes"));
        let (_, said) = seat.until(&format!("the hunk {line} is shown"), judged).await;
        tell!("{file}: {}", said.replace('\n', " ; "));
    }
    assert_eq!(work.read(LIB), LIB_TEXT, "nothing is written without a decision");
    let waits = || seat.messages(&page).iter().any(|said| said.contains("awaiting review")).then_some(());
    seat.until("it waits for decisions", waits).await;
    let offered = seat.actions(LIB, "*/ 1 }").await;
    let id = seat.hunk(LIB, "10 }").unwrap().0;
    tell!("at the first hunk: {}", plain(&titles(&offered), &task).replace(&id, "HUNK"));

    // The comment that asked for it is a hunk of its own, two lines above.
    let raised = LIB_TEXT.replace("*/ 1 }", "*/ 10 }");
    seat.act(LIB, "*/ 1 }", "Agent: accept hunk").await;
    seat.until("it is in the text", || (seat.text(LIB)? == raised).then_some(())).await;
    seat.expect("workspace/applyEdit").await;
    let one = raised.replace("// agent: name things by what they are\n", "");
    seat.act(LIB, comment, "Agent: accept hunk").await;
    seat.until("it has gone", || (seat.text(LIB)? == one).then_some(())).await;
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
        .until("it is accepted", || {
            let (id, state) = seat.hunks(LIB).pop()?;
            (state == "accepted, not saved").then_some(id)
        })
        .await;
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
    let over =
        seat.until("the task is over", || seat.messages(&page).into_iter().find(|said| said.starts_with("done")));
    tell!("page: {}", over.await);
    let root = format!("file://{}/", work.root.display());
    let mut log = seat.screen(|screen| screen.log.clone());
    // Commands do not wait for each other, and so their answers come in any order.
    log.sort();
    log.iter().for_each(|line| tell!("log: {}", plain(&line.replace(&root, ""), &task)));

    let columns = seat.editor.capabilities["positionEncoding"].as_str().unwrap_or("utf-16").to_owned();
    let differences = seat.screen(|screen| {
        let bars: BTreeSet<&String> = screen.titles.iter().collect();
        let asked: Vec<&str> =
            screen.asked.iter().filter_map(|method| method.split_once('/')).map(|(_, name)| name).collect();
        let (name, version) = (profile.name, profile.version);
        format!("{name} {version}: {columns}; bars {bars:?}; asked for {}", asked.join(", "))
    });
    seat.leave().await;
    (told, differences)
}

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
    insta::assert_snapshot!(first.unwrap(), @r"
    page: awaiting approval: name things by what they are
    next: read the plan (planwright show TASK)
    next: approve exactly this revision (planwright approve TASK --revision r1-DIGEST)
    plan: `eidt` is no key, so this is instruction; was `edit` meant?
    at it: write `edit` | Agent: ask for a change of `raise`…
    approved by: Agent: approve r1-DIGEST and run it
    src/lib.rs: raise: Do raise (open) ; - pub fn one() -> u32 { /* 😀 */ 1 } ; + pub fn one() -> u32 { /* 😀 */ 10 } ; verdict: syntax passes
    src/lib.rs: raise: Do raise (open) ; -     2 ; +     20 ; verdict: syntax passes
    src/lib.rs: raise: Do raise (open) ; -     3 ; +     30 ; verdict: syntax passes
    src/other.rs: other: Do other (open) ; -     4 ; +     40 ; verdict: syntax passes
    at the first hunk: Agent: accept hunk HUNK (raise) | Agent: reject hunk HUNK (raise) | Agent: reject hunk HUNK with a reason… (raise) | Agent: accept 4 hunks of lib.rs | Agent: reject 4 hunks of lib.rs | Agent: accept 3 hunks of step raise | Agent: reject 3 hunks of step raise | Agent: accept 5 hunks of task TASK | Agent: reject 5 hunks of task TASK | Agent: explain hunk HUNK | Agent: go to the next hunk | Agent: go to the hunk before | Agent: open the task page (TASK waits for a decision on 5 hunks) | Agent: plan change… | Agent: change src/lib.rs (writes only that file; checked as the project is)… | Agent: ask…
    undone: open
    done again: accepted, not saved
    left: []
    page: done (verified): name things by what they are
    log: planwright: accepted: h14de3e54
    log: planwright: accepted: h222e9792
    log: planwright: accepted: h63db09a2
    log: planwright: accepted: h6f4be10a
    log: planwright: .planwright/tasks/TASK/name-things-by-what-they-are.plan.md
    log: planwright: .planwright/tasks/TASK/task.md
    log: planwright: it goes on
    log: planwright: r1-DIGEST approved; it goes on
    log: planwright: rejected: h01789c27
    log: planwright: task TASK is being planned
    ");
    insta::assert_snapshot!(all, @r#"
    helix 25.07.1 (a05c151b): utf-8; bars {"Agent: name things by what they are"}; asked for workDoneProgress/create
    helix 25.07.1 (079a789e): utf-8; bars {"Agent: name things by what they are"}; asked for workDoneProgress/create
    Visual Studio Code 1.100.3: utf-16; bars {"Agent: name things by what they are"}; asked for workDoneProgress/create, codeLens/refresh, inlayHint/refresh
    Visual Studio Code 1.139.1: utf-16; bars {"Agent: name things by what they are"}; asked for workDoneProgress/create, codeLens/refresh, inlayHint/refresh
    Neovim 0.11.4: utf-8; bars {"Agent: name things by what they are"}; asked for workDoneProgress/create, inlayHint/refresh
    "#);
}
