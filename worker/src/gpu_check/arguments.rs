//! The command line of `gpu-check`.

use clap::Args;
use std::num::NonZeroU32;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Everything, on the first GPU, with weights made in the shape of Llama 3 8B:
    compass-worker gpu-check --json gpu.json
  A model's own weights, and how fast they are read:
    compass-worker gpu-check --model /models/llama-3-8b
  Two sections in two minutes:
    compass-worker gpu-check --only environment,gemm --minutes 2
  The same program on the CPU, with a tiny model:
    compass-worker gpu-check --cpu

Goals of speed are for llama-8b in bfloat16 on an H100 or H200, and are judged
nowhere else. `job` wants compass-master beside this program, `transformers` a
Python that has it (COMPASS_PYTHON, else python3).

Exit codes:
  0  no goal that could be judged was missed
  1  a goal was missed, or a section broke or did not end in time
  2  wrong usage
  3  the device cannot be used; the last line says why";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GpuCheckArgs {
    /// Directory of a model; its weights are read
    #[arg(long, value_name = "DIR", conflicts_with = "random")]
    model: Option<PathBuf>,
    /// Make weights of this shape on the device: tiny, llama-1b or llama-8b [default: llama-8b; with --cpu tiny]
    #[arg(long, value_name = "NAME")]
    random: Option<String>,
    /// Write all rows to FILE, after every section
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Run these sections: environment, load, invariance, gemm, prefill, decode, end-to-end, job, memory, kernels, families,
    /// transformers, out-of-memory [default: all]
    #[arg(long, value_name = "SECTION,...", value_delimiter = ',')]
    only: Vec<String>,
    /// End after so many minutes: each section has its share, and has failed if it does not end in that
    #[arg(long, value_name = "N", default_value = "9")]
    minutes: NonZeroU32,
    /// Compute on the CPU, on small amounts
    #[arg(long)]
    cpu: bool,
    /// Compute as a model with `deterministic = false`
    #[arg(long)]
    fast: bool,
    /// Threads for what the CPU computes
    #[arg(long, value_name = "N", default_value = "1")]
    threads: NonZeroU32,
    /// A section of which this process is the child: its rows go to stdout as JSON lines
    #[arg(long, hide = true, requires = "folder")]
    section: Option<String>,
    /// The folder of the model, of a child
    #[arg(long, hide = true)]
    folder: Option<PathBuf>,
}

/// Options of the check.
#[derive(Clone, Debug)]
pub struct GpuCheckOptions {
    pub model: Option<PathBuf>,
    /// Name of a shape; `None` is the default where no model is given.
    pub random: Option<String>,
    pub json: Option<PathBuf>,
    /// Names of sections; empty for all.
    pub only: Vec<String>,
    pub minutes: u32,
    pub cpu: bool,
    /// Set if bits may vary with what is computed at the same time.
    pub fast: bool,
    pub threads: u32,
    /// Section and folder of a child.
    pub child: Option<(String, PathBuf)>,
}

impl GpuCheckArgs {
    /// Returns the parsed options.
    pub(crate) fn options(self) -> GpuCheckOptions {
        GpuCheckOptions {
            model: self.model,
            random: self.random,
            json: self.json,
            only: self.only,
            minutes: self.minutes.get(),
            cpu: self.cpu,
            fast: self.fast,
            threads: self.threads.get(),
            child: self.section.zip(self.folder),
        }
    }
}
