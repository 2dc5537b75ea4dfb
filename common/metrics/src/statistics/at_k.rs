//! Rates of k answers drawn from the n to a question, beside pass@k: all of them right, or their majority (maj@k, cons@k).
//!
//! Exact expectations over all subsets of k answers: no subset is drawn. Every sum is of positive terms, so nothing cancels.

use super::mean::sum;

/// Most answers to a question of which [`maj_at_k`] is known: binomial coefficients of more leave the range of a float.
pub const MOST_VOTES: u64 = 256;

/// The probability that all of `k` answers drawn from `n` with `c` right are right: C(c, k) / C(n, k); 0 for more draws than
/// right answers.
pub fn all_at_k(n: u64, c: u64, k: u64) -> f64 {
    if k > c || c > n {
        return 0.0;
    }
    (0..k).map(|i| (c - i) as f64 / (n - i) as f64).product()
}

/// The probability that the majority of k answers drawn from `n` is right, for each of `k`.
///
/// `right` of the answers are right and vote for one class, `rivals` are the votes of the other classes; whatever is left of `n`
/// has no vote. Of classes that tie each wins with the same probability; where nothing drawn votes nothing is right. `None` for
/// more than [`MOST_VOTES`] answers, more votes than answers, or more draws than answers.
pub fn maj_at_k(n: u64, right: u64, rivals: &[u64], k: &[u64]) -> Option<Vec<f64>> {
    let silent = n.checked_sub(rivals.iter().try_fold(right, |votes, rival| votes.checked_add(*rival))?)?;
    let most = k.iter().copied().max().unwrap_or(0);
    if n > MOST_VOTES || most > n {
        return None;
    }
    let of_silent: Vec<f64> = (0..=most).map(|drawn| choose(silent, drawn)).collect();
    let mut ways = vec![0.0; k.len()];
    for top in 1..=right.min(most) {
        let below = ways_at_most(rivals, top, most - top);
        for (ways, &k) in ways.iter_mut().zip(k) {
            // `tied` rivals share the top, `taken` answers of rivals are drawn, and the rest of the k has no vote.
            let shared = below.iter().enumerate().map(|(tied, by_taken)| {
                let drawn = by_taken.iter().zip(0..);
                let fitting = drawn.filter_map(|(ways, taken)| Some((ways, k.checked_sub(top + taken)?)));
                sum(fitting.map(|(ways, left)| ways * of_silent[left as usize])) / (tied + 1) as f64
            });
            *ways += choose(right, top) * sum(shared);
        }
    }
    Some(ways.iter().zip(k).map(|(ways, &k)| (ways / choose(n, k)).min(1.0)).collect())
}

/// Numbers of ways to draw answers of `rivals`, no more than `top` of each: by the number of rivals with just `top`, then by the
/// number of answers drawn, up to `most`.
fn ways_at_most(rivals: &[u64], top: u64, most: u64) -> Vec<Vec<f64>> {
    let width = most as usize + 1;
    let mut ways = vec![vec![0.0; width]];
    ways[0][0] = 1.0;
    for &rival in rivals {
        let of_rival: Vec<f64> = (0..=rival.min(top)).map(|drawn| choose(rival, drawn)).collect();
        let mut next = vec![vec![0.0; width]; ways.len() + usize::from(rival >= top)];
        for (tied, by_taken) in ways.iter().enumerate() {
            for (taken, &before) in by_taken.iter().enumerate().filter(|(_, ways)| **ways > 0.0) {
                for (drawn, of_rival) in of_rival.iter().enumerate().take(width - taken) {
                    let tied = tied + usize::from(drawn as u64 == top);
                    next[tied][taken + drawn] += before * of_rival;
                }
            }
        }
        ways = next;
    }
    ways
}

/// The binomial coefficient; 0 for more than there are.
fn choose(n: u64, k: u64) -> f64 {
    if k > n {
        return 0.0;
    }
    (1..=k.min(n - k)).fold(1.0, |ways, i| ways * (n - k.min(n - k) + i) as f64 / i as f64)
}

/// The standard error of the mean accuracy over these questions, of `(n, c)` each, that draws alone make: the same questions
/// answered again. sqrt(mean(p (1 - p) / (n - 1)) / questions), p = c / n; `None` without a question, or for a question of fewer
/// than two answers.
pub fn draws_stderr(questions: &[(u64, u64)]) -> Option<f64> {
    if questions.is_empty() || questions.iter().any(|&(n, _)| n < 2) {
        return None;
    }
    let variance = |&(n, c): &(u64, u64)| {
        let p = c as f64 / n as f64;
        p * (1.0 - p) / (n - 1) as f64
    };
    let count = questions.len() as f64;
    Some((sum(questions.iter().map(variance)) / count / count).sqrt())
}
