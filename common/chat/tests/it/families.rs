//! Families of models that think, by the ends of their published templates: marks, switch, and the prompt that opens thinking.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use compass_chat::{ChatTemplate, ChatThinking, Probe, TODAY, ThinkingFault};
use compass_plan::{Thinking, ThinkingMode};
use compass_postprocess::thinking::Opened;
use serde_json::{Map, Value, json};

/// The end of a published template, and what is right for it.
struct Published {
    name: &'static str,
    tail: &'static str,
    start: &'static str,
    /// Thinking at the end of the prompt, by the template's own default.
    opened: Opened,
    switch: Option<&'static str>,
    /// End of a prompt whose thinking is off.
    off: &'static str,
}

const MESSAGES: &str = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}";

const PUBLISHED: [Published; 16] = [
    Published {
        name: "DeepSeek-R1",
        tail: "{% if add_generation_prompt %}{{'<｜Assistant｜><think>\\n'}}{% endif %}",
        start: "<think>",
        opened: Opened::Yes,
        switch: None,
        off: "<｜Assistant｜><think>\n\n\n</think>\n\n",
    },
    Published {
        name: "Qwen3",
        tail: "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- if enable_thinking is defined and enable_thinking is false %}\
               {{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}",
        start: "<think>",
        opened: Opened::No,
        switch: Some("enable_thinking"),
        off: "<|im_start|>assistant\n<think>\n\n</think>\n\n",
    },
    Published {
        name: "Qwen3-Thinking-2507, QwQ",
        tail: "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n<think>\\n' }}{%- endif %}",
        start: "<think>",
        opened: Opened::Yes,
        switch: None,
        off: "<|im_start|>assistant\n<think>\n\n\n</think>\n\n",
    },
    Published {
        name: "Qwen3.5",
        tail: "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- if enable_thinking is defined and enable_thinking is false %}\
               {{- '<think>\\n\\n</think>\\n\\n' }}{%- else %}{{- '<think>\\n' }}{%- endif %}{%- endif %}",
        start: "<think>",
        opened: Opened::Yes,
        switch: Some("enable_thinking"),
        off: "<|im_start|>assistant\n<think>\n\n</think>\n\n",
    },
    Published {
        name: "DeepSeek-V3.1",
        tail: "{% if add_generation_prompt %}{{'<｜Assistant｜>'}}{% if thinking is defined and thinking %}{{'<think>'}}{% else %}\
               {{'</think>'}}{% endif %}{% endif %}",
        start: "<think>",
        opened: Opened::No,
        switch: Some("thinking"),
        off: "<｜Assistant｜></think>",
    },
    Published {
        name: "Kimi K2",
        tail: "{% if add_generation_prompt %}<|im_assistant|>assistant<|im_middle|>{% if thinking is defined and not thinking %}<think></think>\
               {% else %}<think>{% endif %}{% endif %}",
        start: "<think>",
        opened: Opened::Yes,
        switch: Some("thinking"),
        off: "<|im_middle|><think></think>",
    },
    Published {
        name: "GLM-4.5",
        tail: "{%- if add_generation_prompt -%}<|assistant|>{{- '\\n<think></think>' if (enable_thinking is defined and not enable_thinking) \
               else '' -}}{%- endif -%}",
        start: "<think>",
        opened: Opened::No,
        switch: Some("enable_thinking"),
        off: "<|assistant|>\n<think></think>",
    },
    Published {
        name: "ERNIE 4.5",
        tail: "{# <response> #}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n<think>\\n' }}{%- endif %}",
        start: "<think>",
        opened: Opened::Yes,
        switch: None,
        off: "<think>\n\n\n</think>\n\n",
    },
    Published {
        name: "Hunyuan A13B",
        tail: "{%- if add_generation_prompt %}{{- '<|extra_0|>' }}{%- if enable_thinking is defined and not enable_thinking %}\
               {{- '<think>\\n\\n</think>\\n' }}{%- endif %}{%- endif %}{# <answer>\\n #}",
        start: "<think>",
        opened: Opened::No,
        switch: Some("enable_thinking"),
        off: "<|extra_0|><think>\n\n</think>\n",
    },
    Published {
        name: "Mistral Small 4",
        tail: "{%- set reasoning_effort = reasoning_effort if reasoning_effort is defined else 'none' %}\
               {%- if reasoning_effort not in ['none', 'high'] %}{{ raise_exception('reasoning_effort is none or high') }}{% endif %}\
               {{- '[MODEL_SETTINGS]' + reasoning_effort + '[/MODEL_SETTINGS]' }}{# [THINK] [/THINK] #}",
        start: "[THINK]",
        opened: Opened::No,
        switch: Some("reasoning_effort"),
        off: "[MODEL_SETTINGS]none[/MODEL_SETTINGS]",
    },
    Published {
        name: "gpt-oss",
        tail: "{{ 'Reasoning: ' + (reasoning_effort or 'medium') }}{# <|channel|>analysis<|message|> #}\
               {%- if add_generation_prompt %}<|start|>assistant{% endif %}",
        start: "<|channel|>analysis<|message|>",
        opened: Opened::No,
        switch: None,
        off: "<|start|>assistant<|channel|>analysis<|message|><|end|><|start|>assistant<|channel|>final<|message|>",
    },
    Published {
        name: "Gemma 4",
        tail: "{%- if enable_thinking is defined and enable_thinking %}{{ '<|think|>' }}{% endif %}{%- if add_generation_prompt %}\
               {{- '<|turn>model\\n' }}{%- if not enable_thinking %}{{- '<|channel>thought\\n<channel|>' }}{%- endif %}{%- endif %}",
        start: "<|channel>thought\n",
        opened: Opened::No,
        switch: Some("enable_thinking"),
        off: "<|turn>model\n<|channel>thought\n<channel|>",
    },
    Published {
        name: "Seed-OSS",
        tail: "{# <seed:think> </seed:think> #}{% if add_generation_prompt %}{{ '<seed:bos>assistant\\n' }}{% endif %}",
        start: "<seed:think>",
        opened: Opened::No,
        switch: None,
        off: "<seed:bos>assistant\n<seed:think>\n\n</seed:think>\n\n",
    },
    Published {
        name: "Kimi 1.5",
        tail: "{# ◁think▷ ◁/think▷ #}{% if add_generation_prompt %}<|im_assistant|>{% endif %}",
        start: "◁think▷",
        opened: Opened::No,
        switch: None,
        off: "<|im_assistant|>◁think▷◁/think▷",
    },
    Published {
        name: "Command A",
        tail: "{# <|START_TEXT|> <|END_THINKING|> #}{% if add_generation_prompt %}<|CHATBOT_TOKEN|><|START_THINKING|>{% endif %}",
        start: "<|START_THINKING|>",
        opened: Opened::Yes,
        switch: None,
        off: "<|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>",
    },
    Published {
        name: "Granite 3.2",
        tail: "{% if thinking %}Write your thoughts after 'Here is my thought process:' and your answer after 'Here is my response:'.\
               {% endif %}{% if add_generation_prompt %}<|start_of_role|>assistant<|end_of_role|>{% endif %}",
        start: "Here is my thought process:",
        opened: Opened::No,
        switch: Some("thinking"),
        off: "<|start_of_role|>assistant<|end_of_role|>",
    },
];

