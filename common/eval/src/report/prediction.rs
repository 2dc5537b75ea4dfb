//! One sample's record in `predictions/<model>/<dataset>.json`.
//!
//! OpenCompass's keys come first, in its order; ours follow only where there is something to say. Two differences, both
//! meant: "in-context examples" shows the shots that stayed, where OpenCompass goes on showing those it dropped, and the
//! prompts of BPB lose the sample's own shots, where OpenCompass takes those of the batch's first sample.

use super::thinking;
use crate::evaluator::judge;
use compass_plan::prompt::{MetaTemplate, Mode, Prompt, RenderedPrompt, Shot, ShotFormat, render_shots};
use compass_plan::{Body, ChatMode, DatasetPlan, InferSpec, OptionPrompt, OptionText, Part, Sample};
use compass_pyfmt::{python_str, with_texts};
use compass_types::result::{LoglikelihoodScore, Outcome, PplScore, PromptFit, SampleResult};
use serde_json::{Map, Value, json};

/// The record of `sample`, which stands in `part`, for a model with the given meta template.
///
/// Prompts are shown as the model read them; those of chat models as OpenCompass's lists of `{role, prompt}`.
///
/// - `ppl`: "in-context examples", origin_prompt, per label "testing input", prompt, PPL, BPB; prediction, gold. BPB is
///   PPL times tokens by the UTF-8 bytes of the prompt without shots, as OpenCompass defines it (no ln 2). Of a text that was
///   cut all tokens count; of several such options, those of the longest.
/// - `loglikelihood`: "in-context examples", per label "testing input", prompt, Loglikelihood, is_greedy, tokens,
///   and where `acc_mutual_info` is asked Unconditional Loglikelihood; prediction, gold.
/// - `clp`: "in-context examples", "testing input", prompt, choices, prediction (the choices' probabilities among
///   themselves), pred_label (the position of the greatest), gold.
/// - `gen`: origin_prompt, prediction, gold. `ppl_only`: origin_prompt, ppl. `inference_ppl_only`: that and token_len. `rolling`:
///   origin_prompt, Loglikelihood, tokens. `swce_loss`, whose samples are slices of the windows of all texts: slice (its number, from
///   0, and how many there are), characters (its share), Loglikelihood, tokens.
/// - then, of a model that thinks, what [`thinking::add_to_record`] says, with at most `keep` characters of the thinking.
/// - then, where messages were asked, prompt_sha: the beginning of the SHA-256 of what became of them, the text of the chat template or
///   the JSON that an endpoint got; of several, joined by a zero byte. A prompt that is a text stands above as it was tokenised.
/// - then, when it applies: rendered_prompt (that text, of a sample that failed), shots_kept (fewer than planned), too_long (tokens
///   before and after truncation), tie, and error with the reason why there is no prediction.
///
/// Scores that are not finite are null.
pub fn prediction_record(
    dataset: &DatasetPlan,
    meta: Option<&MetaTemplate>,
    part: &Part,
    sample: &Sample,
    result: &SampleResult,
    keep: Option<u32>,
) -> Value {
    let page = Page::new(dataset, meta, part, sample, result);
    let mut record = Map::new();
    match &sample.body {
        Body::Ppl { options } if dataset.infer == InferSpec::InferencePpl => {
            record
                .insert("origin_prompt".into(), options.first().map(|text| page.whole(&text.prompt).printed()).into());
            if let Outcome::Ppl(scores) = &result.outcome {
                record.insert("ppl".into(), scores.first().map(|score| score.nll_sum).into());
                record.insert("token_len".into(), scores.first().map(|score| score.tokens).into());
            }
        }
        Body::Ppl { options } => page.ppl(&mut record, options, &result.outcome),
        Body::Loglikelihood { context, options } => page.loglikelihood(&mut record, context, options, &result.outcome),
        Body::Clp { prompt, choices } => page.clp(&mut record, prompt, choices, &result.outcome),
        Body::Gen { prompt } | Body::Rolling { text: prompt, .. } => {
            record.insert("origin_prompt".into(), page.whole(prompt).printed());
        }
        Body::Windows { slice, slices, characters } => {
            record.insert("slice".into(), json!([slice, slices]));
            record.insert("characters".into(), (*characters).into());
        }
        Body::Execute { .. } => {}
        Body::Chat { turns } => {
            // Where the last answer alone is asked for, it is the history before it that a model is given.
            let last = turns.iter().rposition(|turn| turn.role == "assistant");
            let asks_last = matches!(dataset.infer, InferSpec::Chat { infer_mode: ChatMode::Last, .. });
            let asked = last.filter(|_| asks_last).and_then(|last| turns.get(..last)).unwrap_or(turns);
            let turns = asked.iter().map(|turn| json!({"role": turn.role, "content": turn.content}));
            record.insert("origin_prompt".into(), turns.collect());
        }
    }
    let score = judge(sample, result, &dataset.eval);
    match (&sample.body, &result.outcome) {
        (Body::Gen { .. }, Outcome::Ppl(scores)) => {
            record.insert("ppl".into(), scores.first().map(PplScore::mean).into());
        }
        (_, Outcome::Rolling(score)) => {
            record.insert("Loglikelihood".into(), score.sum.into());
            record.insert("tokens".into(), score.tokens.into());
        }
        _ => {}
    }
    let scored_alone = matches!(
        dataset.infer,
        InferSpec::PplOnly | InferSpec::InferencePpl | InferSpec::Rolling | InferSpec::SwceLoss { .. }
    );
    if let Some(score) = score.as_ref().ok().filter(|_| !scored_alone && !record.contains_key("prediction")) {
        record.insert("prediction".into(), with_texts(score.prediction.clone()));
    } else if let Outcome::Generated(generations) = &result.outcome {
        let texts: Vec<&str> = generations.iter().map(|generation| generation.text.as_str()).collect();
        // OpenCompass: several answers to a prompt are a list.
        record.insert("prediction".into(), if let [only] = texts.as_slice() { json!(only) } else { json!(texts) });
    }
    if let Outcome::Generated(answers) = &result.outcome {
        thinking::add_to_record(&mut record, answers, keep);
    }
    if !sample.gold.is_null() {
        record.insert("gold".into(), with_texts(dataset.eval.evaluator.reference(&sample.gold).clone()));
    }
    if let Some(sha) = result.fit.prompt_sha {
        record.insert("prompt_sha".into(), sha.to_string().into());
    }
    if let (Outcome::Failed { .. }, Some(rendered)) = (&result.outcome, &result.fit.rendered) {
        record.insert("rendered_prompt".into(), rendered.as_str().into());
    }
    if page.shots.len() < sample.shots.len() {
        record.insert("shots_kept".into(), page.shots.len().into());
    }
    if result.fit.truncated_from > 0 {
        record.insert("too_long".into(), json!({"tokens": result.fit.truncated_from, "kept": result.fit.tokens}));
    }
    match score {
        Ok(score) if score.tie => record.insert("tie".into(), true.into()),
        Ok(_) => None,
        // Programs are run later: that they were not yet is no fault of the prediction.
        Err(_) if dataset.eval.evaluator.executes() && matches!(result.outcome, Outcome::Generated(_)) => None,
        Err(unscored) => record.insert("error".into(), unscored.to_string().into()),
    };
    Value::Object(record)
}

