//! The bench over an in-memory workspace and a parser that knows just enough: `fn`, `struct`, `impl`, brackets.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use super::*;
use crate::domain::agent::order::*;
use crate::domain::ids::{ContentHash, TaskId};
use crate::domain::plan::Rule;
use crate::domain::policy::paths::WriteRight;
use crate::domain::symbols::{FileSymbols, Reference, Symbol, SymbolKind, SymbolTable, SyntaxError};
use crate::domain::task::facts::Binding;
use crate::ports::{FileEdits, Fut, LoosePage, RuleRefusal, Source, WriteRefusal};
use proptest::prelude::*;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Files(Mutex<BTreeMap<WorkspacePath, String>>);

impl Files {
    fn of(files: &[(&str, &str)]) -> Self {
        Self(Mutex::new(files.iter().map(|(name, text)| (path(name), (*text).to_owned())).collect()))
    }

    fn save(&self, name: &str, text: &str) {
        self.0.lock().unwrap().insert(path(name), text.to_owned());
    }
}

impl Workspace for Files {
    fn root(&self) -> &Path {
        Path::new("/w")
    }
    fn binding(&self) -> Fut<'_, Binding> {
        Box::pin(async { Binding { root: PathBuf::from("/w"), git: None, head: None, branch: None } })
    }
    fn list(&self) -> Fut<'_, Vec<Listed>> {
        let files = self.0.lock().unwrap();
        let kept = files.iter().filter(|(path, _)| !path.as_str().starts_with("target/"));
        let listed = kept.map(|(path, text)| Listed { path: path.clone(), size: text.len() as u64 }).collect();
        Box::pin(async move { listed })
    }
    fn read<'a>(&'a self, path: &'a WorkspacePath) -> Fut<'a, Result<Entry, ReadRefusal>> {
        let entry = match self.0.lock().unwrap().get(path) {
            _ if path.extension() == Some("png") => Err(ReadRefusal::Binary(path.clone())),
            Some(text) => Ok(Entry::File { text: text.as_str().into(), mode: 0o644 }),
            None => Ok(Entry::Absent),
        };
        Box::pin(async move { entry })
    }
    fn resolved<'a>(&'a self, given: &'a WorkspacePath) -> Fut<'a, WorkspacePath> {
        let target = given.as_str().strip_prefix("src/new/link-").map(path);
        Box::pin(async move { target.unwrap_or_else(|| given.clone()) })
    }
    fn write<'a>(&'a self, _: &'a WorkspacePath, _: &'a Entry, _: &'a Entry) -> Fut<'a, Result<(), WriteRefusal>> {
        panic!("the bench writes nothing of the user's")
    }
    fn write_page<'a>(&'a self, _: &'a TaskId, _: &'a str, _: &'a str) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        panic!("the bench writes no page")
    }
    fn replace_page<'a>(
        &'a self,
        _: &'a TaskId,
        _: &'a str,
        _: &'a str,
        _: &'a str,
    ) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        panic!("the bench writes no page")
    }
    fn read_page<'a>(&'a self, _: &'a TaskId, _: &'a str) -> Fut<'a, Result<Option<String>, ReadRefusal>> {
        Box::pin(async { Ok(None) })
    }
    fn page_path(&self, _: &TaskId, name: &str) -> PathBuf {
        PathBuf::from(name)
    }
    fn write_loose<'a>(&'a self, _: LoosePage, _: &'a str) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        panic!("the bench writes no page")
    }
    fn read_loose(&self, _: LoosePage) -> Fut<'_, Result<Option<String>, ReadRefusal>> {
        Box::pin(async { Ok(None) })
    }
}

struct Braces;

