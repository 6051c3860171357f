//! The one table of languages: a row tells outline, errors, references, imports and rewrite all they need of a grammar.
//!
//! Invariant: nothing else in the crate names a node kind that only an outline needs; a further language is one more
//! row. Absent: name resolution, which is no table (`rename` knows Rust's rules by itself).

use crate::domain::ids::WorkspacePath;
use crate::domain::symbols::SymbolKind;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;
use tree_sitter::{Language, Node, Parser, Tree};

/// What is written down about a language, by names of the grammar's node kinds.
struct Row {
    /// Also the fence's info string.
    name: &'static str,
    /// Without dot.
    extensions: &'static [&'static str],
    grammar: fn() -> Language,
    /// Stands for `$` in patterns: a letter of identifiers in this language that no program uses.
    expando: char,
    /// Definitions.
    items: &'static [(&'static str, SymbolKind)],
    /// Fields that hold the body, at which a signature ends.
    bodies: &'static [&'static str],
    /// Bodies that belong to the signature all the same.
    shown_bodies: &'static [&'static str],
    /// Leaves that are names.
    names: &'static [&'static str],
    /// Comments of all kinds.
    comments: &'static [&'static str],
    /// Literals whose text may hold a name.
    strings: &'static [&'static str],
    /// What may stand between documentation and item.
    attributes: &'static [&'static str],
    imports: &'static [&'static str],
    /// What no identifier may be called.
    keywords: &'static [&'static str],
    /// Whether a comment is documentation, and of what.
    documentation: fn(&str) -> Documentation,
}

/// What a comment documents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Documentation {
    /// Nothing: an ordinary comment.
    None,
    /// The item below it.
    Following,
    /// The item around it.
    Enclosing,
}

/// What a kind of node is to us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Structure.
    Other,
    /// A definition.
    Item(SymbolKind),
    /// An identifier.
    Name,
    /// A comment.
    Comment,
    /// A string literal.
    Text,
    /// An attribute.
    Attribute,
    /// An import.
    Import,
}

static ROWS: &[Row] = &[Row {
    name: "rust",
    extensions: &["rs"],
    grammar: || tree_sitter_rust::LANGUAGE.into(),
    expando: 'µ',
    items: &[
        ("function_item", SymbolKind::Function),
        ("function_signature_item", SymbolKind::Function),
        ("struct_item", SymbolKind::Struct),
        ("union_item", SymbolKind::Struct),
        ("enum_item", SymbolKind::Enum),
        ("enum_variant", SymbolKind::Variant),
        ("field_declaration", SymbolKind::Field),
        ("trait_item", SymbolKind::Trait),
        ("impl_item", SymbolKind::Impl),
        ("mod_item", SymbolKind::Module),
        ("const_item", SymbolKind::Const),
        ("static_item", SymbolKind::Static),
        ("type_item", SymbolKind::Type),
        ("associated_type", SymbolKind::Type),
        ("macro_definition", SymbolKind::Macro),
    ],
    bodies: &["body", "value"],
    shown_bodies: &["ordered_field_declaration_list"],
    names: &["identifier", "type_identifier", "field_identifier", "shorthand_field_identifier"],
    comments: &["line_comment", "block_comment"],
    strings: &["string_literal", "raw_string_literal"],
    attributes: &["attribute_item"],
    imports: &["use_declaration", "extern_crate_declaration"],
    keywords: &[
        "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
        "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
        "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct",
        "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while",
        "yield", "_",
    ],
    documentation: |text| {
        let plain = (text.starts_with("////"))
            || (text.starts_with("/***") && !text.starts_with("/***/"))
            || text.starts_with("/**/");
        if !plain && (text.starts_with("///") || text.starts_with("/**")) {
            Documentation::Following
        } else if text.starts_with("//!") || text.starts_with("/*!") {
            Documentation::Enclosing
        } else {
            Documentation::None
        }
    },
}];

