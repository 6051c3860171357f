//! Two editors and a terminal on one root: one of the processes is the host, and what was decided outlives it.

use super::*;
use rustix::process::{Pid, Signal, kill_process};

const ONE: &str = "src/one.rs";
const TWO: &str = "src/two.rs";
const ONE_TEXT: &str = "pub fn one() -> u32 {\n    1\n}\n\n\n\n\n\npub fn more() -> u32 {\n    2\n}\n";
const TWO_TEXT: &str = "pub fn three() -> u32 {\n    3\n}\n";

/// As the terminal lists them: file, state and decision.
fn listed(work: &Modelled, task: &str) -> Vec<(String, String)> {
    let review = work.run(&["review", task, "--json"]).exits(0).json();
    let mut found: Vec<(String, String)> = review["hunks"]
        .as_array()
        .unwrap_or_else(|| panic!("{review:#}"))
        .iter()
        .map(|hunk| (hunk["id"].as_str().unwrap().to_owned(), format!("{} {}", hunk["state"], hunk["decision"])))
        .collect();
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_editors_and_a_terminal_see_the_same_and_outlive_the_host() {
    let pairs: &[(&str, &str)] = &[("    1\n", "    11\n"), ("    2\n", "    22\n")];
    let (work, task) =
        proposed(&[(ONE, ONE_TEXT), (TWO, TWO_TEXT)], &[("one", ONE, pairs), ("two", TWO, &[("    3\n", "    33\n")])]);
    let first = Seat::take(Profile::helix_25_07(), &work).await;
    // Whoever shows hunks has the root open; so this one is the host.
    let ids = first.until("three hunks", || {
        let found = [first.hunks(ONE), first.hunks(TWO)].concat();
        (found.len() == 3).then_some(found)
    });
    let ids = ids.await;
    let second = Seat::take(Profile::vscode_1_139(), &work).await;
    let same = second.until("the same hunks", || {
        let found = [second.hunks(ONE), second.hunks(TWO)].concat();
        (found.len() == 3).then_some(found)
    });
    assert_eq!(same.await, ids);
    assert_eq!(listed(&work, &task).len(), 3);

    // A file that both have open, decided in one of them.
    first.edit(&work, ONE);
    second.edit(&work, ONE);
    first.until("it is open here", || (first.hunks(ONE).len() == 2).then_some(())).await;
    second.act(ONE, "    1", "Agent: accept hunk").await;
    second.expect("workspace/applyEdit").await;
    let accepted = ONE_TEXT.replace("    1\n", "    11\n");
    second.until("it is in the text", || (second.text(ONE)? == accepted).then_some(())).await;
    assert_eq!(first.text(ONE).unwrap(), ONE_TEXT, "the other editor's text is its own");
    second.write(&work, ONE);
    // The other loads what was saved, as editors do.
    let at = ONE_TEXT.find("    1\n").unwrap();
    first.replace(ONE, at..at + 6, "    11\n");
    first.save(ONE);
    for (name, seat) in [("host", &first), ("other", &second)] {
        seat.until(&format!("one is left in the {name}"), || (seat.hunks(ONE).len() == 1).then_some(())).await;
    }
    let rejected = second.hunks(TWO)[0].0.clone();
    second.command("planwright.reject", json!([{"hunk": rejected, "reason": "not this"}])).await.unwrap();
    second.until("it is rejected", || second.hunks(TWO).is_empty().then_some(())).await;
    let before = listed(&work, &task);

    // The host is gone; the other takes over, with everything that was decided.
    let pid = Pid::from_raw(i32::try_from(first.child.id().unwrap()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    let mut first = first;
    first.child.wait().await.unwrap();
    second.act(ONE, "    2", "Agent: accept hunk").await;
    second.expect("workspace/applyEdit").await;
    let both = accepted.replace("    2\n", "    22\n");
    second.until("it decides", || (second.text(ONE)? == both).then_some(())).await;
    second.write(&work, ONE);
    second.until("nothing is left", || second.hunks(ONE).is_empty().then_some(())).await;
    let after = listed(&work, &task);
    let ids = |list: &[(String, String)]| list.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&before), ids(&after), "no hunk came or went with the host");
    let kept = |list: &[(String, String)]| list.iter().find(|(id, _)| *id == rejected).cloned();
    assert_eq!(kept(&before), kept(&after), "{after:?}");
    assert_eq!(work.read(ONE), both);
    work.run(&["status", &task]).exits(0);
    second.leave().await;
}
