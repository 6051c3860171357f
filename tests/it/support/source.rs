//! The crate's own source as syntax trees, for the tests that hold it to its shape.
//!
//! Invariant: what stands in a comment or a string is no code here, and code under `cfg(test)` is known as such.
//! Absent: macro expansion. A path inside a macro's tokens is read as it is written; one that a macro puts together
//! is not seen, and no macro of this crate does that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tree_sitter::{Node, Parser, Tree};

/// The repository's top folder.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// One file.
pub struct Source {
    /// From the repository's top, with `/`.
    pub path: String,
    pub text: String,
    tree: Tree,
}

/// A node with what stands around it.
#[derive(Clone, Copy)]
pub struct Spot<'t> {
    pub node: Node<'t>,
    pub module: &'t [String],
    /// Compiled for tests only.
    pub test: bool,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Source {
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_rust::LANGUAGE.into()).unwrap();
        let tree = parser.parse(text, None).unwrap();
        assert!(!tree.root_node().has_error(), "{path} is not understood: {}", tree.root_node().to_sexp());
        Source { path: path.to_owned(), text: text.to_owned(), tree }
    }

    pub fn of(&self, node: Node<'_>) -> &str {
        &self.text[node.byte_range()]
    }

    /// `src/domain/ids.rs` is `domain::ids`.
    pub fn module(&self) -> Vec<String> {
        let below = ["src/", "tests/it/", "tests/bench/"]
            .iter()
            .find_map(|top| self.path.strip_prefix(top))
            .unwrap_or(&self.path);
        let below = below.trim_end_matches(".rs");
        let mut module: Vec<String> = below.split('/').map(str::to_owned).collect();
        if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            module.pop();
        }
        module
    }

    /// Shows each node to `see`, parents first; `see` answers whether to go on below it.
    pub fn visit(&self, test: bool, see: &mut dyn FnMut(Spot<'_>) -> bool) {
        self.below(self.tree.root_node(), &self.module(), test, see);
    }

    fn below(&self, parent: Node<'_>, module: &[String], test: bool, see: &mut dyn FnMut(Spot<'_>) -> bool) {
        let mut for_test = false;
        let mut cursor = parent.walk();
        for node in parent.children(&mut cursor) {
            let here = test || for_test;
            match node.kind() {
                "attribute_item" => for_test |= is_for_test(self.of(node)),
                "line_comment" | "block_comment" => {}
                _ => for_test = false,
            }
            if !see(Spot { node, module, test: here }) {
                continue;
            }
            match node.child_by_field_name("name") {
                Some(name) if node.kind() == "mod_item" => {
                    let inner = [module, &[self.of(name).to_owned()]].concat();
                    self.below(node, &inner, here, see);
                }
                Some(_) | None => self.below(node, module, here, see),
            }
        }
    }
}

fn is_for_test(attribute: &str) -> bool {
    let flat: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
    ["#[cfg(test)]", "#[cfg(any(test,", "#[cfg(all(test,", "#[test]", "#[tokio::test"]
        .iter()
        .any(|start| flat.starts_with(start))
}

/// The files below a folder, as the compiler reaches them.
pub struct Crate {
    pub files: Vec<Source>,
    /// Paths of those that are compiled for tests only.
    pub tests: BTreeSet<String>,
    /// Paths of those that no `mod` leads to.
    pub forgotten: BTreeSet<String>,
}

