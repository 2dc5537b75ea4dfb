//! Numbers as a report shows them.

use crate::row::Row;

/// Two decimals of percent; four digits of another unit.
pub(crate) fn number(value: f64, is_percent: bool) -> String {
    // A zero has no sign.
    let value = if value == 0.0 { 0.0 } else { value };
    match is_percent {
        true => unsigned_zero(format!("{value:.2}")),
        false if value != 0.0 && (value.abs() < 1e-3 || value.abs() >= 1e6) => format!("{value:.3e}"),
        false => unsigned_zero(format!("{value:.4}")),
    }
}

fn unsigned_zero(text: String) -> String {
    let is_zero = text.starts_with('-') && text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    if is_zero { text.trim_start_matches('-').to_owned() } else { text }
}

/// With its sign.
pub(crate) fn signed(value: f64, is_percent: bool) -> String {
    let text = number(value, is_percent);
    if text.starts_with('-') || text.chars().all(|c| matches!(c, '0' | '.')) { text } else { format!("+{text}") }
}

/// `1 pair`, `2 pairs`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A p-value, never 0.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.0001 { "<0.0001".into() } else { format!("{p:.4}") }
}

impl Row {
    /// The cells of the row after its labels: pairs, both numbers, the difference, its interval, p, the least detectable.
    pub(crate) fn cells(&self) -> [String; 7] {
        let estimate = &self.estimate;
        let show = |value| number(value, self.is_percent);
        let with_sign = |value| signed(value, self.is_percent);
        let pairs = match estimate.left_out {
            0 => estimate.pairs.to_string(),
            left_out => format!("{} ({left_out} unscored)", estimate.pairs),
        };
        let interval = format!("{} to {}", with_sign(estimate.interval.low), with_sign(estimate.interval.high));
        let detectable = estimate.detectable.map_or("-".into(), show);
        [
            pairs,
            show(estimate.a),
            show(estimate.b),
            with_sign(estimate.difference),
            interval,
            p_value(self.adjusted_p),
            detectable,
        ]
    }

    /// The conclusion in words.
    pub(crate) fn said(&self) -> String {
        match self.conclusion {
            crate::Conclusion::Inconclusive { needed: Some(needed) } => {
                format!("{} ({needed} pairs would tell)", self.conclusion.name())
            }
            conclusion => conclusion.name().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_have_no_sign_and_p_values_are_never_zero() {
        assert_eq!([number(-0.0, true), number(-0.001, true), signed(0.0, true)], ["0.00", "0.00", "0.00"]);
        assert_eq!([signed(1.5, true), signed(-1.5, true), number(2e-5, false)], ["+1.50", "-1.50", "2.000e-5"]);
        assert_eq!([p_value(0.0), p_value(0.04)], ["<0.0001", "0.0400"]);
        assert_eq!([0, 1, 2].map(|n| counted(n, "pair", "pairs")), ["0 pairs", "1 pair", "2 pairs"]);
    }
}
