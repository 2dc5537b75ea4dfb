//! An estimate as text.

use super::predict::{Estimate, Seconds, Source, UnitEstimate};
use compass_common::words::{counted, duration};
use std::fmt::Write as _;
use std::time::Duration;

/// Rows that are shown: those that take longest.
const ROWS: usize = 20;

/// What the job is to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// GPUs; `None` for what the configuration would launch.
    pub gpus: Option<u32>,
    /// Slots that the configuration would launch.
    pub slots: u32,
    pub deadline: Option<Duration>,
}

/// For a terminal; ends with a newline.
pub fn shown(estimate: &Estimate, wishes: Wishes) -> String {
    let mut units: Vec<&UnitEstimate> = estimate.units.iter().collect();
    units.sort_by(|a, b| b.seconds.middle.total_cmp(&a.seconds.middle));
    let all = units.iter().fold(Seconds::default(), |sum, unit| sum + unit.seconds);
    let mut rows = vec![
        ["model", "data set", "samples", "submitted", "distinct", "generated", "slot time", "share", "by"]
            .map(str::to_owned),
    ];
    rows.extend(units.iter().take(ROWS).map(|unit| row(unit, all)));
    let mut text = grid(&rows);
    if units.len() > ROWS {
        let rest = units.iter().skip(ROWS).fold(Seconds::default(), |sum, unit| sum + unit.seconds);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "and {} more data sets: {}", units.len() - ROWS, interval(rest));
    }
    let total = |of: fn(&UnitEstimate) -> u64| units.iter().map(|unit| of(unit)).sum::<u64>();
    let _ = writeln!(
        text,
        "\nall: {} samples, {} tokens submitted, {} distinct, about {} generated",
        total(|unit| unit.samples),
        total(|unit| unit.submitted),
        total(|unit| unit.distinct),
        total(|unit| unit.generated)
    );
    let unknown = units.iter().filter(|unit| unit.source == Source::Unknown).count();
    if unknown > 0 {
        let _ = writeln!(
            text,
            "no time is known of {}: the weights cannot be read here, and no run in this state_dir had the model",
            counted(unknown as u64, "data set")
        );
    }
    time(&mut text, &units, all, wishes);
    text
}

/// How long, on what, and what a deadline needs.
fn time(text: &mut String, units: &[&UnitEstimate], all: Seconds, wishes: Wishes) {
    let of_gpus = units.iter().fold(Seconds::default(), |sum, unit| sum + unit.seconds.times(f64::from(unit.gpus)));
    let of_cpus = units.iter().filter(|unit| unit.gpus == 0).fold(Seconds::default(), |sum, unit| sum + unit.seconds);
    let largest = units.iter().map(|unit| unit.gpus).max().unwrap_or(0);
    if largest == 0 {
        let slots = wishes.slots.max(1);
        let wall = all.times(1.0 / f64::from(slots));
        let _ = writeln!(
            text,
            "time on {} without GPUs, once weights are loaded: {}",
            counted(slots, "slot"),
            interval(wall)
        );
        if let Some(deadline) = wishes.deadline {
            let needed = (all.high / deadline.as_secs_f64()).ceil().max(1.0);
            let _ = writeln!(text, "deadline {}: --max-num-workers {needed:.0}", duration(deadline.as_secs_f64()));
        }
        return;
    }
    let hours = of_gpus.times(1.0 / 3600.0);
    let _ = writeln!(text, "GPU hours: {:.2} ({:.2} to {:.2})", hours.middle, hours.low, hours.high);
    let gpus = wishes.gpus.unwrap_or(wishes.slots.max(1).saturating_mul(largest)).max(largest);
    let wall = of_gpus.times(1.0 / f64::from(gpus)) + of_cpus.times(1.0 / f64::from(wishes.slots.max(1)));
    let _ = writeln!(text, "time on {}, once weights are loaded: {}", counted(gpus, "GPU"), interval(wall));
    if let Some(deadline) = wishes.deadline {
        let needed = (of_gpus.high / deadline.as_secs_f64()).ceil().max(f64::from(largest));
        // Whole slots of the largest model.
        let needed = (needed / f64::from(largest)).ceil() * f64::from(largest);
        let _ = writeln!(text, "deadline {}: --max-gpus {needed:.0}", duration(deadline.as_secs_f64()));
    }
}

fn interval(seconds: Seconds) -> String {
    format!("{} ({} to {})", duration(seconds.middle), duration(seconds.low), duration(seconds.high))
}

fn row(unit: &UnitEstimate, all: Seconds) -> [String; 9] {
    let share = if all.middle > 0.0 { 100.0 * unit.seconds.middle / all.middle } else { 0.0 };
    let by = match &unit.source {
        Source::Runs { runs: 1, device } => format!("a run on {device}"),
        Source::Runs { runs, device } => format!("{runs} runs on {device}"),
        Source::Others { device } => format!("other data sets on {device}"),
        Source::Roofline => "roofline".to_owned(),
        Source::Unknown => "nothing".to_owned(),
    };
    [
        unit.model.clone(),
        unit.dataset.clone(),
        unit.samples.to_string(),
        unit.submitted.to_string(),
        unit.distinct.to_string(),
        unit.generated.to_string(),
        if unit.source == Source::Unknown { "unknown".into() } else { interval(unit.seconds) },
        format!("{share:.0} %"),
        by,
    ]
}

/// Columns of equal width, numbers to the right.
fn grid(rows: &[[String; 9]]) -> String {
    let widths: Vec<usize> =
        (0..9).map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| match at {
            2..=5 | 7 => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("   ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(dataset: &str, seconds: f64, gpus: u32) -> UnitEstimate {
        UnitEstimate {
            model: "m".into(),
            dataset: dataset.into(),
            samples: 10,
            submitted: 100,
            distinct: 50,
            generated: 5,
            seconds: Seconds { low: seconds / 2.0, middle: seconds, high: seconds * 2.0 },
            gpus,
            source: Source::Others { device: "gpu".into() },
        }
    }

    #[test]
    fn gpus_hours_and_what_a_deadline_needs() {
        let estimate = Estimate { units: vec![unit("small", 600.0, 2), unit("large", 3_000.0, 2)] };
        let wishes = Wishes { gpus: Some(4), slots: 1, deadline: Some(Duration::from_secs(2_000)) };
        let text = shown(&estimate, wishes);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("m       large") && lines[1].contains("83 %"), "{text}");
        assert!(text.contains("GPU hours: 2.00 (1.00 to 4.00)"), "{text}");
        assert!(text.contains("time on 4 GPUs, once weights are loaded: 30m 00s (15m 00s to 1h 00m)"), "{text}");
        // 14,400 GPU seconds at most in 2,000 s are 7.2, in whole slots of 2.
        assert!(text.ends_with("deadline 33m 20s: --max-gpus 8\n"), "{text}");
    }

    #[test]
    fn without_gpus_slots_are_counted() {
        let estimate = Estimate { units: vec![unit("one", 600.0, 0)] };
        let text = shown(&estimate, Wishes { gpus: None, slots: 2, deadline: Some(Duration::from_secs(100)) });
        assert!(
            text.contains("time on 2 slots without GPUs, once weights are loaded: 5m 00s (2m 30s to 10m 00s)"),
            "{text}"
        );
        assert!(text.ends_with("deadline 1m 40s: --max-num-workers 12\n"), "{text}");
    }
}
