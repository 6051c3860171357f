//! The shell around the domain: one owner of decisions, one inbox.
//!
//! One turn of the cycle: an input comes in; the domain decides; the events are appended and folded in; what can start
//! is started; the desk is published. Invariant: an event is committed before its effect starts (invariant 3), and
//! only this module appends. Absent: any judgement about what a task may do; that is `domain::task`.

pub mod handle;

mod acceptance;
mod actions;
mod advance;
mod approval;
mod baseline;
mod buffered;
mod carry;
mod case;
mod checks;
mod comment;
mod failure;
mod input;
mod life;
mod offer;
mod opening;
mod overlay;
mod owner;
mod page;
mod pages;
mod planning;
mod publish;
mod reads;
mod recover;
mod refresh;
mod reports;
mod review;
mod settle;
mod sight;
mod small;
mod sound;
mod spawn;
mod start;
mod steps;
pub mod tools;
mod weighing;
mod work;
mod world;

#[cfg(test)]
mod tests;

pub use buffered::Buffered;
pub use handle::{EngineHandle, Update};
pub use life::{Running, start};
pub use sound::Sound;
pub use world::{Limits, World};
