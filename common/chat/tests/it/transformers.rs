//! Chat templates of well-known formats against transformers' `apply_chat_template`, byte for byte.

use compass_chat::{ChatError, ChatTemplate, render_chat};
use serde_json::{Map, Value};
use std::path::Path;

#[test]
fn every_template_over_every_conversation() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/chat.json");
    let document: Value = serde_json::from_slice(&std::fs::read(golden).unwrap()).unwrap();
    let now = document["now"].as_str().unwrap().parse().unwrap();
    let mut differences = Vec::new();
    let (mut rendered, mut refused) = (0, 0);
    for case in document["cases"].as_array().unwrap() {
        let name = case["template"].as_str().unwrap();
        let template = ChatTemplate::new(document["templates"][name].as_str().unwrap(), now);
        let template = template.unwrap_or_else(|error| panic!("{name}: {error}"));
        let messages = document["conversations"][case["conversation"].as_str().unwrap()].as_array().unwrap();
        let mut extra: Map<String, Value> = document["special"].as_object().unwrap().clone();
        let (mut generate, mut go_on) = (false, false);
        for (key, value) in case["options"].as_object().unwrap() {
            match key.as_str() {
                "add_generation_prompt" => generate = value.as_bool().unwrap(),
                "continue_final_message" => go_on = value.as_bool().unwrap(),
                _ => {
                    extra.insert(key.clone(), value.clone());
                }
            }
        }
        let result = render_chat(&template, messages, generate, go_on, &extra);
        let place = format!("{name} over {} with {}", case["conversation"], case["options"]);
        match (case["text"].as_str(), &result) {
            (Some(expected), Ok(text)) if text == expected => rendered += 1,
            // A rejection is the template's own, with its message; messages of Python's other errors differ.
            (None, Err(ChatError::Refused(message))) if case["error"] == format!("TemplateError: {message}") => {
                refused += 1
            }
            (None, Err(ChatError::Failed(_) | ChatError::Continuation(_)))
                if !case["error"].as_str().unwrap().starts_with("TemplateError") => {}
            (expected, _) => {
                let expected = expected.map_or_else(|| case["error"].to_string(), |text| format!("{text:?}"));
                differences.push(format!("{place}\n  expected {expected}\n  got      {result:?}"));
            }
        }
    }
    let all = differences.len();
    assert!(differences.is_empty(), "{all} differ:\n{}", differences.join("\n"));
    assert!(rendered >= 380 && refused >= 24, "{rendered} {refused}");
}

#[test]
fn invalid_templates() {
    let now = "2025-03-07T09:05".parse().unwrap();
    let message = ChatTemplate::new("{% if x %}", now).unwrap_err().to_string();
    assert!(message.contains("cannot compile") && message.lines().count() == 1, "{message}");
    let template = ChatTemplate::new("{{ messages[0].content }}", now).unwrap();
    let both = render_chat(&template, &[serde_json::json!({"content": "x"})], true, true, &Map::new());
    assert!(matches!(both, Err(ChatError::Continuation(_))), "{both:?}");
    let none = render_chat(&template, &[], false, true, &Map::new());
    assert!(matches!(none, Err(ChatError::Continuation(_))), "{none:?}");
}

/// The expected text is what Jinja2 3.1.6 prints.
#[test]
fn templates_format_and_cycle_as_in_python() {
    let source = "{% set c = cycler('a', 'b') %}{% for m in messages %}{{ '%s: %-3s|%r' % (c.next(), m.content, m.role) }}\n{% endfor %}\
                  {{ '%02d%% %s' % (7, none) }}{{ '%s' % missing }} {{ c.current }}";
    let template = ChatTemplate::new(source, "2025-03-07T09:05".parse().unwrap()).unwrap();
    let messages = ["x", "y", "z"].map(|text| serde_json::json!({"role": "user", "content": text}));
    let text = render_chat(&template, &messages, false, false, &Map::new()).unwrap();
    assert_eq!(text, "a: x  |'user'\nb: y  |'user'\na: z  |'user'\n07% None b");
}

/// A model's template can neither crash nor block the engine.
#[test]
fn endless_template_fails_with_the_reason() {
    let now = "2025-03-07T09:05".parse().unwrap();
    let messages: Vec<_> =
        (0..1000).map(|at| serde_json::json!({"role": "user", "content": format!("turn {at}")})).collect();
    let render = |source: &str| {
        let template = ChatTemplate::new(source, now).map_err(|error| error.to_string())?;
        render_chat(&template, &messages, false, false, &Map::new()).map_err(|error| error.to_string())
    };
    for (source, expected) in [
        (
            "{% for a in range(99999) %}{% for b in range(99999) %}{% if a < 0 %}{% endif %}{% endfor %}{% endfor %}",
            "more than 10000000 steps",
        ),
        ("{{ '%999999999d'|format(1) }}", "a width of 999999999"),
        ("{{ messages|tojson(indent=999999999) }}", "tojson indents by at most 256"),
        (
            "{% set n = namespace(x=1) %}{% for i in range(99999) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x|tojson }}",
            "nests deeper than 200",
        ),
        ("{{ 'x'.join([messages[0].content] * 10**10) }}", "a text of"),
    ] {
        let message = render(source).unwrap_err();
        assert!(message.starts_with("the chat template fails: ") && message.contains(expected), "{source}: {message}");
    }
    // A thousand turns, each of which searches for the last user turn.
    let source = "{% for m in messages %}{% set n = namespace(last=0) %}{% for o in messages %}{% if o.role == 'user' %}\
                  {% set n.last = loop.index0 %}{% endif %}{% if loop.index0 > 300 %}{% break %}{% endif %}{% endfor %}\
                  {{ m.content }} {{ n.last }};{% endfor %}";
    assert!(render(source).unwrap().ends_with("turn 999 301;"));
}
