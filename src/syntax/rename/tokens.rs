//! Names among the tokens of macros and attributes, where there is no tree.
//!
//! Invariant: a name is certain only in a macro whose arguments are known to be expressions, and only where nothing
//! inside the macro can bind it. Absent: expanding macros.

use super::super::languages;
use super::judge::{Judge, Verdict};
use super::known;
use super::names::Meaning;
use super::program::Space;
use super::scopes::{self, Bare};
use super::types;
use crate::domain::symbols::SymbolKind;
use tree_sitter::Node;

impl<'p> Judge<'p, '_> {
    /// A name among the tokens of a macro or attribute. Where the macro's rules are not known, what would be certain
    /// in code is a doubt; what would be something else in code is something else here too.
    pub(super) fn token(&self, file: usize, node: Node<'p>, tokens: Node<'p>) -> Verdict {
        let program = self.program;
        let Some(holder) = tokens.parent() else { return Verdict::Not };
        let unknown = match holder.kind() {
            "macro_invocation" => {
                let called = holder.child_by_field_name("macro").map_or("", |name| program.text(file, name));
                let called = called.rsplit("::").next().unwrap_or(called);
                (!known::holds(known::EXPRESSION_MACROS, called))
                    .then(|| format!("what the macro `{called}!` makes of it is not known"))
            }
            "attribute" | "attribute_item" | "inner_attribute_item" => {
                let called = program.segments(file, holder.named_child(0).unwrap_or(holder)).pop().unwrap_or_default();
                if known::holds(known::BUILT_IN_ATTRIBUTES, &called) {
                    return Verdict::Not;
                }
                Some("it stands in an attribute".to_owned())
            }
            _ => Some("it stands in the definition of a macro".to_owned()),
        };
        match (self.among_tokens(file, node, tokens, unknown.is_none()), unknown) {
            (Verdict::Certain(new) | Verdict::Doubt(new, _), Some(why)) => Verdict::Doubt(new, why),
            (verdict, _) => verdict,
        }
    }

    /// The judgement as if the tokens were code. `strict`: they are.
    fn among_tokens(&self, file: usize, node: Node<'p>, tokens: Node<'p>, strict: bool) -> Verdict {
        let program = self.program;
        let (before, after) = (node.prev_sibling(), node.next_sibling());
        let is = |token: Option<Node<'_>>, text: &str| token.is_some_and(|token| program.text(file, token) == text);
        if is(before, ".") {
            return self.token_access(file, before, after, tokens);
        }
        let braced = node.parent().is_some_and(|tree| program.text(file, tree).starts_with('{'));
        let short = braced && (is(before, "{") || is(before, ",")) && (is(after, ",") || is(after, "}"));
        if self.target.kind == SymbolKind::Field {
            let why = "which struct this is cannot be seen".to_owned();
            return match (short, is(after, ":") || !strict) {
                (true, _) => Verdict::Doubt(format!("{}: {}", self.to, self.target.name), why),
                (false, true) => self.doubt(why),
                (false, false) => Verdict::Not,
            };
        }
        if is(after, ":") {
            // A field's name, or a name that the macro defines.
            return Verdict::Not;
        }
        if is(after, "=") && strict && self.target.kind != SymbolKind::Static {
            // `println!("{name}", name = …)`
            return Verdict::Not;
        }
        let mut parts = vec![self.target.name.clone()];
        let mut at = before;
        while is(at, "::") {
            let Some(part) = at.and_then(|colons| colons.prev_sibling()) else { break };
            if !matches!(part.kind(), "identifier" | "self" | "super" | "crate") {
                return self.doubt("its path cannot be seen inside the macro");
            }
            parts.insert(0, program.text(file, part).to_owned());
            at = part.prev_sibling();
        }
        let member = self.is_member() && self.target.kind != SymbolKind::Variant;
        if member && parts.len() == 1 {
            return Verdict::Not;
        }
        if parts.len() == 1 && self.may_bind(file, tokens) {
            return self.doubt("a pattern or closure inside the macro may bind it");
        }
        let space = match (member, self.target.spaces) {
            (true, _) => Space::Value,
            (false, [only]) => *only,
            (false, _) if is(after, "::") => Space::Type,
            (false, _) => Space::Value,
        };
        if is(after, "::") && space != Space::Type {
            return Verdict::Not;
        }
        if parts.len() > 1 {
            return match types::segments(program, file, node, &parts, space) {
                Meaning::Member(owner) if member => self.of_owner(owner),
                meaning => self.verdict(meaning),
            };
        }
        if self.target.kind == SymbolKind::Macro {
            return if is(after, "!") { self.macro_name(file, node) } else { Verdict::Not };
        }
        let verdict = match scopes::bare(program, file, node, &self.target.name, space) {
            Bare::Local(_) => Verdict::Not,
            Bare::Found(meaning) => self.verdict(meaning),
        };
        match verdict {
            // `S { name }` would name another field.
            Verdict::Certain(new) if short => {
                Verdict::Doubt(format!("{}: {new}", self.target.name), "it may be a field as well".to_owned())
            }
            verdict => verdict,
        }
    }

    /// `.name` among tokens; `dot` is the token before the name.
    fn token_access(&self, file: usize, dot: Option<Node<'p>>, after: Option<Node<'p>>, tokens: Node<'p>) -> Verdict {
        let program = self.program;
        let receiver = dot.and_then(|dot| dot.prev_sibling());
        let alone = receiver
            .and_then(|receiver| receiver.prev_sibling())
            .is_none_or(|token| !matches!(program.text(file, token), "." | "::"));
        let called =
            after.is_some_and(|token| token.kind() == "token_tree" && program.text(file, token).starts_with('('));
        let method = self.target.kind == SymbolKind::Method && called && self.target.arity.is_some();
        let field = self.target.kind == SymbolKind::Field && !called;
        if !method && !field {
            return Verdict::Not;
        }
        let receiver = receiver.filter(|receiver| alone && matches!(receiver.kind(), "self" | "identifier"));
        let seen = receiver.filter(|_| !self.may_bind(file, tokens));
        match seen.and_then(|receiver| types::of(program, file, receiver)) {
            Some(owner) => self.of_owner(owner),
            None => self.of_unknown(&self.target.name),
        }
    }

    /// Tokens that can bind names, which is not followed inside a macro.
    fn may_bind(&self, file: usize, tokens: Node<'p>) -> bool {
        let mut binds = false;
        languages::walk(tokens, |token, _| {
            if token.child_count() == 0 {
                binds |= matches!(self.program.text(file, token), "|" | "||" | "let" | "match" | "for" | "fn" | "=>");
            }
            !binds
        });
        binds
    }
}

/// The outermost token tree around a node.
pub(super) fn outermost(node: Node<'_>) -> Option<Node<'_>> {
    let mut found = None;
    let mut at = node;
    while let Some(parent) = at.parent() {
        match parent.kind() {
            "token_tree" | "token_tree_pattern" | "token_repetition" | "token_repetition_pattern" => {
                found = Some(parent)
            }
            "attribute" if found.is_none() => found = Some(at),
            _ if found.is_some() => return found,
            _ => {}
        }
        if matches!(parent.kind(), "block" | "declaration_list") {
            return found;
        }
        at = parent;
    }
    found
}
