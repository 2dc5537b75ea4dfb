//! Budgets of thinking: held here where the server continues texts, by the server where it takes vLLM's field.

use super::{Served, asked};
use compass_mirrors::context::{Context, ContextRefusal};
use compass_mirrors::openai::{Budget, Endpoint, Script, THOUGHT, Thinking};
use compass_plan::engine::{Engine, EngineFault};
use compass_plan::{AtBudget, EndpointApi, GenSpec, ModelKind, ModelPlan, REST, Thinking as Settings};
use compass_types::result::{Finish, Generation, Outcome, ThinkingEnd};
use std::path::Path;

const TEMPLATE: &str = "{# <think> </think> #}{% for m in messages %}{% if m.role == 'user' %}Q: {{ m.content }}{% else %}A:{{ m.content }}\
                        {% endif %}\n{% endfor %}{% if add_generation_prompt %}A:{% endif %}";
/// Tokens of the thinking: words, with the lines before them.
const TOKENS: u32 = 2;

/// A model behind `endpoint` whose prompts are rendered by this template.
fn rendered(endpoint: &Endpoint, folder: &Path, template: &str, thinking: Settings) -> ModelPlan {
    let config = serde_json::json!({"chat_template": template});
    std::fs::write(folder.join("tokenizer_config.json"), config.to_string()).unwrap();
    ModelPlan {
        chat: true,
        tokenizer_path: folder.display().to_string(),
        thinking,
        endpoint: Some(asked(endpoint, EndpointApi::Completions)),
        ..ModelPlan::new("served", ModelKind::Endpoint, "")
    }
}

/// The answer of a model that thinks, with the number of requests beside the greeting.
fn answered(script: Script, template: &str, thinking: Settings, spec: GenSpec) -> (Generation, usize) {
    let (endpoint, folder) = (Endpoint::start(script).unwrap(), tempfile::tempdir().unwrap());
    let plan = rendered(&endpoint, folder.path(), template, thinking);
    let result = Served::load(&plan, true).run("What is 4", spec);
    let Outcome::Generated(answers) = &result.outcome else { panic!("{result:?}") };
    (answers[0].clone(), endpoint.seen().len() - 1)
}

fn thinks() -> Script {
    Script { thinking: Some(Thinking::Marked), ..Script::default() }
}

fn budget(tokens: u32) -> Settings {
    Settings { budget: Some(tokens), at_budget: AtBudget::Force { text: " Enough.\n".into() }, ..Settings::default() }
}

fn spec() -> GenSpec {
    GenSpec { max_out_len: Some(8), ..GenSpec::default() }
}

fn thought(answer: &Generation) -> (&str, u32, ThinkingEnd) {
    let thought = answer.thinking.as_ref().unwrap();
    (&thought.text, thought.tokens, thought.end)
}

#[test]
fn a_thinking_has_its_budget_to_the_token() {
    let opens = format!("{TEMPLATE}{{% if add_generation_prompt %}}<think>{{% endif %}}");
    for template in [TEMPLATE, opens.as_str()] {
        for tokens in 1..=5 {
            let (answer, requests) = answered(thinks(), template, budget(tokens), spec());
            let expected = match tokens {
                1 => ("first Enough.\n", 1, ThinkingEnd::Forced),
                TOKENS => ("first\n\nsecond Enough.\n", 2, ThinkingEnd::Forced),
                _ => (THOUGHT, TOKENS, ThinkingEnd::Closed),
            };
            assert_eq!(thought(&answer), expected, "{tokens} {template}");
            let parts = (answer.text.as_str(), answer.tokens, requests);
            assert_eq!(parts, ("the answer is 4", 5, 2), "{tokens} {template}");
        }
    }
}

#[test]
fn what_happens_at_the_budget_and_before_it_is_as_asked() {
    let cut = Settings { at_budget: AtBudget::Cut, ..budget(1) };
    let (answer, requests) = answered(thinks(), TEMPLATE, cut, spec());
    assert_eq!(thought(&answer), ("first", 1, ThinkingEnd::Cut));
    assert_eq!((answer.text.as_str(), answer.finish, requests), ("", Finish::Length, 1));
    let extended = Settings { extend: 1, ..budget(9) };
    let (answer, requests) = answered(thinks(), TEMPLATE, extended, spec());
    assert_eq!(thought(&answer), ("first\n\nsecondWait more", 4, ThinkingEnd::Closed));
    assert_eq!((answer.text.as_str(), requests), ("the answer is 4", 3));
    let ends = Script { thinking: Some(Thinking::Alone("")), ..Script::default() };
    let (answer, requests) = answered(ends, TEMPLATE, budget(9), spec());
    assert_eq!((thought(&answer), requests), ((THOUGHT, TOKENS, ThinkingEnd::Ended), 1));
}

