//! The JSON of requests.

use super::answer::Reading;
use super::sent::Bound;
use compass_chat::ChatFormat;
use compass_plan::prompt::{Message, RenderedPrompt};
use compass_plan::{Decoding, EndpointApi, GenSpec, ModelPlan, NumericProfile, REST, ThinkingMode};
use compass_postprocess::thinking::{Marks, Opened};
use serde_json::{Map, Value, json};

/// Strings that OpenAI takes as `stop`; answers are cut at the others here.
const MOST_STOPS: usize = 4;
const ASSISTANT: &str = "assistant";
/// Field of vLLM's with the most tokens of a thinking.
const THINKING_BUDGET: &str = "thinking_token_budget";
/// Grade of thinking, a field of the protocol that servers hand to the template too.
const REASONING_EFFORT: &str = "reasoning_effort";

/// Settings by which a model's texts are continued: the data set's, else the model's.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    max_tokens: u32,
    min_tokens: u32,
    pub(crate) stops: Vec<String>,
    pub(crate) decoding: Decoding,
    /// Marks of thinking; `None` where texts are not split.
    pub(crate) marks: Option<Marks>,
    /// Bound of the thinking, where it is held here.
    pub(crate) bound: Option<Bound>,
    /// Set where thinking is asked for: a stop string would end it on the server.
    thinks: bool,
    /// Fields beyond the protocol.
    fields: Map<String, Value>,
}

/// Tokens beyond budget and answer that a server's own end of a thinking may take.
const FORCED_TOKENS: u32 = 64;

impl Wish {
    /// `format` renders the prompts before they are sent; `None` where the server does.
    pub(crate) fn of(spec: &GenSpec, model: &ModelPlan, format: Option<&ChatFormat>) -> Self {
        let mut stops = spec.stop.clone();
        stops.extend(model.stop_words.iter().filter(|word| !spec.stop.contains(word)).cloned());
        let marks = marks(model, format);
        let thinking = &model.thinking;
        let answer = thinking.answer_tokens.or(spec.max_out_len).unwrap_or(model.max_out_len);
        let bound = match (format, &marks) {
            (Some(_), Some(marks)) => Bound::new(thinking, marks, answer, model.max_seq_len),
            _ => None,
        };
        let is_chat = model.endpoint.as_ref().is_none_or(|endpoint| endpoint.api == EndpointApi::Chat);
        let answer = match (answer, model.max_seq_len) {
            (REST, Some(longest)) if !is_chat => longest,
            (answer, _) => answer,
        };
        let (mut max_tokens, mut fields) = (answer, fields(model, format));
        if let (None, Some(budget)) = (format, thinking.budget) {
            // REST stays what it is.
            max_tokens = answer.saturating_add(budget).saturating_add(FORCED_TOKENS);
            fields.insert(THINKING_BUDGET.to_owned(), budget.into());
        }
        Self {
            max_tokens,
            min_tokens: spec.min_out_len.unwrap_or(model.min_out_len),
            stops,
            decoding: spec.decoding.over(&model.decoding),
            marks,
            bound,
            thinks: thinking.mode == ThinkingMode::On,
            fields,
        }
    }

    /// Asks for a part of a text that ends at one of the `stops`.
    pub(crate) fn part(&self, max_tokens: u32, stops: Vec<String>) -> Self {
        Self { max_tokens, min_tokens: 0, stops, ..self.answering() }
    }

    /// Asks for the answer behind a thinking.
    pub(crate) fn answering(&self) -> Self {
        Self { marks: None, bound: None, thinks: false, ..self.clone() }
    }

    /// Asks for what is left of the tokens after some; `None` where nothing is.
    pub(crate) fn less(&self, tokens: u32) -> Option<Self> {
        let max_tokens = if self.max_tokens == REST { REST } else { self.max_tokens.saturating_sub(tokens) };
        (max_tokens > 0).then(|| Self { max_tokens, ..self.clone() })
    }

    /// Reading of the answer to a prompt.
    pub(crate) fn reading<'r>(&'r self, api: EndpointApi, stops: &'r [String], opened: Opened) -> Reading<'r> {
        Reading { api, stops, marks: self.marks.as_ref(), opened }
    }

    /// The same wish without stop strings for the server: answers are cut at them here.
    #[must_use]
    pub(crate) fn unstopped(&self) -> Self {
        Self { thinks: true, ..self.clone() }
    }

    /// Returns whether the server is told stop strings.
    pub(crate) fn sends_stops(&self) -> bool {
        !self.thinks && !self.stops.is_empty()
    }

    /// Tokens that a generation may have.
    pub(crate) fn most_tokens(&self) -> u64 {
        u64::from(self.max_tokens)
    }

    /// Asks for no more tokens than `body` did in the end.
    pub(crate) fn shorten_to(&mut self, body: &Value) {
        let tokens = body.get("max_tokens").and_then(Value::as_u64).and_then(|tokens| u32::try_from(tokens).ok());
        self.max_tokens = tokens.unwrap_or(self.max_tokens);
    }

