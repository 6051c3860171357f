//! Structural rewrite: ast-grep's patterns, over our own grammars.
//!
//! Invariant: each match in the text as it was is replaced once, a match inside what another one captured included;
//! bytes outside the matches stay, line endings and all. So a rule that maps a form onto itself (`f($X)` to
//! `log(f($X))`) ends, which rounds of replace-and-parse would not. Absent: ast-grep's YAML rules, and its mending of
//! indentation, which is the formatter's work.

use super::languages::{self, Grammar};
use crate::domain::problem::Replacement;
use crate::ports::{FileEdits, MarkedEdit, RuleRefusal, Source};
use ast_grep_core::language::Language;
use ast_grep_core::matcher::PatternBuilder;
use ast_grep_core::meta_var::MetaVariable;
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc, TSLanguage};
use ast_grep_core::{Matcher, Pattern, PatternError};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use tree_sitter::Node;

/// Matches nested deeper than this stay as they are: people nest a handful, and recursion must end.
const DEPTH: usize = 100;

/// The edits of a rule, file by file; files without a match are left out.
///
/// # Errors
/// A pattern that is empty, is no single piece of code, matches everything, or lacks a variable of `to`.
pub(super) fn of(sources: &[Source], pattern: &str, to: &str) -> Result<Vec<FileEdits>, RuleRefusal> {
    let mut rules = BTreeMap::new();
    let mut refusal = None;
    for grammar in languages::all() {
        match Rule::new(grammar, pattern, to) {
            Ok(rule) => {
                rules.insert(grammar.name(), rule);
            }
            Err(why) => refusal = refusal.or(Some(why)),
        }
    }
    // A pattern need be code in one language only; what it is not is no fault then.
    if let (true, Some(why)) = (rules.is_empty(), refusal) {
        return Err(why);
    }
    let mut found = Vec::new();
    for source in sources {
        let Some(rule) = languages::of(&source.path).and_then(|grammar| rules.get(grammar.name())) else { continue };
        let edits = rule.edits(&source.text);
        if !edits.is_empty() {
            found.push(FileEdits { path: source.path.clone(), edits });
        }
    }
    Ok(found)
}

/// A rule made ready for one language.
struct Rule {
    searched: Searched,
    pattern: Pattern,
    /// Text that must stand in a file for the pattern to match at all.
    sieve: String,
    template: Vec<Piece>,
}

/// A piece of what is put in place of a match.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(String),
    Variable(String),
}

/// A match: what is replaced, and what its variables hold.
struct Found {
    range: Range<usize>,
    variables: BTreeMap<String, Range<usize>>,
}

impl Rule {
    fn new(grammar: &'static Grammar, pattern: &str, to: &str) -> Result<Self, RuleRefusal> {
        let searched = Searched(grammar);
        let refuse = |message: String| RuleRefusal { message, candidates: Vec::new() };
        let pattern = pattern.trim();
        if pattern.is_empty() {
            return Err(refuse(
                "the pattern is empty; write the code to look for, with `$X` for any expression".to_owned(),
            ));
        }
        let name = grammar.name();
        let tree = grammar.parse(&searched.pre_process_pattern(pattern));
        let broken = tree.is_none_or(|tree| is_broken(tree.root_node()));
        if broken {
            return Err(refuse(format!(
                "the pattern `{pattern}` is no {name} code; write a whole expression, statement or item"
            )));
        }
        let compiled = Pattern::try_new(pattern, searched.clone()).map_err(|error| {
            refuse(match error {
                PatternError::NoContent(_) => format!("the pattern `{pattern}` holds no code; write what to look for"),
                PatternError::MultipleNode(_) => {
                    format!("the pattern `{pattern}` is more than one piece of {name} code; write one expression, statement or item")
                }
                PatternError::RootMultiMetaVar(_) => {
                    format!("`{pattern}` alone matches everything; put it into a larger pattern, as in `f($$$ARGS)`")
                }
                PatternError::Parse(_) | PatternError::InvalidKind(_) | PatternError::NoSelectorInContext { .. } => {
                    format!("the pattern `{pattern}` cannot be used: {error}")
                }
            })
        })?;
        if compiled.fixed_string().is_empty() {
            return Err(refuse(format!("the pattern `{pattern}` matches everything; add the code that must be there")));
        }
        let template = pieces(to);
        let defined = compiled.defined_vars();
        for piece in &template {
            match piece {
                Piece::Variable(used) if !defined.contains(used.as_str()) => {
                    let mut known: Vec<String> = defined.iter().map(|known| format!("${known}")).collect();
                    known.sort();
                    return Err(RuleRefusal {
                        message: format!("`${used}` stands in the replacement but not in the pattern `{pattern}`"),
                        candidates: known,
                    });
                }
                Piece::Variable(_) | Piece::Text(_) => {}
            }
        }
        let sieve = compiled.fixed_string().into_owned();
        Ok(Self { searched, pattern: compiled, sieve, template })
    }

