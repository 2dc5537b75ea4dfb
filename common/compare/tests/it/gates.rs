//! Gates: what rules decide, relative ones among them, and why.

use super::*;

#[test]
fn a_gate_corrects_its_no_gos_and_waits_for_what_is_missing() {
    let matches = |pattern: &str, name: &str| pattern == "*" || pattern == name;
    let names: Vec<String> = (0..40).map(|at| format!("d{at}")).collect();
    let units = |of: &dyn Fn(usize, usize) -> Hit| -> Vec<UnitData> {
        names.iter().enumerate().map(|(at, name)| hits(name, 400, |sample| of(at, sample))).collect()
    };
    let a = run("a", units(&|_, sample| mostly(sample)));
    // One of forty is worse by a little more than its interval allows.
    let lost = |at: usize, sample: usize| at == 7 && sample % 4 == 1 && sample < 76 && sample != 1;
    let b = run("b", units(&|at, sample| if lost(at, sample) { Hit::Wrong } else { mostly(sample) }));
    let gate = judge(&a, &b, &[rule("d7")], &options(), &matches).unwrap();
    assert_eq!(gate.decision, Decision::NoGo, "alone it is a breach: {:?}", gate.outcomes[0].row);
    let gate = judge(&a, &b, &[rule("*")], &options(), &matches).unwrap();
    assert_eq!((gate.decision, gate.outcomes.len()), (Decision::CannotTell, 40));
    let uncorrected = Options { correction: Correction::None, ..options() };
    assert_eq!(judge(&a, &b, &[rule("*")], &uncorrected, &matches).unwrap().decision, Decision::NoGo);

    let shorter = run("b", b.units.iter().filter(|unit| unit.dataset != "d3").cloned().collect());
    let gate = judge(&a, &shorter, &[rule("d3"), rule("d4")], &options(), &matches).unwrap();
    assert_eq!(gate.decision, Decision::CannotTell);
    assert!(gate.outcomes[0].why.contains("only in a"), "{:?}", gate.outcomes[0].why);
    let optional = GateRule { required: false, ..rule("d3") };
    let gate = judge(&a, &shorter, &[optional, rule("d4")], &options(), &matches).unwrap();
    assert_eq!((gate.decision, gate.skipped.len()), (Decision::Go, 1));
    let errors = judge(&a, &b, &[rule("e")], &options(), &matches).unwrap_err();
    assert!(errors[0].message.contains("gate.toml:1:1: the rule matches nothing"), "{errors:?}");
}

#[test]
fn a_relative_margin_is_of_the_baselines_number_with_its_error() {
    let matches = |pattern: &str, name: &str| pattern == name;
    let perplexity = |shift: f64| {
        let values = (0..500).map(|at| -3.0 - shift + f64::from(at % 7) / 7.0).collect();
        unit("d", 500, "perplexity", Aggregation::Perplexity, Column::Scores(values))
    };
    let (a, b) = (run("a", vec![perplexity(0.0)]), run("b", vec![perplexity(0.03)]));
    let of = |percent: f64| {
        let rule = GateRule { margin: None, relative: Some(percent), ..rule("d") };
        judge(&a, &b, &[rule], &options(), &matches).unwrap().decision
    };
    // exp(0.03) is 3.045 % more, in every resample.
    assert_eq!((of(3.0), of(3.1)), (Decision::NoGo, Decision::Go));
}

#[test]
fn a_relative_rule_shows_the_plain_difference_and_what_it_allows() {
    use compass_compare::report::{gate_junit, gate_markdown, gate_text};
    let matches = |pattern: &str, name: &str| pattern == name;
    let (a, b) = two_runs();
    let both = GateRule { margin: Some(1.0), relative: Some(10.0), ..rule("text") };
    let gate = judge(&a, &b, &[both], &options(), &matches).unwrap();
    let [absolute, relative] = gate.outcomes.as_slice() else { panic!("{:?}", gate.outcomes) };
    assert_eq!((absolute.allowed.as_str(), absolute.allowance), ("-1 point", Some(-1.0)));
    assert_eq!(relative.allowed, "-10 % of the baseline");
    assert!((relative.allowance.unwrap() + 8.6).abs() < 1e-9, "{:?}", relative.allowance);
    assert_eq!((absolute.decision, relative.decision), (Decision::NoGo, Decision::Go));
    for outcome in [absolute, relative] {
        let estimate = &outcome.row.as_ref().unwrap().estimate;
        assert!((estimate.difference + 3.0).abs() < 1e-9 && estimate.interval.high < -1.0, "{estimate:?}");
    }
    let shown = gate_text(&gate, None);
    assert!(shown.contains("-10 % of the baseline = -8.60"), "{shown}");
    assert!(
        shown.contains(
            "\n\nwhat else differs:\n  model m: dtype: float16 in the baseline, bfloat16 in the candidate\n\n"
        ),
        "{shown}"
    );
    assert!(gate_markdown(&gate).contains("| allowed |"), "{shown}");
    // A test case has the same name whatever the runs are; what its rule comes to stands in its text.
    let junit = gate_junit(&gate);
    assert!(
        junit.contains("name=\"text accuracy (-1 point)\"")
            && junit.contains("name=\"text accuracy (-10 % of the baseline)\""),
        "{junit}"
    );
    assert!(junit.contains("-1 point | -3.00 |"), "{junit}");
}