impl Braces {
    fn symbols(text: &str) -> Vec<Symbol> {
        let mut found: Vec<Symbol> = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let bare = line.trim();
            let start = at + line.len() - line.trim_start().len();
            at += line.len();
            let words: Vec<&str> = bare.split([' ', '(', '{', '<', ';']).filter(|word| *word != "pub").collect();
            let kind = match words.first() {
                Some(&"fn") => SymbolKind::Function,
                Some(&"struct") => SymbolKind::Struct,
                Some(&"impl") => SymbolKind::Impl,
                _ => continue,
            };
            let name = words.get(1).unwrap().to_string();
            let range = Self::item(text, start);
            let outer =
                found.iter().rev().find(|symbol| symbol.kind == SymbolKind::Impl && symbol.range.contains(&start));
            let (path, kind) = match outer {
                Some(outer) => (format!("{}::{name}", outer.name), SymbolKind::Method),
                None => (name.clone(), kind),
            };
            let body = ContentHash::of(text.get(range.clone()).unwrap());
            let signature = bare.split('{').next().unwrap().trim().to_owned();
            found.push(Symbol { path, name, kind, range, name_range: start..start, signature, public: true, body });
        }
        found
    }

    fn item(text: &str, start: usize) -> Range<usize> {
        let mut depth = 0;
        for (n, c) in text.get(start..).unwrap().char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if (c == '}' || c == ';') && depth <= 0 {
                return start..start + n + 1;
            }
        }
        start..text.len()
    }
}

impl Syntax for Braces {
    fn outline(&self, source: &Source) -> FileSymbols {
        let rust = source.path.extension() == Some("rs");
        let symbols = if rust { Self::symbols(&source.text) } else { Vec::new() };
        FileSymbols { content: ContentHash::of(source.text.as_bytes()), symbols, mentions: Vec::new() }
    }
    fn errors(&self, source: &Source) -> Vec<SyntaxError> {
        let mut depth = 0_i32;
        for (n, line) in source.text.lines().enumerate() {
            depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
            if depth < 0 {
                return vec![SyntaxError { range: 0..0, line: n as u32 + 1, message: "unexpected `}`".to_owned() }];
            }
        }
        let last = source.text.lines().count() as u32;
        let open = SyntaxError { range: 0..0, line: last, message: "missing `}`".to_owned() };
        if depth > 0 { vec![open] } else { Vec::new() }
    }
    fn table(&self) -> SymbolTable {
        SymbolTable::default()
    }
    fn references(&self, sources: &[Source], name: &str) -> Vec<Reference> {
        let lines = |source: &Source| -> Vec<Reference> {
            let hit = |(n, line): (usize, &str)| {
                let found = Reference {
                    path: source.path.clone(),
                    range: 0..0,
                    line: n as u32 + 1,
                    text: line.trim().to_owned(),
                };
                line.contains(name).then_some(found)
            };
            source.text.lines().enumerate().filter_map(hit).collect()
        };
        sources.iter().flat_map(lines).collect()
    }
    fn transform(&self, _: &[Source], _: &Rule) -> Result<Vec<FileEdits>, RuleRefusal> {
        panic!("not a rule")
    }
    fn imports(&self, source: &Source) -> Vec<Range<usize>> {
        let lines = source.text.split_inclusive('\n').scan(0, |at, line| {
            *at += line.len();
            Some((*at - line.len()..*at - line.len() + line.trim_end().len(), line))
        });
        lines.filter(|(_, line)| line.starts_with("use ")).map(|(range, _)| range).collect()
    }
    fn version(&self) -> String {
        String::new()
    }
}

const LIB: &str = "pub struct Store {\n}\n\nimpl Store {\n    pub fn load() -> Store {\n        Store {}\n    }\n\n    pub fn save(&self) {\n        write();\n    }\n}\n";

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::new(text).unwrap()
}

fn files() -> Files {
    Files::of(&[
        ("src/lib.rs", LIB),
        ("src/main.rs", "fn main() {\n    store.save();\n}\n"),
        (".env", "TOKEN=save\n"),
        ("target/out.rs", "fn save() {}\n"),
        ("logo.png", "save"),
        ("Cargo.toml", "[package]\nname = \"x\"\n"),
    ])
}

fn rights() -> Rights {
    let right = |glob: &str, new| WriteRight { glob: glob.to_owned(), new, focus: None };
    Rights {
        write: vec![right("src/lib.rs", false), right("src/new/*.rs", true), right("Cargo.toml", false)],
        ..Rights::default()
    }
}

fn act(act: Act) -> ToolOrder {
    ToolOrder { call: "c".to_owned(), act, why: None }
}

fn edit(symbol: &str, place: Placement, code: &str) -> Act {
    Act::Edit { path: path("src/lib.rs"), symbol: Some(symbol.to_owned()), place, code: code.to_owned() }
}

