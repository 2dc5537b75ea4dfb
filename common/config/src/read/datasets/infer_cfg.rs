//! `infer_cfg`: retriever, inferencer and templates, and whether they fit each other.
//!
//! The columns that templates may name are not checked here: the data is not read yet.

use super::{inferencer, retriever};
use crate::keys::vocabulary::LABEL_TYPES;
use crate::keys::{Kind, TableKeys, ignored, key};
use crate::read::datasets::inferencer::INFERENCER;
use crate::read::datasets::retriever::RETRIEVER;
use crate::read::fields::{Fields, flag};
use crate::read::templates::raw_template::MESSAGES;
use crate::read::templates::template::{self, ROUNDS};
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Table};
use compass_plan::InferSpec;
use compass_plan::prompt::{PromptConfig, Template, column_name};
use compass_plan::retriever::RetrieverKind;

/// A text, or `{ jinja = "..." }`.
const TEXT_OR_JINJA: Kind = Kind::Either(&[Kind::Text, Kind::MapOf(&Kind::Text)]);

/// A text, rounds, messages, Jinja, or a table from label to one of these.
const TEMPLATE: Kind =
    Kind::Either(&[Kind::Text, Kind::Table(&ROUNDS), Kind::Table(&MESSAGES), Kind::MapOf(&Kind::Anything)]);

pub(crate) static INFER_CFG: TableKeys = TableKeys {
    name: "infer_cfg",
    title: "`infer_cfg`",
    keys: &[
        key("retriever", Kind::Named(&RETRIEVER), "which rows are shown as shots").default("`zero`"),
        key("inferencer", Kind::Named(&INFERENCER), "what is computed").required(),
        key("prompt_template", TEMPLATE, "how a row is asked").takes("template").default("the shot's"),
        key("ice_template", TEMPLATE, "how a shot is written").takes("template").default("the prompt's"),
        key(
            "options",
            Kind::Either(&[Kind::Text, Kind::Texts, Kind::MapOf(&TEXT_OR_JINJA)]),
            "the answers to compare, for `loglikelihood`, `ll` and `clp`",
        )
        .takes("`\"{column}\"`, array, table or Jinja")
        .default("none"),
        key(
            "gold",
            TEXT_OR_JINJA,
            "the right answer: a position, the answer itself, or a list where several are right",
        )
        .takes("text or Jinja")
        .default("the output column"),
        key(
            "target",
            TEXT_OR_JINJA,
            "the one continuation of a log-likelihood, or what the shots of a generation show (lm-eval's `doc_to_target`)",
        )
        .takes("text or Jinja")
        .default("none"),
        key("target_within", Kind::Boolean, "whether the labels' texts end with the `target` themselves").default("`false`"),
        key("label_type", Kind::Choice(|| LABEL_TYPES.words()), "the type of labels in predictions, as a template in Python has it")
            .default("the gold answers'"),
        key("description", TEXT_OR_JINJA, "before everything").takes("text or Jinja").default("none"),
        ignored("max_out_len", Kind::Anything, "OpenCompass ignores it here as well; it is a key of `inferencer`"),
        key("gen_prefix", TEXT_OR_JINJA, "what every answer begins with").takes("text or Jinja").default("none"),
        key("dialogue", Kind::Text, "column that holds a conversation, for `chat`").default("none"),
        key("ice_token", Kind::Text, "where shots go in the prompt template").default("`</E>`"),
        key("ice_separator", Kind::Text, "between two shots").default("`\"\\n\"`"),
        key("ice_eos_token", Kind::Text, "after the last shot").default("`\"\\n\"`"),
        key("target_delimiter", Kind::Text, "between context and answer when `options` or `target` is used").default("`\" \"`"),
        key("fewshot_delimiter", Kind::Text, "after each shot that has no ice token to go to").default("`\"\\n\\n\"`"),
        key("sep_token", Kind::Text, "where `normalizing_str` parts prompts").default("none"),
    ],
    types: &[],
};

/// Contents of `infer_cfg`.
#[derive(Debug)]
pub(crate) struct InferCfg {
    pub(crate) retriever: RetrieverKind,
    pub(crate) prompt: PromptConfig,
    pub(crate) infer: InferSpec,
    /// Place of `target`.
    pub(crate) target: Option<Span>,
}

