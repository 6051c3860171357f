//! cargo, rustc, clippy and rustfmt, for people and for machines; libtest and nextest.
//!
//! Invariant: a panic counts as a failed test only where its runner does not say that the test passed.
//! Absent: heads without a place ("could not compile"), which only repeat others.

use super::{FAILED, NEAR, ReadProblem, Reader, Sink, group, head, pattern};
use crate::domain::problem::Severity;
use regex::Regex;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::LazyLock;

pattern!(HEAD, r"^(?P<word>error|warning)(?:\[(?P<code>\w+)\])?: (?P<message>.+)$");
pattern!(PLACE, r"^\s*--> (?P<path>.+?):(?P<line>\d+):(?P<column>\d+)$");
pattern!(LINT, r"^\s*= help: .*rust-clippy/.*#(?P<lint>\w+)$");
pattern!(FORMAT, r"^Diff in (?P<path>.+?)(?: at line |:)(?P<line>\d+):?$");
// ruff prints its findings in the compiler's form, without a word before
pattern!(RUFF, r"^(?:(?P<code>[A-Z]{1,4}\d{2,4})(?: \[\*\])?|unformatted:) (?P<message>\S.*)$");

/// Heads with places below.
#[derive(Default)]
pub(super) struct Compiler {
    head: Option<Head>,
    /// The place of the last problem in the sink, while its notes go on.
    notes: Option<usize>,
}

struct Head {
    severity: Severity,
    code: String,
    message: String,
    age: usize,
}

impl Reader for Compiler {
    fn line(&mut self, line: &str, sink: &mut Sink<'_>) -> bool {
        let line = head(line);
        if line.trim().is_empty() {
            self.notes = None;
            self.head = None;
            return false;
        }
        if let Some(found) = HEAD.captures(line) {
            let severity = if group(&found, "word") == "error" { Severity::Error } else { Severity::Warning };
            let (code, message) = (group(&found, "code").to_owned(), group(&found, "message").to_owned());
            self.notes = None;
            self.head = Some(Head { severity, code, message, age: 0 });
            return true;
        }
        if let Some(found) = RUFF.captures(line) {
            let (code, message) = (group(&found, "code").to_owned(), group(&found, "message").to_owned());
            self.head = Some(Head { severity: Severity::Error, code, message, age: 0 });
            return false;
        }
        if let Some(place) = PLACE.captures(line) {
            let Some(Head { severity, code, message, .. }) = self.head.take() else { return true };
            let site = sink.site(group(&place, "path"), group(&place, "line"), group(&place, "column"));
            let code = (!code.is_empty()).then_some(code);
            let fresh = site.is_some() && sink.put(ReadProblem { site, severity, code, message, test: None });
            self.notes = fresh.then(|| sink.out.len().saturating_sub(1));
            return true;
        }
        if let Some(found) = LINT.captures(line) {
            if let Some(problem) =
                self.notes.and_then(|at| sink.out.get_mut(at)).filter(|problem| problem.code.is_none())
            {
                problem.code = Some(format!("clippy::{}", group(&found, "lint")));
            }
            return true;
        }
        if let Some(found) = FORMAT.captures(line) {
            if let Some(site) = sink.site(group(&found, "path"), group(&found, "line"), "") {
                sink.error(site, Some("rustfmt"), "not formatted");
            }
            return true;
        }
        self.head = self.head.take().map(|head| Head { age: head.age + 1, ..head }).filter(|head| head.age < NEAR);
        false
    }

    fn end(&mut self, _: &mut Sink<'_>) {}
}

/// `--message-format json`, and the events of libtest.
pub(super) struct Json;

impl Reader for Json {
    fn line(&mut self, line: &str, sink: &mut Sink<'_>) -> bool {
        if !(line.starts_with('{') && line.ends_with('}')) {
            return false;
        }
        let Ok(value) = serde_json::from_str::<Value>(line) else { return false };
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        if text(&value, "type") == "test" {
            if text(&value, "event") == "failed" {
                sink.test(None, FAILED, Some(&text(&value, "name")));
            }
            return true;
        }
        let wrapped = value.get("message").filter(|_| text(&value, "reason") == "compiler-message");
        let message = wrapped.unwrap_or(&value);
        let severity = match text(message, "level").as_str() {
            level if level.starts_with("error") => Severity::Error,
            "warning" => Severity::Warning,
            _ => return value.get("reason").is_some() || value.get("$message_type").is_some(),
        };
        let spans = message.get("spans").and_then(Value::as_array).into_iter().flatten();
        let primary = spans.into_iter().find(|span| span.get("is_primary") == Some(&Value::Bool(true)));
        let number = |span: &Value, key: &str| span.get(key).and_then(Value::as_u64).unwrap_or_default().to_string();
        let site = primary.and_then(|span| {
            sink.site(&text(span, "file_name"), &number(span, "line_start"), &number(span, "column_start"))
        });
        let code = message.get("code").map(|code| text(code, "code")).filter(|code| !code.is_empty());
        if site.is_some() {
            sink.put(ReadProblem { site, severity, code, message: text(message, "message"), test: None });
        }
        true
    }

