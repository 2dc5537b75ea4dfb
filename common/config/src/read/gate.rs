//! The policy of `compass-master gate`: what of a candidate is held against a baseline, and how much worse it may be.

use super::fields::{Fields, number, number_from_zero, whole};
use crate::keys::vocabulary::{Choices, plain};
use crate::keys::{Kind, TableKeys, key};
use crate::report::check::Check;
use crate::syntax::parse::parse;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Value};
use compass_common::regular_file;
use compass_diagnostic::Diagnostics;
use compass_settings::{Correction, GatePolicy, GateRule, GateTier};
use std::path::Path;

pub(crate) static GATE: TableKeys = TableKeys {
    name: "gate",
    title: "the policy",
    keys: &[
        key("default", Kind::Table(&GATE_DEFAULT), "what holds for rules that do not say it"),
        key("rule", Kind::Tables(&GATE_RULE), "what is judged").required(),
    ],
    types: &[],
};

pub(crate) static GATE_DEFAULT: TableKeys = TableKeys {
    name: "gate_default",
    title: "[default]",
    keys: &[
        key("margin", Kind::Number, "by how much a number may be worse, in its unit").default("none"),
        key("relative", Kind::Number, "by how many percent of the baseline's number it may be worse").default("none"),
        key("min_samples", Kind::Whole(1, i64::MAX), "fewest pairs that are judged").default("`1`"),
        key("confidence", Kind::Number, "of the intervals").default("`0.95`"),
        key("correction", Kind::Text, "of several no-gos: `holm`, `bh` or `none`").default("`holm`"),
    ],
    types: &[],
};

pub(crate) static GATE_RULE: TableKeys = TableKeys {
    name: "gate_rule",
    title: "[[rule]]",
    keys: &[
        key("dataset", Kind::Text, "data sets and groups: a name, or a pattern with `*`").required(),
        key("metric", Kind::Text, "which metric").default("the first of each data set"),
        key("tier", Kind::Text, "`critical`, `supporting` or `advisory`").default("`critical`"),
        key("margin", Kind::Number, "see [default]").default("that of [default]"),
        key("relative", Kind::Number, "see [default]; with both, both have to hold").default("that of [default]"),
        key("min_samples", Kind::Whole(1, i64::MAX), "see [default]").default("that of [default]"),
        key("required", Kind::Boolean, "whether the candidate has to have what the baseline has").default("`true`"),
    ],
    types: &[],
};

/// Largest policy.
const MOST_BYTES: u64 = 1 << 20;
const CONFIDENCE: f64 = 0.95;

const TIERS: Choices<'_, GateTier> =
    plain(&[("critical", GateTier::Critical), ("supporting", GateTier::Supporting), ("advisory", GateTier::Advisory)]);

const CORRECTIONS: Choices<'_, Correction> =
    plain(&[("holm", Correction::Holm), ("bh", Correction::BenjaminiHochberg), ("none", Correction::None)]);

/// Reads a policy.
///
/// # Errors
/// All errors at once, with their places.
pub fn load_gate(path: &Path) -> Result<GatePolicy, Diagnostics> {
    let mut check = Check::new(None);
    let policy = read(&mut check, path);
    check.finish()?;
    policy.ok_or_else(Diagnostics::default)
}

fn read(check: &mut Check, path: &Path) -> Option<GatePolicy> {
    let help = || Some("give --policy the path of a TOML file with one [[rule]] at least".to_owned());
    let read = std::fs::canonicalize(path).and_then(|canonical| Ok((regular_file::read(path, MOST_BYTES)?, canonical)));
    let (bytes, canonical) = match read {
        Ok(read) => read,
        Err(error) => {
            check.report(None, format!("cannot read `{}`: {error}", path.display()), help());
            return None;
        }
    };
    let Ok(text) = String::from_utf8(bytes) else {
        check.report(None, format!("`{}` is not UTF-8 text", path.display()), Some("save the file as UTF-8".into()));
        return None;
    };
    let span = |file, end| Span { file, start: 0, end };
    let file = check.sources.add(path, canonical, text);
    let table = parse(check, file)?;
    let mut root = Fields::new(&table, span(file, 0), &GATE);
    let mut defaults = Defaults::default();
    if let Some(mut fields) = root.table(check, "default", &GATE_DEFAULT) {
        defaults.read(check, &mut fields);
        fields.finish(check);
    }
    let rules = root.get("rule");
    root.finish(check);
    let Some(rules) = rules else {
        check.report(None, format!("`{}` has no [[rule]]: nothing would be judged", path.display()), help());
        return None;
    };
    let Value::Array(items) = &rules.value else {
        check.wrong_type("rule", rules, "an array of tables", "[{ dataset = \"*\", margin = 1.0 }]");
        return None;
    };
    let rules: Vec<GateRule> = items.iter().filter_map(|item| rule(check, item, &defaults)).collect();
    Some(GatePolicy { confidence: defaults.confidence, correction: defaults.correction, rules })
}

struct Defaults {
    margin: Option<f64>,
    relative: Option<f64>,
    min_samples: u64,
    confidence: f64,
    correction: Correction,
    /// Set if it says by how much a number may be worse, even in a way that is refused.
    says_how: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        let correction = Correction::Holm;
        Self { margin: None, relative: None, min_samples: 1, confidence: CONFIDENCE, correction, says_how: false }
    }
}

