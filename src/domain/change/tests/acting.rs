//! Accepting and undoing.

use super::samples::*;
use super::*;
use proptest::prelude::*;

#[track_caller]
fn check_conflict(before: &str, after: &str, current: &str, expect: &str) {
    let change = change(&file(before), &file(after));
    let ids: Vec<HunkId> = change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
    let got = match plan_write(&change, &file(current), &ids) {
        Ok(entry) => format!("{:?}", entry.text()),
        Err(conflict) => conflict.to_string().replace(ids[0].as_str(), "HUNK"),
    };
    assert_eq!(got, expect);
}

#[test]
fn a_hunk_is_made_where_its_old_text_stands_or_not_at_all() {
    check_conflict("a\nb\nc\n", "a\nB\nc\n", "mine\na\nb\nc\n", r#""mine\na\nB\nc\n""#);
    check_conflict("a\nb\nc\n", "a\nB\nc\n", "mine\na\nB\nc\n", r#""mine\na\nB\nc\n""#);
    check_conflict(
        "alpha\nbeta\ngamma\n",
        "alpha\nBETA\ngamma\n",
        "alpha\nmine\ngamma\n",
        "src/a.rs: the text where HUNK belongs has changed; look at both sides and decide again",
    );
    check_conflict(
        "alpha\nbeta\n",
        "alpha\ngamma",
        "alpha\nbeta\nmine\n",
        "src/a.rs: HUNK would run into a line without an ending; end that line and decide again",
    );
}

#[test]
fn a_creation_is_undone_only_while_the_file_is_as_it_was_made() {
    let change = change(&Entry::Absent, &program("x\n"));
    let ids = [change.hunks[0].id.clone()];
    assert_eq!(plan_write(&change, &Entry::Absent, &ids), Ok(program("x\n")));
    assert_eq!(plan_undo(&change, &program("x\n"), &ids), Ok(Entry::Absent));
    assert!(
        matches!(plan_undo(&change, &program("x\nmine\n"), &ids), Err(Conflict::Touched { found, .. }) if found == "x\nmine\n")
    );
    let other = [HunkId::new("h00000000")];
    assert!(matches!(plan_write(&change, &Entry::Absent, &other), Err(Conflict::Unknown { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn acts_in_any_order_give_the_kept_subset(
        change in changes(),
        acts in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..12),
    ) {
        prop_assume!(!change.hunks.is_empty());
        let mut kept: Vec<HunkId> = Vec::new();
        let mut current = change.before.clone();
        for (which, accept) in acts {
            let id = which.get(&change.hunks).id.clone();
            kept.retain(|other| *other != id);
            let act = std::slice::from_ref(&id);
            current = if accept {
                kept.push(id.clone());
                plan_write(&change, &current, act).unwrap()
            } else {
                plan_undo(&change, &current, act).unwrap()
            };
            prop_assert_eq!(&current, &subset(&change, &kept));
        }
    }

    /// Whatever the user did elsewhere, an accepted hunk changes the bytes of its spot and no other.
    #[test]
    fn bytes_outside_are_identical(change in changes(), user in script(4)) {
        let lines: Vec<String> =
            crate::domain::text::lines(change.before.text()).into_iter().map(str::to_owned).collect();
        let current = file(&edited(&lines, &user).concat());
        for standing in derive(&change, &current) {
            let hunk = change.hunk(&standing.id).unwrap();
            if standing.state != HunkState::Open || hunk.kind == HunkKind::Mode { continue; }
            let Ok(after) = plan_write(&change, &current, std::slice::from_ref(&standing.id)) else { continue };
            let (here, made) = (current.text(), after.text());
            prop_assert!(made.starts_with(&here[..standing.range.start]));
            prop_assert!(made.ends_with(&here[standing.range.end..]));
            prop_assert_eq!(made.len() + standing.range.len(), here.len() + change.new_text(hunk).len());
        }
    }
}
