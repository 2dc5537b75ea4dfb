//! Templates in rounds and meta templates: what is read, and what is refused.

use super::fixture::{DATASET, Fixture, MODEL};
use compass_plan::prompt::{
    MetaItem, MetaStyle, MetaTemplate, Options, Role, Rounds, Template, TemplateLine, TemplateText,
};
use compass_plan::{ChatMode, InferSpec};

fn with(to: &str) -> String {
    format!("{MODEL}{}", DATASET.replace("prompt_template = \"{q}\"", to))
}

#[test]
fn a_dialogue_and_a_dialogue_per_label() {
    let rounds = "round = [\"hm\", { role = \"HUMAN\", prompt = \"{q}\", begin = \"(\", end = \")\" }]";
    let config = Fixture::new().good(&with(&format!("prompt_template = {{ begin = \"</E>\", {rounds} }}")));
    let role = Role {
        role: "HUMAN".into(),
        prompt: Some("{q}".into()),
        begin: Some("(".into()),
        end: Some(")".into()),
        fallback_role: None,
    };
    let lines = vec![TemplateLine::Text("hm".into()), TemplateLine::Role(role)];
    let expected = Rounds { begin: vec![TemplateLine::Text("</E>".into())], round: lines.clone(), ..Rounds::default() };
    assert_eq!(config.datasets[0].prompt.prompt_template, Some(Template::Rounds(expected)));

    let two = format!("inferencer = \"ppl\", prompt_template = {{ A = {{ {rounds} }}, B = {{ {rounds} }} }}");
    let text = with(&two).replace("inferencer = \"gen\", ", "");
    let config = Fixture::new().good(&text);
    let Some(Template::LabelRounds(labels)) = &config.datasets[0].prompt.prompt_template else { panic!() };
    assert_eq!((labels[1].0.as_str(), &labels[1].1.round), ("B", &lines));
}

#[test]
fn wrong_dialogues_are_named() {
    for (template, said) in [
        ("{ begin = \"x\" }", "missing key `round` in `prompt_template`"),
        ("[{ role = \"HUMAN\" }]", "`prompt_template` is an array"),
        ("{ round = [{ prompt = \"{q}\" }] }", "missing key `role` in a line of `round`"),
        ("{ round = [{ role = \"HUMAN\", promt = \"{q}\" }] }", "unknown key `promt`"),
        ("{ round = [3] }", "`round` takes strings and tables with `role`"),
        ("{ A = { round = [] }, B = \"{q}\" }", "`prompt_template.B` is a string among dialogues"),
    ] {
        let shown = Fixture::new().bad(&with(&format!("prompt_template = {template}")));
        assert!(shown.contains(said), "{shown}");
    }
}

#[test]
fn meta_templates() {
    let read = |line: &str| Fixture::new().good(&format!("{MODEL}{line}\n{DATASET}")).models.remove(0).meta_template;
    assert_eq!(read(""), None);
    assert_eq!(read("meta_template = \"chat\""), Some(MetaTemplate::chat()));
    let text = "meta_template = { begin = [\"a\", \"b\"], round = [\"|\", { role = \"HUMAN\", end = \"\\n\" }], \
                reserved_roles = [{ role = \"SYSTEM\" }], eos_token_id = 7 }";
    let meta = read(text).unwrap();
    assert_eq!((meta.style, meta.begin.as_str(), meta.eos_token_id), (MetaStyle::Text, "ab", Some(7)));
    assert_eq!(meta.round[0], MetaItem::Text("|".into()));
    assert_eq!(meta.reserved_roles[0].role, "SYSTEM");
    let chat = "meta_template = { begin = { role = \"SYSTEM\", api_role = \"SYSTEM\", prompt = \"x\" }, \
                round = [{ role = \"HUMAN\", api_role = \"HUMAN\" }] }";
    let meta = read(chat).unwrap();
    assert_eq!((meta.style, meta.opening[0].role.as_str()), (MetaStyle::Messages, "system"));
}

#[test]
fn wrong_meta_templates_are_named() {
    for (line, said) in [
        ("\"chats\"", "`meta_template` takes \"chat\" or a table with `round`"),
        ("{ begin = \"\" }", "missing key `round`"),
        ("{ round = [\"x\"] }", "has no role in `round`"),
        ("{ round = [{ role = \"A\" }, { role = \"A\" }] }", "names the role `A` twice"),
        ("{ round = [{ role = \"A\", api_role = \"HUMAN\" }, { role = \"B\" }] }", "gives no `api_role` to B"),
        ("{ round = [{ role = \"A\", api_role = \"robot\" }] }", "`api_role` cannot be `robot`"),
        ("{ round = [{ role = \"A\", generate = 1 }] }", "`generate` takes a boolean"),
        ("{ round = [{ role = \"A\", begin = [1] }] }", "`begin[0]` takes a string"),
    ] {
        let shown = Fixture::new().bad(&format!("{MODEL}meta_template = {line}\n{DATASET}"));
        assert!(shown.contains(said), "{shown}");
    }
}

