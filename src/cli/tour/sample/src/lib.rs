//! A till for a very small shop.

pub mod bill;
pub mod discount;
pub mod price;