impl Crate {
    /// `src`, read once.
    pub fn load() -> &'static Crate {
        static SOURCE: LazyLock<Crate> = LazyLock::new(|| Crate::of(rust_files("src"), "src"));
        &SOURCE
    }

    /// Follows `mod` from `lib.rs` and `main.rs` of the folder.
    pub fn of(files: Vec<Source>, top: &str) -> Crate {
        let by_path: BTreeMap<&str, &Source> = files.iter().map(|file| (file.path.as_str(), file)).collect();
        let mut seen: BTreeMap<String, bool> = BTreeMap::new();
        let mut open: Vec<(String, bool)> = ["lib", "main"].map(|root| (format!("{top}/{root}.rs"), false)).to_vec();
        while let Some((path, test)) = open.pop() {
            let Some(file) = by_path.get(path.as_str()) else { continue };
            if seen.insert(path, test).is_some() {
                continue;
            }
            file.visit(test, &mut |spot| {
                if spot.node.kind() == "mod_item" && spot.node.child_by_field_name("body").is_none() {
                    let name = file.of(spot.node.child_by_field_name("name").unwrap());
                    let folder: PathBuf = [top].into_iter().chain(spot.module.iter().map(String::as_str)).collect();
                    let folder = folder.to_string_lossy().replace('\\', "/");
                    open.push((format!("{folder}/{name}.rs"), spot.test));
                    open.push((format!("{folder}/{name}/mod.rs"), spot.test));
                }
                true
            });
        }
        let forgotten = by_path.keys().filter(|path| !seen.contains_key(**path)).map(|path| (*path).to_owned());
        let forgotten = forgotten.collect();
        let tests = seen.into_iter().filter_map(|(path, test)| test.then_some(path)).collect();
        Crate { files, tests, forgotten }
    }

    /// The files, each with whether it is compiled for tests only.
    pub fn each(&self) -> impl Iterator<Item = (&Source, bool)> {
        self.files.iter().map(|file| (file, self.tests.contains(&file.path)))
    }
}

/// The tour's sample project: files of another crate, which this one carries as texts.
const SAMPLE: &str = "src/cli/tour/sample/";

/// All Rust files below a folder of the repository that are its own.
pub fn rust_files(folder: &str) -> Vec<Source> {
    let mut files: Vec<Source> = ignore::WalkBuilder::new(repository().join(folder))
        .build()
        .filter_map(|entry| Some(entry.ok()?.into_path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        // A project that the tour carries as data; it is no part of the crate.
        .filter(|path| !path.starts_with(repository().join("src/cli/tour/sample")))
        .map(|path| {
            let below = path.strip_prefix(repository()).unwrap().to_string_lossy().replace('\\', "/");
            Source::new(&below, &std::fs::read_to_string(&path).unwrap())
        })
        .filter(|source| !source.path.starts_with(SAMPLE))
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!files.is_empty(), "no Rust file in {folder}");
    files
}

/// A path that the code names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mention {
    /// From the crate's root, or from another crate's name.
    pub path: Vec<String>,
    /// In this crate.
    pub inside: bool,
    /// All of what is below the path.
    pub all: bool,
    /// From 1.
    pub line: usize,
    pub test: bool,
}

/// Every path that a file names: in imports, in expressions and types, in the tokens of macros and attributes.
pub fn mentions(file: &Source, test: bool) -> Vec<Mention> {
    let mut raw: Vec<Raw> = Vec::new();
    file.visit(test, &mut |spot| {
        let line = spot.node.start_position().row + 1;
        let mut take = |path: Vec<String>, all: bool, alias: Option<String>| {
            raw.push(Raw { path, all, alias, line, test: spot.test, module: spot.module.to_vec() });
        };
        match spot.node.kind() {
            "use_declaration" => {
                imports(file, spot.node.child_by_field_name("argument").unwrap(), &[], &mut take);
                false
            }
            "extern_crate_declaration" => {
                take(vec![file.of(spot.node.child_by_field_name("name").unwrap()).to_owned()], false, None);
                false
            }
            "scoped_identifier" | "scoped_type_identifier" => match flat(file, spot.node) {
                Some(path) => {
                    take(path, false, None);
                    false
                }
                None => true,
            },
            "token_tree" => {
                tokens(file, spot.node, &mut take);
                true
            }
            "string_content" if is_path_in_attribute(file, spot.node) => {
                take(file.of(spot.node).split("::").map(str::to_owned).collect(), false, None);
                true
            }
            _ => true,
        }
    });
    let aliases: BTreeMap<String, (Vec<String>, Vec<String>)> =
        raw.iter().filter_map(|one| Some((one.alias.clone()?, (one.path.clone(), one.module.clone())))).collect();
    raw.into_iter()
        .map(|one| {
            let (path, inside) = resolve(&one.path, &one.module, &aliases, 8);
            Mention { path, inside, all: one.all, line: one.line, test: one.test }
        })
        .collect()
}

struct Raw {
    path: Vec<String>,
    all: bool,
    alias: Option<String>,
    line: usize,
    test: bool,
    module: Vec<String>,
}

type Take<'a> = &'a mut dyn FnMut(Vec<String>, bool, Option<String>);