/// Reads `infer_cfg`; `None` when something is wrong, which is reported.
///
/// `same_rows` says that the shots come from the split that is asked.
pub(crate) fn read(check: &mut Check, mut fields: Fields<'_>, same_rows: bool) -> Option<InferCfg> {
    let retriever = match fields.get("retriever") {
        Some(node) => retriever::read(check, node, same_rows),
        None => Some(RetrieverKind::Zero),
    };
    let node = fields.require(check, "inferencer", "\"ppl\"");
    let infer = node.and_then(|node| inferencer::read(check, node));

    let span = fields.span;
    let mut places = Places { whole: span, template: None, options: None };
    let mut classes = Vec::new();
    let mut read = |key, check: &mut Check| match fields.get(key) {
        Some(node) => {
            // The later of the two, the prompt's, is the one that the inferencer has to be able to use.
            places.template = Some(node.span);
            let (node, class) = within_class(node);
            classes.extend(class);
            template::read(check, key, node).map(Some)
        }
        None => Some(None),
    };
    let ice_template = read("ice_template", check);
    let mut prompt_template = read("prompt_template", check);
    if let (Some(labels), Some(Some(template))) = (node.and_then(only_labels), &mut prompt_template) {
        keep_labels(check, labels, template);
    }
    let options = match fields.get("options") {
        Some(node) => {
            places.options = Some(node.span);
            template::options(check, node).map(Some)
        }
        None => Some(None),
    };
    let mut text_template = |key, check: &mut Check| match fields.get(key) {
        Some(node) => template::text_template(check, key, node).map(Some),
        None => Some(None),
    };
    let description = text_template("description", check);
    let gen_prefix = text_template("gen_prefix", check);
    let target = text_template("target", check);
    let gold = text_template("gold", check);
    let within = fields.get("target_within").map(|node| flag(check, "target_within", node));
    let target_within = within.flatten().unwrap_or(false);
    let label_type = fields.get("label_type").and_then(|node| LABEL_TYPES.pick(check, "label_type", node));
    let target_span = fields.table.get("target").map(|node| node.span);
    let of_class = |key| classes.iter().find_map(|class: &&Table| class.text(key)).map(str::to_owned);
    let sep_token = fields.text(check, "sep_token").map(str::to_owned).or_else(|| of_class("sep_token"));
    let sep_token = sep_token.filter(|token| !token.is_empty());
    let dialogue = fields.text(check, "dialogue").map(|column| column_name(column).to_owned());
    let default = PromptConfig::default();
    let mut or = |key, default: String| fields.text(check, key).map_or(default, str::to_owned);
    let ice_token = or("ice_token", of_class("ice_token").unwrap_or(default.ice_token));
    let ice_separator = or("ice_separator", default.ice_separator);
    let ice_eos_token = or("ice_eos_token", default.ice_eos_token);
    let target_delimiter = or("target_delimiter", default.target_delimiter);
    let fewshot_delimiter = or("fewshot_delimiter", default.fewshot_delimiter);
    if let Some(node) = fields.table.get("ice_token").filter(|_| ice_token.is_empty()) {
        let help = "remove the key: the token is `</E>` then";
        check.error(node.span, "`ice_token` is empty".into(), Some(help.into()));
    }
    let delimiter = fields.table.get("target_delimiter").map(|node| node.span);
    if let Some(node) = fields.get("max_out_len") {
        let help = "OpenCompass ignores it here as well; write it in `inferencer`, if it is meant";
        check.note(node.span, "`max_out_len` of `infer_cfg` changes nothing".into(), help);
    }
    fields.finish(check);

    let prompt = PromptConfig {
        ice_template: ice_template?,
        prompt_template: prompt_template?,
        options: options?,
        ice_token,
        ice_separator,
        ice_eos_token,
        target_delimiter,
        fewshot_delimiter,
        sep_token,
        description: description?,
        gen_prefix: gen_prefix?,
        target: target?,
        target_within,
        gold: gold?,
        dialogue,
        unconditional: false,
        label_type,
    };
    let (infer, retriever) = (infer?, retriever?);
    fit(check, &infer, &prompt, &places)?;
    if let Some(span) = delimiter.filter(|_| !takes_delimiter(&prompt, &retriever)) {
        let help =
            "it stands before answers of `options`, and of `target` in shots: write it at the end of `prompt_template`";
        check.note(span, "`target_delimiter` has no effect: nothing follows it".into(), help);
    }
    Some(InferCfg { retriever, prompt, infer, target: target_span })
}

/// Returns true if `target_delimiter` stands in prompts or behind them: before what is chosen or, in shots, said, and before what
/// answers begin with.
fn takes_delimiter(prompt: &PromptConfig, retriever: &RetrieverKind) -> bool {
    let by_label = prompt.prompt_template.as_ref().is_some_and(Template::is_by_label);
    let in_shots = !matches!(retriever, RetrieverKind::Zero);
    prompt.options.is_some() || prompt.gen_prefix.is_some() || prompt.target.is_some() && (in_shots || by_label)
}

/// The template in OpenCompass's `{ type = "PromptTemplate", template = ..., ice_token = "..." }`, and the table around it.
fn within_class(node: &Node) -> (&Node, Option<&Table>) {
    let around = node.table().filter(|table| table.get("type").is_some() && table.get("messages").is_none());
    match around.and_then(|table| Some((table.get("template")?, table))) {
        Some((template, table)) => (template, Some(table)),
        None => (node, None),
    }
}

/// OpenCompass's `labels` of an inferencer: the answers that are compared, among those of the template.
fn only_labels(inferencer: &Node) -> Option<&Node> {
    inferencer.table()?.get("labels")
}

