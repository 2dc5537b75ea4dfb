//! From the configuration to the plan: reads the data, renders every prompt, draws every shot, pins every choice.

use super::carry_over::EarlierRun;
use super::dataset_plan::{plan_dataset, recorded_dataset};
use super::pins::{pin, pin_elsewhere};
use super::rows::Faults;
use compass_chat::thinking_of;
use compass_common::{encode, regular_file};
use compass_diagnostic::Diagnostic;
use compass_plan::prompt::MetaTemplate;
use compass_plan::{
    DeviceRequest, Dtype, DuplicateGroups, Endpoint, InferSpec, ModelKind, ModelPlan, NumericProfile, PLAN_FORMAT,
    Plan, Thinking, ThinkingMode, Unit,
};
use compass_progress::PlanBar;
use compass_run_folder::{PlanError, PlanFiles, Planned};
use compass_settings::{Config, DatasetConfig, ModelConfig};
use compass_types::ids::UnitId;
use serde_json::Value;
use std::collections::BTreeSet;

/// The bytes of `plan/job.json`.
fn head(plan: &Plan) -> Result<Vec<u8>, PlanError> {
    Ok(encode::pretty_json("the plan", plan)?)
}

/// Reads and renders everything that the configuration names.
///
/// # Errors
/// Every fault of every data set, at once.
pub fn plan(config: &Config) -> Result<Planned, PlanError> {
    plan_beside(config, None)
}

/// As [`plan`], to score the results of a run: its models are pinned as they were, and what is not there any more is as that
/// run planned it.
///
/// # Errors
/// As for [`plan`]; a data set that is not there and whose prompts are not those of the run.
pub fn plan_scores(config: &Config, run: &EarlierRun) -> Result<Planned, PlanError> {
    plan_beside(config, Some(run))
}

fn plan_beside(config: &Config, run: Option<&EarlierRun>) -> Result<Planned, PlanError> {
    let mut parts = PlanFiles::default();
    let mut errors = Faults::default();
    let (mut datasets, mut requests) = (Vec::new(), Vec::new());
    let mut bar = PlanBar::new((config.datasets.len() + config.models.len() + 1) as u64);
    for dataset in &config.datasets {
        bar.begin(&format!("data set {}", dataset.abbr));
        let planned = match (&dataset.absent, run) {
            (None, _) => plan_dataset(dataset, &mut parts),
            (Some(absent), run) => recorded_dataset(dataset, absent, run, &mut parts),
        };
        match planned {
            Ok((planned, asked)) => {
                bar.end(planned.samples.into());
                datasets.push(planned);
                requests.push(asked);
            }
            Err(faults) => errors.add(faults),
        }
    }
    errors.found.extend(misfits(config));
    errors.found.extend(endpoint_misfits(config));
    errors.found.extend(window_misfits(config));
    errors.found.extend(thinking_misfits(config));
    errors.none()?;
    let models = config.models.iter().map(|model| {
        bar.begin(&format!("weights of {}", model.abbr));
        let planned = pin_model(config, model);
        bar.end(0);
        run.map_or(planned.clone(), |run| run.as_before(planned, model.absent.is_some()))
    });
    let models = models.collect();
    bar.begin("samples that ask the same");
    let duplicates = DuplicateGroups::find(requests.iter().map(Vec::as_slice));
    let mut named = None;
    if !duplicates.is_empty() {
        let bytes = encode::json("the samples that ask the same", &duplicates)?;
        named = Some(parts.add(&bytes)?);
    }
    let digest = compass_settings::digest(config);
    let mut plan =
        Plan { format: PLAN_FORMAT, config: digest, models, datasets, duplicates: named, left_out: BTreeSet::new() };
    plan.left_out = left_out(config, &plan);
    let head = head(&plan)?;
    bar.end(0);
    Ok(Planned { plan, head, parts, duplicates })
}

