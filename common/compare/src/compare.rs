//! Two runs: which models and data sets of one are which of the other, every metric over the pairs, groups, and the correction
//! for all that is tested.

use super::clusters::clusters;
use super::comparison::{CompareError, Comparison, LEAST_SHARE, Options, PairedUnit, corrected};
use super::estimate::{ONE_CLUSTER, Setting, estimate};
use super::group;
use super::observed::{BITS_PER_BYTE, Hit, UnitData, seed};
use super::pairing::{Pairing, pair};
use super::row::{Conclusion, Row};
use super::run::{Facts, RunData, differences};
use super::values::{Form, Values, metrics};
use std::collections::BTreeSet;

/// Most things left out that one error names.
const MOST_LEFT_OUT: usize = 6;

/// Compares two runs.
///
/// # Errors
/// Everything that is wrong: no model or data set in common, other gold answers, too few pairs.
pub fn compare(a: &RunData, b: &RunData, options: &Options) -> Result<Comparison, Vec<CompareError>> {
    let models = models(a, b, &options.models)?;
    let mut found = Comparison {
        a: a.name.clone(),
        b: b.name.clone(),
        plans: (a.plan.clone(), b.plan.clone()),
        differences: differences("", &a.facts, &b.facts),
        rows: Vec::new(),
        left_out: Vec::new(),
        paired: Vec::new(),
        correction: options.correction,
        confidence: options.confidence,
        margin: options.margin,
    };
    let mut errors = Vec::new();
    let mut asked_datasets = Vec::new();
    for (model_a, model_b) in &models {
        let title = if model_a == model_b { model_a.clone() } else { format!("{model_a} and {model_b}") };
        let none = Facts::new();
        let of = |run: &'_ RunData, model: &str| run.models.get(model).cloned().unwrap_or_else(|| none.clone());
        found.differences.extend(differences(&format!("model {title}"), &of(a, model_a), &of(b, model_b)));
        let units_a: Vec<&UnitData> = a.units.iter().filter(|unit| unit.model == *model_a).collect();
        let units_b: Vec<&UnitData> = b.units.iter().filter(|unit| unit.model == *model_b).collect();
        for unit in &units_a {
            let Some(other) = units_b.iter().find(|other| other.dataset == unit.dataset) else {
                found.left_out.push(format!("{}: only in {}", unit.dataset, a.name));
                continue;
            };
            if !asked_datasets.contains(&unit.dataset) {
                asked_datasets.push(unit.dataset.clone());
            }
            match compare_units(unit, other, options, &mut found) {
                Ok(()) => {}
                // Models of one plan are asked the same: it is said once.
                Err(error) if errors.contains(&error) => {}
                Err(error) => errors.push(error),
            }
        }
        let is_alone = |unit: &&&UnitData| units_a.iter().all(|other| other.dataset != unit.dataset);
        let alone = units_b.iter().filter(is_alone).map(|unit| format!("{}: only in {}", unit.dataset, b.name));
        found.left_out.extend(alone);
    }
    for dataset in &asked_datasets {
        if let (Some(one), Some(other)) = (a.datasets.get(dataset), b.datasets.get(dataset)) {
            found.differences.extend(differences(&format!("data set {dataset}"), one, other));
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if asked_datasets.is_empty() && !options.may_be_empty {
        return Err(vec![no_datasets(a, b)]);
    }
    let unknown = unknown_metrics(a, b, &asked_datasets, options);
    if found.rows.is_empty() && !unknown.is_empty() {
        return Err(vec![no_metric(a, &asked_datasets, &unknown)]);
    }
    found.left_out.extend(unknown.iter().map(|name| format!("no data set has the metric `{name}`")));
    group::add(a, b, &models, &mut found);
    // Models of one plan leave out the same.
    let mut said = BTreeSet::new();
    found.left_out.retain(|text| said.insert(text.clone()));
    if found.rows.is_empty() && !options.may_be_empty {
        let why = match found.left_out.split_at_checked(MOST_LEFT_OUT) {
            Some((first, rest)) if !rest.is_empty() => format!("{}; and {} more", first.join("; "), rest.len()),
            _ => found.left_out.join("; "),
        };
        let help = remedy(&found.left_out);
        return Err(vec![CompareError::new(format!("nothing of the two runs can be compared: {why}"), help)]);
    }
    let adjusted = corrected(options.correction, &found.rows.iter().map(|row| row.estimate.p).collect::<Vec<_>>());
    for (row, adjusted) in found.rows.iter_mut().zip(adjusted) {
        row.adjusted_p = adjusted;
        row.decide(options.margin, options.confidence);
    }
    Ok(found)
}

/// Returns the advice that may help where nothing could be compared for these reasons.
fn remedy(left_out: &[String]) -> &'static str {
    let any = |part: &str| left_out.iter().any(|why| why.contains(part));
    if any(ONE_CLUSTER) {
        "`--cluster none` takes every question by itself, `--cluster COLUMN` other clusters"
    } else if any(WITHOUT_RESULT) {
        "the tables of the runs say why samples failed; `-r RUN` beside the configuration runs them again"
    } else {
        "`--metric NAME` names metrics, `--metric '*'` all of them"
    }
}

/// The metrics that are asked for by names which no data set of either run has. A gate's rules say so themselves.
fn unknown_metrics<'o>(a: &RunData, b: &RunData, datasets: &[String], options: &'o Options) -> Vec<&'o str> {
    let asked = options.metrics.iter().map(String::as_str).filter(|name| *name != "*" && !options.first_metric);
    let asked: Vec<&str> = asked.collect();
    if asked.is_empty() {
        return asked;
    }
    let units = a.units.iter().chain(&b.units).filter(|unit| datasets.contains(&unit.dataset));
    let known: BTreeSet<String> = units.flat_map(metrics).map(|values| values.name).collect();
    asked.into_iter().filter(|name| !known.contains(*name)).collect()
}

