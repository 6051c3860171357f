#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken expectation is to fail its test")]

mod arguments;
mod fake;
mod rendering;
mod serving;
mod tables;
