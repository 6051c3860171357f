//! Whether one occurrence of a name is the thing renamed: certainly, perhaps, or not.
//!
//! Invariant: "certainly" follows from Rust's rules for names, or from there being nothing else in the workspace that
//! it could be and no well-known member of that name; everything else that might be is a doubt with its reason.
//! Absent: texts and files; `mod` walks those.

use super::super::languages::Role;
use super::known;
use super::names::Meaning;
use super::program::{Item, Program, Space};
use super::scopes::{self, Bare};
use super::tokens;
use super::types;
use crate::domain::symbols::SymbolKind;
use tree_sitter::Node;

/// What is renamed.
pub(super) struct Target<'p> {
    /// Every definition that changes its name: one, but for twins under `cfg` and the methods of a trait's impls.
    pub(super) items: Vec<Item<'p>>,
    pub(super) kind: SymbolKind,
    pub(super) name: String,
    /// As a person says it: `Client::send`.
    pub(super) label: String,
    pub(super) spaces: &'static [Space],
    /// Of a member: the types and traits through which it is reached.
    pub(super) owners: Vec<Item<'p>>,
    /// Other members of this name in the workspace, with the types that have them.
    pub(super) others: Vec<(String, Option<Item<'p>>)>,
    /// Of a method with `self`: how many arguments a call has.
    pub(super) arity: Option<usize>,
}

/// The judgement of one occurrence. The text is what stands there after the rename.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Not,
    Certain(String),
    Doubt(String, String),
}

/// One target, and what it will be called.
pub(super) struct Judge<'p, 's> {
    pub(super) program: &'p Program<'s>,
    pub(super) target: &'p Target<'p>,
    pub(super) to: &'p str,
}

