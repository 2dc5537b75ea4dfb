//! The table, the lines of goal_lines, and the JSON. Pure.

use compass_engine::gpu_check::{CheckStatus, Finding};
use serde_json::{Value, json};

/// Longest text of a value in the table.
const VALUE_CHARACTERS: usize = 60;

/// A value as a person reads it.
fn value(finding: &Finding) -> String {
    let text = match &finding.value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.abs() >= 100.0 => format!("{float:.0}"),
            Some(float) if number.is_f64() && (float >= 1.0 || float == 0.0) => format!("{float:.2}"),
            Some(float) if number.is_f64() && float.abs() < 1e-3 => format!("{float:.1e}"),
            Some(float) if number.is_f64() => format!("{float:.4}"),
            _ => number.to_string(),
        },
        Value::Array(values) if values.is_empty() => "none".into(),
        other => other.to_string(),
    };
    if finding.unit.is_empty() { text } else { format!("{text} {}", finding.unit) }
}

/// The table: a line for each row.
pub(super) fn table(findings: &[Finding]) -> String {
    let cut = |text: String| match text.char_indices().nth(VALUE_CHARACTERS) {
        // The whole text is among the lines below, or in the JSON.
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    };
    let row = |finding: &Finding| {
        [finding.section.clone(), finding.name.clone(), cut(value(finding)), finding.status.word().to_owned()]
    };
    let rows: Vec<[String; 4]> = std::iter::once(["section", "what", "value", "status"].map(str::to_owned))
        .chain(findings.iter().map(row))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let line = |row: &[String; 4]| {
        let [section, what, value, status] = row;
        let [a, b, c] = widths;
        format!("{section:<a$}  {what:<b$}  {value:<c$}  {status}\n")
    };
    rows.iter().map(line).collect()
}

/// One line for each goal and each section that broke, and a sum.
pub(super) fn goal_lines(findings: &[Finding]) -> String {
    let is_told = |finding: &&Finding| !finding.goal.is_empty() || finding.status == CheckStatus::Failed;
    let line = |finding: &Finding| {
        let word = match finding.status {
            CheckStatus::Measured => "not judged here",
            status => status.word(),
        };
        let goal = if finding.goal.is_empty() { String::new() } else { format!(" (goal: {})", finding.goal) };
        format!("{word}: {}: {}: {}{goal}\n", finding.section, finding.name, value(finding))
    };
    let lines: String = findings.iter().filter(is_told).map(line).collect();
    let count = |status: CheckStatus| findings.iter().filter(|finding| finding.status == status).count();
    let unjudged =
        findings.iter().filter(|finding| finding.status == CheckStatus::Measured && !finding.goal.is_empty());
    format!(
        "{lines}goals: {} passed, {} failed, {} not judged here; rows: {} skipped\n",
        count(CheckStatus::Passed),
        count(CheckStatus::Failed),
        unjudged.count(),
        count(CheckStatus::Skipped)
    )
}

/// Makes the JSON of the report's file.
pub(super) fn document(model: &str, seconds: f64, findings: &[Finding]) -> Value {
    let device = findings.iter().find(|finding| finding.section == "environment" && finding.name == "device");
    json!({
        "program": format!("compass-worker {}", compass_cli::version()),
        "model": model,
        "device": device.map(|finding| finding.value.clone()),
        "seconds": seconds,
        "findings": findings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> Vec<Finding> {
        vec![
            Finding::measured("environment", "device", "cpu", ""),
            Finding::measured("decode", "4 sequences", 12.345, "tokens/s").judged("at least 10 tokens/s", Some(true)),
            Finding::measured("prefill", "MFU", 3.0, "%").judged("at least 55 %", None),
            Finding::measured("gemm", "rows", Vec::<i64>::new(), "").judged("none", Some(false)),
            Finding::ended("transformers", CheckStatus::Skipped, "no Python"),
            Finding::ended("load", CheckStatus::Failed, "cannot load"),
        ]
    }

    #[test]
    fn table_has_a_line_for_each_row() {
        assert_eq!(
            table(&findings()),
            "section       what         value           status\n\
             environment   device       cpu             measured\n\
             decode        4 sequences  12.35 tokens/s  passed\n\
             prefill       MFU          3.00 %          measured\n\
             gemm          rows         none            FAILED\n\
             transformers  section      no Python       skipped\n\
             load          section      cannot load     FAILED\n"
        );
    }

    #[test]
    fn every_goal_has_one_line() {
        assert_eq!(
            goal_lines(&findings()),
            "passed: decode: 4 sequences: 12.35 tokens/s (goal: at least 10 tokens/s)\n\
             not judged here: prefill: MFU: 3.00 % (goal: at least 55 %)\n\
             FAILED: gemm: rows: none (goal: none)\n\
             FAILED: load: section: cannot load\n\
             goals: 1 passed, 2 failed, 1 not judged here; rows: 1 skipped\n"
        );
    }
}
