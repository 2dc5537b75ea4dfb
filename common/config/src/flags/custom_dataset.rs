//! `--custom-dataset-path`: OpenCompass's `make_custom_dataset_config`, as TOML.
//!
//! Its columns, `<path>.meta.json` and the flags define the data set, each over the one before.

use super::overrides::CustomDataset;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use toml::{Table as Toml, Value as Item};

/// Keys that a meta file may have.
const META: [&str; 11] = [
    "abbr",
    "data_type",
    "infer_method",
    "human_prompt",
    "bot_prompt",
    "template",
    "input_columns",
    "output_column",
    "options",
    "test_range",
    "path",
];
const ANSWER: &str = "answer";
/// The column of a row that an evaluator reads whole.
const ROW: &str = "row";

/// Description of the fault, and what to do.
type Fault = (String, String);

/// The name and the table of the data set.
pub(crate) fn read(custom: &CustomDataset) -> Result<(String, Toml), Fault> {
    let meta = Meta::new(custom)?;
    let columns = custom.columns.as_deref().unwrap_or_default();
    let known: Vec<String> =
        ('A'..='Z').map(String::from).take_while(|name| columns.iter().any(|column| column == name)).collect();
    let options = meta.texts("options")?.unwrap_or(known);
    let by_columns = if options.len() > 1 { "mcq" } else { "qa" };
    let kind = custom.data_type.clone().or(meta.text("data_type")?).unwrap_or_else(|| by_columns.into());
    let method = custom.infer_method.clone().or(meta.text("infer_method")?).unwrap_or_else(|| "gen".into());
    let stem = Path::new(&custom.path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let abbr = meta.text("abbr")?.unwrap_or_else(|| stem.split('.').next().unwrap_or_default().into());
    let has_answer = columns.iter().any(|name| name == ANSWER) || columns.is_empty();
    let output = meta.text("output_column")?.or(has_answer.then(|| ANSWER.into()));
    let inputs = columns.iter().filter(|name| *name != ANSWER).cloned().collect();
    let inputs = meta.texts("input_columns")?.unwrap_or(inputs);
    fit(custom, &kind, &method, &options)?;

    let answer = output.clone().unwrap_or_else(|| ANSWER.into());
    let template = match meta.value("template") {
        Some(template) => item(template).ok_or_else(|| meta.wrong("template", "a template"))?,
        None => {
            let human = meta.text("human_prompt")?;
            let bot = meta.text("bot_prompt")?;
            template(&kind, &method, &options, &answer, human, bot)
        }
    };
    let mut infer = Toml::from_iter([
        ("retriever".to_owned(), Item::from("zero")),
        ("inferencer".to_owned(), method.clone().into()),
        ("prompt_template".to_owned(), template),
    ]);
    let mut test = Toml::from_iter([("path".to_owned(), absolute(&custom.path))]);
    let mut evaluator = Item::from("acc");
    let mut gold = output;
    let mut eval = Toml::new();
    if let ("mcq", "gen", Some(ANSWER)) = (kind.as_str(), method.as_str(), gold.as_deref()) {
        // The evaluator reads the options' texts beside the answer, so that the gold column is another, and OpenCompass's
        // rule that the gold column is blank in the prompt no longer hides the answer.
        let columns: Vec<Item> = options.iter().map(String::as_str).chain([ANSWER]).map(Item::from).collect();
        let row = Toml::from_iter([("object".to_owned(), Item::from(columns))]);
        test.insert("columns".into(), Toml::from_iter([(ROW.to_owned(), Item::from(row))]).into());
        let like = [("type", Item::from("option_sim_acc")), ("options", options.concat().into())];
        evaluator = Toml::from_iter(like.map(|(key, value)| (key.to_owned(), value))).into();
        if let Some(template) = infer.get_mut("prompt_template") {
            hide(template, &format!("{{{ANSWER}}}"));
        }
        gold = Some(ROW.into());
    } else if kind == "mcq" && method == "gen" {
        // Such rows have no `answer`, by which the likeness to the options' texts is judged.
        let first =
            [("type", Item::from("first_option")), ("options", options.concat().into()), ("cushion", false.into())];
        let first = Toml::from_iter(first.map(|(key, value)| (key.to_owned(), value)));
        eval.insert("pred_postprocessor".into(), first.into());
    }
    eval.insert("evaluator".into(), evaluator);
    let inputs: Vec<Item> = inputs.into_iter().map(Item::from).collect();
    let mut reader = Toml::from_iter([("input_columns".to_owned(), Item::from(inputs))]);
    reader.extend(gold.map(|gold| ("output_column".to_owned(), Item::from(gold))));
    if let Some(range) = meta.value("test_range") {
        let range = item(range).ok_or_else(|| meta.wrong("test_range", "a range, as \"[:100]\""))?;
        reader.insert("test_range".into(), range);
    }
    let table = Toml::from_iter([
        ("abbr".to_owned(), Item::from(abbr.clone())),
        ("reader_cfg".to_owned(), reader.into()),
        ("test".to_owned(), test.into()),
        ("infer_cfg".to_owned(), infer.into()),
        ("eval_cfg".to_owned(), eval.into()),
    ]);
    Ok((abbr, table))
}

/// Checks that the kind of question and the way to ask go together, with what the file has.
fn fit(custom: &CustomDataset, kind: &str, method: &str, options: &[String]) -> Result<(), Fault> {
    let path = &custom.path;
    match (kind, method) {
        ("mcq", "gen" | "ppl") if options.is_empty() => Err((
            format!("`--custom-dataset-path {path}` has no options: no column is named A, B, ..."),
            "name the columns question, A, B, ... and answer, or say `--custom-dataset-data-type qa`".into(),
        )),
        ("mcq", "gen" | "ppl") | ("qa", "gen") => Ok(()),
        ("qa", "ppl") => Err((
            "`--custom-dataset-infer-method ppl` compares options, and `qa` has none".into(),
            "say `gen`, or `--custom-dataset-data-type mcq`".into(),
        )),
        ("circular-mcq", _) => Err((
            "the data type `circular-mcq` is not yet supported".into(),
            "say `mcq`; the `circular` evaluator reads data whose options were rotated beforehand".into(),
        )),
        _ => Err((
            format!("data type `{kind}` asked by `{method}` is neither mcq nor qa, by gen or ppl"),
            "say `--custom-dataset-data-type mcq` or `qa`, and `--custom-dataset-infer-method gen` or `ppl`".into(),
        )),
    }
}

fn template(
    kind: &str,
    method: &str,
    options: &[String],
    answer: &str,
    human: Option<String>,
    bot: Option<String>,
) -> Item {
    let turn = |role: &str, prompt: &str| {
        let pairs = [("role", Item::from(role)), ("prompt", Item::from(prompt))];
        Item::from(Toml::from_iter(pairs.map(|(key, value)| (key.to_owned(), value))))
    };
    let round = |human: &str, bot: &str| -> Item {
        Toml::from_iter([("round".to_owned(), vec![turn("HUMAN", human), turn("BOT", bot)].into())]).into()
    };
    if kind == "qa" {
        let human = human.unwrap_or_else(|| "{question}".into());
        return round(&human, &bot.unwrap_or_else(|| format!("{{{answer}}}")));
    }
    let listed: String = options.iter().map(|name| format!("\n{name}. {{{name}}}")).collect();
    let human = human.unwrap_or_else(|| format!("Question: {{question}}{listed}"));
    let bot = bot.unwrap_or_else(|| format!("Answer: {{{answer}}}"));
    match method {
        "ppl" => {
            let told = |name: &String| round(&human, &bot.replace(&format!("{{{answer}}}"), name));
            options.iter().map(|name| (name.clone(), told(name))).collect::<Toml>().into()
        }
        _ => round(&human, &bot),
    }
}

/// The meta file.
struct Meta<'a> {
    path: &'a str,
    values: Option<&'a serde_json::Map<String, Json>>,
}

