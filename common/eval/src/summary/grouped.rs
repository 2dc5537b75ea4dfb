//! Rows of groups out of the rows of their subsets.

use super::Summary;
use super::notes::MissingReason;
use super::table::SummaryRow;
use super::table_value::{TableValue, Uncertainty};
use crate::evaluator::Counts;
use compass_plan::summary::{Average, RowName, Subset, SummaryGroup, shipped_group, shipped_groups};
use std::collections::BTreeSet;

/// Number of subsets that a reason names before it only counts them.
const NAMED: usize = 5;

impl Summary {
    /// With rows for groups below: those that come with the program and have every subset in this table, then `own`.
    ///
    /// An own group takes the place of one of the same name that comes with the program. Without subsets it stands for
    /// that one, and is shown even when only some of its subsets are in the table, unless it wants to be whole and `asked`
    /// does not name it. A group none of whose subsets is in the table is not shown. Where a subset has no number, the group has none
    /// either, and says which subset and why.
    ///
    /// A group has one row for every metric that all its subsets have, and one for its own number, which is made of the
    /// first metric of each subset or of the metric named for it.
    pub fn with_groups(mut self, own: &[SummaryGroup], asked: Option<&[RowName]>) -> Self {
        let is_asked = |name: &str| asked.is_some_and(|rows| rows.iter().any(|row| row.name == name));
        let is_own = |name: &str| own.iter().any(|group| group.name == name);
        // In the order in which their rows are made: a group is made of those before it.
        let shipped = shipped_groups().into_iter().filter(|group| !is_own(&group.name)).map(|group| (group, false));
        let meant = |group: &SummaryGroup| match group.subsets.is_empty() {
            true => shipped_group(&group.name).unwrap_or_else(|| group.clone()),
            false => group.clone(),
        };
        let (groups, owned): (Vec<SummaryGroup>, Vec<bool>) =
            shipped.chain(own.iter().map(|group| (meant(group), true))).unzip();
        let datasets: BTreeSet<String> =
            self.rows.iter().filter(|row| !row.is_group()).map(|row| row.name().to_owned()).collect();
        let is_data_set = |name: &str| datasets.contains(name);
        for (at, (group, is_own)) in groups.iter().zip(owned).enumerate() {
            let before = &groups[..at];
            let group = group.of_leaves(before, &is_data_set);
            let is_whole = group.subsets.iter().all(|subset| match is_own {
                true => self.row_of(subset, None).is_some(),
                false => self.has(&subset.name),
            });
            let is_shown = is_whole || is_own && (!group.whole || is_asked(&group.name));
            if is_shown && group.subsets.iter().any(|subset| self.has(&subset.name)) {
                let leaves = group.leaves(before, &is_data_set);
                let names: BTreeSet<&str> = leaves.iter().map(|leaf| leaf.name.as_str()).collect();
                self.add_group(&group, names.len() == leaves.len());
            }
        }
        self
    }

    fn has(&self, name: &str) -> bool {
        self.rows.iter().any(|row| row.name() == name)
    }

    fn add_group(&mut self, group: &SummaryGroup, are_independent: bool) {
        let mut metrics: Vec<Option<String>> = self.common_metrics(group).into_iter().map(Some).collect();
        metrics.push(None);
        let rows: Vec<SummaryRow> =
            metrics.iter().map(|metric| self.group_row(group, metric.as_deref(), are_independent)).collect();
        for row in rows {
            // As in OpenCompass, the numbers of a later group of one name and metric come over those of an earlier one.
            let twin = self.rows.iter_mut().find(|twin| twin.head[0] == row.head[0] && twin.head[2] == row.head[2]);
            match twin {
                Some(twin) => {
                    let over = twin.values.iter_mut().zip(row.values).filter(|(_, value)| value.value.is_ok());
                    over.for_each(|(below, value)| *below = value);
                }
                None => self.rows.push(row),
            }
        }
    }

    /// The metrics that every subset has, in the first one's order; none where subsets name their own, or where one is
    /// the name of the group's number.
    fn common_metrics(&self, group: &SummaryGroup) -> Vec<String> {
        if group.subsets.iter().any(|subset| subset.metric.is_some()) {
            return Vec::new();
        }
        let has = |name: &str, metric: &str| self.rows.iter().any(|row| row.name() == name && row.metric() == metric);
        let Some(first) = group.subsets.first() else { return Vec::new() };
        let metrics = self.rows.iter().filter(|row| row.name() == first.name).map(|row| row.metric().to_owned());
        metrics
            .filter(|metric| group.subsets.iter().all(|subset| has(&subset.name, metric)))
            .filter(|metric| metric != group.metric_name())
            .collect()
    }