fn keep_labels(check: &mut Check, labels: &Node, template: &mut Template) {
    let Some(wanted) = check.texts("labels", labels) else { return };
    let known: Vec<String> = match template {
        Template::Labels(map) => map.iter().map(|(label, _)| label.clone()).collect(),
        Template::LabelRounds(map) => map.iter().map(|(label, _)| label.clone()).collect(),
        Template::TemplateTexts(map) => map.iter().map(|(label, _)| label.clone()).collect(),
        Template::Text(_) | Template::Rounds(_) | Template::Jinja(_) => return,
    };
    if let Some((label, span)) = wanted.iter().find(|(label, _)| !known.contains(label)) {
        let help = format!("`prompt_template` has {}", known.join(", "));
        check.error(*span, format!("`labels` names `{label}`, and there is no prompt for it"), Some(help));
        return;
    }
    let at = |label: &String| wanted.iter().position(|(wanted, _)| wanted == label);
    match template {
        Template::Labels(map) => {
            map.retain(|(label, _)| at(label).is_some());
            map.sort_by_key(|(label, _)| at(label));
        }
        Template::LabelRounds(map) => {
            map.retain(|(label, _)| at(label).is_some());
            map.sort_by_key(|(label, _)| at(label));
        }
        Template::TemplateTexts(map) => {
            map.retain(|(label, _)| at(label).is_some());
            map.sort_by_key(|(label, _)| at(label));
        }
        Template::Text(_) | Template::Rounds(_) | Template::Jinja(_) => {}
    }
}

/// Places of the parts that have to fit.
struct Places {
    whole: Span,
    template: Option<Span>,
    options: Option<Span>,
}

/// `None` when the inferencer cannot use the templates, which is reported.
fn fit(check: &mut Check, infer: &InferSpec, prompt: &PromptConfig, places: &Places) -> Option<()> {
    let template = prompt.prompt_template.as_ref().or(prompt.ice_template.as_ref());
    let at = places.template.unwrap_or(places.whole);
    let options = places.options.filter(|_| prompt.options.is_some());
    let by_label = template.is_some_and(Template::is_by_label);
    let asks_first = matches!(infer, InferSpec::Gen(_) | InferSpec::PplOnly);
    let name = match infer {
        InferSpec::Loglikelihood | InferSpec::MeanLoglikelihood => "loglikelihood",
        infer => infer.mode(),
    };
    let chooses = matches!(infer, InferSpec::Ppl | InferSpec::PplNormalized { .. }) || infer.scores_continuations();
    let said = infer.scores_continuations() && prompt.target.is_some();
    let held = matches!(infer, InferSpec::Chat { .. }) && prompt.dialogue.is_some();
    if said && matches!(template, Some(Template::LabelRounds(_))) {
        let help = "write the prompt of each label as one text; the same dialogues can be compared with `ppl`, by other numbers";
        check.not_yet(at, "a log-likelihood of `target` over one dialogue for each label", help);
        return None;
    }
    let (span, message, help) = match (template, options) {
        (None, _) if held => return Some(()),
        (None, _) => (
            places.whole,
            "missing key `prompt_template` in `infer_cfg`".to_owned(),
            "write `prompt_template = \"...\"`, or a table from label to prompt",
        ),
        (_, None) if by_label && asks_first => {
            let help = "write the prompt as one string, or compare the labels with `ppl`";
            check.note(
                at,
                format!("`{name}` asks with the prompt of the first label alone, as OpenCompass does"),
                help,
            );
            return Some(());
        }
        (_, _) if by_label && !chooses => {
            (at, format!("`{name}` has one prompt, and this is one for each label"), "write the prompt as one string")
        }
        (_, Some(span)) if !chooses && *infer != InferSpec::Clp => {
            (span, format!("`{name}` takes no `options`"), "remove the key, or use `loglikelihood`")
        }
        (_, Some(span)) if by_label => (
            span,
            "`options` beside a prompt for each label".to_owned(),
            "remove `options`, or write the prompt as one string without the answer",
        ),
        (_, None) if chooses && !by_label && !said => (
            at,
            format!("`{name}` has nothing to choose between"),
            "write a table from label to prompt, or add `options`",
        ),
        (Some(Template::TemplateTexts(_)), None) if infer.scores_continuations() && !said => (
            at,
            "`loglikelihood` wants what the labels share, and in Jinja that is not known".to_owned(),
            "write the question as one `prompt_template`, and under `options` the answers, each a text or \
             `{ jinja = \"...\" }`; or use `ppl`",
        ),
        (_, None) if matches!(infer, InferSpec::PplNormalized { .. }) && prompt.sep_token.is_none() => (
            at,
            "`normalizing_str` does not know where the answers begin".to_owned(),
            "put a mark before the answer in each prompt and name it, as in `sep_token = \"</S>\"`",
        ),
        _ => return Some(()),
    };
    check.error(span, message, Some(help.into()));
    None
}