#[test]
fn jinja_and_the_words_beside_a_prompt() {
    let text = with(
        "prompt_template = { jinja = \"{{q}}\" }, target = \"{a}\", gold = { jinja = \"{{a}}\" }, \
         description = { jinja = \"d\" }, gen_prefix = \"A:\", sep_token = \"|\", dialogue = \"{talk}\"",
    );
    let prompt = Fixture::new().good(&text).datasets.remove(0).prompt;
    assert_eq!(prompt.prompt_template, Some(Template::Jinja("{{q}}".into())));
    assert_eq!(prompt.target, Some(TemplateText::Text("{a}".into())));
    assert_eq!(prompt.gold, Some(TemplateText::Jinja("{{a}}".into())));
    assert_eq!((prompt.sep_token.as_deref(), prompt.dialogue.as_deref()), (Some("|"), Some("talk")));
    let text = with("prompt_template = \"{q}\", options = { jinja = \"{{[q]}}\" }")
        .replace("inferencer = \"gen\"", "inferencer = \"ll\"");
    let options = Fixture::new().good(&text).datasets.remove(0).prompt.options;
    assert_eq!(options, Some(Options::Jinja("{{[q]}}".into())));
    let shown = Fixture::new().bad(&with("prompt_template = \"{q}\", target = 3"));
    assert!(shown.contains("`target` takes a string or `{ jinja = \"...\" }`"), "{shown}");
}

#[test]
fn kinds_of_inference() {
    let infer = |value: &str| {
        let text = with("prompt_template = \"{q}\"").replace("inferencer = \"gen\"", &format!("inferencer = {value}"));
        let evaluator = match value {
            "\"ppl_only\"" => "average_ppl",
            value if value.contains("rolling") || value.to_lowercase().contains("swce") => "bpc",
            _ => "em",
        };
        Fixture::new().good(&text.replace("\"em\"", &format!("\"{evaluator}\""))).datasets.remove(0).infer
    };
    assert_eq!(infer("\"CLPInferencer\""), InferSpec::Clp);
    assert_eq!(infer("\"ppl_only\""), InferSpec::PplOnly);
    assert_eq!(infer("\"rolling\""), InferSpec::Rolling);
    assert_eq!(infer("\"SWCELossInferencer\""), InferSpec::SwceLoss { block_size: 1900, stride: 512 });
    let own = infer("{ type = \"swce_loss\", block_size = 100, stride = 7, save_every = 1, batch_size = 4 }");
    assert_eq!(own, InferSpec::SwceLoss { block_size: 100, stride: 7 });
    let InferSpec::Chat { infer_mode, gen_spec } =
        infer("{ type = \"chat\", infer_mode = \"every_with_gt\", max_out_len = 9 }")
    else {
        panic!()
    };
    assert_eq!((infer_mode, gen_spec.max_out_len), (ChatMode::EveryWithGt, Some(9)));

    let labels = "prompt_template = { A = \"{q}|a\", B = \"{q}|b\" }";
    let ppl = |more: &str| {
        with(&format!("{labels}{more}"))
            .replace("inferencer = \"gen\"", "inferencer = { type = \"ppl\", normalizing_str = \"x\" }")
    };
    let infer = Fixture::new().good(&ppl(", sep_token = \"|\"")).datasets.remove(0).infer;
    assert_eq!(infer, InferSpec::PplNormalized { normalizing_str: "x".into() });
    let shown = Fixture::new().bad(&ppl(""));
    assert!(shown.contains("`normalizing_str` does not know where the answers begin"), "{shown}");
}

#[test]
fn only_what_has_no_right_answer_goes_without_a_gold_column() {
    let text = with("prompt_template = \"{q}\"").replace(", output_column = \"a\"", "");
    assert!(Fixture::new().bad(&text).contains("missing key `output_column` in `reader_cfg`"));
    let text = text.replace("inferencer = \"gen\"", "inferencer = \"rolling\"").replace("\"em\"", "\"perplexity\"");
    assert_eq!(Fixture::new().good(&text).datasets[0].output_column, None);
}
