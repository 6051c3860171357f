//! Which hunk a problem comes from, and how a person is told.
//!
//! Invariant: a hunk is named only where the problem lies in it, in the definition that it changes, or names what it
//! alone speaks of; else none is. Absent: proof, which only a run without the hunk gives.

use super::against::new_lines;
use super::problems::{ReadProblem, Site};
use crate::domain::change::{FileChange, Hunk, HunkKind};
use crate::domain::ids::HunkId;
use crate::domain::symbols::FileSymbols;
use crate::domain::text::LineIndex;
use std::collections::BTreeSet;
use std::ops::Range;

/// A changed file with the definitions of its text after.
#[derive(Clone, Copy, Debug)]
pub struct Suspect<'a> {
    /// What changed.
    pub file: &'a FileChange,
    /// Of `after`; `None` for a language that is not known.
    pub symbols: Option<&'a FileSymbols>,
}

/// The hunk that a problem comes from, as far as the texts tell.
pub fn hunk_of<'a>(problem: &ReadProblem, suspects: &[Suspect<'a>]) -> Option<&'a HunkId> {
    let there = problem.site.as_ref().and_then(|site| {
        let suspect = suspects.iter().find(|suspect| suspect.file.path == site.path)?;
        inside(site, suspect.file).or_else(|| beside(site, suspect))
    });
    there.or_else(|| named(problem, suspects)).map(|hunk| &hunk.id)
}

/// In its lines, or at the seam that it left.
fn inside<'a>(site: &Site, file: &'a FileChange) -> Option<&'a Hunk> {
    let within = |hunk: &&Hunk| match (&hunk.kind, site.line, new_lines(file, hunk)) {
        (HunkKind::Create, _, _) => true,
        (HunkKind::Lines { .. }, Some(line), Some(lines)) if lines.is_empty() => {
            line == lines.start || line.saturating_add(1) == lines.start
        }
        (HunkKind::Lines { .. }, Some(line), Some(lines)) => lines.contains(&line),
        (HunkKind::Lines { .. } | HunkKind::Delete | HunkKind::Mode, _, _) => false,
    };
    file.hunks.iter().find(within)
}

/// In the innermost definition around the place that has hunks, the nearest of them.
fn beside<'a>(site: &Site, suspect: &Suspect<'a>) -> Option<&'a Hunk> {
    let line = site.line?;
    let starts = LineIndex::new(suspect.file.after.text());
    let number = |byte: usize| u32::try_from(starts.line_of(byte)).unwrap_or(u32::MAX).saturating_add(1);
    let lines = |range: &Range<usize>| number(range.start)..number(range.end.saturating_sub(1)).saturating_add(1);
    let holds = |range: &Range<usize>| lines(range).contains(&line);
    let mut around: Vec<_> = suspect.symbols?.symbols.iter().filter(|symbol| holds(&symbol.range)).collect();
    around.sort_by_key(|symbol| symbol.range.len());
    around.into_iter().find_map(|symbol| {
        let reach = lines(&symbol.range);
        let touched = suspect.file.hunks.iter().filter_map(|hunk| Some((hunk, new_lines(suspect.file, hunk)?)));
        let touched =
            touched.filter(|(_, lines)| lines.start < reach.end && reach.start < lines.end.max(lines.start + 1));
        let far = |lines: &Range<u32>| line.abs_diff(lines.start).min(line.abs_diff(lines.end));
        touched.min_by_key(|(_, lines)| far(lines)).map(|(hunk, _)| hunk)
    })
}

/// The only hunk that speaks of a name which the message quotes.
fn named<'a>(problem: &ReadProblem, suspects: &[Suspect<'a>]) -> Option<&'a Hunk> {
    quoted(&problem.message).into_iter().find_map(|name| {
        let speaks = |file: &FileChange, hunk: &Hunk| {
            let (old, new) = (file.old_text(hunk), file.new_text(hunk));
            // Words that stay are the lines' surroundings.
            words(old).contains(name) != words(new).contains(name)
        };
        let all = suspects.iter().flat_map(|suspect| suspect.file.hunks.iter().map(|hunk| (suspect.file, hunk)));
        let mut found = all.filter(|(file, hunk)| speaks(file, hunk)).map(|(_, hunk)| hunk);
        found.next().filter(|_| found.next().is_none())
    })
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
}

/// The last part of each quoted path: `net::Client` is `Client`.
fn quoted(message: &str) -> Vec<&str> {
    let parts: Vec<&str> = message.split(['`', '\'', '"', '‘', '’']).collect();
    let inner = parts.iter().skip(1).step_by(2);
    let names = inner.filter_map(|part| part.rsplit([':', '.', ' ']).next()).map(|name| name.trim_end_matches("()"));
    names.filter(|name| name.len() > 1 && name.chars().all(|c| c.is_alphanumeric() || c == '_')).collect()
}