/// A prompt as a model reads it, and thinking at its end.
fn prompt(source: &str, mode: ThinkingMode, kwargs: Value) -> Result<(ChatThinking, String, Opened), ThinkingFault> {
    let template = ChatTemplate::new(source, TODAY).unwrap();
    let special = Map::new();
    let probe = Probe { source, template: &template, special: &special };
    let kwargs = kwargs.as_object().unwrap().clone();
    let resolved = ChatThinking::resolve(probe, &Thinking { mode, ..Thinking::default() }, &kwargs)?;
    let mut text = probe.question(&resolved.kwargs).unwrap();
    let opened = resolved.finish(&mut text, "Hello.");
    Ok((resolved, text, opened))
}

#[test]
fn every_family_has_its_marks_and_its_switch() {
    for Published { name, tail, start, opened, switch, off } in PUBLISHED {
        let source = format!("{MESSAGES}{tail}");
        let (resolved, _, found) = prompt(&source, ThinkingMode::Auto, json!({})).unwrap();
        let marks = resolved.marks.unwrap_or_else(|| panic!("{name}: no marks"));
        assert_eq!((marks.start(), found, resolved.switch), (start, opened, switch), "{name}");
        let (_, text, found) = prompt(&source, ThinkingMode::Off, json!({})).unwrap();
        assert!(text.ends_with(off), "{name}: {text:?}");
        assert_eq!(found, Opened::No, "{name}: {text:?}");
        assert!(prompt(&source, ThinkingMode::On, json!({})).is_ok(), "{name}");
    }
}

