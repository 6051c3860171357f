//! From bytes of a plan document to the client's columns, and from plain values to the protocol's.
//!
//! Invariant: columns are made here and nowhere else in `plan_doc`. Absent: choosing what is said.

use super::acts::{Act, Does};
use super::complete::{Proposal, Sort as ProposalSort};
use super::findings::Mend;
use super::outline::{Part, Sort as PartSort};
use crate::actions;
use crate::domain::problem::{Problem, Replacement, Severity};
use crate::domain::text::{self, Encoding, LineIndex};
use crate::lsp::facts::ClientFacts;
use crate::lsp::to_proto;
use crate::lsp::views::diagnostic;
use std::collections::HashMap;
use tower_lsp::lsp_types::*;

/// A document as the client has it, for turning its positions into bytes and back.
pub struct Ruler<'a> {
    text: &'a str,
    lines: LineIndex,
    encoding: Encoding,
    uri: Url,
    version: i32,
}

impl<'a> Ruler<'a> {
    /// Of this version of this document.
    pub fn new(text: &'a str, encoding: Encoding, uri: Url, version: i32) -> Self {
        Self { lines: LineIndex::new(text), text, encoding, uri, version }
    }

    /// The byte that a position means.
    pub fn offset(&self, at: Position) -> usize {
        let at = text::Position { line: at.line, column: at.character };
        self.lines.offset(self.text, at, self.encoding)
    }

    /// The bytes that a range means.
    pub fn bytes(&self, range: Range) -> std::ops::Range<usize> {
        let start = self.offset(range.start);
        start..self.offset(range.end).max(start)
    }

    fn position(&self, byte: usize) -> Position {
        to_proto::position(&self.lines, self.text, byte, self.encoding)
    }

    /// What the client calls these bytes.
    pub fn range(&self, bytes: &std::ops::Range<usize>) -> Range {
        to_proto::range(&self.lines, self.text, bytes, self.encoding)
    }

    fn edit(&self, edit: &Replacement) -> TextEdit {
        TextEdit { range: self.range(&edit.range), new_text: edit.text.clone() }
    }

    /// An edit of this version of this document.
    pub fn workspace_edit(&self, edits: &[Replacement], facts: Option<&ClientFacts>) -> WorkspaceEdit {
        let edits: Vec<TextEdit> = edits.iter().map(|edit| self.edit(edit)).collect();
        if facts.is_some_and(|facts| facts.document_changes) {
            let document =
                OptionalVersionedTextDocumentIdentifier { uri: self.uri.clone(), version: Some(self.version) };
            let edit =
                TextDocumentEdit { text_document: document, edits: edits.into_iter().map(OneOf::Left).collect() };
            return WorkspaceEdit {
                document_changes: Some(DocumentChanges::Edits(vec![edit])),
                ..WorkspaceEdit::default()
            };
        }
        WorkspaceEdit { changes: Some(HashMap::from([(self.uri.clone(), edits)])), ..WorkspaceEdit::default() }
    }

