//! From the tables of subjects to groups.

use super::super::group::{Average, SummaryGroup};
use super::{ceval, cmmlu, exams, mathbench, mmlu};

/// The group of that name; `None` when none comes with the program.
pub fn group(name: &str) -> Option<SummaryGroup> {
    groups().into_iter().find(|group| group.name == name)
}

/// Every group, in the order in which a table shows them.
pub fn groups() -> Vec<SummaryGroup> {
    let mut all = Vec::new();
    add_mmlu(&mut all);
    add_ceval(&mut all, "ceval");
    add_ceval(&mut all, "ceval-test");
    for (name, subjects) in [
        ("cmmlu-humanities", cmmlu::HUMANITIES.as_slice()),
        ("cmmlu-stem", &cmmlu::STEM),
        ("cmmlu-social-science", &cmmlu::SOCIAL_SCIENCE),
        ("cmmlu-other", &cmmlu::OTHER),
        ("cmmlu-china-specific", &cmmlu::CHINA_SPECIFIC),
        ("cmmlu", &cmmlu::ALL),
    ] {
        all.push(named(name, "cmmlu-", subjects));
    }
    for (name, prefix, subsets) in [
        ("agieval-chinese", "agieval-", exams::AGIEVAL_CHINESE.as_slice()),
        ("agieval-english", "agieval-", &exams::AGIEVAL_ENGLISH),
        ("agieval-gaokao", "agieval-", &exams::AGIEVAL_GAOKAO),
        ("agieval", "agieval-", &exams::AGIEVAL),
        ("bbh", "bbh-", &exams::BBH),
    ] {
        all.push(named(name, prefix, subsets));
    }
    all.push(weighted("GaokaoBench", "GaokaoBench_", exams::GAOKAO_BENCH.iter()));
    for (name, languages) in [
        ("mgsm_latin", exams::MGSM_LATIN.as_slice()),
        ("mgsm_non_latin", &exams::MGSM_NON_LATIN),
        ("mgsm", &exams::MGSM),
    ] {
        all.push(named(name, "mgsm_", languages));
    }
    all.push(named("mmlu_pro", "mmlu_pro_", &mmlu::PRO));
    mathbench::add(&mut all);
    all
}

fn add_mmlu(all: &mut Vec<SummaryGroup>) {
    const PREFIX: &str = "lukaemon_mmlu_";
    let parts: [(&str, &[(&str, u32)]); 4] = [
        ("mmlu-humanities", &mmlu::HUMANITIES),
        ("mmlu-stem", &mmlu::STEM),
        ("mmlu-social-science", &mmlu::SOCIAL_SCIENCE),
        ("mmlu-other", &mmlu::OTHER),
    ];
    let subjects = |part: &[(&'static str, u32)]| part.iter().map(|(subject, _)| *subject).collect::<Vec<_>>();
    all.extend(parts.iter().map(|(name, part)| named(name, PREFIX, &subjects(part))));
    let every: Vec<(&str, u32)> = parts.iter().flat_map(|(_, part)| part.iter().copied()).collect();
    all.push(named("mmlu", PREFIX, &subjects(&every)));
    all.push(weighted("mmlu-weighted", PREFIX, every.iter()));
}

fn add_ceval(all: &mut Vec<SummaryGroup>, name: &str) {
    let prefix = format!("{name}-");
    let parts: [(&str, &[&str]); 4] = [
        ("stem", &ceval::STEM),
        ("social-science", &ceval::SOCIAL_SCIENCE),
        ("humanities", &ceval::HUMANITIES),
        ("other", &ceval::OTHER),
    ];
    all.extend(parts.iter().map(|(part, subjects)| named(&format!("{prefix}{part}"), &prefix, subjects)));
    all.push(named(&format!("{prefix}hard"), &prefix, &ceval::HARD));
    let every: Vec<&str> = parts.iter().flat_map(|(_, subjects)| subjects.iter().copied()).collect();
    all.push(named(name, &prefix, &every));
}

fn named(name: &str, prefix: &str, subsets: &[&str]) -> SummaryGroup {
    SummaryGroup::naive(name, subsets.iter().map(|subset| format!("{prefix}{subset}")))
}

fn weighted<'a>(name: &str, prefix: &str, subsets: impl Iterator<Item = &'a (&'a str, u32)> + Clone) -> SummaryGroup {
    let names = subsets.clone().map(|(subset, _)| format!("{prefix}{subset}"));
    let weights = subsets.map(|(_, weight)| f64::from(*weight)).collect();
    SummaryGroup { average: Average::Weighted(weights), ..SummaryGroup::naive(name, names) }
}