    /// The row of a metric, or that of the group's own number. Subsets are independent where no data set is in two of them.
    pub(super) fn group_row(&self, group: &SummaryGroup, metric: Option<&str>, are_independent: bool) -> SummaryRow {
        let rows: Vec<(&Subset, Option<&SummaryRow>)> =
            group.subsets.iter().map(|subset| (subset, self.row_of(subset, metric))).collect();
        let values = (0..self.models.len()).map(|model| value(group, &rows, model, are_independent)).collect();
        let modes: Vec<&str> = rows.iter().filter_map(|(_, row)| row.map(SummaryRow::mode)).collect();
        let mode = match modes.as_slice() {
            [first, rest @ ..] if rest.iter().all(|mode| mode == first) => first,
            _ => "mixed",
        };
        let metric = metric.unwrap_or_else(|| group.metric_name());
        let lacks = |subset: &Subset| !self.has(&subset.name) || group.whole && self.row_of(subset, None).is_none();
        let partial = group.subsets.iter().any(lacks);
        SummaryRow { head: [group.name.as_str(), "-", metric, mode].map(String::from), values, partial }
    }

    fn row_of(&self, subset: &Subset, metric: Option<&str>) -> Option<&SummaryRow> {
        let metric = metric.or(subset.metric.as_deref());
        self.rows.iter().find(|row| row.name() == subset.name && metric.is_none_or(|metric| row.metric() == metric))
    }
}

/// The group's number for one model.
fn value(
    group: &SummaryGroup,
    rows: &[(&Subset, Option<&SummaryRow>)],
    model: usize,
    are_independent: bool,
) -> TableValue {
    let (mut scores, mut sizes) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    let (mut lacking, mut not_asked) = (Vec::new(), Vec::new());
    let (mut counts, mut expected) = (Counts::default(), 0);
    for (subset, row) in rows {
        let value = row.and_then(|row| row.values.get(model));
        match value.map(|value| &value.value) {
            Some(Ok(score)) => match group.taken(&subset.name, *score) {
                Ok(score) => {
                    scores.push(score);
                    sizes.push(value.map_or(0, |value| value.counts.scored));
                }
                Err(why) => lacking.push((subset.name.clone(), format!("has no number for the group: {why}"))),
            },
            Some(Err(reason)) if !reason.is_asked() => not_asked.push(subset.name.clone()),
            Some(Err(reason)) => lacking.push((subset.name.clone(), reason.to_string())),
            None => lacking.push(match &subset.metric {
                Some(metric) => (subset.name.clone(), format!("has no {metric}, or is not in this job")),
                None => (subset.name.clone(), "not in this job".to_owned()),
            }),
        }
        if let Some(value) = value {
            expected += value.expected;
            counts.scored += value.counts.scored;
            counts.failed += value.counts.failed;
            counts.ties += value.counts.ties;
        }
    }
    let value = match (lacking.is_empty(), not_asked.len()) {
        (true, 0) => group
            .average
            .of(&scores, &sizes)
            .ok_or_else(|| MissingReason::withheld("the weights do not fit the subsets".into())),
        (_, count) if count == rows.len() => Err(MissingReason::not_asked(String::new())),
        (true, count) => {
            let names = some(&not_asked);
            Err(MissingReason::not_asked(format!("{count} of {} subsets are not asked for: {names}", rows.len())))
        }
        (false, _) => Err(MissingReason::withheld(reason(&lacking, rows.len()))),
    };
    let parts = rows.iter().map(|(_, row)| row.and_then(|row| row.values.get(model)));
    let uncertainty = match &value {
        Ok(number) => {
            parts.collect::<Option<Vec<_>>>().map(|parts| uncertainty(group, *number, &parts, are_independent))
        }
        Err(_) => None,
    };
    TableValue { value, expected, counts, uncertainty: uncertainty.unwrap_or_default(), answers: None }
}

