//! What the customer gets to see.

/// One line: how many items, and what they cost.
pub fn bill(items: &[u32]) -> String {
    let cents = super::price::total(items);
    format!("{} items, {}.{:02}", items.len(), cents / 100, cents % 100)
}
