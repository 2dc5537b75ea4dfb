//! The same bits on every machine: the digits below were found on one, and must be found on all.

use compass_stats::*;

#[test]
fn the_bits_of_every_kind_of_number() {
    let values: Vec<f64> = (0..60).map(|at| (f64::from(at * 37 % 101) - 48.0) / 7.0).collect();
    let clusters: Vec<u32> = (0..60).map(|at| at / 4).collect();
    let boot = bootstrap(60, 500, 9, |drawn| Some(drawn.iter().map(|at| values[*at as usize]).sum::<f64>())).unwrap();
    let found = [
        mcnemar(1210, 1000).exact,
        mcnemar(40, 61).mid,
        tango(180, 120, 1000, two_sided_z(0.95)).low,
        normal_quantile(0.975),
        student_quantile(0.975, 11.0),
        student_tail(2.8, 999.0),
        paired_mean(&values).unwrap().p,
        clustered_mean(&values, &clusters, 15).unwrap().stderr,
        sign_flip(&values, 3).p(),
        boot.stderr,
        boot.p,
        detectable_share(1000, 0.25, 1.96, 0.84).unwrap(),
    ];
    let bits: Vec<String> = found.iter().map(|value| format!("{:016x}", value.to_bits())).collect();
    assert_eq!(bits.join(" "), EXPECTED, "{found:?}");
}

const EXPECTED: &str = "3ee21889e401d7ca 3fa2fa6a53d58840 3f9ad6cd331a5116 3fff5c0331eeff83 40019b9e1b8c996e 3f6555ca9056ee6e \
                        3fe61b69fc8ae0a5 3fd8a3fdba27bdeb 3fe614ff357eebc5 403fae5753f8758d 3fe69c5bf9de4684 3fa6a3fbbe873c73";
