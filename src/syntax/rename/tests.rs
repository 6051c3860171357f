#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod members;

use super::*;
use crate::domain::ids::WorkspacePath;

/// Files behind `//- path` lines.
fn files(fixture: &str) -> Vec<Source> {
    let mut files: Vec<(String, String)> = Vec::new();
    for line in fixture.lines() {
        match (line.trim_start().strip_prefix("//- "), files.last_mut()) {
            (Some(path), _) => files.push((path.to_owned(), String::new())),
            (None, Some((_, text))) => *text += &format!("{}\n", line.strip_prefix("        ").unwrap_or(line)),
            (None, None) => {}
        }
    }
    files
        .into_iter()
        .map(|(path, text)| Source { path: WorkspacePath::new(&path).unwrap(), text: text.into() })
        .collect()
}

/// Every changed line: certain edits as `<new>`, doubts as `<new?>` with their reasons below.
fn check(fixture: &str, symbol: &str, to: &str) -> String {
    let sources = files(fixture);
    let found = match of(&sources, symbol, to) {
        Ok(found) => found,
        Err(refusal) => {
            return format!("! {}\n{}", refusal.message, refusal.candidates.join("\n")).trim_end().to_owned();
        }
    };
    let mut out = Vec::new();
    for file in found {
        let source = sources.iter().find(|source| source.path == file.path).unwrap();
        let mut marked = source.text.to_string();
        let mut reasons = Vec::new();
        for edit in file.edits.iter().rev() {
            let mark = if edit.doubt.is_some() { "?" } else { "" };
            marked.replace_range(edit.edit.range.clone(), &format!("<{}{mark}>", edit.edit.text));
            reasons.extend(edit.doubt.clone());
        }
        out.push(format!("{}:", file.path));
        for (old, new) in source.text.lines().zip(marked.lines()) {
            if old != new {
                out.push(format!("  {}", new.trim()));
            }
        }
        reasons.reverse();
        out.extend(reasons.into_iter().map(|reason| format!("  ? {reason}")));
    }
    out.join("\n")
}

#[test]
fn a_function_is_followed_through_modules_and_imports() {
    insta::assert_snapshot!(check(
        r"
        //- src/lib.rs
        mod net;
        pub mod other;
        pub use net::client::send;
        pub use net::client::send as post_it;
        fn a() { net::client::send(1); self::net::client::send(2); crate::net::client::send(3); send(4); post_it(5); }
        //- src/net/mod.rs
        pub mod client;
        use self::client::{send, other};
        fn b() { send(1); client::send(2); let f = send; map(send); }
        //- src/net/client.rs
        pub fn send(x: u8) { if x > 0 { send(x - 1) } }
        pub fn other() { self::send(1); Self::send(); super::client::send(2); }
        mod tests { use super::*; fn t() { send(1); super::send(2); } }
        //- src/other.rs
        fn send() {}
        fn c() { send(); crate::send(1); crate::net::send(2); self::send(); super::send(3) }
        ",
        "client::send",
        "transmit",
    ), @"
    src/lib.rs:
      pub use net::client::<transmit>;
      pub use net::client::<transmit> as post_it;
      fn a() { net::client::<transmit>(1); self::net::client::<transmit>(2); crate::net::client::<transmit>(3); <transmit>(4); post_it(5); }
    src/net/mod.rs:
      use self::client::{<transmit>, other};
      fn b() { <transmit>(1); client::<transmit>(2); let f = <transmit>; map(<transmit>); }
    src/net/client.rs:
      pub fn <transmit>(x: u8) { if x > 0 { <transmit>(x - 1) } }
      pub fn other() { self::<transmit>(1); Self::<transmit?>(); super::client::<transmit>(2); }
      mod tests { use super::*; fn t() { <transmit>(1); super::<transmit>(2); } }
      ? where this name comes from cannot be followed
    src/other.rs:
      fn c() { send(); crate::<transmit>(1); crate::net::<transmit>(2); self::send(); super::<transmit>(3) }
    ");
}

#[test]
fn locals_of_the_same_name_stay() {
    insta::assert_snapshot!(check(
        r"
        //- src/lib.rs
        fn size() -> u8 { 1 }
        fn a() { let size = size(); size + 1; { let size = 2; size } ; size }
        fn b(size: u8) -> u8 { size }
        fn c() { [1].map(|size| size + 1); [1].map(|x| size()); for size in 0..1 { size; } size(); }
        fn d(o: Option<u8>) { if let Some(size) = o { size; } else { size(); } match o { Some(size) if size > 1 => size, None => size(), } }
        fn e() { while let Some(size) = x() { size; } let (a, size) = t; size; }
        fn f() { if let Some(size) = o && size > 1 { size } fn inner() { size(); } }
        fn g(p: P) { let P { size } = p; size; P { size }; let P { size: s } = p; p.size; p.size(); }
        fn h() { fn size() {} size(); }
        fn i() { let Some(size) = o else { return size() }; size; 'size: loop { break 'size; } }
        fn j(&size: &u8, (mut size2, [size3, ref size]): T) { size }
        fn k() { let x = || { let size = 1; size }; size() }
        fn l<const size: usize>() { size; }
        struct P { size: u8 }
        ",
        "src/lib.rs#size",
        "length",
    ), @"
    src/lib.rs:
      fn <length>() -> u8 { 1 }
      fn a() { let size = <length>(); size + 1; { let size = 2; size } ; size }
      fn c() { [1].map(|size| size + 1); [1].map(|x| <length>()); for size in 0..1 { size; } <length>(); }
      fn d(o: Option<u8>) { if let Some(size) = o { size; } else { <length>(); } match o { Some(size) if size > 1 => size, None => <length>(), } }
      fn f() { if let Some(size) = o && size > 1 { size } fn inner() { <length>(); } }
      fn i() { let Some(size) = o else { return <length>() }; size; 'size: loop { break 'size; } }
      fn k() { let x = || { let size = 1; size }; <length>() }
    ");
}

