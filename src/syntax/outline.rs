//! The definitions and names of one text, in one walk over its tree.
//!
//! Invariant: symbols stand in the order of the text, outer before inner; a range covers an item with its
//! documentation and attributes and nothing of its neighbours. Absent: what a macro would expand to, and anything
//! that needs a second file (whether a type of another file is public, say).

use super::languages::{self, Documentation, Grammar, Role};
use crate::domain::ids::ContentHash;
use crate::domain::symbols::{FileSymbols, Symbol, SymbolKind};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use tree_sitter::Node;

/// The table of one text.
pub(super) fn of(grammar: &Grammar, text: &str) -> FileSymbols {
    let content = ContentHash::of(text);
    let Some(tree) = grammar.parse(text) else {
        return FileSymbols { content, symbols: Vec::new(), mentions: Vec::new() };
    };
    let mut found =
        Found { grammar, text, mentions: BTreeSet::new(), docs: Vec::new(), items: Vec::new(), open: Vec::new() };
    // Where the documentation or attributes begin that belong to the next item, by depth.
    let mut pending: Vec<Option<usize>> = Vec::new();
    languages::walk(tree.root_node(), |node, depth| {
        while found.open.last().is_some_and(|(level, _)| *level >= depth) {
            found.open.pop();
        }
        pending.resize(depth + 1, None);
        let Some(slot) = pending.get_mut(depth) else { return false };
        match grammar.role(node) {
            Role::Comment => {
                match grammar.documentation(text.get(node.byte_range()).unwrap_or_default()) {
                    Documentation::Following => {
                        slot.get_or_insert(node.start_byte());
                        found.docs.push(node.byte_range());
                    }
                    Documentation::Enclosing => found.docs.push(node.byte_range()),
                    Documentation::None => {}
                }
                return false;
            }
            Role::Attribute => {
                slot.get_or_insert(node.start_byte());
            }
            Role::Item(kind) => {
                let start = slot.take().unwrap_or(node.start_byte());
                found.item(node, kind, start, depth);
            }
            Role::Name => {
                *slot = None;
                found.mention(node);
            }
            Role::Other | Role::Text | Role::Import => *slot = None,
        }
        true
    });
    FileSymbols {
        content,
        mentions: found.mentions.iter().map(|name| (*name).to_owned()).collect(),
        symbols: found.symbols(),
    }
}

/// An item as the walk sees it.
struct Item<'t> {
    node: Node<'t>,
    start: usize,
    kind: SymbolKind,
    path: String,
    name: String,
    name_range: Range<usize>,
    /// Its own visibility and that of all around it.
    public: bool,
    /// What the names inside begin with.
    prefix: String,
    /// Inside a function: no path reaches it.
    local: bool,
    /// The type of an `impl` block, by name.
    subject: Option<String>,
    implements: Option<String>,
}

struct Found<'g, 't> {
    grammar: &'g Grammar,
    text: &'t str,
    mentions: BTreeSet<&'t str>,
    /// Documentation comments, in order.
    docs: Vec<Range<usize>>,
    items: Vec<Item<'t>>,
    /// Depth and index of the items around.
    open: Vec<(usize, usize)>,
}

