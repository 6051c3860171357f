//! Paths in what a command printed, as the command would have written them itself.
//!
//! Invariant: a shortened path is relative to the folder in which the command ran, so that whoever reads it resolves it
//! as any other; one of elsewhere in the workspace stays absolute. Only a path of its own is shortened: `/w/a` is in
//! neither `/w/ab` nor `/x/w/a`. Absent: any other reading of the text.

use crate::domain::ids::WorkspacePath;
use std::path::Path;

/// `seen` is where the command saw the workspace, `dir` the folder below it in which it ran, and `root` where the user
/// has the workspace.
pub(super) fn shortened(text: &str, seen: &Path, dir: Option<&str>, root: &Path) -> String {
    let dir = dir.and_then(|dir| WorkspacePath::new(dir).ok());
    let place = dir.map_or_else(|| seen.to_owned(), |dir| seen.join(dir.as_str()));
    let text = each(text, &place.to_string_lossy(), |rest| match rest.strip_prefix('/') {
        Some(inner) if inner.starts_with(part) => ("", inner),
        Some(inner) => (".", inner),
        None => (".", rest),
    });
    if seen == root {
        return text;
    }
    let root = root.to_string_lossy();
    each(&text, &seen.to_string_lossy(), |rest| (&*root, rest))
}

/// Puts something else for each place where `path` stands as a path of its own or as the head of one. `put` is given
/// the text behind it, and says with what that goes on.
fn each<'a, 't>(text: &'t str, path: &str, put: impl Fn(&'t str) -> (&'a str, &'t str)) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut before) = (text, None);
    while let Some((head, behind)) = rest.split_once(path).filter(|_| path.len() > 1) {
        out.push_str(head);
        let starts = !head.chars().next_back().or(before).is_some_and(|c| part(c) || c == '/');
        // A full stop ends a sentence, if nothing goes on behind it.
        let mut next = behind.chars();
        let ends = match next.next() {
            Some('.') => !next.next().is_some_and(part),
            Some(c) => !part(c),
            None => true,
        };
        if starts && ends {
            let (instead, behind) = put(behind);
            out.push_str(instead);
            rest = behind;
        } else {
            out.push_str(path);
            rest = behind;
        }
        before = out.chars().next_back();
    }
    out.push_str(rest);
    out
}

/// What a name in a path may hold, as far as programs print them without quotes.
fn part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '@' | '~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dir: Option<&str>, text: &str, expect: &str) {
        assert_eq!(shortened(text, Path::new("/w/a"), dir, Path::new("/w/a")), expect);
    }

    #[test]
    fn a_path_is_told_from_where_the_command_ran() {
        check(None, "--> /w/a/src/x.rs:1:2", "--> src/x.rs:1:2");
        check(None, "(/w/a/x.py) '/w/a/y' file:///w/a/z", "(x.py) 'y' file:///w/a/z");
        check(None, "in /w/a, and /w/a/\n/w/a.", "in ., and .\n..");
        check(Some("web"), "/w/a/web/x.ts:1 /w/a/x.ts:1 /w/a/web", "x.ts:1 /w/a/x.ts:1 .");
        check(Some("./"), "/w/a/x.ts", "x.ts");
    }

    #[test]
    fn other_paths_are_left_alone() {
        for text in ["/w/ab/x", "/x/w/a/y", "/w/a.b/x", "/w/a-1", "x/w/a/y", "/w/a/web2/x"] {
            let dir = text.contains("web2").then_some("web");
            check(dir, text, text);
        }
    }

    #[test]
    fn what_a_copy_showed_is_told_at_the_users_root() {
        let told = |dir| shortened("/c/t/web/x /c/t/y /c/t2/z", Path::new("/c/t"), dir, Path::new("/w/a"));
        assert_eq!(told(Some("web")), "x /w/a/y /c/t2/z");
        assert_eq!(told(None), "web/x y /c/t2/z");
    }
}
