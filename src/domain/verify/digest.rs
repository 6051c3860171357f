//! What of a command's output goes back to the agent, and the one line that goes to a person.
//!
//! Invariant: bounded, errors first, and free of control characters. Absent: reading problems out of it (`problems`);
//! a tool that prints neither a known form nor an error line is quoted by its last lines.

use super::one_line;
use super::problems::{self, clean, pattern};
use crate::domain::task::facts::{Ended, RunOutcome};
use regex::Regex;
use std::sync::LazyLock;

/// Characters of a digest: about 1,500 tokens, so that two repair rounds do not fill a small window.
const DIGEST: usize = 6_000;
/// Lines of one error's block; what follows are notes on notes.
const BLOCK: usize = 24;
/// Lines of the end of the output, where summaries stand.
const ENDING: usize = 30;

pattern!(RUSTC_HEAD, r"^error(?:\[(?P<code>\w+)\])?: (?P<message>.+)$");
pattern!(PANIC, r"^thread '(?P<test>[^']*)' (?:\(\d+\) )?panicked at (?P<path>[^':\s][^':]*):(?P<line>\d+):\d+:?$");
pattern!(PANIC_OLD, r"^thread '(?P<test>[^']*)' panicked at '(?P<message>.*)', (?P<path>[^:]+):(?P<line>\d+):\d+$");
pattern!(TSC, r"^(?P<path>[^\s(]+)\((?P<line>\d+),\d+\): (?P<message>error.*)$");
pattern!(GENERIC, r"^\s*(?:\./)?(?P<path>[\w./@+-]*\w\.[A-Za-z]\w*):(?P<line>\d+)(?::\d+)?: *(?P<message>\S.*)$");
pattern!(HARMLESS, r"^(?i:warning|note|info|remark|help)\b");
pattern!(FAILED_TEST, r"^(?:test (?P<rust>.+) \.\.\. FAILED|--- FAIL: (?P<go>\S+)|FAILED (?P<pytest>\S+).*)$");
pattern!(ERROR_LINE, r"(?i)^\W*(?:\w+: )?(?:fatal|error|failed|failure|panic|exception)\b");

/// The line that tells a person most about why a command failed.
pub(super) fn first_error(output: &str) -> Option<String> {
    let found = problems::problems(output);
    let placed = |problem: &&problems::ReadProblem| problem.is_error() && problem.site.is_some();
    if let Some(problem) = found.iter().find(placed) {
        return Some(problem.to_string());
    }
    let clean = clean(output);
    let mut lines = clean.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("[planwright: "));
    let line = lines.clone().find(|line| ERROR_LINE.is_match(line)).or_else(|| lines.next_back());
    line.map(one_line)
}

/// What goes back to the agent after a failed check: how it ended, each error with its block, the tests that failed,
/// the end of the output. At most 6,000 characters, the most useful first.
pub fn digest_for_agent(outcome: &RunOutcome) -> String {
    let clean = clean(&outcome.output);
    let ended = match outcome.ended {
        Ended::Exit(code) => format!("It exited with {code}."),
        Ended::Signal(signal) => format!("It died by signal {signal}."),
        Ended::Timeout => format!("It was stopped at its time limit after {} s.", outcome.millis / 1_000),
        Ended::OutputLimit => format!("It was stopped after {} bytes of output.", outcome.bytes),
        Ended::Cancelled => "It was cancelled.".to_owned(),
        Ended::MemoryLimit => "It was stopped at its limit of memory.".to_owned(),
        Ended::ProcessLimit => "It was stopped at its limit of processes.".to_owned(),
        Ended::DiskLimit => "It was stopped at its limit of bytes on disk.".to_owned(),
        Ended::CpuLimit => "It was stopped at its limit of processor time.".to_owned(),
    };
    let whole = format!("{ended}\n{}", clean.trim_end());
    if whole.chars().count() <= DIGEST {
        return whole;
    }
    let lines: Vec<&str> = clean.lines().collect();
    let mut digest = Digest { left: DIGEST, text: String::new() };
    digest.add(&ended);
    let failed: Vec<&str> = lines.iter().filter_map(|line| failed_test(line)).collect();
    if !failed.is_empty() {
        digest.add(&format!("Failed tests: {}", failed.join(", ")));
    }
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| begins_a_block(line)) {
        let block = lines.get(at..).unwrap_or_default().iter().take(BLOCK);
        let block: Vec<&str> = block.copied().take_while(|line| !line.trim().is_empty()).collect();
        digest.add(&block.join("\n"));
    }
    let ending = lines.get(lines.len().saturating_sub(ENDING)..).unwrap_or_default().join("\n");
    digest.add(&format!("The end of the output:\n{ending}"));
    digest.text
}

fn begins_a_block(line: &str) -> bool {
    let generic = || GENERIC.captures(line).is_some_and(|place| !HARMLESS.is_match(&place["message"]));
    RUSTC_HEAD.is_match(line)
        || PANIC.is_match(line)
        || PANIC_OLD.is_match(line)
        || TSC.is_match(line)
        || line.starts_with("Traceback (most recent call last)")
        || generic()
}

fn failed_test(line: &str) -> Option<&str> {
    let captures = FAILED_TEST.captures(line)?;
    let name = captures.name("rust").or_else(|| captures.name("go")).or_else(|| captures.name("pytest"));
    name.map(|name| name.as_str())
}

/// Between two parts of a digest.
const GAP: &str = "\n\n";

/// Text with room left; what does not fit is cut, and then nothing more is taken.
struct Digest {
    left: usize,
    text: String,
}

impl Digest {
    fn add(&mut self, part: &str) {
        if self.left == 0 || part.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            // A gap with no room for a character behind it would be over the bound itself.
            if self.left <= GAP.len() {
                self.left = 0;
                return;
            }
            self.text.push_str(GAP);
            self.left -= GAP.len();
        }
        match part.char_indices().nth(self.left) {
            None => {
                self.text.push_str(part);
                self.left = self.left.saturating_sub(part.chars().count());
            }
            Some((cut, _)) => {
                self.text.push_str(part.get(..cut.saturating_sub(1)).unwrap_or_default());
                self.text.push('…');
                self.left = 0;
            }
        }
    }
}