/// Uncertainty of a group's number. lm-eval's means have its standard errors, which take subsets for independent in any case.
///
/// The interval is made of those of the subsets, the distances of whose ends are added as squares with the group's weights (MOVER,
/// Zou et al. 2009): it never leaves the range of the metric.
fn uncertainty(group: &SummaryGroup, number: f64, parts: &[&TableValue], are_independent: bool) -> Uncertainty {
    let is_lm_evals = matches!(group.average, Average::BySize | Average::ByDataSet);
    if !group.transforms.is_empty() || !is_lm_evals && !are_independent {
        return Uncertainty::default();
    }
    let sizes: Vec<u64> = parts.iter().map(|part| part.counts.scored).collect();
    let errors: Option<Vec<f64>> = parts.iter().map(|part| part.uncertainty.stderr).collect();
    let interval = || {
        let (mut down, mut up) = (0.0, 0.0);
        for (part, share) in parts.iter().zip(group.average.shares(&sizes)?) {
            let (low, high) = part.uncertainty.ci95?;
            let value = part.value.as_ref().ok()?;
            down += (share * (value - low)).powi(2);
            up += (share * (high - value)).powi(2);
        }
        Some((number - down.sqrt(), number + up.sqrt()))
    };
    Uncertainty { stderr: errors.and_then(|errors| group.average.stderr(&errors, &sizes)), ci95: interval() }
}

/// Names the subsets that lack a number, by name and reason: a reason that several have is given once, behind all of them.
fn reason(lacking: &[(String, String)], subsets: usize) -> String {
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, reason) in lacking {
        match by_reason.iter_mut().find(|(known, _)| *known == reason.as_str()) {
            Some((_, names)) => names.push(name.clone()),
            None => by_reason.push((reason.as_str(), vec![name.clone()])),
        }
    }
    let told: Vec<String> = by_reason.iter().map(|(reason, names)| format!("{} ({reason})", some(names))).collect();
    format!("{} of {subsets} subsets have no number: {}", lacking.len(), some(&told))
}

