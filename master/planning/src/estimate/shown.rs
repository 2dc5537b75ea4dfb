//! An estimate as text: a table, as wide as its content or no wider than a terminal, and below it how long, on what.

use super::predict::{Estimate, Seconds, Source, TokenSource, UnitEstimate};
use super::replicas::Replicas;
use compass_cli::wrapping::{fits, wrapped_text};
use compass_common::words::{counted, duration};
use std::fmt::Write as _;
use std::time::Duration;

/// Rows that are shown: those that take longest.
const ROWS: usize = 20;

/// Indent of lines that are broken.
const INDENT: usize = 4;

const HEADS: [&str; 10] = [
    "model",
    "data set",
    "samples",
    "submitted",
    "distinct",
    "generated",
    "tokens by",
    "slot time",
    "share",
    "time by",
];

/// Columns of [`HEADS`] that hold numbers.
const NUMBERS: [usize; 6] = [2, 3, 4, 5, 7, 8];

/// Resources and deadline that the job is to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// GPUs; `None` for what the configuration would launch.
    pub gpus: Option<u32>,
    /// Slots that the configuration would launch.
    pub slots: u32,
    /// Cores that all slots share; `None` where they may be on several hosts.
    pub cores: Option<u32>,
    pub deadline: Option<Duration>,
}

impl Wishes {
    /// Slots without GPUs that work at once: those beyond the cores only wait for one another.
    fn at_once(self) -> u32 {
        self.slots.min(self.cores.unwrap_or(u32::MAX)).max(1)
    }
}

/// For a terminal of so many columns, or for a file; ends with a newline.
pub fn shown(estimate: &Estimate, wishes: Wishes, width: Option<usize>) -> String {
    let mut units: Vec<&UnitEstimate> = estimate.units.iter().collect();
    units.sort_by(|a, b| b.seconds.middle.total_cmp(&a.seconds.middle));
    let all = units.iter().fold(Seconds::default(), |sum, unit| sum + unit.seconds);
    let rows: Vec<[String; 10]> = units.iter().take(ROWS).map(|unit| row(unit, all)).collect();
    let table = grid(&rows);
    let table = if fits(&table, width) { table } else { stacked(&rows) };
    let mut text = String::new();
    if units.len() > ROWS {
        let rest = units.iter().skip(ROWS).fold(Seconds::default(), |sum, unit| sum + unit.seconds);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "and {} more data sets: {}", units.len() - ROWS, interval(rest));
    }
    // What data sets share counts in each of them, unless a run of this job told it.
    let distinct = match units.iter().all(|unit| unit.is_distinct_in_job) {
        true => "distinct",
        false => "distinct within each data set",
    };
    let total = |of: fn(&UnitEstimate) -> u64| units.iter().map(|unit| of(unit)).sum::<u64>();
    let _ = writeln!(
        text,
        "\nall: {} samples, {} tokens submitted, {} {distinct}, about {} generated",
        total(|unit| unit.samples),
        total(|unit| unit.submitted),
        total(|unit| unit.distinct),
        total(|unit| unit.generated)
    );
    for note in &estimate.notes {
        let _ = writeln!(text, "{note}");
    }
    unknown(&mut text, &units);
    time(&mut text, &units, wishes);
    wrapped_text(&(table + &text), width, INDENT)
}

/// Data sets of which no time is known, and why.
fn unknown(text: &mut String, units: &[&UnitEstimate]) {
    let count = |behind: bool| {
        let unknown = units.iter().filter(|unit| unit.source == Source::Unknown);
        unknown.filter(|unit| unit.endpoint_slots.is_some() == behind).count() as u64
    };
    let whys = [
        (false, "the weights cannot be read here, and no run in this state_dir had the model"),
        (true, "no run in this state_dir asked the endpoint"),
    ];
    for (count, why) in whys.map(|(behind, why)| (count(behind), why)).into_iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "no time is known of {}: {why}", counted(count, "data set"));
    }
}

