//! The prompts of every kind of inference beyond ppl, loglikelihood and gen; and rendering that nothing makes panic.

use compass_plan::prompt::{
    MetaItem, MetaRole, MetaStyle, MetaTemplate, Mode, Options, Prompt, PromptConfig, RenderedDataset, Row, Section,
    Segment, Shot, ShotFormat, Template, TemplateText, Turn, render, render_shots,
};
use compass_plan::retriever::RetrieverKind;
use compass_plan::{Body, ChatMode, GenSpec, InferSpec, OptionText};
use proptest::prelude::*;
use serde_json::{Value, json};

fn rows(rows: Value) -> Vec<Row> {
    rows.as_array().unwrap().iter().map(|row| row.as_object().unwrap().clone()).collect()
}

fn text(text: &str) -> PromptConfig {
    PromptConfig { prompt_template: Some(Template::Text(text.into())), ..PromptConfig::default() }
}

fn labels(map: &[(&str, &str)]) -> Vec<(String, String)> {
    map.iter().map(|(label, text)| ((*label).into(), (*text).into())).collect()
}

fn rendered(config: &PromptConfig, infer: &InferSpec, gold: Option<&str>, rows: &[Row]) -> RenderedDataset {
    render(config, infer, gold, &RetrieverKind::Zero, &rows.to_vec(), &Vec::new())
        .unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn said(config: &PromptConfig, infer: &InferSpec, rows: &[Row]) -> String {
    let errors = render(config, infer, Some("gold"), &RetrieverKind::Zero, &rows.to_vec(), &Vec::new()).unwrap_err();
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn plain(prompt: &Prompt) -> String {
    prompt.render(&[], &ShotFormat::default())
}

#[test]
fn normalized_ppl_knows_where_the_answer_begins() {
    let infer = InferSpec::PplNormalized { normalizing_str: "Answer: ".into() };
    let map = labels(&[("0", "{q}? </S>{a}!"), ("1", "{q}? </S>{b} </S>!")]);
    let config = PromptConfig {
        prompt_template: Some(Template::Labels(map)),
        sep_token: Some("</S>".into()),
        ..PromptConfig::default()
    };
    let test = rows(json!([{"q": "one", "a": "x", "b": "y", "gold": 1}]));
    let dataset = rendered(&config, &infer, Some("gold"), &test);
    let Body::Ppl { options } = &dataset.samples[0].body else { panic!() };
    assert_eq!(options[1].prompt.0, [Segment::Question("one? ".into()), Segment::Option("y !".into())]);
    assert_eq!(options[0].answer.as_deref(), Some("x!"));
    // Without `normalizing_str` the mark is gone, and no answer is kept apart.
    let dataset = rendered(&config, &InferSpec::Ppl, Some("gold"), &test);
    let Body::Ppl { options } = &dataset.samples[0].body else { panic!() };
    assert_eq!((plain(&options[1].prompt).as_str(), &options[1].answer), ("one? y !", &None));
    let without = PromptConfig { prompt_template: Some(Template::Labels(labels(&[("1", "{q} {a}")]))), ..config };
    assert!(said(&without, &infer, &test).contains("put the `sep_token` into the text of label `1`"));
}

#[test]
fn choices_come_from_a_column_or_the_options() {
    let test = rows(json!([{"q": "one", "choices": ["A", "B"], "gold": "B"}]));
    let config = text("{q} {gold}");
    let dataset = rendered(&config, &InferSpec::Clp, Some("gold"), &test);
    let Body::Clp { prompt, choices } = &dataset.samples[0].body else { panic!() };
    assert_eq!((plain(prompt).as_str(), choices.as_slice()), ("one ", &["A".to_owned(), "B".to_owned()][..]));
    assert_eq!(dataset.samples[0].gold, json!("B"));
    let config = PromptConfig { options: Some(Options::Labels(labels(&[("x", "yes"), ("y", "no")]))), ..config };
    let dataset = rendered(&config, &InferSpec::Clp, Some("gold"), &test);
    let Body::Clp { choices, .. } = &dataset.samples[0].body else { panic!() };
    assert_eq!(choices, &["yes", "no"]);
    assert!(said(&text("{q}"), &InferSpec::Clp, &rows(json!([{"q": "", "gold": ""}]))).contains("`choices`"));
}

#[test]
fn whole_texts_need_no_gold() {
    let test = rows(json!([{"page": "Two  words\nthree é"}]));
    let dataset = rendered(&text("{page}"), &InferSpec::Rolling, None, &test);
    let Body::Rolling { text: prompt, words, bytes } = &dataset.samples[0].body else { panic!() };
    assert_eq!((plain(prompt).as_str(), *words, *bytes), ("Two  words\nthree é", 4, 19));
    let dataset = rendered(&text("{page}"), &InferSpec::PplOnly, None, &test);
    assert!(matches!(&dataset.samples[0].body, Body::Gen { .. }));
    assert_eq!(dataset.samples[0].gold, Value::Null);
}

const SWCE: InferSpec = InferSpec::SwceLoss { block_size: 1900, stride: 512 };

#[test]
fn all_texts_are_read_as_one() {
    let test = rows(json!([{"content": "é"}, {"content": ""}, {"content": "x".repeat(250_000)}]));
    let dataset = rendered(&text("{content}\n"), &SWCE, None, &test);
    let texts: Vec<Segment> =
        ["é\n", "\n", &format!("{}\n", "x".repeat(250_000))].map(|t| Segment::Question(t.into())).into();
    assert_eq!(dataset.shots, [Shot::Turns(texts)]);
    let body = |sample: &compass_plan::Sample| {
        assert_eq!((&sample.shots, &sample.gold), (&vec![0], &Value::Null));
        let Body::Windows { slice, slices, characters } = sample.body else { panic!() };
        (sample.index, slice, slices, characters)
    };
    let found: Vec<_> = dataset.samples.iter().map(body).collect();
    assert_eq!(found, [(0, 0, 3, 83_334), (1, 1, 3, 83_335), (2, 2, 3, 83_335)], "250004 characters in all");
    // However long it is, a part has all slices.
    let long = rows(json!([{"content": "x".repeat(30_000_000)}]));
    assert_eq!(rendered(&text("{content}"), &SWCE, None, &long).samples.len(), 256);
}

#[test]
fn texts_that_cannot_be_one_are_refused() {
    let empty = rows(json!([{"content": ""}]));
    assert!(said(&text("{content}"), &SWCE, &empty).contains("every text is empty"));
    let test = rows(json!([{"content": "a"}]));
    let options = PromptConfig { options: Some(Options::List(vec!["a".into()])), ..text("{content}") };
    assert!(said(&options, &SWCE, &test).contains("swce_loss takes a text alone"));
    let by_label = PromptConfig { prompt_template: Some(Template::Labels(labels(&[("1", "{content}")]))), ..text("") };
    assert!(said(&by_label, &SWCE, &test).contains("swce_loss takes one text"));
    let shots = RetrieverKind::FixK { ids: vec![0], exclude_question: false };
    let errors = render(&text("</E>{content}"), &SWCE, None, &shots, &test, &test).unwrap_err();
    assert!(errors[0].to_string().contains("takes no shots"), "{errors:?}");
}

#[test]
fn what_counts_of_a_text_stands_in_its_label() {
    let test = rows(json!([{"text": "2+2=4", "label": [[4, 5, 1]]}]));
    let dataset = rendered(&text("{text}"), &InferSpec::InferencePpl, None, &test);
    let Body::Ppl { options } = &dataset.samples[0].body else { panic!() };
    assert_eq!((plain(&options[0].prompt).as_str(), &options[0].label), ("2+2=4", &json!([[4, 5, 1]])));
    assert_eq!((options.len(), &dataset.samples[0].gold), (1, &Value::Null));
    for label in [json!("A"), json!([[4]]), json!([4, 5]), json!([["a", 5]])] {
        let test = rows(json!([{"text": "2+2=4", "label": label, "gold": 0}]));
        let said = said(&text("{text}"), &InferSpec::InferencePpl, &test);
        assert!(said.contains("has no `label` with the spans that count"), "{said}");
    }
}

fn chat(infer_mode: ChatMode) -> InferSpec {
    InferSpec::Chat { infer_mode, gen_spec: GenSpec::default() }
}

fn turns(dataset: &RenderedDataset) -> Vec<(&str, &str)> {
    let Body::Chat { turns } = &dataset.samples[0].body else { panic!() };
    turns.iter().map(|turn| (turn.role.as_str(), turn.content.as_str())).collect()
}

#[test]
fn conversations() {
    let test = rows(json!([{"q": ["1+1", "2+2"], "a": ["2", "4"]}]));
    let dataset = rendered(&text("{q}="), &chat(ChatMode::Every), Some("a"), &test);
    assert_eq!(turns(&dataset), [("user", "1+1="), ("assistant", "2"), ("user", "2+2="), ("assistant", "4")]);
    assert_eq!(dataset.samples[0].gold, json!(["2", "4"]));

    let test = rows(json!([{"q": "1+1", "a": "2"}]));
    let dataset = rendered(&text("{q}="), &chat(ChatMode::Last), Some("a"), &test);
    assert_eq!(turns(&dataset), [("user", "1+1="), ("assistant", "2")]);

    let config = PromptConfig { dialogue: Some("talk".into()), ..PromptConfig::default() };
    let talk = json!([{"role": "system", "content": "s"}, {"role": "HUMAN", "content": "u"}, {"role": "assistant", "content": "b"}]);
    let dataset = rendered(&config, &chat(ChatMode::Last), None, &rows(json!([{ "talk": talk }])));
    assert_eq!(turns(&dataset), [("system", "s"), ("user", "u"), ("assistant", "b")]);
    assert_eq!(dataset.samples[0].gold, json!("b"));
    assert!(said(&config, &chat(ChatMode::Last), &rows(json!([{"talk": "x", "gold": 0}]))).contains("holds no list"));
    assert!(
        said(&config, &InferSpec::Ppl, &rows(json!([{"talk": "x", "gold": 0}]))).contains("`dialogue` is for chat")
    );
}

#[test]
fn contexts_of_their_own_and_one_thing_to_be_said() {
    let config = PromptConfig {
        prompt_template: Some(Template::Labels(labels(&[("1", "{s} {a}"), ("2", "{s} {b}")]))),
        target: Some(TemplateText::Text("{rest}".into())),
        ..PromptConfig::default()
    };
    let data = rows(json!([
        {"s": "The", "a": "dog", "b": "é", "rest": "barks", "gold": "1"},
        {"s": "A", "a": "x", "b": "y", "rest": "z", "gold": "2"},
    ]));
    let infer = InferSpec::Loglikelihood;
    let dataset = rendered(&config, &infer, Some("gold"), &data);
    let Body::Loglikelihood { options, .. } = &dataset.samples[0].body else { panic!() };
    let option = |option: &OptionText| {
        (option.label.clone(), plain(option.context.as_ref().unwrap()), option.continuation.clone(), option.length)
    };
    assert_eq!(option(&options[0]), (json!("1"), "The dog".into(), " barks".into(), 7));
    assert_eq!(option(&options[1]), (json!("2"), "The é".into(), " barks".into(), 5));
    // What lm-eval scores for mutual information is the choice alone, which here is the context.
    let gaining = PromptConfig { unconditional: true, ..config.clone() };
    let asked = rendered(&gaining, &infer, Some("gold"), &data);
    let Body::Loglikelihood { options, .. } = &asked.samples[0].body else { panic!() };
    let alone: Vec<_> = options.iter().filter(|option| option.unconditional).map(option).collect();
    assert_eq!(alone[0], (json!("1"), String::new(), " The dog".into(), 7));
    assert_eq!((alone.len(), options.len(), options[2].unconditional), (2, 4, true));
    // A shot shows the context of the right answer.
    let retriever = RetrieverKind::FirstN { k: 1, exclude_question: true };
    let dataset = render(&config, &infer, Some("gold"), &retriever, &data, &data).unwrap();
    assert_eq!(dataset.shots, ["A y z\n\n", "The dog barks\n\n"]);
}

#[test]
fn a_prefix_of_every_answer() {
    let config = PromptConfig {
        options: Some(Options::Column("{c}".into())),
        gen_prefix: Some(TemplateText::Text("Answer:".into())),
        description: Some(TemplateText::Jinja("About {{topic}}.\n".into())),
        ..text("{q}")
    };
    let data = rows(json!([
        {"q": "one?", "c": ["x", "y"], "gold": 1, "topic": "t"},
        {"q": "two\n", "c": ["u", "v"], "gold": 0, "topic": "t"},
    ]));
    let retriever = RetrieverKind::FixK { ids: vec![0, 1], exclude_question: false };
    let dataset = render(&config, &InferSpec::Loglikelihood, Some("gold"), &retriever, &data, &data).unwrap();
    assert_eq!(dataset.shots, ["one? Answer: y\n\n", "two\nAnswer: u\n\n"]);
    let Body::Loglikelihood { context, options } = &dataset.samples[1].body else { panic!() };
    assert_eq!(plain(context), "About t.\ntwo\nAnswer:");
    assert_eq!(options[0].continuation, " u");
    let gaining = PromptConfig { unconditional: true, ..config.clone() };
    let asked = render(&gaining, &InferSpec::Loglikelihood, Some("gold"), &retriever, &data, &data).unwrap();
    let Body::Loglikelihood { options, .. } = &asked.samples[1].body else { panic!() };
    let alone = |option: &OptionText| (option.context.as_ref().map(plain), option.continuation.clone());
    assert_eq!(alone(&options[0]), (None, " u".into()));
    assert_eq!(alone(&options[3]), (Some(String::new()), " v".into()));
    let Body::Loglikelihood { context, .. } = &dataset.samples[0].body else { panic!() };
    assert_eq!(plain(context), "About t.\none? Answer:");
}

#[test]
fn jinja_that_fails_is_told_with_its_row() {
    let jinja = |source: &str| PromptConfig {
        prompt_template: Some(Template::Jinja(source.into())),
        options: Some(Options::Jinja("{{c}}".into())),
        ..PromptConfig::default()
    };
    let data = rows(json!([{"q": "one", "c": ["x"], "gold": 0}]));
    let infer = InferSpec::Loglikelihood;
    assert!(said(&jinja("{{q"), &infer, &data).contains("is not Jinja"));
    assert!(said(&jinja("{{qq}}"), &infer, &data).starts_with("test row 0: "));
    assert!(said(&jinja("{{q}}"), &infer, &rows(json!([{"q": 1, "c": 2, "gold": 0}]))).contains("not a list"));
}

fn section() -> impl Strategy<Value = Section> {
    prop_oneof![Just(Section::Begin), Just(Section::Round), Just(Section::Ice), Just(Section::End)]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("HUMAN"), Just("BOT"), Just("SYSTEM"), Just("OWL")].prop_map(str::to_owned)
}

fn piece() -> impl Strategy<Value = Segment> {
    prop_oneof![
        ".{0,3}".prop_map(Segment::Header),
        Just(Segment::Shots),
        ".{0,3}".prop_map(Segment::Question),
        ".{0,3}".prop_map(Segment::Option),
    ]
}

fn segment() -> impl Strategy<Value = Segment> {
    let pieces = || prop::collection::vec(piece(), 0..3).prop_map(Prompt);
    let turn = (name(), prop::option::of(name()), prop::option::of(pieces()));
    prop_oneof![
        piece(),
        section().prop_map(Segment::Open),
        section().prop_map(Segment::Close),
        pieces().prop_map(Segment::Item),
        turn.prop_map(|(role, fallback_role, prompt)| {
            Segment::Turn(Turn { role, fallback_role, prompt, ..Turn::default() })
        }),
    ]
}

fn meta() -> impl Strategy<Value = MetaTemplate> {
    let role = (name(), any::<bool>()).prop_map(|(role, generate)| MetaRole { role, generate, ..MetaRole::default() });
    let style = prop_oneof![Just(MetaStyle::Text), Just(MetaStyle::Messages)];
    (style, prop::collection::vec(role, 0..4)).prop_map(|(style, roles)| MetaTemplate {
        style,
        round: roles.into_iter().map(MetaItem::Role).collect(),
        ..MetaTemplate::default()
    })
}

proptest! {
    #[test]
    fn rendering_never_panics(
        segments in prop::collection::vec(segment(), 0..8),
        shot in prop::collection::vec(segment(), 0..4),
        plain in ".{0,3}",
        meta in prop::option::of(meta()),
    ) {
        let prompt = Prompt(segments);
        let (text, turns) = (Shot::Text(plain), Shot::Turns(shot));
        let format = ShotFormat { separator: ";".into(), end: "!".into() };
        for shots in [vec![], vec![&text], vec![&turns], vec![&text, &turns]] {
            for mode in [Mode::Ppl, Mode::Gen] {
                let rendered = prompt.render_for(&shots, &format, meta.as_ref(), mode);
                prop_assert!(rendered.bytes() as u64 >= rendered.characters());
            }
            let _ = render_shots(&shots, &format, meta.as_ref());
        }
        let json = serde_json::to_string(&(&prompt, &turns)).unwrap();
        let read: (Prompt, Shot) = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(read, (prompt, turns));
    }

    #[test]
    fn templates_never_panic(template in "[{}a</E>q ]{0,12}", value in ".{0,5}", separator in prop::option::of(".{0,2}")) {
        let config = PromptConfig { sep_token: separator, ..text(&template) };
        let data = rows(json!([{"q": value, "a": "x", "gold": "g"}]));
        let retriever = RetrieverKind::FixK { ids: vec![0], exclude_question: false };
        for infer in [InferSpec::Gen(GenSpec::default()), InferSpec::Rolling, InferSpec::Clp, chat(ChatMode::Last)] {
            let _ = render(&config, &infer, Some("gold"), &retriever, &data, &data);
            let _ = render(&config, &infer, Some("gold"), &RetrieverKind::Zero, &data, &Vec::new());
        }
    }
}
