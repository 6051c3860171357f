//! Written before the change: it asks for the new name.

use till::{bill::bill, discount::saved, price::sum_of};

#[test]
fn a_bill_adds_up() {
    assert_eq!(sum_of(&[250, 125]), 375);
    assert_eq!(bill(&[250, 125]), "2 items, 3.75");
    assert_eq!(saved(&[250, 125]), 125);
}
