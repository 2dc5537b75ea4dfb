//! Every key of the tables, read with a value that fits nothing: what readers ask for and never ask for is found by their own
//! assertions, and whatever a file says must not run into those.

use super::fixture::{DATASET, Fixture, MODEL};
use crate::reference::TABLES;
use compass_settings::StoreConfig;

/// A value that no key takes.
const NOTHING: &str = "1979-05-27";

/// A configuration with `line` in the table called `name`.
fn file(name: &str, line: &str) -> String {
    let dataset = |from: &str, to: String| format!("{MODEL}{}", DATASET.replace(from, &to));
    let template = |text: String| dataset("prompt_template = \"{q}\"", format!("prompt_template = {text}"));
    match name {
        "top" => format!("{line}\n{MODEL}{DATASET}"),
        "import" => format!("[import]\n{line}\n{MODEL}{DATASET}"),
        "master" => format!("[master]\n{line}\n{MODEL}{DATASET}"),
        "master.etcd" => format!("[master]\nstore = \"etcd://h\"\netcd = {{ {line} }}\n{MODEL}{DATASET}"),
        "model" => format!("{MODEL}{line}\n{DATASET}"),
        "meta_template.role" => format!("{MODEL}meta_template = {{ round = [{{ {line} }}] }}\n{DATASET}"),
        "meta_template.message" => format!(
            "{MODEL}meta_template = {{ round = [{{ role = \"BOT\", generate = true, api_role = \"BOT\" }}], begin = {{ {line} }} }}\n{DATASET}"
        ),
        "run_cfg" | "tokenizer_kwargs" | "model_kwargs" | "generation_kwargs" | "meta_template" => {
            format!("{MODEL}{name} = {{ {line} }}\n{DATASET}")
        }
        "dataset" => format!("{MODEL}{DATASET}{line}\n"),
        "reader_cfg" | "infer_cfg" | "eval_cfg" => dataset(&format!("{name} = {{ "), format!("{name} = {{ {line}, ")),
        "split" => dataset("test = { ", format!("test = {{ {line}, ")),
        "column" => dataset("test = { ", format!("test = {{ columns = {{ x = {{ {line} }} }}, ")),
        "span" => dataset(
            "test = { ",
            format!("test = {{ columns = {{ x = {{ splice = \"q\", by = \" \", spans = [{{ {line} }}] }} }}, "),
        ),
        "keep" => dataset("test = { ", format!("test = {{ keep = {{ {line} }}, ")),
        "circular" => dataset("test = { ", format!("test = {{ circular = {{ {line} }}, ")),
        "retriever" => dataset("infer_cfg = { ", format!("infer_cfg = {{ retriever = {{ {line} }}, ")),
        "inferencer" => dataset("inferencer = \"gen\"", format!("inferencer = {{ {line} }}")),
        "evaluator" => dataset("evaluator = \"em\"", format!("evaluator = {{ {line} }}")),
        "filters" => dataset("evaluator = \"em\"", format!("evaluator = \"em\", filters = [{{ {line} }}]")),
        "master.http_tls" => format!("[master]\nhttp = \"127.0.0.1:0\"\nhttp_tls = {{ {line} }}\n{MODEL}{DATASET}"),
        "endpoint" => format!("[[model]]\nabbr = \"m\"\nendpoint = {{ {line} }}\n{DATASET}"),
        "endpoint.price" => format!(
            "[[model]]\nabbr = \"m\"\nendpoint = {{ url = \"http://h\", model = \"x\", price = {{ {line} }} }}\n{DATASET}"
        ),
        "thinking" => format!("{MODEL}chat = true\nthinking = {{ {line} }}\n{DATASET}"),
        "thinking.marks" => format!("{MODEL}chat = true\nthinking = {{ marks = {{ {line} }} }}\n{DATASET}"),
        "thinking.at_budget" => {
            format!("{MODEL}chat = true\nthinking = {{ budget = 1, at_budget = {{ {line} }} }}\n{DATASET}")
        }
        "template.rounds" => template(format!("{{ round = \"x\", {line} }}")),
        "template.line" => template(format!("{{ round = [{{ {line} }}] }}")),
        "template.messages" => template(format!("{{ messages = [{{ role = \"user\", content = \"x\" }}], {line} }}")),
        "template.message" => template(format!("{{ messages = [{{ {line} }}] }}")),
        "reading" => format!("{MODEL}{DATASET}reading = {{ {line} }}\n"),
        "infer" | "eval" | "notify" | "summarizer" => format!("{MODEL}{DATASET}[{name}]\n{line}\n"),
        "partitioner" | "runner" => format!("{MODEL}{DATASET}[infer]\n{name} = {{ {line} }}\n"),
        "aliyun_cfg" => format!(
            "{MODEL}{DATASET}[infer]\nrunner = {{ type = \"dlc\", aliyun_cfg = {{ workspace_id = \"w\", worker_image = \"i\", \
             {line} }} }}\n"
        ),
        "pool" => format!("{MODEL}{DATASET}[[pool]]\n{line}\n"),
        "launcher" => format!("{MODEL}{DATASET}[[pool]]\nname = \"p\"\nlauncher = {{ {line} }}\n"),
        "summary_group" => format!("{MODEL}{DATASET}[[summary_group]]\nname = \"g\"\nsubsets = [\"d\"]\n{line}\n"),
        "combination" => {
            format!("{MODEL}{DATASET}[[combination]]\nmodels = [\"m\"]\ndatasets = [\"d\"]\n{line}\n")
        }
        other => panic!("where does `{other}` stand?"),
    }
}

