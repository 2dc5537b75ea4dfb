//! Rendering by example: which template asks, where shots go, how labels are typed, and what is refused.

use compass_plan::prompt::{
    LabelType, Options, PromptConfig, PromptError, RenderedDataset, Row, Segment, Shot, Split, Template, render,
};
use compass_plan::retriever::RetrieverKind;
use compass_plan::{Body, GenSpec, InferSpec, Sample};
use serde_json::{Value, json};

fn generates() -> InferSpec {
    InferSpec::Gen(GenSpec::default())
}

fn rows(rows: Value) -> Vec<Row> {
    rows.as_array().unwrap().iter().map(|row| row.as_object().unwrap().clone()).collect()
}

fn text(text: &str) -> Option<Template> {
    Some(Template::Text(text.into()))
}

fn pairs(map: &[(&str, &str)]) -> Vec<(String, String)> {
    map.iter().map(|(label, text)| ((*label).into(), (*text).into())).collect()
}

fn labels(map: &[(&str, &str)]) -> Option<Template> {
    Some(Template::Labels(pairs(map)))
}

fn fix(ids: &[u32]) -> RetrieverKind {
    RetrieverKind::FixK { ids: ids.to_vec(), exclude_question: false }
}

/// Three questions with gold 1, 0, 1.
fn data() -> Vec<Row> {
    rows(json!([
        {"q": "one", "a": "x", "b": "y", "gold": 1},
        {"q": "two", "a": "u", "b": "v", "gold": 0},
        {"q": "three", "a": "s", "b": "t", "gold": 1},
    ]))
}

fn shots<'a>(rendered: &'a RenderedDataset, sample: &Sample) -> Vec<&'a Shot> {
    sample.shots.iter().map(|&at| &rendered.shots[at as usize]).collect()
}

/// The texts of a sample, shots in place: per option, or the one to continue.
fn texts(rendered: &RenderedDataset, index: usize) -> Vec<String> {
    let sample = &rendered.samples[index];
    let (shots, format) = (shots(rendered, sample), &rendered.format);
    match &sample.body {
        Body::Ppl { options } => options.iter().map(|option| option.prompt.render(&shots, format)).collect(),
        Body::Gen { prompt } | Body::Clp { prompt, .. } | Body::Rolling { text: prompt, .. } => {
            vec![prompt.render(&shots, format)]
        }
        Body::Windows { .. } | Body::Execute { .. } => unreachable!("nothing of a row is rendered for them"),
        Body::Chat { turns } => turns.iter().map(|turn| turn.content.clone()).collect(),
        Body::Loglikelihood { context, options } => {
            let context = context.render(&shots, format);
            options.iter().map(|option| format!("{context}|{}", option.continuation)).collect()
        }
    }
}

fn messages(config: &PromptConfig, infer: &InferSpec, retriever: &RetrieverKind, test: &[Row]) -> Vec<String> {
    let errors = render(config, infer, Some("gold"), retriever, &test.to_vec(), &data()).unwrap_err();
    errors.iter().map(PromptError::to_string).collect()
}

#[test]
fn generation_hides_the_gold_and_shots_show_it() {
    let config = PromptConfig { ice_template: text("</E>Q: {q}\nA: {gold}"), ..PromptConfig::default() };
    let rendered = render(&config, &generates(), Some("gold"), &fix(&[2, 0]), &data(), &data()).unwrap();
    assert_eq!(texts(&rendered, 1), ["Q: three\nA: 1\nQ: one\nA: 1\nQ: two\nA: "]);
    assert_eq!(rendered.samples[1].gold, json!(0));
    // No shots: no separator and no end either.
    let rendered = render(&config, &generates(), Some("gold"), &RetrieverKind::Zero, &data(), &Vec::new()).unwrap();
    assert_eq!(texts(&rendered, 1), ["Q: two\nA: "]);
    // A fixed list of none still ends, as OpenCompass's does.
    let rendered = render(&config, &generates(), Some("gold"), &fix(&[]), &data(), &data()).unwrap();
    assert_eq!(texts(&rendered, 1), ["\nQ: two\nA: "]);
}

#[test]
fn generation_needs_no_gold_and_takes_the_first_label() {
    let map = [("0", "{q}: {a}"), ("1", "{q}: {b}")];
    let config = PromptConfig { prompt_template: labels(&map), ..PromptConfig::default() };
    let rendered = render(&config, &generates(), None, &RetrieverKind::Zero, &data(), &Vec::new()).unwrap();
    assert_eq!(texts(&rendered, 0), ["one: x"]);
    assert_eq!(rendered.samples[0].gold, Value::Null);
}

