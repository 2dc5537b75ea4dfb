//! MathBench's groups of OpenCompass's `mathbench_v1_2024`: applications and theory, by level and by language.

use super::super::group::{Subset, SummaryGroup};

const LEVELS: [&str; 3] = ["college", "high", "middle"];

/// Adds every group after those that it is made of.
pub(super) fn add(all: &mut Vec<SummaryGroup>) {
    let both = |level: &str, kind: &str, metric: &str| {
        group(level, ["cn", "en"].map(|language| subset(&format!("mathbench-{level}-{kind}_{language}"), Some(metric))))
    };
    all.extend(LEVELS.map(|level| both(level, "single_choice", "perf_4")));
    all.push(both("primary", "cloze", "accuracy"));
    all.push(group("arithmetic", [subset("mathbench-arithmetic-cloze_en", Some("accuracy"))]));
    for language in ["cn", "en"] {
        let choices = LEVELS.map(|level| subset(&format!("mathbench-{level}-single_choice_{language}"), None));
        let cloze = subset(&format!("mathbench-primary-cloze_{language}"), None);
        all.push(group(&format!("mathbench-a-{language}"), choices.into_iter().chain([cloze])));
    }
    let levels = ["college", "high", "middle", "primary", "arithmetic"].map(|level| subset(level, None));
    all.push(group("mathbench-a (average)", levels));

    let levels = ["college", "high", "middle", "primary"].map(|level| format!("{level}_knowledge"));
    all.extend(levels.iter().map(|level| both(level, "single_choice", "perf_4")));
    for language in ["cn", "en"] {
        let choices = levels.iter().map(|level| subset(&format!("mathbench-{level}-single_choice_{language}"), None));
        all.push(group(&format!("mathbench-t-{language}"), choices));
    }
    all.push(group("mathbench-t (average)", levels.iter().map(|level| subset(level, None))));
    all.push(group("Overall", ["mathbench-a (average)", "mathbench-t (average)"].map(|part| subset(part, None))));
}

fn group(name: &str, subsets: impl IntoIterator<Item = Subset>) -> SummaryGroup {
    SummaryGroup { subsets: subsets.into_iter().collect(), whole: true, ..SummaryGroup::naive(name, []) }
}

fn subset(name: &str, metric: Option<&str>) -> Subset {
    Subset { name: name.into(), metric: metric.map(str::to_owned) }
}