/// Problems that are told one by one.
const TOLD: usize = 5;

/// One line: `h1a2b3c4d: mismatched types (src/a.rs:3); … and 2 more`.
pub fn summary(problems: &[ReadProblem], suspects: &[Suspect<'_>]) -> String {
    let mut told: Vec<String> = problems.iter().take(TOLD).map(|problem| one(problem, suspects)).collect();
    if problems.len() > TOLD {
        told.push(format!("and {} more", problems.len() - TOLD));
    }
    told.join("; ")
}

/// The same of those errors alone that a hunk is named for; empty where there are none.
pub fn laid(problems: &[ReadProblem], suspects: &[Suspect<'_>]) -> String {
    let laid = problems.iter().filter(|problem| problem.is_error() && hunk_of(problem, suspects).is_some());
    summary(&laid.cloned().collect::<Vec<_>>(), suspects)
}

fn one(problem: &ReadProblem, suspects: &[Suspect<'_>]) -> String {
    let Some(hunk) = hunk_of(problem, suspects) else { return problem.to_string() };
    let said = match &problem.test {
        Some(test) => format!("{test}: {}", problem.message),
        None => problem.message.clone(),
    };
    let place = problem.site.as_ref().map(|site| format!(" ({site})")).unwrap_or_default();
    format!("{hunk}: {said}{place}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed expectation is the test's finding")]

    use super::super::against::tests::{change, errors};
    use super::*;
    use crate::domain::ids::ContentHash;
    use crate::domain::symbols::{Symbol, SymbolKind};

    const OLD: &str = "fn one() {\n    a();\n    b();\n    c();\n    d();\n    e();\n}\n\nfn two() {}\n\nfn three() {}\n\nfn gone() {}\nfn last() {}\n";

    /// Symbols of lines that begin with `fn`, up to their last line.
    fn symbols(text: &str) -> FileSymbols {
        let mut symbols = Vec::new();
        for (at, _) in text.match_indices("fn ") {
            let rest = text.get(at..).unwrap();
            let head = rest.lines().next().unwrap();
            let end = if head.ends_with('}') { head.len() } else { rest.find("\n}").map_or(rest.len(), |end| end + 2) };
            let name = head.trim_start_matches("fn ").split('(').next().unwrap().to_owned();
            symbols.push(Symbol {
                path: name.clone(),
                name,
                kind: SymbolKind::Function,
                range: at..at + end,
                name_range: 0..0,
                signature: String::new(),
                public: false,
                body: ContentHash::of(""),
            });
        }
        FileSymbols { content: ContentHash::of(text), symbols, mentions: vec![] }
    }

    #[track_caller]
    fn check(new: &str, problem: &str, expect: &str) {
        let files = [change("src/a.rs", Some(OLD), Some(new))];
        let table = symbols(new);
        let suspects = [Suspect { file: &files[0], symbols: Some(&table) }];
        let mut told = summary(&errors(problem), &suspects);
        for (n, hunk) in files[0].hunks.iter().enumerate() {
            told = told.replace(hunk.id.as_str(), &format!("h{}", n + 1));
        }
        assert_eq!(told, expect);
    }

    #[test]
    fn a_problem_is_laid_at_a_hunk() {
        let new = OLD
            .replace("    a();\n", "    aa();\n    a();\n")
            .replace("fn two() {}", "fn two() -> u8 { 1 }")
            .replace("fn gone() {}\n", "");
        check(&new, "src/a.rs:2:1: error: no `aa`", "h1: no `aa` (src/a.rs:2)");
        check(&new, "src/a.rs:7:1: error[E1]: in the same function", "h1: in the same function (src/a.rs:7)");
        check(&new, "src/a.rs:10:1: error: x", "h2: x (src/a.rs:10)");
        check(&new, "src/a.rs:12:1: error: untouched", "src/a.rs:12: error: untouched");
        check(&new, "src/a.rs:13:1: error: at the seam", "h3: at the seam (src/a.rs:13)");
        check(
            &new,
            "src/b.rs:1:1: error: cannot find function `a::gone`",
            "h3: cannot find function `a::gone` (src/b.rs:1)",
        );
        check(&new, "src/b.rs:1:1: error: cannot find `nobody`", "src/b.rs:1: error: cannot find `nobody`");
        let many: String = (0..7).map(|n| format!("src/b.rs:{}:1: error: x\n", n + 1)).collect();
        let only = laid(&errors("src/b.rs:1:1: error: x\nsrc/a.rs:10:1: warning: y\n"), &[]);
        assert_eq!(only, "");
        let told = "src/b.rs:1: error: x; src/b.rs:2: error: x; src/b.rs:3: error: x; src/b.rs:4: error: x; src/b.rs:5: error: x; and 2 more";
        check(&new, &many, told);
    }
}