/// The units of the pairs that the configuration leaves out.
fn left_out(config: &Config, plan: &Plan) -> BTreeSet<UnitId> {
    let is_left_out = |unit: &Unit<'_>| {
        config.not_combined.iter().any(|(model, dataset)| *model == unit.model.abbr && *dataset == unit.dataset.abbr)
    };
    plan.units().filter(is_left_out).map(|unit| unit.id).collect()
}

/// Returns whether the model runs the data set.
fn is_asked(config: &Config, model: &ModelConfig, dataset: &DatasetConfig) -> bool {
    config.not_combined.iter().all(|(left, data)| *left != model.abbr || *data != dataset.abbr)
}

/// Kinds of requests that a model's endpoint cannot run.
fn endpoint_misfits(config: &Config) -> Vec<Diagnostic> {
    let endpoints = config.models.iter().filter_map(|model| Some((model, model.endpoint.as_ref()?)));
    let pairs = endpoints.flat_map(|(model, endpoint)| {
        let asked = config.datasets.iter().filter(move |dataset| is_asked(config, model, dataset));
        asked.filter_map(move |dataset| Some((model, dataset, endpoint.misfit(&dataset.infer)?)))
    });
    pairs
        .map(|(model, dataset, why)| {
            let mode = dataset.infer.mode();
            let text = format!("model `{}` cannot run data set `{}` (`{mode}`): {why}", model.abbr, dataset.abbr);
            Diagnostic::error(text)
        })
        .collect()
}

/// Continuations that are scored behind a chat template whose thinking cannot be switched off: an answer would be scored as thinking.
fn thinking_misfits(config: &Config) -> Vec<Diagnostic> {
    let is_template = |model: &&ModelConfig| {
        let is_rendered = model.kind == ModelKind::Hf || !model.tokenizer_path.as_os_str().is_empty();
        model.chat && is_rendered && model.profile == NumericProfile::Canonical
    };
    let misfit = |model: &ModelConfig, dataset: &DatasetConfig| {
        let is_scored = dataset.infer.scores_continuations() && !dataset.infer.means(model.profile);
        if !is_scored || !is_asked(config, model, dataset) {
            return None;
        }
        let tokenizer = model.remote.as_ref().map_or(&model.tokenizer_path, |remote| &remote.tokenizer_path);
        let off = Thinking { mode: ThinkingMode::Off, ..model.thinking.clone() };
        let why = match model.thinking.mode {
            ThinkingMode::On => "`thinking = \"on\"`".to_owned(),
            _ => thinking_of(tokenizer, &off, &model.chat_template_kwargs)?.err()?.to_string(),
        };
        let (model, mode, dataset) = (&model.abbr, dataset.infer.mode(), &dataset.abbr);
        let message =
            format!("model `{model}` cannot score data set `{dataset}` (`{mode}`) with its thinking on: {why}");
        let help = "what is scored behind a chat template is an answer: leave thinking to `auto`, or ask with `gen`";
        Some(Diagnostic::error(message).with_help(help))
    };
    let models = config.models.iter().filter(is_template);
    models.flat_map(|model| config.datasets.iter().filter_map(move |dataset| misfit(model, dataset))).collect()
}

/// Windows that are longer than what a model is said to read.
fn window_misfits(config: &Config) -> Vec<Diagnostic> {
    let limited = config.models.iter().filter_map(|model| Some((model, model.max_seq_len?)));
    let pairs = limited.flat_map(|(model, longest)| {
        config.datasets.iter().filter_map(move |dataset| match dataset.infer {
            InferSpec::SwceLoss { block_size, .. } if block_size > longest && is_asked(config, model, dataset) => {
                Some((model, longest, dataset, block_size))
            }
            _ => None,
        })
    });
    pairs
        .map(|(model, longest, dataset, block_size)| {
            let (model, dataset) = (&model.abbr, &dataset.abbr);
            let message = format!(
                "model `{model}` reads {longest} tokens, and a window of data set `{dataset}` has {block_size}: its \
                 `block_size` is too large"
            );
            let help = format!("write `block_size = {longest}` or less, or a longer `max_seq_len`");
            Diagnostic::error(message).with_help(help)
        })
        .collect()
}

