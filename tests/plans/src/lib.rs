//! A small plan and results of it, for the tests of packages that read plans.
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "only tests use it")]

use compass_ledger::{Kind, Ledger, LedgerEntry};
use compass_plan::evaluation::EvaluatorSpec;
use compass_plan::prompt::{Prompt, ShotFormat};
use compass_plan::*;
use compass_proto::v1;
use compass_run_folder::{PlanFiles, Planned, RunFolder, write_plan};
use compass_types::ids::{Digest, Epoch};
use compass_types::result::{Outcome, PplScore, PromptFit, SampleResult};
use prost::Message as _;
use std::path::Path;

/// A question with two options.
pub fn sample(index: u32) -> Sample {
    let option = |label: u32| OptionPrompt {
        label: label.into(),
        prompt: Prompt::question(format!("{index} {label}")),
        answer: None,
    };
    Sample { index, gold: 0.into(), shots: vec![], body: Body::Ppl { options: vec![option(0), option(1)] } }
}

/// Option `best` has the least perplexity.
pub fn result(index: u32, best: usize) -> SampleResult {
    let score = |at| PplScore { nll_sum: if at == best { 1.0 } else { 2.0 }, tokens: 1, normalizer: None };
    SampleResult { index, fit: PromptFit::default(), outcome: Outcome::Ppl(vec![score(0), score(1)]) }
}

/// A plan of one model and one data set, `d`, of two samples.
pub fn planned() -> Planned {
    planned_of(Part { shots: vec![], samples: vec![sample(0), sample(1)] })
}

/// As [`planned`], of this part.
pub fn planned_of(part: Part) -> Planned {
    let bytes = serde_json::to_vec(&part).unwrap();
    let digest = Digest::of(&bytes);
    let eval = EvalSpec::new(EvaluatorSpec::Acc);
    let dataset = DatasetPlan {
        abbr: "d".into(),
        version: "000000".into(),
        infer: InferSpec::Ppl,
        shot_format: ShotFormat::default(),
        eval,
        samples: 2,
        characters: 12,
        prefix_runs: Vec::new(),
        labels: Some(2),
        own_questions: 0,
        entries: Vec::new(),
        parts: vec![PartRef { digest, first: 0, samples: 2, bytes: bytes.len() as u64 }],
    };
    let model = ModelPlan { max_out_len: 8, ..ModelPlan::new("m", ModelKind::Echo, "") };
    let config = Digest::of(b"config");
    let plan = Plan {
        format: PLAN_FORMAT,
        config,
        models: vec![model],
        datasets: vec![dataset],
        duplicates: None,
        left_out: Default::default(),
    };
    let head = serde_json::to_vec(&plan).unwrap();
    let mut parts = PlanFiles::default();
    parts.add(&bytes).unwrap();
    Planned { plan, head, parts, duplicates: DuplicateGroups::default() }
}

/// A run of [`planned`] with damaged entries in its ledger, all of worker `w`: a result, a later result and a report of which nothing can
/// be read, and a result of sample 1 without an outcome. A sound result of sample 0 follows.
pub fn damaged_run(work_dir: &Path) -> (RunFolder, Plan, Digest) {
    let (folder, planned) = (RunFolder::create(work_dir, "run").unwrap(), planned());
    let digest = write_plan(&folder, &planned).unwrap();
    let entry = |kind: Kind, payload: Vec<u8>| LedgerEntry {
        kind: kind.into(),
        epoch: 1,
        worker: "w".into(),
        payload,
        ..LedgerEntry::default()
    };
    let unreadable = || b"\xff".to_vec();
    let entries = [
        entry(Kind::Sample, unreadable()),
        entry(Kind::Divergence, unreadable()),
        entry(Kind::Report, unreadable()),
        entry(Kind::Sample, v1::SampleResult { index: 1, ..Default::default() }.encode_to_vec()),
        entry(Kind::Sample, v1::SampleResult::from(&result(0, 0)).encode_to_vec()),
    ];
    Ledger::new(folder.ledger(), digest).create_segment(Epoch(1), "m").unwrap().append(&entries).unwrap();
    (folder, planned.plan, digest)
}
