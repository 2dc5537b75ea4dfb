//! Factors, their values, and which combinations of them are run.

use compass_types::seeded::Rng;
use std::collections::BTreeSet;
use std::fmt;

/// Factors with their values; the first value is the default.
const FACTORS: [(&str, &[&str]); 9] = [
    ("model", &["engine", "echo", "completions", "chat", "thinking", "bounded"]),
    ("infer", &["gen", "draws", "ppl", "loglikelihood", "clp"]),
    ("shots", &["zero", "shared", "first_n", "random", "bm25"]),
    ("cut", &["balanced", "naive", "size", "num_worker"]),
    ("runner", &["local2", "local1", "hand2", "slurm2", "command2"]),
    ("server", &["run", "serve"]),
    ("life", &["straight", "kill", "interrupt", "stages", "limit", "worker"]),
    ("models", &["one", "two"]),
    ("sets", &["one", "three"]),
];

/// Factors on which the samples of a job depend.
const OF_SAMPLES: [&str; 5] = ["model", "infer", "shots", "models", "sets"];

/// Indices of factor and value.
type Pair = (usize, usize);

/// A value of each factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Combination([usize; FACTORS.len()]);

impl Combination {
    /// Value of a factor, by its name.
    pub(crate) fn value(&self, factor: &str) -> &'static str {
        let places = FACTORS.iter().zip(self.0);
        let of = places.into_iter().find(|((name, _), _)| *name == factor);
        of.and_then(|((_, values), place)| values.get(place).copied()).unwrap_or("")
    }

    /// Returns whether a factor has a value.
    pub(crate) fn is(&self, factor: &str, value: &str) -> bool {
        self.value(factor) == value
    }

    /// The values on which the samples depend: jobs that share them have equal results.
    pub(crate) fn samples(&self) -> [&'static str; OF_SAMPLES.len()] {
        OF_SAMPLES.map(|factor| self.value(factor))
    }

    /// The same samples, run by one local worker in the simplest way.
    pub(crate) fn plain(&self) -> Self {
        let mut plain = *self;
        for (factor, value) in [("cut", "naive"), ("runner", "local1"), ("server", "run"), ("life", "straight")] {
            plain.set(factor, value);
        }
        plain
    }

    fn set(&mut self, factor: &str, value: &str) {
        for ((name, values), place) in FACTORS.iter().zip(&mut self.0) {
            if *name == factor {
                *place = values.iter().position(|one| *one == value).unwrap_or(0);
            }
        }
    }

    fn has(&self, pairs: &[Pair]) -> bool {
        pairs.iter().all(|&(factor, value)| self.0.get(factor) == Some(&value))
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<&str> = FACTORS.iter().map(|(name, _)| self.value(name)).collect();
        formatter.write_str(&values.join(" "))
    }
}

/// Returns whether the program offers a combination; where values are still open, whether it may.
fn is_possible(partial: &[Option<usize>; FACTORS.len()]) -> bool {
    let value = |factor: &str| {
        let place = FACTORS.iter().position(|(name, _)| *name == factor)?;
        FACTORS.get(place)?.1.get((*partial.get(place)?)?).copied()
    };
    let is_among = |factor: &str, allowed: &[&str]| value(factor).is_none_or(|value| allowed.contains(&value));
    let by_model = match value("model") {
        Some("chat" | "thinking" | "bounded") => is_among("infer", &["gen", "draws"]),
        Some("completions") => is_among("infer", &["gen", "draws", "ppl", "loglikelihood"]),
        _ => true,
    };
    let by_server = value("server") != Some("serve") || is_among("life", &["straight", "kill", "worker"]);
    let by_life = value("life") != Some("worker") || is_among("runner", &["hand2"]);
    by_model && by_server && by_life
}

fn possible(combination: [usize; FACTORS.len()]) -> Option<Combination> {
    is_possible(&combination.map(Some)).then_some(Combination(combination))
}

/// All combinations that differ from the defaults in at most `distance` factors.
pub(crate) fn near(distance: usize) -> Vec<Combination> {
    let mut found = BTreeSet::from([Combination([0; FACTORS.len()])]);
    let mut edge = found.clone();
    for _ in 0..distance {
        let mut further = BTreeSet::new();
        for combination in &edge {
            for (factor, (_, values)) in FACTORS.iter().enumerate() {
                for value in 1..values.len() {
                    let mut next = combination.0;
                    if let Some(place) = next.get_mut(factor).filter(|place| **place == 0) {
                        *place = value;
                        further.insert(Combination(next));
                    }
                }
            }
        }
        found.extend(&further);
        edge = further;
    }
    // Combinations that the program does not offer lead to others that it does.
    found.into_iter().filter_map(|combination| possible(combination.0)).collect()
}