#[test]
fn a_label_map_asks_once_per_label_and_shows_the_gold_one() {
    let config = PromptConfig {
        ice_template: labels(&[("0", "{q} {a}"), ("1", "{q} {b}")]),
        prompt_template: labels(&[("0", "Hint. </E>{q} {a}?"), ("1", "Hint. </E>{q} {b}?")]),
        ice_separator: ";".into(),
        ice_eos_token: "!".into(),
        ..PromptConfig::default()
    };
    let rendered = render(&config, &InferSpec::Ppl, Some("gold"), &fix(&[0, 1]), &data(), &data()).unwrap();
    assert_eq!(texts(&rendered, 2), ["Hint. one y;two u!three s?", "Hint. one y;two u!three t?"]);
    let Body::Ppl { options } = &rendered.samples[2].body else { panic!() };
    assert_eq!(options[1].label, json!(1), "labels take the type of the golds");
    let segments = [Segment::Header("Hint. ".into()), Segment::Shots, Segment::Question("three t?".into())];
    assert_eq!(options[1].prompt.0, segments);
    assert_eq!(rendered.shots, ["one y", "two u"], "each distinct shot once");
}

#[test]
fn placeholders_inside_a_shot_are_filled_from_the_test_row() {
    let train = rows(json!([{"gold": 0, "a": "{gold}", "q": "what is {q}{?", "b": ""}]));
    let config = PromptConfig { prompt_template: text("</E>{q} {a}"), ..PromptConfig::default() };
    let infer = generates();
    let rendered = render(&config, &infer, Some("gold"), &fix(&[0]), &data(), &train).unwrap();
    // The shot's own row put in "{gold}" after `gold` was done; the question's row, its gold hidden, empties it.
    assert_eq!(rendered.shots, ["what is one{? ", "what is two{? ", "what is three{? "]);
    assert_eq!(texts(&rendered, 0), ["what is one{? \none x"]);
}

#[test]
fn options_share_a_context_and_bring_their_own_shots() {
    let config = PromptConfig {
        prompt_template: text("{q}?"),
        options: Some(Options::Labels(pairs(&[("0", "{a}"), ("1", "{b}")]))),
        ..PromptConfig::default()
    };
    let rendered = render(&config, &InferSpec::Ppl, Some("gold"), &fix(&[0, 1]), &data(), &data()).unwrap();
    assert_eq!(texts(&rendered, 2), ["one? y\n\ntwo? u\n\nthree? s", "one? y\n\ntwo? u\n\nthree? t"]);
    let Body::Ppl { options } = &rendered.samples[2].body else { panic!() };
    let segments = [Segment::Shots, Segment::Question("three?".into()), Segment::Option(" t".into())];
    assert_eq!(options[1].prompt.0, segments);

    let with_token = PromptConfig { prompt_template: text("Go: </E>{q}?"), ..config };
    let infer = InferSpec::Loglikelihood;
    let rendered = render(&with_token, &infer, Some("gold"), &fix(&[0, 1]), &data(), &data()).unwrap();
    assert_eq!(rendered.shots, ["one? y", "two? u"], "what stands before the token is not part of a shot");
    assert_eq!(texts(&rendered, 2), ["Go: one? y\ntwo? u\nthree?| s", "Go: one? y\ntwo? u\nthree?| t"]);
    // A shot template of its own holds its answer itself.
    let own = PromptConfig { ice_template: labels(&[("0", "{q}: {a}"), ("1", "{q}: {b}")]), ..with_token };
    let rendered = render(&own, &infer, Some("gold"), &fix(&[0, 1]), &data(), &data()).unwrap();
    assert_eq!(texts(&rendered, 2), ["Go: one: y\ntwo: u\nthree?| s", "Go: one: y\ntwo: u\nthree?| t"]);
}

#[test]
fn a_list_column_takes_letters_for_positions() {
    let test = rows(json!([{"q": "p", "c": ["é", "bb", 3], "gold": "C"}, {"q": "r", "c": ["d", "e"], "gold": "A"}]));
    let config = PromptConfig {
        prompt_template: text("{q}"),
        options: Some(Options::Column("{c}".into())),
        ..PromptConfig::default()
    };
    let infer = InferSpec::Loglikelihood;
    let rendered = render(&config, &infer, Some("gold"), &RetrieverKind::Zero, &test, &Vec::new()).unwrap();
    assert_eq!(texts(&rendered, 0), ["p| é", "p| bb", "p| 3"]);
    assert_eq!(rendered.samples[0].gold, json!(2));
    let Body::Loglikelihood { options, .. } = &rendered.samples[0].body else { panic!() };
    assert_eq!(options.iter().map(|option| option.length).collect::<Vec<_>>(), [1, 2, 1], "code points");
    assert_eq!(options[2].label, json!(2));
}

#[test]
fn labels_take_the_type_of_the_golds_unless_it_is_written() {
    let map = [("0", "{q} {a}"), ("1", "{q} {b}")];
    let of_golds = PromptConfig { prompt_template: labels(&map), ..PromptConfig::default() };
    let written = PromptConfig { label_type: Some(LabelType::Text), ..of_golds.clone() };
    for (config, label) in [(of_golds, json!(1)), (written, json!("1"))] {
        let infer = InferSpec::Ppl;
        let rendered = render(&config, &infer, Some("gold"), &RetrieverKind::Zero, &data(), &Vec::new()).unwrap();
        let Body::Ppl { options } = &rendered.samples[0].body else { panic!() };
        assert_eq!(options[1].label, label);
        assert_eq!(rendered.samples[0].gold, json!(1), "the gold answer stays as the data have it");
    }
}

