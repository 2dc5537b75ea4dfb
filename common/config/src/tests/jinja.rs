//! Answers and templates in lm-eval's words: what is served, and what is refused with its place.

use super::fixture::{DATASET, Fixture, MODEL};
use compass_plan::InferSpec;
use compass_plan::prompt::{Options, Template, TemplateText};

fn with(inferencer: &str, infer: &str) -> String {
    let infer = format!("inferencer = \"{inferencer}\", {infer}");
    let text = DATASET.replace("inferencer = \"gen\", prompt_template = \"{q}\"", &infer);
    MODEL.to_owned() + &text.replace("\"em\"", "\"acc\"")
}

#[test]
fn answers_as_a_list_and_jinja_for_each_label() {
    let prompt = |infer: &str| Fixture::new().good(&with("loglikelihood", infer)).datasets.remove(0).prompt;
    let list = prompt("prompt_template = \"{q}\", options = [\"yes\", \"no\"]").options;
    assert_eq!(list, Some(Options::List(vec!["yes".into(), "no".into()])));
    let text = |text: &str| TemplateText::Text(text.into());
    let jinja = |text: &str| TemplateText::Jinja(text.into());
    let mixed = prompt("prompt_template = \"{q}\", options = { A = \"{q}\", B = { jinja = \"{{q}}\" } }").options;
    assert_eq!(mixed, Some(Options::TemplateTexts(vec![("A".into(), text("{q}")), ("B".into(), jinja("{{q}}"))])));
    let labels = "prompt_template = { A = { jinja = \"{{q}} a\" }, B = { jinja = \"{{q}} b\" } }";
    let prompt = Fixture::new().good(&with("ppl", labels)).datasets.remove(0).prompt.prompt_template;
    let expected = [("A", "{{q}} a"), ("B", "{{q}} b")].map(|(label, source)| (label.to_owned(), jinja(source)));
    assert_eq!(prompt, Some(Template::TemplateTexts(expected.to_vec())));
}

#[test]
fn what_is_no_jinja_is_named_with_its_place() {
    for (infer, place) in [
        ("prompt_template = { jinja = \"{{q\" }, options = [\"a\"]", "`prompt_template` is not Jinja: syntax error"),
        ("prompt_template = \"{q}\", options = { jinja = \"{% if %}\" }", "`options` is not Jinja: syntax error"),
        ("prompt_template = \"{q}\", options = { A = { jinja = \"{{\" } }", "`options.A` is not Jinja: syntax error"),
        ("prompt_template = \"{q}\", options = []", "`options` has no answer"),
        ("prompt_template = \"{q}\", options = [1]", "takes a string"),
        ("prompt_template = { A = { jinja = \"{{q}}\" } }", "and in Jinja that is not known"),
    ] {
        let shown = Fixture::new().bad(&with("loglikelihood", infer));
        assert!(shown.contains(place) && shown.contains("eval.toml:9:"), "{shown}");
    }
}

#[test]
fn a_target_is_the_gold_answer_unless_another_is_named() {
    let gen_ = |infer: &str| with("gen", infer).replace("\"acc\"", "\"em\"");
    let prompt = |text: &str| Fixture::new().good(text).datasets.remove(0).prompt;
    let infer = "prompt_template = \"{q}\", target = \"#### {a}\"";
    let alone = gen_(infer).replace(", output_column = \"a\"", "");
    assert_eq!(prompt(&alone).gold, Some(TemplateText::Text("#### {a}".into())));
    let same = gen_("prompt_template = \"{q}\", target = { jinja = \"{{ a }}\" }");
    assert_eq!(prompt(&same).gold, None, "the column that the target is");
    assert_eq!(prompt(&gen_(&format!("{infer}, gold = \"{{a}}\""))).gold, Some(TemplateText::Text("{a}".into())));
    let shown = Fixture::new().bad(&gen_(infer));
    for said in ["`target` is what shots show, and `output_column` names `a`", "`gold = \"{a}\"`", "eval.toml:9:"] {
        assert!(shown.contains(said), "{shown}");
    }
}

#[test]
fn one_thing_to_be_said_is_not_chosen() {
    let text = with("loglikelihood", "prompt_template = \"{q}\", target = \" {a}\"");
    let shown = Fixture::new().bad(&text);
    assert!(shown.contains("this evaluator compares options, and `target` alone is one continuation"), "{shown}");
    let text = text.replace("\"acc\"", "\"perplexity\"").replace(", output_column = \"a\"", "");
    assert_eq!(Fixture::new().good(&text).datasets[0].infer, InferSpec::Loglikelihood);
}

#[test]
fn a_delimiter_without_effect_is_noted() {
    let notes = |rest: &str| {
        let text = format!(
            "{MODEL}{}",
            DATASET.replace("prompt_template = ", &format!("target_delimiter = \" -> \", {rest}prompt_template = "))
        );
        Fixture::new().notes(&text)
    };
    let noted = notes("");
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert!(noted[0].contains("`target_delimiter` has no effect"), "{noted:?}");
    assert_eq!(notes("gen_prefix = \"So\", "), [""; 0]);
    let options = with("loglikelihood", "prompt_template = \"{q}\", target_delimiter = \"\", options = [\"a\", \"b\"]");
    assert_eq!(Fixture::new().notes(&options), [""; 0]);
}

#[test]
fn a_column_in_two_pairs_of_braces_is_noted() {
    let fixture = Fixture::new();
    let notes = |template: &str| {
        let text = format!("{MODEL}{}", DATASET.replace("\"{q}\"", template));
        fixture.notes(&text)
    };
    for template in ["\"{{q}}\"", "\"Question: {{ q }}\\nAnswer:\""] {
        let noted = notes(template);
        assert_eq!(noted.len(), 1, "{noted:?}");
        assert!(noted[0].contains("`prompt_template` shows the text of `q` between braces"), "{noted:?}");
    }
    for template in ["\"{q}\"", "'\\mathbf{{A}} {q}'", "'{q} x_{{n}}'", "{ jinja = \"{{ q }}\" }", "\"{q} {{24}}\""] {
        assert_eq!(notes(template), [""; 0], "{template}");
    }
}
