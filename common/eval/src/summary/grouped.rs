//! Rows of groups out of the rows of their subsets.

use super::Summary;
use super::table::SummaryRow;
use super::table_value::{MissingReason, TableValue};
use crate::evaluator::Counts;
use compass_plan::summary::{Average, RowName, Subset, SummaryGroup, shipped_group, shipped_groups};

/// How many subsets a reason names before it only counts them.
const NAMED: usize = 5;

impl Summary {
    /// With rows for groups below: those that come with the program and have every subset in this table, then `own`.
    ///
    /// An own group takes the place of one of the same name that comes with the program. Without subsets it stands for
    /// that one, and is shown even when only some of its subsets are in the table, unless it wants to be whole and `asked`
    /// does not name it. A group none of whose subsets is in the table is not shown. Where a subset has no number, the group has none either, and says which subset and why.
    ///
    /// A group has one row for every metric that all its subsets have, and one for its own number, which is made of the
    /// first metric of each subset or of the metric named for it.
    pub fn with_groups(mut self, own: &[SummaryGroup], asked: Option<&[RowName]>) -> Self {
        let is_asked = |name: &str| asked.is_some_and(|rows| rows.iter().any(|row| row.name == name));
        let is_own = |name: &str| own.iter().any(|group| group.name == name);
        for group in shipped_groups().iter().filter(|group| !is_own(&group.name)) {
            if group.subsets.iter().all(|subset| self.has(&subset.name)) {
                self.add_group(group);
            }
        }
        for group in own {
            let meant = if group.subsets.is_empty() { shipped_group(&group.name) } else { None };
            let group = meant.as_ref().unwrap_or(group);
            let of_leaves = (group.average == Average::BySize).then(|| self.of_leaves(group, own));
            let group = of_leaves.as_ref().unwrap_or(group);
            let is_whole = group.subsets.iter().all(|subset| self.row_of(subset, None).is_some());
            let is_shown = is_whole || !group.whole || is_asked(&group.name);
            if is_shown && group.subsets.iter().any(|subset| self.has(&subset.name)) {
                self.add_group(group);
            }
        }
        self
    }

    /// The group with the data sets of groups within it in their place.
    fn of_leaves(&self, group: &SummaryGroup, own: &[SummaryGroup]) -> SummaryGroup {
        let is_data_set = |name: &str| self.rows.iter().any(|row| row.name() == name && !row.is_group());
        let leaves = |subset: &Subset| match own.iter().find(|other| other.name == subset.name) {
            // A group is made of those before it: it is never within itself.
            Some(inner) if !is_data_set(&subset.name) && inner.name != group.name => self.of_leaves(inner, own).subsets,
            _ => vec![subset.clone()],
        };
        SummaryGroup { subsets: group.subsets.iter().flat_map(leaves).collect(), ..group.clone() }
    }

    fn has(&self, name: &str) -> bool {
        self.rows.iter().any(|row| row.name() == name)
    }

    fn add_group(&mut self, group: &SummaryGroup) {
        let mut metrics: Vec<Option<String>> = self.common_metrics(group).into_iter().map(Some).collect();
        metrics.push(None);
        let rows: Vec<SummaryRow> = metrics.iter().map(|metric| self.group_row(group, metric.as_deref())).collect();
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

    /// The row of a metric, or that of the group's own number.
    pub(super) fn group_row(&self, group: &SummaryGroup, metric: Option<&str>) -> SummaryRow {
        let rows: Vec<(&Subset, Option<&SummaryRow>)> =
            group.subsets.iter().map(|subset| (subset, self.row_of(subset, metric))).collect();
        let values = (0..self.models.len()).map(|model| value(group, &rows, model)).collect();
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
fn value(group: &SummaryGroup, rows: &[(&Subset, Option<&SummaryRow>)], model: usize) -> TableValue {
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
    TableValue { value, expected, counts }
}

/// Which subsets lack a number, by name and reason: a reason that several have stands once, behind all of them.
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
    use super::super::table::tests::{summary, summary_of};
    use super::*;
    use compass_plan::summary::Transform;

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

    #[test]
    fn subsets_are_transformed_before_one_number_is_made_of_them() {
        let transformed = |expression: &str| {
            let transforms = [("piqa".to_owned(), Transform::new(expression).unwrap())].into();
            csv(&[SummaryGroup { transforms, ..group("g", &["piqa", "piqa"]) }]).remove(0)
        };
        let plain = csv(&[group("g", &["piqa", "piqa"])]);
        assert!(plain[0].starts_with("g,-,accuracy,ppl,55.00,"), "{plain:?}");
        let other = transformed("max((100 - x) / 100, 0) * 10");
        assert!(other.starts_with("g,-,accuracy,ppl,4.50,"), "{other}");
        let transforms = [("piqa".to_owned(), Transform::new("1 / max(51 - x, 0)").unwrap())].into();
        let raised = shown(&[SummaryGroup { transforms, ..group("g", &["piqa", "piqa"]) }]);
        assert!(raised.contains("has no number for the group: `1 / max(51 - x, 0)`: ZeroDivisionError"), "{raised}");
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
