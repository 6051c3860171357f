//! Reading documents: the traps that were measured with CommonMark, and each value's grammar.

use super::*;

#[track_caller]
fn check(text: &str, expect: &str) {
    let parsed = super::parse(text);
    let got = format!("{}{}", render(&parsed.plan), problems(text, &parsed.problems));
    assert_eq!(got.trim(), expect.trim(), "\n--- got ---\n{got}");
}

/// The step that a body makes, and its findings.
#[track_caller]
fn step(body: &str, expect: &str) {
    let text = format!("# T\n\n## Contract\n\n## Steps\n\n### a: b\n\n{body}");
    let parsed = super::parse(&text);
    let step = super::render::step(&parsed.plan.steps[0]);
    let got = format!("{}{}", step.strip_prefix("### a: b\n\n").unwrap_or(&step), problems(&text, &parsed.problems));
    assert_eq!(got.trim(), expect.trim(), "\n--- got ---\n{got}");
}

#[track_caller]
fn contract(body: &str, expect: &str) {
    let text = format!("# T\n\n## Contract\n\n{body}\n\n## Steps\n\n### a: b\n\n- run: x\n");
    let parsed = super::parse(&text);
    let head = super::render::head(&parsed.plan);
    let got = format!("{}{}", head.strip_prefix("# T\n\n## Contract\n").unwrap(), problems(&text, &parsed.problems));
    assert_eq!(got.trim(), expect.trim(), "\n--- got ---\n{got}");
}

