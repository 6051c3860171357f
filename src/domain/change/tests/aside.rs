//! The comment that asked stays a hunk of its own.

use super::samples::*;
use super::*;
use crate::domain::change::hunks::GOAL;
use proptest::prelude::*;

const ASKED: &str = "    // agent: make it so\n";

/// The step's change of a text whose comment the goal takes out.
fn both(before: &str, comment: (&str, &str), after: &str) -> FileChange {
    let without = before.replacen(comment.0, comment.1, 1);
    let goal = file_change(path("src/a.rs"), &file(before), &file(&without), &StepId::new(GOAL), None);
    file_change(path("src/a.rs"), &file(before), &file(after), &StepId::new("two"), Some(&goal))
}

#[track_caller]
fn check(before: &str, comment: (&str, &str), after: &str, expect: &str) {
    assert_eq!(render(&both(before, comment, after)), expect);
}

#[test]
fn it_is_joined_with_no_hunk_beside_it() {
    let asked = ("// agent: x\n", "");
    let goal = r#""// agent: x\n" => "" by the goal"#;
    check("// agent: x\na\nb\n", asked, "A\nb\n", &format!("0->0 {goal}\n1->0 \"a\\n\" => \"A\\n\" by two"));
    check(
        "a\nb\n// agent: x\nc\n",
        asked,
        "a\nB\nC\n",
        &format!("1->1 \"b\\n\" => \"B\\n\" by two\n2->2 {goal}\n3->2 \"c\\n\" => \"C\\n\" by two"),
    );
    // What is put exactly there stands behind it.
    check("a\n// agent: x\nb\n", asked, "a\nn\nb\n", &format!("1->1 {goal}\n2->1 \"\" => \"n\\n\" by two"));
    // Its line keeps the code that it stood behind.
    check(
        "a\nf(); // agent: x\nb\n",
        (" // agent: x", ""),
        "A\nf();\nB\n",
        "0->0 \"a\\n\" => \"A\\n\" by two\n1->1 \"f(); // agent: x\\n\" => \"f();\\n\" by the goal\n\
         2->2 \"b\\n\" => \"B\\n\" by two",
    );
    // A line is one: where the step changes that code, it is the step's.
    check(
        "a\nf(); // agent: x\nb\n",
        (" // agent: x", ""),
        "a\ng();\nb\n",
        "1->1 \"f(); // agent: x\\n\" => \"g();\\n\" by two",
    );
    // A step that puts it back has the last word.
    check("a\n// agent: x\nb\n", asked, "a\n// agent: x\nb\n", "");
}

#[test]
fn it_is_known_again_after_the_user_typed_elsewhere() {
    let (before, now) = ("a\n// agent: x\nb\n", "new\na\n// agent: x\nb\n");
    let goal = file_change(path("src/a.rs"), &file(before), &file("a\nb\n"), &StepId::new(GOAL), None);
    let step = file_change(path("src/a.rs"), &file(now), &file("new\nA\nb\n"), &StepId::new("two"), Some(&goal));
    assert_eq!(render(&step), "1->1 \"a\\n\" => \"A\\n\" by two\n2->2 \"// agent: x\\n\" => \"\" by the goal");
    let gone = file_change(path("src/a.rs"), &file("a\nb\n"), &file("A\nb\n"), &StepId::new("two"), Some(&goal));
    assert_eq!(render(&gone), r#"0->0 "a\n" => "A\n" by two"#);
}

#[test]
fn its_removal_by_hand_leaves_the_hunk_beside_it_open() {
    let change = both("// agent: x\na\nb\n", ("// agent: x\n", ""), "A\nb\n");
    let states: Vec<HunkState> = derive(&change, &file("a\nb\n")).into_iter().map(|standing| standing.state).collect();
    assert_eq!(states, [HunkState::Accepted, HunkState::Open]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn both_orders_of_deciding_give_the_same_bytes(
        text in prop::collection::vec(line(), 1..30),
        at in any::<prop::sample::Index>(),
        script in script(6),
        bits in any::<u32>(),
    ) {
        let at = at.index(text.len() + 1);
        let before: String = text[..at].iter().chain([&ASKED.to_owned()]).chain(&text[at..]).cloned().collect();
        let after: String = edited(&text, &script).concat();
        let change = both(&before, (ASKED, ""), &after);
        let (goal, rest): (Vec<&Hunk>, Vec<&Hunk>) = change.hunks.iter().partition(|hunk| hunk.author.as_str() == GOAL);
        prop_assert_eq!(goal.iter().map(|hunk| change.old_text(hunk)).collect::<Vec<_>>(), [ASKED]);
        let name = |hunks: &[&Hunk]| hunks.iter().map(|hunk| hunk.id.clone()).collect::<Vec<HunkId>>();
        let (goal, all) = (name(&goal), name(&rest));
        let some: Vec<HunkId> = all.iter().filter(|id| chosen(&change, bits).contains(id)).cloned().collect();
        for rest in [&some, &all] {
            let kept: Vec<HunkId> = rest.iter().chain(&goal).cloned().collect();
            let wanted = subset(&change, &kept);
            let first = plan_write(&change, &change.before, &goal).unwrap();
            prop_assert_eq!(plan_write(&change, &first, rest), Ok(wanted.clone()), "the comment first");
            let first = plan_write(&change, &change.before, rest).unwrap();
            prop_assert_eq!(&first, &subset(&change, rest));
            prop_assert_eq!(plan_write(&change, &first, &goal), Ok(wanted.clone()), "the comment last");
            prop_assert_eq!(plan_undo(&change, &wanted, &goal), Ok(first), "and back");
        }
        prop_assert_eq!(plan_write(&change, &change.before, &name(&change.hunks.iter().collect::<Vec<_>>())), Ok(file(&after)));
    }
}
