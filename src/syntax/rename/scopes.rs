//! What a bare name means where it stands: local bindings, then the items and imports of blocks, then the module.
//!
//! Invariant: a name that a `let`, parameter, pattern, closure or generic parameter binds here is never taken for an
//! item. Absent: hygiene of macros; what a macro may bind is the caller's doubt.

use super::names::Meaning;
use super::program::{Program, Space, children};
use tree_sitter::Node;

/// What a bare name means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bare<'p> {
    /// A binding of the function around it; where the binding stands.
    Local(Node<'p>),
    /// Anything else.
    Found(Meaning<'p>),
}

/// The meaning of `name` at `node`.
pub(super) fn bare<'p>(program: &'p Program<'_>, file: usize, node: Node<'p>, name: &str, space: Space) -> Bare<'p> {
    let module = program.module_of(file, node);
    let mut locals = true;
    let mut below = node;
    while let Some(at) = below.parent() {
        if space == Space::Value
            && locals
            && let Some(binding) = binding_of(program, file, at, below, name)
        {
            return Bare::Local(binding);
        }
        if let Some(generics) = at.child_by_field_name("type_parameters") {
            for parameter in children(generics) {
                let bound = parameter.child_by_field_name("name").unwrap_or(parameter);
                let kind = if parameter.kind() == "const_parameter" { Space::Value } else { Space::Type };
                if kind == space && program.text(file, bound) == name {
                    return Bare::Local(bound);
                }
            }
        }
        if at.kind() == "block" {
            match program.look_in_block(module, at, name, space) {
                Meaning::Missing => {}
                found @ (Meaning::Module(_)
                | Meaning::Item(_)
                | Meaning::Member(_)
                | Meaning::Outside
                | Meaning::Unknown) => {
                    return Bare::Found(found);
                }
            }
        }
        // An item inside a function sees the function's items, not its variables.
        if matches!(at.kind(), "function_item" | "const_item" | "static_item" | "impl_item" | "trait_item" | "mod_item")
        {
            locals = false;
        }
        if at.id() == module.node.id() {
            break;
        }
        below = at;
    }
    Bare::Found(program.lookup(module, name, space))
}

/// The binding of `name` that `at` makes for its child `below`.
fn binding_of<'p>(
    program: &'p Program<'_>,
    file: usize,
    at: Node<'p>,
    below: Node<'p>,
    name: &str,
) -> Option<Node<'p>> {
    let pattern = |node: Option<Node<'p>>| node.and_then(|node| bound_in(program, file, node, name));
    let is = |field: &str| at.child_by_field_name(field).is_some_and(|child| child.id() == below.id());
    match at.kind() {
        "block" => {
            // The last `let` before this place wins; its own value does not see it.
            let mut found = None;
            for statement in children(at).take_while(|statement| statement.end_byte() <= below.start_byte()) {
                if statement.kind() == "let_declaration" {
                    found = pattern(statement.child_by_field_name("pattern")).or(found);
                }
            }
            found
        }
        "function_item" | "closure_expression" if is("body") => children(at.child_by_field_name("parameters")?)
            .find_map(|parameter| pattern(parameter.child_by_field_name("pattern").or(Some(parameter)))),
        "match_arm" if is("value") => pattern(at.child_by_field_name("pattern")),
        // The guard.
        "match_pattern" if is("condition") => children(at).take(1).find_map(|first| pattern(Some(first))),
        "for_expression" if is("body") => pattern(at.child_by_field_name("pattern")),
        "if_expression" if is("consequence") => conditions(program, file, at.child_by_field_name("condition")?, name),
        "while_expression" if is("body") => conditions(program, file, at.child_by_field_name("condition")?, name),
        "let_chain" => children(at)
            .take_while(|part| part.end_byte() <= below.start_byte())
            .find_map(|part| conditions(program, file, part, name)),
        _ => None,
    }
}

/// A `let` in a condition, alone or in a chain, that binds `name`.
fn conditions<'p>(program: &'p Program<'_>, file: usize, condition: Node<'p>, name: &str) -> Option<Node<'p>> {
    match condition.kind() {
        "let_condition" => bound_in(program, file, condition.child_by_field_name("pattern")?, name),
        "let_chain" => children(condition).find_map(|part| conditions(program, file, part, name)),
        _ => None,
    }
}

/// The identifier by which a pattern binds `name`.
fn bound_in<'p>(program: &'p Program<'_>, file: usize, pattern: Node<'p>, name: &str) -> Option<Node<'p>> {
    match pattern.kind() {
        "identifier" | "shorthand_field_identifier" => (program.text(file, pattern) == name).then_some(pattern),
        "scoped_identifier" | "scoped_type_identifier" | "type_identifier" | "field_identifier" | "range_pattern" => {
            None
        }
        "tuple_struct_pattern" | "struct_pattern" => {
            let of = pattern.child_by_field_name("type").map(|of| of.id());
            children(pattern).filter(|part| Some(part.id()) != of).find_map(|part| bound_in(program, file, part, name))
        }
        "closure_expression" | "block" => None,
        // A parameter without its type: `|x: u8|`.
        "parameter" => bound_in(program, file, pattern.child_by_field_name("pattern")?, name),
        "match_pattern" => children(pattern).next().and_then(|first| bound_in(program, file, first, name)),
        _ => children(pattern).find_map(|part| bound_in(program, file, part, name)),
    }
}

/// Whether an identifier stands in a pattern, where it binds unless it names a constant.
pub(super) fn is_binding(node: Node<'_>) -> bool {
    let mut below = node;
    while let Some(at) = below.parent() {
        let is = |field: &str| at.child_by_field_name(field).is_some_and(|child| child.id() == below.id());
        match at.kind() {
            "tuple_struct_pattern" | "struct_pattern" if is("type") => return false,
            "range_pattern" | "const_block" | "macro_invocation" => return false,
            "tuple_pattern"
            | "slice_pattern"
            | "tuple_struct_pattern"
            | "struct_pattern"
            | "field_pattern"
            | "ref_pattern"
            | "mut_pattern"
            | "captured_pattern"
            | "reference_pattern"
            | "or_pattern" => below = at,
            "match_pattern" => return !is("condition"),
            "let_declaration" | "parameter" | "for_expression" | "let_condition" => return is("pattern"),
            "closure_parameters" => return true,
            _ => return false,
        }
    }
    false
}
