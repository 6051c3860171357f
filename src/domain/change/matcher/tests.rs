#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::*;
use proptest::prelude::*;

fn show(result: Result<Edited, EditRefusal>) -> String {
    match result {
        Ok(Edited::AlreadyThere) => "already there".to_owned(),
        Ok(Edited::Text(text)) => format!("{text:?}"),
        Err(refusal) => format!("{:?}: {}", refusal.kind, refusal.message),
    }
}

#[track_caller]
fn check_pairs(text: &str, pairs: &[(&str, &str)], expect: &str) {
    let pairs = pairs.iter().map(|(search, replace)| Pair { search: (*search).into(), replace: (*replace).into() });
    assert_eq!(show(edit(text, &EditRequest::Pairs(pairs.collect()))), expect);
}

#[test]
fn a_pair_matches_once_and_exactly() {
    check_pairs("a();\nb();\n", &[("b();", "c();")], r#""a();\nc();\n""#);
    check_pairs("a();\nb();\n", &[("a();\n", ""), ("b", "x")], r#""x();\n""#);
    check_pairs(
        "a();\na();\n",
        &[("a();", "c();")],
        "Ambiguous: the search stands 2 times, at lines 1, 2; add lines around it until it stands once",
    );
    check_pairs(
        "aaa",
        &[("aa", "b")],
        "Ambiguous: the search stands 2 times, at lines 1, 1; add lines around it until it stands once",
    );
    check_pairs("a\nb\n", &[("", "c")], "Empty: the search is empty; give the lines to replace, or create the file");
    check_pairs(
        "abc\n",
        &[("ab", "x"), ("bc", "y")],
        "Overlap: pairs 1 and 2 both replace text at line 1; make them one pair",
    );
    check_pairs("one\ntwo\n", &[("one", "two"), ("two", "one")], r#""two\none\n""#);
}

#[test]
fn a_search_that_stands_nowhere_is_told_what_is_nearest() {
    check_pairs(
        "fn a() {\n    one();\n    two();\n}\n",
        &[("    one();\n    three();\n}", "")],
        r#"NotFound: the search stands nowhere; the nearest is at line 2, where line 3 is "    two();" and the search has "    three();"; copy the lines as they stand"#,
    );
    check_pairs(
        "x\n\tone();\n",
        &[("one", "two"), ("    one();", "two")],
        r#"NotFound: pair 2: the search stands nowhere; the nearest is at line 2, where line 2 differs only in its blanks: the file has "\tone();", the search "    one();""#,
    );
    check_pairs(
        "a\n",
        &[("zzz", "y")],
        "NotFound: the search stands nowhere in the file, and no line of it does; read the file again",
    );
}

#[test]
fn an_edit_that_is_there_changes_nothing() {
    check_pairs("let a = 2;\n", &[("let a = 1;", "let a = 2;")], "already there");
    check_pairs("use a;\nuse b;\n", &[("use a;\n", "use a;\nuse b;\n")], "already there");
    check_pairs("use a;\n", &[("use a;\n", "use a;\nuse b;\n")], r#""use a;\nuse b;\n""#);
    check_pairs("use a;\n", &[("use a;", "use a;")], "already there");
}

#[test]
fn bytes_that_may_stay_stay() {
    // CRLF, also line by line where both occur
    check_pairs("\u{feff}a\r\nb\nc\r\n", &[("a\nb\nc\n", "a\nB\nC\nD\n")], r#""\u{feff}a\r\nB\nC\r\nD\r\n""#);
    check_pairs("a\r\nb\r\n", &[("a\r\nb", "a\r\nx\r\nb")], r#""a\r\nx\r\nb\r\n""#);
    check_pairs("a\nb", &[("b\n", "c\n")], r#""a\nc""#);
    check_pairs("\u{feff}a\n", &[("\u{feff}a", "b")], r#""\u{feff}b\n""#);
    check_pairs("é🦀\n", &[("🦀", "&amp;")], r#""é&amp;\n""#);
}

#[test]
fn code_that_was_left_out_is_refused() {
    let refused =
        |line: &str| matches!(elided::check("a();\n", line), Err(refusal) if refusal.kind == RefusalKind::Elided);
    for line in [
        "// ... existing code ...",
        "    // ...",
        "/* ... */",
        "# ... rest of the function",
        "// rest of the code",
        "// …",
        "<!-- unchanged ... -->",
    ] {
        assert!(refused(line), "{line}");
    }
    for line in ["// see the rest of it", "let a = 1; // ...", "// waits for the others...", "# heading", "...", "//"] {
        assert!(!refused(line), "{line}");
    }
    assert!(elided::check("    // ...\n", "// ...").is_ok());
    check_pairs(
        "a\n",
        &[("a", "b\n// ... existing code ...")],
        "Elided: `// ... existing code ...` stands for code that was left out; write every line, or replace only the lines that change",
    );
}

/// `«` and `»` mark the item.
#[track_caller]
fn check_item(marked: &str, item: &str, expect: &str) {
    let (start, end) = (marked.find('«').unwrap(), marked.find('»').unwrap() - '«'.len_utf8());
    let text = marked.replace(['«', '»'], "");
    assert_eq!(show(edit(&text, &EditRequest::Symbol { range: start..end, item: item.to_owned() })), expect);
}

#[test]
fn an_item_is_put_at_the_indentation_of_the_old_one() {
    check_item("«fn a() {}»\n", "fn a() -> u8 {\n    1\n}\n", r#""fn a() -> u8 {\n    1\n}\n""#);
    check_item(
        "impl A {\n    «fn a() {\n        1\n    }»\n}\n",
        "fn a() {\n    2\n}",
        r#""impl A {\n    fn a() {\n        2\n    }\n}\n""#,
    );
    check_item(
        "impl A {\n    «fn a() {\n        1\n    }»\n}\n",
        "    fn a() {\n        2\n    }",
        r#""impl A {\n    fn a() {\n        2\n    }\n}\n""#,
    );
    // only the first line lacks it
    check_item(
        "impl A {\n    «fn a() {\n        1\n    }»\n}\n",
        "fn a() {\n        2\n    }",
        r#""impl A {\n    fn a() {\n        2\n    }\n}\n""#,
    );
    check_item(
        "impl A {\n\t«fn a() {\n\t\t1\n\t}»\n}\n",
        "fn a() {\n    2\n}",
        r#""impl A {\n\tfn a() {\n\t\t2\n\t}\n}\n""#,
    );
    check_item("impl A { «fn a() {}» }\n", "fn a() {}\n", "already there");
    check_item("«fn a() {}»\n", " \n", "Empty: the new item is empty; to remove an item, replace its lines by nothing");
}

#[test]
fn an_indentation_that_cannot_be_carried_over_is_refused() {
    check_item(
        "impl A {\n    «fn a() {\n        1\n    }»\n}\n",
        "  fn a() {\n1\n  }",
        r#"Indentation: `1` stands left of the item's first line; send the item with the indentation it has in the file ("    " before its first line)"#,
    );
    check_item(
        "impl A {\n    «fn a() {\n        1\n    }»\n}\n",
        "fn a() {\n    x(\"one\n  two\")\n}",
        r#"Indentation: `x("one` seems to start a text of several lines, whose blanks must not change; send the item with the indentation it has in the file ("    " before its first line)"#,
    );
    check_item(
        "«fn a() {\n\t1\n}»\n",
        "fn a() {\n    x(\n       1)\n}",
        r#"Indentation: `x(` has an indentation that is no whole number of tabs; send the item with the indentation it has in the file ("" before its first line)"#,
    );
}

#[test]
fn an_address_in_a_string_opens_no_string() {
    check_item(
        "impl A {\n    «fn a() {\n        1\n    }»\n}\n",
        "fn a() {\n    get(\"http://x\", '\"', \"\\\"\") // it's `x`\n}",
        r#""impl A {\n    fn a() {\n        get(\"http://x\", '\"', \"\\\"\") // it's `x`\n    }\n}\n""#,
    );
}

#[test]
fn documentation_and_attributes_stay_unless_the_item_brings_its_own() {
    let old = "«/// Old.\n#[inline]\n#[cfg(\n    test\n)]\nfn a() {}»\n";
    check_item(old, "fn a() { 1 }", r#""/// Old.\n#[inline]\n#[cfg(\n    test\n)]\nfn a() { 1 }\n""#);
    check_item(old, "/// New.\nfn a() {}", r#""/// New.\n#[inline]\n#[cfg(\n    test\n)]\nfn a() {}\n""#);
    check_item(old, "#[must_use]\nfn a() {}", r#""/// Old.\n#[must_use]\nfn a() {}\n""#);
    check_item(old, "/// New.\n#[must_use]\nfn a() {}", r#""/// New.\n#[must_use]\nfn a() {}\n""#);
    check_item("«#[test] fn a() {}»\n", "fn a() { 1 }", r#""fn a() { 1 }\n""#);
}

#[test]
fn an_items_line_endings_and_the_final_newline_stay() {
    check_item(
        "\u{feff}«fn a() {\r\n    1\r\n}»",
        "fn a() {\n    2\n    3\n}\n",
        r#""\u{feff}fn a() {\r\n    2\r\n    3\r\n}""#,
    );
    check_item(
        "x\r\n«fn a() {\n    1\r\n}»\r\n",
        "fn a() {\n    1\n    2\n}\n",
        r#""x\r\nfn a() {\n    1\r\n    2\r\n}\r\n""#,
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the endings, the result reads as the replacement would on a text with LF, and what is equal keeps its
    /// bytes.
    #[test]
    fn weaving_changes_only_what_differs(old in "([ab]?\r?\n){0,8}[ab]?", new in "([abc]?\n){0,8}[ab]?") {
        let woven = weave::weave(&old, &new, crate::domain::text::Ending::CrLf);
        prop_assert_eq!(with_lf(&woven), new);
        prop_assert_eq!(weave::weave(&old, &with_lf(&old), crate::domain::text::Ending::Lf), old);
    }

    #[test]
    fn no_request_panics(text in "[ab{}/#\"é \t\r\n]{0,40}", search in "[ab{}é\r\n]{0,6}", put in "[ab/#.\\[\\]* \t\n]{0,12}", a in 0..50_usize, b in 0..50_usize) {
        let pair = Pair { search, replace: put.clone() };
        let _ = edit(&text, &EditRequest::Pairs(vec![pair.clone(), pair]));
        let done = edit(&text, &EditRequest::Symbol { range: a..b, item: put });
        if let Ok(Edited::Text(new)) = done {
            prop_assert!(new.ends_with(&text[b..]));
        }
    }
}
