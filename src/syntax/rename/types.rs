//! The little about types that a syntax tree tells: what is annotated, built, or returned by a known function.
//!
//! Invariant: an answer is the type itself behind references and smart pointers, or `None`; it is never a guess.
//! Absent: inference.

use super::names::Meaning;
use super::program::{Item, Program, Space, children};
use super::scopes::{self, Bare};
use tree_sitter::Node;

/// How many steps are followed from an expression to its type; real chains have two or three.
const STEPS: usize = 12;
/// Pointers through which members are reached. They have few members of their own, all of them well known.
const POINTERS: [&str; 3] = ["Box", "Rc", "Arc"];

/// What a path means where it stands, block imports and `Self` included.
pub(super) fn path<'p>(program: &'p Program<'_>, file: usize, node: Node<'p>, space: Space) -> Meaning<'p> {
    segments(program, file, node, &program.segments(file, node), space)
}

/// The same for a path already taken apart.
pub(super) fn segments<'p>(
    program: &'p Program<'_>,
    file: usize,
    at: Node<'p>,
    parts: &[String],
    space: Space,
) -> Meaning<'p> {
    let Some((first, rest)) = parts.split_first() else { return Meaning::Unknown };
    let first_space = if rest.is_empty() { space } else { Space::Type };
    match first.as_str() {
        "Self" => {
            own_type(program, file, at).map_or(Meaning::Unknown, |own| program.below(Meaning::Item(own), rest, space))
        }
        "?" => Meaning::Unknown,
        "crate" | "self" | "super" | "" => program.resolve(program.module_of(file, at), parts, space),
        name => match scopes::bare(program, file, at, name, first_space) {
            Bare::Local(_) => Meaning::Unknown,
            Bare::Found(Meaning::Missing) if rest.is_empty() => Meaning::Missing,
            Bare::Found(Meaning::Missing) => program.resolve(program.module_of(file, at), parts, space),
            Bare::Found(found) => program.below(found, rest, space),
        },
    }
}

/// The type or trait that `Self` names at a node.
pub(super) fn own_type<'p>(program: &'p Program<'_>, file: usize, node: Node<'p>) -> Option<Item<'p>> {
    let mut at = node;
    while let Some(parent) = at.parent() {
        match parent.kind() {
            "impl_item" => return subject(program, file, parent),
            "trait_item" | "struct_item" | "enum_item" | "union_item" => return Some(Item { file, node: parent }),
            "mod_item" => return None,
            _ => at = parent,
        }
    }
    None
}

/// The type that an `impl` block is about, if it is one of the workspace.
pub(super) fn subject<'p>(program: &'p Program<'_>, file: usize, block: Node<'p>) -> Option<Item<'p>> {
    named_type(program, file, block.child_by_field_name("type")?, false)
}

/// The trait that an `impl` block implements.
pub(super) fn implemented<'p>(program: &'p Program<'_>, file: usize, block: Node<'p>) -> Option<Meaning<'p>> {
    Some(path(program, file, block.child_by_field_name("trait")?, Space::Type))
}

/// The struct, enum or trait that a written type names, seen through references; through pointers if `peel`.
pub(super) fn named_type<'p>(program: &'p Program<'_>, file: usize, node: Node<'p>, peel: bool) -> Option<Item<'p>> {
    match node.kind() {
        "reference_type" if peel => named_type(program, file, node.child_by_field_name("type")?, peel),
        "dynamic_type" | "abstract_type" => named_type(program, file, node.child_by_field_name("trait")?, peel),
        "generic_type" => {
            let base = node.child_by_field_name("type")?;
            if peel && POINTERS.contains(&program.text(file, base)) {
                let inner = children(node.child_by_field_name("type_arguments")?).next()?;
                return named_type(program, file, inner, peel);
            }
            named_type(program, file, base, peel)
        }
        "type_identifier" | "scoped_type_identifier" | "identifier" | "scoped_identifier" => {
            match path(program, file, node, Space::Type) {
                Meaning::Item(item) => match item.node.kind() {
                    "struct_item" | "enum_item" | "union_item" | "trait_item" => Some(item),
                    _ => None,
                },
                Meaning::Module(_) | Meaning::Member(_) | Meaning::Outside | Meaning::Missing | Meaning::Unknown => {
                    None
                }
            }
        }
        _ => None,
    }
}

/// The type of an expression.
pub(super) fn of<'p>(program: &'p Program<'_>, file: usize, expression: Node<'p>) -> Option<Item<'p>> {
    walk(program, file, expression, STEPS)
}