impl Defaults {
    fn read(&mut self, check: &mut Check, fields: &mut Fields<'_>) {
        self.says_how = ["margin", "relative"].iter().any(|key| fields.table.get(key).is_some());
        self.margin = fields.get("margin").and_then(|node| number_from_zero(check, "margin", node));
        self.relative = fields.get("relative").and_then(|node| number_from_zero(check, "relative", node));
        self.min_samples = samples(check, fields).unwrap_or(self.min_samples);
        if let Some(node) = fields.get("confidence") {
            let value = number(check, "confidence", node, "0.95");
            match value.filter(|value| (0.5..1.0).contains(value)) {
                Some(value) => self.confidence = value,
                None if value.is_some() => {
                    let help = "write a share of at least 0.5 and below 1, as in `confidence = 0.95`";
                    check.error(node.span, "`confidence` is out of range".into(), Some(help.into()));
                }
                None => {}
            }
        }
        if let Some(node) = fields.get("correction") {
            self.correction = CORRECTIONS.pick(check, "correction", node).unwrap_or(self.correction);
        }
    }
}

fn rule(check: &mut Check, node: &Node, defaults: &Defaults) -> Option<GateRule> {
    let origin = check.sources.origin(node.span);
    let mut fields = super::fields::table(check, "rule", node, &GATE_RULE)?;
    let dataset =
        fields.require(check, "dataset", "\"mmlu*\"").and_then(|node| super::fields::text(check, "dataset", node));
    let metric = fields.text(check, "metric").map(str::to_owned);
    let tier = fields.get("tier").map_or(Some(GateTier::Critical), |node| TIERS.pick(check, "tier", node));
    let margin = fields.get("margin").and_then(|node| number_from_zero(check, "margin", node));
    let relative = fields.get("relative").and_then(|node| number_from_zero(check, "relative", node));
    let min_samples = samples(check, &mut fields).unwrap_or(defaults.min_samples);
    let required = match fields.get("required").map(|node| (node, &node.value)) {
        None => true,
        Some((_, Value::Boolean(flag))) => *flag,
        Some((node, _)) => {
            check.wrong_type("required", node, "a boolean", "false");
            true
        }
    };
    let said = fields.table.get("margin").is_some() || fields.table.get("relative").is_some();
    fields.finish(check);
    // A rule that says one of them says how it is judged.
    let (margin, relative) = if said { (margin, relative) } else { (defaults.margin, defaults.relative) };
    if margin.is_none() && relative.is_none() && !said && !defaults.says_how {
        let help = "write `margin = 1.0` in the rule or in [default]: by how much the number may be worse";
        check.error(node.span, "the rule has neither `margin` nor `relative`".into(), Some(help.into()));
        return None;
    }
    Some(GateRule {
        origin,
        dataset: dataset?.to_owned(),
        metric,
        tier: tier?,
        margin,
        relative,
        min_samples,
        required,
    })
}

fn samples(check: &mut Check, fields: &mut Fields<'_>) -> Option<u64> {
    let node = fields.get("min_samples")?;
    whole(check, "min_samples", node, 1..=i64::MAX).and_then(|number| number.try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<GatePolicy, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate.toml");
        std::fs::write(&path, text).unwrap();
        load_gate(&path).map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_policy_with_defaults() {
        let policy = load(
            "[default]\nmargin = 1\nmin_samples = 200\nconfidence = 0.9\n\
             [[rule]]\ndataset = \"mmlu*\"\n\
             [[rule]]\ndataset = \"gsm8k\"\nmetric = \"accuracy\"\ntier = \"advisory\"\nrelative = 2.5\nrequired = false\n",
        )
        .unwrap();
        assert_eq!((policy.confidence, policy.correction), (0.9, Correction::Holm));
        let [first, second] = policy.rules.as_slice() else { panic!("{policy:?}") };
        assert_eq!(
            (first.margin, first.relative, first.min_samples, first.tier),
            (Some(1.0), None, 200, GateTier::Critical)
        );
        assert_eq!(
            (second.margin, second.relative, second.required),
            (None, Some(2.5), false),
            "a rule says how it is judged"
        );
        assert_eq!((second.origin.line, second.tier), (7, GateTier::Advisory));
    }

    #[test]
    fn every_mistake_has_its_place() {
        for (text, said) in [
            ("", "has no [[rule]]"),
            ("[[rule]]\ndataset = \"a\"\nmargn = 1\n", "gate.toml:3:1"),
            ("[[rule]]\ndataset = \"a\"\nmargin = -1\n", "out of range: -1"),
            ("[[rule]]\ndataset = \"a\"\nmargin = \"1\"\n", "takes a number"),
            ("[[rule]]\nmargin = 1\n", "missing key `dataset`"),
            ("[[rule]]\ndataset = \"a\"\n", "neither `margin` nor `relative`"),
            ("[default]\nconfidence = 95\n[[rule]]\ndataset = \"a\"\nmargin = 1\n", "at least 0.5 and below 1"),
            ("[[rule]]\ndataset = \"a\"\nmargin = 1\ntier = \"critcal\"\n", "did you mean `critical`"),
            ("[rules]\n", "did you mean `rule`"),
            ("[[rule]\n", "gate.toml:1"),
        ] {
            let found = load(text).unwrap_err();
            assert!(found.contains(said), "{text:?}: {found}");
        }
        // What [default] says wrongly is one mistake, not one of each rule too.
        let one = load("[default]\nmargin = -1\n[[rule]]\ndataset = \"a\"\n").unwrap_err();
        assert!(one.contains("out of range: -1") && !one.contains("neither"), "{one}");
        let missing = load_gate(Path::new("/nowhere/gate.toml")).unwrap_err().to_string();
        assert!(missing.contains("cannot read `/nowhere/gate.toml`") && missing.contains("--policy"), "{missing}");
    }
}
