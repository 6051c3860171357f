//! Random editing games.
