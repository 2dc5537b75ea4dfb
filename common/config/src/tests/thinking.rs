//! `thinking` and `chat_template_kwargs`: what is read, and what is refused with its place before anything starts.

use super::fixture::{DATASET, Fixture};
use compass_plan::{AtBudget, REST, ThinkingMode, Unfinished};
use compass_settings::ModelConfig;

/// A template that thinks unless it is told not to.
const QWEN: &str = "{% for m in messages %}{{ m.content }}{% endfor %}{{ 'assistant\\n' }}{% if enable_thinking is defined and not enable_thinking %}\
                    {{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}";
const PLAIN: &str = "{% for m in messages %}{{ m.content }}{% endfor %}";

fn toml(keys: &str) -> String {
    format!("[[model]]\nabbr = \"m\"\npath = \"models/tiny\"\n{keys}\n{DATASET}")
}

fn fixture(template: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture.write("models/tiny/chat_template.jinja", template);
    fixture
}

fn model(template: &str, keys: &str) -> ModelConfig {
    fixture(template).good(&toml(&format!("chat = true\n{keys}"))).models.remove(0)
}

#[test]
fn every_key_is_read() {
    let model = model(
        QWEN,
        "chat_template_kwargs = { enable_thinking = true }
thinking = { mode = \"on\", marks = \"think\", budget = 512, answer_tokens = 64, at_budget = \"cut\", extend = 2, unfinished = \"unscored\", keep = 400 }",
    );
    let thinking = model.thinking;
    assert_eq!((thinking.mode, thinking.budget, thinking.answer_tokens), (ThinkingMode::On, Some(512), Some(64)));
    assert_eq!((thinking.at_budget, thinking.extend, thinking.keep), (AtBudget::Cut, 2, Some(400)));
    assert_eq!(thinking.unfinished, Unfinished::Unscored);
    assert_eq!(thinking.marks.map(|marks| marks.start().to_owned()).as_deref(), Some("<think>"));
    assert_eq!(model.chat_template_kwargs["enable_thinking"], true);
    let own = self::model(
        PLAIN,
        "thinking = { marks = { start = [\"<t>\", \"<T>\"], end = \"</t>\", answer = [\"<a>\", \"</a>\"] }, budget = 9, at_budget = { text = \"So.\" } }",
    );
    let marks = own.thinking.marks.unwrap();
    assert_eq!((marks.starts.len(), marks.end(), marks.answer.as_ref().unwrap().close.as_str()), (2, "</t>", "</a>"));
    assert_eq!(own.thinking.at_budget, AtBudget::Force { text: "So.".into() });
}

#[test]
fn nothing_written_changes_nothing() {
    let model = model(QWEN, "");
    assert!(model.thinking.is_default() && model.chat_template_kwargs.is_empty());
    let text = serde_json::to_string(&model).unwrap();
    assert!(!text.contains("thinking") && !text.contains("chat_template_kwargs"), "{text}");
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    for (keys, wanted) in [
        ("thinking = { budget = 0 }", "`budget` is out of range: 0"),
        ("thinking = { mode = \"maybe\" }", "maybe"),
        ("thinking = \"offf\"", "did you mean `off`?"),
        ("thinking = { marks = \"thinks\" }", "did you mean `think`?"),
        ("thinking = { marks = { start = \"\", end = \"b\" } }", "`start` is empty"),
        ("thinking = { marks = { start = \"b\", end = \"b\" } }", "`start` and `end` are both `b`"),
        ("thinking = { marks = { start = \"b\" } }", "missing key `end`"),
        ("thinking = { effort = \"extreme\" }", "`effort` cannot be `extreme`"),
        ("thinking = { effort = \"high\" }", "`effort` changes nothing in the prompts of model `m`"),
        ("thinking = { at_budget = \"cut\" }", "`at_budget` without a `budget`"),
        (
            "max_seq_len = 100\nmax_out_len = 50\nthinking = { budget = 50 }",
            "50 tokens of thinking, 50 of the answer and a prompt exceed the 100",
        ),
        ("chat_template_kwargs = { thinking = true }", "`thinking` of `chat_template_kwargs` changes nothing"),
        ("chat_template_kwargs = { messages = [] }", "`messages` of `chat_template_kwargs` is set by the renderer"),
        (
            "chat_template_kwargs = { bos_token = \"x\" }",
            "`bos_token` of `chat_template_kwargs` is set by the renderer",
        ),
        ("chat_template_kwargs = { date = 2026-11-28 }", "`date` cannot be a"),
        ("thinking = \"off\"\nchat_template_kwargs = { enable_thinking = true }", "contradicts `thinking = \"off\"`"),
        ("profile = \"opencompass\"\nthinking = \"off\"", "`thinking` under a peer's profile"),
    ] {
        let shown = fixture(QWEN).bad(&toml(&format!("chat = true\n{keys}")));
        assert!(shown.contains(wanted) && shown.contains("eval.toml:"), "{keys}\n{shown}");
    }
    let shown = fixture(PLAIN).bad(&toml("chat = true\nthinking = \"on\""));
    assert!(shown.contains("model `m`: the chat template has no marks of thinking"), "{shown}");
    let shown = fixture(QWEN).bad(&toml("thinking = \"on\""));
    assert!(shown.contains("has no chat template in its prompts"), "{shown}");
    let shown = fixture(QWEN).bad(&toml("chat = true\nthinking = { budget = 0, marks = \"x\", effort = \"y\" }"));
    assert!(shown.contains("3 errors"), "{shown}");
}

#[test]
fn the_switch_of_a_peers_configuration_is_served() {
    let model = model(QWEN, "profile = \"opencompass\"\nchat_template_kwargs = { enable_thinking = false }");
    assert_eq!(model.chat_template_kwargs["enable_thinking"], false);
    let fixture = fixture(QWEN);
    let class = "type = \"VLLMwithChatTemplate\"\nchat_template_kwargs = { enable_thinking = true }";
    assert_eq!(fixture.good(&toml(class)).models[0].chat_template_kwargs["enable_thinking"], true);
}

#[test]
fn an_endpoint_takes_fields_beyond_the_protocol() {
    let endpoint = |keys: &str, model: &str| {
        format!(
            "[[model]]\nabbr = \"m\"\nendpoint = {{ url = \"http://h/v1\", model = \"x\"{keys} }}\n{model}\n{DATASET}"
        )
    };
    let fixture = Fixture::new();
    let model = fixture
        .good(&endpoint(", body = { top_k = 40, guided = { json = true } }", "thinking = { effort = \"high\" }"));
    let model = &model.models[0];
    assert_eq!(model.endpoint.as_ref().unwrap().body["guided"]["json"], true);
    assert_eq!(model.chat_template_kwargs["reasoning_effort"], "high");
    for (keys, model, wanted) in [
        (", body = { model = \"y\" }", "", "`model` of `body` is sent anyway"),
        (", body = { max_tokens = 5, temperature = 1 }", "", "2 errors"),
        ("", "thinking = { budget = 5, at_budget = \"cut\" }", "whose server ends the thinking in its own way"),
        ("", "thinking = { budget = 5, extend = 1 }", "whose server ends the thinking in its own way"),
        (
            "",
            "tokenizer_path = \"models/tiny\"",
            "`tokenizer_path` of a model behind an endpoint that is not asked through its template",
        ),
        (", api = \"completions\"", "chat = false\ntokenizer_path = \"models/tiny\"", "not asked through its template"),
        (", api = \"completions\"", "thinking = \"on\"", "is asked with texts, which pass no chat template"),
    ] {
        let shown = fixture.bad(&endpoint(keys, model));
        assert!(shown.contains(wanted), "{keys} {model}\n{shown}");
    }
    let budget = fixture.good(&endpoint("", "thinking = { budget = 5 }")).models.remove(0);
    assert_eq!((budget.thinking.budget, budget.tokenizer_path.as_os_str().len()), (Some(5), 0));
}

#[test]
fn prompts_of_an_endpoint_that_continues_texts_go_through_the_template_of_a_tokenizer() {
    let toml = |model: &str| {
        format!(
            "[[model]]\nabbr = \"m\"\ntokenizer_path = \"models/tiny\"\n\
             endpoint = {{ url = \"http://h/v1\", model = \"x\", api = \"completions\" }}\n{model}\n{DATASET}"
        )
    };
    let model = fixture(QWEN)
        .good(&toml(
            "thinking = { mode = \"on\", budget = 5, at_budget = \"cut\", extend = 1 }\nmax_out_len = \"rest\"",
        ))
        .models
        .remove(0);
    assert!(model.chat && model.tokenizer_path.ends_with("models/tiny"), "{model:?}");
    assert_eq!((model.thinking.budget, model.max_out_len), (Some(5), REST));
    let shown = fixture(PLAIN).bad(&toml("thinking = \"on\""));
    assert!(shown.contains("model `m`: the chat template has no marks of thinking"), "{shown}");
    let shown = fixture(QWEN).bad(&toml("max_out_len = \"all\""));
    assert!(shown.contains("max_out_len") && shown.contains("a number of tokens, or \"rest\""), "{shown}");
}