/// Writes how long the job takes, on what, and what a deadline needs.
fn time(text: &mut String, units: &[&UnitEstimate], wishes: Wishes) {
    let on_gpus = Replicas::of(units.iter().copied());
    let largest = on_gpus.largest();
    let known: Vec<&UnitEstimate> = units.iter().copied().filter(|unit| unit.source != Source::Unknown).collect();
    let on_cpus: Vec<&UnitEstimate> =
        known.iter().copied().filter(|unit| unit.gpus == 0 && unit.endpoint_slots.is_none()).collect();
    let of_cpus = on_cpus.iter().fold(Seconds::default(), |sum, unit| sum + unit.seconds);
    if let (None, Some(gpus)) = (largest, wishes.gpus) {
        let _ = writeln!(text, "--gpus {gpus} is not used: no model of this job takes a GPU");
    }
    match largest {
        Some(largest) if known.iter().any(|unit| unit.gpus > 0) => {
            time_on_gpus(text, (&on_gpus, largest), of_cpus, wishes);
        }
        _ if on_cpus.is_empty() => {}
        _ => {
            let slots = wishes.slots.max(1);
            let wall = of_cpus.times(1.0 / f64::from(wishes.at_once()));
            let shown = counted(slots, "slot");
            let _ = writeln!(text, "time on {shown} without GPUs, once weights are loaded: {}", interval(wall));
            if let Some(cores) = wishes.cores.filter(|cores| *cores < slots) {
                let _ = writeln!(text, "this host has {}: more slots than that add no speed", counted(cores, "core"));
            }
            if let Some(deadline) = wishes.deadline {
                let needed = (of_cpus.high / deadline.as_secs_f64()).ceil().max(1.0);
                let deadline = duration(deadline.as_secs_f64());
                let _ = match wishes.cores.filter(|cores| f64::from(*cores) < needed) {
                    Some(cores) => writeln!(
                        text,
                        "deadline {deadline}: no number of slots on this host meets it, which has {}",
                        counted(cores, "core")
                    ),
                    None => writeln!(text, "deadline {deadline}: --max-num-workers {needed:.0}"),
                };
            }
        }
    }
    time_at_endpoints(text, &known, wishes);
}

/// Time of a job some of whose models take GPUs; `of_cpus` is that of the others, in seconds of slots.
fn time_on_gpus(text: &mut String, (on_gpus, largest): (&Replicas, u32), of_cpus: Seconds, wishes: Wishes) {
    let hours = on_gpus.gpu_seconds().times(1.0 / 3600.0);
    let _ = writeln!(text, "GPU hours: {:.2} ({:.2} to {:.2})", hours.middle, hours.low, hours.high);
    let asked = wishes.gpus.unwrap_or(wishes.slots.max(1).saturating_mul(largest));
    let gpus = asked.max(largest);
    if asked < largest {
        let _ = writeln!(text, "a replica takes {}: --gpus {asked} is too few", counted(largest, "GPU"));
    }
    let beside = of_cpus.times(1.0 / f64::from(wishes.at_once()));
    let wall = interval(on_gpus.wall(gpus) + beside);
    let idle = match gpus % largest {
        0 => String::new(),
        left => {
            let replicas = counted(gpus / largest, "replica");
            format!(" ({replicas} of {}, {} idle)", counted(largest, "GPU"), counted(left, "GPU"))
        }
    };
    let _ = writeln!(text, "time on {}{idle}, once weights are loaded: {wall}", counted(gpus, "GPU"));
    let Some(deadline) = wishes.deadline.map(|deadline| deadline.as_secs_f64()) else { return };
    let _ = match on_gpus.needed(deadline - beside.high) {
        Some(needed) => writeln!(text, "deadline {}: --max-gpus {needed}", duration(deadline)),
        None if beside.high > 0.0 => {
            let remedy = match wishes.cores.filter(|cores| *cores <= wishes.slots) {
                Some(cores) => format!("this host has {}", counted(cores, "core")),
                None => "--max-num-workers".to_owned(),
            };
            writeln!(
                text,
                "deadline {}: no number of GPUs meets it; what runs without GPUs may take {} ({remedy})",
                duration(deadline),
                duration(beside.high)
            )
        }
        None => writeln!(text, "deadline {}: no number of GPUs meets it", duration(deadline)),
    };
}