    fn edits(&self, text: &str) -> Vec<MarkedEdit> {
        if !text.contains(&self.sieve) {
            return Vec::new();
        }
        let Ok(document) = StrDoc::try_new(text, self.searched.clone()) else { return Vec::new() };
        let tree = ast_grep_core::AstGrep::doc(document);
        let root = tree.root();
        let mut found: Vec<Found> = root
            .find_all(&self.pattern)
            .map(|hit| {
                let whole = hit.range();
                let end = self.pattern.get_match_len(hit.get_node().clone()).map_or(whole.end, |len| whole.start + len);
                let variables = hit
                    .get_env()
                    .get_matched_variables()
                    .filter_map(|variable| match variable {
                        MetaVariable::Capture(name, _) => {
                            let range = hit.get_env().get_match(&name)?.range();
                            Some((name, range))
                        }
                        MetaVariable::MultiCapture(name) => {
                            let nodes = hit.get_env().get_multiple_matches(&name);
                            let range = nodes.first()?.range().start..nodes.last()?.range().end;
                            Some((name, range))
                        }
                        MetaVariable::Dropped(_) | MetaVariable::Multiple => None,
                    })
                    .collect();
                Found { range: whole.start..end, variables }
            })
            .collect();
        // Stable: of two matches of one range the outer one, which the search meets first, stays first.
        found.sort_by_key(|hit| (hit.range.start, std::cmp::Reverse(hit.range.end)));
        let mut edits = Vec::new();
        let mut free = 0;
        for (index, hit) in found.iter().enumerate() {
            if hit.range.start < free {
                continue;
            }
            free = hit.range.end;
            let new = self.replacement(text, &found, index, 0);
            if text.get(hit.range.clone()) != Some(&new) {
                edits.push(MarkedEdit { edit: Replacement { range: hit.range.clone(), text: new }, doubt: None });
            }
        }
        edits
    }

    /// The template with what the match captured, matches inside the captures replaced too.
    fn replacement(&self, text: &str, found: &[Found], index: usize, depth: usize) -> String {
        let Some(hit) = found.get(index) else { return String::new() };
        let mut new = String::new();
        for piece in &self.template {
            match piece {
                Piece::Text(fixed) => new.push_str(fixed),
                Piece::Variable(name) => {
                    let Some(range) = hit.variables.get(name) else { continue };
                    let mut at = range.start;
                    let first = found.partition_point(|inner| inner.range.start < range.start).max(index + 1);
                    for (inner, within) in found.iter().enumerate().skip(first) {
                        if within.range.start >= range.end || depth >= DEPTH {
                            break;
                        }
                        if within.range.start >= at && within.range.end <= range.end {
                            new.push_str(text.get(at..within.range.start).unwrap_or_default());
                            new.push_str(&self.replacement(text, found, inner, depth + 1));
                            at = within.range.end;
                        }
                    }
                    new.push_str(text.get(at..range.end).unwrap_or_default());
                }
            }
        }
        new
    }
}

/// A lone expression is no program, so the grammar calls the whole of it an error; ast-grep looks at what is inside, and
/// so does this.
fn is_broken(root: Node<'_>) -> bool {
    let mut node = root;
    while let Some(only) = node.child(0).filter(|_| {
        node.child_count() == 1 || (node.child_count() == 2 && node.child(1).is_some_and(|second| second.is_missing()))
    }) {
        node = only;
    }
    let mut broken = false;
    languages::walk(node, |node, _| {
        broken |= node.is_error();
        node.has_error()
    });
    broken
}

/// Fixed text and the variables between.
fn pieces(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut fixed = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        fixed.push_str(before);
        let name = from.trim_start_matches('$');
        let sigils = from.len() - name.len();
        let end = name.find(|c: char| !variable_letter(c)).unwrap_or(name.len());
        let (name, after) = name.split_at(end);
        if (sigils == 1 || sigils == 3) && name.starts_with(|c: char| c.is_ascii_uppercase()) {
            if !fixed.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut fixed)));
            }
            pieces.push(Piece::Variable(name.to_owned()));
        } else {
            fixed.push_str(from.get(..sigils + end).unwrap_or_default());
        }
        rest = after;
    }
    fixed.push_str(rest);
    if !fixed.is_empty() {
        pieces.push(Piece::Text(fixed));
    }
    pieces
}

fn variable_letter(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'
}

/// `$X` with the letter that the grammar takes for an identifier's; other dollars stay.
fn variables_replaced(pattern: &str, expando: char) -> String {
    let mut replaced = String::with_capacity(pattern.len());
    let mut dollars = 0;
    for c in pattern.chars() {
        if c == '$' {
            dollars += 1;
            continue;
        }
        let sigil = if c.is_ascii_uppercase() || c == '_' || dollars == 3 { expando } else { '$' };
        replaced.extend(std::iter::repeat_n(sigil, dollars));
        dollars = 0;
        replaced.push(c);
    }
    replaced.extend(std::iter::repeat_n(if dollars == 3 { expando } else { '$' }, dollars));
    replaced
}

/// A grammar as ast-grep wants it.
#[derive(Clone)]
struct Searched(&'static Grammar);

impl Language for Searched {
    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        let expando = self.0.expando();
        if expando == '$' {
            return Cow::Borrowed(query);
        }
        Cow::Owned(variables_replaced(query, expando))
    }

    fn expando_char(&self) -> char {
        self.0.expando()
    }

    fn kind_to_id(&self, kind: &str) -> u16 {
        self.0.language.id_for_node_kind(kind, true)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        self.0.language.field_id_for_name(field).map(std::num::NonZeroU16::get)
    }

    fn build_pattern(&self, builder: &PatternBuilder) -> Result<Pattern, PatternError> {
        builder.build(|text| StrDoc::try_new(text, self.clone()))
    }
}

impl LanguageExt for Searched {
    fn get_ts_language(&self) -> TSLanguage {
        self.0.language.clone()
    }
}
