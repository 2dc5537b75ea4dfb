//! Orders in which the options of one question are asked: OpenCompass's CircularEval (`opencompass.datasets.circular`).

use serde::{Deserialize, Serialize};

/// A set of orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Orders {
    /// `get_circular_patterns`: every rotation, the order of the data first.
    #[default]
    Circular,
    /// `get_all_possible_patterns`: every permutation, in the order of Python's `itertools.permutations`.
    AllPossible,
}

impl Orders {
    /// The name of the parameter, which stands in the names of metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Circular => "circular",
            Self::AllPossible => "all_possible",
        }
    }

    /// The orders of `options`: as many as there are options, or as they have permutations.
    pub fn of<T: Clone>(self, options: &[T]) -> Vec<Vec<T>> {
        match self {
            Self::Circular => (0..options.len())
                .map(|at| options.iter().cycle().skip(at).take(options.len()).cloned().collect())
                .collect(),
            Self::AllPossible => permutations(options),
        }
    }

    /// Number of orders of `options` options.
    pub fn count(self, options: usize) -> usize {
        match self {
            Self::Circular => options,
            Self::AllPossible => (1..=options).fold(1, usize::saturating_mul),
        }
    }

    /// Returns true if `order` is among the orders of `options`.
    pub fn has<T: PartialEq>(self, options: &[T], order: &[T]) -> bool {
        let is_rotation = |at: usize| options.iter().cycle().skip(at).take(options.len()).eq(order.iter());
        match self {
            Self::Circular => order.len() == options.len() && (0..options.len()).any(is_rotation),
            Self::AllPossible => {
                let count = |list: &[T], one: &T| list.iter().filter(|other| *other == one).count();
                order.len() == options.len() && order.iter().all(|one| count(order, one) == count(options, one))
            }
        }
    }
}

fn permutations<T: Clone>(options: &[T]) -> Vec<Vec<T>> {
    if options.is_empty() {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for (at, first) in options.iter().enumerate() {
        let others: Vec<T> = [&options[..at], &options[at + 1..]].concat();
        found.extend(permutations(&others).into_iter().map(|rest| [vec![first.clone()], rest].concat()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Orders::{AllPossible, Circular};

    #[test]
    fn orders_are_those_of_the_peer() {
        let texts = |orders: Vec<Vec<char>>| -> Vec<String> {
            orders.into_iter().map(|order| order.into_iter().collect()).collect()
        };
        // get_circular_patterns(list('ABCD')), get_all_possible_patterns(list('ABC'))
        assert_eq!(texts(Circular.of(&['A', 'B', 'C', 'D'])), ["ABCD", "BCDA", "CDAB", "DABC"]);
        assert_eq!(texts(AllPossible.of(&['A', 'B', 'C'])), ["ABC", "ACB", "BAC", "BCA", "CAB", "CBA"]);
        assert_eq!((AllPossible.count(4), Circular.count(4), AllPossible.of(&['x'; 0]).len()), (24, 4, 1));
    }

    #[test]
    fn an_order_is_found_among_those_of_another() {
        let (options, rotated, swapped) = (["B", "C", "A"], ["A", "B", "C"], ["C", "B", "A"]);
        assert!(Circular.has(&options, &rotated) && !Circular.has(&options, &swapped));
        assert!(AllPossible.has(&options, &swapped) && !AllPossible.has(&options, &["A", "A", "B"]));
        assert!(!Circular.has(&options, &["A", "B"]) && !AllPossible.has(&options, &["A", "B"]));
    }
}