/// Time of each model behind an endpoint: its own settings say how fast it is asked.
fn time_at_endpoints(text: &mut String, known: &[&UnitEstimate], wishes: Wishes) {
    let mut models: Vec<(&str, u32, Seconds)> = Vec::new();
    for (unit, slots) in known.iter().filter_map(|unit| Some((unit, unit.endpoint_slots?))) {
        match models.iter_mut().find(|(model, ..)| *model == unit.model) {
            Some((.., seconds)) => *seconds = *seconds + unit.seconds,
            None => models.push((&unit.model, slots, unit.seconds)),
        }
    }
    for (model, slots, seconds) in models {
        let slots = slots.min(wishes.slots.max(1));
        let wall = seconds.times(1.0 / f64::from(slots));
        let slots = counted(slots, "worker slot");
        let _ =
            writeln!(text, "time at the endpoint of {model}, asked by {slots} (endpoint.workers): {}", interval(wall));
        let Some(deadline) = wishes.deadline.map(|deadline| deadline.as_secs_f64()) else { continue };
        let kept = match wall.high <= deadline {
            true => "kept",
            false => {
                "may be missed; max_concurrency, rpm and tpm of the endpoint set its pace, not the number of workers"
            }
        };
        let _ = writeln!(text, "deadline {}: {kept}", duration(deadline));
    }
}

fn interval(seconds: Seconds) -> String {
    format!("{} ({} to {})", duration(seconds.middle), duration(seconds.low), duration(seconds.high))
}

fn row(unit: &UnitEstimate, all: Seconds) -> [String; 10] {
    let share = if all.middle > 0.0 { 100.0 * unit.seconds.middle / all.middle } else { 0.0 };
    let by = match &unit.source {
        Source::Runs { runs: 1, device } => format!("a run on {device}"),
        Source::Runs { runs, device } => format!("{runs} runs on {device}"),
        Source::Others { device } => format!("other data sets on {device}"),
        Source::Roofline => format!("roofline of {}", if unit.gpus > 0 { "an A100" } else { "a CPU core" }),
        Source::Unknown => "nothing".to_owned(),
    };
    let tokens_by = match unit.tokens_by {
        TokenSource::Run => "run",
        TokenSource::Tokenizer => "tokenizer",
        TokenSource::Characters => "characters",
    };
    [
        unit.model.clone(),
        unit.dataset.clone(),
        unit.samples.to_string(),
        unit.submitted.to_string(),
        unit.distinct.to_string(),
        unit.generated.to_string(),
        tokens_by.to_owned(),
        if unit.source == Source::Unknown { "unknown".into() } else { interval(unit.seconds) },
        format!("{share:.0} %"),
        by,
    ]
}