    /// A finding.
    pub fn diagnostic(&self, problem: &Problem) -> Diagnostic {
        let severity = match problem.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Hint => DiagnosticSeverity::HINT,
        };
        self.said(&problem.range, severity, problem.code.clone(), problem.message.clone())
    }

    /// Anything else to be shown at a place.
    pub fn said(
        &self,
        bytes: &std::ops::Range<usize>,
        severity: DiagnosticSeverity,
        code: String,
        message: String,
    ) -> Diagnostic {
        Diagnostic { code: Some(NumberOrString::String(code)), ..diagnostic(self.range(bytes), severity, message) }
    }

    /// A mend as a quick fix; the first of a finding may be applied without a menu.
    pub fn mend(&self, mend: &Mend, facts: Option<&ClientFacts>) -> CodeAction {
        CodeAction {
            title: mend.title.clone(),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: mend.of.as_ref().map(|problem| vec![self.diagnostic(problem)]),
            edit: Some(self.workspace_edit(&mend.edits, facts)),
            is_preferred: mend.of.is_some().then_some(true),
            ..CodeAction::default()
        }
    }

    /// An act: never a quick fix and never preferred, so that nothing applies it by itself.
    pub fn act(&self, act: &Act, facts: Option<&ClientFacts>) -> CodeAction {
        let (command, edit) = match &act.does {
            Does::Command { .. } => (command(act), None),
            Does::Edit(edits) => (None, Some(self.workspace_edit(edits, facts))),
        };
        CodeAction {
            title: act.title.clone(),
            kind: Some(CodeActionKind::REFACTOR),
            command,
            edit,
            ..CodeAction::default()
        }
    }

    /// A proposal. `first` counts them, so that the client keeps their order.
    pub fn proposal(&self, proposal: &Proposal, first: usize) -> CompletionItem {
        let kind = match proposal.sort {
            ProposalSort::Key => CompletionItemKind::PROPERTY,
            ProposalSort::Word => CompletionItemKind::KEYWORD,
            ProposalSort::Step | ProposalSort::Symbol => CompletionItemKind::REFERENCE,
            ProposalSort::File => CompletionItemKind::FILE,
            ProposalSort::Folder => CompletionItemKind::FOLDER,
            ProposalSort::Command => CompletionItemKind::VALUE,
        };
        CompletionItem {
            label: proposal.label.clone(),
            kind: Some(kind),
            detail: proposal.detail.clone(),
            documentation: proposal.documentation.clone().map(Documentation::String),
            sort_text: Some(format!("{first:05}")),
            filter_text: Some(proposal.label.clone()),
            text_edit: Some(CompletionTextEdit::Edit(self.edit(&proposal.edit))),
            ..CompletionItem::default()
        }
    }

    /// The outline, with its parts inside each other.
    pub fn symbols(&self, parts: &[Part]) -> Vec<DocumentSymbol> {
        parts.iter().map(|part| self.symbol(part)).collect()
    }

    #[allow(deprecated, reason = "the type has no other constructor, and the field must be written")]
    fn symbol(&self, part: &Part) -> DocumentSymbol {
        let children = self.symbols(&part.children);
        DocumentSymbol {
            name: part.name.clone(),
            detail: part.detail.clone(),
            kind: kind(part.sort),
            tags: None,
            deprecated: None,
            range: self.range(&part.range),
            selection_range: self.range(&part.selection),
            children: (!children.is_empty()).then_some(children),
        }
    }

    /// The outline as a list, for clients that know no other.
    #[allow(deprecated, reason = "the type has no other constructor, and the field must be written")]
    pub fn flat(&self, parts: &[Part], container: Option<&str>, out: &mut Vec<SymbolInformation>) {
        for part in parts {
            out.push(SymbolInformation {
                name: part.name.clone(),
                kind: kind(part.sort),
                tags: None,
                deprecated: None,
                location: Location { uri: self.uri.clone(), range: self.range(&part.range) },
                container_name: container.map(str::to_owned),
            });
            self.flat(&part.children, Some(&part.name), out);
        }
    }

    /// A hint behind a heading.
    pub fn hint(&self, at: usize, words: &str) -> InlayHint {
        InlayHint {
            position: self.position(at),
            label: InlayHintLabel::String(words.to_owned()),
            kind: None,
            text_edits: None,
            tooltip: None,
            padding_left: Some(true),
            padding_right: None,
            data: None,
        }
    }
}

fn kind(sort: PartSort) -> SymbolKind {
    match sort {
        PartSort::Section => SymbolKind::NAMESPACE,
        PartSort::Step => SymbolKind::EVENT,
        PartSort::Setting => SymbolKind::PROPERTY,
    }
}

/// The command of an act, as clients send it back; none for an edit, and for what the table gives no id.
pub fn command(act: &Act) -> Option<Command> {
    let Does::Command { verb, arguments } = &act.does else { return None };
    let id = actions::row(*verb)?.command_id()?;
    Some(Command { title: act.title.clone(), command: id, arguments: Some(vec![arguments.clone()]) })
}
