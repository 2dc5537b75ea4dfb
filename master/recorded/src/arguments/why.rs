//! The command line of `why`.

use clap::Args;
use std::path::PathBuf;

/// A run, and the answers of it that are looked at.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WhyArguments {
    /// The run: its folder, or its name (YYYYmmdd_HHMMSS) in the work_dir
    #[arg(value_name = "RUN")]
    pub run: PathBuf,

    /// Only this model
    #[arg(value_name = "MODEL")]
    pub model: Option<String>,

    /// Only this data set
    #[arg(value_name = "DATASET")]
    pub dataset: Option<String>,

    /// Where runs are found by name [default: outputs/default]
    #[arg(long, short = 'w', value_name = "DIR")]
    pub work_dir: Option<PathBuf>,

    /// Only answers of this class
    #[arg(long, value_name = "CLASS")]
    pub class: Option<String>,

    /// Show this many answers of each class, the first ones
    #[arg(short = 'n', value_name = "N", default_value_t = 10)]
    pub number: usize,

    /// As JSON
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "Examples:
  compass-master why 20260101_030000                              classes of all answers, and some of each
  compass-master why 20260101_030000 qwen3-8b GPQA_diamond        of one model on one data set
  compass-master why 20260101_030000 --class not_found -n 50      answers in which nothing is found";
