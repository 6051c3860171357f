//! What a start finds where a write was killed.

use super::super::mend::{mend, mend_in};
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

/// Records of writes; what is kept for a person has an ending.
fn records(ground: &Ground) -> usize {
    let all = fs::read_dir(ground.state.join("writes")).unwrap();
    all.filter(|one| one.as_ref().unwrap().path().extension().is_none()).count()
}

/// What a remark says is kept, and where.
fn kept(said: &[String]) -> Vec<u8> {
    let [said] = said else { panic!("{said:?}") };
    fs::read(said.rsplit(" as ").next().unwrap()).unwrap()
}

#[test]
fn a_text_torn_by_a_write_in_place_is_completed() {
    let (old, new) = ("old text, and a long tail\n", "néw text\n");
    let torn_at = |at: usize| [&new.as_bytes()[..at], &old.as_bytes()[at..]].concat();
    for text in [torn_at(1), torn_at(2), torn_at(5), torn_at(new.len())] {
        let (ground, before, after) = torn(&text);
        let (texts, said) = mended(&ground, &before, &after);
        assert!(texts.iter().all(|(_, text)| text == new) && texts.len() == 2, "{texts:?}");
        assert!(said[0].starts_with("a.rs: planwright was killed writing it, and its text is whole now"), "{said:?}");
        assert_eq!((kept(&said), records(&ground)), (text, 0));
    }
    for whole in [old, new] {
        let (ground, before, after) = torn(whole.as_bytes());
        let (texts, said) = mended(&ground, &before, &after);
        assert_eq!((texts[0].1.as_str(), said.len(), records(&ground)), (whole, 0, 0), "it had not begun, or was over");
    }
}

#[test]
fn a_torn_text_that_somebody_has_changed_is_theirs() {
    let half = "néw text and a long tail\n";
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
    for seconds in [60, 6] {
        let later = torn(half.as_bytes());
        let own = fs::File::options().write(true).open(later.0.root.join("a.rs")).unwrap();
        own.set_times(FileTimes::new().set_modified(SystemTime::now() + Duration::from_secs(seconds))).unwrap();
        check(later, half);
    }
}

/// After a write that was whole, somebody sets one end of the text back: the bytes alone do not tell it from a torn one.
#[test]
fn what_stood_where_a_text_is_completed_is_kept() {
    let (ground, before, after) = torn("néw text\nand a long tail\n".as_bytes());
    let (texts, said) = mended(&ground, &before, &after);
    assert_eq!(texts[0].1, after.text());
    assert_eq!(kept(&said), "néw text\nand a long tail\n".as_bytes());
}

#[test]
fn bits_that_somebody_sets_have_no_text_put() {
    for (which, mode) in [(0, 0o755), (1, 0o755), (1, 0o444)] {
        let both = ["old text, and a long tail\n", "néw text\n"];
        let (ground, before, after) = torn(both[which].as_bytes());
        let own = ground.root.join("a.rs");
        fs::set_permissions(&own, fs::Permissions::from_mode(mode)).unwrap();
        let (texts, said) = mended(&ground, &before, &after);
        assert_eq!((texts[0].1.as_str(), said.len(), records(&ground)), (both[which], 0, 0));
        assert_eq!(fs::metadata(own).unwrap().permissions().mode() & 0o7777, mode);
    }
}

#[test]
fn a_text_saved_while_a_torn_one_is_completed_stands() {
    let (ground, before, after) = torn("néw text and a long tail\n".as_bytes());
    let own = ground.root.join("a.rs");
    let meanwhile = || {
        fs::write(own.with_extension("t"), "mine").unwrap();
        fs::rename(own.with_extension("t"), &own).unwrap();
    };
    let around = Circumstances { records: Some(Records(&ground.state)), meanwhile: &meanwhile, exchange: true };
    mend_in(&ground.root, &path("a.rs"), [before.hash(), after.hash()], around);
    assert_eq!(fs::read_to_string(&own).unwrap(), "mine");
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
