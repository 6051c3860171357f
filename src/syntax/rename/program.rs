//! The texts as a program: files, the modules they are, and the crates these make.
//!
//! Invariant: a module is found only where a `mod` item declares it, so a stray file is a root of its own. Absent: what
//! the names in a module mean (`names`).

use super::super::languages::{self, Grammar};
use crate::ports::Source;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use tree_sitter::{Node, Tree};

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
    pub(super) crates: BTreeMap<String, usize>,
    /// Whether each library's name is known from its manifest, so that any other name is another crate's.
    pub(super) named: bool,
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

    pub(super) fn parent<'p>(&'p self, module: Module<'p>) -> Option<Module<'p>> {
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
    pub(super) fn crate_root<'p>(&'p self, module: Module<'p>) -> Module<'p> {
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
    pub(super) fn module_behind<'p>(&'p self, within: Module<'p>, item: Node<'p>) -> Option<Module<'p>> {
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