#[test]
fn a_label_map_for_loglikelihood_is_cut_after_what_is_shared() {
    let map = [("0", "</E>Q: {q} A: {a}."), ("1", "</E>Q: {q} A: {b}.")];
    let config = PromptConfig { prompt_template: labels(&map), ..PromptConfig::default() };
    let infer = InferSpec::Loglikelihood;
    let rendered = render(&config, &infer, Some("gold"), &fix(&[1]), &data(), &data()).unwrap();
    assert_eq!(texts(&rendered, 0), ["Q: two A: u.\nQ: one A: |x.", "Q: two A: u.\nQ: one A: |y."]);
    let same = PromptConfig { prompt_template: labels(&[("0", "{q}"), ("1", "{q} no")]), ..config };
    let said = messages(&same, &infer, &RetrieverKind::Zero, &data());
    assert!(said[0].contains("label `0` of `prompt_template` adds nothing"), "{said:?}");
}

#[test]
fn templates_that_do_not_fit_are_refused_with_what_to_write() {
    let plain = |template: &str| PromptConfig { prompt_template: text(template), ..PromptConfig::default() };
    let map = |map: &[(&str, &str)]| PromptConfig { prompt_template: labels(map), ..PromptConfig::default() };
    let column = |config| PromptConfig { options: Some(Options::Column("c".into())), ..config };
    let zero = RetrieverKind::Zero;
    for (config, infer, retriever, said) in [
        (PromptConfig::default(), generates(), zero.clone(), "there is no `prompt_template`"),
        (plain("{q}"), generates(), fix(&[0]), "put `</E>` (the `ice_token`) there"),
        (plain("{q}"), InferSpec::Ppl, zero.clone(), "give one text per label, or `options`"),
        (map(&[("0", "</E>{q}"), ("1", "{q}")]), InferSpec::Ppl, zero.clone(), "but not under 1"),
        (map(&[]), InferSpec::Ppl, zero.clone(), "has no label"),
        (plain("</E>{q}"), generates(), fix(&[7]), "training row 7, but the pool has 3 rows"),
        (plain("Q: question"), generates(), zero.clone(), "use columns as in {q}, {a}, {b}, {gold}"),
        (plain("{q} {golt}"), generates(), zero.clone(), "did you mean `{gold}`?"),
        (column(map(&[("0", "{q}")])), InferSpec::Ppl, zero.clone(), "keep the map"),
        (column(plain("{q}")), generates(), zero.clone(), "takes a text alone"),
    ] {
        let messages = messages(&config, &infer, &retriever, &data());
        assert!(messages.len() == 1 && messages[0].contains(said), "{messages:?} does not say {said}");
    }
}

#[test]
fn bad_rows_are_all_named() {
    let config = PromptConfig {
        ice_template: labels(&[("0", "{q} {a}"), ("1", "{q} {b}")]),
        prompt_template: labels(&[("0", "</E>{q} {a}"), ("1", "</E>{q} {b}")]),
        ..PromptConfig::default()
    };
    let mut test = data();
    test[0].remove("gold");
    test[1].insert("gold".into(), json!(7));
    test.push(test[2].clone());
    test[2].remove("b");
    let mut train = data();
    train[1].insert("gold".into(), json!("z"));
    let errors = render(&config, &InferSpec::Ppl, Some("gold"), &fix(&[1]), &test, &train).unwrap_err();
    let said: Vec<String> = errors.iter().map(PromptError::to_string).collect();
    assert!(said[0].starts_with("train row 1: the gold answer \"z\" is not among the labels 0, 1"), "{said:?}");
    assert!(said[1].starts_with("test row 0: has no column `gold`"), "{said:?}");
    assert!(said[2].starts_with("test row 1: the gold answer 7 is not among the labels 0, 1"), "{said:?}");
    assert_eq!(said[3], "test row 2: has no column `b`, which the template puts in");
    assert_eq!(said.len(), 4);

    let many: Vec<Row> = (0..100).map(|_| test[1].clone()).collect();
    let errors = render(&config, &InferSpec::Ppl, Some("gold"), &RetrieverKind::Zero, &many, &Vec::new()).unwrap_err();
    assert_eq!(errors.len(), 21);
    assert_eq!(errors[20], PromptError::More(80));
    assert!(matches!(errors[0], PromptError::Row { split: Split::Test, row: 0, .. }));
}

#[test]
fn booleans_are_golds_too() {
    let test = rows(json!([{"q": "p", "gold": true}, {"q": "r", "gold": false}]));
    let map = [("True", "{q} yes"), ("False", "{q} no")];
    let config = PromptConfig { prompt_template: labels(&map), ..PromptConfig::default() };
    let rendered = render(&config, &InferSpec::Ppl, Some("gold"), &RetrieverKind::Zero, &test, &Vec::new()).unwrap();
    let Body::Ppl { options } = &rendered.samples[0].body else { panic!() };
    assert_eq!(options[0].label, rendered.samples[0].gold);
    assert_eq!(options[1].label, rendered.samples[1].gold);
}