    /// The request for answer `sequence` of sample `index`. The draws of every answer have a seed of their own.
    pub(crate) fn request(&self, model: &str, prompt: &RenderedPrompt, index: u32, sequence: u32) -> Value {
        let mut body = Map::new();
        let mut put = |key: &str, value: Value| body.insert(key.to_owned(), value);
        put("model", model.into());
        match prompt {
            RenderedPrompt::Text(text) => {
                put("prompt", text.as_str().into());
            }
            RenderedPrompt::Messages(messages) => {
                put("messages", messages.iter().map(message).collect());
                // The answer has been begun: a server that can continue it is asked to.
                if messages.last().is_some_and(|last| last.role == ASSISTANT) {
                    put("continue_final_message", true.into());
                    put("add_generation_prompt", false.into());
                }
            }
        }
        // What a chat's context leaves is what a server gives unasked.
        if self.max_tokens != REST {
            put("max_tokens", self.max_tokens.into());
        }
        if self.min_tokens > 0 {
            put("min_tokens", self.min_tokens.into());
        }
        if self.sends_stops() {
            put("stop", self.stops.iter().take(MOST_STOPS).map(String::as_str).collect());
        }
        let Decoding { temperature, top_k, top_p, repetition_penalty, seed, stop_ids, .. } = &self.decoding;
        if self.decoding.samples() {
            put("temperature", temperature.unwrap_or(1.0).into());
            top_p.map(|top_p| put("top_p", top_p.into()));
            top_k.filter(|k| *k > 0).map(|top_k| put("top_k", top_k.into()));
            put("seed", draw_seed(seed.unwrap_or(0), index, sequence).into());
        } else {
            put("temperature", 0.into());
        }
        repetition_penalty.filter(|penalty| *penalty != 1.0).map(|penalty| put("repetition_penalty", penalty.into()));
        if !stop_ids.is_empty() {
            put("stop_token_ids", stop_ids.as_slice().into());
        }
        body.extend(self.fields.clone());
        body.into()
    }
}

/// Marks by which the answers of a model are told apart from its thinking: a peer's profile splits nothing.
fn marks(model: &ModelPlan, format: Option<&ChatFormat>) -> Option<Marks> {
    let is_chat = model.endpoint.as_ref().is_none_or(|endpoint| endpoint.api == EndpointApi::Chat);
    match (model.profile, format) {
        (NumericProfile::Opencompass | NumericProfile::LmEvalHf, _) => None,
        (NumericProfile::Canonical, Some(format)) => format.marks().cloned(),
        (NumericProfile::Canonical, None) => {
            let usual = || Marks::new("<think>", "</think>");
            is_chat.then(|| model.thinking.marks.clone().unwrap_or_else(usual))
        }
    }
}

/// Returns fields of every request: the endpoint's own, the variables of its chat template, and the switch of thinking by both names
/// that templates have for it. A prompt that is rendered here has its special tokens, and the server's text keeps the marks.
fn fields(model: &ModelPlan, format: Option<&ChatFormat>) -> Map<String, Value> {
    let mut fields = model.endpoint.as_ref().map(|endpoint| endpoint.body.clone()).unwrap_or_default();
    if format.is_some() {
        fields.extend(["add_special_tokens", "skip_special_tokens"].map(|key| (key.to_owned(), false.into())));
        return fields;
    }
    let mut kwargs = model.chat_template_kwargs.clone();
    let switched = match model.thinking.mode {
        ThinkingMode::Auto => None,
        ThinkingMode::On => Some(true),
        ThinkingMode::Off => Some(false),
    };
    for name in ["enable_thinking", "thinking"] {
        if let Some(on) = switched {
            kwargs.entry(name).or_insert(on.into());
        }
    }
    if let Some(effort) = kwargs.remove(REASONING_EFFORT) {
        fields.insert(REASONING_EFFORT.to_owned(), effort);
    }
    if !kwargs.is_empty() {
        fields.insert("chat_template_kwargs".to_owned(), kwargs.into());
    }
    fields
}

fn message(message: &Message) -> Value {
    json!({"role": message.role, "content": message.content})
}

/// A seed that follows from the job's, the sample and the sequence alone; servers take 31 bits.
fn draw_seed(seed: u64, index: u32, sequence: u32) -> u32 {
    let mut x = seed ^ (u64::from(index) << 32 | u64::from(sequence));
    // SplitMix64's finalizer (Steele et al. 2014).
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 33) as u32
}