/// Form that the prompts of a sample had when it ran.
struct Page<'a> {
    shots: Vec<&'a Shot>,
    format: &'a ShotFormat,
    meta: Option<&'a MetaTemplate>,
    mode: Mode,
    fit: &'a PromptFit,
}

impl<'a> Page<'a> {
    fn new(
        dataset: &'a DatasetPlan,
        meta: Option<&'a MetaTemplate>,
        part: &'a Part,
        sample: &Sample,
        result: &'a SampleResult,
    ) -> Self {
        let mut shots = part.shots_of(sample);
        // A sample that failed before it was fitted says nothing about its shots.
        let fitted = !matches!(result.outcome, Outcome::Failed { .. }) || result.fit.tokens > 0;
        if fitted {
            shots.truncate(result.fit.shots_kept as usize);
        }
        Self { shots, format: &dataset.shot_format, meta, mode: dataset.infer.prompt_mode(), fit: &result.fit }
    }

    /// Tokens of a text before it was cut, as OpenCompass counts them.
    fn tokens_of(&self, score: &PplScore) -> u32 {
        let cut = self.fit.truncated_from > 0 && score.tokens == self.fit.tokens;
        if cut { self.fit.truncated_from } else { score.tokens }
    }

    fn whole(&self, prompt: &Prompt) -> RenderedPrompt {
        prompt.render_for(&self.shots, self.format, self.meta, self.mode)
    }

