//! Check that an evaluator can judge what an inferencer brings: chosen options, texts, or the likelihood of a whole text.

use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::Node;
use compass_plan::evaluation::{ChoiceMetric, EvaluatorSpec};
use compass_plan::prompt::{PromptConfig, Template};
use compass_plan::{EvalSpec, InferSpec};

/// Kind of answer that an inferencer brings, or an evaluator takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// One of several options, each with its score.
    Option,
    /// An option, with the log-likelihood of its own text.
    Continuation,
    /// Text that the model wrote.
    Text,
    /// OpenCompass's mean NLL of a whole text.
    MeanNll,
    /// The NLL of marked tokens, and their number.
    MarkedNll,
    /// The log-likelihood of a whole text.
    Likelihood,
    /// The log-likelihood of all texts as one.
    Windows,
}

use Answer::{Continuation, Likelihood, MarkedNll, MeanNll, Text, Windows};

impl Answer {
    fn of(infer: &InferSpec) -> Self {
        match infer {
            InferSpec::Ppl | InferSpec::PplNormalized { .. } | InferSpec::Clp => Self::Option,
            InferSpec::Loglikelihood | InferSpec::MeanLoglikelihood => Continuation,
            InferSpec::Gen(_) | InferSpec::Chat { .. } | InferSpec::Execute => Text,
            InferSpec::PplOnly => MeanNll,
            InferSpec::InferencePpl => MarkedNll,
            InferSpec::Rolling => Likelihood,
            InferSpec::SwceLoss { .. } => Windows,
        }
    }

    /// Returns what the evaluator takes, and the inferencers that bring it, as a person writes them.
    fn taken_by(evaluator: &EvaluatorSpec) -> (&'static [Self], &'static str) {
        const CHOICES: (&[Answer], &str) = (&[Answer::Option, Continuation], "`ppl`, `loglikelihood` or `clp`");
        match evaluator {
            EvaluatorSpec::MultipleChoice { metrics } if metrics.iter().any(|metric| needs_texts(*metric)) => {
                (&[Continuation], "`loglikelihood`")
            }
            EvaluatorSpec::MultipleChoice { .. } | EvaluatorSpec::AucRoc | EvaluatorSpec::SentencePair => CHOICES,
            EvaluatorSpec::Perplexity => (&[Continuation, Likelihood], "`loglikelihood` with a `target`, or `rolling`"),
            EvaluatorSpec::AveragePpl => (&[MeanNll], "`ppl_only`"),
            EvaluatorSpec::AverageInferencePpl => (&[MarkedNll], "`inference_ppl_only`"),
            EvaluatorSpec::Bpc => (&[Likelihood, Windows], "`swce_loss` or `rolling`"),
            EvaluatorSpec::Score { .. }
            | EvaluatorSpec::Rouge { .. }
            | EvaluatorSpec::Bleu { .. }
            | EvaluatorSpec::Chrf { .. }
            | EvaluatorSpec::Ter
            | EvaluatorSpec::Ifeval
            | EvaluatorSpec::Bbq
            | EvaluatorSpec::HumanEval { .. }
            | EvaluatorSpec::Mbpp { .. }
            | EvaluatorSpec::MbppPassK { .. }
            | EvaluatorSpec::TruthfulGeneration => (&[Text], "`gen`"),
            _ => (&[Text, Answer::Option, Continuation], "`gen`, `ppl`, `loglikelihood` or `clp`"),
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Option => "choices among options",
            Continuation => "choices among options with their log-likelihoods",
            Text => "texts",
            MeanNll => "the mean NLL of whole texts, no answers",
            MarkedNll => "the NLL of marked tokens, no answers",
            Likelihood => "the log-likelihood of whole texts, no answers",
            Windows => "the log-likelihood of all texts as one, no answers",
        }
    }
}

/// Returns `true` if only `loglikelihood` knows what `metric` needs.
fn needs_texts(metric: ChoiceMetric) -> bool {
    use ChoiceMetric::{AccBytes, AccMutualInfo, AccNorm, ExactMatch};
    matches!(metric, AccNorm | AccBytes | ExactMatch | AccMutualInfo)
}

/// Reports an evaluator, or filters, that could not judge one answer; `eval_cfg` is where they stand.
pub(crate) fn check(check: &mut Check, eval_cfg: &Node, infer: &InferSpec, prompt: &PromptConfig, eval: &EvalSpec) {
    let span_of = |key| eval_cfg.table().and_then(|table| table.get(key)).map_or(eval_cfg.span, |node| node.span);
    let brought = Answer::of(infer);
    let (takes, inferencers) = Answer::taken_by(&eval.evaluator);
    let inferencer = match infer {
        InferSpec::Loglikelihood => "loglikelihood",
        InferSpec::MeanLoglikelihood => "ll",
        infer => infer.mode(),
    };
    if !takes.contains(&brought) {
        let message = format!("this evaluator cannot judge what `{inferencer}` brings: {}", brought.in_words());
        let help = match brought {
            MarkedNll => format!("use `average_inference_ppl`, or an inferencer of {inferencers}"),
            MeanNll => format!("use `average_ppl`, or an inferencer of {inferencers}"),
            Windows => format!("use `bpc`, or an inferencer of {inferencers}"),
            Likelihood => format!("use `perplexity` or `bpc`, or an inferencer of {inferencers}"),
            _ => format!("use it with {inferencers}"),
        };
        check.error(span_of("evaluator"), message, Some(help));
    } else if eval.evaluator == EvaluatorSpec::Perplexity && brought == Continuation && chooses(prompt) {
        let help = "write the continuation as `target` beside one `prompt_template`, or use `multiple_choice`";
        let message = "`perplexity` is of one continuation, and there are several options".to_owned();
        check.error(span_of("evaluator"), message, Some(help.into()));
    } else if eval.evaluator != EvaluatorSpec::Perplexity && brought == Continuation && !chooses(prompt) {
        let help = "use `perplexity`, whose `acc` says how often the model would say it, or give several `options`";
        let message = "this evaluator compares options, and `target` alone is one continuation".to_owned();
        check.error(span_of("evaluator"), message, Some(help.into()));
    }
    if !eval.filters.is_empty() && brought != Text {
        nothing_to_filter(check, span_of("filters"), inferencer);
    }
}

fn chooses(prompt: &PromptConfig) -> bool {
    let template = prompt.prompt_template.as_ref().or(prompt.ice_template.as_ref());
    prompt.options.is_some() || template.is_some_and(Template::is_by_label)
}

fn nothing_to_filter(check: &mut Check, span: Span, inferencer: &str) {
    let message = format!("`filters` read texts, and `{inferencer}` brings none");
    check.error(span, message, Some("remove the key, or use `gen`".into()));
}
