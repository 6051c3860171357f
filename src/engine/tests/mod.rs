//! The engine on ports in memory, through every crash that a journal can show.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation is the finding")]

mod baseline;
mod goals;
mod hands;
mod judged;
mod lapsed;
mod mortal;
mod offers;
mod open;
mod owner;
mod pages;
mod scene;
mod twin;