fn walk<'p>(program: &'p Program<'_>, file: usize, node: Node<'p>, steps: usize) -> Option<Item<'p>> {
    let steps = steps.checked_sub(1)?;
    match node.kind() {
        "self" => own_type(program, file, node),
        "reference_expression" => walk(program, file, node.child_by_field_name("value")?, steps),
        "parenthesized_expression" => walk(program, file, node.named_child(0)?, steps),
        "struct_expression" => built(path(program, file, node.child_by_field_name("name")?, Space::Type)),
        "identifier" => match scopes::bare(program, file, node, program.text(file, node), Space::Value) {
            Bare::Local(binding) => {
                let maker = binding.parent()?;
                let whole = maker.child_by_field_name("pattern").is_some_and(|pattern| pattern.id() == binding.id());
                match maker.child_by_field_name("type").filter(|_| whole) {
                    Some(written) => named_type(program, file, written, true),
                    None if whole && maker.kind() == "let_declaration" => {
                        walk(program, file, maker.child_by_field_name("value")?, steps)
                    }
                    None => None,
                }
            }
            Bare::Found(Meaning::Item(item)) => match item.node.kind() {
                "const_item" | "static_item" => {
                    named_type(program, item.file, item.node.child_by_field_name("type")?, true)
                }
                _ => built(Meaning::Item(item)),
            },
            Bare::Found(
                Meaning::Module(_) | Meaning::Member(_) | Meaning::Outside | Meaning::Missing | Meaning::Unknown,
            ) => None,
        },
        "field_expression" => {
            let owner = walk(program, file, node.child_by_field_name("value")?, steps)?;
            let name = program.text(file, node.child_by_field_name("field")?);
            let field = children(owner.node.child_by_field_name("body")?)
                .find(|field| field.kind() == "field_declaration" && program.name(owner.file, *field) == Some(name))?;
            named_type(program, owner.file, field.child_by_field_name("type")?, true)
        }
        "call_expression" => {
            let function = node.child_by_field_name("function")?;
            match function.kind() {
                "field_expression" => {
                    let owner = walk(program, file, function.child_by_field_name("value")?, steps)?;
                    let name = program.text(file, function.child_by_field_name("field")?);
                    match method(program, owner, name) {
                        Some((file, method)) => returned(program, file, method),
                        None => (name == "clone").then_some(owner),
                    }
                }
                "identifier" | "scoped_identifier" => match path(program, file, function, Space::Value) {
                    Meaning::Item(item) if item.node.kind() == "function_item" => {
                        returned(program, item.file, item.node)
                    }
                    Meaning::Member(owner) => {
                        let name = program.text(file, function.child_by_field_name("name")?);
                        let (file, method) = method(program, owner, name)?;
                        returned(program, file, method)
                    }
                    found @ Meaning::Item(_) => built(found),
                    Meaning::Module(_) | Meaning::Outside | Meaning::Missing | Meaning::Unknown => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

fn returned<'p>(program: &'p Program<'_>, file: usize, function: Node<'p>) -> Option<Item<'p>> {
    named_type(program, file, function.child_by_field_name("return_type")?, true)
}

/// What a constructor makes: the struct, or the enum of a variant.
fn built(constructor: Meaning<'_>) -> Option<Item<'_>> {
    let Meaning::Item(item) = constructor else { return None };
    match item.node.kind() {
        "struct_item" | "union_item" => Some(item),
        "enum_variant" => {
            let mut at = item.node;
            while at.kind() != "enum_item" {
                at = at.parent()?;
            }
            Some(Item { file: item.file, node: at })
        }
        _ => None,
    }
}

/// A method in an inherent `impl` in the type's own file, or in the trait.
fn method<'p>(program: &'p Program<'_>, owner: Item<'p>, name: &str) -> Option<(usize, Node<'p>)> {
    let inside = |block: Node<'p>| {
        children(block.child_by_field_name("body")?)
            .find(|item| item.kind().starts_with("function_") && program.name(owner.file, *item) == Some(name))
            .map(|item| (owner.file, item))
    };
    if owner.node.kind() == "trait_item" {
        return inside(owner.node);
    }
    children(program.module_of(owner.file, owner.node).node)
        .filter(|block| block.kind() == "impl_item" && block.child_by_field_name("trait").is_none())
        .filter(|block| subject(program, owner.file, *block) == Some(owner))
        .find_map(inside)
}
