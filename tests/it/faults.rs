//! What a model's server does wrong, and what a person is told: the fault, the next step, the exit code. Nothing of a
//! broken answer is done.

use crate::support::model::{Modelled, edit, finish};
use planwright::testing::script::{Fault, Script, Turn};
use planwright::testing::scripted_model::refused_url;

const LIB: &str = "pub fn one() -> u8 {\n    1\n}\n";
const PLAN: &str = "# One\n\nTen.\n\n## Contract\n\n- scope: `src/**`\n- accept: exists `src/lib.rs`\n\n## Steps\n\n### one: Make it ten\n\n- edit: `src/lib.rs`\n- retry: 0\n\nMake it 10.\n";

fn good() -> Turn {
    edit("src/lib.rs", "one", "pub fn one() -> u8 {\n    10\n}")
}

/// Runs the step against this first turn; what the terminal said, and the status.
fn ran(first: Turn) -> (i32, String, usize) {
    let work = Modelled::new(&[("src/lib.rs", LIB)], Script::in_order([first, finish("It is 10.")]));
    let task = work.approved("Ten", PLAN);
    let said = work.run(&["run", &task]);
    let status = work.run(&["status", &task]).out;
    assert_eq!(work.read("src/lib.rs"), LIB);
    let hunks = work.run(&["review", &task, "--json"]).json()["hunks"].as_array().map_or(0, Vec::len);
    (said.code.unwrap(), format!("{status}{}", said.err), hunks)
}

/// The step fails, says this, and leaves nothing behind.
#[track_caller]
fn fails(first: Turn, words: &[&str]) {
    let (code, said, hunks) = ran(first);
    assert_eq!((code, hunks), (1, 0), "{said}");
    for word in words {
        assert!(said.contains(word), "`{word}` is not in:\n{said}");
    }
    assert!(said.contains("planwright retry"), "{said}");
}

fn always(fault: &Fault) -> Turn {
    good().after(std::iter::repeat_n(fault.clone(), 20))
}

#[test]
fn a_refused_key_is_explained() {
    fails(always(&Fault::status(401, "bad key sk-abcdefgh12345678")), &["401", "key", "[redacted]"]);
}

#[test]
fn an_unknown_model_or_path_is_explained() {
    fails(always(&Fault::status(404, "no such model")), &["404", "no such model"]);
}

#[test]
fn a_busy_server_is_waited_for() {
    let (code, said, hunks) = ran(good().after([Fault::busy("0"), Fault::busy("0")]));
    assert_eq!((code, hunks), (3, 1), "{said}");
}

#[test]
fn a_reset_is_tried_again() {
    let (code, said, hunks) = ran(good().after([Fault::Reset(40)]));
    assert_eq!((code, hunks), (3, 1), "{said}");
}

#[test]
fn a_stream_without_its_end_is_never_read() {
    let (code, said, hunks) = ran(good().after([Fault::Truncated]));
    assert_eq!((code, hunks), (3, 1), "{said}");
}

#[test]
fn a_web_page_is_no_answer() {
    fails(always(&Fault::Html), &["check that $OPENAI_BASE_URL is the API"]);
}

#[test]
fn an_answer_cut_at_its_limit_is_not_done() {
    let call = "```json\n{\"name\": \"delete\", \"arguments\": {\"path\": \"src/lib.rs\"}}\n```\n";
    let cut = format!("{call}{}", "and as many words again, so that the call stands whole in the first half".repeat(2));
    let script = Script::by(move |_, n| match n {
        0 => Turn::text(&cut).after([Fault::Length]),
        1 => good(),
        _ => finish("It is 10."),
    });
    let work = Modelled::new(&[("src/lib.rs", LIB)], script);
    let task = work.approved("Ten", PLAN);
    work.run(&["run", &task]);
    assert!(work.asked(1).contains("cut at the length limit"), "{}", work.asked(1));
    assert!(!work.timeline(&task).contains("delete"), "{}", work.timeline(&task));
}

#[test]
fn nonsense_ends_the_attempt_and_says_so() {
    let work = Modelled::new(&[("src/lib.rs", LIB)], Script::in_order([Turn::text("Lorem ipsum.")]));
    let task = work.approved("Ten", PLAN);
    work.run(&["run", &task]).exits(1);
    let said = work.run(&["status", &task]).out;
    assert!(said.contains("failed (model output)") && said.contains("no way to make a call"), "{said}");
    assert!(said.contains(&format!("planwright retry {task} one")), "{said}");
}

#[test]
fn nobody_listens() {
    let mut work = Modelled::new(&[("src/lib.rs", LIB)], Script::default());
    let url = refused_url().unwrap();
    work.project.env.push(("OPENAI_BASE_URL".to_owned(), url.clone()));
    let said = work.run(&["plan", "Ten"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let shown = format!("{}{}", said.out, said.err);
    assert!(shown.contains(url.trim_end_matches("/v1")) && shown.contains("planwright replan"), "{said:?}");
}