#[test]
fn every_key_is_read_by_the_reader_of_its_table() {
    let fixture = Fixture::new();
    for table in TABLES {
        for key in table.keys {
            for spelling in key.spellings() {
                let _ = fixture.load(&file(table.name, &format!("{spelling} = {NOTHING}")));
            }
        }
        for keys in table.types {
            let tag = if table.name == "column" { keys.name } else { "type" };
            let tag = format!("{tag} = \"{}\"", keys.name);
            let _ = fixture.load(&file(table.name, &tag));
            for key in keys.every_key().filter(|key| key.name != keys.name) {
                for spelling in key.spellings() {
                    let _ = fixture.load(&file(table.name, &format!("{tag}, {spelling} = {NOTHING}")));
                }
            }
        }
    }
}

#[test]
fn every_table_and_type_refuses_other_keys() {
    let fixture = Fixture::new();
    for table in TABLES {
        let tags = table.types.iter().map(|keys| match table.name {
            "column" => format!("{} = \"a\", ", keys.name),
            _ => format!("type = \"{}\", ", keys.name),
        });
        let tags: Vec<String> = if table.types.is_empty() { vec![String::new()] } else { tags.collect() };
        for tag in tags {
            let text = file(table.name, &format!("{tag}xyzzy = 1"));
            let shown = fixture.bad(&text);
            let refused = shown.contains("unknown key `xyzzy`") || shown.contains("kwargs.xyzzy` is not yet supported");
            // Of rounds, other keys make a table of labels.
            assert!(refused || table.name == "template.rounds", "in\n{text}{shown}");
        }
    }
}

#[test]
fn a_message_is_said_or_taken_from_a_column() {
    let said = |more: &str| {
        let text = file("template.message", &format!("expand_column = \"history\"{more}"));
        Fixture::new().load(&text).map_err(|errors| errors.to_string())
    };
    assert!(said("").is_ok());
    assert!(said(", content = \"x\"").unwrap_err().contains("`content` beside `expand_column`"));
}

#[test]
fn times_of_tests_are_read_and_stand_in_no_reference() {
    let fixture = Fixture::new();
    let text = "[master]\nworker_lease = \"2s\"\nstore = \"etcd://h:1\"\nstore_lease = \"1s\"\n";
    let short = fixture.good(&format!("{text}{MODEL}{DATASET}"));
    assert_eq!(short.worker_lease, std::time::Duration::from_secs(2));
    let StoreConfig::Etcd(etcd) = short.store else { panic!("the store is in etcd") };
    assert_eq!(etcd.lease, Some(std::time::Duration::from_secs(1)));
    let usual = fixture.good(&format!("{MODEL}{DATASET}"));
    assert_eq!(usual.worker_lease, std::time::Duration::from_secs(30));
    let schema = crate::schema().to_string();
    assert!(!schema.contains("worker_lease") && !schema.contains("store_lease"));
}