fn no_metric(a: &RunData, datasets: &[String], unknown: &[&str]) -> CompareError {
    let names = |dataset: &String| {
        let units = a.units.iter().filter(|unit| unit.dataset == *dataset);
        let mut names: Vec<String> = units.flat_map(metrics).map(|values| values.name).collect();
        let mut said = BTreeSet::new();
        names.retain(|name| said.insert(name.clone()));
        format!("{dataset} has {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") })
    };
    let mut help: Vec<String> = datasets.iter().take(MOST_LEFT_OUT).map(names).collect();
    if datasets.len() > MOST_LEFT_OUT {
        help.push(format!("and {} more", datasets.len() - MOST_LEFT_OUT));
    }
    let message = format!(
        "nothing of the two runs can be compared: no data set has the metric {}",
        unknown.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
    );
    CompareError::new(message, help.join("; "))
}

fn no_datasets(a: &RunData, b: &RunData) -> CompareError {
    let names = |run: &RunData| run.datasets.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let message = format!("{} and {} have no data set in common that is asked for", a.name, b.name);
    CompareError::new(message, format!("{} has {}; {} has {}", a.name, names(a), b.name, names(b)))
}

/// The models that are compared: as told, those of one name, or the only one of each run.
fn models(a: &RunData, b: &RunData, told: &[(String, String)]) -> Result<Vec<(String, String)>, Vec<CompareError>> {
    let names = |run: &RunData| run.models.keys().cloned().collect::<Vec<_>>();
    let (of_a, of_b) = (names(a), names(b));
    if !told.is_empty() {
        let mut errors = Vec::new();
        for (model, known, run) in told.iter().flat_map(|(one, other)| [(one, &of_a, &a.name), (other, &of_b, &b.name)])
        {
            if !known.contains(model) {
                let message = format!("there is no model `{model}` in {run}");
                errors.push(CompareError::new(message, format!("its models are {}", known.join(", "))));
            }
        }
        return if errors.is_empty() { Ok(told.to_vec()) } else { Err(errors) };
    }
    if let ([one], [other]) = (of_a.as_slice(), of_b.as_slice()) {
        return Ok(vec![(one.clone(), other.clone())]);
    }
    let same: Vec<(String, String)> =
        of_a.iter().filter(|name| of_b.contains(name)).map(|name| (name.clone(), name.clone())).collect();
    if same.is_empty() {
        let message = format!("{} and {} have no model of one name", a.name, b.name);
        let help = format!(
            "say which is which with `--models A=B`: {} has {}; {} has {}",
            a.name,
            of_a.join(", "),
            b.name,
            of_b.join(", ")
        );
        return Err(vec![CompareError::new(message, help)]);
    }
    Ok(same)
}

