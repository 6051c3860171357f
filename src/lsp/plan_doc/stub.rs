#![allow(missing_docs)]
use crate::domain::ids::*; use crate::domain::problem::Problem; use std::ops::Range;
#[derive(Clone, PartialEq, Debug)]
pub struct CompiledView { pub problems: Vec<Problem>, pub revision: RevisionRef, pub contract: Vec<String>, pub approved: bool }
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeView { pub path: WorkspacePath, pub range: Range<usize>, pub line: u32, pub text: String }
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Candidates { Files, Symbols { path: Option<WorkspacePath> }, Commands }