/// A greedy covering array: every possible tuple of values of `strength` factors occurs in some combination.
pub(crate) fn covering(strength: usize, seed: u64) -> Vec<Combination> {
    let mut random = Rng::new(seed);
    let mut open: BTreeSet<Vec<Pair>> =
        tuples(strength).into_iter().filter(|tuple| is_possible(&partial(tuple))).collect();
    let mut jobs = Vec::new();
    while !open.is_empty() {
        let all: Vec<&Vec<Pair>> = open.iter().collect();
        let tries =
            (0..40).filter_map(|_| completed(all.get(random.below(all.len() as u64) as usize)?, &open, &mut random));
        let covered = |job: &Combination| open.iter().filter(|tuple| job.has(tuple)).count();
        let Some(best) = tries.max_by_key(covered) else { break };
        open.retain(|tuple| !best.has(tuple));
        jobs.push(best);
    }
    jobs
}

/// Completes a tuple, factor by factor in random order, each time with the value that covers most of what is open.
fn completed(tuple: &[Pair], open: &BTreeSet<Vec<Pair>>, random: &mut Rng) -> Option<Combination> {
    let mut job = partial(tuple);
    let mut order: Vec<usize> = (0..FACTORS.len()).filter(|factor| job.get(*factor) == Some(&None)).collect();
    shuffle(&mut order, random);
    for factor in order {
        let with = |value: usize| {
            let mut next = job;
            *next.get_mut(factor)? = Some(value);
            is_possible(&next).then_some(next)
        };
        let mut values: Vec<usize> = (0..FACTORS.get(factor)?.1.len()).collect();
        shuffle(&mut values, random);
        let agrees = |next: &[Option<usize>; FACTORS.len()], tuple: &[Pair]| {
            tuple.contains(&(factor, next.get(factor).copied().flatten().unwrap_or(usize::MAX)))
                && tuple
                    .iter()
                    .all(|&(factor, value)| next.get(factor).is_none_or(|of| of.is_none_or(|of| of == value)))
        };
        let gain = |next: &[Option<usize>; FACTORS.len()]| open.iter().filter(|tuple| agrees(next, tuple)).count();
        job = values.into_iter().filter_map(with).max_by_key(gain)?;
    }
    let mut whole = [0; FACTORS.len()];
    for (place, value) in whole.iter_mut().zip(job) {
        *place = value?;
    }
    possible(whole)
}

fn partial(tuple: &[Pair]) -> [Option<usize>; FACTORS.len()] {
    let mut job = [None; FACTORS.len()];
    for &(factor, value) in tuple {
        if let Some(place) = job.get_mut(factor) {
            *place = Some(value);
        }
    }
    job
}

/// All tuples of values of `strength` different factors.
fn tuples(strength: usize) -> Vec<Vec<Pair>> {
    let mut found: Vec<Vec<Pair>> = vec![Vec::new()];
    for _ in 0..strength {
        let longer = found.iter().flat_map(|tuple| {
            let first = tuple.last().map_or(0, |(factor, _)| factor + 1);
            FACTORS.iter().enumerate().skip(first).flat_map(move |(factor, (_, values))| {
                (0..values.len()).map(move |value| [tuple.as_slice(), &[(factor, value)]].concat())
            })
        });
        found = longer.collect();
    }
    found
}

fn shuffle(order: &mut [usize], random: &mut Rng) {
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_jobs_are_those_of_the_reference() {
        assert_eq!(near(0).len(), 1);
        // 28 values beside the defaults, without `life = worker`, which needs a worker by hand, and with the defaults themselves.
        assert_eq!(near(1).len(), 28);
        assert!(near(2).iter().any(|job| job.is("model", "completions") && job.is("shots", "shared")));
        assert!(near(2).iter().any(|job| job.is("model", "bounded") && job.is("infer", "draws")));
        assert!(near(2).iter().any(|job| job.is("runner", "hand2") && job.is("life", "worker")));
    }

    #[test]
    fn covering_array_has_every_possible_pair() {
        let jobs = covering(2, 1);
        for tuple in tuples(2).into_iter().filter(|tuple| is_possible(&partial(tuple))) {
            // A pair that nothing completes is the one exception: `life = worker` excludes all but one runner.
            assert!(jobs.iter().any(|job| job.has(&tuple)), "{tuple:?}");
        }
        assert_eq!(jobs, covering(2, 1));
        assert_ne!(jobs, covering(2, 2));
    }
}
