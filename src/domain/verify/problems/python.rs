//! pytest, unittest, and tracebacks of any Python program.
//!
//! Invariant: of a traceback the innermost frame in the workspace counts; without one there is no place. Absent:
//! mypy and ruff, whose lines have the general form.

use super::{FAILED, NEAR, Reader, Sink, Site, group, head, pattern};
use regex::Regex;
use std::collections::HashSet;
use std::sync::LazyLock;

pattern!(HEADING, r"^_{3,} (?P<name>\S.*?) _{3,}$");
pattern!(RULE, r"^={3,}(?: .* )?=*$");
pattern!(FRAME, r"^(?P<path>[^\s:]+\.py):(?P<line>\d+):(?: (?P<rest>.*))?$");
pattern!(SUMMARY, r"^(?:FAILED|ERROR) (?P<path>[^\s:]+\.py)(?:::(?P<test>.+?))?(?: - (?P<message>.+))?$");
pattern!(UNITTEST, r"^(?:FAIL|ERROR): (?P<name>\S+) \((?P<place>[^)]+)\)");
pattern!(FILE, r#"^\s*File "(?P<path>[^"]+)", line (?P<line>\d+)"#);
pattern!(ENDS, r"^(?P<message>[A-Za-z_][\w.]*(?::.*)?)$");

#[derive(Default)]
pub(super) struct Python {
    /// What is running: pytest's heading, or unittest's.
    test: Option<String>,
    section: Option<Section>,
    trace: Option<Trace>,
    told: HashSet<String>,
}

/// Below a heading of pytest.
#[derive(Default)]
struct Section {
    site: Option<Site>,
    message: Option<String>,
    /// A frame has named its exception: what follows is another exception of the same test.
    named: bool,
}

/// Between the first frame and the exception.
#[derive(Default)]
struct Trace {
    site: Option<Site>,
    age: usize,
}

impl Python {
    fn settle(&mut self, sink: &mut Sink<'_>) {
        let Some(Section { site, message, .. }) = self.section.take() else { return };
        if site.is_none() && message.is_none() {
            return;
        }
        self.tell(sink, site, message.as_deref().unwrap_or(FAILED));
    }

    fn tell(&mut self, sink: &mut Sink<'_>, site: Option<Site>, message: &str) {
        self.told.extend(self.test.clone());
        sink.test(site, message, self.test.as_deref());
    }

    fn in_section(&mut self, line: &str, sink: &Sink<'_>) -> bool {
        let Some(section) = &mut self.section else { return false };
        if let Some(message) = line.strip_prefix("E ") {
            if section.named {
                *section = Section { site: section.site.take(), ..Section::default() };
            }
            if section.message.is_none() {
                section.message = Some(message.trim().to_owned());
            }
            return true;
        }
        let Some(frame) = FRAME.captures(line) else { return false };
        if let Some(site) = sink.site(group(&frame, "path"), group(&frame, "line"), "") {
            section.site = Some(site);
        }
        let rest = group(&frame, "rest");
        section.named = !rest.is_empty() && !rest.starts_with("in ");
        if section.named && section.message.is_none() {
            section.message = Some(rest.to_owned());
        }
        true
    }

    fn traced(&mut self, line: &str, sink: &mut Sink<'_>) -> bool {
        if let Some(frame) = FILE.captures(line) {
            let site = sink.site(group(&frame, "path"), group(&frame, "line"), "");
            let trace = self.trace.get_or_insert_with(Trace::default);
            trace.age = 0;
            trace.site = site.or_else(|| trace.site.take());
            return true;
        }
        let Some(trace) = &mut self.trace else { return false };
        if line.starts_with([' ', '\t']) && trace.age < NEAR {
            trace.age += 1;
            return true;
        }
        let site = self.trace.take().and_then(|trace| trace.site);
        let Some(end) = ENDS.captures(line) else { return false };
        if site.is_some() || self.test.is_some() {
            self.tell(sink, site, group(&end, "message"));
        }
        true
    }
}

impl Reader for Python {
    fn line(&mut self, line: &str, sink: &mut Sink<'_>) -> bool {
        let line = head(line).trim_end();
        if let Some(heading) = HEADING.captures(line) {
            self.settle(sink);
            let name = group(&heading, "name");
            let part = ["ERROR at setup of ", "ERROR at teardown of "].iter().find_map(|head| name.strip_prefix(head));
            let whole = (!name.starts_with("ERROR collecting ")).then_some(part.unwrap_or(name));
            self.test = whole.map(str::to_owned);
            self.section = Some(Section::default());
            return true;
        }
        if RULE.is_match(line) {
            self.settle(sink);
            self.test = None;
            return true;
        }
        if let Some(found) = UNITTEST.captures(line) {
            let (name, place) = (group(&found, "name"), group(&found, "place"));
            let place = place.trim_start_matches("unittest.loader._FailedTest.");
            self.test = Some(if place.ends_with(name) { place.to_owned() } else { format!("{place}.{name}") });
            return true;
        }
        if let Some(found) = SUMMARY.captures(line) {
            self.settle(sink);
            let test = group(&found, "test").replace("::", ".");
            let site = sink.site(group(&found, "path"), "", "");
            let known = if test.is_empty() {
                sink.out
                    .iter()
                    .any(|problem| problem.site.as_ref().map(|site| &site.path) == site.as_ref().map(|site| &site.path))
            } else {
                self.told.contains(&test)
            };
            if !known {
                let message = found.name("message").map_or(FAILED, |message| message.as_str());
                sink.test(site, message, (!test.is_empty()).then_some(&test));
            }
            return true;
        }
        self.in_section(line, sink) || self.traced(line, sink)
    }

    fn end(&mut self, sink: &mut Sink<'_>) {
        self.settle(sink);
    }
}
