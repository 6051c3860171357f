//! Documents of several sessions, one at a time and together.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

use super::*;
use crate::domain::change::{Entry, HunkState, edits_at, file_change};
use crate::domain::ids::StepId;
use crate::domain::problem::Replacement;
use crate::domain::text;
use crate::ports::{DocumentChange, EditorFault, EditorOrder, Fut};

/// An editor that is never asked.
pub(super) struct Idle;

impl Editor for Idle {
    fn carry_out(&self, order: EditorOrder) -> Fut<'_, Result<(), EditorFault>> {
        Box::pin(std::future::ready(Err(EditorFault::NotOpen(order.change.path))))
    }
}

pub(super) fn path() -> WorkspacePath {
    WorkspacePath::new("src/a.rs").unwrap()
}

pub(super) fn file(text: &str) -> Entry {
    Entry::File { text: Arc::from(text), mode: 0o644 }
}

pub(super) fn change(before: &str, after: &str) -> Arc<FileChange> {
    Arc::new(file_change(path(), &file(before), &file(after), &StepId::new("one"), None))
}

/// One document with one change in it.
struct Desk {
    buffers: Buffers,
    session: SessionId,
    change: Arc<FileChange>,
    version: i32,
}

const BEFORE: &str = "fn a() {\n    one();\n}\n\nfn b() {\n    two();\n}\n\nfn c() {\n    six();\n}\n";
const AFTER: &str = "fn a() {\n    uno();\n}\n\nfn b() {\n    two();\n    log();\n}\n\nfn c() {\n}\n";

fn desk(before: &str, after: &str) -> Desk {
    let buffers = Buffers::new();
    let session = buffers.begin("Neovim", Arc::new(Idle));
    let change = change(before, after);
    buffers.watch(&path(), std::slice::from_ref(&change));
    let desk = Desk { buffers, session, change, version: 0 };
    desk.open(before);
    desk
}

impl Desk {
    fn open(&self, text: &str) {
        self.buffers.tell(self.session, DocumentEvent::Opened { path: path(), version: 0, text: Arc::from(text) });
    }

    fn text(&self) -> Arc<str> {
        self.buffers.newest(&path()).unwrap().text
    }

    fn change(&mut self, changes: Vec<DocumentChange>) -> &mut Self {
        self.version += 1;
        let event = DocumentEvent::Changed { path: path(), version: self.version, changes };
        self.buffers.tell(self.session, event);
        self
    }

    /// The first `find` becomes `put`, as exactly this range.
    fn edit(&mut self, find: &str, put: &str) -> &mut Self {
        let at = self.text().find(find).unwrap();
        self.change(vec![DocumentChange::Edit(Replacement { range: at..at + find.len(), text: put.to_owned() })])
    }

    fn whole(&mut self, text: &str) -> &mut Self {
        self.change(vec![DocumentChange::Whole(text.to_owned())])
    }

    #[track_caller]
    fn check(&mut self, expect: &str) -> &mut Self {
        let standings = self.buffers.standings(&self.change).unwrap();
        let text = self.text();
        let rows = standings.hunks.iter().map(|hunk| format!("{:?} {:?}", hunk.state, &text[hunk.range.clone()]));
        assert_eq!(rows.collect::<Vec<_>>().join(" | "), expect);
        for hunk in standings.hunks.iter().filter(|hunk| hunk.state != HunkState::Touched) {
            let (put, take) = match hunk.state {
                HunkState::Open => (vec![hunk.id.clone()], vec![]),
                _ => (vec![], vec![hunk.id.clone()]),
            };
            let edits = edits_at(&self.change, &text, &standings.hunks, &put, &take).unwrap();
            text::apply(&text, &edits).unwrap();
        }
        self
    }
}

const ALL_OPEN: &str = r#"Open "    one();\n" | Open "" | Open "    six();\n""#;
const LOG: &str = r#"Open "    one();\n" | Accepted "    log();\n" | Open "    six();\n""#;

