#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use super::*;
use crate::domain::ids::WorkspacePath;
use crate::domain::symbols::new_errors;
use proptest::prelude::*;

fn syntax() -> TreeSitter {
    TreeSitter::with_index(Index::in_memory())
}

fn source(path: &str, text: &str) -> Source {
    Source { path: WorkspacePath::new(path).unwrap(), text: text.into() }
}

/// One line a symbol: `+` public, kind, path, signature, and the first line of its range.
fn outline(text: &str) -> String {
    let file = syntax().outline(&source("src/a.rs", text));
    let line = |symbol: &crate::domain::symbols::Symbol| {
        assert!(text.get(symbol.name_range.clone()).is_some());
        format!(
            "{} {:?} {} | {} | {}",
            if symbol.public { '+' } else { '-' },
            symbol.kind,
            symbol.path,
            symbol.signature,
            text[symbol.range.clone()].lines().next().unwrap_or_default()
        )
    };
    file.symbols.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn functions_and_types_have_paths_signatures_and_documentation() {
    insta::assert_snapshot!(outline(
        "use a::b;\n\n// plain\n/// Doc.\n#[inline]\npub fn  send(\n  a: u8,\n) -> u8 {\n  a\n}\n\npub(crate) struct P(pub u8, i8);\n\
         /** Block. */\npub struct S<T> where T: Clone {\n  /// f\n  pub x: T,\n  y: u8,\n}\npub enum E { A, #[x] B { z: u8 }, C(u8) }\n\
         pub const N: usize = 3;\nstatic M: u8 = 1;\npub type R<T> = Result<T, ()>;\nunion U { a: u8 }\n"
    ), @"
    + Function send | pub fn send( a: u8, ) -> u8 | /// Doc.
    - Struct P | pub(crate) struct P(pub u8, i8) | pub(crate) struct P(pub u8, i8);
    + Struct S | pub struct S<T> where T: Clone | /** Block. */
    + Field S::x | pub x: T | /// f
    - Field S::y | y: u8 | y: u8
    + Enum E | pub enum E | pub enum E { A, #[x] B { z: u8 }, C(u8) }
    + Variant E::A | A | A
    + Variant E::B | B | #[x] B { z: u8 }
    + Field E::B::z | z: u8 | z: u8
    + Variant E::C | C(u8) | C(u8)
    + Const N | pub const N: usize | pub const N: usize = 3;
    - Static M | static M: u8 | static M: u8 = 1;
    + Type R | pub type R<T> = Result<T, ()> | pub type R<T> = Result<T, ()>;
    - Struct U | union U | union U { a: u8 }
    - Field U::a | a: u8 | a: u8
    ");
}

#[test]
fn methods_belong_to_their_type_and_trait_impls_say_which() {
    insta::assert_snapshot!(outline(
        "pub struct C;\nimpl C { pub fn new() -> Self { fn inner() {} C } fn own(&self) {} const K: u8 = 1; }\n\
         impl<T> From<io::Error> for C { fn from(e: io::Error) -> Self { C } }\n\
         impl std::fmt::Display for &'a m::Other<T> { fn fmt(&self) {} }\n\
         pub trait T { type Out; fn must(&self); fn may(&self) {} }\n\
         struct Hidden;\nimpl Hidden { pub fn x() {} }\nimpl Drop for Hidden { fn drop(&mut self) {} }\n"
    ), @"
    + Struct C | pub struct C | pub struct C;
    - Impl C | impl C | impl C { pub fn new() -> Self { fn inner() {} C } fn own(&self) {} const K: u8 = 1; }
    + Method C::new | pub fn new() -> Self | pub fn new() -> Self { fn inner() {} C }
    - Function C::new::inner | fn inner() | fn inner() {}
    - Method C::own | fn own(&self) | fn own(&self) {}
    - Const C::K | const K: u8 | const K: u8 = 1;
    + Impl From<io::Error> for C | impl<T> From<io::Error> for C | impl<T> From<io::Error> for C { fn from(e: io::Error) -> Self { C } }
    - Method C::from | fn from(e: io::Error) -> Self | fn from(e: io::Error) -> Self { C }
    + Impl Display for Other | impl std::fmt::Display for &'a m::Other<T> | impl std::fmt::Display for &'a m::Other<T> { fn fmt(&self) {} }
    - Method Other::fmt | fn fmt(&self) | fn fmt(&self) {}
    + Trait T | pub trait T | pub trait T { type Out; fn must(&self); fn may(&self) {} }
    + Type T::Out | type Out | type Out;
    + Method T::must | fn must(&self) | fn must(&self);
    + Method T::may | fn may(&self) | fn may(&self) {}
    - Struct Hidden | struct Hidden | struct Hidden;
    - Impl Hidden | impl Hidden | impl Hidden { pub fn x() {} }
    - Method Hidden::x | pub fn x() | pub fn x() {}
    - Impl Drop for Hidden | impl Drop for Hidden | impl Drop for Hidden { fn drop(&mut self) {} }
    - Method Hidden::drop | fn drop(&mut self) | fn drop(&mut self) {}
    ");
}

#[test]
fn modules_nest_and_hide() {
    insta::assert_snapshot!(outline(
        "mod file;\npub mod open { pub fn a() {} pub mod deep { pub struct X; } }\nmod shut { pub fn b() {} }\n\
         #[macro_export]\nmacro_rules! m { () => { fn made() {} } }\nmacro_rules! n { () => {} }\n#[cfg(test)]\nmod tests { #[test]\n fn works() {} }\n\
         extern \"C\" { fn c_call(x: i32); }\n"
    ), @"
    - Module file | mod file | mod file;
    + Module open | pub mod open | pub mod open { pub fn a() {} pub mod deep { pub struct X; } }
    + Function open::a | pub fn a() | pub fn a() {}
    + Module open::deep | pub mod deep | pub mod deep { pub struct X; }
    + Struct open::deep::X | pub struct X | pub struct X;
    - Module shut | mod shut | mod shut { pub fn b() {} }
    - Function shut::b | pub fn b() | pub fn b() {}
    + Macro m | macro_rules! m | #[macro_export]
    - Macro n | macro_rules! n | macro_rules! n { () => {} }
    - Module tests | mod tests | #[cfg(test)]
    - Function tests::works | fn works() | #[test]
    - Function c_call | fn c_call(x: i32) | fn c_call(x: i32);
    ");
}

#[test]
fn documentation_is_no_part_of_the_body() {
    let body = |text: &str| syntax().outline(&source("a.rs", text)).symbols[0].body.clone();
    let plain = body("pub struct A {\n    x: u8,\n}\n");
    assert_eq!(plain, body("/// Doc.\npub struct A {\n    /// x\n    x: u8,\n}\n"));
    assert_eq!(plain, body("/** Doc.\n two */\npub struct A {\n    //! x\n    x: u8,\n}\n"));
    assert_ne!(plain, body("pub struct A {\n    x: u16,\n}\n"));
    assert_ne!(plain, body("#[repr(C)]\npub struct A {\n    x: u8,\n}\n"));
}

#[test]
fn mentions_are_identifiers_only() {
    let file = syntax().outline(&source(
        "a.rs",
        "// comment\nfn f(x: &'life T) { x.call(\"text\"); S { short, full: 1 }; m!(inner); }",
    ));
    assert_eq!(file.mentions.join(" "), "S T call f full inner life m short x");
}

#[test]
fn an_unknown_language_is_text() {
    let text = source("README.md", "# fn x() {}");
    assert_eq!(syntax().outline(&text).symbols, []);
    assert_eq!(syntax().errors(&text), []);
    assert!(syntax().imports(&text).is_empty());
    assert_eq!(syntax().references(&[text], "x"), []);
}

fn errors(text: &str) -> String {
    let found = syntax().errors(&source("a.rs", text));
    found.iter().map(|error| format!("{}: {}", error.line, error.message)).collect::<Vec<_>>().join("\n")
}

#[test]
fn errors_have_a_line_and_a_reason() {
    assert_eq!(errors("fn f() {}\n"), "");
    insta::assert_snapshot!(errors("fn f() {\n  let x = ;\n}\n"), @"2: unexpected `=`");
    insta::assert_snapshot!(errors("fn f() {\n  g(1\n}\n"), @"2: missing `)`");
    insta::assert_snapshot!(errors("fn f() { let x = 1 }\n\n\nfn g() {\n"), @"
    1: missing `;`
    4: unexpected `fn g() {`
    ");
}

#[test]
fn only_new_errors_count() {
    let at = |text: &str| syntax().errors(&source("a.rs", text));
    let before = at("fn f() { let x = ; }\nfn g() { 1 }\n");
    let same = at("fn f() { let x = ; }\nfn g() { 2 }\n");
    let worse = at("fn f() { let x = ; }\nfn g() { let y = ; }\n");
    assert_eq!(new_errors(&before, &same).len(), 0);
    assert_eq!(new_errors(&before, &worse).iter().map(|e| e.line).collect::<Vec<_>>(), [2]);
}

#[test]
fn references_are_not_in_strings_or_comments() {
    let a =
        source("a.rs", "use m::send;\n// send\nfn f() { send(\"send\"); x.send(); resend(); print!(\"{}\", send) }\n");
    let b = source("b.txt", "send");
    let found = syntax().references(&[a, b], "send");
    let lines = found.iter().map(|r| format!("{}:{} {} {}", r.path, r.line, r.range.start, r.text)).collect::<Vec<_>>();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    a.rs:1 7 use m::send;
    a.rs:3 30 fn f() { send("send"); x.send(); resend(); print!("{}", send) }
    a.rs:3 46 fn f() { send("send"); x.send(); resend(); print!("{}", send) }
    a.rs:3 77 fn f() { send("send"); x.send(); resend(); print!("{}", send) }
    "#);
}

#[test]
fn imports_are_found_where_they_stand() {
    let text = "use a::{b, c};\nextern crate d;\nfn f() { use e; }\n";
    let found = syntax().imports(&source("a.rs", text));
    let found: Vec<_> = found.into_iter().map(|range| &text[range]).collect();
    assert_eq!(found, ["use a::{b, c};", "extern crate d;", "use e;"]);
}

fn rewrite(text: &str, pattern: &str, to: &str) -> String {
    let rule = Rule::Rewrite { pattern: pattern.to_owned(), to: to.to_owned() };
    match syntax().transform(&[source("a.rs", text)], &rule) {
        Ok(files) => files.first().map_or_else(|| "no match".to_owned(), |file| apply(text, &file.edits)),
        Err(refusal) => format!("! {} {}", refusal.message, refusal.candidates.join(" ")),
    }
}

pub(super) fn apply(text: &str, edits: &[crate::ports::MarkedEdit]) -> String {
    let mut out = text.to_owned();
    for marked in edits.iter().rev() {
        out.replace_range(marked.edit.range.clone(), &marked.edit.text);
    }
    out
}

#[test]
fn a_rewrite_reaches_nested_matches_and_keeps_every_other_byte() {
    let text = "fn f() {\r\n  // a.unwrap()\r\n  let s = \"b.unwrap()\";\r\n\tOk(a.unwrap().b.unwrap())\n}";
    insta::assert_snapshot!(rewrite(text, "$X.unwrap()", "$X?").escape_debug(), @r#"fn f() {\r\n  // a.unwrap()\r\n  let s = \"b.unwrap()\";\r\n\tOk(a?.b?)\n}"#);
    assert_eq!(
        rewrite("fn f() { g(k(g(1), h(g(2)))); }", "g($X)", "log(g($X))"),
        "fn f() { log(g(k(log(g(1)), h(log(g(2)))))); }"
    );
    assert_eq!(
        rewrite("fn f() { old(1, 2); old(); }", "old($$$A)", "new(ctx, $$$A)"),
        "fn f() { new(ctx, 1, 2); new(ctx, ); }"
    );
    assert_eq!(rewrite("fn f() { x == x; x == y; }", "$A == $A", "true"), "fn f() { true; x == y; }");
    assert_eq!(rewrite("fn f() { let a = 1; }", "let $A = $B;", "let $A: u8 = $B;"), "fn f() { let a: u8 = 1; }");
    assert_eq!(rewrite("fn f() {}", "g($X)", "h($X)"), "no match");
    assert_eq!(rewrite("fn f() { g(1) }", "g($X)", "g($X)"), "no match");
}

#[test]
fn a_pattern_that_cannot_be_used_is_refused_with_the_reason() {
    insta::assert_snapshot!(rewrite("", "", "x"), @"! the pattern is empty; write the code to look for, with `$X` for any expression");
    insta::assert_snapshot!(rewrite("", "$X", "x"), @"! the pattern `$X` matches everything; add the code that must be there");
    insta::assert_snapshot!(rewrite("", "$$$X", "x"), @"! `$$$X` alone matches everything; put it into a larger pattern, as in `f($$$ARGS)`");
    insta::assert_snapshot!(rewrite("", "f(", "x"), @"! the pattern `f(` is no rust code; write a whole expression, statement or item");
    insta::assert_snapshot!(rewrite("", "a; b;", "x"), @"! the pattern `a; b;` is more than one piece of rust code; write one expression, statement or item");
    insta::assert_snapshot!(rewrite("", "f($X)", "g($Y)"), @"! `$Y` stands in the replacement but not in the pattern `f($X)` $X");
    insta::assert_snapshot!(rewrite("", "// hi", "g()"), @"no match");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_text_breaks_an_outline(parts in proptest::collection::vec(prop_oneof![
        Just("fn f"), Just("("), Just(")"), Just("{"), Just("}"), Just("impl A for "), Just("pub "), Just("struct S"),
        Just("/// d\n"), Just("//! d\r\n"), Just("#[a]"), Just("mod m"), Just(";"), Just("enum E"), Just("\""), Just("'a"),
        Just("é"), Just("macro_rules! m"), Just("let x ="), Just("\n"), Just("use a::"), Just("<"), Just(","), Just("/*"),
    ], 0..40)) {
        let text = parts.concat();
        let file = syntax().outline(&source("a.rs", &text));
        for symbol in &file.symbols {
            prop_assert!(text.get(symbol.range.clone()).is_some());
            prop_assert_eq!(&symbol.path.rsplit("::").next().is_some(), &true);
            prop_assert!(symbol.range.start <= symbol.name_range.start && symbol.name_range.end <= symbol.range.end);
        }
        for error in syntax().errors(&source("a.rs", &text)) {
            prop_assert!(text.get(error.range).is_some());
        }
    }
}