/// The shortest request there is, by which an endpoint shows that it answers, and as what.
pub(crate) fn greeting(model: &str, api: EndpointApi) -> Value {
    match api {
        EndpointApi::Chat => {
            json!({"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1, "temperature": 0})
        }
        EndpointApi::Completions => json!({"model": model, "prompt": "Hi", "max_tokens": 1, "temperature": 0}),
    }
}

/// Tokens of the thinking by which a server shows that it ends one.
const PROBED_BUDGET: u32 = 16;

/// A question that takes more thinking than [`PROBED_BUDGET`]: a server that ends the thinking there answers within the tokens.
pub(crate) fn bounded_greeting(model: &ModelPlan, name: &str) -> Value {
    let question = "What is 173 * 289? Think step by step and check every step.";
    let mut body = fields(model, None);
    body.insert(THINKING_BUDGET.to_owned(), PROBED_BUDGET.into());
    body.insert("model".to_owned(), name.into());
    body.insert("messages".to_owned(), json!([{"role": "user", "content": question}]));
    body.insert("max_tokens".to_owned(), (PROBED_BUDGET + FORCED_TOKENS + PROBED_BUDGET).into());
    body.insert("temperature".to_owned(), 0.into());
    body.into()
}

/// The same with a message of the system's, by which an endpoint shows whether it takes them.
pub(crate) fn greeting_with_system(model: &str) -> Value {
    let messages = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]);
    json!({"model": model, "messages": messages, "max_tokens": 1, "temperature": 0})
}

/// Messages as a request has them.
pub(crate) fn messages_text(messages: &[Message]) -> String {
    messages.iter().map(message).collect::<Value>().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_plan::ModelKind;

    fn wish(spec: &GenSpec) -> Wish {
        let model = ModelPlan { stop_words: vec!["<eoa>".into()], ..ModelPlan::new("m", ModelKind::Endpoint, "") };
        Wish::of(spec, &model, None)
    }

    #[test]
    fn nothing_is_drawn_unless_asked_for() {
        let spec = GenSpec { max_out_len: Some(7), stop: vec!["\n".into()], ..GenSpec::default() };
        let body = wish(&spec).request("gpt", &RenderedPrompt::Text("2+2=".into()), 3, 0);
        assert_eq!(
            body,
            json!({"model": "gpt", "prompt": "2+2=", "max_tokens": 7, "stop": ["\n", "<eoa>"], "temperature": 0})
        );
    }

    #[test]
    fn the_switch_of_thinking_and_other_variables_reach_the_server() {
        let sent = |change: &dyn Fn(&mut ModelPlan)| {
            let mut model = ModelPlan { stop_words: vec!["x".into()], ..ModelPlan::new("m", ModelKind::Endpoint, "") };
            change(&mut model);
            let wish = Wish::of(&GenSpec::default(), &model, None);
            let mut body = wish.request("gpt", &RenderedPrompt::Text("2+2=".into()), 3, 0);
            body.as_object_mut()
                .unwrap()
                .retain(|key, _| !["model", "prompt", "max_tokens", "temperature"].contains(&key.as_str()));
            body
        };
        let variables = |variables: Value| variables.as_object().unwrap().clone();
        assert_eq!(sent(&|_| {}), json!({"stop": ["x"]}));
        let off = sent(&|model| model.thinking.mode = ThinkingMode::Off);
        assert_eq!(off, json!({"stop": ["x"], "chat_template_kwargs": {"enable_thinking": false, "thinking": false}}));
        let on = sent(&|model| {
            model.thinking.mode = ThinkingMode::On;
            model.chat_template_kwargs = variables(json!({"reasoning_effort": "high", "tone": "dry"}));
        });
        let kwargs = json!({"enable_thinking": true, "thinking": true, "tone": "dry"});
        assert_eq!(
            on,
            json!({"chat_template_kwargs": kwargs, "reasoning_effort": "high"}),
            "no stop string ends thinking"
        );
    }

    #[test]
    fn every_answer_has_draws_of_its_own() {
        let decoding =
            Decoding { do_sample: Some(true), temperature: Some(0.7), top_p: Some(0.9), ..Decoding::default() };
        let wish = wish(&GenSpec { decoding, ..GenSpec::default() });
        let messages = vec![Message { role: "user".into(), content: "hi".into() }];
        let body = |index, sequence| wish.request("m", &RenderedPrompt::Messages(messages.clone()), index, sequence);
        assert_eq!((&body(0, 0)["temperature"], &body(0, 0)["top_p"]), (&json!(0.7), &json!(0.9)));
        assert_eq!(body(0, 0)["messages"], json!([{"role": "user", "content": "hi"}]));
        assert_eq!(body(4, 1), body(4, 1));
        let seeds: std::collections::BTreeSet<u64> =
            (0..20).flat_map(|at| [0, 1, 2].map(|n| body(at, n)["seed"].as_u64().unwrap())).collect();
        assert_eq!(seeds.len(), 60);
        assert!(seeds.iter().all(|seed| *seed < 1 << 31));
    }

    #[test]
    fn a_begun_answer_is_to_be_continued() {
        let messages = ["user", "assistant"].map(|role| Message { role: role.into(), content: "x".into() });
        let body = wish(&GenSpec::default()).request("m", &RenderedPrompt::Messages(messages.into()), 0, 0);
        assert_eq!((&body["continue_final_message"], &body["add_generation_prompt"]), (&json!(true), &json!(false)));
    }
}
