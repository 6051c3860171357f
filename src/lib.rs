#![doc = include_str!("architecture.md")]

pub mod domain;
pub mod ports;

pub mod desk;
pub mod engine;
pub mod host;

pub mod arena;
pub mod model;
pub mod store;
pub mod syntax;
pub mod workspace;

pub mod actions;
pub mod cli;
pub mod clock;
pub mod config;
pub mod lsp;

pub mod app;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
