//! What a name or path means, by Rust's rules for items and imports.
//!
//! Invariant: an answer that names a definition or says "outside" is certain; whatever cannot be followed (a `*`
//! import of another crate, a type alias, a missing file) is `Unknown`. Absent: local variables (`scopes`), and
//! conditional compilation, which only ever adds definitions.

use super::program::{Item, Module, Program, Space, children, spaces};
use std::collections::HashSet;
use tree_sitter::Node;

/// Crates that every program can name and no workspace defines.
const SYSTEM_CRATES: [&str; 5] = ["std", "core", "alloc", "proc_macro", "test"];

/// What a name or path means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning<'p> {
    Module(Module<'p>),
    Item(Item<'p>),
    /// `T::name`, where the type is `T`.
    Member(Item<'p>),
    /// Something of another crate.
    Outside,
    /// The module is known, and has no such name that can be seen.
    Missing,
    /// It cannot be followed.
    Unknown,
}

/// One name of a `use` declaration.
#[derive(Clone, Debug)]
pub(super) struct Import {
    /// What it is called here; `*` for all.
    pub(super) alias: String,
    pub(super) path: Vec<String>,
    /// `pub use`, of any degree: those outside the module see it too.
    open: bool,
}

type Seen = HashSet<(usize, usize, String, Space)>;

impl Program<'_> {
    /// What a name means in a module: an item, an import, or something behind a `*`.
    pub(super) fn lookup<'p>(&'p self, module: Module<'p>, name: &str, space: Space) -> Meaning<'p> {
        self.look(module, name, space, None, &mut HashSet::new())
    }

    /// With a `viewer`, only what that module can see: a `*` import passes over what is private.
    fn look<'p>(
        &'p self,
        module: Module<'p>,
        name: &str,
        space: Space,
        viewer: Option<Module<'p>>,
        seen: &mut Seen,
    ) -> Meaning<'p> {
        if !seen.insert((module.file, module.node.id(), name.to_owned(), space)) {
            return Meaning::Missing;
        }
        let outsider = viewer.is_some_and(|viewer| !self.is_within(viewer, module));
        self.look_in_scope(module, module.node, name, space, outsider, seen)
    }

    fn is_within<'p>(&'p self, inner: Module<'p>, outer: Module<'p>) -> bool {
        let mut at = Some(inner);
        for _ in 0..self.files.len() + 64 {
            match at {
                Some(module) if module.file == outer.file && module.node.id() == outer.node.id() => return true,
                Some(module) => at = self.parent(module),
                None => return false,
            }
        }
        false
    }

    /// The same in a block, whose own items and imports come first. `Missing` = look further out.
    pub(super) fn look_in_block<'p>(
        &'p self,
        module: Module<'p>,
        block: Node<'p>,
        name: &str,
        space: Space,
    ) -> Meaning<'p> {
        self.look_in_scope(module, block, name, space, false, &mut HashSet::new())
    }

    fn look_in_scope<'p>(
        &'p self,
        module: Module<'p>,
        scope: Node<'p>,
        name: &str,
        space: Space,
        outsider: bool,
        seen: &mut Seen,
    ) -> Meaning<'p> {
        let file = module.file;
        for item in children(scope).flat_map(with_foreign) {
            if outsider && !is_open(item) {
                continue;
            }
            if self.name(file, item) == Some(name) && spaces(item).contains(&space) {
                if item.kind() == "mod_item" {
                    return self.module_behind(module, item).map_or(Meaning::Unknown, Meaning::Module);
                }
                return Meaning::Item(Item { file, node: item });
            }
        }
        let mut unsure = false;
        let mut globs = Vec::new();
        for import in self.imports(file, scope) {
            if outsider && !import.open {
                continue;
            }
            if import.alias == "*" {
                globs.push(import);
            } else if import.alias == name {
                match self.follow(module, &import.path, space, seen) {
                    // The import brings this name in another set of names only.
                    Meaning::Missing => {}
                    found @ (Meaning::Module(_)
                    | Meaning::Item(_)
                    | Meaning::Member(_)
                    | Meaning::Outside
                    | Meaning::Unknown) => return found,
                }
            }
        }
        let mut hit: Option<Meaning<'p>> = None;
        for glob in globs {
            let found = match self.follow(module, &glob.path, Space::Type, seen) {
                Meaning::Module(inner) => self.look(inner, name, space, Some(module), seen),
                Meaning::Item(owner) => match self.variant(owner, name) {
                    Some(variant) => Meaning::Item(variant),
                    None if owner.node.kind() == "type_item" => Meaning::Unknown,
                    None => Meaning::Missing,
                },
                Meaning::Outside | Meaning::Unknown | Meaning::Missing | Meaning::Member(_) => Meaning::Unknown,
            };
            match (found, hit) {
                (Meaning::Missing, _) => {}
                (Meaning::Unknown | Meaning::Outside, _) => unsure = true,
                (Meaning::Item(one), Some(Meaning::Item(other))) if one == other => {}
                (Meaning::Item(_) | Meaning::Module(_) | Meaning::Member(_), Some(_)) => return Meaning::Unknown,
                (Meaning::Item(_) | Meaning::Module(_) | Meaning::Member(_), None) => hit = Some(found),
            }
        }
        if let Some(hit) = hit {
            return hit;
        }
        if unsure { Meaning::Unknown } else { Meaning::Missing }
    }

    pub(super) fn variant<'p>(&'p self, owner: Item<'p>, name: &str) -> Option<Item<'p>> {
        if owner.node.kind() != "enum_item" {
            return None;
        }
        let body = owner.node.child_by_field_name("body")?;
        children(body)
            .find(|node| node.kind() == "enum_variant" && self.name(owner.file, *node) == Some(name))
            .map(|node| Item { file: owner.file, node })
    }

    /// What a path means, seen from a module.
    pub(super) fn resolve<'p>(&'p self, from: Module<'p>, path: &[String], space: Space) -> Meaning<'p> {
        self.follow(from, path, space, &mut HashSet::new())
    }

    fn follow<'p>(&'p self, from: Module<'p>, path: &[String], space: Space, seen: &mut Seen) -> Meaning<'p> {
        let Some((first, rest)) = path.split_first() else { return Meaning::Unknown };
        let at_end = |rest: &[String]| if rest.is_empty() { space } else { Space::Type };
        let start = match first.as_str() {
            "crate" => Meaning::Module(self.crate_root(from)),
            "self" => Meaning::Module(from),
            "super" => self.parent(from).map_or(Meaning::Unknown, Meaning::Module),
            "" => match rest.split_first() {
                Some((name, rest)) => return self.walk_down(self.other_crate(name), rest, space, seen),
                None => Meaning::Unknown,
            },
            name => match self.look(from, name, at_end(rest), None, seen) {
                Meaning::Missing => self.other_crate(name),
                found @ (Meaning::Module(_)
                | Meaning::Item(_)
                | Meaning::Member(_)
                | Meaning::Outside
                | Meaning::Unknown) => found,
            },
        };
        self.walk_down(start, rest, space, seen)
    }

    /// What the rest of a path means below its start.
    pub(super) fn below<'p>(&'p self, start: Meaning<'p>, rest: &[String], space: Space) -> Meaning<'p> {
        self.walk_down(start, rest, space, &mut HashSet::new())
    }

    fn walk_down<'p>(&'p self, start: Meaning<'p>, rest: &[String], space: Space, seen: &mut Seen) -> Meaning<'p> {
        let mut at = start;
        let mut rest = rest;
        while let Some((name, after)) = rest.split_first() {
            at = match at {
                Meaning::Module(module) if name == "super" => {
                    self.parent(module).map_or(Meaning::Unknown, Meaning::Module)
                }
                Meaning::Module(module) if name == "self" => Meaning::Module(module),
                Meaning::Module(module) => {
                    self.look(module, name, if after.is_empty() { space } else { Space::Type }, None, seen)
                }
                Meaning::Item(owner) if owner.node.kind() == "type_item" => Meaning::Unknown,
                Meaning::Item(owner) => match self.variant(owner, name) {
                    Some(variant) => Meaning::Item(variant),
                    None if after.is_empty() => Meaning::Member(owner),
                    None => Meaning::Unknown,
                },
                Meaning::Member(_) | Meaning::Unknown => return Meaning::Unknown,
                Meaning::Missing => return Meaning::Missing,
                Meaning::Outside => return Meaning::Outside,
            };
            rest = after;
        }
        at
    }

    fn other_crate(&self, name: &str) -> Meaning<'_> {
        if let Some(root) = self.crates.get(name).and_then(|file| Some(Module { file: *file, node: self.root(*file)? }))
        {
            return Meaning::Module(root);
        }
        if self.named || SYSTEM_CRATES.contains(&name) { Meaning::Outside } else { Meaning::Unknown }
    }

    fn imports(&self, file: usize, scope: Node<'_>) -> Vec<Import> {
        let mut found = Vec::new();
        for item in children(scope) {
            if let Some(name) = item.child_by_field_name("name").filter(|_| item.kind() == "extern_crate_declaration") {
                let text = |node| self.text(file, node).to_owned();
                let alias = item.child_by_field_name("alias").map_or_else(|| text(name), &text);
                // `extern crate self as name;` is the crate's own root.
                let path =
                    if text(name) == "self" { vec!["crate".to_owned()] } else { vec![String::new(), text(name)] };
                found.push(Import { alias, path, open: is_open(item) });
            }
            if item.kind() != "use_declaration" {
                continue;
            }
            if let Some(clause) = item.child_by_field_name("argument") {
                let first = found.len();
                self.flatten(file, clause, &[], &mut found);
                found.iter_mut().skip(first).for_each(|import| import.open = is_open(item));
            }
        }
        found
    }

    fn flatten(&self, file: usize, clause: Node<'_>, prefix: &[String], found: &mut Vec<Import>) {
        let with = |path: Option<Node<'_>>| {
            let mut whole = prefix.to_vec();
            whole.extend(path.map(|path| self.segments(file, path)).unwrap_or_default());
            whole
        };
        match clause.kind() {
            "scoped_use_list" => {
                let path = with(clause.child_by_field_name("path"));
                if let Some(list) = clause.child_by_field_name("list") {
                    self.flatten(file, list, &path, found);
                }
            }
            "use_list" => children(clause).for_each(|inner| self.flatten(file, inner, prefix, found)),
            "use_as_clause" => {
                let alias = clause.child_by_field_name("alias").map(|alias| self.text(file, alias).to_owned());
                let mut path = with(clause.child_by_field_name("path"));
                drop_self(&mut path);
                found.push(Import { alias: alias.unwrap_or_default(), path, open: false });
            }
            "use_wildcard" => {
                let path = with(clause.named_child(0));
                found.push(Import { alias: "*".to_owned(), path, open: false });
            }
            "line_comment" | "block_comment" => {}
            _ => {
                let mut path = with(Some(clause));
                drop_self(&mut path);
                found.push(Import { alias: path.last().cloned().unwrap_or_default(), path, open: false });
            }
        }
    }

    /// The parts of a path; a part that is no plain name (`<T as X>`, a macro) makes the path one that leads nowhere.
    pub(super) fn segments(&self, file: usize, node: Node<'_>) -> Vec<String> {
        let mut parts = Vec::new();
        let mut at = Some(node);
        while let Some(node) = at {
            match node.kind() {
                "scoped_identifier" | "scoped_type_identifier" => {
                    let name = node.child_by_field_name("name");
                    parts.push(name.map(|name| self.text(file, name).to_owned()).unwrap_or_default());
                    at = node.child_by_field_name("path");
                    if at.is_none() {
                        // `::std::…`
                        parts.push(String::new());
                    }
                }
                "generic_type" => at = node.child_by_field_name("type"),
                "identifier" | "type_identifier" | "self" | "super" | "crate" => {
                    parts.push(self.text(file, node).to_owned());
                    at = None;
                }
                _ => {
                    parts.push("?".to_owned());
                    at = None;
                }
            }
        }
        parts.reverse();
        parts
    }
}

fn drop_self(path: &mut Vec<String>) {
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
}

/// Functions of an `extern` block are names of the module around it.
fn with_foreign(item: Node<'_>) -> Vec<Node<'_>> {
    match item.child_by_field_name("body").filter(|_| item.kind() == "foreign_mod_item") {
        Some(body) => children(body).collect(),
        None => vec![item],
    }
}

/// Carries a visibility of its own, of whatever degree.
fn is_open(item: Node<'_>) -> bool {
    item.kind() == "enum_variant" || children(item).any(|part| part.kind() == "visibility_modifier")
}