#[test]
fn junit_fails_by_what_a_rule_decides() {
    use compass_compare::report::gate_junit;
    let matches = |pattern: &str, name: &str| pattern == name;
    let (a, worse) = (run("a", vec![hits("d", 400, is_right)]), run("b", vec![hits("d", 400, mostly)]));
    // A breach, and fewer pairs than the rule wants.
    let element = |tier: GateTier, min_samples: u64| {
        let one = GateRule { tier, min_samples, ..rule("d") };
        let junit = gate_junit(&judge(&a, &worse, &[one], &options(), &matches).unwrap());
        let found = ["<failure ", "<error ", "<skipped "].into_iter().filter(|element| junit.contains(element));
        found.collect::<Vec<_>>().concat()
    };
    let tiers = [GateTier::Critical, GateTier::Supporting, GateTier::Advisory];
    assert_eq!(tiers.map(|tier| element(tier, 1)), ["<failure ", "<failure ", "<skipped "]);
    assert_eq!(tiers.map(|tier| element(tier, 500)), ["<error ", "<skipped ", "<skipped "]);
}

#[test]
fn a_reason_is_that_of_the_whole_name() {
    let matches = |pattern: &str, name: &str| pattern == "*" || pattern == name;
    let (a, b) = two_runs();
    let none = RunData { units: vec![hits("other", 10, mostly)], ..b };
    // `text_bleu` is left out first.
    let a = RunData { units: a.units.into_iter().rev().chain([hits("other", 10, mostly)]).collect(), ..a };
    let gate = judge(&a, &none, &[rule("text"), rule("text_bleu"), rule("other")], &options(), &matches).unwrap();
    let why: Vec<&str> = gate.outcomes.iter().map(|outcome| outcome.why.as_str()).take(2).collect();
    assert_eq!(why, ["text: only in a", "text_bleu: only in a"]);
}

#[test]
fn a_relative_margin_of_a_negative_number_is_one_of_its_size() {
    let matches = |pattern: &str, name: &str| pattern == name;
    let matthews = |wrong: usize| {
        let UnitData { series, .. } = classes(400, |at| at % 10 < wrong);
        let column = series.into_iter().next().unwrap().column;
        unit("d", 400, "mcc", Aggregation::Matthews { scale: Scale::Percent }, column)
    };
    let rule = GateRule { margin: None, relative: Some(10.0), ..rule("d") };
    let a = run("a", vec![matthews(2)]);
    let gate = judge(&a, &a, std::slice::from_ref(&rule), &options(), &matches).unwrap();
    let outcome = &gate.outcomes[0];
    assert!((outcome.allowance.unwrap() + 6.0).abs() < 0.1, "{outcome:?}");
    assert_eq!((gate.decision, outcome.allowed.as_str()), (Decision::Go, "-10 % of the baseline"));
    let gate = judge(&a, &run("b", vec![matthews(1)]), &[rule], &options(), &matches).unwrap();
    assert_eq!(gate.decision, Decision::NoGo, "20 points less");
}

#[test]
fn a_gate_that_finds_no_score_cannot_tell() {
    let matches = |pattern: &str, name: &str| pattern == name;
    let a = run("a", vec![hits("d", 50, mostly)]);
    let mut failed = hits("d", 50, |_| Hit::None);
    failed.samples.iter_mut().for_each(|sample| sample.has_result = false);
    let gate = judge(&a, &run("b", vec![failed]), &[rule("d")], &options(), &matches).unwrap();
    assert_eq!(gate.decision, Decision::CannotTell);
    assert_eq!(gate.outcomes[0].why, "d: none of its 50 samples has a result in b");
    let gate = judge(&a, &run("b", vec![hits("other", 5, mostly)]), &[rule("d")], &options(), &matches).unwrap();
    assert_eq!((gate.decision, gate.outcomes[0].why.as_str()), (Decision::CannotTell, "d: only in a"));
}