fn compare_units(a: &UnitData, b: &UnitData, options: &Options, found: &mut Comparison) -> Result<(), CompareError> {
    let dataset = &a.dataset;
    let pairing = pair(a, b).map_err(|other| {
        let (first, second) = other.samples.first().copied().unwrap_or_default();
        let count = other.samples.len();
        let message = format!(
            "{dataset}: {count} of its questions have another gold answer in {} than in {} (sample {first} of {}, sample \
             {second} of {})",
            found.b, found.a, found.a, found.b
        );
        let help = "such numbers are not of one task: evaluate both with the same version of the data set";
        CompareError::new(message, help)
    })?;
    if pairing.pairs.is_empty() || pairing.share() < LEAST_SHARE && !options.allow_partial {
        return Err(too_few(a, b, &pairing, found));
    }
    let clusters = clusters(a, &pairing.pairs, &options.cluster);
    let setting = Setting {
        pairs: &pairing.pairs,
        clusters: clusters.as_ref(),
        confidence: options.confidence,
        seed: 0,
        relative: 0.0,
    };
    let (of_a, of_b) = (metrics(a), metrics(b));
    if let Some(why) = without_values(a, &of_a, &found.a).or_else(|| without_values(b, &of_b, &found.b)) {
        found.left_out.push(why);
        return Ok(());
    }
    let mut flips = None;
    for (at, one) in of_a.iter().enumerate() {
        if !is_asked(options, &one.name, at) {
            continue;
        }
        let label = format!("{dataset} {}", one.name);
        let Some(other) = of_b.iter().find(|other| other.name == one.name) else {
            found.left_out.push(format!("{label}: {} does not have it", found.b));
            continue;
        };
        let relative = one.direction.sign() * options.relative;
        let setting = Setting { seed: seed(dataset, &one.name), relative, ..setting };
        match estimate(one, other, setting) {
            Ok(estimate) => found.rows.push(Row {
                model_a: a.model.clone(),
                model_b: b.model.clone(),
                dataset: dataset.clone(),
                metric: one.name.clone(),
                is_group: false,
                is_percent: is_percent(one),
                direction: one.direction,
                adjusted_p: estimate.p,
                estimate,
                conclusion: Conclusion::Undecided,
            }),
            Err(why) => found.left_out.push(format!("{label}: {why}")),
        }
        flips = flips.or_else(|| flipped(one, other, a, b, &pairing));
    }
    let mut flips = flips.unwrap_or_default();
    let all_flips = flips.len();
    flips.truncate(options.flips);
    found.paired.push(PairedUnit {
        model_a: a.model.clone(),
        model_b: b.model.clone(),
        dataset: dataset.clone(),
        pairing,
        flips,
        all_flips,
        clusters: clusters.map(|clusters| clusters.count),
    });
    Ok(())
}

/// Words on a unit that has no result at all.
const WITHOUT_RESULT: &str = "has a result";

/// Returns the reason why nothing of a unit can be compared, where there is one.
fn without_values(unit: &UnitData, metrics: &[Values<'_>], run: &str) -> Option<String> {
    let (dataset, all) = (&unit.dataset, unit.samples.len());
    if !unit.samples.iter().any(|sample| sample.has_result) {
        return Some(format!("{dataset}: none of its {all} samples {WITHOUT_RESULT} in {run}"));
    }
    metrics.is_empty().then(|| format!("{dataset}: no sample of {run} has a score"))
}

/// Returns whether a metric is asked for that is at a position in its data set.
fn is_asked(options: &Options, name: &str, at: usize) -> bool {
    let is_first = options.first_metric && at == 0 && name != BITS_PER_BYTE;
    is_first || options.metrics.iter().any(|asked| asked == "*" || asked == name)
}

pub(crate) fn is_percent(values: &Values<'_>) -> bool {
    use compass_eval::evaluator::Aggregation as Rule;
    match &values.form {
        Form::Corpus { rule, .. } => {
            matches!(rule, Rule::F1 { .. } | Rule::AucRoc | Rule::Bleu { .. } | Rule::Chrf { .. } | Rule::Ter)
        }
        _ => values.factor != 1.0,
    }
}

/// Returns the pairs that are right in one run only; `None` of a metric that knows no right and wrong.
fn flipped(
    one: &Values<'_>,
    other: &Values<'_>,
    a: &UnitData,
    b: &UnitData,
    pairing: &Pairing,
) -> Option<Vec<(u32, u32, bool)>> {
    let (Form::Hits(first), Form::Hits(second)) = (&one.form, &other.form) else { return None };
    let flip = |&(i, j): &(u32, u32)| {
        let gained = match (first[i as usize], second[j as usize]) {
            (Hit::Right, Hit::Wrong) => false,
            (Hit::Wrong, Hit::Right) => true,
            _ => return None,
        };
        Some((a.samples[i as usize].index, b.samples[j as usize].index, gained))
    };
    let mut flips: Vec<(u32, u32, bool)> = pairing.pairs.iter().filter_map(flip).collect();
    flips.sort_unstable_by_key(|&(a, b, gained)| (gained, a, b));
    Some(flips)
}

fn too_few(a: &UnitData, b: &UnitData, pairing: &Pairing, found: &Comparison) -> CompareError {
    let some = |indices: &[u32]| {
        let first: Vec<String> = indices.iter().take(5).map(u32::to_string).collect();
        match (indices.len(), first.join(", ")) {
            (0, _) => "none".to_owned(),
            (count, first) if count <= 5 => first,
            (count, first) => format!("{first} and {} more", count - 5),
        }
    };
    let message = format!(
        "{}: {} of {} samples of {} and {} of {} are the same question ({:.1} %, of which {} % are needed); only in {}: \
         {}; only in {}: {}",
        a.dataset,
        pairing.pairs.len(),
        a.samples.len(),
        found.a,
        b.samples.len(),
        found.b,
        (pairing.share() * 1000.0).floor() / 10.0,
        LEAST_SHARE * 100.0,
        found.a,
        some(&pairing.only_a),
        found.b,
        some(&pairing.only_b),
    );
    let help = match pairing.pairs.is_empty() {
        true => "prompts, shots or the kind of request differ in every sample: compare runs of one configuration",
        false => "--allow-partial compares what pairs",
    };
    CompareError::new(message, help)
}
