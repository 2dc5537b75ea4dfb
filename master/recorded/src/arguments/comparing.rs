//! The command lines of `compare` and `gate`.

use super::filter::{NameFilter, filter};
use clap::{Args, ValueEnum};
use compass_compare::ClusterBy;
use compass_settings::Correction;
use std::path::{Path, PathBuf};

/// Default folder of run folders.
const WORK_DIR: &str = "outputs/default";

/// Two runs, and what is compared of them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompareArguments {
    /// The first run: its folder, or its name (YYYYmmdd_HHMMSS) in the work_dir
    #[arg(value_name = "RUN_A")]
    pub run_a: PathBuf,

    /// The second run, which is measured against the first
    #[arg(value_name = "RUN_B")]
    pub run_b: PathBuf,

    /// Where runs are found by name [default: outputs/default]
    #[arg(long, short = 'w', value_name = "DIR")]
    pub work_dir: Option<PathBuf>,

    /// Which model of RUN_A is which of RUN_B [default: those of one name, or the only one of each]
    #[arg(long, num_args = 1.., value_name = "A=B", value_parser = model_pair)]
    pub models: Vec<(String, String)>,

    /// Only these data sets: a part of the name, or a pattern with `*`
    #[arg(long, num_args = 1.., value_name = "FILTER", value_parser = filter)]
    pub datasets: Vec<NameFilter>,

    /// Metrics by name; `*` for all [default: the first of each data set]
    #[arg(long, num_args = 1.., value_name = "NAME")]
    pub metric: Vec<String>,

    /// Questions that are not independent: a column of the data or of its gold answers, or `none`
    /// [default: by passages that neighbouring questions share]
    #[arg(long, value_name = "COLUMN")]
    pub cluster: Option<String>,

    /// By how much RUN_B may be worse, in points of percentages or in the unit of the metric; the exit code is then the
    /// conclusion: 0 no worse, 1 worse, 5 cannot tell
    #[arg(long, value_name = "POINTS", value_parser = margin, allow_negative_numbers = true)]
    pub margin: Option<f64>,

    /// The correction for several tests
    #[arg(long, value_enum, default_value_t = CorrectionName::Holm)]
    pub correction: CorrectionName,

    /// The confidence of intervals; p-values are held against what is left of 1
    #[arg(long, value_name = "SHARE", default_value = "0.95", value_parser = confidence)]
    pub confidence: f64,

    /// Compare what pairs where less than 95 % of the samples do
    #[arg(long)]
    pub allow_partial: bool,

    /// Write the comparison as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a report in Markdown
    #[arg(long, value_name = "FILE")]
    pub md: Option<PathBuf>,

    /// Write a report as one HTML file that loads nothing
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Show so many samples of each data set that only one run answers right, those that RUN_B lost first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub flips: usize,
}

/// Corrections by the names of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CorrectionName {
    /// Step-down: the chance of any false alarm stays below the level
    Holm,
    /// Benjamini and Hochberg: the share of false alarms does
    Bh,
    None,
}

impl From<CorrectionName> for Correction {
    fn from(name: CorrectionName) -> Self {
        match name {
            CorrectionName::Holm => Self::Holm,
            CorrectionName::Bh => Self::BenjaminiHochberg,
            CorrectionName::None => Self::None,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  compass-master compare 20260101_030000 20260102_030000          the two runs of outputs/default
  compass-master compare out/old out/new --models base=tuned      one model of each, under other names
  compass-master compare old new --margin 1.0 --datasets 'mmlu*'  may it ship? 0 yes, 1 no, 5 cannot tell
  compass-master compare old new --html report.html --flips 20    a report with the samples that changed sides

Exit codes: 0 compared (with --margin: no worse); 1 worse by more than the margin; 2 bad input; 3 infrastructure;
5 cannot tell.";

/// A candidate that is held against a baseline.
#[derive(Debug, Args)]
#[command(after_help = GATE_EXAMPLES)]
pub struct GateArguments {
    /// The run that is good enough: its folder, or its name (YYYYmmdd_HHMMSS) in the work_dir
    #[arg(long, value_name = "RUN")]
    pub baseline: PathBuf,

    /// The run that is to replace it
    #[arg(long, value_name = "RUN")]
    pub candidate: PathBuf,

    /// What is judged, and how much worse it may be: a TOML file of [[rule]] tables
    #[arg(long, value_name = "FILE")]
    pub policy: PathBuf,

    /// Where runs are found by name [default: outputs/default]
    #[arg(long, short = 'w', value_name = "DIR")]
    pub work_dir: Option<PathBuf>,

    /// Which model of the baseline is which of the candidate [default: those of one name, or the only one of each]
    #[arg(long, num_args = 1.., value_name = "A=B", value_parser = model_pair)]
    pub models: Vec<(String, String)>,

    /// As for `compare`: a column of the data or of its gold answers, or `none`
    #[arg(long, value_name = "COLUMN")]
    pub cluster: Option<String>,

    /// Judge what pairs where less than 95 % of the samples do
    #[arg(long)]
    pub allow_partial: bool,

    /// Write the decision with all its numbers as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a test case for every rule and data set, as CI systems read them
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// Write what each rule came to as Markdown
    #[arg(long, value_name = "FILE")]
    pub md: Option<PathBuf>,
}

const GATE_EXAMPLES: &str = "\
Examples:
  compass-master gate --baseline out/old --candidate out/new --policy gate.toml --junit gate.xml

  gate.toml:
    [default]
    margin = 1.0              # points of a percentage that may be lost
    min_samples = 200

    [[rule]]
    dataset = \"mmlu*\"        # data sets and groups; * for anything

    [[rule]]
    dataset = \"gsm8k\"
    tier = \"supporting\"     # a breach is a no-go; that it cannot be told is none
    relative = 2.0            # percent of the baseline's number

Exit codes: 0 go; 1 no-go; 2 bad input; 3 infrastructure; 5 cannot tell (the table says how many pairs would).";

/// Returns the folder in which runs are found by name.
pub fn work_dir(given: Option<&PathBuf>) -> PathBuf {
    given.cloned().unwrap_or_else(|| Path::new(WORK_DIR).to_owned())
}

/// By what samples are clustered.
fn cluster(given: Option<&str>) -> ClusterBy {
    match given {
        None => ClusterBy::Passage,
        Some("none") => ClusterBy::Nothing,
        Some(column) => ClusterBy::Column(column.to_owned()),
    }
}

impl CompareArguments {
    /// Returns the folder in which runs are found by name.
    pub fn work_dir(&self) -> PathBuf {
        work_dir(self.work_dir.as_ref())
    }

    /// By what samples are clustered.
    pub fn cluster(&self) -> ClusterBy {
        cluster(self.cluster.as_deref())
    }
}

impl GateArguments {
    /// Returns the folder in which runs are found by name.
    pub fn work_dir(&self) -> PathBuf {
        work_dir(self.work_dir.as_ref())
    }

    /// By what samples are clustered.
    pub fn cluster(&self) -> ClusterBy {
        cluster(self.cluster.as_deref())
    }
}

fn model_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((a, b)) if !a.is_empty() && !b.is_empty() => Ok((a.to_owned(), b.to_owned())),
        _ => Err("write A=B: the model of the first run, and that of the second".to_owned()),
    }
}

pub(super) fn margin(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| "write a number of points, 0 or more".to_owned())
}

pub(super) fn confidence(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.5..1.0).contains(value));
    value.ok_or_else(|| "write a share of at least 0.5 and below 1, as in 0.95".to_owned())
}
