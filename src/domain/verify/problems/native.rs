//! `path:line:column: message`, the form of gcc, clang, go, mypy, ruff and many others; go test; cmake.
//!
//! Invariant: a note is no problem. Absent: a line whose path is no file's name.

use super::{FAILED, MOST, NEAR, ReadProblem, Reader, Sink, Site, group, head, pattern};
use crate::domain::problem::Severity;
use regex::Regex;
use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

pattern!(
    PLACE,
    r"^\s*(?:vet: )?(?P<path>/?(?:\./|\.\./)*[\w./@+\-\[\]]*\w\.[A-Za-z]\w*):(?P<line>\d+)(?::(?P<column>\d+))?: *(?P<message>\S.*)$"
);
pattern!(
    TSC,
    r"^(?P<path>\S.*?\.\w+)(?:\((?P<line>\d+),(?P<column>\d+)\): |:(?P<l>\d+):(?P<c>\d+) - )(?P<message>(?:error|warning).*)$"
);
pattern!(
    COMPACT,
    r"^(?P<path>.+?\.\w+): line (?P<line>\d+), col (?P<column>\d+), (?P<message>(?:Error|Warning) - .+?)(?: \((?P<rule>[\w@/-]+)\))?$"
);
pattern!(
    WORD,
    r"^(?i:(?P<word>fatal error|fatal|error|warning|note|info|remark|help|hint))\b(?:\[(?P<code>[\w-]+)\])?(?: (?P<ts>TS\d+))?(?::| -)? *(?P<rest>.*)$"
);
pattern!(CODED, r"^(?P<rest>.*\S)\s+\[(?P<code>(?:Error/|Warning/)?[@A-Za-z-][\w@/.=+-]*)\]$");
pattern!(FLAKE, r"^(?P<code>[A-Z]{1,4}\d{2,4}) (?:\[\*\] )?(?P<rest>\S.*)$");
pattern!(
    LINKER,
    r"^(?:\S*ld: )?(?:\S+: )?(?P<path>[\w./+-]+\.\w+):\(\.\w[^)]*\): (?P<message>undefined reference to .+)$"
);
pattern!(CMAKE, r"^CMake (?P<word>Error|Warning)(?: \(dev\))? at (?P<path>[^:]+):(?P<line>\d+)\b");

/// Lines that say all by themselves.
#[derive(Default)]
pub(super) struct Places {
    cmake: Option<(Severity, Option<Site>, usize)>,
}

impl Reader for Places {
    fn line(&mut self, line: &str, sink: &mut Sink<'_>) -> bool {
        let line = head(line);
        if let Some((severity, site, age)) = self.cmake.take() {
            if line.trim().is_empty() && age < NEAR {
                self.cmake = Some((severity, site, age + 1));
            } else if line.starts_with(' ') && site.is_some() {
                sink.put(ReadProblem { site, severity, code: None, message: line.trim().to_owned(), test: None });
                return true;
            }
        }
        if let Some(found) = CMAKE.captures(line) {
            let severity = if group(&found, "word") == "Error" { Severity::Error } else { Severity::Warning };
            self.cmake = Some((severity, sink.site(group(&found, "path"), group(&found, "line"), ""), 0));
            return true;
        }
        if let Some(found) = LINKER.captures(line) {
            if let Some(site) = sink.site(group(&found, "path"), "", "") {
                sink.error(site, None, group(&found, "message"));
            }
            return true;
        }
        let Some(found) = TSC.captures(line).or_else(|| COMPACT.captures(line)).or_else(|| PLACE.captures(line)) else {
            return false;
        };
        let either = |one: &str, other: &str| {
            Some(group(&found, one)).filter(|it| !it.is_empty()).unwrap_or(group(&found, other))
        };
        let site = sink.site(group(&found, "path"), either("line", "l"), either("column", "c"));
        let said = said(group(&found, "message"));
        if let (Some(site), Some((severity, code, message))) = (site, said) {
            let code = code.or_else(|| found.name("rule").map(|rule| rule.as_str().to_owned()));
            sink.put(ReadProblem { site: Some(site), severity, code, message, test: None });
        }
        true
    }