    /// OpenCompass's "in-context examples": the shots as they stand in the prompt, with what ends them.
    fn examples(&self, prompt: Option<&Prompt>) -> RenderedPrompt {
        if prompt.is_some_and(Prompt::takes_shots) {
            render_shots(&self.shots, self.format, self.meta)
        } else {
            RenderedPrompt::Text(String::new())
        }
    }

    /// The prompt without its shots. Of rounds OpenCompass cuts the text of the shots out, and what joined it stays; it
    /// cuts nothing where a meta template wraps the shots in a text that the prompt does not hold.
    fn without_shots(&self, prompt: &Prompt) -> RenderedPrompt {
        if !prompt.is_rounds() {
            return prompt.render_for(&[], &ShotFormat::default(), self.meta, self.mode);
        }
        match (self.whole(prompt), self.examples(Some(prompt))) {
            (RenderedPrompt::Text(whole), RenderedPrompt::Text(shots)) if !shots.is_empty() => {
                RenderedPrompt::Text(whole.replace(&shots, ""))
            }
            (whole @ RenderedPrompt::Text(_), _) => whole,
            (RenderedPrompt::Messages(_), _) => prompt.render_for(&[], &ShotFormat::default(), self.meta, self.mode),
        }
    }

    fn clp(&self, record: &mut Map<String, Value>, prompt: &Prompt, choices: &[String], outcome: &Outcome) {
        record.insert("in-context examples".into(), self.examples(Some(prompt)).printed());
        record.insert("testing input".into(), self.without_shots(prompt).printed());
        record.insert("prompt".into(), self.whole(prompt).printed());
        record.insert("choices".into(), json!(choices));
        let Outcome::Clp(scores) = outcome else { return };
        let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let contributions: Vec<f64> = scores.iter().map(|score| (score - greatest).exp()).collect();
        let sum: f64 = contributions.iter().sum();
        record.insert("prediction".into(), contributions.iter().map(|contribution| contribution / sum).collect());
        record.insert("pred_label".into(), scores.iter().position(|score| *score == greatest).into());
    }

    fn ppl(&self, record: &mut Map<String, Value>, options: &[OptionPrompt], outcome: &Outcome) {
        let prompts = || options.iter().map(|option| &option.prompt);
        record.insert("in-context examples".into(), self.examples(prompts().next()).printed());
        let origin = prompts().next().map(|prompt| self.without_shots(prompt).printed());
        record.insert("origin_prompt".into(), origin.into());
        let scores: &[PplScore] = if let Outcome::Ppl(scores) = outcome { scores } else { &[] };
        for (at, option) in options.iter().enumerate() {
            let input = self.without_shots(&option.prompt);
            let bytes = input.bytes() as f64;
            let mut entry = Map::new();
            entry.insert("testing input".into(), input.printed());
            entry.insert("prompt".into(), self.whole(&option.prompt).printed());
            if let Some(score) = scores.get(at) {
                entry.insert("PPL".into(), score.mean().into());
                // Another evaluator's files do not count tokens.
                if score.tokens > 0 {
                    let tokens = f64::from(self.tokens_of(score));
                    entry.insert("BPB".into(), (score.mean() * tokens / bytes).into());
                }
            }
            record.insert(label_key(&option.label), entry.into());
        }
    }

    fn loglikelihood(
        &self,
        record: &mut Map<String, Value>,
        context: &Prompt,
        options: &[OptionText],
        outcome: &Outcome,
    ) {
        // Options that have a context of their own show the shots there.
        let own = options.first().and_then(|option| option.context.as_ref());
        let shows = if context.takes_shots() { context } else { own.unwrap_or(context) };
        record.insert("in-context examples".into(), self.examples(Some(shows)).printed());
        let scores: &[LoglikelihoodScore] = if let Outcome::Loglikelihood(scores) = outcome { scores } else { &[] };
        let asked = options.iter().position(|option| option.unconditional).unwrap_or(options.len());
        for (at, option) in options.iter().enumerate().take(asked) {
            let context = option.context.as_ref().unwrap_or(context);
            let continued = |prompt: RenderedPrompt| match &prompt {
                RenderedPrompt::Text(_) => prompt.continued(&option.continuation).printed(),
                RenderedPrompt::Messages(_) => prompt.continued(option.said(context.prefix())).printed(),
            };
            let mut entry = Map::new();
            entry.insert("testing input".into(), continued(self.without_shots(context)));
            entry.insert("prompt".into(), continued(self.whole(context)));
            if let Some(score) = scores.get(at) {
                entry.insert("Loglikelihood".into(), score.sum.into());
                if score.tokens > 0 || option.continuation.is_empty() {
                    entry.insert("is_greedy".into(), score.is_greedy.into());
                    entry.insert("tokens".into(), score.tokens.into());
                }
            }
            if let Some(alone) = scores.get(asked + at) {
                entry.insert("Unconditional Loglikelihood".into(), alone.sum.into());
            }
            record.insert(label_key(&option.label), entry.into());
        }
    }
}

