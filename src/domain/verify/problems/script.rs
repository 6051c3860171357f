//! eslint's `stylish`, and the test runners of JavaScript: node (`tap`, `spec`), jest, vitest.
//!
//! Invariant: the place of a failed test is the first frame in the workspace, else where the test itself stands.
//! Absent: tsc and eslint's other forms, which are lines of the general kind.

use super::{FAILED, ReadProblem, Reader, Sink, Site, group, head, pattern};
use crate::domain::problem::Severity;
use regex::Regex;
use std::collections::HashSet;
use std::sync::LazyLock;

pattern!(FILE, r"^(?P<path>\S[^:()]*\.(?:[cm]?[jt]sx?|vue|svelte|astro|json|html))$");
pattern!(
    ROW,
    r"^\s+(?P<line>\d+):(?P<column>\d+)\s+(?P<word>error|warning)\s+(?P<message>\S.*?)(?:\s{2,}(?P<rule>\S+))?$"
);
pattern!(TAP, r"^\s*not ok \d+(?: - (?P<name>.*?))?(?P<excused> # (?:TODO|SKIP).*)?$");
pattern!(LOCATION, r"^\s*location: '?(?P<path>.+?):(?P<line>\d+):(?P<column>\d+)'?$");
pattern!(SPEC_PLACE, r"^test at (?P<path>.+?):(?P<line>\d+):(?P<column>\d+)$");
pattern!(SPEC_NAME, r"^\s*✖ (?P<name>.+?) \([\d.]+ ?m?s\)$");
pattern!(SPEC_SUITE, r"^\s*▶ (?P<name>.+?)(?: \([\d.]+ ?m?s\))?$");
pattern!(JEST, r"^\s*● (?P<name>.+)$");
pattern!(VITEST, r"^\s*FAIL\s+(?P<path>\S+\.\w+) > (?P<name>.+)$");
pattern!(
    STACK,
    r"^\s*(?P<at>at |❯ )?(?:.*? \(|\S+ )?(?P<path>(?:file://)?[^\s()]+?):(?P<line>\d+):(?P<column>\d+)\)?$"
);

#[derive(Default)]
pub(super) struct Script {
    linted: Option<String>,
    failing: Option<Failing>,
    /// `✖ name` in the listing; the details come at the end of the output, if it has an end.
    listed: Vec<String>,
    suites: HashSet<String>,
    told: HashSet<String>,
}

/// One failed test while its lines come.
#[derive(Default)]
struct Failing {
    test: Option<String>,
    stands: Option<Site>,
    frame: Option<Site>,
    message: Option<String>,
    /// `spec` names the place first.
    nameless: bool,
    tap: bool,
    /// It fails only by a part of it, which is told by itself.
    by_part: bool,
    /// The message is in the line that follows.
    below: bool,
}

impl Script {
    fn settle(&mut self, sink: &mut Sink<'_>) {
        let Some(it) = self.failing.take() else { return };
        if it.by_part || it.nameless {
            return;
        }
        self.told.extend(it.test.clone());
        sink.test(it.frame.or(it.stands), it.message.as_deref().unwrap_or(FAILED), it.test.as_deref());
    }

    fn begin(&mut self, failing: Failing, sink: &mut Sink<'_>) -> bool {
        self.settle(sink);
        self.failing = Some(failing);
        true
    }