/// Roles that a data set's templates name and a model's meta template does not know.
fn misfits(config: &Config) -> Vec<Diagnostic> {
    let meta = |model: &ModelConfig| model.meta_template.clone().or_else(|| model.chat.then(MetaTemplate::chat));
    let with_meta: Vec<_> = config.models.iter().filter_map(|model| Some((model, meta(model)?))).collect();
    let pairs =
        with_meta.iter().flat_map(|(model, meta)| config.datasets.iter().map(move |dataset| (model, meta, dataset)));
    pairs
        .filter(|(model, _, dataset)| is_asked(config, model, dataset))
        .filter_map(|(model, meta, dataset)| {
            let fault = meta.misfit(&dataset.prompt)?;
            let message = format!("model `{}` cannot read data set `{}`: {fault}", model.abbr, dataset.abbr);
            Some(Diagnostic::error(message))
        })
        .collect()
}

/// dtype `auto`: on the CPU float32, what the scores are checked in; on GPUs the checkpoint's own. Decided by what is
/// configured, never by the hardware that happens to run a sample.
fn dtype(model: &ModelConfig) -> Dtype {
    let on_gpu = match model.device {
        DeviceRequest::Cuda => true,
        DeviceRequest::Auto => model.num_gpus > 0,
        DeviceRequest::Cpu => false,
    };
    let own = || {
        let directory = model.remote.as_ref().map_or(&model.path, |remote| &remote.path);
        let config: Value =
            serde_json::from_slice(&regular_file::read(&directory.join("config.json"), regular_file::SMALL).ok()?)
                .ok()?;
        match config.get("torch_dtype").or_else(|| config.get("dtype"))?.as_str()? {
            "bfloat16" => Some(Dtype::Bfloat16),
            "float16" => Some(Dtype::Float16),
            _ => None,
        }
    };
    model.dtype.or_else(|| own().filter(|_| on_gpu)).unwrap_or(Dtype::Float32)
}

fn pin_model(config: &Config, model: &ModelConfig) -> ModelPlan {
    let scores = config.datasets.iter().any(|dataset| is_asked(config, model, dataset) && dataset.infer.scores());
    let plan = ModelPlan {
        abbr: model.abbr.clone(),
        kind: model.kind,
        path: model.path.display().to_string(),
        tokenizer_path: model.tokenizer_path.display().to_string(),
        peft_path: model.peft_path.as_ref().map(|path| path.display().to_string()),
        max_seq_len: model.max_seq_len,
        max_out_len: model.max_out_len,
        dtype: dtype(model),
        bos: model.bos,
        profile: model.profile,
        meta_template: model.meta_template.clone(),
        chat: model.chat,
        system: model.system,
        chat_template_kwargs: model.chat_template_kwargs.clone(),
        thinking: model.thinking.clone(),
        tokenizer_kwargs: model.tokenizer_kwargs.clone(),
        truncation: model.truncation.clone(),
        sums_loglikelihood: model.sums_loglikelihood,
        min_out_len: model.min_out_len,
        decoding: model.decoding.clone(),
        stop_words: model.stop_words.clone(),
        num_gpus: model.num_gpus,
        device: model.device,
        deterministic: model.deterministic,
        pred_postprocessors: model.pred_postprocessors.clone(),
        pin: None,
        endpoint: model.endpoint.clone().map(|endpoint| Endpoint { scores, ..endpoint }),
    };
    let adapter = model.fetched_adapter.as_deref().or(model.peft_path.as_deref());
    let pin = match &model.remote {
        Some(remote) => pin_elsewhere(&plan, remote, adapter),
        None => pin(&plan, adapter),
    };
    ModelPlan { pin, ..plan }
}
