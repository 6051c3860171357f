//! (being written)

/// (being written)
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task;

/// (being written)
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StepState {}
