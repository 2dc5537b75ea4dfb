//! The plan in a run folder: written, and read again.
//!
//! Written once, parts first, the head last: a plan is there when `plan/job.json` is.

use super::folder::{RunFolder, write_atomically};
use super::plan_error::PlanError;
use super::planned::Planned;
use compass_common::regular_file;
use compass_plan::{
    DuplicateGroups, OLDEST_PLAN_FORMAT, PLAN_FORMAT, Part, PartRef, Plan, found_part, head_path, part_path,
    read_plan_file,
};
use compass_types::ids::Digest;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Writes the plan into a run folder; returns the job's digest.
///
/// # Errors
/// Errors of the disk.
pub fn write_plan(folder: &RunFolder, planned: &Planned) -> Result<Digest, PlanError> {
    for (digest, packed) in planned.parts.packed() {
        write_atomically(&part_path(folder.root(), digest), packed)?;
    }
    write_atomically(&head_path(folder.root()), &planned.head)?;
    Ok(Digest::of(&planned.head))
}

/// Reads the plan of a run folder: the head, the job's digest, and the path of every file of it.
///
/// # Errors
/// A file is missing or damaged, or the plan is of another format.
pub fn read_plan(folder: &RunFolder) -> Result<(Plan, Digest, BTreeMap<Digest, PathBuf>), PlanError> {
    let (plan, digest) = read_head(folder)?;
    let mut files = BTreeMap::from([(digest, head_path(folder.root()))]);
    let parts = plan.datasets.iter().flat_map(|dataset| &dataset.parts).map(|part| &part.digest);
    for part in parts.chain(&plan.duplicates) {
        // Read whole: workers would refuse a part whose name is not its digest, and no worker could finish its samples.
        read_file(folder, part)?;
        files.insert(*part, found_part(folder.root(), part));
    }
    Ok((plan, digest, files))
}

/// Reads the head of a plan and its digest. Parts are checked when they are read.
///
/// # Errors
/// It is missing or damaged, or of another format.
pub fn read_head(folder: &RunFolder) -> Result<(Plan, Digest), PlanError> {
    let path = head_path(folder.root());
    let damaged = |path: &PathBuf, reason: String| PlanError::Damaged { path: path.clone(), reason };
    let bytes = regular_file::read(&path, regular_file::LARGE).map_err(|error| PlanError::unreadable(&path, error))?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| damaged(&path, error.to_string()))?;
    let found = value.get("format").and_then(Value::as_u64).unwrap_or_default() as u32;
    if !(OLDEST_PLAN_FORMAT..=PLAN_FORMAT).contains(&found) {
        return Err(PlanError::Format { run: folder.name(), found });
    }
    let plan: Plan = serde_json::from_value(value).map_err(|error| damaged(&path, error.to_string()))?;
    Ok((plan, Digest::of(&bytes)))
}

/// Returns the digest of the plan of a run, which is its job's identity.
///
/// # Errors
/// There is no plan.
pub fn plan_digest(folder: &RunFolder) -> Result<Digest, PlanError> {
    let path = folder.plan().join("job.json");
    match regular_file::read(&path, regular_file::LARGE) {
        Ok(bytes) => Ok(Digest::of(&bytes)),
        Err(error) => Err(PlanError::unreadable(&path, error)),
    }
}

/// Reads one part back, checked against its name.
///
/// # Errors
/// The file is missing or damaged.
pub fn read_part(folder: &RunFolder, part: &PartRef) -> Result<Part, PlanError> {
    parse(folder, &part.digest)
}

/// Checks one part against its name.
///
/// # Errors
/// The file is missing or damaged.
pub fn check_part(folder: &RunFolder, part: &PartRef) -> Result<(), PlanError> {
    read_file(folder, &part.digest).map(|_| ())
}

/// Reads which samples of a plan ask the same.
///
/// # Errors
/// The file is missing or damaged.
pub fn read_duplicates(folder: &RunFolder, plan: &Plan) -> Result<DuplicateGroups, PlanError> {
    plan.duplicates.map_or(Ok(DuplicateGroups::default()), |digest| parse(folder, &digest))
}

fn parse<T: DeserializeOwned>(folder: &RunFolder, digest: &Digest) -> Result<T, PlanError> {
    let bytes = read_file(folder, digest)?;
    let path = part_path(folder.root(), digest);
    serde_json::from_slice(&bytes).map_err(|error| PlanError::Damaged { path, reason: error.to_string() })
}

/// The content of a file that is named by it.
pub fn read_file(folder: &RunFolder, digest: &Digest) -> Result<Vec<u8>, PlanError> {
    let path = found_part(folder.root(), digest);
    read_plan_file(&path, digest).map_err(|error| PlanError::unreadable(&path, error))
}