impl<'t> Found<'_, 't> {
    fn slice(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }

    fn mention(&mut self, node: Node<'t>) {
        let name = self.slice(node.byte_range());
        if !name.is_empty() {
            self.mentions.insert(name);
        }
    }

    fn item(&mut self, node: Node<'t>, kind: SymbolKind, start: usize, depth: usize) {
        let around = self.open.last().and_then(|(_, index)| self.items.get(*index));
        let prefix = around.map(|item| item.prefix.clone()).unwrap_or_default();
        let local =
            around.is_some_and(|item| item.local || matches!(item.kind, SymbolKind::Function | SymbolKind::Method));
        let inherited = around.is_none_or(|item| item.public);
        let within = around.map(|item| item.kind);
        let (name, name_range, subject, implements) = if kind == SymbolKind::Impl {
            let Some(of) = node.child_by_field_name("type") else { return self.placeholder(node, start, depth) };
            let subject = self.subject(of);
            let implements = node.child_by_field_name("trait").map(|of| self.last_part(of));
            let name = implements.as_ref().map_or_else(|| subject.clone(), |named| format!("{named} for {subject}"));
            (name, of.byte_range(), Some(subject), implements)
        } else {
            let Some(named) = node.child_by_field_name("name") else { return self.placeholder(node, start, depth) };
            (self.slice(named.byte_range()).to_owned(), named.byte_range(), None, None)
        };
        let kind = match (kind, within) {
            (SymbolKind::Function, Some(SymbolKind::Impl | SymbolKind::Trait)) => SymbolKind::Method,
            (kind, _) => kind,
        };
        let own = match (kind, within) {
            (SymbolKind::Impl, _) | (SymbolKind::Variant, _) => true,
            (_, Some(SymbolKind::Trait | SymbolKind::Variant)) => true,
            (SymbolKind::Macro, _) => self.slice(start..node.start_byte()).contains("macro_export"),
            _ => node
                .child(0)
                .is_some_and(|first| first.kind() == "visibility_modifier" && self.slice(first.byte_range()) == "pub"),
        };
        let path = join(&prefix, &name);
        let inner = match &subject {
            Some(subject) => join(&prefix, subject),
            None => path.clone(),
        };
        self.open.push((depth, self.items.len()));
        self.items.push(Item {
            node,
            start,
            kind,
            path,
            name,
            name_range,
            public: own && inherited && !local,
            prefix: inner,
            local,
            subject,
            implements,
        });
    }

    /// An item without a name (broken text) keeps the stack even and makes no symbol.
    fn placeholder(&mut self, node: Node<'t>, start: usize, depth: usize) {
        let prefix = self.open.last().and_then(|(_, index)| self.items.get(*index)).map(|item| item.prefix.clone());
        self.open.push((depth, self.items.len()));
        self.items.push(Item {
            node,
            start,
            kind: SymbolKind::Module,
            path: String::new(),
            name: String::new(),
            name_range: start..start,
            public: false,
            prefix: prefix.unwrap_or_default(),
            local: true,
            subject: None,
            implements: None,
        });
    }

    /// The name of the type that an `impl` is about: `Client` of `&'a mut net::Client<T>`.
    fn subject(&self, node: Node<'t>) -> String {
        let inner = match node.kind() {
            "reference_type" | "generic_type" | "pointer_type" => node.child_by_field_name("type"),
            "scoped_type_identifier" => node.child_by_field_name("name"),
            "dynamic_type" | "abstract_type" => node.child_by_field_name("trait"),
            _ => None,
        };
        match inner {
            Some(inner) => self.subject(inner),
            None => collapse(self.slice(node.byte_range())),
        }
    }

    /// A trait without the path before it, with its arguments: `From<io::Error>`.
    fn last_part(&self, node: Node<'t>) -> String {
        let named = match node.kind() {
            "scoped_type_identifier" => node.child_by_field_name("name"),
            "generic_type" => node
                .child_by_field_name("type")
                .filter(|of| of.kind() == "scoped_type_identifier")
                .and_then(|of| of.child_by_field_name("name")),
            _ => None,
        };
        collapse(self.slice(named.map_or(node.start_byte(), |named| named.start_byte())..node.end_byte()))
    }

    fn symbols(&self) -> Vec<Symbol> {
        // Types and traits of this file by name: an `impl` is seen outside only if they are. Those of other files
        // count as seen.
        let types: HashMap<&str, bool> = self
            .items
            .iter()
            .filter(|item| {
                matches!(item.kind, SymbolKind::Struct | SymbolKind::Enum | SymbolKind::Trait | SymbolKind::Type)
            })
            .map(|item| (item.name.as_str(), item.public))
            .collect();
        let seen = |name: &str| types.get(name.split('<').next().unwrap_or(name)).copied().unwrap_or(true);
        // What an `impl` of a trait holds is the trait's to show; what one of an unseen type holds is unseen.
        let hiding: Vec<Range<usize>> = self
            .items
            .iter()
            .filter(|item| item.implements.is_some() || item.subject.as_deref().is_some_and(|subject| !seen(subject)))
            .map(|item| item.node.byte_range())
            .collect();
        let mut symbols: Vec<Symbol> = Vec::with_capacity(self.items.len());
        for item in self.items.iter().filter(|item| !item.name.is_empty()) {
            let range = item.start..item.node.end_byte();
            let shows = if item.kind == SymbolKind::Impl {
                item.implements.as_deref().is_some_and(seen) && item.subject.as_deref().is_none_or(seen)
            } else {
                !hiding.iter().any(|block| block.contains(&item.node.start_byte()))
            };
            symbols.push(Symbol {
                path: item.path.clone(),
                name: item.name.clone(),
                kind: item.kind,
                range: range.clone(),
                name_range: item.name_range.clone(),
                signature: self.signature(item),
                public: item.public && shows,
                body: self.body(range),
            });
        }
        symbols.sort_by_key(|symbol| (symbol.range.start, std::cmp::Reverse(symbol.range.end)));
        symbols
    }

    /// Up to the body; a macro's rules have no field of their own, its signature ends with its name.
    fn signature(&self, item: &Item<'t>) -> String {
        let end = match self.grammar.body(item.node) {
            Some(body) => body.start_byte(),
            None if item.kind == SymbolKind::Macro => item.name_range.end,
            None => item.node.end_byte(),
        };
        let shown = collapse(self.slice(item.node.start_byte()..end));
        shown.trim_end_matches(['=', ';', ' ', ':']).to_owned()
    }

    /// The hash of the text with every line of documentation taken out.
    fn body(&self, range: Range<usize>) -> ContentHash {
        let first = self.docs.partition_point(|doc| doc.start < range.start);
        let docs = self.docs.get(first..).unwrap_or_default().iter().take_while(|doc| doc.start < range.end);
        let mut kept = String::with_capacity(range.len());
        let mut at = range.start;
        for doc in docs {
            let before = self.slice(at..doc.start);
            kept.push_str(before.trim_end_matches([' ', '\t']));
            at = doc.end.min(range.end);
            let rest = self.slice(at..range.end);
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
            if !self.slice(doc.clone()).ends_with('\n') && rest.get(blank..).is_some_and(|rest| rest.starts_with('\n'))
            {
                at += blank + 1;
            }
        }
        kept.push_str(self.slice(at..range.end));
        ContentHash::of(kept.trim_start())
    }
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}::{name}") }
}

/// Runs of blanks and line ends become one blank.
fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
