//! Money from tokens.
//!
//! Invariant: whole numbers only, in hundredths of a cent, rounded up once per call: a sum of calls never says less
//! than was spent. Absent: prices of any provider; they are configuration.

use crate::domain::task::facts::Usage;

/// What a call cost, in hundredths of a cent, at these prices (input, output; hundredths of a cent per million
/// tokens). Cached input is charged in full: its discount differs by provider, and a budget must not be overrun.
pub fn cost(usage: &Usage, prices: (u64, u64)) -> u64 {
    let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
    let total = part(usage.input, prices.0) + part(usage.output, prices.1);
    u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: u64, output: u64, prices: (u64, u64), expect: u64) {
        assert_eq!(cost(&Usage { input, output, ..Usage::default() }, prices), expect);
    }

    #[test]
    fn tokens_become_hundredths_of_a_cent() {
        // $3 and $15 per million: 30,000 and 150,000 hundredths of a cent.
        check(1_000_000, 0, (30_000, 150_000), 30_000);
        check(1_000, 200, (30_000, 150_000), 60);
        check(1, 0, (30_000, 150_000), 1);
        check(0, 0, (30_000, 150_000), 0);
        check(u64::MAX, u64::MAX, (u64::MAX, 1), u64::MAX);
    }
}
