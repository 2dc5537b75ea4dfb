//! Remarks of engines on the files of models, for the notes below the table. They are read from `logs/run.json`, so that a run that
//! is scored again has the same notes.

use compass_common::regular_file;
use compass_plan::Plan;
use compass_run_folder::RunFolder;
use serde_json::Value;

/// Bytes of `logs/run.json`, remarks on a model, and characters of one: workers may say anything.
const MOST_BYTES: u64 = 256 << 20;
const MOST_REMARKS: usize = 8;
const MOST_CHARACTERS: usize = 400;

/// The remarks on the models of a plan, in its order; none where no run was recorded.
pub fn remarks(folder: &RunFolder, plan: &Plan) -> Vec<String> {
    let record = regular_file::read(&folder.logs().join("run.json"), MOST_BYTES).ok();
    let record: Value = record.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let mut lines = Vec::new();
    for (at, model) in plan.models.iter().enumerate() {
        let told = record["models"][at.to_string()]["remarks"].as_array().into_iter().flatten().take(MOST_REMARKS);
        lines.extend(told.filter_map(Value::as_str).map(|remark| {
            let remark: String = remark.chars().filter(|c| !c.is_control()).take(MOST_CHARACTERS).collect();
            format!("{}: {remark}", model.abbr)
        }));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::{ModelKind, ModelPlan, PLAN_FORMAT};
    use compass_types::ids::Digest;
    use serde_json::json;

    #[test]
    fn remarks_name_their_models_and_come_back_with_the_run() {
        let work_dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(work_dir.path(), "20261128_000000").unwrap();
        let model = |abbr: &str| ModelPlan::new(abbr, ModelKind::Hf, "/models/m");
        let plan = Plan {
            format: PLAN_FORMAT,
            config: Digest::of(b"a configuration"),
            models: vec![model("a"), model("b")],
            datasets: Vec::new(),
            duplicates: None,
            left_out: Default::default(),
        };
        assert!(remarks(&folder, &plan).is_empty());
        let record = json!({"models": {"0": {"notes": ["a note"]}, "1": {"remarks": ["its head is\n used", 7]}}});
        std::fs::create_dir_all(folder.logs()).unwrap();
        std::fs::write(folder.logs().join("run.json"), record.to_string()).unwrap();
        assert_eq!(remarks(&folder, &plan), ["b: its head is used"]);
    }
}
