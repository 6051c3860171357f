//! The texts as a program: which module a file is, what a module holds, what a path means.
//!
//! Invariant: an answer that names a definition or says "outside" is certain by Rust's rules for names; whatever
//! cannot be followed (a `*` import of another crate, a type alias, a missing file) is `Unknown`. Absent: types of
//! expressions, macro expansion, and conditional compilation, which only ever adds definitions.

use super::super::languages::{self, Grammar};
use crate::ports::Source;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use tree_sitter::{Node, Tree};

/// Crates that every program can name and no workspace defines.
const SYSTEM_CRATES: [&str; 5] = ["std", "core", "alloc", "proc_macro", "test"];

/// One text, parsed when first asked for.
pub(super) struct File<'s> {
    pub(super) source: &'s Source,
    grammar: &'static Grammar,
    tree: OnceCell<Option<Tree>>,
}

/// All texts of one rename.
pub(super) struct Program<'s> {
    pub(super) files: Vec<File<'s>>,
    by_path: HashMap<&'s str, usize>,
    /// Library roots by the name other crates use.
    crates: BTreeMap<String, usize>,
    /// Whether each library's name is known from its manifest, so that any other name is another crate's.
    named: bool,
}

/// A module: the root of a file, or the braces of an inline `mod`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Module<'p> {
    pub(super) file: usize,
    pub(super) node: Node<'p>,
}

/// A definition, by where its item stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'p> {
    pub(super) file: usize,
    pub(super) node: Node<'p>,
}

impl PartialEq for Item<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.file, self.node.start_byte(), self.node.end_byte())
            == (other.file, other.node.start_byte(), other.node.end_byte())
    }
}

/// Rust keeps three sets of names apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Space {
    Type,
    Value,
    Macro,
}

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

impl<'s> Program<'s> {
    pub(super) fn new(sources: &'s [Source]) -> Self {
        let mut files = Vec::new();
        let mut by_path = HashMap::new();
        for source in sources {
            let Some(grammar) = languages::of(&source.path) else { continue };
            by_path.insert(source.path.as_str(), files.len());
            files.push(File { source, grammar, tree: OnceCell::new() });
        }
        let mut program = Self { files, by_path, crates: BTreeMap::new(), named: true };
        program.find_crates(sources);
        program
    }

