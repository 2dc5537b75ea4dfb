//! Models that think, scripted token by token: where thinking ends, what is its answer, and which tokens are put in place of the model's.

use crate::engine::support::{TinyModel, gen_spec, generated, prompt_sample, run_all, tiny_plan};
use compass_engine::DeviceChoice;
use compass_plan::engine::Engine;
use compass_plan::{AtBudget, InferSpec, ModelPlan, NumericProfile, Thinking, ThinkingMode};
use compass_postprocess::thinking::Marks;
use compass_types::result::{Finish, Generation, ThinkingEnd, Thought};
use serde_json::json;

/// Prompts end within thinking, as DeepSeek-R1's do.
const OPENS: &str = "{% for m in messages %}{{ m.content }}{% endfor %}{{ '<think>' }}";

/// Ten letters of thinking and the answer `012`; behind a forced end, `78`; behind an extension, two more letters.
const THINKS: [&[&str]; 3] = [
    &["<think>", "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "</think>", "0", "1", "2", "</s>"],
    &["\n", "7", "8", "</s>"],
    &["t", "K", "L", "</think>"],
];

struct Scripted {
    chains: Vec<&'static [&'static str]>,
    /// Set if each mark is one token; otherwise it is a text over several.
    marks_are_tokens: bool,
    template: &'static str,
    thinking: Thinking,
    profile: NumericProfile,
}

impl Default for Scripted {
    fn default() -> Self {
        let (thinking, profile) = (Thinking::default(), NumericProfile::Canonical);
        Self { chains: THINKS.into(), marks_are_tokens: true, template: OPENS, thinking, profile }
    }
}

impl Scripted {
    fn engine(&self) -> Box<dyn Engine> {
        let directory = tempfile::tempdir().unwrap();
        let tokens: &[&str] = if self.marks_are_tokens { &["<think>", "</think>"] } else { &[] };
        let mut model = TinyModel::scripted(tokens, &self.chains);
        model.tokenizer_config["chat_template"] = json!(self.template);
        model.write(directory.path());
        let (thinking, profile) = (self.thinking.clone(), self.profile);
        let plan = ModelPlan { chat: true, thinking, profile, ..tiny_plan(directory.path()) };
        compass_engine::load(&plan, &DeviceChoice::Cpu, 1).unwrap()
    }

    fn answer(&self, infer: &InferSpec) -> Generation {
        generated(&run_all(self.engine().as_mut(), infer, &[prompt_sample(0, "q")]).0[0]).clone()
    }
}

fn thought(text: &str, tokens: u32, end: ThinkingEnd) -> Option<Thought> {
    Some(Thought { text: text.into(), tokens, end })
}

fn budget(budget: u32) -> Thinking {
    Thinking { budget: Some(budget), ..Thinking::default() }
}

#[test]
fn the_answer_is_what_comes_behind_the_end() {
    let answer = Scripted::default().answer(&gen_spec(30, &[]));
    assert_eq!((answer.text.as_str(), answer.tokens, answer.finish), ("012", 4, Finish::Eos));
    assert_eq!(answer.thinking, thought("ABCDEFGHIJ", 10, ThinkingEnd::Closed));
}

#[test]
fn a_peers_profile_splits_nothing() {
    for profile in [NumericProfile::Opencompass, NumericProfile::LmEvalHf] {
        let answer = Scripted { profile, ..Scripted::default() }.answer(&gen_spec(30, &[]));
        assert_eq!((answer.text.as_str(), answer.thinking), ("ABCDEFGHIJ</think>012", None), "{profile:?}");
    }
}

#[test]
fn stop_strings_look_at_the_answer_alone() {
    let answer = Scripted::default().answer(&gen_spec(30, &["D", "1"]));
    assert_eq!((answer.text.as_str(), answer.finish), ("0", Finish::Stop));
    assert_eq!(answer.thinking, thought("ABCDEFGHIJ", 10, ThinkingEnd::Closed));
    // Blank lines before the answer are no paragraph that ends it; its own are.
    let chains: Vec<&[&str]> = vec![&["<think>", "A", "</think>", "\n", "0"], &["0", "1", "2", "</s>"]];
    let blank = Scripted { chains, ..Scripted::default() }.answer(&gen_spec(30, &["\n", "2"]));
    assert_eq!((blank.text.as_str(), blank.finish), ("01", Finish::Stop));
}

#[test]
fn thinking_that_does_not_end_is_no_answer() {
    let cut = Scripted::default().answer(&gen_spec(5, &[]));
    assert_eq!((cut.text.as_str(), cut.tokens, cut.finish), ("", 0, Finish::Length));
    assert_eq!(cut.thinking, thought("ABCDE", 5, ThinkingEnd::Cut));
    let chains: Vec<&[&str]> = vec![&["<think>", "A", "B", "</s>"]];
    let ended = Scripted { chains, ..Scripted::default() }.answer(&gen_spec(30, &[]));
    assert_eq!((ended.text.as_str(), ended.finish), ("", Finish::Eos));
    assert_eq!(ended.thinking, thought("AB", 2, ThinkingEnd::Ended));
}

