//! Windows in which a text of any length is scored: lm-eval's `get_rolling_token_windows` with a context of one token,
//! made disjoint. Every token is predicted exactly once.

/// One forward pass of a rolling score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Tokens before the predicted ones: the prefix token, or tokens of the text.
    pub(super) context: Vec<u32>,
    /// Tokens to score, in the order of the text.
    pub(super) predicted: Vec<u32>,
}

/// Splits a text. `limit` (at least 1) is the maximum number of tokens of an input; `prefix` precedes the first token.
///
/// The first window predicts up to `limit` tokens, every further full one as many after one token of context; the last,
/// shorter one is filled up with context. A text without tokens has no window.
pub(super) fn windows(tokens: &[u32], prefix: u32, limit: usize) -> Vec<Window> {
    let limit = limit.max(1);
    let (first, rest) = tokens.split_at(limit.min(tokens.len()));
    if first.is_empty() {
        return Vec::new();
    }
    let mut windows = vec![Window { context: vec![prefix], predicted: first.to_vec() }];
    let mut begin = first.len();
    for chunk in rest.chunks(limit) {
        let context = limit + 1 - chunk.len();
        windows.push(Window { context: tokens[begin - context..begin].to_vec(), predicted: chunk.to_vec() });
        begin += chunk.len();
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: u32 = 99;

    fn cut(n: u32, limit: usize) -> Vec<(Vec<u32>, Vec<u32>)> {
        let tokens: Vec<u32> = (0..n).collect();
        windows(&tokens, PREFIX, limit).into_iter().map(|window| (window.context, window.predicted)).collect()
    }

    /// Values from lm-eval 0.4.13.
    #[test]
    fn vectors() {
        let first = (vec![PREFIX], vec![0, 1, 2, 3]);
        assert_eq!(cut(10, 4), [first.clone(), (vec![3], vec![4, 5, 6, 7]), (vec![5, 6, 7], vec![8, 9])]);
        assert_eq!(cut(5, 4), [first.clone(), (vec![0, 1, 2, 3], vec![4])]);
        assert_eq!(cut(4, 4), [first]);
        assert_eq!(cut(3, 1), [(vec![PREFIX], vec![0]), (vec![0], vec![1]), (vec![1], vec![2])]);
        assert!(cut(0, 4).is_empty());
    }

    #[test]
    fn every_token_once_and_never_more_than_the_limit() {
        for n in 0..40 {
            for limit in 1..12 {
                let cut = cut(n, limit);
                let predicted: Vec<u32> = cut.iter().flat_map(|(_, predicted)| predicted.clone()).collect();
                assert_eq!(predicted, (0..n).collect::<Vec<_>>());
                assert!(cut.iter().all(|(context, predicted)| context.len() + predicted.len() - 1 <= limit));
            }
        }
    }
}