#[test]
fn a_shorthand_keeps_its_field() {
    insta::assert_snapshot!(check(
        r"
        //- src/lib.rs
        const LIMIT: u8 = 1;
        fn a() { S { LIMIT }; match x { LIMIT => 1, S { LIMIT } => 2, a @ LIMIT => 3, (LIMIT, _) => 4, LIMIT..=9 => 5 } }
        struct S { LIMIT: u8 }
        static B: [u8; LIMIT] = [0; LIMIT];
        ",
        "src/lib.rs#LIMIT",
        "MAXIMUM",
    ), @"
    src/lib.rs:
      const <MAXIMUM>: u8 = 1;
      fn a() { S { <LIMIT: MAXIMUM> }; match x { <MAXIMUM> => 1, S { LIMIT } => 2, a @ <MAXIMUM> => 3, (<MAXIMUM>, _) => 4, <MAXIMUM>..=9 => 5 } }
      static B: [u8; <MAXIMUM>] = [0; <MAXIMUM>];
    ");
}

#[test]
fn a_type_is_renamed_in_paths_patterns_and_generics() {
    insta::assert_snapshot!(check(
        r"
        //- src/lib.rs
        pub struct Point(u8);
        fn s() { Point { 0: 1 }; self::Point { 0: 1 }; if let Point { .. } = p {} }
        impl Point { fn new() -> Self { Point(1) } }
        impl From<u8> for Point { fn from(x: u8) -> Point { Self(x) } }
        fn a(p: &Point, v: Vec<Point>) -> Option<Box<Point>> { let Point(x) = p; Point::new(); Point::<u8>::new(); map(Point) }
        fn b<Point>(p: Point) {}
        struct Other<Point: Clone> { x: Point }
        impl<Point> Trait<Point> for X { type Point = Point; }
        mod m { pub struct Point; fn c() -> Point { Point } fn d() -> super::Point { super::Point(1) } }
        use m::Point as Q;
        fn e() where Point: Sized { let x: <Point as T>::Point; vec![Point(1), Point::new()]; }
        //- src/bin/tool.rs
        use std::fmt::Point;
        fn f(p: Point) {}
        ",
        "src/lib.rs#Point",
        "Place",
    ), @"
    src/lib.rs:
      pub struct <Place>(u8);
      fn s() { <Place> { 0: 1 }; self::<Place> { 0: 1 }; if let <Place> { .. } = p {} }
      impl <Place> { fn new() -> Self { <Place>(1) } }
      impl From<u8> for <Place> { fn from(x: u8) -> <Place> { Self(x) } }
      fn a(p: &<Place>, v: Vec<<Place>>) -> Option<Box<<Place>>> { let <Place>(x) = p; <Place>::new(); <Place>::<u8>::new(); map(<Place>) }
      mod m { pub struct Point; fn c() -> Point { Point } fn d() -> super::<Place> { super::<Place>(1) } }
      fn e() where <Place>: Sized { let x: <<Place> as T>::Point; vec![<Place>(1), <Place>::new()]; }
    ");
}

#[test]
fn variants_and_globs_of_enums() {
    insta::assert_snapshot!(check(
        r"
        //- src/lib.rs
        pub enum Kind { Open, Shut(u8) }
        impl Kind { fn a(&self) { match self { Self::Open => 1, Kind::Shut(_) => 2 } } }
        use Kind::*;
        fn b(k: Kind) { match k { Open => 1, _ => 2 }; Kind::Open; crate::Kind::Open; let x = Open; }
        enum Other { Open }
        fn c() { Other::Open; file.Open(); File::Open; }
        type K = Kind;
        fn d() { K::Open; }
        //- src/x.rs
        use crate::Kind::{Open, Shut};
        fn e() { Open; }
        ",
        "Kind::Open",
        "Unlocked",
    ), @"
    src/lib.rs:
      pub enum Kind { <Unlocked>, Shut(u8) }
      impl Kind { fn a(&self) { match self { Self::<Unlocked> => 1, Kind::Shut(_) => 2 } } }
      fn b(k: Kind) { match k { <Unlocked> => 1, _ => 2 }; Kind::<Unlocked>; crate::Kind::<Unlocked>; let x = <Unlocked>; }
      fn c() { Other::Open; file.Open(); File::<Unlocked?>; }
      fn d() { K::<Unlocked?>; }
      ? where this name comes from cannot be followed
      ? where this name comes from cannot be followed
    src/x.rs:
      use crate::Kind::{<Unlocked?>, Shut};
      fn e() { <Unlocked?>; }
      ? no import of it was found here
      ? no import of it was found here
    ");
}

#[test]
fn macros_comments_and_strings() {
    insta::assert_snapshot!(check(
        r#"
        //- src/lib.rs
        /// Calls [`send`] to send.
        pub fn send(x: u8) {} // see send() or send
        #[doc = "send"]
        fn a(y: u8) {
            println!("{send} {}", send(1)); assert_eq!(send(2), crate::send(3), "send"); vec![x.send(), T::send];
            foo!(send); assert!(l.iter().all(|send| send > 1)); format!("{send}", send = 1);
            let send = 1; println!("{}", send); foo!(send, self::send(1), m::send, x.send());
        }
        #[derive(send)] #[cfg(feature = "send-more")] struct S;
        macro_rules! m { (send) => { send(1) }; }
        "#,
        "send",
        "post",
    ), @r#"
    src/lib.rs:
      /// Calls [`<post?>`] to send.
      pub fn <post>(x: u8) {} // see <post?>() or send
      #[doc = "<post?>"]
      println!("{<post?>} {}", <post>(1)); assert_eq!(<post>(2), crate::<post>(3), "<post?>"); vec![x.send(), T::<post?>];
      foo!(<post?>); assert!(l.iter().all(|<post?>| <post?> > 1)); format!("{<post?>}", send = 1);
      let send = 1; println!("{}", send); foo!(send, self::<post?>(1), m::<post?>, x.send());
      #[derive(<post?>)] #[cfg(feature = "<post?>-more")] struct S;
      macro_rules! m { (<post?>) => { <post?>(1) }; }
      ? it stands in a comment
      ? it stands in a comment
      ? it stands in a string
      ? it stands in a string
      ? it stands in a string
      ? where this name comes from cannot be followed
      ? what the macro `foo!` makes of it is not known
      ? a pattern or closure inside the macro may bind it
      ? a pattern or closure inside the macro may bind it
      ? it stands in a string
      ? what the macro `foo!` makes of it is not known
      ? what the macro `foo!` makes of it is not known
      ? it stands in an attribute
      ? it stands in a string
      ? it stands in the definition of a macro
      ? it stands in the definition of a macro
    "#);
}

#[test]
fn another_crate_is_reached_by_its_name() {
    let fixture = r#"
        //- Cargo.toml
        [package]
        name = "big-app"
        //- src/lib.rs
        pub fn go() {}
        //- tests/it/main.rs
        mod help;
        use big_app::go;
        fn a() { go(); big_app::go(); help::go(); other::go(); }
        //- tests/it/help.rs
        pub fn go() { go(); }
        //- src/main.rs
        use big_app as app;
        fn main() { app::go(); go(); }
        "#;
    insta::assert_snapshot!(check(fixture, "src/lib.rs#go", "start"), @"
    src/lib.rs:
      pub fn <start>() {}
    tests/it/main.rs:
      use big_app::<start>;
      fn a() { <start>(); big_app::<start>(); help::go(); other::go(); }
    src/main.rs:
      fn main() { app::<start>(); <start?>(); }
      ? no import of it was found here
    ");
    insta::assert_snapshot!(check(&fixture.replace("big-app", "elsewhere"), "src/lib.rs#go", "start"), @"
    src/lib.rs:
      pub fn <start>() {}
    src/main.rs:
      fn main() { app::go(); <start?>(); }
      ? no import of it was found here
    ");
}

#[test]
fn what_a_star_import_hides_is_doubted() {
    insta::assert_snapshot!(check(
        "
        //- src/lib.rs
        mod a;
        mod b;
        mod c;
        mod d;
        //- src/a.rs
        fn go() {}
        pub fn run() {}
        //- src/b.rs
        pub fn go() {}
        pub fn run() {}
        //- src/c.rs
        use crate::a::*;
        use crate::b::*;
        fn x() { go(); run(); }
        //- src/d.rs
        use unheard::*;
        fn y() { go(); }
        ",
        "b::go",
        "start",
    ), @"
    src/b.rs:
      pub fn <start>() {}
    src/c.rs:
      fn x() { <start>(); run(); }
    src/d.rs:
      fn y() { <start?>(); }
      ? where this name comes from cannot be followed
    ");
}

#[test]
fn refusals_say_what_to_do() {
    let fixture = "
        //- src/lib.rs
        pub fn go() {}
        pub fn taken() { go(); }
        struct A { x: u8 }
        impl A { fn go(&self) {} fn stop(&self) {} }
        mod m { pub fn go() {} }
        mod n { fn x() { let y = 1; super::go(); } }
        //- src/other.rs
        fn start() {}
        fn gone() {}
        ";
    insta::assert_snapshot!(check(fixture, "go", "start"), @"
    ! `go` is defined 3 times; name one
    src/lib.rs#A::go
    src/lib.rs#go
    src/lib.rs#m::go
    ");
    insta::assert_snapshot!(check(fixture, "m::go", "taken"), @"! `taken` is used already at src/lib.rs:2 (`pub fn taken() { go(); }`), where `m::go` is used too; choose another name");
    insta::assert_snapshot!(check(fixture, "src/other.rs#start", "gone"), @"! `gone` is used already at src/other.rs:2 (`fn gone() {}`), where `start` is used too; choose another name");
    insta::assert_snapshot!(check(fixture, "A::go", "stop"), @"! `stop` stands beside `A::go` already, at src/lib.rs:4; choose another name");
    insta::assert_snapshot!(check(fixture, "A::stop", "stop"), @"! `A::stop` is called `stop` already; name another");
    insta::assert_snapshot!(check(fixture, "A::stopp", "x"), @"
    ! no file defines `A::stopp`; perhaps one of these was meant
    A::stop
    A::go
    ");
    insta::assert_snapshot!(check(fixture, "A::stop", "match"), @"! `match` is a keyword; choose another name");
    insta::assert_snapshot!(check(fixture, "A::stop", "1x"), @"! `1x` is no identifier; use letters, digits and `_`, not beginning with a digit");
    insta::assert_snapshot!(check(fixture, "A::stop", "a b"), @"! `a b` is no identifier; use letters, digits and `_`, not beginning with a digit");
    insta::assert_snapshot!(check(fixture, "A::stop", ""), @"! `` is no identifier; use letters, digits and `_`, not beginning with a digit");
    insta::assert_snapshot!(check(fixture, "m", "x"), @"! `m` is a module, whose file would have to move; rename what is in it");
    insta::assert_snapshot!(check(fixture, "", "x"), @"! no file defines ``; give its path, as in `Client::send`");
}

#[test]
fn twins_under_cfg_are_renamed_together() {
    insta::assert_snapshot!(check(
        "
        //- src/lib.rs
        #[cfg(unix)]
        fn go() {}
        #[cfg(windows)]
        fn go() {}
        fn a() { go(); }
        ",
        "go",
        "start",
    ), @"
    src/lib.rs:
      fn <start>() {}
      fn <start>() {}
      fn a() { <start>(); }
    ");
}

fn renamed(sources: &[Source], symbol: &str, to: &str) -> Option<Vec<Source>> {
    let found = of(sources, symbol, to).ok()?;
    let mut next = sources.to_vec();
    for file in found {
        if file.edits.iter().any(|edit| edit.doubt.is_some()) {
            return None;
        }
        let source = next.iter_mut().find(|source| source.path == file.path)?;
        source.text = super::super::tests::apply(&source.text, &file.edits).into();
    }
    Some(next)
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Shorthand fields are the exception, and no part of these programs: `P { x }` comes back as `P { x: x }`.
    #[test]
    fn a_certain_rename_can_be_taken_back(lines in proptest::collection::vec(0_usize..12, 0..12), here in 0_usize..12) {
        const LINES: [&str; 12] = [
            "use super::alpha;", "fn u1() { alpha(1); }", "fn u2(alpha: u8) { alpha; }", "fn u3() { let alpha = alpha(1); alpha }",
            "mod deep { use super::super::*; fn d() { alpha(2); super::super::alpha(3); } }", "fn u4() { x.alpha; crate::alpha(4) }",
            "fn u5() { [1].map(|alpha| alpha); [1].map(alpha) }", "use crate::alpha as other;", "fn u6() { println!(\"{}\", alpha(5)); }",
            "struct S<'alpha> { alpha: &'alpha u8 }", "fn u7() { fn alpha() {} alpha() }", "fn u8() { match 1 { alpha if alpha > 1 => alpha, _ => alpha(1) } }",
        ];
        let inner: String = lines.iter().map(|line| format!("    {}\r\n", LINES[*line])).collect();
        let text = format!("pub fn alpha(x: u8) {{ {} }}\r\nmod inner {{\r\n{inner}}}\r\n", if here < 6 { "alpha(x)" } else { "" });
        let sources = vec![Source { path: WorkspacePath::new("src/lib.rs").unwrap(), text: text.into() }];
        if let Some(there) = renamed(&sources, "src/lib.rs#alpha", "beta") {
            proptest::prop_assert!(there[0].text.contains("pub fn beta"));
            let back = renamed(&there, "src/lib.rs#beta", "alpha");
            // The way back is refused where the old name still stands for something else.
            if let Some(back) = back {
                proptest::prop_assert_eq!(&*back[0].text, &*sources[0].text);
            }
        }
    }
}

#[test]
fn one_name_in_several_sets_of_names() {
    insta::assert_snapshot!(check(
        "
        //- src/lib.rs
        mod send;
        use send::send;
        pub use crate::send::Ping;
        enum Msg { Ping(Ping), Send }
        fn a() -> Ping { Msg::Ping(Ping { x: 1 }); send::send(); let Ping { x } = p; match m { Msg::Ping(Ping { .. }) => 1 } }
        fn b() { use crate::send; send(); send::send(); }
        //- src/send.rs
        pub fn send() {}
        pub struct Ping { x: u8 }
        ",
        "src/send.rs#send",
        "post",
    ), @"
    src/lib.rs:
      use send::<post>;
      fn a() -> Ping { Msg::Ping(Ping { x: 1 }); send::<post>(); let Ping { x } = p; match m { Msg::Ping(Ping { .. }) => 1 } }
      fn b() { use crate::<post?>; <post>(); send::<post>(); }
      ? this import brings another thing of the same name
    src/send.rs:
      pub fn <post>() {}
    ");
    insta::assert_snapshot!(check(
        "
        //- src/lib.rs
        mod send;
        pub use crate::send::Ping;
        enum Msg { Ping(Ping), Send }
        fn a() -> Ping { Msg::Ping(Ping { x: 1 }); let Ping { x } = p; match m { Msg::Ping(Ping { .. }) => 1 } }
        //- src/send.rs
        pub struct Ping { x: u8 }
        ",
        "send::Ping",
        "Pulse",
    ), @"
    src/lib.rs:
      pub use crate::send::<Pulse>;
      enum Msg { Ping(<Pulse>), Send }
      fn a() -> <Pulse> { Msg::Ping(<Pulse> { x: 1 }); let <Pulse> { x } = p; match m { Msg::Ping(<Pulse> { .. }) => 1 } }
    src/send.rs:
      pub struct <Pulse> { x: u8 }
    ");
}

#[test]
fn a_crate_goes_by_the_name_of_its_manifest_and_of_extern_crate() {
    insta::assert_snapshot!(check(
        r#"
        //- Cargo.toml
        [workspace]
        //- crates/search/Cargo.toml
        [package]
        name = "grep-search"
        //- crates/search/src/lib.rs
        pub struct Finder;
        //- crates/all/Cargo.toml
        [package]
        name = "all"
        //- crates/all/src/lib.rs
        pub extern crate grep_search as search;
        extern crate self as own;
        fn a(x: search::Finder, y: own::search::Finder) {}
        //- crates/all/examples/one.rs
        use all::search::Finder;
        fn b(x: Finder, y: grep_search::Finder, z: other::Finder) {}
        "#,
        "Finder",
        "Seeker",
    ), @"
    crates/search/src/lib.rs:
      pub struct <Seeker>;
    crates/all/src/lib.rs:
      fn a(x: search::<Seeker>, y: own::search::<Seeker>) {}
    crates/all/examples/one.rs:
      use all::search::<Seeker>;
      fn b(x: <Seeker>, y: grep_search::<Seeker>, z: other::Finder) {}
    ");
}
