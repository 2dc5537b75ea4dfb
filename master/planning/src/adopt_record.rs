//! Match of a record of OpenCompass with a sample that it may answer, and the scores in it.

use super::adopt_gold::is_gold_of;
use super::adopt_prompt::{Asked, Difference, Found};
use compass_plan::prompt::{MetaItem, MetaRole, MetaStyle, MetaTemplate};
use compass_plan::{Body, OptionText, Part, Sample, Unit};
use compass_pyfmt::python_str;
use compass_types::result::{Finish, Generation, LoglikelihoodScore, Outcome, PplScore, PromptFit, SampleResult};
use serde_json::{Map, Value};

/// Reason why a record is not the answer to a sample.
#[derive(Debug)]
pub(super) enum Mismatch {
    /// It has another gold answer.
    Gold { theirs: Box<Value>, ours: Box<Value> },
    /// It was asked with another prompt.
    Prompt(Difference),
    /// It holds no answer of the kind that the sample asks for, which is given.
    NoAnswer(&'static str),
}

impl Mismatch {
    /// In words, of sample `index` of `dataset`.
    pub(crate) fn said(&self, index: usize, dataset: &str) -> String {
        match self {
            Self::Gold { theirs, ours } => format!(
                "has the gold answer {theirs}, and sample {index} of {dataset} has {ours}: they are not of the same rows"
            ),
            Self::Prompt(difference) => format!("was not asked as sample {index} of {dataset} is: {difference}"),
            Self::NoAnswer(mode) => format!("holds no {mode} of sample {index}"),
        }
    }

    /// Returns the advice on what to do.
    pub(crate) fn help(&self) -> &'static str {
        match self {
            Self::Gold { .. } | Self::Prompt(_) => {
                "predictions count for the rows, in their order, and for the templates that they were made with: name \
                 that data set, its test_range and its template"
            }
            Self::NoAnswer(_) => "run what is missing with `-r`, without `-m eval`",
        }
    }
}

/// Compares the records of one unit with its samples.
#[derive(Clone, Debug)]
pub(super) struct Adopter<'p> {
    pub unit: Unit<'p>,
    /// Ways in which prompts may have been put, the model's own way first; one alone once a record has told which.
    metas: Vec<Option<MetaTemplate>>,
    own: Option<MetaTemplate>,
}

impl<'p> Adopter<'p> {
    pub(crate) fn new(unit: Unit<'p>) -> Self {
        let own = unit.model.meta();
        let mut metas = vec![own.clone()];
        // What was asked is the same whatever wraps it: predictions say how a model was spoken to, and a plan for scoring
        // them need not.
        for other in [None, Some(MetaTemplate::chat()), Some(of_services())] {
            if !metas.contains(&other) {
                metas.push(other);
            }
        }
        Self { unit, metas, own }
    }

    /// Describes in words how the plan's way of putting prompts differs from the records'.
    pub(crate) fn note(&self) -> Option<String> {
        let [told] = self.metas.as_slice() else { return None };
        let model = &self.unit.model.abbr;
        (*told != self.own).then(|| match told {
            Some(_) => format!("model `{model}`: its prompts were messages of a chat; `chat = true` would say so"),
            None => format!("model `{model}`: its prompts were texts, without the wrapping that the configuration has"),
        })
    }

    /// The result that `record` gives `sample`.
    pub(crate) fn result(
        &mut self,
        part: &Part,
        sample: &Sample,
        record: &Map<String, Value>,
    ) -> Result<SampleResult, Mismatch> {
        let eval = &self.unit.dataset.eval;
        if let Some(gold) = record.get("gold").filter(|gold| !is_gold_of(eval, sample, gold)) {
            let ours = eval.evaluator.reference(&sample.gold).clone();
            return Err(Mismatch::Gold { theirs: Box::new(gold.clone()), ours: Box::new(ours) });
        }
        let asked = Asked { dataset: self.unit.dataset, part, sample };
        let shots_kept = match asked.find(record, &self.metas).map_err(Mismatch::Prompt)? {
            Found::Nothing => sample.shots.len() as u32,
            Found::Same { meta, shots_kept } => {
                if self.metas.len() > 1 {
                    self.metas = self.metas.get(meta).cloned().into_iter().collect();
                }
                shots_kept
            }
        };
        let outcome = outcome(sample, record).ok_or(Mismatch::NoAnswer(self.unit.dataset.infer.mode()))?;
        Ok(SampleResult { index: sample.index, fit: PromptFit { shots_kept, ..PromptFit::default() }, outcome })
    }
}

/// Returns OpenCompass's way of speaking to services: each role for itself, where a chat model's `SYSTEM` speaks as `HUMAN`.
fn of_services() -> MetaTemplate {
    let role = |role: &str, api_role: &str, generate| MetaRole {
        role: role.to_owned(),
        api_role: Some(api_role.to_owned()),
        generate,
        ..MetaRole::default()
    };
    let round = [role("HUMAN", "user", false), role("BOT", "assistant", true)].map(MetaItem::Role);
    MetaTemplate {
        style: MetaStyle::Messages,
        round: round.into(),
        reserved_roles: vec![role("SYSTEM", "system", false)],
        ..MetaTemplate::default()
    }
}

/// The scores of a record. Counts of tokens are not in it: a `PPL` is taken as the sum over an unknown number, 0.
fn outcome(sample: &Sample, record: &Map<String, Value>) -> Option<Outcome> {
    let number = |label: &Value, key: &str| -> Option<f64> {
        record.get(&format!("label: {}", python_str(label)))?.get(key)?.as_f64()
    };
    let generation = |text: &Value| Some(Generation::new(text.as_str()?, 0, Finish::Eos));
    let prediction = record.get("prediction");
    match &sample.body {
        Body::Gen { .. } if record.contains_key("ppl") => {
            let nll_sum = record.get("ppl")?.as_f64()?;
            Some(Outcome::Ppl(vec![PplScore { nll_sum, tokens: 0, normalizer: None }]))
        }
        Body::Ppl { options } => {
            let score = |label| Some(PplScore { nll_sum: number(label, "PPL")?, tokens: 0, normalizer: None });
            options.iter().map(|option| score(&option.label)).collect::<Option<_>>().map(Outcome::Ppl)
        }
        Body::Loglikelihood { options, .. } => {
            let score = |option: &OptionText| {
                let key = if option.unconditional { "Unconditional Loglikelihood" } else { "Loglikelihood" };
                Some(LoglikelihoodScore { sum: number(&option.label, key)?, tokens: 0, is_greedy: false })
            };
            options.iter().map(score).collect::<Option<_>>().map(Outcome::Loglikelihood)
        }
        Body::Clp { choices, .. } => {
            let probabilities: Option<Vec<f64>> = prediction?.as_array()?.iter().map(Value::as_f64).collect();
            let logs: Vec<f64> = probabilities?.into_iter().map(f64::ln).collect();
            (logs.len() == choices.len()).then_some(Outcome::Clp(logs))
        }
        Body::Gen { .. } | Body::Chat { .. } => match prediction? {
            Value::Array(several) => several.iter().map(generation).collect::<Option<_>>().map(Outcome::Generated),
            one => Some(Outcome::Generated(vec![generation(one)?])),
        },
        Body::Rolling { .. } | Body::Windows { .. } | Body::Execute { .. } => None,
    }
}
