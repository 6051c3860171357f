//! Which definition a person means.
//!
//! Invariant: one definition, or a refusal that lists what could be meant. Absent: judging occurrences.

use super::super::outline;
use super::judge::Target;
use super::names::Meaning;
use super::program::{Item, Program, children, spaces};
use super::types;
use crate::domain::symbols::{Symbol, SymbolKind};
use crate::ports::RuleRefusal;
use tree_sitter::Node;

/// Names shown when none was found.
const NEAREST: usize = 5;

/// A method or field of some type or trait.
#[derive(Clone)]
pub(super) struct Member<'p> {
    pub(super) item: Item<'p>,
    /// `Client::send (src/client.rs)`.
    pub(super) label: String,
    pub(super) owner: Option<Item<'p>>,
    /// The trait it implements, if its block says so; `None` within = one of another crate, or unknown.
    pub(super) implements: Option<Option<Item<'p>>>,
}

/// Whether a name is written with `()` where a field has it too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Callable {
    Yes,
    No,
}

impl Callable {
    fn of(symbol: &Symbol) -> Self {
        let callable = matches!(symbol.kind, SymbolKind::Function | SymbolKind::Method);
        if callable { Callable::Yes } else { Callable::No }
    }
}

/// The definition behind `symbol`: a path's end (`Client::send`), or `file#path`. Where a field and a method share a
/// name, `Client::send()` is the method and `Client.send` the field.
pub(super) fn find<'p>(program: &'p Program<'_>, symbol: &str) -> Result<Target<'p>, RuleRefusal> {
    let (only, path) = match symbol.split_once('#') {
        Some((file, path)) => (Some(file.trim_start_matches("./")), path),
        None => (None, symbol),
    };
    let path = path.trim().trim_start_matches("crate::");
    let (path, kind) = match (path.strip_suffix("()"), path.rsplit_once('.')) {
        (Some(function), _) => (function.to_owned(), Some(Callable::Yes)),
        (None, Some((owner, field))) => (format!("{owner}::{field}"), Some(Callable::No)),
        (None, None) => (path.to_owned(), None),
    };
    let path = path.as_str();
    let name = path.rsplit("::").next().unwrap_or(path);
    let files: Vec<usize> =
        (0..program.files.len()).filter(|file| only.is_none_or(|only| only == program.path(*file))).collect();
    let mut found: Vec<(Item<'p>, Symbol)> = Vec::new();
    for file in files.iter().copied().filter(|file| program.source(*file).contains(name)) {
        let within = module_path(program.path(file));
        for symbol in symbols(program, file) {
            let whole = format!("{within}{}", symbol.path);
            let named = whole == path || whole.strip_suffix(path).is_some_and(|outer| outer.ends_with("::"));
            if symbol.kind == SymbolKind::Impl || symbol.name != name || !named {
                continue;
            }
            if kind.is_some_and(|kind| kind != Callable::of(&symbol)) {
                continue;
            }
            let item = program.root(file).and_then(|root| {
                root.named_descendant_for_byte_range(symbol.name_range.start, symbol.name_range.end)?.parent()
            });
            found.extend(item.map(|node| (Item { file, node }, symbol)));
        }
    }
    // Within a named file the whole path is enough: `a.rs#send` is not `a.rs#Client::send`.
    if only.is_some() && found.iter().any(|(_, symbol)| symbol.path == path) {
        found.retain(|(_, symbol)| symbol.path == path);
    }
    // What implements a trait has its name from there; it is not meant where something else can be.
    let own = |(item, _): &(Item<'p>, Symbol)| {
        member_holder(item.node).is_none_or(|holder| holder.child_by_field_name("trait").is_none())
    };
    if found.iter().any(own) {
        found.retain(own);
    }
    let Some((first, head)) = found.first().cloned() else {
        let all: Vec<String> =
            files.iter().flat_map(|file| symbols(program, *file)).map(|symbol| symbol.path).collect();
        return Err(unknown(symbol, &all));
    };
    let twins =
        found.iter().all(|(item, other)| item.file == first.file && other.path == head.path && has_cfg(program, *item));
    if found.len() > 1 && !twins {
        let whole = |(item, symbol): &(Item<'p>, Symbol)| format!("{}#{}", program.path(item.file), symbol.path);
        let mut candidates: Vec<String> = found
            .iter()
            .map(|one| {
                let twin = |other: &&(Item<'p>, Symbol)| whole(other) == whole(one);
                match (found.iter().filter(twin).count(), Callable::of(&one.1), one.1.path.rsplit_once("::")) {
                    (1, _, _) | (_, Callable::No, None) => whole(one),
                    (_, Callable::Yes, _) => format!("{}()", whole(one)),
                    (_, Callable::No, Some((owner, name))) => format!("{}#{owner}.{name}", program.path(one.0.file)),
                }
            })
            .collect();
        let count = candidates.len();
        candidates.sort();
        candidates.dedup();
        let next =
            if candidates.len() == 1 { "they cannot be told apart by name; edit them by hand" } else { "name one" };
        return Err(RuleRefusal { message: format!("`{symbol}` is defined {count} times; {next}"), candidates });
    }
    make(program, found, symbol)
}

fn symbols(program: &Program<'_>, file: usize) -> Vec<Symbol> {
    program.grammar(file).map(|grammar| outline::of(grammar, program.source(file)).symbols).unwrap_or_default()
}

fn make<'p>(program: &'p Program<'_>, found: Vec<(Item<'p>, Symbol)>, asked: &str) -> Result<Target<'p>, RuleRefusal> {
    let refuse = |message: String, candidates: Vec<String>| Err(RuleRefusal { message, candidates });
    let Some((first, head)) = found.first().cloned() else { return Err(unknown(asked, &[])) };
    let mut items: Vec<Item<'p>> = found.iter().map(|(item, _)| *item).collect();
    let mut target = Target {
        items: Vec::new(),
        kind: head.kind,
        name: head.name.clone(),
        label: head.path.clone(),
        spaces: spaces(first.node),
        owners: Vec::new(),
        others: Vec::new(),
        arity: None,
    };
    match head.kind {
        SymbolKind::Module | SymbolKind::Impl => {
            return refuse(
                format!("`{}` is a module, whose file would have to move; rename what is in it", head.path),
                Vec::new(),
            );
        }
        SymbolKind::Macro => {
            for (file, _) in program.files.iter().enumerate() {
                let Some(root) = program.root_if_holds(file, &head.name) else { continue };
                super::super::languages::walk(root, |node, _| {
                    let other = Item { file, node };
                    if node.kind() == "macro_definition"
                        && program.name(file, node) == Some(&head.name)
                        && other != first
                    {
                        target.others.push((program.path(file).to_owned(), None));
                    }
                    true
                });
            }
        }
        SymbolKind::Variant => {
            if let Some(owner) = types::own_type(program, first.file, first.node) {
                target.owners.push(owner);
            }
        }
        SymbolKind::Method | SymbolKind::Field | SymbolKind::Const | SymbolKind::Type
            if member_holder(first.node).is_some() =>
        {
            let members = members(program, &head.name);
            let Some(own) = members.iter().find(|member| member.item == first).cloned() else {
                return refuse(format!("where `{}` belongs cannot be seen", head.path), Vec::new());
            };
            if let Some(of) = own.implements {
                let candidates = of.and_then(|of| {
                    Some(format!("{}#{}::{}", program.path(of.file), program.name(of.file, of.node)?, head.name))
                });
                return refuse(
                    format!("`{}` implements a trait, which has the name; rename it there", head.path),
                    candidates.into_iter().collect(),
                );
            }
            let Some(owner) = own.owner else {
                return refuse(
                    format!("the type of `{}` is not defined in the workspace; it is not renamed", head.path),
                    Vec::new(),
                );
            };
            target.owners.push(owner);
            for member in members.iter().filter(|member| !items.contains(&member.item)).cloned().collect::<Vec<_>>() {
                if owner.node.kind() == "trait_item" && member.implements == Some(Some(owner)) {
                    items.push(member.item);
                    target.owners.extend(member.owner);
                } else if (member.item.node.kind() == "field_declaration") == (head.kind == SymbolKind::Field) {
                    target.others.push((member.label, member.owner));
                }
            }
            target.arity = arity(first.node);
        }
        SymbolKind::Function
        | SymbolKind::Method
        | SymbolKind::Struct
        | SymbolKind::Enum
        | SymbolKind::Field
        | SymbolKind::Trait
        | SymbolKind::Const
        | SymbolKind::Static
        | SymbolKind::Type => {}
    }
    target.items = items;
    Ok(target)
}