#[test]
fn a_new_line_is_found_however_the_client_says_it() {
    desk(BEFORE, AFTER).edit("two();", "two();\n    log();").check(LOG).edit("\n    log();", "").check(ALL_OPEN);
    desk(BEFORE, AFTER).edit("two();\n}\n", "two();\n    log();\n}\n").check(LOG);
    desk(BEFORE, AFTER).edit(BEFORE, &BEFORE.replace("two();\n", "two();\n    log();\n")).check(LOG);
    desk(BEFORE, AFTER)
        .whole(&BEFORE.replace("two();\n", "two();\n    log();\n"))
        .check(LOG)
        .whole(BEFORE)
        .check(ALL_OPEN);
    // a line of the user below the last line of the hunk, as an edit inside that line
    desk(BEFORE, AFTER)
        .edit("one();", "one();\n    mine();")
        .check(r#"Open "    one();\n" | Open "" | Open "    six();\n""#);
}

#[test]
fn a_letter_put_before_a_line_is_no_line_of_its_own() {
    let mut desk = desk("top\nx\nend\n", "top\nyx\nend\n");
    desk.edit("x", "yx").check(r#"Accepted "yx\n""#).edit("yx", "x").check(r#"Open "x\n""#);
    desk.edit("top\n", "top").check(r#"Touched "x\n""#).edit("topx", "top\nx").check(r#"Open "x\n""#);
}

#[test]
fn a_swallowed_hunk_comes_back() {
    let mut desk = desk(BEFORE, AFTER);
    desk.edit("fn a", "// mine\nfn a").check(ALL_OPEN);
    desk.edit("{\n    one();\n}\n\nfn b() {\n    two();\n}", "{}")
        .check(r#"Touched "" | Touched "" | Open "    six();\n""#)
        .edit("{}", "{\n    one();\n}\n\nfn b() {\n    two();\n}")
        .check(ALL_OPEN);
    // typed by hand, in parts: the text is what it was
    desk.edit("    one();\n", "").check(r#"Touched "" | Open "" | Open "    six();\n""#);
    for put in ["    ", "one", "();", "\n"] {
        let at = desk.text().find("}\n\nfn b").unwrap();
        desk.change(vec![DocumentChange::Edit(Replacement { range: at..at, text: put.to_owned() })]);
    }
    desk.check(ALL_OPEN);
}

#[test]
fn a_formatter_that_rewrites_everything_loses_nothing() {
    let mut desk = desk(BEFORE, AFTER);
    desk.edit("one", "uno")
        .edit(BEFORE.replace("one", "uno").as_str(), &format!("use x;\n\n{}", BEFORE.replace("one", "uno")));
    desk.check(r#"Accepted "    uno();\n" | Open "" | Open "    six();\n""#);
    let other = BEFORE.replace("fn b() {\n    two();\n}\n\n", "");
    desk.whole(&other).check(r#"Open "    one();\n" | Touched "" | Open "    six();\n""#);
    desk.whole(AFTER).check(r#"Accepted "    uno();\n" | Accepted "    log();\n" | Accepted """#);
}

#[test]
fn edits_that_do_not_fit_put_a_document_astray_until_it_is_sent_anew() {
    let mut desk = desk("é\nx\n", "é\ny\n");
    desk.change(vec![DocumentChange::Edit(Replacement { range: 1..900, text: "z".to_owned() })]);
    desk.check(r#"Touched "z""#);
    assert_eq!(&*desk.text(), "z");
    desk.whole("é\ny\n").check(r#"Accepted "y\n""#);
    desk.change(vec![DocumentChange::Edit(Replacement { range: 9..9, text: "z".to_owned() })]);
    desk.open("é\nx\n");
    desk.check(r#"Open "x\n""#);
}

#[test]
fn file_operations_are_read_off_the_text() {
    let create = Arc::new(file_change(path(), &Entry::Absent, &file("x\n"), &StepId::new("one"), None));
    let delete = Arc::new(file_change(path(), &file("x\n"), &Entry::Absent, &StepId::new("one"), None));
    let desk = desk("", "");
    let state = |text: &str, change: &FileChange| {
        desk.open(text);
        desk.buffers.standings(change).unwrap().hunks[0].state
    };
    assert_eq!(
        ["", "x\n", "y\n"].map(|text| state(text, &create)),
        [HunkState::Open, HunkState::Accepted, HunkState::Touched]
    );
    assert_eq!(
        ["", "x\n", "y\n"].map(|text| state(text, &delete)),
        [HunkState::Touched, HunkState::Open, HunkState::Touched]
    );
}

#[test]
fn sessions_have_texts_of_their_own_and_the_newest_speaks() {
    let buffers = Arc::new(Buffers::new());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (list, documents) = (Arc::clone(&heard), Arc::downgrade(&buffers));
    buffers.listen(Arc::new(move |session, event| {
        let text = documents.upgrade().and_then(|documents| documents.of(session, event.path()));
        lock(&list).push((session.0, text.map(|document| document.text.to_string())));
    }));
    let (one, two) = (buffers.begin("Neovim", Arc::new(Idle)), buffers.begin("Neovim", Arc::new(Idle)));
    let open = |session, text: &str| {
        buffers.tell(session, DocumentEvent::Opened { path: path(), version: 1, text: Arc::from(text) });
    };
    open(one, "one");
    open(two, "two");
    assert_eq!(buffers.newest(&path()).unwrap().session, two);
    assert_eq!(buffers.editor(&path(), Some(one)).unwrap().0, one);
    assert_eq!(buffers.editor(&path(), Some(SessionId(9))).unwrap().0, two);
    let put = DocumentChange::Edit(Replacement { range: 0..0, text: "1".to_owned() });
    buffers.tell(one, DocumentEvent::Changed { path: path(), version: 2, changes: vec![put] });
    assert_eq!(buffers.newest(&path()).unwrap().session, one);
    buffers.end(one);
    assert_eq!(buffers.of(one, &path()), None);
    assert_eq!(buffers.paths(), [path()]);
    open(one, "a ghost");
    buffers.tell(two, DocumentEvent::Closed { path: path() });
    buffers.tell(two, DocumentEvent::Saved { path: path() });
    assert!(buffers.paths().is_empty() && buffers.editor(&path(), None).is_none());
    let texts = lock(&heard).clone();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(texts, [(1, text("one")), (2, text("two")), (1, text("1one")), (1, None), (2, None)]);
}

#[test]
fn a_change_that_is_watched_already_keeps_its_spots() {
    let mut desk = desk("}\n}\n}\n", "}\n}\nx\n}\n");
    desk.edit("}", "{\n}").check(r#"Open """#);
    let at = desk.buffers.standings(&desk.change).unwrap().hunks[0].range.start;
    let again = Arc::new((*desk.change).clone());
    desk.buffers.watch(&path(), &[change("", "q\n"), again]);
    assert_eq!(desk.buffers.standings(&desk.change).unwrap().hunks[0].range.start, at);
    desk.buffers.watch(&path(), &[]);
    assert!(desk.buffers.standings(&desk.change).is_some());
}

/// Neovim tells of a first line and a last one that changed as one edit of everything between them.
#[test]
fn lines_that_a_client_sends_anew_unchanged_keep_their_hunks() {
    let before =
        "//! A till.\n\n/// One.\npub fn one() -> u32 {\n    1\n}\n\n/// Two.\npub fn two() -> u32 {\n    2\n}\n";
    let mut desk = desk(before, &before.replace("    1\n", "    10\n").replace("    2\n", "    20\n"));
    let open = r#"Open "    1\n" | Open "    2\n""#;
    let mine = format!("{}end\n", before.replace("A till", "My till"));
    desk.edit(before, &mine).check(open);
    desk.edit("end\n", "end").check(open).edit("//! My", "//! Our").check(open);
    let theirs = format!("{}x\nend\n", before.replace("A till", "Its till"));
    let from = desk.text().len();
    desk.change(vec![DocumentChange::Edit(Replacement { range: 0..from, text: theirs })]).check(open);
}