    fn heads(&mut self, line: &str, sink: &mut Sink<'_>) -> bool {
        let name =
            |found: &regex::Captures<'_>| Some(group(found, "name").trim().to_owned()).filter(|name| !name.is_empty());
        if let Some(found) = TAP.captures(line) {
            let by_part = found.name("excused").is_some();
            return self.begin(Failing { test: name(&found), tap: true, by_part, ..Failing::default() }, sink);
        }
        if let Some(found) = SPEC_PLACE.captures(line) {
            let stands = sink.site(group(&found, "path"), group(&found, "line"), group(&found, "column"));
            return self.begin(Failing { stands, nameless: true, ..Failing::default() }, sink);
        }
        if let Some(found) = SPEC_NAME.captures(line) {
            match self.failing.as_mut().filter(|failing| failing.nameless) {
                Some(failing) => (failing.test, failing.nameless) = (name(&found), false),
                None => self.listed.extend(name(&found)),
            }
            return true;
        }
        if let Some(found) = SPEC_SUITE.captures(line) {
            self.suites.extend(name(&found));
            return true;
        }
        if let Some(found) = JEST.captures(line) {
            let test = name(&found).filter(|name| name != "Test suite failed to run");
            return self.begin(Failing { test, ..Failing::default() }, sink);
        }
        if let Some(found) = VITEST.captures(line) {
            let stands = sink.site(group(&found, "path"), "", "");
            return self.begin(Failing { test: name(&found), stands, ..Failing::default() }, sink);
        }
        false
    }

    fn details(&mut self, line: &str, sink: &mut Sink<'_>) -> bool {
        let Some(failing) = &mut self.failing else { return false };
        let text = line.trim();
        if let Some(found) = STACK.captures(line).filter(|found| failing.tap || found.name("at").is_some()) {
            if failing.frame.is_none() && !group(&found, "path").contains("node_modules/") {
                failing.frame = sink.site(group(&found, "path"), group(&found, "line"), group(&found, "column"));
            }
            return true;
        }
        if failing.tap {
            if let Some(found) = LOCATION.captures(line) {
                failing.stands = sink.site(group(&found, "path"), group(&found, "line"), group(&found, "column"));
            } else if let Some(error) = text.strip_prefix("error:") {
                let error = error.trim().trim_matches(['\'', '"']);
                failing.below = error.starts_with('|') || error.starts_with('>');
                failing.message = (!failing.below && !error.is_empty()).then(|| error.to_owned());
            } else if failing.below {
                failing.below = false;
                failing.message = Some(text.to_owned());
            } else if text == "failureType: 'subtestsFailed'" {
                failing.by_part = true;
            } else if text == "..." {
                self.settle(sink);
            } else {
                failing.goes_on(text);
            }
            return true;
        }
        let over = ["Test Suites:", "Tests:", "FAIL ", "PASS ", "⎯", "ℹ"].iter().any(|head| text.starts_with(head));
        if over && failing.message.is_some() {
            self.settle(sink);
            return false;
        }
        if failing.message.is_none() && !failing.nameless && !text.is_empty() {
            failing.message = Some(text.to_owned());
            return true;
        }
        failing.goes_on(text)
    }
}

impl Failing {
    /// A message that ends with a colon has its sense in the next line.
    fn goes_on(&mut self, text: &str) -> bool {
        let Some(message) = self.message.as_mut().filter(|message| message.ends_with(':') && !text.is_empty()) else {
            return false;
        };
        message.push(' ');
        message.push_str(text);
        true
    }
}

impl Reader for Script {
    fn line(&mut self, line: &str, sink: &mut Sink<'_>) -> bool {
        let line = head(line).trim_end();
        if line.is_empty() {
            self.linted = None;
            return false;
        }
        if let Some((row, file)) = ROW.captures(line).zip(self.linted.as_ref()) {
            let site = sink.site(file, group(&row, "line"), group(&row, "column"));
            let severity = if group(&row, "word") == "error" { Severity::Error } else { Severity::Warning };
            let code = row.name("rule").map(|rule| rule.as_str().to_owned());
            if site.is_some() {
                sink.put(ReadProblem { site, severity, code, message: group(&row, "message").to_owned(), test: None });
            }
            return true;
        }
        if let Some(found) = FILE.captures(line) {
            self.linted = Some(group(&found, "path").to_owned());
            return true;
        }
        self.heads(line, sink) || self.details(line, sink)
    }

    fn end(&mut self, sink: &mut Sink<'_>) {
        self.settle(sink);
        let listed = std::mem::take(&mut self.listed);
        for name in listed.iter().filter(|name| !self.told.contains(*name) && !self.suites.contains(*name)) {
            sink.test(None, FAILED, Some(name));
        }
    }
}
