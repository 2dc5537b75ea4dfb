//! `endpoint` of a model: the server that is asked in place of weights that are loaded.

use crate::keys::vocabulary::APIS;
use crate::keys::{Kind, TableKeys, key};
use crate::read::fields::{Fields, any_table, literal, number_from_zero, text};
use crate::read::paths;
use crate::report::check::Check;
use crate::syntax::tree::Node;
use compass_plan::{Endpoint, EndpointApi, EndpointBudget, KEY_MARK, KeySource, Price};
use compass_types::duration::{DURATION_HELP, parse_duration};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) static ENDPOINT: TableKeys = TableKeys {
    name: "endpoint",
    title: "`endpoint`",
    keys: &[
        key("url", Kind::Text, "address of the server, with the path before `/chat/completions`")
            .takes("`https://host/v1`")
            .required(),
        key("model", Kind::Text, "name of the model there").default("the first that the server lists at `/models`"),
        key(
            "api",
            Kind::Choice(|| APIS.words()),
            "`chat` sends messages, `completions` texts; only the latter can score options. `auto`: `completions` with \
             `chat = false`, else `chat`",
        )
        .default("`auto`"),
        key("key_env", Kind::Text, "environment variable that holds the key where workers run").default("no key"),
        key("key_file", Kind::Path, "file whose first line is the key, where workers run").default("no key"),
        key("headers", Kind::MapOf(&Kind::Text), "sent with every request; `{key}` in a value stands for the key")
            .takes("table of strings")
            .default("none"),
        key(
            "body",
            Kind::MapOf(&Kind::Anything),
            "fields added to every request, for what a server takes beyond OpenAI's protocol; never one that is sent anyway",
        )
        .default("none"),
        key(
            "max_concurrency",
            Kind::Whole(1, 4096),
            "requests at once, of the whole job; fewer while the server asks for it",
        )
        .default("64"),
        key("rpm", Kind::from(0), "requests a minute, of the whole job; 0 sets no limit").default("0"),
        key("tpm", Kind::Whole(0, i64::MAX), "tokens a minute, read and generated, of the whole job; 0 sets no limit")
            .default("0"),
        key("workers", Kind::Whole(1, 1024), "worker slots that ask at once; each has an equal share of the budget")
            .default("1"),
        key("timeout", Kind::Duration, "how long one request may take, `1s` to `24h`").default("`5m`"),
        key("price", Kind::Table(&ENDPOINT_PRICE), "money for a million tokens").default("none"),
        key("max_cost", Kind::Number, "money after which no more samples are asked for; needs `price`")
            .takes("number")
            .default("no limit"),
    ],
    types: &[],
};

pub(crate) static ENDPOINT_PRICE: TableKeys = TableKeys {
    name: "endpoint.price",
    title: "`price`",
    keys: &[
        key("input", Kind::Number, "for a million tokens that are read").takes("number").default("0"),
        key("output", Kind::Number, "for a million tokens that are generated").takes("number").default("0"),
    ],
    types: &[],
};

const TIMEOUTS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(86_400));

/// Paths that users copy along with the address; requests add them.
const REQUEST_PATHS: [&str; 2] = ["/chat/completions", "/completions"];

/// Words in the names of headers that hold secrets.
const SECRET_HEADERS: [&str; 6] = ["authorization", "key", "token", "secret", "cookie", "password"];

/// Form of a model's prompts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PromptForm<'t> {
    /// Set if they are messages, and unset if they are texts, where that is known.
    pub(crate) messages: Option<bool>,
    /// Place of the tokenizer whose chat template renders them before they are sent.
    pub(crate) tokenizer: Option<&'t Node>,
}

