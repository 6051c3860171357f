//! A hunk at whose place something else stands is settled by exactly what stands there.

use super::samples::*;
use super::*;
use crate::domain::problem::Replacement;
use proptest::prelude::*;

const BEFORE: &str = "fn a() {\n    one();\n}\n\nfn b() {\n    two();\n}\n\nfn c() {\n    three();\n}\n";

/// The change of the middle call.
fn two() -> FileChange {
    change(&file(BEFORE), &file(&BEFORE.replace("two()", "2()")))
}

/// What is known of the hunk in a text, and the text with theirs in its place.
#[track_caller]
fn check(here: &str, expect: &str) {
    let (change, here) = (two(), file(here));
    let standing = derive(&change, &here).remove(0);
    let put = [(&change.hunks[0], standing.range.clone(), "    2();\n".to_owned())];
    let said = match (&standing.touching, standing.exact) {
        (None, _) => format!("{:?}", standing.state),
        (Some(_), false) => "not known exactly".to_owned(),
        (Some(mine), true) => {
            let swapped = settle::swap(&change, &here, &put).unwrap();
            let back = [(&change.hunks[0], derive(&change, &swapped.after).remove(0).range, mine.clone())];
            assert_eq!(settle::swap(&change, &swapped.after, &back).unwrap().after, here, "and back");
            assert_eq!(plan_write(&swapped, &here, &[change.hunks[0].id.clone()]), Ok(swapped.after.clone()));
            format!("{mine:?} gives way: {:?}", swapped.after.text())
        }
    };
    assert_eq!(said, expect);
}

#[test]
fn what_stands_between_known_lines_gives_way() {
    let after = BEFORE.replace("two()", "2()");
    check(&BEFORE.replace("two()", "zwei()"), &format!("\"    zwei();\\n\" gives way: {after:?}"));
    check(&BEFORE.replace("    two();\n", ""), &format!("\"\" gives way: {after:?}"));
    check(
        &BEFORE.replace("two();", "two(1);\n    two(2);").replace("one", "eins"),
        &format!("\"    two(1);\\n    two(2);\\n\" gives way: {:?}", after.replace("one", "eins")),
    );
    check(&BEFORE.replace("two()", "2()"), "Accepted");
}

#[test]
fn nothing_is_guessed() {
    // the lines above it have gone, or stand twice
    check(&BEFORE.replace("fn b() {\n    two()", "fn other() {\n    zwei()"), "not known exactly");
    let twice = BEFORE.replace("two()", "zwei()");
    check(&format!("{twice}\n{twice}"), "not known exactly");
    // what stands there may begin below its second `fn b`
    check(&BEFORE.replace("two();", "one();\n}\n\nfn b() {\n    zwei();"), "not known exactly");
    check("", "not known exactly");
    check("something else\n", "not known exactly");
}

#[test]
fn in_an_open_document_the_edits_say_where_it_is() {
    let change = two();
    let mut text = BEFORE.to_owned();
    let mut spots = Spots::find(&change, &text);
    let mut typed = |from: &str, to: &str| {
        let at = text.find(from).unwrap();
        let edit = Replacement { range: at..at + from.len(), text: to.to_owned() };
        spots.carry(&change, &text, &edit);
        let after = text.replacen(from, to, 1);
        spots.settle(&change, &text, &after);
        text = after;
        let standing = spots.standings(&change, &text).remove(0);
        (standing.touching.unwrap_or_default(), standing.exact)
    };
    assert_eq!(typed("two()", "zwei()"), ("    zwei();\n".to_owned(), true));
    // which no text alone could tell
    assert_eq!(typed("fn b() {", "fn other() {"), ("    zwei();\n".to_owned(), true));
    // an edit over its edge
    let (_, exact) = typed("    zwei();\n}", "x");
    assert!(!exact);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn only_the_spot_is_replaced_and_taking_it_back_gives_every_byte_again(
        change in changes(),
        at in any::<prop::sample::Index>(),
        script in script(5),
        newline in any::<bool>(),
    ) {
        let here: Vec<String> = change.before.text().split_inclusive('\n').map(str::to_owned).collect();
        let mut here = edited(&here, &script).concat();
        if !newline {
            here.truncate(here.trim_end().len());
        }
        let current = file(&here);
        let touched: Vec<_> =
            derive(&change, &current).into_iter().filter(|one| one.touching.is_some()).collect();
        prop_assume!(!touched.is_empty());
        let standing = &touched[at.index(touched.len())];
        let hunk = change.hunk(&standing.id).unwrap();
        let new = change.new_text(hunk).to_owned();
        let Ok(swap) = settle::swap(&change, &current, &[(hunk, standing.range.clone(), new.clone())]) else {
            return Ok(());
        };
        let expect = format!("{}{new}{}", &here[..standing.range.start], &here[standing.range.end..]);
        prop_assert_eq!(swap.after.text(), expect.as_str());
        prop_assert_eq!(plan_write(&swap, &current, std::slice::from_ref(&hunk.id)), Ok(swap.after.clone()));
        prop_assert_eq!(plan_undo(&swap, &swap.after, std::slice::from_ref(&hunk.id)), Ok(current));
    }
}