impl<'p> Judge<'p, '_> {
    fn certain(&self) -> Verdict {
        Verdict::Certain(self.to.to_owned())
    }

    pub(super) fn doubt(&self, reason: impl Into<String>) -> Verdict {
        Verdict::Doubt(self.to.to_owned(), reason.into())
    }

    fn is_target(&self, item: Item<'_>) -> bool {
        self.target.items.contains(&item)
    }

    pub(super) fn is_member(&self) -> bool {
        !self.target.owners.is_empty()
    }

    /// Judges an identifier that equals the target's name.
    pub(super) fn of(&self, file: usize, node: Node<'p>) -> Verdict {
        let Some(parent) = node.parent() else { return Verdict::Not };
        let is = |field: &str| parent.child_by_field_name(field).is_some_and(|child| child.id() == node.id());
        if matches!(parent.kind(), "lifetime" | "label") {
            return Verdict::Not;
        }
        if let Some(tokens) = tokens::outermost(node) {
            return self.token(file, node, tokens);
        }
        match parent.kind() {
            "type_parameter" | "const_parameter" if is("name") => return Verdict::Not,
            "type_parameters" => return Verdict::Not,
            "type_binding" if is("name") => {
                return if self.target.kind == SymbolKind::Type && self.is_member() {
                    self.doubt("which trait's type this is cannot be seen")
                } else {
                    Verdict::Not
                };
            }
            "field_expression" if is("field") => return self.access(file, node, parent),
            "field_initializer" if is("field") || is("name") => {
                return self.named_field(file, parent, self.to.to_owned());
            }
            "field_pattern" if is("name") => {
                let short = node.kind() == "shorthand_field_identifier";
                let new = if short { format!("{}: {}", self.to, self.target.name) } else { self.to.to_owned() };
                return self.named_field(file, parent, new);
            }
            "shorthand_field_initializer" => return self.shorthand(file, node, parent),
            "macro_invocation" if is("macro") => {
                return if self.target.kind == SymbolKind::Macro { self.macro_name(file, node) } else { Verdict::Not };
            }
            _ => {}
        }
        let defines = self.program.grammar(file).is_some_and(|grammar| matches!(grammar.role(parent), Role::Item(_)));
        if is("name") && defines {
            return if self.is_target(Item { file, node: parent }) { self.certain() } else { Verdict::Not };
        }
        if self.within(node, "use_declaration") {
            return self.import(file, node);
        }
        if self.within(node, "visibility_modifier") && !self.target.spaces.contains(&Space::Type) {
            return Verdict::Not;
        }
        self.path(file, node, parent)
    }

    fn within(&self, node: Node<'_>, kind: &str) -> bool {
        let mut at = node;
        while let Some(parent) = at.parent() {
            if parent.kind() == kind {
                return true;
            }
            if matches!(parent.kind(), "block" | "declaration_list" | "source_file") {
                return false;
            }
            at = parent;
        }
        false
    }

    /// A name, alone or as part of a path, in code.
    fn path(&self, file: usize, node: Node<'p>, parent: Node<'p>) -> Verdict {
        let last = parent.kind().starts_with("scoped_")
            && parent.child_by_field_name("name").is_some_and(|name| name.id() == node.id());
        let whole = if last { parent } else { node };
        let leads = whole.parent().is_some_and(|outer| {
            (outer.kind().starts_with("scoped_") || outer.kind() == "generic_type")
                && outer.child_by_field_name("name").is_none_or(|name| name.id() != whole.id())
                && (outer.kind() != "generic_type" || whole.kind() != "identifier")
        });
        let space = if leads || matches!(whole.kind(), "type_identifier" | "scoped_type_identifier") {
            Space::Type
        } else {
            Space::Value
        };
        if self.is_member() && self.target.kind != SymbolKind::Variant {
            return if last { self.member_path(file, whole) } else { Verdict::Not };
        }
        if !self.target.spaces.contains(&space) {
            return Verdict::Not;
        }
        let module_level = self.target.kind != SymbolKind::Variant;
        if last && module_level && self.program.segments(file, whole).first().is_some_and(|part| part == "?") {
            // `<T as Trait>::Name` is a member, whatever its name.
            return Verdict::Not;
        }
        if last {
            return self.verdict(types::path(self.program, file, whole, space));
        }
        let constant = self.names_a_constant();
        if space == Space::Value && node.kind() == "identifier" && scopes::is_binding(node) {
            return if constant { self.in_pattern(file, node) } else { Verdict::Not };
        }
        match scopes::bare(self.program, file, node, &self.target.name, space) {
            Bare::Local(_) if constant && space == Space::Value => self.in_pattern(file, node),
            Bare::Local(_) => Verdict::Not,
            Bare::Found(meaning) => self.verdict(meaning),
        }
    }

    /// What an identifier in a pattern means that is a constant's, if the constant is in scope.
    fn in_pattern(&self, file: usize, node: Node<'p>) -> Verdict {
        match self.program.lookup(self.program.module_of(file, node), &self.target.name, Space::Value) {
            Meaning::Item(item) if self.is_target(item) => self.certain(),
            Meaning::Unknown => self.doubt("a pattern here may name it, by a `*` import that cannot be followed"),
            Meaning::Item(_) | Meaning::Module(_) | Meaning::Member(_) | Meaning::Outside | Meaning::Missing => {
                Verdict::Not
            }
        }
    }

    fn names_a_constant(&self) -> bool {
        match self.target.kind {
            SymbolKind::Const | SymbolKind::Static | SymbolKind::Variant => true,
            SymbolKind::Struct => self.target.items.iter().any(|item| item.node.child_by_field_name("body").is_none()),
            SymbolKind::Function
            | SymbolKind::Method
            | SymbolKind::Enum
            | SymbolKind::Field
            | SymbolKind::Trait
            | SymbolKind::Impl
            | SymbolKind::Module
            | SymbolKind::Type
            | SymbolKind::Macro => false,
        }
    }

    pub(super) fn verdict(&self, meaning: Meaning<'p>) -> Verdict {
        match meaning {
            Meaning::Item(item) if self.is_target(item) => self.certain(),
            Meaning::Item(_) | Meaning::Module(_) | Meaning::Member(_) | Meaning::Outside => Verdict::Not,
            Meaning::Missing => self.doubt("no import of it was found here"),
            Meaning::Unknown => self.doubt("where this name comes from cannot be followed"),
        }
    }

    /// `Client::send`, `Self::send`, `Trait::send`.
    fn member_path(&self, file: usize, whole: Node<'p>) -> Verdict {
        if self.target.kind == SymbolKind::Field {
            return Verdict::Not;
        }
        let space = if whole.kind() == "scoped_type_identifier" { Space::Type } else { Space::Value };
        match types::path(self.program, file, whole, space) {
            Meaning::Member(owner) => self.of_owner(owner),
            Meaning::Item(_) | Meaning::Module(_) | Meaning::Outside | Meaning::Missing => Verdict::Not,
            Meaning::Unknown => self.doubt(format!("whether this is `{}` cannot be seen", self.target.label)),
        }
    }

    /// A member of a known type.
    pub(super) fn of_owner(&self, owner: Item<'p>) -> Verdict {
        let theirs = self.target.others.iter().find(|(_, of)| *of == Some(owner));
        match (self.target.owners.contains(&owner), theirs) {
            (true, None) => self.certain(),
            (true, Some((other, _))) => self.doubt(format!("it may be {other}")),
            (false, Some(_)) => Verdict::Not,
            (false, None) => self.doubt("it may be reached through another type or trait"),
        }
    }

    /// `value.name`, `value.name()`.
    fn access(&self, file: usize, node: Node<'p>, whole: Node<'p>) -> Verdict {
        let above = whole.parent();
        let generic = above.filter(|above| above.kind() == "generic_function");
        let callee = generic.unwrap_or(whole);
        let call = callee.parent().filter(|call| {
            call.kind() == "call_expression"
                && call.child_by_field_name("function").is_some_and(|function| function.id() == callee.id())
        });
        let fits = match call {
            // Another number of arguments is another method: Rust has no overloading.
            Some(call) if self.target.kind == SymbolKind::Method => {
                let given = call.child_by_field_name("arguments").map_or(0, |arguments| {
                    super::program::children(arguments)
                        .filter(|part| !part.kind().ends_with("comment") && part.kind() != "attribute_item")
                        .count()
                });
                self.target.arity == Some(given)
            }
            Some(_) => false,
            None => self.target.kind == SymbolKind::Field,
        };
        if !fits {
            return Verdict::Not;
        }
        match whole.child_by_field_name("value").and_then(|value| types::of(self.program, file, value)) {
            Some(owner) => self.of_owner(owner),
            None => self.of_unknown(self.program.text(file, node)),
        }
    }

    /// A member of a value whose type cannot be seen.
    pub(super) fn of_unknown(&self, name: &str) -> Verdict {
        if let Some((other, _)) = self.target.others.first() {
            return self.doubt(format!("its type cannot be seen; it may be {other}"));
        }
        if known::holds(known::MEMBERS, name) {
            return self.doubt(format!("its type cannot be seen; types of other crates have a `{name}` too"));
        }
        self.certain()
    }

    /// A field named in a struct expression or pattern.
    fn named_field(&self, file: usize, field: Node<'p>, new: String) -> Verdict {
        if self.target.kind != SymbolKind::Field {
            return Verdict::Not;
        }
        let mut at = field;
        let of = loop {
            let Some(parent) = at.parent() else { return Verdict::Not };
            match parent.kind() {
                "struct_expression" => break parent.child_by_field_name("name"),
                "struct_pattern" => break parent.child_by_field_name("type"),
                _ => at = parent,
            }
        };
        let Some(of) = of else { return Verdict::Not };
        match types::path(self.program, file, of, Space::Type) {
            Meaning::Item(owner) if self.target.owners.contains(&owner) => Verdict::Certain(new),
            Meaning::Item(alias) if alias.node.kind() == "type_item" => {
                Verdict::Doubt(new, "it goes through a type alias".to_owned())
            }
            Meaning::Item(_) | Meaning::Module(_) | Meaning::Outside => Verdict::Not,
            Meaning::Member(_) | Meaning::Missing | Meaning::Unknown => {
                Verdict::Doubt(new, "which struct this is cannot be seen".to_owned())
            }
        }
    }

    /// `S { name }`: a field and a value of one name.
    fn shorthand(&self, file: usize, node: Node<'p>, field: Node<'p>) -> Verdict {
        if self.target.kind == SymbolKind::Field {
            return self.named_field(file, field, format!("{}: {}", self.to, self.target.name));
        }
        if self.is_member() || !self.target.spaces.contains(&Space::Value) {
            return Verdict::Not;
        }
        let new = format!("{}: {}", self.target.name, self.to);
        match scopes::bare(self.program, file, node, &self.target.name, Space::Value) {
            Bare::Local(_) => Verdict::Not,
            Bare::Found(meaning) => match self.verdict(meaning) {
                Verdict::Certain(_) => Verdict::Certain(new),
                Verdict::Doubt(_, why) => Verdict::Doubt(new, why),
                Verdict::Not => Verdict::Not,
            },
        }
    }

    /// Macros are known by the order of the text, which is not followed: one definition of the name is certain.
    pub(super) fn macro_name(&self, file: usize, node: Node<'p>) -> Verdict {
        let here = self.target.items.iter().any(|item| item.file == file && item.node.end_byte() <= node.start_byte());
        if here && self.target.others.is_empty() {
            return self.certain();
        }
        self.doubt("which macro of this name is meant depends on the order of modules")
    }

    /// A name in a `use` declaration.
    fn import(&self, file: usize, node: Node<'p>) -> Verdict {
        if self.is_member() && self.target.kind != SymbolKind::Variant {
            return Verdict::Not;
        }
        let program = self.program;
        let mut whole = node;
        let mut parts = vec![program.text(file, node).to_owned()];
        let mut at = node;
        let mut last = true;
        let mut alias = false;
        while let Some(parent) = at.parent() {
            let is = |field: &str| parent.child_by_field_name(field).is_some_and(|child| child.id() == at.id());
            match parent.kind() {
                "scoped_identifier" if is("name") && whole.id() == at.id() => {
                    whole = parent;
                    parts = program.segments(file, parent);
                }
                "scoped_identifier" | "use_wildcard" => last = false,
                "scoped_use_list" if is("path") => last = false,
                "scoped_use_list" => {
                    let mut path =
                        parent.child_by_field_name("path").map(|path| program.segments(file, path)).unwrap_or_default();
                    path.append(&mut parts);
                    parts = path;
                }
                "use_as_clause" if is("alias") => {
                    // `use a::send as send`: what the name stands for decides.
                    alias = true;
                    parts =
                        parent.child_by_field_name("path").map(|path| program.segments(file, path)).unwrap_or_default();
                }
                "use_declaration" => break,
                _ => {}
            }
            at = parent;
        }
        if alias && parts.last().is_none_or(|part| *part != self.target.name) {
            return Verdict::Not;
        }
        let module = program.module_of(file, node);
        let mut verdict = Verdict::Not;
        // What stands before `::` is a module or type, whatever else has its name.
        for space in self.target.spaces.iter().filter(|space| last || **space == Space::Type) {
            match self.verdict(program.resolve(module, &parts, *space)) {
                Verdict::Certain(new) => {
                    verdict = Verdict::Certain(new);
                    break;
                }
                Verdict::Doubt(new, why) => verdict = Verdict::Doubt(new, why),
                Verdict::Not => {}
            }
        }
        let more = [Space::Type, Space::Value]
            .into_iter()
            .filter(|space| last && !self.target.spaces.contains(space))
            .any(|space| match program.resolve(module, &parts, space) {
                Meaning::Item(_) | Meaning::Module(_) | Meaning::Member(_) => true,
                Meaning::Outside | Meaning::Missing | Meaning::Unknown => false,
            });
        match verdict {
            Verdict::Certain(new) if more => {
                Verdict::Doubt(new, "this import brings another thing of the same name".to_owned())
            }
            verdict => verdict,
        }
    }
}
