use super::*;

#[track_caller]
fn check(text: &str, expect: &str) {
    let parsed = super::parse(text);
    let got = format!("{}{}", render(&parsed.plan), problems(text, &parsed.problems));
    assert_eq!(got.trim(), expect.trim(), "\n--- got ---\n{got}");
}

#[test]
fn the_sample_is_read_whole() {
    let parsed = super::parse(SAMPLE);
    assert_eq!(problems(SAMPLE, &parsed.problems), "");
    insta::assert_snapshot!(render(&parsed.plan), @"");
}