/// A row made ready: its node kinds by number.
pub(super) struct Grammar {
    row: &'static Row,
    /// For ast-grep, which parses by itself.
    pub(super) language: Language,
    roles: Vec<Role>,
}

static GRAMMARS: LazyLock<Vec<Grammar>> = LazyLock::new(|| ROWS.iter().map(Grammar::new).collect());

thread_local! {
    /// One parser a thread and language: a parser is not shared, and making one builds tables.
    static PARSERS: RefCell<HashMap<&'static str, Parser>> = RefCell::new(HashMap::new());
}

/// The language of a file by its extension; `None` = text.
pub(super) fn of(path: &WorkspacePath) -> Option<&'static Grammar> {
    let extension = path.extension()?;
    GRAMMARS.iter().find(|grammar| grammar.row.extensions.contains(&extension))
}

/// Every language there is.
pub(super) fn all() -> impl Iterator<Item = &'static Grammar> {
    GRAMMARS.iter()
}

impl Grammar {
    fn new(row: &'static Row) -> Self {
        let language = (row.grammar)();
        let count = u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX);
        let roles = (0..count)
            .map(|id| {
                let kind = language.node_kind_for_id(id).unwrap_or_default();
                if language.node_kind_is_named(id) { row.role(kind) } else { Role::Other }
            })
            .collect();
        Self { row, language, roles }
    }

    pub(super) fn name(&self) -> &'static str {
        self.row.name
    }

    pub(super) fn expando(&self) -> char {
        self.row.expando
    }

    pub(super) fn keywords(&self) -> &'static [&'static str] {
        self.row.keywords
    }

    pub(super) fn role(&self, node: Node<'_>) -> Role {
        self.roles.get(usize::from(node.kind_id())).copied().unwrap_or(Role::Other)
    }

    pub(super) fn documentation(&self, comment: &str) -> Documentation {
        (self.row.documentation)(comment)
    }

    /// The part of an item at which its signature ends.
    pub(super) fn body<'t>(&self, item: Node<'t>) -> Option<Node<'t>> {
        let body = self.row.bodies.iter().find_map(|field| item.child_by_field_name(field))?;
        (!self.row.shown_bodies.contains(&body.kind())).then_some(body)
    }

    /// `None` only where the grammar cannot be loaded, which the tests of the table would show.
    pub(super) fn parse(&self, text: &str) -> Option<Tree> {
        PARSERS.with_borrow_mut(|parsers| {
            let parser = parsers.entry(self.row.name).or_default();
            parser.reset();
            parser.set_language(&self.language).ok()?;
            parser.parse(text, None)
        })
    }

    /// The grammar's name and version.
    pub(super) fn version(&self) -> String {
        match self.language.metadata() {
            Some(meta) => {
                format!("{}-{}.{}.{}", self.row.name, meta.major_version, meta.minor_version, meta.patch_version)
            }
            None => format!("{}-abi{}", self.row.name, self.language.abi_version()),
        }
    }
}

impl Row {
    fn role(&self, kind: &str) -> Role {
        if let Some((_, symbol)) = self.items.iter().find(|(item, _)| *item == kind) {
            return Role::Item(*symbol);
        }
        let lists = [
            (self.names, Role::Name),
            (self.comments, Role::Comment),
            (self.strings, Role::Text),
            (self.attributes, Role::Attribute),
            (self.imports, Role::Import),
        ];
        lists.iter().find(|(kinds, _)| kinds.contains(&kind)).map_or(Role::Other, |(_, role)| *role)
    }
}

/// Visits every node in the order of the text, without recursion (a hostile file can be a million levels deep).
/// `enter` is told node and depth and says whether to look inside.
pub(super) fn walk<'t>(root: Node<'t>, mut enter: impl FnMut(Node<'t>, usize) -> bool) {
    let mut cursor = root.walk();
    let mut depth = 0;
    loop {
        if enter(cursor.node(), depth) && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            depth -= 1;
        }
    }
}