/// Columns of equal width, numbers to the right.
fn grid(rows: &[[String; 10]]) -> String {
    let heads = HEADS.map(str::to_owned);
    let all: Vec<&[String; 10]> = std::iter::once(&heads).chain(rows).collect();
    let widths: Vec<usize> =
        (0..HEADS.len()).map(|at| all.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in all {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| match at {
            2..=5 | 8 => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("   ").trim_end());
        text.push('\n');
    }
    text
}

/// Two lines for a row: what it is and what it stands on, and its numbers below one another.
fn stacked(rows: &[[String; 10]]) -> String {
    let heads = HEADS.map(str::to_owned);
    let width = |at: usize| rows.iter().chain([&heads]).map(|row| row[at].chars().count()).max().unwrap_or(0);
    let numbers = |row: &[String; 10]| {
        let cells = NUMBERS.map(|at| format!("{:>width$}", row[at], width = width(at)));
        format!("  {}\n", cells.join("  "))
    };
    let mut text = numbers(&heads);
    for row in rows {
        let [model, dataset, .., tokens_by, _, _, by] = row;
        let _ = writeln!(text, "{model} {dataset}: time by {by}, tokens by {tokens_by}");
        text.push_str(&numbers(row));
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
            is_distinct_in_job: true,
            generated: 5,
            tokens_by: TokenSource::Tokenizer,
            seconds: Seconds { low: seconds / 2.0, middle: seconds, high: seconds * 2.0 },
            gpus,
            endpoint_slots: None,
            source: Source::Others { device: "gpu".into() },
        }
    }

    fn estimate(units: Vec<UnitEstimate>) -> Estimate {
        Estimate { units, notes: Vec::new() }
    }

    fn deadline(seconds: u64) -> Option<Duration> {
        Some(Duration::from_secs(seconds))
    }

    #[test]
    fn gpus_hours_and_what_a_deadline_needs() {
        let estimate = estimate(vec![unit("small", 600.0, 2), unit("large", 3_000.0, 2)]);
        let wishes = Wishes { gpus: Some(4), slots: 1, cores: None, deadline: deadline(2_000) };
        // 14,400 GPU seconds at most in 2,000 s are 7.2, in whole slots of 2.
        insta::assert_snapshot!(shown(&estimate, wishes, None));
    }

    #[test]
    fn distinct_tokens_of_the_job_are_told_from_those_of_each_data_set() {
        let of_run = unit("one", 10.0, 0);
        let text = |is_distinct_in_job| {
            let other = UnitEstimate { is_distinct_in_job, ..unit("other", 10.0, 0) };
            shown(&estimate(vec![of_run.clone(), other]), Wishes::default(), None)
        };
        insta::assert_snapshot!(text(true) + "\n" + &text(false));
    }

    #[test]
    fn gpus_that_make_no_whole_replica_are_idle() {
        let pairs = estimate(vec![unit("one", 10.0, 2)]);
        let text = |gpus| shown(&pairs, Wishes { gpus: Some(gpus), slots: 1, cores: None, deadline: None }, None);
        insta::assert_snapshot!([1, 2, 3].map(text).join("\n"));
    }

    #[test]
    fn without_gpus_slots_are_counted() {
        let estimate = estimate(vec![unit("one", 600.0, 0)]);
        let wishes = Wishes { gpus: Some(4), slots: 2, cores: None, deadline: deadline(100) };
        insta::assert_snapshot!(shown(&estimate, wishes, None));
    }

    #[test]
    fn slots_beyond_the_cores_of_this_host_add_no_speed() {
        let estimate = estimate(vec![unit("one", 600.0, 0)]);
        let text = |slots, seconds| {
            shown(&estimate, Wishes { gpus: None, slots, cores: Some(2), deadline: deadline(seconds) }, None)
        };
        insta::assert_snapshot!(text(8, 100) + "\n" + &text(1, 700));
    }

    #[test]
    fn an_endpoint_is_as_fast_as_it_is_asked() {
        let behind = UnitEstimate { endpoint_slots: Some(2), ..unit("one", 600.0, 0) };
        let text = |slots, seconds| {
            let wishes = Wishes { gpus: None, slots, cores: None, deadline: deadline(seconds) };
            shown(&estimate(vec![behind.clone()]), wishes, None)
        };
        // The deadline is kept, then missed; a job of one slot asks with one.
        insta::assert_snapshot!([text(8, 700), text(8, 60), text(1, 60)].join("\n"));
    }

    #[test]
    fn nothing_is_wider_than_the_terminal() {
        let long = UnitEstimate {
            model: "internlm2-chat-7b-hf-step-12000".into(),
            source: Source::Runs { runs: 2, device: "NVIDIA H100 80GB HBM3".into() },
            ..unit("lukaemon_mmlu_college_computer_science", 600.0, 2)
        };
        let mut all = estimate(vec![long, unit("small", 60.0, 2)]);
        all.notes.push("a note of many words ".repeat(9));
        let wishes = Wishes { gpus: Some(3), slots: 1, cores: None, deadline: deadline(60) };
        for width in [40, 60, 80, 100] {
            let text = shown(&all, wishes, Some(width));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        }
        let text = shown(&all, wishes, Some(80));
        insta::assert_snapshot!(text);
        assert_eq!(shown(&all, wishes, Some(400)), shown(&all, wishes, None));
    }
}