impl<'a> Meta<'a> {
    fn new(custom: &'a CustomDataset) -> Result<Self, Fault> {
        let (path, read) = match &custom.meta {
            Some((path, read)) => (path.as_str(), Some(read)),
            None => ("", None),
        };
        let help = || "write a JSON object, as in {\"data_type\": \"mcq\", \"infer_method\": \"ppl\"}".to_owned();
        let values = match read {
            None => None,
            Some(Ok(Json::Object(values))) => Some(values),
            Some(Ok(_)) => return Err((format!("{path} holds no object"), help())),
            Some(Err(why)) => return Err((format!("{path}: {why}"), help())),
        };
        if let Some(key) = values.into_iter().flat_map(|values| values.keys()).find(|key| !META.contains(&key.as_str()))
        {
            let message = format!("{path}: `{key}` is not read");
            let help = format!("known are {}; write a [[dataset]] for anything else", META.join(", "));
            return Err((message, help));
        }
        Ok(Self { path, values })
    }

    fn value(&self, key: &str) -> Option<&Json> {
        self.values?.get(key).filter(|value| !value.is_null())
    }

    fn wrong(&self, key: &str, takes: &str) -> Fault {
        (format!("{}: `{key}` is not {takes}", self.path), format!("give `{key}` {takes}, or remove it"))
    }

    fn text(&self, key: &str) -> Result<Option<String>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        value.as_str().map(|text| Some(text.to_owned())).ok_or_else(|| self.wrong(key, "a text"))
    }

    fn texts(&self, key: &str) -> Result<Option<Vec<String>>, Fault> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let texts = value.as_array().map(|items| items.iter().map(|item| item.as_str().map(str::to_owned)));
        let texts = texts.and_then(|items| items.collect::<Option<Vec<_>>>());
        texts.map(Some).ok_or_else(|| self.wrong(key, "a list of texts"))
    }
}

/// Takes `token` out of every text of a template.
fn hide(template: &mut Item, token: &str) {
    match template {
        Item::String(text) => *text = text.replace(token, ""),
        Item::Array(items) => items.iter_mut().for_each(|item| hide(item, token)),
        Item::Table(table) => table.iter_mut().for_each(|(_, item)| hide(item, token)),
        _ => {}
    }
}

/// JSON as TOML; `None` where it holds nulls.
fn item(value: &Json) -> Option<Item> {
    Item::try_from(value).ok()
}

/// A path of the command line is relative to the current directory.
pub(crate) fn absolute(path: &str) -> Item {
    let is_elsewhere = path.starts_with('~') || path.contains("://");
    let is_hub_id = !Path::new(path).exists() && crate::read::models::files::looks_like_hub_id(path);
    let path = match is_elsewhere || is_hub_id {
        true => PathBuf::from(path),
        false => std::path::absolute(path).unwrap_or_else(|_| path.into()),
    };
    path.display().to_string().into()
}