#[test]
fn a_shot_with_marks_opens_nothing() {
    let source = format!("{MESSAGES}{}", PUBLISHED[1].tail);
    let template = ChatTemplate::new(&source, TODAY).unwrap();
    let special = Map::new();
    let probe = Probe { source: &source, template: &template, special: &special };
    let resolved = ChatThinking::resolve(probe, &Thinking::default(), &Map::new()).unwrap();
    for shot in ["<think>so", "a</think>b"] {
        let mut text = format!("<|user|>{shot}<|assistant|>{shot}<|user|>2+2?<|im_start|>assistant\n");
        assert_eq!(resolved.finish(&mut text, "2+2?"), Opened::No, "{text}");
    }
}

#[test]
fn what_a_template_cannot_do_is_said() {
    let on = |source: &str| prompt(source, ThinkingMode::On, json!({}));
    assert!(matches!(on(MESSAGES), Err(ThinkingFault::NoMarks)));
    let qwen = format!("{MESSAGES}{}", PUBLISHED[1].tail);
    let both = prompt(&qwen, ThinkingMode::On, json!({"enable_thinking": false}));
    assert!(
        both.is_err_and(|fault| fault.to_string().contains("`enable_thinking` of `chat_template_kwargs` contradicts"))
    );
    let (plain, text, _) = prompt(MESSAGES, ThinkingMode::Off, json!({})).unwrap();
    assert!(plain.marks.is_none() && text.ends_with("Hello."), "{text}");
}

#[test]
fn a_variable_without_an_effect_is_found() {
    let knows = |source: &str, key: &str, value: Value| {
        let template = ChatTemplate::new(source, TODAY).unwrap();
        let special = Map::new();
        let kwargs = Map::from_iter([(key.to_owned(), value)]);
        Probe { source, template: &template, special: &special }.knows(key, &kwargs)
    };
    let qwen = format!("{MESSAGES}{}", PUBLISHED[1].tail);
    // Also as the default has it, where the prompt is the same as without.
    assert!(knows(&qwen, "enable_thinking", json!(true)) && knows(&qwen, "enable_thinking", json!(false)));
    assert!(!knows(&qwen, "thinking", json!(true)) && !knows(&qwen, "reasoning_effort", json!("high")));
    let graded = format!("{MESSAGES}{}", PUBLISHED[9].tail);
    assert!(knows(&graded, "reasoning_effort", json!("none")), "another value raises an error: it is known");
    let budget = format!("{MESSAGES}{{% if thinking_budget == 0 %}}<seed:think></seed:think>{{% endif %}}");
    assert!(knows(&budget, "thinking_budget", json!(512)));
    let earlier =
        "{% for m in messages %}{% if keep and m.role == 'assistant' %}kept{% endif %}{{ m.content }}{% endfor %}";
    assert!(knows(earlier, "keep", json!(true)), "it shows in earlier turns alone");
}
