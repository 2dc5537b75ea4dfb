//! The configuration of the jobs: one for all checkpoints, with the place where each goes.

use super::order::Order;
use compass_config::{Diagnostic, Overrides};
use compass_jobs::Failure;
use compass_plan::{ModelKind, Plan};
use compass_settings::Config;
use compass_types::ids::Digest;
use compass_watch::{ModelParts, content_of};
use std::path::{Path, PathBuf};

/// A name that no checkpoint has: the configuration is checked with it before there is any.
const PLACEHOLDER: &str = "${checkpoint}";

/// Subject of the evaluation of every checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// Whole, so that jobs of a server find it.
    folder: PathBuf,
    config: Option<PathBuf>,
    overrides: Overrides,
    state_dir: Option<PathBuf>,
    /// Places at which the models of a checkpoint have their files, below it or elsewhere.
    parts: Vec<ModelParts>,
    /// As it is for no checkpoint in particular.
    pub(super) general: Config,
}

impl Subject {
    /// Checks the configuration as far as that goes without a checkpoint.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub(super) fn new(order: &Order, folder: PathBuf) -> Result<Self, Failure> {
        let loaded = load(order.config.as_deref(), &order.overrides, &folder.join(PLACEHOLDER))?;
        let mut general = loaded;
        general.state_dir = order.state_dir.clone().unwrap_or(general.state_dir);
        for model in &general.models {
            if matches!(model.kind, ModelKind::Endpoint | ModelKind::Echo | ModelKind::Sandbox) {
                let message = format!("the model `{}` has no weights: there are no checkpoints of it", model.abbr);
                let help = "name a model of type `hf`, `llama` or `internlm`";
                return Err(Failure::bad_input(Diagnostic::error(message).with_help(help)));
            }
        }
        let parts = general.models.iter().map(|model| ModelParts {
            kind: model.kind,
            directory: model.path.clone(),
            tokenizer: model.remote.as_ref().map_or(&model.tokenizer_path, |remote| &remote.tokenizer_path).clone(),
            adapter: model.fetched_adapter.clone().or_else(|| model.peft_path.clone()),
        });
        Ok(Self {
            parts: parts.collect(),
            folder,
            config: order.config.clone(),
            overrides: order.overrides.clone(),
            state_dir: order.state_dir.clone(),
            general,
        })
    }

    /// Names what is evaluated: another configuration evaluates every checkpoint again.
    pub(super) fn digest(&self) -> Digest {
        compass_settings::digest(&self.general)
    }

    /// Checks that the configuration says what it said when the watch began.
    ///
    /// # Errors
    /// It does not, or it is wrong by now.
    pub(super) fn check_unchanged(&self) -> Result<(), Failure> {
        let now = load(self.config.as_deref(), &self.overrides, &self.checkpoint(PLACEHOLDER))?;
        if compass_settings::digest(&now) == self.digest() {
            return Ok(());
        }
        let message = "the configuration asks for something else than when the watch began";
        let help = "start the watch again: it evaluates every checkpoint as the configuration says now; the curve so far stays";
        Err(Failure::bad_input(Diagnostic::error(message).with_help(help)))
    }

    /// The directory of a checkpoint.
    pub(super) fn checkpoint(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the places at which the models have their files for a checkpoint.
    pub(super) fn parts(&self, name: &str) -> Vec<ModelParts> {
        let general = self.checkpoint(PLACEHOLDER);
        let own = |path: &PathBuf| match path.strip_prefix(&general) {
            Ok(below) if below.as_os_str().is_empty() => self.checkpoint(name),
            Ok(below) => self.checkpoint(name).join(below),
            Err(_) => path.clone(),
        };
        let parts = self.parts.iter();
        let parts = parts.map(|part| ModelParts {
            kind: part.kind,
            directory: own(&part.directory),
            tokenizer: own(&part.tokenizer),
            adapter: part.adapter.as_ref().map(own),
        });
        parts.collect()
    }

    /// The folders of a checkpoint in which something of a model lies, the checkpoint's own first.
    pub(super) fn folders(&self, name: &str) -> Vec<PathBuf> {
        let own = self.checkpoint(name);
        let mut folders = vec![own.clone()];
        for part in self.parts(name) {
            for path in [part.directory, part.tokenizer] {
                if path.starts_with(&own) && !folders.contains(&path) {
                    folders.push(path);
                }
            }
        }
        folders
    }

    /// The configuration of the job of a checkpoint, whose models are called after it.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(super) fn config(&self, name: &str) -> Result<Config, Failure> {
        let mut config = load(self.config.as_deref(), &self.overrides, &self.checkpoint(name))?;
        config.state_dir = self.state_dir.clone().unwrap_or(config.state_dir);
        let called = |abbr: &str| format!("{abbr}-{name}");
        for model in &mut config.models {
            model.abbr = called(&model.abbr);
        }
        config.not_combined =
            config.not_combined.into_iter().map(|(model, dataset)| (called(&model), dataset)).collect();
        Ok(config)
    }
}

/// Loads the configuration. A missing path is no error: a checkpoint that went away is told by its content.
fn load(path: Option<&Path>, overrides: &Overrides, checkpoint: &Path) -> Result<Config, Failure> {
    let overrides = Overrides { checkpoint: Some(checkpoint.to_owned()), dry_run: true, ..overrides.clone() };
    Ok(compass_config::load(path, &overrides).map_err(Failure::bad_input)?.config)
}

/// The content that a plan is pinned to; `None` where it could not be read when it was planned.
pub(super) fn planned_content(plan: &Plan) -> Option<Digest> {
    let digests: Option<Vec<Digest>> =
        plan.models.iter().map(|model| model.pin.as_ref().map(|pin| pin.weights.digest)).collect();
    digests.map(|digests| content_of(&digests))
}