/// The first of the names, and how many more there are.
fn some(names: &[String]) -> String {
    let mut text = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text += &format!(" and {} more", names.len() - NAMED);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::TableCell;
    use super::super::table::tests::{plan_with, summary, summary_of};
    use super::*;
    use crate::evaluator::{Metric, Metrics};
    use compass_plan::summary::Transform;
    use compass_types::function::{self, Function, FunctionFault, FunctionSource, FunctionValue};

    fn group(name: &str, subsets: &[&str]) -> SummaryGroup {
        SummaryGroup::naive(name, subsets.iter().map(|subset| (*subset).to_owned()))
    }

    fn csv(own: &[SummaryGroup]) -> Vec<String> {
        let table = summary().with_groups(own, None).csv();
        table.lines().skip(5).map(str::to_owned).collect()
    }

    /// The lines of the table as a terminal shows it, notes below it included.
    fn shown(own: &[SummaryGroup]) -> String {
        summary().with_groups(own, None).text()
    }

    #[test]
    fn a_row_per_common_metric_and_one_of_its_own() {
        let own = [group("both", &["piqa", "arc_easy"])];
        assert_eq!(csv(&own), ["both,-,accuracy,mixed,37.50*,-", "both,-,naive_average,mixed,37.50*,-"]);
        let withheld =
            "withheld: 1 of 2 subsets have no number: arc_easy (withheld: no sample was scored: 40 of 40 failed)";
        assert!(shown(&own).contains(withheld), "{}", shown(&own));
    }

    #[test]
    fn named_metrics_weights_and_groups_of_groups() {
        let subset = |name: &str, metric: Option<&str>| Subset { name: name.into(), metric: metric.map(String::from) };
        let own = [
            SummaryGroup {
                subsets: vec![subset("piqa", Some("accuracy")), subset("arc_easy", Some("acc_norm"))],
                average: Average::Weighted(vec![1.0, 3.0]),
                metric: Some("overall".into()),
                ..group("w", &[])
            },
            SummaryGroup { average: Average::Sum, ..group("of groups", &["w", "piqa"]) },
        ];
        let rows = csv(&own);
        assert!(rows[0].starts_with("w,-,overall,mixed,38.75*,"), "{}", rows[0]);
        assert!(rows[1].starts_with("of groups,-,sum,mixed,93.75*,"), "{}", rows[1]);
        assert_eq!(rows.len(), 2);
    }

    /// lm-eval: a group weighs its data sets by their samples, also those of groups within it.
    #[test]
    fn groups_by_size_weigh_the_samples_of_their_data_sets() {
        let by_size = |name: &str, subsets: &[&str]| SummaryGroup { average: Average::BySize, ..group(name, subsets) };
        let own = [
            by_size("g", &["piqa", "arc_easy"]),
            group("plain", &["piqa", "arc_easy"]),
            by_size("h", &["plain", "piqa"]),
        ];
        let rows = csv(&own);
        // 55 on 200 samples, 20 on 30
        let of = |row: &str| rows.iter().find(|line| line.starts_with(row)).unwrap().split(',').nth(4).unwrap();
        assert_eq!((of("g,-,weighted_average"), of("plain,-,naive_average")), ("50.43*", "37.50*"));
        assert_eq!(of("h,-,weighted_average"), "52.56*", "(2 * 55 * 200 + 20 * 30) / 430");
    }

    /// Data sets of 200, 30 and 10 samples with their standard errors.
    fn with_errors() -> Summary {
        let plan = plan_with(&["m".to_owned()], &["a", "b", "c"].map(String::from));
        let cells = plan.units().zip([(50.0, 200, 2.0), (20.0, 30, 5.0), (80.0, 10, 10.0)]);
        let cells = cells.map(|(unit, (value, scored, error))| {
            let ci95 = Some((value - 2.0 * error, value + 2.0 * error));
            let metric = Metric { name: "accuracy".into(), value, stderr: Some(error), ci95 };
            let counts = Counts { scored, ..Counts::default() };
            (unit.id, TableCell::Evaluated(Metrics { values: vec![metric], counts, by_k: None, answers: None }))
        });
        Summary::new(&plan, cells.collect::<Vec<_>>())
    }

    #[test]
    fn groups_have_standard_errors_where_they_follow_from_their_subsets() {
        let of = |name: &str, subsets: &[&str], average: Average| SummaryGroup { average, ..group(name, subsets) };
        let own = [
            of("by_size", &["a", "b"], Average::BySize),
            of("alike", &["a", "b"], Average::ByDataSet),
            of("nested", &["by_size", "c"], Average::ByDataSet),
            of("weighted", &["a", "b"], Average::Weighted(vec![1.0, 3.0])),
            of("naive", &["a", "b"], Average::Naive),
            of("of_groups", &["naive", "c"], Average::Naive),
            of("twice", &["naive", "a"], Average::Naive),
            of("spread", &["a", "b"], Average::StandardDeviation),
        ];
        let summary = with_errors().with_groups(&own, None);
        let json = summary.json();
        let stderr = |name: &str, metric: &str| {
            let line = json.iter().find(|line| line["dataset"] == name && line["metric"] == metric).unwrap();
            line["stderr"].as_f64()
        };
        let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-12;
        // lm_eval.api.metrics: pooled_sample_stderr([2, 5], [200, 30]), unweighted_mean_stderr([2, 5]) and ([2, 5, 10])
        assert!(close(stderr("by_size", "weighted_average"), 1.857581820864208));
        assert!(close(stderr("alike", "naive_average"), 2.692582403567252));
        assert!(close(stderr("nested", "naive_average"), 3.7859388972001824));
        assert!(close(
            stderr("weighted", "weighted_average"),
            ((0.25_f64 * 2.0).powi(2) + (0.75_f64 * 5.0).powi(2)).sqrt()
        ));
        assert!(close(stderr("naive", "naive_average"), 2.692582403567252));
        assert!(close(stderr("of_groups", "naive_average"), (2.692582403567252_f64.powi(2) + 100.0).sqrt() / 2.0));
        assert_eq!(stderr("twice", "naive_average"), None, "a data set that is in both is not independent of itself");
        assert_eq!(stderr("spread", "standard_deviation"), None);
        assert!(close(stderr("a", "accuracy"), 2.0), "data sets too");
        let nested = json.iter().find(|line| line["dataset"] == "nested").unwrap();
        assert_eq!(nested["value"], 50.0, "the mean of 50, 20 and 80: its leaves");
        let ends = [0, 1].map(|at| nested["ci95"][at].as_f64().unwrap());
        let half = 2.0 * 3.7859388972001824;
        assert!((ends[0] - (50.0 - half)).abs() < 1e-9 && (ends[1] - (50.0 + half)).abs() < 1e-9, "{ends:?}");
        let text = summary.text();
        assert!(text.contains("35.00 ± 2.69") && text.contains("50.00 ± 3.79"), "{text}");
        assert!(!text.contains("50.00 ± 2.00"), "data sets have theirs in `results/`: {text}");
        assert!(summary.csv().contains("\nalike,-,naive_average,ppl,35.00*\n"), "{}", summary.csv());
        assert_eq!(Summary::from_long_csv(&summary.long_csv()).unwrap().json(), json);
    }

    /// Stands in for the interpreter: `halved` halves, `raised` raises above 50.
    #[derive(Debug)]
    struct Known(FunctionSource);

    impl Function for Known {
        fn call(&self, text: &str) -> Result<FunctionValue, FunctionFault> {
            let x: f64 = text.parse().unwrap();
            let raises = self.0.modules[0].text.contains("raised");
            if raises && x > 50.0 {
                return Err(FunctionFault { class: "ValueError".into(), text: "above 50".into(), line: String::new() });
            }
            Ok(FunctionValue::Plain((x / 2.0).to_string()))
        }
    }

    #[test]
    fn subsets_are_transformed_before_one_number_is_made_of_them() {
        function::link(|source, _, _| Ok(Box::new(Known(source))));
        let transformed = |expression: &str| {
            let transforms = [("piqa".to_owned(), Transform::new(expression).unwrap())].into();
            csv(&[SummaryGroup { transforms, ..group("g", &["piqa", "piqa"]) }]).remove(0)
        };
        let plain = csv(&[group("g", &["piqa", "piqa"])]);
        assert!(plain[0].starts_with("g,-,accuracy,ppl,55.00,"), "{plain:?}");
        let other = transformed("halved");
        assert!(other.starts_with("g,-,accuracy,ppl,27.50,"), "{other}");
        let transforms = [("piqa".to_owned(), Transform::new("raised").unwrap())].into();
        let raised = shown(&[SummaryGroup { transforms, ..group("g", &["piqa", "piqa"]) }]);
        assert!(raised.contains("has no number for the group: `raised`: ValueError: above 50"), "{raised}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let many: Vec<String> = (0..8).map(|at| format!("d{at}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).chain(["piqa"]).collect();
        let own = [group("g", &names), group("absent", &["x", "y"]), group("agieval", &[])];
        assert_eq!(csv(&own), ["g,-,naive_average,ppl,-,-"]);
        let missing = "withheld: 8 of 9 subsets have no number: d0, d1, d2, d3, d4 and 3 more (not in this job)";
        assert!(shown(&own).contains(missing), "{}", shown(&own));
        let complete = summary_of(&["a".into()]);
        assert!(complete.clone().with_groups(&[group("g", &["a", "x"]), group("h", &["a"])], None).is_complete());
        let metric = Some("no such".into());
        let wrong = SummaryGroup { subsets: vec![Subset { name: "a".into(), metric }], ..group("g", &[]) };
        assert!(!complete.with_groups(&[wrong], None).is_complete());
    }

    #[test]
    fn equal_reasons_stand_once() {
        let lacking =
            [("a", "failed"), ("b", "lost"), ("c", "failed")].map(|(name, why)| (name.to_owned(), why.to_owned()));
        assert_eq!(reason(&lacking, 4), "3 of 4 subsets have no number: a, c (failed), b (lost)");
    }

    #[test]
    fn groups_that_come_with_the_program() {
        let all = shipped_groups();
        let sizes = |name: &str| shipped_group(name).unwrap().subsets.len();
        for (name, size) in [
            ("mmlu", 57),
            ("mmlu-stem", 19),
            ("ceval", 52),
            ("ceval-test-hard", 8),
            ("cmmlu", 67),
            ("cmmlu-china-specific", 15),
            ("agieval", 21),
            ("agieval-gaokao", 9),
            ("bbh", 27),
            ("GaokaoBench", 14),
            ("mgsm", 11),
        ] {
            assert_eq!(sizes(name), size, "{name}");
        }
        for group in &all {
            let Average::Weighted(weights) = &group.average else { continue };
            assert_eq!(weights.len(), group.subsets.len(), "{}", group.name);
        }
        let Average::Weighted(weights) = shipped_group("mmlu-weighted").unwrap().average else { unreachable!() };
        assert_eq!(weights.iter().sum::<f64>(), 14042.0); // the questions of MMLU's test split
    }

    #[test]
    fn a_shipped_group_needs_all_its_subsets_unless_it_is_asked_for() {
        let languages = ["bn", "de", "en", "es", "fr", "ja", "ru", "sw", "te", "th", "zh"];
        let abbrs: Vec<String> = languages.iter().map(|language| format!("mgsm_{language}")).collect();
        let shown = |abbrs: &[String], own: &[SummaryGroup]| -> Vec<String> {
            let table = summary_of(abbrs).with_groups(own, None).csv();
            let names = table.lines().skip(1 + abbrs.len()).map(|line| line.split(',').next().unwrap().to_owned());
            names.collect()
        };
        let twice = |name: &str| [name.to_owned(), name.to_owned()];
        assert_eq!(shown(&abbrs, &[]), [twice("mgsm_latin"), twice("mgsm_non_latin"), twice("mgsm")].concat());
        assert_eq!(shown(&abbrs[1..], &[]), twice("mgsm_latin"));
        assert_eq!(shown(&abbrs[1..], &[group("mgsm", &[])])[2..], ["mgsm"]);
    }
}
