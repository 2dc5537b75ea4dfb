//! Conversations of several turns, on a model whose tokens are characters. Needs no data.

use crate::engine::support::{TinyModel, chat_sample, prompt_sample, run_all, tiny_plan};
use compass_engine::DeviceChoice;
use compass_plan::engine::{BatchSpec, Engine, Request};
use compass_plan::prompt::{MetaTemplate, Prompt, Section, Segment, ShotFormat, Turn, prompt_sha};
use compass_plan::{Body, BosPolicy, ChatMode, GenSpec, InferSpec, ModelPlan, Sample};
use compass_types::result::{Finish, Outcome, SampleResult};
use serde_json::json;

const TEMPLATE: &str = "{% for m in messages %}{{ m['role'][0] + ':' + m['content'] + '|' }}{% endfor %}\
    {% if add_generation_prompt %}a:{% endif %}";

const TURNS: [(&str, &str); 5] =
    [("system", "s"), ("user", "one"), ("assistant", "gold"), ("user", "two"), ("assistant", "last")];

fn engine(chat: bool) -> Box<dyn Engine> {
    let directory = tempfile::tempdir().unwrap();
    let mut model = TinyModel::default();
    model.tokenizer_config["chat_template"] = json!(TEMPLATE);
    model.write(directory.path());
    let plan = ModelPlan { chat, ..tiny_plan(directory.path()) };
    compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap()
}

fn spec() -> GenSpec {
    GenSpec { max_out_len: Some(6), ..GenSpec::default() }
}

fn texts(result: &SampleResult) -> Vec<String> {
    match &result.outcome {
        Outcome::Generated(answers) => answers.iter().map(|answer| answer.text.clone()).collect(),
        other => panic!("{other:?}"),
    }
}

fn converse(engine: &mut dyn Engine, infer_mode: ChatMode, turns: &[(&str, &str)]) -> SampleResult {
    let infer = InferSpec::Chat { infer_mode, gen_spec: spec() };
    run_all(engine, &infer, &[chat_sample(0, turns)]).0.remove(0)
}

/// Returns a base model's answer to a text, which equals the chat model's to the template's text, except for BOS.
fn answer_of(text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    TinyModel::default().write(directory.path());
    let plan = ModelPlan { bos: BosPolicy::Never, ..tiny_plan(directory.path()) };
    let mut engine = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap();
    texts(&run_all(engine.as_mut(), &InferSpec::Gen(spec()), &[prompt_sample(0, text)]).0[0]).remove(0)
}

#[test]
fn all_chat_modes() {
    let mut engine = engine(true);
    // The system's turns are the user's, and neighbours of one role become one message.
    let first = answer_of("u:s\none|a:");
    let with_gold = answer_of("u:s\none|a:gold|u:two|a:");
    let with_own = answer_of(&format!("u:s\none|a:{first}|u:two|a:"));
    assert!(first != "gold" && with_gold != with_own, "{first} {with_gold}");
    assert_eq!(texts(&converse(engine.as_mut(), ChatMode::Last, &TURNS)), [with_gold.as_str()]);
    assert_eq!(texts(&converse(engine.as_mut(), ChatMode::EveryWithGt, &TURNS)), [first.clone(), with_gold]);
    let every = converse(engine.as_mut(), ChatMode::Every, &TURNS);
    assert_eq!(texts(&every), [first, with_own]);
    assert_eq!(every.fit.tokens as usize, "u:s\none|a:".len() + texts(&every)[0].len() + "|u:two|a:".len());
    // A single prompt is a user's message.
    let (single, _) = run_all(engine.as_mut(), &InferSpec::Gen(spec()), &[prompt_sample(0, "hi")]);
    assert_eq!(texts(&single[0]), [answer_of("u:hi|a:")]);
    // Each result has the digest of what the template made.
    assert_eq!(single[0].fit.prompt_sha, Some(prompt_sha(["u:hi|a:"])));
    let asked = ["u:s\none|a:".to_owned(), format!("u:s\none|a:{}|u:two|a:", texts(&every)[0])];
    assert_eq!(every.fit.prompt_sha, Some(prompt_sha(asked.iter().map(String::as_str))));
}

#[test]
fn prompt_in_rounds_uses_the_template() {
    let turn = |role: &str, words: Option<&str>| {
        Segment::Turn(Turn { role: role.into(), prompt: words.map(Prompt::question), ..Turn::default() })
    };
    let prompt = Prompt(vec![
        Segment::Open(Section::Round),
        turn("HUMAN", Some("one")),
        turn("BOT", Some("gold")),
        turn("HUMAN", Some("two")),
        turn("BOT", None),
        Segment::Close(Section::Round),
    ]);
    let sample = Sample { index: 0, gold: json!(0), shots: Vec::new(), body: Body::Gen { prompt } };
    let mut engine = engine(true);
    let mut answer = |meta: MetaTemplate| {
        let infer = InferSpec::Gen(spec());
        let spec =
            BatchSpec { infer, shot_format: ShotFormat::default(), meta_template: Some(meta), takes_programs: false };
        let mut results = Vec::new();
        let request = Request::new(&sample, Vec::new());
        engine.run(&spec, &[request], &mut |result| results.push(result)).unwrap();
        results.remove(0)
    };
    let free = answer(MetaTemplate::chat());
    // The system, silent in every round, counts as the user: OpenCompass adds its empty line.
    let expected = answer_of("u:one\n|a:gold|u:two\n|a:");
    assert_eq!(texts(&free), [expected.as_str()]);
    // The tiny tokenizer's ids: the first characters are 4 and up. The meta template's end token ends the answer.
    let first = expected.chars().next().unwrap();
    let ended = answer(MetaTemplate { eos_token_id: Some(4 + (first as u32 - ' ' as u32)), ..MetaTemplate::chat() });
    let Outcome::Generated(answers) = &ended.outcome else { panic!("{ended:?}") };
    assert_eq!((answers[0].tokens, answers[0].finish), (1, Finish::Eos));
}

#[test]
fn date_of_a_template_is_fixed() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = TinyModel::default();
    model.tokenizer_config["chat_template"] = json!("{{ strftime_now('%d %b %Y') }} {{ messages[0].content }}");
    model.write(directory.path());
    let plan = ModelPlan { chat: true, ..tiny_plan(directory.path()) };
    let mut engine = compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap();
    assert!(engine.facts().notes.iter().any(|note| note.contains("2024-07-26")), "{:?}", engine.facts());
    let (results, _) = run_all(engine.as_mut(), &InferSpec::Gen(spec()), &[prompt_sample(0, "hi")]);
    assert_eq!(texts(&results[0]), [answer_of("26 Jul 2024 hi")]);
}

#[test]
fn turns_are_lines_without_a_template() {
    let mut base = engine(false);
    let got = converse(base.as_mut(), ChatMode::Last, &TURNS);
    let (lines, _) = run_all(base.as_mut(), &InferSpec::Gen(spec()), &[prompt_sample(0, "s\none\ngold\ntwo")]);
    assert_eq!(texts(&got), texts(&lines[0]));
    let nothing = converse(base.as_mut(), ChatMode::Every, &TURNS[..2]);
    let Outcome::Failed { reason } = &nothing.outcome else { panic!("{nothing:?}") };
    assert!(reason.contains("no turn of the assistant"), "{reason}");
}
