//! `absent:` and `present:`: a regular expression over the texts of the view.
//!
//! Invariant: "absent" is said only of files that were looked at; with none, or with one that could not be read, there
//! is no verdict. Absent: reading files, and looking into what is no text.

use super::{not_judged, one_line};
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::Search;
use crate::domain::task::event::Verdict;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::{Regex, RegexBuilder};
use std::sync::Arc;

/// A pattern of the plan's author may be large, but not endless: 10 MB compiled.
const LARGEST: usize = 10 << 20;

pub(super) fn judge(
    search: &Search,
    texts: &[(WorkspacePath, Arc<str>)],
    unread: &[(WorkspacePath, String)],
) -> Verdict {
    let regex = match RegexBuilder::new(&search.regex).multi_line(true).size_limit(LARGEST).build() {
        Ok(regex) => regex,
        Err(error) => return not_judged(format!("`{}` is no regular expression: {}", search.regex, last_line(&error))),
    };
    let (within, except) = match (globs(&search.within), globs(&search.except)) {
        (Ok(within), Ok(except)) => (within, except),
        (Err(why), _) | (_, Err(why)) => return not_judged(why),
    };
    let meant = |path: &WorkspacePath| {
        (search.within.is_empty() || within.is_match(path.as_str())) && !except.is_match(path.as_str())
    };
    let looked: Vec<&(WorkspacePath, Arc<str>)> = texts.iter().filter(|(path, _)| meant(path)).collect();
    let missed = unread.iter().find(|(path, _)| meant(path));
    let files = match looked.len() {
        1 => "1 file".to_owned(),
        n => format!("{n} files"),
    };
    let mut hits =
        looked.iter().flat_map(|(path, text)| lines_with(&regex, text).map(move |(n, line)| (path, n, line)));
    match (search.present, hits.next(), missed) {
        (true, Some(_), _) => Verdict::Passed,
        (true | false, None, Some((_, why))) => {
            not_judged(format!("`{}` was not found, but not every file could be read: {why}", search.regex))
        }
        (true, None, None) => Verdict::Failed { why: format!("`{}` matches nothing in {files}", search.regex) },
        (false, None, None) if looked.is_empty() => {
            not_judged(format!("no file lies where `{}` must be absent: {}", search.regex, search.within.join(", ")))
        }
        (false, None, None) => Verdict::Passed,
        (false, Some((path, n, line)), _) => {
            let more = match hits.count() {
                0 => String::new(),
                n => format!(", and {n} more"),
            };
            Verdict::Failed { why: format!("`{}` is still at {path}:{n}: {}{more}", search.regex, one_line(line)) }
        }
    }
}

/// Each line a match begins on, once, with its number from 1.
fn lines_with<'a>(regex: &'a Regex, text: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let (mut from, mut number, mut last) = (0, 1, 0);
    regex.find_iter(text).filter_map(move |hit| {
        number += text.get(from..hit.start()).unwrap_or_default().bytes().filter(|byte| *byte == b'\n').count();
        from = hit.start();
        if number == last {
            return None;
        }
        last = number;
        let start = text.get(..from).and_then(|head| head.rfind('\n')).map_or(0, |at| at + 1);
        Some((number, text.get(start..).unwrap_or_default().lines().next().unwrap_or_default()))
    })
}

/// `src` means the folder and all below; a star does not cross a slash.
fn globs(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let bare = pattern.trim_start_matches("./").trim_end_matches('/');
        for form in [bare.to_owned(), format!("{bare}/**")] {
            let glob = GlobBuilder::new(&form).literal_separator(true).build();
            set.add(glob.map_err(|error| format!("`{pattern}` is no glob: {}", last_line(&error)))?);
        }
    }
    set.build().map_err(|error| format!("the globs cannot be used: {}", last_line(&error)))
}

/// Errors of these crates draw the pattern first and give the reason last.
fn last_line(error: &dyn std::error::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}
