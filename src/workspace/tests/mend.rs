//! What a start finds where a write was killed.

use super::super::mend::mend;
use super::super::torn::Records;
use super::*;
use std::fs::FileTimes;
use std::time::{Duration, SystemTime};

/// A name that a write of these two gives to a file beside `a.rs`.
fn left(before: &Entry, after: &Entry) -> String {
    format!(".a.rs.planwright-{}-{}-0123456789abcdef", before.hash().short(), after.hash().short())
}

/// The state of a folder after a kill is mended, twice. What stands in it then, and what was said.
fn mended(ground: &Ground, before: &Entry, after: &Entry) -> (Vec<(String, String)>, Vec<String>) {
    let mend = || {
        let done = mend(&ground.root, Some(Records(&ground.state)), &path("a.rs"), [before.hash(), after.hash()]);
        assert_eq!(done.found, read(&ground.disk(), "a.rs").map(|entry| entry.hash()));
        let names = fs::read_dir(&ground.root).unwrap().map(|one| one.unwrap().file_name().into_string().unwrap());
        let mut texts: Vec<(String, String)> =
            names.map(|name| (name.clone(), fs::read_to_string(ground.root.join(name)).unwrap())).collect();
        texts.sort();
        (texts, done.said)
    };
    let first = mend();
    assert_eq!(mend().0, first.0, "again");
    first
}

#[test]
fn a_text_that_an_exchange_displaced_is_put_back() {
    let (old, new) = (file("old"), file("new"));
    for (after, stands) in [(&new, Some("new")), (&Entry::Absent, None)] {
        let ground = ground();
        stands.into_iter().for_each(|text| drop(ground.put("a.rs", text)));
        ground.put(&left(&old, after), "theirs");
        let (texts, said) = mended(&ground, &old, after);
        assert_eq!(texts, [("a.rs".to_owned(), "theirs".to_owned())]);
        assert!(said.len() == 1 && said[0].starts_with("a.rs: what was saved there"), "{said:?}");
    }
    // Saved again since: both stay, and it is said where.
    let ground = ground();
    ground.put("a.rs", "theirs again");
    let kept = ground.put(&left(&old, &new), "theirs");
    let (texts, said) = mended(&ground, &old, &new);
    assert_eq!(texts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["theirs", "theirs again"]);
    assert!(said.len() == 1 && said[0].contains(kept.to_str().unwrap()), "{said:?}");
}

#[test]
fn what_is_nobodys_is_removed_and_a_users_file_never() {
    let (old, new) = (file("old"), file("new"));
    let ground = ground();
    ground.put("a.rs", "new");
    ground.put(&left(&old, &new), "old");
    ground.put(".a.rs.planwright-new-0123456789abcdef", "ne");
    // A text that was saved in another moment, and stands under its name.
    ground.put(&left(&file("1"), &file("2")), "new");
    let own = [".a.rs.planwright-new-copy", ".a.rs.planwright-notes", ".b.rs.planwright-new-0123456789abcdef"];
    own.iter().for_each(|name| drop(ground.put(name, "mine")));
    let (texts, said) = mended(&ground, &old, &new);
    assert_eq!(said, [""; 0]);
    let names: Vec<&str> = texts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [own[0], own[1], own[2], "a.rs"]);
}

/// A file with two names, a write of which is on record and was killed when this stood there.
fn torn(text: &[u8]) -> (Ground, Entry, Entry) {
    let (old, new) = (file("old text, and a long tail\n"), file("néw text\n"));
    let ground = ground();
    let own = ground.put("a.rs", old.text());
    fs::hard_link(&own, ground.root.join("b.rs")).unwrap();
    let stat = rustix::fs::stat(&own).unwrap();
    Records(&ground.state).keep(&path("a.rs"), &stat, &old, &new).unwrap();
    fs::write(&own, text).unwrap();
    (ground, old, new)
}

fn records(ground: &Ground) -> usize {
    fs::read_dir(ground.state.join("writes")).unwrap().count()
}

#[test]
fn a_text_torn_by_a_write_in_place_is_completed() {
    let (old, new) = ("old text, and a long tail\n", "néw text\n");
    let torn_at = |at: usize| [&new.as_bytes()[..at], &old.as_bytes()[at..]].concat();
    for text in [torn_at(1), torn_at(2), torn_at(5), torn_at(new.len()), new.as_bytes().to_vec()] {
        let (ground, before, after) = torn(&text);
        let (texts, said) = mended(&ground, &before, &after);
        assert!(texts.iter().all(|(_, text)| text == new) && texts.len() == 2, "{texts:?}");
        assert_eq!((said, records(&ground)), (Vec::new(), 0));
    }
    let (ground, before, after) = torn(old.as_bytes());
    assert_eq!(mended(&ground, &before, &after).0[0].1, old, "the write had not begun");
    assert_eq!(records(&ground), 0);
}

#[test]
fn a_torn_text_that_somebody_has_changed_is_theirs() {
    let half = "néw text, and a long tail\n";
    let check = |(ground, before, after): (Ground, Entry, Entry), stands: &str| {
        let (texts, said) = mended(&ground, &before, &after);
        assert_eq!(texts[0].1, stands);
        let kept = said[0].rsplit(" as ").next().unwrap();
        assert_eq!(fs::read_to_string(kept).unwrap(), before.text(), "{said:?}");
    };
    check(torn(b"n\xc3\xa9w text, and my tail\n"), "néw text, and my tail\n");
    // In another file, and at another time.
    let replaced = torn(b"");
    let own = replaced.0.root.join("a.rs");
    fs::write(own.with_extension("t"), half).unwrap();
    fs::rename(own.with_extension("t"), &own).unwrap();
    check(replaced, half);
    let later = torn(half.as_bytes());
    let own = fs::File::options().write(true).open(later.0.root.join("a.rs")).unwrap();
    own.set_times(FileTimes::new().set_modified(SystemTime::now() + Duration::from_secs(60))).unwrap();
    check(later, half);
}

#[test]
fn a_write_in_place_is_on_record_before_it_begins() {
    let ground = ground();
    let own = ground.put("a.rs", "old");
    fs::hard_link(&own, ground.root.join("b.rs")).unwrap();
    let disk = ground.disk();
    run(disk.write(&path("a.rs"), &file("old"), &file("new"))).unwrap();
    assert_eq!(records(&ground), 0, "it is over");
    fs::remove_dir(ground.state.join("writes")).unwrap();
    fs::write(ground.state.join("writes"), "in the way").unwrap();
    let done = run(disk.write(&path("a.rs"), &file("new"), &file("newer")));
    assert!(matches!(done, Err(WriteRefusal::Failed { .. })), "{done:?}");
    assert_eq!(fs::read_to_string(own).unwrap(), "new");
}