#[test]
fn stop_strings_count_in_the_answer() {
    for (stop, expected, requests) in
        [("\n\n", "the answer is 4", 3), (" is", "the answer", 2), ("second", "the answer is 4", 2)]
    {
        let spec = GenSpec { stop: vec![stop.into()], ..spec() };
        let (answer, asked) = answered(thinks(), TEMPLATE, budget(9), spec);
        assert_eq!((thought(&answer).0, answer.text.as_str(), asked), (THOUGHT, expected, requests), "{stop:?}");
    }
}

#[test]
fn blank_lines_without_end_take_few_requests() {
    let script = Script { thinking: Some(Thinking::Blank), ..Script::default() };
    let spec = GenSpec { stop: vec!["\n".into()], max_out_len: Some(300), ..spec() };
    let (answer, requests) = answered(script, TEMPLATE, budget(9), spec);
    assert_eq!((thought(&answer).0, answer.text.trim()), (THOUGHT, ""));
    assert_eq!(requests, 1 + 8 + 2, "the thinking, eight stop strings, the next, and the rest without them");
}

#[test]
fn a_model_that_answers_at_once_has_the_length_of_an_answer() {
    let (answer, requests) = answered(Script::default(), TEMPLATE, budget(9), spec());
    assert_eq!((answer.thinking, answer.text.as_str(), requests), (None, "the answer is 4A:", 2));
}

#[test]
fn thinking_is_shorter_where_the_context_does_not_hold_both() {
    let context = Context { tokens: 40, refusal: ContextRefusal::ALL[0], is_listed: true };
    let script = Script { context: Some(context), ..thinks() };
    let (endpoint, folder) = (Endpoint::start(script).unwrap(), tempfile::tempdir().unwrap());
    let plan = ModelPlan { max_seq_len: Some(40), ..rendered(&endpoint, folder.path(), TEMPLATE, budget(1000)) };
    let result = Served::load(&plan, true).run("What is 4", spec());
    let Outcome::Generated(answers) = &result.outcome else { panic!("{result:?}") };
    assert_eq!(answers[0].text, "the answer is 4");
    let asked: Vec<u64> = endpoint.seen().iter().skip(1).filter_map(|seen| seen.max_tokens).collect();
    let [counts, thinking, answer] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((*counts, *answer), (1, 8), "the prompt is counted first: {asked:?}");
    assert!(*thinking < 10, "{asked:?}");
}

#[test]
fn a_server_that_takes_the_budget_is_tried_first() {
    let load = |budget: Budget| {
        let script = Script { thinking: Some(Thinking::Long(budget)), ..Script::default() };
        let endpoint = Endpoint::start(script).unwrap();
        let plan = ModelPlan {
            chat: true,
            thinking: Settings { budget: Some(100), ..Settings::default() },
            endpoint: Some(asked(&endpoint, EndpointApi::Chat)),
            ..ModelPlan::new("served", ModelKind::Endpoint, "")
        };
        let loaded: Result<Box<dyn Engine>, EngineFault> = compass_endpoint::load(&plan, &|why| panic!("{why}"));
        loaded.map(|engine| (Served { engine, api: EndpointApi::Chat }, endpoint))
    };
    let (mut served, endpoint) = load(Budget::Held).map_err(|fault| fault.to_string()).unwrap();
    let result = served.run("What is 4", spec());
    let Outcome::Generated(answers) = &result.outcome else { panic!("{result:?}") };
    assert_eq!((thought(&answers[0]).2, answers[0].text.as_str()), (ThinkingEnd::Closed, "the answer is 4"));
    let asked: Vec<u64> = endpoint.seen().iter().filter_map(|seen| seen.max_tokens).collect();
    assert_eq!(asked, [1, 96, 172], "a greeting, the probe, and budget, end and answer");
    for (budget, why) in
        [(Budget::Ignored, "thinks beyond it"), (Budget::Refused, "reasoning_config is not configured")]
    {
        let Err(EngineFault::Refused(said)) = load(budget).map(|_| ()) else { panic!("{budget:?} is taken") };
        assert!(said.contains(why) && said.contains("help: start vLLM with --reasoning-parser"), "{said}");
    }
}

#[test]
fn a_rest_is_what_the_context_leaves() {
    let rest = GenSpec { max_out_len: Some(REST), ..GenSpec::default() };
    let context = Context { tokens: 64, refusal: ContextRefusal::ALL[0], is_listed: true };
    let lengths = |api: EndpointApi| {
        let endpoint = Endpoint::start(Script { context: Some(context), ..Script::default() }).unwrap();
        let result = Served::new(&endpoint, api).run("one two 4", rest.clone());
        let Outcome::Generated(answers) = &result.outcome else { panic!("{result:?}") };
        assert_eq!(answers[0].text, "the answer is 4");
        endpoint.seen().iter().skip(1).map(|seen| seen.max_tokens).collect::<Vec<_>>()
    };
    assert_eq!(lengths(EndpointApi::Chat), [None], "a server gives it unasked");
    assert_eq!(lengths(EndpointApi::Completions), [None, Some(64), Some(61)], "the list of models comes first");
}
