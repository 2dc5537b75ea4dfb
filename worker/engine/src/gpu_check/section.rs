//! The sections by name.

use super::finding::Finding;
use super::setup::CheckSetup;
use super::{
    decode, end_to_end, environment, families, gemm, invariance, job, kernels, load, memory, out_of_memory, prefill,
    transformers,
};
use compass_plan::engine::EngineFault;
use std::str::FromStr;

/// A section; each runs in a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Environment,
    Kernels,
    Families,
    Transformers,
    Invariance,
    Gemm,
    Prefill,
    Decode,
    EndToEnd,
    Job,
    Load,
    OutOfMemory,
    Memory,
}

impl Section {
    /// All of them, in the order in which they run: by how much depends on what they tell.
    pub const ALL: [Self; 13] = [
        Self::Environment,
        Self::Load,
        Self::Kernels,
        Self::Invariance,
        Self::Gemm,
        Self::Prefill,
        Self::Decode,
        Self::EndToEnd,
        Self::Job,
        Self::Memory,
        Self::Families,
        Self::Transformers,
        Self::OutOfMemory,
    ];

    /// As `--only` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Kernels => "kernels",
            Self::Families => "families",
            Self::Transformers => "transformers",
            Self::Invariance => "invariance",
            Self::Gemm => "gemm",
            Self::Prefill => "prefill",
            Self::Decode => "decode",
            Self::EndToEnd => "end-to-end",
            Self::Job => "job",
            Self::Load => "load",
            Self::OutOfMemory => "out-of-memory",
            Self::Memory => "memory",
        }
    }

    /// Its share of the whole time, in parts of all shares.
    pub fn share(self) -> u32 {
        match self {
            Self::Environment | Self::Kernels | Self::Families => 30,
            Self::OutOfMemory => 40,
            Self::Load | Self::Gemm | Self::Job | Self::Transformers => 60,
            Self::Memory => 80,
            Self::Prefill | Self::EndToEnd => 90,
            Self::Invariance => 160,
            Self::Decode => 180,
        }
    }
}

impl FromStr for Section {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|section| section.name() == text);
        found.ok_or_else(|| format!("there is no section `{text}`; there are {}", names()))
    }
}

/// Runs a section, and passes each row to `report` as soon as it is known.
///
/// # Errors
/// Errors of loading the model and of running it.
pub fn run_section(section: Section, setup: &CheckSetup, report: &mut dyn FnMut(Finding)) -> Result<(), EngineFault> {
    match section {
        Section::Environment => environment::run(setup, report),
        Section::Invariance => invariance::run(setup, report)?,
        Section::Gemm => gemm::run(setup, report)?,
        Section::Prefill => prefill::run(setup, report)?,
        Section::Decode => decode::run(setup, report)?,
        Section::EndToEnd => end_to_end::run(setup, report)?,
        Section::Job => job::run(setup, report)?,
        Section::Load => load::run(setup, report)?,
        Section::Memory => memory::run(setup, report)?,
        Section::Kernels => kernels::run(setup, report)?,
        Section::Families => families::run(setup, report)?,
        Section::OutOfMemory => out_of_memory::run(setup, report)?,
        Section::Transformers => transformers::run(setup, report)?,
    }
    Ok(())
}
