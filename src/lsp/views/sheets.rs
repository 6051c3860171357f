//! The bookkeeper of diagnostics: what each file is to show, by source, and what was sent of it.
//!
//! Invariant: the protocol replaces all of a file's diagnostics at once, so whoever has something to say of a file hands
//! in its section and the sheet sends them together. What the client has already is not sent again, except where the
//! text changed under it: a client moves its marks with edits, and loses them on undo.
//! Absent: sending, and what a section holds.

use crate::domain::ids::WorkspacePath;
use std::collections::{BTreeMap, BTreeSet};
use tower_lsp::lsp_types::{Diagnostic, PublishDiagnosticsParams, Url};

/// Who has something to say of a file. In this order they are sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Section {
    /// What a command came to, where the client had no room to show all of it.
    Refusal,
    /// Gates that wait.
    Gates,
    /// Failures, and where a task stands.
    State,
    /// Findings in a plan document.
    Plan,
    /// Hunks of an offered revision of a plan document.
    Offered,
    /// Hunks.
    Hunks,
}

/// What one file shows.
#[derive(Debug, Default)]
struct Sheet {
    sections: BTreeMap<Section, Vec<Diagnostic>>,
    sent: Option<Sent>,
}

/// What the client was sent last.
#[derive(PartialEq, Debug)]
struct Sent {
    uri: Url,
    version: Option<i32>,
    diagnostics: Vec<Diagnostic>,
}

/// All of one session.
#[derive(Debug, Default)]
pub struct Sheets {
    sheets: BTreeMap<WorkspacePath, Sheet>,
    dirty: BTreeSet<WorkspacePath>,
}

impl Sheets {
    /// What this source has to say of the file from now on; nothing, to take it back.
    pub fn put(&mut self, path: &WorkspacePath, section: Section, diagnostics: Vec<Diagnostic>) {
        let known = self.sheets.get(path).and_then(|sheet| sheet.sections.get(&section));
        if known.map_or(&[][..], Vec::as_slice) == diagnostics.as_slice() {
            return;
        }
        let sheet = self.sheets.entry(path.clone()).or_default();
        if diagnostics.is_empty() {
            sheet.sections.remove(&section);
        } else {
            sheet.sections.insert(section, diagnostics);
        }
        self.dirty.insert(path.clone());
    }

    /// The file's text changed, or it was opened or closed: what it shows is compared again.
    pub fn touch(&mut self, path: &WorkspacePath) {
        if self.sheets.contains_key(path) {
            self.dirty.insert(path.clone());
        }
    }

    /// What has to be sent now. `at` gives a file's name and, where it is open, the number of its text.
    pub fn differences(
        &mut self,
        at: impl Fn(&WorkspacePath) -> Option<(Url, Option<i32>)>,
    ) -> Vec<PublishDiagnosticsParams> {
        let mut out = Vec::new();
        for path in std::mem::take(&mut self.dirty) {
            let Some(sheet) = self.sheets.get_mut(&path) else { continue };
            let Some((uri, version)) = at(&path) else { continue };
            let diagnostics: Vec<Diagnostic> = sheet.sections.values().flatten().cloned().collect();
            let empty = diagnostics.is_empty();
            if let Some(sent) = sheet.sent.take_if(|sent| sent.uri != uri) {
                // the client calls the file by another name now; under the old one nothing may stay
                if !sent.diagnostics.is_empty() {
                    out.push(PublishDiagnosticsParams { uri: sent.uri, diagnostics: Vec::new(), version: None });
                }
            }
            let wanted = Sent { uri, version, diagnostics };
            let known = match &sheet.sent {
                // a sheet that was and is empty is the same in every version of the text
                Some(sent) => *sent == wanted || (sent.diagnostics.is_empty() && empty),
                None => empty,
            };
            if !known {
                out.push(PublishDiagnosticsParams {
                    uri: wanted.uri.clone(),
                    diagnostics: wanted.diagnostics.clone(),
                    version,
                });
                sheet.sent = Some(wanted);
            }
            if empty && sheet.sections.is_empty() {
                self.sheets.remove(&path);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a broken fixture is to fail its test")]

    use super::*;
    use crate::lsp::views::diagnostic;
    use tower_lsp::lsp_types::{DiagnosticSeverity, Range};

    fn path(name: &str) -> WorkspacePath {
        WorkspacePath::new(name).unwrap()
    }

    fn said(words: &str) -> Vec<Diagnostic> {
        vec![diagnostic(Range::default(), DiagnosticSeverity::HINT, words.to_owned())]
    }

    fn rendered(sheets: &mut Sheets, root: &str, version: Option<i32>) -> String {
        let at = |path: &WorkspacePath| Some((Url::parse(&format!("{root}/{path}")).unwrap(), version));
        let sent = sheets.differences(at).into_iter().map(|params| {
            let said: Vec<String> = params.diagnostics.into_iter().map(|one| one.message).collect();
            format!("{} {:?} {said:?}", params.uri, params.version)
        });
        sent.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn sources_are_sent_together_and_only_differences() {
        let mut sheets = Sheets::default();
        sheets.put(&path("a"), Section::Hunks, said("hunk"));
        sheets.put(&path("a"), Section::Plan, said("plan"));
        sheets.put(&path("b"), Section::Hunks, Vec::new());
        assert_eq!(rendered(&mut sheets, "f:", None), r#"f:/a None ["plan", "hunk"]"#);
        sheets.put(&path("a"), Section::Hunks, said("hunk"));
        sheets.touch(&path("a"));
        assert_eq!(rendered(&mut sheets, "f:", None), "");
        sheets.touch(&path("a"));
        assert_eq!(rendered(&mut sheets, "f:", Some(2)), r#"f:/a Some(2) ["plan", "hunk"]"#);
        sheets.put(&path("a"), Section::Plan, Vec::new());
        sheets.put(&path("a"), Section::Hunks, Vec::new());
        assert_eq!(rendered(&mut sheets, "f:", Some(3)), "f:/a Some(3) []");
        sheets.touch(&path("a"));
        assert_eq!(rendered(&mut sheets, "f:", Some(4)), "");
    }

    #[test]
    fn another_spelling_of_the_name_leaves_nothing_behind() {
        let mut sheets = Sheets::default();
        sheets.put(&path("a"), Section::Hunks, said("hunk"));
        assert_eq!(rendered(&mut sheets, "f:", None), r#"f:/a None ["hunk"]"#);
        sheets.touch(&path("a"));
        assert_eq!(rendered(&mut sheets, "g:", Some(0)), r#"f:/a None []; g:/a Some(0) ["hunk"]"#);
    }
}
