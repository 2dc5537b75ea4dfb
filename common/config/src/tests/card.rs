//! `do_sample = "card"`, and greedy answers of models that think.

use super::fixture::{DATASET, Fixture, MODEL};

const CARD: &str = r#"{"do_sample": true, "temperature": 0.6, "top_p": 0.95, "top_k": 20, "eos_token_id": 5}"#;
const THINKS: &str = "{% for m in messages %}{{ m.content }}{% endfor %}{% if enable_thinking is defined and not enable_thinking %}\
                      {{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}";

fn fixture(card: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture.write("models/tiny/generation_config.json", card);
    fixture
}

fn toml(keys: &str) -> String {
    format!("{MODEL}{keys}\n{DATASET}")
}

#[test]
fn the_draws_of_the_makers_are_taken_and_pinned() {
    let fixture = fixture(CARD);
    let text = toml("generation_kwargs = { do_sample = \"card\", temperature = 1.0, num_return_sequences = 4 }");
    let drawn = fixture.good(&text).models.remove(0).decoding;
    assert!(drawn.samples() && drawn.card);
    assert_eq!((drawn.temperature, drawn.top_p, drawn.top_k, drawn.sequences()), (Some(1.0), Some(0.95), Some(20), 4));
    let before = compass_settings::digest(&fixture.good(&text));
    fixture.write("models/tiny/generation_config.json", &CARD.replace("0.95", "0.9"));
    assert_ne!(before, compass_settings::digest(&fixture.good(&text)), "another card draws otherwise");
}

#[test]
fn settings_of_a_card_that_are_not_obeyed_are_noted() {
    let card = CARD.replace("\"top_k\": 20", "\"min_p\": 0.1");
    let notes = fixture(&card).notes(&toml("generation_kwargs = { do_sample = \"card\" }"));
    let expected = "eval.toml:5:35: generation_config.json of model `m` also sets min_p, which is not obeyed";
    assert_eq!(notes, [expected]);
}

#[test]
fn what_has_no_draws_is_refused_with_its_place() {
    let kwargs = "generation_kwargs = { do_sample = \"card\" }";
    for (card, why) in [
        (Some("{}"), "does not say `\"do_sample\": true`"),
        (Some(r#"{"temperature": 0.6}"#), "does not say `\"do_sample\": true`"),
        (Some("[]"), "is not a table of JSON"),
        (Some(r#"{"do_sample": true, "top_p": 1.5}"#), "has `top_p` 1.5, which nothing can be drawn by"),
        (Some(r#"{"do_sample": true, "temperature": 0}"#), "has `temperature` 0, which nothing can be drawn by"),
        (None, "there is no generation_config.json"),
    ] {
        let fixture = card.map_or_else(Fixture::new, fixture);
        let shown = fixture.bad(&toml(kwargs));
        assert!(shown.contains(why) && shown.contains("eval.toml:5:35"), "{card:?}: {shown}");
        assert!(shown.contains("`{ do_sample = true, temperature = 0.6, top_p = 0.95 }`"), "{shown}");
    }
    let shown = fixture(CARD).bad(&toml("generation_kwargs = { do_sample = \"cart\" }"));
    assert!(shown.contains("a boolean or \"card\"") && shown.contains("eval.toml:5:"), "{shown}");
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let endpoint = "[[model]]\nabbr = \"e\"\nendpoint = { url = \"http://h/v1\", model = \"x\" }\n\
                    generation_kwargs = { do_sample = \"card\" }\n";
    let dataset = DATASET.replace(
        "inferencer = \"gen\"",
        "inferencer = { type = \"gen\", generation_kwargs = { do_sample = \"card\" } }",
    );
    let text = format!("{endpoint}{}generation_kwargs = {{ do_sample = \"card\" }}\n{dataset}n = 2\nk = 3\n", MODEL);
    let places = Fixture::new().places(&text);
    for wanted in [
        "eval.toml:4:35: `do_sample = \"card\"` of model `e`, which is behind an endpoint: its files are not here",
        "model `m` has no draws for `do_sample = \"card\"`: there is no generation_config.json",
        "`do_sample = \"card\"` of a data set: the file is a model's",
        "`k = 3` asks for more answers than `n` = 2 gives",
    ] {
        assert!(places.iter().any(|place| place.contains(wanted)), "{wanted}: {places:?}");
    }
    assert_eq!(places.len(), 4, "{places:?}");
}

#[test]
fn a_model_that_thinks_greedily_where_its_makers_draw_is_noted() {
    let notes = |card: &str, model: &str, dataset: &str| {
        let fixture = fixture(card);
        fixture.write("models/tiny/chat_template.jinja", THINKS);
        fixture.notes(&format!("{MODEL}{model}\n{dataset}"))
    };
    let said = "model `m` thinks and answers greedily, and its generation_config.json draws (temperature 0.6, top_k 20, top_p 0.95)";
    assert_eq!(notes(CARD, "chat = true", DATASET), [said]);
    let drawn = DATASET
        .replace("inferencer = \"gen\"", "inferencer = { type = \"gen\", generation_kwargs = { do_sample = true } }");
    for (card, model, dataset) in [
        (CARD, "chat = true\nchat_template_kwargs = { enable_thinking = false }", DATASET),
        (CARD, "chat = true\nthinking = \"off\"", DATASET),
        (CARD, "chat = true\ngeneration_kwargs = { do_sample = \"card\" }", DATASET),
        (CARD, "chat = true", &drawn),
        (CARD, "chat = false", DATASET),
        (r#"{"do_sample": false, "temperature": 0.6}"#, "chat = true", DATASET),
    ] {
        assert_eq!(notes(card, model, dataset), [""; 0], "{card} {model}");
    }
}