fn read(name: &str) -> Act {
    Act::Read(ReadArguments { path: name.to_owned(), ..ReadArguments::default() })
}

fn show(result: &ToolResult) -> String {
    match result {
        ToolResult::Ok { text, full } => format!("{text}{}", if full.is_some() { "(cut)\n" } else { "" }),
        ToolResult::Err(error) => {
            format!("! {} / retry {} / {}\n", error.what, error.retry, error.instead)
        }
    }
}

async fn done(bench: &mut Bench, files: &Files, order: Act) -> String {
    let future: Fut<'_, ToolResult> = Box::pin(async { bench.do_order(&act(order), &rights(), files, &Braces).await });
    show(&future.await)
}

#[tokio::test]
async fn reading_is_small_first_and_never_secret() {
    let (files, mut bench) = (files(), Bench::default());
    let mut told = String::new();
    let search = SearchArguments { regex: "save".to_owned(), ..SearchArguments::default() };
    let range = ReadArguments { path: "src/lib.rs".to_owned(), from: Some(9), to: Some(99), symbol: None };
    let item = ReadArguments { symbol: Some("Store::save".to_owned()), path: "src/lib.rs".to_owned(), ..range.clone() };
    for order in [
        Act::List(ListArguments::default()),
        Act::List(ListArguments { within: Some("src".to_owned()) }),
        Act::Search(search),
        Act::Outline(OutlineArguments { path: "src/lib.rs".to_owned() }),
        Act::Read(range),
        Act::Read(item),
        Act::References(ReferencesArguments { name: "Store::save".to_owned() }),
        read(".env"),
        read("target/out.rs"),
        read("logo.png"),
        read("../etc/passwd"),
        read("src/none.rs"),
        Act::Read(ReadArguments {
            path: "src/lib.rs".to_owned(),
            symbol: Some("sav".to_owned()),
            from: None,
            to: None,
        }),
    ] {
        told.push_str(&format!("-- {}\n{}", order.name(), done(&mut bench, &files, order).await));
    }
    insta::assert_snapshot!(told, @"
    -- list
    4 files
    Cargo.toml (21 bytes)
    logo.png (4 bytes)
    src/lib.rs (138 bytes)
    src/main.rs (32 bytes)
    -- list
    2 files
    src/lib.rs (138 bytes)
    src/main.rs (32 bytes)
    -- search
    2 matches in 2 files
    src/lib.rs: 1
    src/main.rs: 1
    src/lib.rs:9: pub fn save(&self) {
    src/main.rs:2: store.save();
    -- outline
    src/lib.rs: 12 lines, 4 items
    `Store` lines 1-2: pub struct Store
    `Store` lines 4-12: impl Store
    `Store::load` lines 5-7: pub fn load() -> Store
    `Store::save` lines 9-11: pub fn save(&self)
    -- read
    src/lib.rs, lines 9-12 of 12
        pub fn save(&self) {
            write();
        }
    }
    -- read
    src/lib.rs, `Store::save` lines 9-11: pub fn save(&self)
        pub fn save(&self) {
            write();
        }
    -- references
    1 matches in 1 files
    src/lib.rs:9: pub fn save(&self) {
    -- read
    ! `.env` is not read by any tool (environment secrets) / retry false / go on without it; ask the person for the one fact you need
    -- read
    ! `target/out.rs` is ignored by the workspace, and the plan does not name it / retry false / stay inside the plan, or ask for a wider scope: `ask` with `scope` naming the paths
    -- read
    ! logo.png is a binary file / retry false / go on without this file, or `ask` the person
    -- read
    ! `../etc/passwd` leads out of the workspace / retry false / name a file of the workspace, as `list` shows it
    -- read
    ! there is no file `src/none.rs` / retry false / `list` shows what there is
    -- read
    ! there is no item `sav` in src/lib.rs; there is
    `Store::save` lines 9-11: pub fn save(&self) / retry false / name one of these as it stands there
    ");
    assert!(bench.changed().is_empty());
}

#[tokio::test]
async fn edits_are_judged_before_they_count() {
    let (files, mut bench) = (files(), Bench::default());
    let mut told = String::new();
    let save = "    pub fn save(&self) -> Result<()> {\n        write()\n    }\n";
    let echo = format!("use std::io;\n\n{}", LIB.replace("write();", "flush();"));
    let helper = format!("{echo}\nfn helper() {{}}\n");
    let wrapped = "impl Store {\n    pub fn save(&self) -> Result<()> {\n        write()\n    }\n}\n";
    for order in [
        edit("Store::save", Placement::Instead, "pub fn save(&self) {\n    write(\n"),
        edit("Store::save", Placement::Instead, save),
        edit("Store::save", Placement::Instead, wrapped),
        edit("Store::save", Placement::Instead, &echo),
        edit("Store::save", Placement::Instead, &helper),
        edit("Store::save", Placement::Instead, save),
        edit("Store", Placement::After, "fn a() {}"),
        edit("struct Store", Placement::Instead, "pub struct Store {\n    map: Map,\n}\n"),
        edit("Store::save", Placement::After, save),
        edit("Store::load", Placement::After, "pub fn clear(&mut self) {\n    drop()\n}\n"),
        edit("Store::sav", Placement::Instead, save),
        Act::Edit {
            path: path("src/main.rs"),
            symbol: None,
            place: Placement::Instead,
            code: "fn main() {}".to_owned(),
        },
        Act::Edit { path: path("Cargo.toml"), symbol: None, place: Placement::Instead, code: "[package]".to_owned() },
    ] {
        told.push_str(&format!("-- {}", done(&mut bench, &files, order).await));
    }
    for changed in bench.changed() {
        told.push_str(&format!("== {}\n{}", changed.path, changed.after.text()));
    }
    insta::assert_snapshot!(told, @"
    -- ! the change would break the syntax of src/lib.rs
    line 11: missing `}`: } / retry false / write the whole item again, complete and with balanced brackets
    -- src/lib.rs is changed; it has 12 lines now, 12 before
    -- src/lib.rs is so already; nothing changed
    only `Store::save` was taken from the fence (and imports, where the file has its own); the rest was left out
    -- src/lib.rs is changed; it has 12 lines now, 12 before
    only `Store::save` was taken from the fence (and imports, where the file has its own); the rest was left out
    -- ! the code holds more than `Store::save`: also `helper` / retry false / put this one item into the fence, whole, and nothing around it
    -- src/lib.rs is changed; it has 12 lines now, 12 before
    -- ! `Store` names several items of src/lib.rs
    `Store` lines 1-2: pub struct Store
    `Store` lines 4-12: impl Store / retry false / put the kind before the name (`struct Store`, `impl Store`), or name an item inside
    -- src/lib.rs is changed; it has 13 lines now, 12 before
    -- ! the code is `Store::save` itself, and `place` would leave the old one beside it / retry false / to change it, call `edit` with `place` `instead`
    -- src/lib.rs is changed; it has 17 lines now, 13 before
    -- ! there is no item `Store::sav` in src/lib.rs; there is
    `Store::save` lines 14-16: pub fn save(&self) -> Result<()> / retry false / name one of these as it stands there
    -- ! `src/main.rs` is outside the write set of this step, which is `src/lib.rs`, `src/new/*.rs`, `Cargo.toml` / retry false / stay inside the plan, or ask for a wider scope: `ask` with `scope` naming the paths
    -- Cargo.toml is changed; it has 1 lines now, 2 before
    == Cargo.toml
    [package]
    == src/lib.rs
    pub struct Store {
        map: Map,
    }

    impl Store {
        pub fn load() -> Store {
            Store {}
        }

        pub fn clear(&mut self) {
            drop()
        }

        pub fn save(&self) -> Result<()> {
            write()
        }
    }
    ");
}

#[tokio::test]
async fn files_come_and_go_within_the_write_set() {
    let (files, mut bench) = (files(), Bench::default());
    let mut told = String::new();
    let create = |name: &str, text: &str| Act::Create { path: path(name), text: text.to_owned() };
    let pair = |search: &str, replace: &str| Pair { search: search.to_owned(), replace: replace.to_owned() };
    let replace = |pairs: Vec<Pair>| Act::Replace { path: path("src/lib.rs"), pairs };
    for order in [
        create("src/new/a.rs", "fn a() {}"),
        create("src/new/a.rs", "fn a() {}"),
        create("src/other.rs", "fn a() {}"),
        create("src/new/broken.rs", "fn a() {"),
        create(".env.local", "X=1"),
        Act::Rename { from: path("src/new/a.rs"), to: path("src/new/b.rs") },
        Act::Delete { path: path("src/main.rs") },
        Act::Delete { path: path("src/new/b.rs") },
        replace(vec![pair("pub fn", "fn")]),
        replace(vec![pair("write();", "write()"), pair("nowhere", "x")]),
        replace(vec![pair("write();", "flush();"), pair("Store {}", "Store { }")]),
        Act::Check,
    ] {
        told.push_str(&format!("-- {}", done(&mut bench, &files, order).await));
    }
    for changed in bench.changed() {
        told.push_str(&format!("== {} {}\n", changed.path, changed.after != Entry::Absent));
    }
    insta::assert_snapshot!(told, @"
    -- src/new/a.rs is written, 1 lines
    -- ! `src/new/a.rs` exists / retry false / change it with `edit` or `replace`
    -- ! `src/other.rs` is outside the write set of this step, which is `src/lib.rs`, `src/new/*.rs`, `Cargo.toml` / retry false / stay inside the plan, or ask for a wider scope: `ask` with `scope` naming the paths
    -- ! the change would break the syntax of src/new/broken.rs
    line 1: missing `}`: fn a() { / retry false / write the whole item again, complete and with balanced brackets
    -- ! `.env.local` is not written by any tool (environment secrets) / retry false / leave it to the person, and say in `note` what it would need
    -- src/new/a.rs is now src/new/b.rs
    -- ! `src/main.rs` is outside the write set of this step, which is `src/lib.rs`, `src/new/*.rs`, `Cargo.toml` / retry false / stay inside the plan, or ask for a wider scope: `ask` with `scope` naming the paths
    -- src/new/b.rs is removed
    -- ! the search stands 2 times, at lines 5, 9; add lines around it until it stands once / retry false / add lines around it until it stands once, or `edit` the whole item
    -- ! pair 2: the search stands nowhere in the file, and no line of it does; read the file again / retry false / copy the lines as they stand in the file, or `edit` the whole item
    -- src/lib.rs is changed; it has 12 lines now, 12 before
    -- ! `check` is not done at the bench / retry false / this is a defect
    == src/lib.rs true
    ");
}

#[tokio::test]
async fn imports_that_come_with_an_item_are_kept() {
    let (files, mut bench) = (files(), Bench::default());
    let file = path("src/new/a.rs");
    let text = "use std::fs;\r\n\r\nfn a() {\r\n}\r\n".to_owned();
    done(&mut bench, &files, Act::Create { path: file.clone(), text }).await;
    let code = "use std::io;\nuse std::fs;\n\nfn a() -> io::Result<()> {\n    fs()\n}\n".to_owned();
    let order = Act::Edit { path: file, symbol: Some("a".to_owned()), place: Placement::Instead, code };
    let told = done(&mut bench, &files, order).await;
    let text: String = bench.changed().iter().map(|changed| format!("{:?}", changed.after.text())).collect();
    insta::assert_snapshot!(format!("{told}{text}"), @r#"
    src/new/a.rs is changed; it has 6 lines now, 4 before
    only `a` was taken from the fence (and imports, where the file has its own); the rest was left out
    "use std::fs;\r\nuse std::io;\r\n\r\nfn a() -> io::Result<()> {\r\n    fs()\r\n}\r\n"
    "#);
}

#[tokio::test]
async fn a_link_opens_nothing_that_its_target_does_not() {
    let (files, mut bench) = (files(), Bench::default());
    let create = |name: &str| Act::Create { path: path(name), text: "a\n".to_owned() };
    let mut refused = Vec::new();
    for order in [
        read("src/new/link-.env"),
        read("src/new/link-target"),
        create("src/new/link-other.rs"),
        Act::Delete { path: path("src/new/link-main.rs") },
    ] {
        refused.push(done(&mut bench, &files, order).await.split(" / ").next().unwrap_or("").to_owned());
    }
    insta::assert_snapshot!(refused.join("\n"), @"
    ! `.env` is not read by any tool (environment secrets)
    ! `target` is ignored by the workspace, and the plan does not name it
    ! `other.rs` is outside the write set of this step, which is `src/lib.rs`, `src/new/*.rs`, `Cargo.toml`
    ! `main.rs` is outside the write set of this step, which is `src/lib.rs`, `src/new/*.rs`, `Cargo.toml`
    ");
}

#[tokio::test]
async fn a_file_written_whole_keeps_its_manner() {
    let mut told = String::new();
    for (before, code) in [
        ("a\n", "b\nc"),
        ("a\r\nb\r\n", "b\nc\n"),
        ("\u{feff}a\r\nb", "b\nc\n"),
        ("a", "b\n"),
        ("a\n", "\u{feff}b\n"),
        ("", "b"),
    ] {
        let (files, mut bench) = (files(), Bench::default());
        files.save("Cargo.toml", before);
        let order =
            Act::Edit { path: path("Cargo.toml"), symbol: None, place: Placement::Instead, code: code.to_owned() };
        done(&mut bench, &files, order).await;
        told.extend(bench.changed().iter().map(|changed| format!("{before:?} -> {:?}\n", changed.after.text())));
    }
    insta::assert_snapshot!(told, @r#"
    "a\n" -> "b\nc\n"
    "a\r\nb\r\n" -> "b\r\nc\r\n"
    "\u{feff}a\r\nb" -> "\u{feff}b\r\nc"
    "a" -> "b"
    "a\n" -> "b\n"
    "" -> "b\n"
    "#);
}

#[tokio::test]
async fn a_step_sees_one_version_of_a_file() {
    let (files, mut bench) = (files(), Bench::default());
    let first = done(&mut bench, &files, read("src/main.rs")).await;
    files.save("src/main.rs", "fn main() {\n    other();\n}\n");
    assert_eq!(done(&mut bench, &files, read("src/main.rs")).await, first);
    let stored = serde_json::to_string(&bench).unwrap();
    let mut bench: Bench = serde_json::from_str(&stored).unwrap();
    assert_eq!(done(&mut bench, &files, read("src/main.rs")).await, first);
}

#[tokio::test]
async fn earlier_proposals_lie_over_the_disk() {
    let made = Entry::File { text: Arc::from("fn made() {}\n"), mode: 0o644 };
    let mut bench = Bench::new(BTreeMap::from([(path("src/made.rs"), made), (path("src/main.rs"), Entry::Absent)]));
    let told = done(&mut bench, &files(), Act::List(ListArguments { within: Some("src/".to_owned()) })).await;
    insta::assert_snapshot!(told, @"
    2 files
    src/lib.rs (138 bytes)
    src/made.rs (13 bytes)
    ");
    assert!(bench.changed().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    /// Bytes outside an item survive its replacement, whatever the line endings.
    #[test]
    fn bytes_outside_the_item_stay(crlf in any::<bool>(), body in "[xyz ;\n]{0,30}", bom in any::<bool>()) {
        let text = format!("{}{LIB}", if bom { "\u{feff}" } else { "" });
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        let symbols = Braces::symbols(&text);
        let save = symbols.iter().find(|symbol| symbol.name == "save").unwrap();
        let code = format!("pub fn save(&self) {{\n{body}\n}}");
        let after = matching::replace_item(&text, save.range.clone(), &code).unwrap();
        prop_assert!(after.starts_with(text.get(..save.range.start).unwrap()));
        prop_assert!(after.ends_with(text.get(save.range.end..).unwrap()));
        let endings = after.matches("\r\n").count();
        prop_assert_eq!(endings, if crlf { after.matches('\n').count() } else { 0 });
        for (place, at) in [(Placement::Before, save.range.start), (Placement::After, save.range.end)] {
            let beside = matching::insert_item(&text, save.range.clone(), &code, place).unwrap();
            prop_assert!(beside.starts_with(text.get(..at).unwrap()));
            prop_assert!(beside.ends_with(text.get(at..).unwrap()));
            prop_assert_eq!(Braces::symbols(&beside).len(), symbols.len() + 1);
        }
        let again = matching::replace_item(&text, save.range.clone(), text.get(save.range.clone()).unwrap()).unwrap();
        prop_assert_eq!(again, text);
    }
}