    fn end(&mut self, _: &mut Sink<'_>) {}
}

pattern!(
    PANIC,
    r"^\s*thread '(?P<test>[^']*)' (?:\(\d+\) )?panicked at (?P<path>[^':\s][^':]*):(?P<line>\d+):(?P<column>\d+):?$"
);
pattern!(
    PANIC_OLD,
    r"^\s*thread '(?P<test>[^']*)' panicked at '(?P<message>.*)', (?P<path>[^:]+):(?P<line>\d+):(?P<column>\d+)$"
);
pattern!(RESULT, r"^\s*test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<result>ok|FAILED)\b");
pattern!(
    NEXTEST,
    r"^\s*(?:TRY \d+ )?(?:FAIL|TIMEOUT|ABORT|SIG[A-Z]+) \[ *[\d.]+s\] (?:\( *\d+/\d+\) )?\S+ (?P<name>\S+)$"
);
pattern!(DOCTEST, r"^(?P<path>\S+) - .*\(line (?P<line>\d+)\)$");

/// Panics and the lines of the two test runners.
#[derive(Default)]
pub(super) struct Tests {
    panic: Option<Panic>,
    failed: Vec<String>,
    passed: HashSet<String>,
}

struct Panic {
    problem: ReadProblem,
    /// What it said, then both sides of an assertion.
    said: Vec<String>,
}

impl Tests {
    fn settle(&mut self, sink: &mut Sink<'_>) {
        if let Some(Panic { problem, said }) = self.panic.take() {
            sink.put(ReadProblem { message: said.join(", "), ..problem });
        }
    }
}

/// Threads that are no test's.
fn test_name(thread: &str) -> Option<String> {
    (!matches!(thread, "main" | "<unnamed>" | "")).then(|| thread.to_owned())
}

impl Reader for Tests {
    fn line(&mut self, line: &str, sink: &mut Sink<'_>) -> bool {
        let line = head(line);
        if let Some(panic) = &mut self.panic {
            let text = line.trim();
            if panic.said.is_empty() || text.starts_with("left:") || text.starts_with("right:") {
                panic.said.push(text.to_owned());
                return true;
            }
            self.settle(sink);
        }
        let site =
            |found: &regex::Captures<'_>| sink.site(group(found, "path"), group(found, "line"), group(found, "column"));
        let problem = |site, found: &regex::Captures<'_>| ReadProblem {
            site,
            severity: Severity::Error,
            code: None,
            message: group(found, "message").to_owned(),
            test: test_name(group(found, "test")),
        };
        if let Some(found) = PANIC.captures(line) {
            // A place in the standard library is nobody's here; the runner names the test.
            if let Some(site) = site(&found) {
                self.panic = Some(Panic { problem: problem(Some(site), &found), said: Vec::new() });
            }
            return true;
        }
        if let Some(found) = PANIC_OLD.captures(line) {
            if let Some(site) = site(&found) {
                sink.put(problem(Some(site), &found));
            }
            return true;
        }
        if let Some(found) = RESULT.captures(line) {
            let name = group(&found, "name").to_owned();
            if group(&found, "result") == "ok" {
                self.passed.insert(name);
            } else {
                self.failed.push(name);
            }
            return true;
        }
        if let Some(found) = NEXTEST.captures(line) {
            self.failed.push(group(&found, "name").to_owned());
            return true;
        }
        false
    }

    fn end(&mut self, sink: &mut Sink<'_>) {
        self.settle(sink);
        let failed: HashSet<&str> = self.failed.iter().map(String::as_str).collect();
        // Two binaries may have a test of one name: one that failed somewhere counts.
        let passed = |name: &String| self.passed.contains(name) && !failed.contains(name.as_str());
        sink.out.retain(|problem| !problem.test.as_ref().is_some_and(passed));
        let told: HashSet<String> = sink.out.iter().filter_map(|problem| problem.test.clone()).collect();
        for name in self.failed.iter().filter(|name| !told.contains(*name)) {
            let place = DOCTEST.captures(name);
            let site = place.and_then(|found| sink.site(group(&found, "path"), group(&found, "line"), ""));
            sink.test(site, FAILED, Some(name));
        }
    }
}