fn label_key(label: &Value) -> String {
    format!("label: {}", python_str(label))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluator::fixture::*;
    use compass_plan::{ChatTurn, GenSpec};
    use compass_types::result::PromptSha;

    fn part(sample: &Sample) -> Part {
        Part { shots: vec!["S0".into(), "S1".into()], samples: vec![sample.clone()] }
    }

    fn record(infer: InferSpec, sample: &Sample, result: &SampleResult) -> String {
        prediction_record(&dataset("d", infer, 1), None, &part(sample), sample, result, None).to_string()
    }

    #[test]
    fn ppl_with_all_shots() {
        let mut sample = ppl(0, json!("B"), &[json!("A"), json!(1)]);
        sample.shots = vec![1, 0];
        let mut result = ppl_result(0, &[(9.0, 3), (8.0, 4)]);
        result.fit.shots_kept = 2;
        assert_eq!(
            record(InferSpec::Ppl, &sample, &result),
            concat!(
                r#"{"in-context examples":"S1\nS0\n","origin_prompt":"H: Q: answer é \"A\"","#,
                r#""label: A":{"testing input":"H: Q: answer é \"A\"","prompt":"H: S1\nS0\nQ: answer é \"A\"","#,
                r#""PPL":3.0,"BPB":0.47368421052631576},"#,
                r#""label: 1":{"testing input":"H: Q: answer é 1","prompt":"H: S1\nS0\nQ: answer é 1","#,
                r#""PPL":2.0,"BPB":0.47058823529411764},"#,
                r#""prediction":1,"gold":"B"}"#
            )
        );
    }

    #[test]
    fn what_was_done_to_the_prompt_is_said() {
        let mut sample = ppl(0, json!(0), &[json!(0), json!(1)]);
        sample.shots = vec![0, 1];
        let mut result = ppl_result(0, &[(8.0, 4), (8.0, 4)]);
        result.fit.shots_kept = 1;
        result.fit.truncated_from = 700;
        result.fit.tokens = 512;
        let record = record(InferSpec::Ppl, &sample, &result);
        assert!(record.starts_with(r#"{"in-context examples":"S0\n","#), "{record}");
        let tail = r#""prediction":0,"gold":0,"shots_kept":1,"too_long":{"tokens":700,"kept":512},"tie":true}"#;
        assert!(record.ends_with(tail), "{record}");
    }

    #[test]
    fn all_tokens_of_a_text_that_was_cut_count_for_bpb() {
        let sample = ppl(0, json!(0), &[json!(0), json!(1)]);
        let mut result = ppl_result(0, &[(24.0, 12), (8.0, 4)]);
        (result.fit.truncated_from, result.fit.tokens) = (38, 12);
        let record = record(InferSpec::Ppl, &sample, &result);
        let of = |label: &str| serde_json::from_str::<Value>(&record).unwrap()[label]["BPB"].as_f64().unwrap();
        let bytes = "H: Q: answer é 0".len() as f64;
        assert_eq!((of("label: 0"), of("label: 1")), (76.0 / bytes, 8.0 / bytes));
    }

    #[test]
    fn loglikelihood_without_shots() {
        let sample = loglikelihood(0, json!(1), &["x", "yz"]);
        assert_eq!(
            record(InferSpec::Loglikelihood, &sample, &loglikelihood_result(0, &[f64::NEG_INFINITY, -1.5])),
            concat!(
                r#"{"in-context examples":"\n","#,
                r#""label: 0":{"testing input":"H: Q: context x","prompt":"H: \nQ: context x","#,
                r#""Loglikelihood":null,"is_greedy":false,"tokens":2},"#,
                r#""label: 1":{"testing input":"H: Q: context yz","prompt":"H: \nQ: context yz","#,
                r#""Loglikelihood":-1.5,"is_greedy":false,"tokens":2},"#,
                r#""prediction":1,"gold":1}"#
            )
        );
    }

    #[test]
    fn shots_in_the_contexts_of_options_are_shown() {
        let mut sample = loglikelihood(0, json!(1), &["x", "yz"]);
        sample.shots = vec![0, 1];
        let Body::Loglikelihood { context, options } = &mut sample.body else { panic!() };
        let shared = std::mem::take(context);
        for option in options {
            option.context = Some(shared.clone());
        }
        let mut result = loglikelihood_result(0, &[-2.0, -1.5]);
        result.fit.shots_kept = 2;
        let record = record(InferSpec::MeanLoglikelihood, &sample, &result);
        let shots = r#"{"in-context examples":"S0\nS1\n","label: 0":{"testing input":"H: Q: context x","#;
        assert!(record.starts_with(shots), "{record}");
    }

    #[test]
    fn generation() {
        let infer = || InferSpec::Gen(GenSpec::default());
        let sample = generate(0, json!("42"));
        assert_eq!(
            record(infer(), &sample, &generated(0, " 42")),
            r#"{"origin_prompt":"H: \nQ: go on","prediction":" 42","gold":"42"}"#
        );
        assert_eq!(
            record(infer(), &generate(0, json!(null)), &generated(0, "x")),
            r#"{"origin_prompt":"H: \nQ: go on","prediction":"x","error":"the data set gives no gold answer"}"#
        );
    }

    #[test]
    fn a_failed_sample_has_a_reason_and_no_prediction() {
        let mut sample = ppl(0, json!(0), &[json!(0)]);
        sample.shots = vec![0, 1];
        assert_eq!(
            record(InferSpec::Ppl, &sample, &failed(0, "crashed the engine three times")),
            concat!(
                r#"{"in-context examples":"S0\nS1\n","origin_prompt":"H: Q: answer é 0","#,
                r#""label: 0":{"testing input":"H: Q: answer é 0","prompt":"H: S0\nS1\nQ: answer é 0"},"#,
                r#""gold":0,"error":"crashed the engine three times"}"#
            )
        );
    }

    #[test]
    fn what_a_template_made_of_messages_is_the_workers_word() {
        let dataset = dataset("d", InferSpec::Gen(GenSpec::default()), 1);
        let (sample, meta) = (generate(0, json!("42")), MetaTemplate::chat());
        let record =
            |result: &SampleResult| prediction_record(&dataset, Some(&meta), &part(&sample), &sample, result, None);
        let told = record(&generated(0, "42"));
        assert_eq!(told.get("prompt_sha"), None, "nothing is claimed of what is not known: {told}");
        let mut result = generated(0, "42");
        result.fit.prompt_sha = Some(PromptSha(0xabc));
        result.fit.rendered = Some("user: go on".into());
        let told = record(&result);
        assert_eq!((&told["prompt_sha"], told.get("rendered_prompt")), (&json!("0000000000000abc"), None));
        let failed = record(&SampleResult { outcome: failed(0, "no logits").outcome, ..result });
        assert_eq!(failed["prompt_sha"], "0000000000000abc");
        assert_eq!((&failed["rendered_prompt"], &failed["error"]), (&json!("user: go on"), &json!("no logits")));
    }

    #[test]
    fn of_a_conversation_the_record_holds_what_was_asked() {
        let turn = |(role, content): (&str, &str)| ChatTurn { role: role.into(), content: content.into() };
        let turns = [("user", "1+1"), ("assistant", "2"), ("user", "2+2"), ("assistant", "4")].map(turn);
        let sample = Sample { body: Body::Chat { turns: turns.into() }, ..generate(0, json!("4")) };
        let asked = |infer_mode| {
            let infer = InferSpec::Chat { infer_mode, gen_spec: GenSpec::default() };
            record(infer, &sample, &generated(0, "five"))
        };
        let history = concat!(
            r#"{"origin_prompt":[{"role":"user","content":"1+1"},{"role":"assistant","content":"2"},"#,
            r#"{"role":"user","content":"2+2"}],"#
        );
        assert!(asked(ChatMode::Last).starts_with(history), "{}", asked(ChatMode::Last));
        assert!(asked(ChatMode::EveryWithGt).contains(r#""content":"4"}],"#), "the last turn is one of several");
    }
}