    fn find_crates(&mut self, sources: &[Source]) {
        let mut roots: HashMap<usize, String> = HashMap::new();
        for source in sources.iter().filter(|source| source.path.file_name() == "Cargo.toml") {
            let folder = source.path.as_str().strip_suffix("Cargo.toml").unwrap_or_default();
            let Ok(manifest) = source.text.parse::<toml::Table>() else { continue };
            let of = |table: &str, key: &str| manifest.get(table).and_then(|t| t.get(key)).and_then(|v| v.as_str());
            let root = format!("{folder}{}", of("lib", "path").unwrap_or("src/lib.rs"));
            let name = of("lib", "name").or_else(|| of("package", "name"));
            if let (Some(file), Some(name)) = (self.by_path.get(root.as_str()), name) {
                roots.insert(*file, name.replace('-', "_"));
            }
        }
        for (path, file) in &self.by_path {
            if let Some(folder) = path.strip_suffix("src/lib.rs")
                && !roots.contains_key(file)
            {
                self.named = false;
                if let Some(name) = folder.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty()) {
                    roots.insert(*file, name.replace('-', "_"));
                }
            }
        }
        self.crates = roots.into_iter().map(|(file, name)| (name, file)).collect();
    }

    pub(super) fn grammar(&self, file: usize) -> Option<&'static Grammar> {
        self.files.get(file).map(|file| file.grammar)
    }

    pub(super) fn path(&self, file: usize) -> &str {
        self.files.get(file).map_or("", |file| file.source.path.as_str())
    }

    pub(super) fn source(&self, file: usize) -> &str {
        self.files.get(file).map_or("", |file| &file.source.text)
    }

    pub(super) fn text(&self, file: usize, node: Node<'_>) -> &str {
        self.source(file).get(node.byte_range()).unwrap_or_default()
    }

    pub(super) fn root(&self, file: usize) -> Option<Node<'_>> {
        let file = self.files.get(file)?;
        file.tree.get_or_init(|| file.grammar.parse(&file.source.text)).as_ref().map(Tree::root_node)
    }

    /// The tree, if the text holds the word at all: most files are never parsed.
    pub(super) fn root_if_holds(&self, file: usize, word: &str) -> Option<Node<'_>> {
        if self.source(file).contains(word) { self.root(file) } else { None }
    }

    /// The module around a node.
    pub(super) fn module_of<'p>(&'p self, file: usize, node: Node<'p>) -> Module<'p> {
        let mut at = node;
        while let Some(parent) = at.parent() {
            if parent.kind() == "mod_item" && at.kind() == "declaration_list" && at != node {
                return Module { file, node: at };
            }
            at = parent;
        }
        Module { file, node: at }
    }

    fn parent<'p>(&'p self, module: Module<'p>) -> Option<Module<'p>> {
        if module.node.parent().is_some() {
            return Some(self.module_of(module.file, module.node.parent()?));
        }
        let path = self.path(module.file).strip_suffix(".rs")?;
        let (folder, stem) = path.rsplit_once('/').unwrap_or(("", path));
        let (folder, name) =
            if stem == "mod" { folder.rsplit_once('/').unwrap_or(("", folder)) } else { (folder, stem) };
        let slash = if folder.is_empty() { "" } else { "/" };
        let candidates = ["mod", "lib", "main"].map(|stem| format!("{folder}{slash}{stem}.rs"));
        candidates.into_iter().chain([format!("{folder}.rs")]).find_map(|candidate| {
            let file = *self.by_path.get(candidate.as_str()).filter(|file| **file != module.file)?;
            let declares =
                children(self.root(file)?).any(|item| item.kind() == "mod_item" && self.name(file, item) == Some(name));
            declares.then_some(Module { file, node: self.root(file)? })
        })
    }

    /// The root of the crate that a module belongs to, or the highest module that can be found.
    fn crate_root<'p>(&'p self, module: Module<'p>) -> Module<'p> {
        let mut at = module;
        // A chain of parents longer than there are files would be a circle of `mod`s.
        for _ in 0..self.files.len() + 64 {
            match self.parent(at) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        at
    }

    pub(super) fn name<'p>(&'p self, file: usize, item: Node<'p>) -> Option<&'p str> {
        Some(self.text(file, item.child_by_field_name("name")?))
    }

    /// The module that a `mod` item stands for.
    fn module_behind<'p>(&'p self, within: Module<'p>, item: Node<'p>) -> Option<Module<'p>> {
        if let Some(body) = item.child_by_field_name("body") {
            return Some(Module { file: within.file, node: body });
        }
        let name = self.name(within.file, item)?;
        let path = self.path(within.file).strip_suffix(".rs")?;
        let (folder, stem) = path.rsplit_once('/').unwrap_or(("", path));
        let is_root =
            stem == "mod" || self.parent(Module { file: within.file, node: self.root(within.file)? }).is_none();
        let mut inner = if is_root { folder.to_owned() } else { path.to_owned() };
        let mut outer = Vec::new();
        let mut at = within.node;
        while let Some(parent) = at.parent() {
            if parent.kind() == "mod_item" {
                outer.push(self.name(within.file, parent)?.to_owned());
            }
            at = parent;
        }
        for part in outer.iter().rev() {
            inner = join(&inner, part);
        }
        let named = [format!("{}.rs", join(&inner, name)), format!("{}/mod.rs", join(&inner, name))];
        let candidates = match self.path_attribute(within.file, item) {
            Some(path) => vec![join(folder, &path)],
            None => named.to_vec(),
        };
        let file = candidates.iter().find_map(|path| self.by_path.get(path.as_str()))?;
        Some(Module { file: *file, node: self.root(*file)? })
    }

    fn path_attribute(&self, file: usize, item: Node<'_>) -> Option<String> {
        let mut before = item.prev_named_sibling();
        while let Some(node) = before.filter(|node| node.kind() == "attribute_item" || node.kind().ends_with("comment"))
        {
            let text = self.text(file, node);
            if let Some(value) = text.strip_prefix("#[path").and_then(|rest| rest.split('"').nth(1)) {
                return Some(value.to_owned());
            }
            before = node.prev_named_sibling();
        }
        None
    }

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
        for item in children(scope).filter(|item| item.kind() == "use_declaration") {
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

type Seen = HashSet<(usize, usize, String, Space)>;

fn drop_self(path: &mut Vec<String>) {
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The named children, without recursion.
pub(super) fn children<'p>(node: Node<'p>) -> impl Iterator<Item = Node<'p>> {
    let mut cursor = node.walk();
    let mut more = cursor.goto_first_child();
    std::iter::from_fn(move || {
        while more {
            let node = cursor.node();
            more = cursor.goto_next_sibling();
            if node.is_named() {
                return Some(node);
            }
        }
        None
    })
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

/// In which sets of names an item defines its name.
pub(super) fn spaces(item: Node<'_>) -> &'static [Space] {
    match item.kind() {
        "function_item" | "function_signature_item" | "const_item" | "static_item" => &[Space::Value],
        "struct_item" => match item.child_by_field_name("body").map(|body| body.kind()) {
            Some("field_declaration_list") => &[Space::Type],
            _ => &[Space::Type, Space::Value],
        },
        "enum_variant" => &[Space::Type, Space::Value],
        "enum_item" | "union_item" | "trait_item" | "type_item" | "mod_item" => &[Space::Type],
        "macro_definition" => &[Space::Macro],
        _ => &[],
    }
}