/// Reads the table in `node`. `None` when something is wrong, which is reported.
pub(crate) fn read(check: &mut Check, node: &Node, form: PromptForm<'_>) -> Option<Endpoint> {
    let mut fields = crate::read::fields::table(check, "endpoint", node, &ENDPOINT)?;
    let url = fields.require(check, "url", "\"http://127.0.0.1:8000/v1\"").and_then(|node| url(check, node));
    // An empty name would be a slip; without the key the server's first model is meant.
    let model = match fields.get("model") {
        None => Some(""),
        Some(node) if node.is_empty() => {
            check.error(node.span, "`model` is empty".into(), Some("write its name, or remove the key".into()));
            None
        }
        Some(node) => text(check, "model", node),
    };
    let wanted = fields.get("api").map(|node| (node, APIS.pick(check, "api", node)));
    let key = key_source(check, &mut fields);
    let headers = fields.get("headers").map_or(Some(BTreeMap::new()), |node| headers(check, node));
    let body = fields.get("body").map_or(Some(Map::new()), |node| body(check, node));
    let mut budget = budget(check, &mut fields)?;
    let price = fields.table(check, "price", &ENDPOINT_PRICE).map(|mut fields| {
        let price = Price {
            input: fields.get("input").and_then(|node| number_from_zero(check, "input", node)).unwrap_or_default(),
            output: fields.get("output").and_then(|node| number_from_zero(check, "output", node)).unwrap_or_default(),
        };
        fields.finish(check);
        price
    });
    if let Some(node) = fields.get("max_cost") {
        budget.max_cost = number_from_zero(check, "max_cost", node);
        if price.is_none() {
            let help = "write `price = { input = ..., output = ... }`, for a million tokens";
            check.error(node.span, "`max_cost` without a `price`".into(), Some(help.into()));
        }
    }
    budget.price = price;
    fields.finish(check);
    if let Some(tokenizer) = form.tokenizer {
        let sends_texts = matches!(wanted, Some((_, Some(Some(EndpointApi::Completions)))));
        if !sends_texts || form.messages == Some(false) {
            let help = "write `api = \"completions\"`, without `chat = false`: prompts then go through its chat template before they \
                        are sent; or remove it: a server that gets messages has its own tokenizer";
            let message =
                "`tokenizer_path` of a model behind an endpoint that is not asked through its template".to_owned();
            check.error(tokenizer.span, message, Some(help.into()));
            return None;
        }
    }
    let api = match (wanted, form.messages) {
        (Some((_, None)), _) => return None,
        (Some((_, Some(Some(EndpointApi::Completions)))), _) if form.tokenizer.is_some() => EndpointApi::Completions,
        (Some((node, Some(Some(EndpointApi::Completions)))), Some(true)) => {
            let help = "write `api = \"chat\"`: the server puts messages into the model's template; or `tokenizer_path`, by which \
                        they go through its template before they are sent";
            check.error(
                node.span,
                "`api = \"completions\"` for a model whose prompts are messages".into(),
                Some(help.into()),
            );
            return None;
        }
        (Some((node, Some(Some(EndpointApi::Chat)))), Some(false)) => {
            let help = "remove `chat = false`, or write `api = \"completions\"`";
            check.error(node.span, "`api = \"chat\"` for a model whose prompts are texts".into(), Some(help.into()));
            return None;
        }
        (Some((_, Some(Some(api)))), _) => api,
        (_, Some(false)) => EndpointApi::Completions,
        _ => EndpointApi::Chat,
    };
    Some(Endpoint {
        url: url?,
        model: model?.to_owned(),
        api,
        key: key?,
        headers: headers?,
        body: body?,
        scores: false,
        budget,
    })
}

fn url(check: &mut Check, node: &Node) -> Option<String> {
    let written = text(check, "url", node)?;
    let help = "write an address as in `url = \"https://host:port/v1\"`, with the path before `/chat/completions`";
    let wrong = |check: &mut Check, why: &str, help: &str| {
        check.error(node.span, format!("`url` {why}"), Some(help.into()));
        None
    };
    let rest = written.strip_prefix("https://").or_else(|| written.strip_prefix("http://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.starts_with('/')) else {
        return wrong(check, "is not an address with http:// or https://", help);
    };
    if rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return wrong(check, "contains white space", help);
    }
    if rest.split('/').next().is_some_and(|host| host.contains('@')) {
        let help = "name what holds the key in `key_env` or `key_file`; every run keeps its configuration";
        return wrong(check, "contains a user or a password", help);
    }
    if rest.contains(['?', '#']) {
        return wrong(check, "has a query", help);
    }
    let bare = written.trim_end_matches('/');
    let bare = REQUEST_PATHS.iter().find_map(|path| bare.strip_suffix(path)).unwrap_or(bare);
    Some(bare.trim_end_matches('/').to_owned())
}

/// Returns the source of the key; `Some(None)` if there is no key.
fn key_source(check: &mut Check, fields: &mut Fields<'_>) -> Option<Option<KeySource>> {
    let (env, file) = (fields.get("key_env"), fields.get("key_file"));
    if let (Some(_), Some(node)) = (env, file) {
        check.error(node.span, "`key_file` beside `key_env`".into(), Some("remove one of them".into()));
        return None;
    }
    if let Some(node) = env {
        let name = text(check, "key_env", node)?;
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            let help = "write the name of the variable that holds the key, as in `key_env = \"OPENAI_API_KEY\"`, never the key \
                        itself: every run keeps its configuration";
            check.error(node.span, "`key_env` is not the name of an environment variable".into(), Some(help.into()));
            return None;
        }
        return Some(Some(KeySource::Env(name.to_owned())));
    }
    let Some(node) = file else { return Some(None) };
    // It has to be where workers run, which may not be here.
    let path = paths::resolve(check, "key_file", node)?;
    Some(Some(KeySource::File(path.display().to_string())))
}