/// Arguments of a call by `.`; `None` without `self`.
fn arity(function: Node<'_>) -> Option<usize> {
    let parameters = function.child_by_field_name("parameters")?;
    let all: Vec<Node<'_>> = children(parameters)
        .filter(|part| !part.kind().ends_with("comment") && part.kind() != "attribute_item")
        .collect();
    let first = all.first()?;
    let own = first.kind() == "self_parameter"
        || first.child_by_field_name("pattern").is_some_and(|pattern| pattern.kind() == "self");
    own.then(|| all.len() - 1)
}

/// The `impl`, trait, struct or variant that a member stands in.
fn member_holder(item: Node<'_>) -> Option<Node<'_>> {
    item.parent()?.parent().filter(|holder| {
        matches!(holder.kind(), "impl_item" | "trait_item" | "struct_item" | "union_item" | "enum_variant")
    })
}

/// Every member called `name`, wherever it is.
pub(super) fn members<'p>(program: &'p Program<'_>, name: &str) -> Vec<Member<'p>> {
    let mut found = Vec::new();
    for (file, _) in program.files.iter().enumerate() {
        let Some(root) = program.root_if_holds(file, name) else { continue };
        super::super::languages::walk(root, |node, _| {
            if program.name(file, node) != Some(name) {
                return true;
            }
            let Some(holder) = member_holder(node) else { return true };
            let (owner, implements) = match holder.kind() {
                "impl_item" => (
                    types::subject(program, file, holder),
                    types::implemented(program, file, holder).map(|of| match of {
                        Meaning::Item(of) => Some(of),
                        Meaning::Module(_)
                        | Meaning::Member(_)
                        | Meaning::Outside
                        | Meaning::Missing
                        | Meaning::Unknown => None,
                    }),
                ),
                _ => (Some(Item { file, node: holder }), None),
            };
            let of = holder.child_by_field_name("type").or_else(|| holder.child_by_field_name("name"));
            let of = of.map_or("", |of| program.text(file, of));
            found.push(Member {
                item: Item { file, node },
                label: format!("`{of}::{name}` ({})", program.path(file)),
                owner,
                implements,
            });
            true
        });
    }
    found
}

fn has_cfg(program: &Program<'_>, item: Item<'_>) -> bool {
    let mut before = item.node.prev_named_sibling();
    while let Some(node) = before.filter(|node| node.kind() == "attribute_item" || node.kind().ends_with("comment")) {
        if program.text(item.file, node).starts_with("#[cfg(") {
            return true;
        }
        before = node.prev_named_sibling();
    }
    false
}

/// `net::client::` of `src/net/client.rs`, with the crate's folder before it where there is one.
fn module_path(path: &str) -> String {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let parts: Vec<&str> =
        stem.split('/').filter(|part| !matches!(*part, "src" | "crates" | "lib" | "main" | "mod")).collect();
    parts.iter().map(|part| format!("{}::", part.replace('-', "_"))).collect()
}

fn unknown(symbol: &str, all: &[String]) -> RuleRefusal {
    let name = symbol.rsplit(['#']).next().unwrap_or(symbol);
    let possible: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut candidates: Vec<String> =
        similar::get_close_matches(name, &possible, NEAREST, 0.6).into_iter().map(str::to_owned).collect();
    candidates.dedup();
    let next =
        if candidates.is_empty() { "give its path, as in `Client::send`" } else { "perhaps one of these was meant" };
    RuleRefusal { message: format!("no file defines `{symbol}`; {next}"), candidates }
}