fn imports(file: &Source, node: Node<'_>, before: &[String], take: Take<'_>) {
    let join = |node: Node<'_>| {
        let more = flat(file, node).unwrap();
        // `{self}` names what stands before the list.
        if !before.is_empty() && more == ["self"] { before.to_vec() } else { [before, &more].concat() }
    };
    let mut cursor = node.walk();
    match node.kind() {
        "use_list" => node.named_children(&mut cursor).for_each(|child| imports(file, child, before, take)),
        "scoped_use_list" => {
            let before = node.child_by_field_name("path").map_or_else(|| before.to_vec(), join);
            imports(file, node.child_by_field_name("list").unwrap(), &before, take);
        }
        "use_wildcard" => {
            let path = node.named_children(&mut cursor).next().map_or_else(|| before.to_vec(), join);
            take(path, true, None);
        }
        "use_as_clause" => {
            let alias = file.of(node.child_by_field_name("alias").unwrap()).to_owned();
            take(join(node.child_by_field_name("path").unwrap()), false, Some(alias));
        }
        "line_comment" | "block_comment" => {}
        _ => {
            let path = join(node);
            let alias = path.last().cloned();
            take(path, false, alias);
        }
    }
}

/// `a::b::c` as its words; none where a part is more than a name (`<T as U>::f`, `Vec::<u8>::new`).
fn flat(file: &Source, node: Node<'_>) -> Option<Vec<String>> {
    match node.kind() {
        "identifier" | "type_identifier" | "crate" | "self" | "super" | "metavariable" | "primitive_type" => {
            Some(vec![file.of(node).to_owned()])
        }
        "scoped_identifier" | "scoped_type_identifier" => {
            let name = file.of(node.child_by_field_name("name")?).to_owned();
            // Without a path it is `::name`, another crate's.
            let mut path = node.child_by_field_name("path").map_or(Some(Vec::new()), |path| flat(file, path))?;
            path.push(name);
            Some(path)
        }
        _ => None,
    }
}

/// Paths among a macro's tokens. A nested tree is visited by itself.
fn tokens(file: &Source, tree: Node<'_>, take: Take<'_>) {
    let mut cursor = tree.walk();
    let mut path: Vec<String> = Vec::new();
    let mut joined = false;
    let mut end = |path: &mut Vec<String>| {
        if path.len() > 1 {
            take(std::mem::take(path), false, None);
        }
        path.clear();
    };
    for node in tree.children(&mut cursor) {
        let text = file.of(node);
        let name = matches!(node.kind(), "identifier" | "crate" | "self" | "super" | "primitive_type" | "metavariable");
        if name {
            if !joined {
                end(&mut path);
            }
            path.push(text.to_owned());
        } else if text == "{" || text != "::" {
            // `use a::b::{c}` inside a macro names at least `a::b`.
            end(&mut path);
        }
        joined = text == "::";
    }
    end(&mut path);
}

/// `#[serde(with = "crate::codec")]`.
fn is_path_in_attribute(file: &Source, node: Node<'_>) -> bool {
    let text = file.of(node);
    let path = text.contains("::") && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':');
    let mut up = node.parent();
    while let Some(parent) = up {
        if matches!(parent.kind(), "attribute_item" | "inner_attribute_item") {
            return path;
        }
        up = parent.parent();
    }
    false
}

fn resolve(
    path: &[String],
    module: &[String],
    aliases: &BTreeMap<String, (Vec<String>, Vec<String>)>,
    depth: u32,
) -> (Vec<String>, bool) {
    let (first, rest) = path.split_first().unwrap();
    match first.as_str() {
        "crate" | "$crate" => (rest.to_vec(), true),
        "self" => ([module, rest].concat(), true),
        "super" => {
            let mut up = module.to_vec();
            let mut rest = path;
            while let Some(("super", more)) = rest.split_first().map(|(first, more)| (first.as_str(), more)) {
                up.pop();
                rest = more;
            }
            ([up.as_slice(), rest].concat(), true)
        }
        _ => match aliases.get(first) {
            Some((whole, at)) if depth > 0 && whole.first() != Some(first) => {
                let (whole, inside) = resolve(whole, at, aliases, depth - 1);
                ([whole.as_slice(), rest].concat(), inside)
            }
            Some(_) | None => (path.to_vec(), false),
        },
    }
}