#[test]
fn thinking_ends_at_its_budget_exact_to_the_token() {
    let forced = |tokens: usize| {
        let sentence = "\n\nConsidering the limited time by the user, I have to give the solution based on the thinking directly now.\n";
        thought(&format!("{}{sentence}", &"ABCDEFGHIJ"[..tokens]), tokens as u32, ThinkingEnd::Forced)
    };
    for tokens in 1..=40 {
        let answer = Scripted { thinking: budget(tokens), ..Scripted::default() }.answer(&gen_spec(30, &[]));
        // An end that the model writes at the budget is its own.
        let (thinking, text) = match tokens {
            ..10 => (forced(tokens as usize), "78"),
            _ => (thought("ABCDEFGHIJ", 10, ThinkingEnd::Closed), "012"),
        };
        assert_eq!((answer.thinking, answer.text.as_str()), (thinking, text), "budget {tokens}");
    }
    let short = Scripted { thinking: Thinking { answer_tokens: Some(1), ..budget(3) }, ..Scripted::default() };
    let answer = short.answer(&gen_spec(30, &[]));
    assert_eq!((answer.text.as_str(), answer.tokens, answer.finish), ("7", 1, Finish::Length));
    let cut = Scripted { thinking: Thinking { at_budget: AtBudget::Cut, ..budget(3) }, ..Scripted::default() };
    let answer = cut.answer(&gen_spec(30, &[]));
    assert_eq!((answer.text.as_str(), answer.finish), ("", Finish::Length));
    assert_eq!(answer.thinking, thought("ABC", 3, ThinkingEnd::Cut));
}

#[test]
fn marks_may_be_texts_over_several_tokens() {
    let chains: Vec<&[&str]> =
        vec![&[">", "A", "B", "C", "<", "/", "t", "h", "i", "n", "k", ">"], &["\n", "7", "8", "</s>"]];
    // The mark's last token begins thinking again: what follows the end is the answer all the same.
    let texts = |thinking: Thinking| {
        let scripted = Scripted { chains: chains.clone(), marks_are_tokens: false, thinking, ..Scripted::default() };
        scripted.answer(&gen_spec(13, &[]))
    };
    let whole = texts(Thinking::default());
    assert_eq!(whole.thinking, thought("ABC", 3, ThinkingEnd::Closed));
    assert_eq!((whole.text.as_str(), whole.tokens), ("AB", 2));
    let forced = texts(budget(2));
    assert_eq!(forced.thinking.map(|thought| (thought.tokens, thought.end)), Some((2, ThinkingEnd::Forced)));
    assert_eq!(forced.text, "78");
    let own = Thinking { marks: Some(Marks::new("[", "B")), ..Thinking::default() };
    let template = "{% for m in messages %}{{ m.content }}{% endfor %}[{{ '<think>' }}";
    let answer = Scripted { thinking: own, template, ..Scripted::default() }.answer(&gen_spec(4, &[]));
    assert_eq!((answer.thinking, answer.text.as_str()), (thought("A", 1, ThinkingEnd::Closed), "CD"));
}

#[test]
fn an_early_end_gives_way() {
    let thinking = Thinking { extend: 1, ..budget(30) };
    let answer = Scripted { thinking, ..Scripted::default() }.answer(&gen_spec(30, &[]));
    assert_eq!(answer.thinking, thought("ABCDEFGHIJWaitKL", 16, ThinkingEnd::Closed));
    assert_eq!(answer.text, "012");
}

#[test]
fn off_without_a_switch_is_an_empty_block() {
    let off = Thinking { mode: ThinkingMode::Off, ..Thinking::default() };
    let answer = Scripted { thinking: off.clone(), ..Scripted::default() }.answer(&gen_spec(30, &[]));
    assert_eq!((answer.text.as_str(), answer.thinking), ("78", None));
    let switched = "{% for m in messages %}{{ m.content }}{% endfor %}{% if enable_thinking is defined and not enable_thinking %}\
                    <think></think>{% else %}<think>{% endif %}";
    let answer = Scripted { thinking: off, template: switched, ..Scripted::default() }.answer(&gen_spec(30, &[]));
    assert_eq!((answer.text.as_str(), answer.thinking), ("012", None));
}

#[test]
fn thinking_twice_and_marks_in_the_answer() {
    let twice: Vec<&[&str]> =
        vec![&["q", "<think>", "A", "</think>", "\n", "B", "<", "/", "t", "h", "i", "n", "k", ">"]];
    let template = "{% for m in messages %}{{ m.content }}{% endfor %}{# <think> #}";
    let answer = Scripted { chains: twice, template, ..Scripted::default() }.answer(&gen_spec(30, &[]));
    assert_eq!(answer.thinking, thought("A", 1, ThinkingEnd::Closed));
    assert_eq!(answer.text, "B</think>", "the answer speaks of a mark");
    let plain: Vec<&[&str]> = vec![&["q", "0", "</think>", "1", "</s>"]];
    let answer = Scripted { chains: plain, template, ..Scripted::default() }.answer(&gen_spec(30, &[]));
    assert_eq!((answer.text.as_str(), answer.thinking), ("0</think>1", None), "nothing opened it");
}

#[test]
fn a_sample_is_the_same_whatever_runs_beside_it() {
    let scripted = Scripted { thinking: budget(4), ..Scripted::default() };
    let samples: Vec<_> = (0..24).map(|at| prompt_sample(at, &"q".repeat(at + 1))).collect();
    let mut engine = scripted.engine();
    let together = run_all(engine.as_mut(), &gen_spec(8, &[]), &samples).0;
    for (sample, beside) in samples.iter().zip(&together) {
        let alone = run_all(engine.as_mut(), &gen_spec(8, &[]), std::slice::from_ref(sample)).0;
        assert_eq!(&alone[0], beside);
        assert_eq!(generated(beside).thinking.as_ref().map(|thought| thought.tokens), Some(4));
    }
}