fn headers(check: &mut Check, node: &Node) -> Option<BTreeMap<String, String>> {
    let table = any_table(check, "headers", node)?;
    let mut headers = BTreeMap::new();
    let mut right = true;
    for entry in &table.entries {
        let Some(value) = text(check, &format!("headers.{}", entry.key), &entry.node) else {
            right = false;
            continue;
        };
        let name = entry.key.to_ascii_lowercase();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let is_secret = SECRET_HEADERS.iter().any(|word| name.contains(word)) && !value.contains(KEY_MARK);
        let (message, help) = match (is_name, is_secret) {
            (false, _) => (format!("`{}` is not the name of a header", entry.key), "write letters, digits and dashes"),
            (true, true) => (
                format!("the header `{}` looks like a secret", entry.key),
                "write `{key}` where its key stands, and what holds that in `key_env` or `key_file`: every run keeps its \
                 configuration",
            ),
            (true, false) if value.contains(|c: char| !(' '..='~').contains(&c)) => {
                (format!("the header `{}` has a character that no header has", entry.key), "write ASCII")
            }
            (true, false) => {
                headers.insert(name, value.to_owned());
                continue;
            }
        };
        check.error(entry.node.span, message, Some(help.into()));
        right = false;
    }
    right.then_some(headers)
}

/// Fields of requests that follow from the job.
const OUR_FIELDS: [&str; 18] = [
    "model",
    "messages",
    "prompt",
    "max_tokens",
    "max_completion_tokens",
    "min_tokens",
    "stop",
    "stop_token_ids",
    "temperature",
    "top_p",
    "repetition_penalty",
    "seed",
    "n",
    "stream",
    "echo",
    "logprobs",
    "chat_template_kwargs",
    "reasoning_effort",
];

fn body(check: &mut Check, node: &Node) -> Option<Map<String, Json>> {
    let table = any_table(check, "body", node)?;
    let (mut body, mut right) = (Map::new(), true);
    for entry in &table.entries {
        let name = entry.key.as_str();
        if OUR_FIELDS.contains(&name) {
            let help = match name {
                "chat_template_kwargs" => "write it as a key of [[model]]",
                "reasoning_effort" => "write `thinking = { effort = ... }` in [[model]]",
                _ => "write it in `generation_kwargs` or as the model's own key",
            };
            check.error(entry.key_span, format!("`{name}` of `body` is sent anyway"), Some(help.into()));
            right = false;
            continue;
        }
        match literal(check, name, &entry.node) {
            Some(value) => {
                body.insert(name.to_owned(), value);
            }
            None => right = false,
        }
    }
    right.then_some(body)
}

fn budget(check: &mut Check, fields: &mut Fields<'_>) -> Option<EndpointBudget> {
    let usual = EndpointBudget::default();
    let timeout = fields.get("timeout").map(|node| {
        let written = text(check, "timeout", node)?;
        let read = parse_duration(written).filter(|time| (TIMEOUTS.0..=TIMEOUTS.1).contains(time));
        if read.is_none() {
            check.error(node.span, format!("`timeout` cannot be `{written}`"), Some(DURATION_HELP.into()));
        }
        read
    });
    let budget = EndpointBudget {
        max_concurrency: fields.u32(check, "max_concurrency").unwrap_or(usual.max_concurrency),
        rpm: fields.u32(check, "rpm").unwrap_or(usual.rpm),
        tpm: fields.u64(check, "tpm").unwrap_or(usual.tpm),
        timeout_ms: match timeout {
            Some(read) => u64::try_from(read?.as_millis()).unwrap_or(usual.timeout_ms),
            None => usual.timeout_ms,
        },
        workers: fields.u32(check, "workers").unwrap_or(usual.workers),
        ..usual
    };
    let bounds =
        [("max_concurrency", u64::from(budget.max_concurrency)), ("rpm", budget.rpm.into()), ("tpm", budget.tpm)];
    for (name, most) in bounds {
        if let Some(node) = fields.table.get("workers").filter(|_| most > 0 && u64::from(budget.workers) > most) {
            let message = format!("`workers = {}` is more than `{name} = {most}`", budget.workers);
            check.error(node.span, message, Some("each worker needs a share of the budget: lower `workers`".into()));
            return None;
        }
    }
    Some(budget)
}