#[test]
fn the_sample_is_read_whole() {
    let parsed = super::parse(SAMPLE);
    assert_eq!(problems(SAMPLE, &parsed.problems), "");
    insta::assert_snapshot!(render(&parsed.plan), @r"
    # Make retries configurable

    The goal in the user's words: any prose up to the next heading.

    ## Contract

    - scope: `src/net/**`, `tests/net.rs`
    - accept: `cargo test -p net`
    - budget: 60k tokens; 15 min; $0.50
    - enforce: public-api unchanged; no new dependencies
    - advice: keep the builder style
    - assume: all retries go through `Client::send`; absent: `fn retry`, in `src`, except `src/net/**`
    - stop: files > 8

    ## Steps

    ### policy: Add RetryPolicy

    - edit: `src/net/retry.rs` (new), `src/net/client.rs` (focus `Client::send`), `src/net/mod.rs`
    - check: `cargo check -p net`
    - repair: 2

    Put the policy beside the client; default to three attempts.

    * zero attempts means: no retry
    * jitter is out of scope

    ### tests: Cover the policy

    - edit: `tests/net.rs`
    - check: `cargo test -p net`, with `RUST_LOG=off`
    - after: policy

    ### look: Is the new API right?

    - ask: anyone
    - after: tests

    ### announce: Post the release note

    - run: `tools/announce note.md`
    - after: look, review
    - effect: outside
    - probe: `tools/announce --was-sent`
    ");
}

#[test]
fn line_endings_and_a_byte_order_mark_change_nothing() {
    let plain = super::parse(SAMPLE);
    let windows = format!("\u{feff}{}", SAMPLE.replace('\n', "\r\n"));
    let parsed = super::parse(&windows);
    assert_eq!(problems(&windows, &parsed.problems), "");
    assert_eq!(parsed.plan, plain.plan);
    assert_eq!(&windows[parsed.layout.title.unwrap()], "Make retries configurable");
}

#[test]
fn emphasis_html_and_link_definitions_eat_nothing() {
    step("- edit: src/*.rs, lib/*.rs", "- edit: `src/*.rs`, `lib/*.rs`");
    step("- edit: a.rs (focus Client<T>::send)", "- edit: `a.rs` (focus `Client<T>::send`)");
    step(
        "- run: x\n\nUse Client<T>::send, *not* [x].\n\n[x]: http://y",
        "- run: `x`\n\nUse Client<T>::send, *not* [x].\n\n[x]: http://y",
    );
    step("- run: x\n\n<div>\nstill read\n</div>", "- run: `x`\n\n<div> still read </div>");
}

#[test]
fn only_hash_headings_outside_of_lists_have_structure() {
    step(
        "- run: x\n\nprose\n---\nmore\n\n- x\n  ### c: no step",
        "- run: `x`\n\nprose\n\n---\n\nmore\n\n* x\n  \n  ### c: no step".replace("  \n", "\n").as_str(),
    );
    check(
        "---\ntitle: front matter\n---\n# T\n\n## Contract\n## Steps\n### a: b\n- run: x",
        "# T\n\n## Contract\n\n## Steps\n\n### a: b\n\n- run: `x`",
    );
}

#[test]
fn a_blank_line_does_not_end_the_settings_and_is_said() {
    step(
        "- run: x\n\n- retry: 3\n- never mind: this",
        "- run: `x`\n- retry: 3\n\n* never mind: this\n\
         hint loose-setting \"- retry: 3\": a blank line does not end the settings: this is read as `retry`",
    );
}

#[test]
fn an_unknown_key_is_instruction() {
    step(
        "- run: x\n- eidt: y\n- caution: z\n- plain",
        "- run: `x`\n\n* eidt: y\n* caution: z\n* plain\n\
         warning near-key \"eidt\": `eidt` is no key, so this is instruction; was `edit` meant?\n  fix: write `edit`\n\
         hint unknown-key \"caution\": `caution` is no key, so this item is instruction",
    );
    contract(
        "- be kind\n- socpe: x",
        "- advice: be kind\n- advice: socpe: x\n\
         hint no-key \"- be kind\": this item has no key, so it is said as advice; no code checks it\n\
         warning near-key \"socpe\": `socpe` is no key, so this is advice; was `scope` meant?\n  fix: write `scope`",
    );
}

#[test]
fn prose_right_below_a_setting_is_told() {
    step(
        "- check: cargo test\nMake it good.",
        "- check: `cargo test Make it good.`\n\
         error lazy-line \"Make it good.\": without a blank line above, this is still the value of `check`; put one, or indent it\n  fix: put a blank line above",
    );
    step("- edit: a.rs,\n  b.rs", "- edit: `a.rs`, `b.rs`");
}

#[test]
fn settings_in_a_later_list_are_told() {
    step(
        "- run: x\n\nFirst.\n\n- check: that it is dry",
        "- run: `x`\n\nFirst.\n\n* check: that it is dry\n\
         hint late-setting \"check\": `check` is a setting only in the first list under the heading; here it is instruction",
    );
    contract(
        "- scope: x\n\nAnd:\n\n- enforce: no new dependencies",
        "- scope: `x`\nwarning late-setting \"enforce\": `enforce` is a setting only in the first list under the heading; here it is prose for people and binds nothing",
    );
}

#[test]
fn notes_end_where_their_marks_end() {
    step("- run: x\n\n> note: shorter\n> please\nDo it well.\n\n> a quote", "- run: `x`\n\nDo it well.\n\n> a quote");
    let text = "# T\n\n> question: which?\n> answer: that\n\n> question: why?\n";
    let asked = super::edit::questions(&super::parse(text));
    let asked: Vec<_> = asked.iter().map(|q| (q.number, q.words.as_str(), q.answer.as_deref())).collect();
    assert_eq!(asked, [(1, "which?", Some("that")), (2, "why?", None)]);
}

#[test]
fn comments_are_cut_wherever_they_stand() {
    step(
        "<!-- a -->\n- run: x <!-- b -->\n\nDo <!-- c\nc --> it.\n\n`<!-- code -->`",
        "- run: `x`\n\nDo it.\n\n`<!-- code -->`",
    );
    step("- run: x\n\n<!-- a --># no heading", "- run: `x`\n\n\\# no heading");
    step(
        "- run: x\n\n<!-- a\n\nlost",
        "- run: `x`\nerror unclosed-comment \"<!--\": this comment is never closed, so the rest is not read; write `-->` where it ends",
    );
}

#[test]
fn code_in_an_instruction_stays_byte_for_byte() {
    step(
        "- run: x\n\nFirst\n\n    let  a = 1;\n\n- then\n\n  ```rust\n  fn  x() {}\n\n  ```\n\nA `b  c` d",
        "- run: `x`\n\nFirst\n\n```\nlet  a = 1;\n```\n\n* then\n\n  ```rust\n  fn  x() {}\n\n  ```\n\nA `b  c` d",
    );
}

const SLIPS: [&str; 3] = ["operator", "two-commands", "leading-variable"];

#[test]
fn commands_are_words_without_a_shell() {
    step(
        "- check: `cargo test 'a b' \"c\"`, in `crates/x`, with `A=1`, `B=2`; syntax",
        "- check: `cargo test 'a b' c`, in `crates/x`, with `A=1`, `B=2`\n- check: syntax",
    );
    step("- check: cargo test, with A=1", "- check: `cargo test`, with `A=1`");
    let slips = [
        ("`a && b`", "&&", "fix: make it two commands"),
        ("`a | b`", "|", ""),
        ("`a > b`", ">", ""),
        ("`echo $HOME`", "$", "fix: quote the word"),
        ("`rm *.o`", "*", "fix: quote the word"),
        ("`ls *`", "*", "fix: quote it"),
        ("`A=1 b`", "A=1", "fix: set it with `with`"),
        ("`cd ~/x`", "~", "fix: quote the word"),
        ("``x `y` ``", "`", "fix: quote the word"),
        ("`x 'y`", "x 'y", ""),
    ];
    for (value, about, mend) in slips {
        let text = format!("# T\n## Contract\n## Steps\n### a: b\n- check: {value}\n");
        let found = super::parse(&text).problems;
        let slip = found
            .iter()
            .find(|problem| SLIPS.contains(&problem.code.as_str()))
            .unwrap_or_else(|| panic!("{value}: {found:?}"));
        assert_eq!(&text[slip.range.clone()], about, "{value}");
        assert_eq!(slip.fix.as_ref().map_or(String::new(), |fix| format!("fix: {}", fix.title)), mend, "{value}");
        if let Some(fix) = &slip.fix {
            let mended = super::edit::apply(&text, &fix.edits);
            let left = super::parse(&mended).problems;
            assert!(
                left.iter().all(|problem| !SLIPS.contains(&problem.code.as_str()) || value.contains("`y`")),
                "{mended}: {left:?}"
            );
        }
    }
}

#[test]
fn every_value_has_its_grammar() {
    step("- transform: rename `Client::send` to `transmit`", "- transform: rename `Client::send` to `transmit`");
    step(
        "- transform: rewrite `$A.unwrap()` to `$A?`\n- write: src",
        "- transform: rewrite `$A.unwrap()` to `$A?`\n- write: `src`",
    );
    step("- transform: template a.tpl to b.rs, with NAME=x", "- transform: template `a.tpl` to `b.rs`, with `NAME=x`");
    step("- explore: src, docs\n- out: notes: text", "- explore: `src`, `docs`\n- out: notes: text");
    step(
        "- run: x\n- retry: 3, every 30 s\n- timeout: 120 min\n- on-failure: ask\n- allow: `cargo test *`, `ls`",
        "- run: `x`\n- allow: `cargo test *`, `ls`\n- retry: 3, every 30 s\n- timeout: 2 h\n- on-failure: ask",
    );
    step(
        "- check: absent: `a, b`, in `src`, except `x`; exists `y`",
        "- check: absent: `a, b`, in `src`, except `x`\n- check: exists `y`",
    );
    contract(
        "- budget: 1.5k tokens; $2; 90 s; 40 turns\n- stop: files > 8; when tired\n- enforce: at most 8 files; lines at most 300",
        "- budget: 1500 tokens; 90 s; $2.00; 40 turns\n- enforce: files at most 8; lines at most 300\n- advice: when tired\n- stop: files > 8\n\
         hint stop-as-advice \"when tired\": no code stops on this, so it is said as advice; files, lines, tokens, money or time `>` N would stop",
    );
    contract("- advice: use `a; b` here; and be brief", "- advice: use `a; b` here\n- advice: and be brief");
    contract("- approved: r3-9f2c81d04a7e", "");
}

#[test]
fn what_cannot_be_read_is_an_error_that_says_the_grammar() {
    step(
        "- run: x\n- repair: lots\n- effect: magic\n- timeout: 5",
        "- run: `x`\nerror unreadable-value \"lots\": `lots` cannot be read here; `repair` takes N\n\
         error unreadable-value \"magic\": `magic` cannot be read here; `effect` takes repeatable | outside\n\
         error unreadable-value \"5\": `5` cannot be read here; `timeout` takes N s | N min | N h",
    );
    step(
        "- edit: `a.rs` (old)",
        "- edit:\nerror unreadable-value \"old)\": `old)` cannot be read here; `edit` takes PATH [(new)] [(focus SYMBOL)], …",
    );
    step(
        "- edit: `a.rs`\n- run: x",
        "- edit: `a.rs`\nerror two-kinds \"- run: x\": a step has one kind and this one is `edit`; make `run` a step of its own",
    );
    step(
        "- after: none",
        "- edit:\n- after: none\nerror missing-kind \"### a: b\": this step has no kind; add one of edit, explore, transform, run, check, ask",
    );
    step(
        "- run: x\n  - nested",
        "- run: `x`\nerror nested-setting \"- nested\": `run` takes its value on one line; move this out of the item",
    );
    step("- run: x\n- repair:", "- run: `x`\nerror empty-value \"\": `repair` has no value; it takes N");
}

#[test]
fn what_cannot_be_seen_is_an_error() {
    step(
        "- run: `x\u{202e}y`",
        "- run: `'x\u{202e}y'`\nerror hidden-character \"\\u{202e}\": U+202E cannot be seen, and what is approved must be what was seen; delete it\n  fix: delete it",
    );
}

#[test]
fn ids_come_from_titles_where_none_is_written() {
    check(
        "# T\n## Contract\n## Steps\n### Fix the bug: now\n- run: x",
        "# T\n\n## Contract\n\n## Steps\n\n### fix-the-bug-now: Fix the bug: now\n\n- run: `x`\n\
         warning missing-id \"### Fix the bug: now\": this step has no id, so it goes by `fix-the-bug-now`, and renaming it would make it another step; write one\n  fix: name it `fix-the-bug-now`",
    );
}

#[test]
fn limits_are_errors() {
    let long = "x".repeat(super::parse::LONGEST + 1);
    assert_eq!(super::parse(&long).problems[0].code, "too-long");
    let many: String = (0..201).map(|n| format!("### s{n}: x\n- run: x\n")).collect();
    let found = super::parse(&format!("# T\n## Contract\n## Steps\n{many}")).problems;
    assert_eq!(found.iter().map(|p| p.code.as_str()).collect::<Vec<_>>(), ["too-many-steps"]);
    let deep = format!("# T\n{}x", "> ".repeat(100_000));
    assert!(super::parse(&deep).plan.goal.contains('x'));
}

/// Each word outside of prose, notes and comments changes what is digested; no other word does.
#[test]
fn each_word_belongs_to_meaning_or_not() {
    use crate::domain::plan::parse::{Piece, RemarkKind};
    let text = SAMPLE.replace("## Notes", "> question: what?\n\n## Notes");
    let parsed = super::parse(&text);
    let before = normal(&parsed.plan, &Versions::default());
    let mut counts = std::collections::BTreeMap::new();
    for (range, piece) in parsed.layout.pieces() {
        let run = &text[range.clone()];
        for (at, word) in
            run.match_indices(char::is_alphabetic).filter(|(at, _)| !run[..*at].ends_with(char::is_alphabetic))
        {
            let at = range.start + at;
            if RemarkKind::ALL.iter().any(|(key, _)| text[at..].starts_with(&format!("{key}:"))) {
                continue;
            }
            let other = format!("{}Q{}", &text[..at], &text[at + word.len()..]);
            let after = super::parse(&other);
            let same = normal(&after.plan, &Versions::default()).digest == before.digest && after.problems.is_empty();
            assert_eq!(same, piece != Piece::Meaning, "{piece:?}: {}", &other[at..].lines().next().unwrap_or(""));
            *counts.entry(piece).or_insert(0) += 1;
        }
    }
    assert!(counts.len() == 4 && counts[&Piece::Meaning] > 80, "{counts:?}");
}
