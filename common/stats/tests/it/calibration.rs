//! How often the tests raise a false alarm, and how often the intervals hold the truth, by simulation from fixed seeds.

use compass_stats::*;
use compass_types::seeded::Rng;

const PAIRS_OF_RUNS: u64 = 4_000;

/// Of `PAIRS_OF_RUNS` simulated pairs of runs: how many rejections, how many intervals that hold the true difference.
fn shares(mut one: impl FnMut(&mut Rng) -> (bool, bool)) -> (f64, f64) {
    let (mut rejected, mut covered) = (0u32, 0u32);
    for run in 0..PAIRS_OF_RUNS {
        let (rejects, covers) = one(&mut Rng::new(run * 7919 + 1));
        rejected += u32::from(rejects);
        covered += u32::from(covers);
    }
    let all = PAIRS_OF_RUNS as f64;
    (f64::from(rejected) / all, f64::from(covered) / all)
}

/// A standard normal number (Box and Muller).
fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

/// The exact test is conservative where few pairs differ, and its mid-p form too: their errors are whole numbers of pairs. Neither
/// ever rejects too often, and the interval covers.
#[test]
fn few_pairs_are_judged_with_care() {
    let z = two_sided_z(0.95);
    for n in [20, 50, 100] {
        for discordance in [0.05, 0.1, 0.3] {
            let (rejected, covered) = shares(|random| {
                let (gained, lost) = discordant(random, n, discordance);
                let interval = tango(gained, lost, n, z);
                (mcnemar(gained, lost).exact < 0.05, interval.low <= 0.0 && 0.0 <= interval.high)
            });
            let what = format!("n {n}, discordance {discordance}: {rejected} rejected, {covered} covered");
            assert!(rejected <= 0.05 && covered >= 0.94, "{what}");
        }
    }
}

/// Pairs right in the second only, in the first only, where neither is likelier.
fn discordant(random: &mut Rng, n: u64, share: f64) -> (u64, u64) {
    let (mut gained, mut lost) = (0, 0);
    for _ in 0..n {
        let drawn = random.unit();
        gained += u64::from(drawn < 0.5 * share);
        lost += u64::from(drawn >= 0.5 * share && drawn < share);
    }
    (gained, lost)
}

/// The mid-p test has its level, the exact one never more than it.
#[test]
fn shares_at_five_sizes_and_three_discordances() {
    let z = two_sided_z(0.95);
    for n in [300, 500, 1000, 2000, 5000] {
        for discordance in [0.1, 0.2, 0.4] {
            let mut exact = 0u32;
            let (rejected, covered) = shares(|random| {
                let (gained, lost) = discordant(random, n, discordance);
                let test = mcnemar(gained, lost);
                exact += u32::from(test.exact < 0.05);
                let interval = tango(gained, lost, n, z);
                (test.mid < 0.05, interval.low <= 0.0 && 0.0 <= interval.high)
            });
            let exact = f64::from(exact) / PAIRS_OF_RUNS as f64;
            let what =
                format!("n {n}, discordance {discordance}: {rejected} rejected ({exact} exact), {covered} covered");
            assert!((0.04..=0.06).contains(&rejected), "{what}");
            assert!(exact <= 0.06, "{what}");
            assert!((0.94..=0.965).contains(&covered), "{what}");
        }
    }
}

#[test]
fn means_at_three_sizes() {
    for n in [30, 200, 1000] {
        let (rejected, covered) = shares(|random| {
            let values: Vec<f64> = (0..n).map(|_| normal(random)).collect();
            let found = paired_mean(&values).unwrap();
            let half = two_sided_t(0.95, found.freedom) * found.stderr;
            (found.p < 0.05, found.mean.abs() <= half)
        });
        assert!((0.04..=0.06).contains(&rejected) && (0.94..=0.965).contains(&covered), "n {n}: {rejected} {covered}");
    }
}

/// Questions about one passage with an intraclass correlation of 0.3: what ignores it raises too many alarms.
#[test]
fn clusters_of_ten_questions() {
    let (groups, size) = (60usize, 10usize);
    let clusters: Vec<u32> = (0..groups * size).map(|at| (at / size) as u32).collect();
    let mut naive = 0u32;
    let (rejected, covered) = shares(|random| {
        let mut values = Vec::with_capacity(groups * size);
        for _ in 0..groups {
            let shared = 0.3f64.sqrt() * normal(random);
            values.extend((0..size).map(|_| shared + 0.7f64.sqrt() * normal(random)));
        }
        naive += u32::from(paired_mean(&values).unwrap().p < 0.05);
        let found = clustered_mean(&values, &clusters, groups).unwrap();
        let half = two_sided_t(0.95, found.freedom) * found.stderr;
        (found.p < 0.05, found.mean.abs() <= half)
    });
    let naive = f64::from(naive) / PAIRS_OF_RUNS as f64;
    assert!(naive > 0.12, "{naive}");
    assert!((0.04..=0.065).contains(&rejected) && (0.94..=0.965).contains(&covered), "{rejected} {covered}");
}

/// Forty data sets of which none differs.
#[test]
fn holm_keeps_the_level_of_the_family() {
    let mut bare = 0u32;
    let (rejected, _) = shares(|random| {
        let p: Vec<f64> = (0..40).map(|_| random.unit()).collect();
        bare += u32::from(p.iter().any(|p| *p < 0.05));
        (holm(&p).iter().any(|p| *p < 0.05), true)
    });
    assert!(rejected <= 0.06, "{rejected}");
    assert!(f64::from(bare) / PAIRS_OF_RUNS as f64 > 0.8, "without a correction one of forty is nearly always found");
}

/// The drawn permutation and the paired bootstrap, which cost most.
#[test]
fn permutations_and_the_bootstrap() {
    let full = std::env::var("COMPASS_FULL").is_ok_and(|value| value == "1");
    let runs = if full { PAIRS_OF_RUNS } else { 400 };
    let (mut flipped, mut boot_rejected, mut boot_covered) = (0u32, 0u32, 0u32);
    for run in 0..runs {
        let mut random = Rng::new(run + 77);
        let values: Vec<f64> = (0..120).map(|_| normal(&mut random).powi(3)).collect();
        flipped += u32::from(sign_flip(&values, run).p() < 0.05);
        let mean = |drawn: &[u32]| Some(drawn.iter().map(|at| values[*at as usize]).sum::<f64>() / 120.0);
        let boot = bootstrap(120, 1000, run, mean).unwrap();
        let interval = percentile_interval(&boot.differences, 0.95).unwrap();
        boot_rejected += u32::from(boot.p < 0.05);
        boot_covered += u32::from(interval.low <= 0.0 && 0.0 <= interval.high);
    }
    let share = |count: u32| f64::from(count) / runs as f64;
    // Three standard deviations of the simulation itself.
    let slack = 3.0 * (0.05 * 0.95 / runs as f64).sqrt();
    assert!((share(flipped) - 0.05).abs() <= slack.max(0.01), "{}", share(flipped));
    let bounds = 0.02 + slack;
    assert!((share(boot_rejected) - 0.05).abs() <= bounds, "{}", share(boot_rejected));
    assert!((share(boot_covered) - 0.95).abs() <= bounds, "{}", share(boot_covered));
}