    fn end(&mut self, _: &mut Sink<'_>) {}
}

/// Severity, code and the rest of a message; none for what only explains another.
fn said(message: &str) -> Option<(Severity, Option<String>, String)> {
    let (mut severity, mut code, mut rest) = (Severity::Error, String::new(), message.trim());
    if let Some(found) = WORD.captures(rest) {
        match group(&found, "word").to_ascii_lowercase().as_str() {
            "error" | "fatal error" | "fatal" => {}
            "warning" => severity = Severity::Warning,
            _ => return None,
        }
        code = [group(&found, "code"), group(&found, "ts")].concat();
        rest = found.name("rest").map_or(rest, |rest| rest.as_str());
    } else if rest.starts_with("in ") {
        return None;
    } else if rest.split(':').next().is_some_and(|word| word.ends_with("Warning")) {
        severity = Severity::Warning;
    }
    if let Some(found) = FLAKE.captures(rest).filter(|_| code.is_empty()) {
        (code, rest) = (group(&found, "code").to_owned(), found.name("rest").map_or(rest, |rest| rest.as_str()));
    } else if let Some(found) = CODED.captures(rest).filter(|_| code.is_empty()) {
        let name = group(&found, "code");
        // eslint's `unix` says how bad it is at the end
        if name.starts_with("Warning/") {
            severity = Severity::Warning;
        }
        code = name.rsplit_once("or/").or_else(|| name.rsplit_once("ing/")).map_or(name, |(_, rule)| rule).to_owned();
        rest = found.name("rest").map_or(rest, |rest| rest.as_str());
    }
    let rest = if rest.is_empty() { message } else { rest };
    Some((severity, (!code.is_empty()).then_some(code), rest.to_owned()))
}

pattern!(GO_TEST, r"^\s*--- (?P<result>FAIL|PASS|SKIP): (?P<name>\S+)(?: \(.*\))?$");
pattern!(GO_RUN, r"^=== (?:RUN|CONT|NAME|PAUSE)\s+(?P<name>\S+)$");
pattern!(GO_LOG, r"^\s+(?P<path>[\w.-]+\.go):(?P<line>\d+): (?P<message>.*)$");
pattern!(GO_PACKAGE, r"^(?:FAIL|ok)\s+(?P<package>\S+)\s");
pattern!(GO_PANIC, r"^panic: (?P<message>.+?)(?: \[recovered.*\])?$");
pattern!(GO_FRAME, r"^\t(?P<path>\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$");

/// `go test`: names of files without their folders, and the package only at its end.
#[derive(Default)]
pub(super) struct Go {
    test: Option<String>,
    failed: Vec<String>,
    logged: Vec<(String, String, String, String)>,
    panic: Option<String>,
}

impl Go {
    fn settle(&mut self, package: &str, sink: &mut Sink<'_>) {
        let failed: BTreeSet<&str> = self.failed.iter().map(String::as_str).collect();
        let mut told: HashSet<String> = sink.out.iter().filter_map(|problem| problem.test.clone()).collect();
        for (test, path, line, message) in self.logged.iter().filter(|(test, ..)| failed.contains(test.as_str())) {
            let path = sink.ground.in_package(path, package);
            let site = path.map(|path| Site { path, line: line.parse().ok(), column: None });
            sink.test(site, message, Some(test));
            told.insert(test.clone());
        }
        for test in failed.iter().filter(|test| !told.contains(**test)) {
            // A test with a failed part fails by it.
            let part = format!("{test}/");
            if failed.range(part.as_str()..).next().is_none_or(|next| !next.starts_with(&part)) {
                sink.test(None, FAILED, Some(test));
            }
        }
        *self = Self::default();
    }
}

impl Reader for Go {
    fn line(&mut self, line: &str, sink: &mut Sink<'_>) -> bool {
        let line = head(line);
        if let Some(found) = GO_TEST.captures(line) {
            let name = group(&found, "name").to_owned();
            if group(&found, "result") == "FAIL" {
                self.failed.push(name.clone());
            }
            self.test = Some(name);
            return true;
        }
        if let Some(found) = GO_RUN.captures(line) {
            self.test = Some(group(&found, "name").to_owned());
            return true;
        }
        if let Some((found, test)) = GO_LOG.captures(line).zip(self.test.clone()) {
            let part = |name: &str| group(&found, name).to_owned();
            if self.logged.len() < MOST {
                self.logged.push((test, part("path"), part("line"), part("message")));
            }
            return true;
        }
        if let Some(found) = GO_PANIC.captures(line) {
            self.panic = Some(group(&found, "message").to_owned());
            return true;
        }
        if let Some(frame) = GO_FRAME.captures(line) {
            let site = sink.site(group(&frame, "path"), group(&frame, "line"), "");
            if let Some((site, message)) = site.zip(self.panic.clone()) {
                self.panic = None;
                sink.test(Some(site), &format!("panic: {message}"), self.test.as_deref());
            }
            return true;
        }
        if let Some(found) = GO_PACKAGE.captures(line) {
            self.settle(group(&found, "package"), sink);
            return true;
        }
        false
    }

    fn end(&mut self, sink: &mut Sink<'_>) {
        self.settle("", sink);
    }
}
