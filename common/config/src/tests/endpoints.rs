//! Models behind an endpoint: what is accepted, what is refused and where, OpenCompass's classes.

use super::fixture::{DATASET, Fixture};
use compass_plan::{Endpoint, EndpointApi, KeySource, ModelKind, Price};
use compass_settings::ModelConfig;

const URL: &str = "url = \"http://127.0.0.1:8000/v1\", model = \"tiny\"";

fn toml(keys: &str) -> String {
    format!("[[model]]\nabbr = \"m\"\n{keys}\n{DATASET}")
}

fn model(keys: &str) -> ModelConfig {
    Fixture::new().good(&toml(keys)).models.remove(0)
}

fn endpoint(keys: &str) -> Endpoint {
    let model = model(&format!("endpoint = {{ {URL}{keys} }}"));
    assert_eq!(model.kind, ModelKind::Endpoint);
    model.endpoint.unwrap()
}

fn wrong(keys: &str) -> String {
    Fixture::new().bad(&toml(keys))
}

#[test]
fn what_is_not_written_has_a_default() {
    let plain = endpoint("");
    assert_eq!((plain.url.as_str(), plain.model.as_str()), ("http://127.0.0.1:8000/v1", "tiny"));
    assert_eq!((plain.api, plain.key.clone(), plain.budget.workers), (EndpointApi::Chat, None, 1));
    assert_eq!((plain.budget.rpm, plain.budget.tpm, plain.budget.timeout_ms), (0, 0, 300_000));
    let all = endpoint(
        ", key_env = \"KEY\", headers = { X-Team = \"eval\" }, max_concurrency = 8, rpm = 60, tpm = 9000, timeout = \"30s\",
        workers = 2, price = { input = 0.5, output = 1 }, max_cost = 20",
    );
    assert_eq!(all.key, Some(KeySource::Env("KEY".into())));
    assert_eq!(all.headers["x-team"], "eval");
    assert_eq!(all.budget.price, Some(Price { input: 0.5, output: 1.0 }));
    assert_eq!((all.budget.max_cost, all.budget.timeout_ms, all.budget.workers), (Some(20.0), 30_000, 2));
}

#[test]
fn prompts_say_which_protocol() {
    let of = |keys: &str| {
        let model = model(keys);
        (model.endpoint.unwrap().api, model.chat)
    };
    let table = |api: &str| format!("endpoint = {{ {URL}{api} }}");
    assert_eq!(of(&table("")), (EndpointApi::Chat, true));
    assert_eq!(of(&(table("") + "\nchat = false")), (EndpointApi::Completions, false));
    assert_eq!(of(&(table("") + "\nchat = \"auto\"")), (EndpointApi::Chat, true));
    assert_eq!(of(&table(", api = \"completions\"")), (EndpointApi::Completions, false));
    let texts = wrong(&(table(", api = \"completions\"") + "\nchat = true"));
    assert!(texts.contains("whose prompts are messages") && texts.contains("eval.toml:3:"), "{texts}");
    let messages = wrong(&(table(", api = \"chat\"") + "\nchat = false"));
    assert!(messages.contains("whose prompts are texts"), "{messages}");
}

#[test]
fn addresses_lose_what_requests_add() {
    for written in ["http://h/v1/", "http://h/v1/chat/completions", "http://h/v1/completions/"] {
        let model = model(&format!("endpoint = {{ url = \"{written}\", model = \"m\" }}"));
        assert_eq!(model.endpoint.unwrap().url, "http://h/v1", "{written}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_a_remedy() {
    for (keys, message, help) in [
        ("type = \"openai\"", "missing key `endpoint`", "endpoint = {"),
        ("endpoint = { model = \"m\" }", "missing key `url`", "http://127.0.0.1:8000/v1"),
        ("endpoint = { url = \"http://h\", model = \"\" }", "`model` is empty", "remove the key"),
        ("endpoint = { url = \"h:8000\", model = \"m\" }", "`url` is not an address", "https://host:port/v1"),
        ("endpoint = { url = \"http://u:p@h/v1\", model = \"m\" }", "a user or a password", "key_env"),
        ("endpoint = { url = \"http://h/v1?key=1\", model = \"m\" }", "has a query", "/chat/completions"),
        ("type = \"hf\"\nendpoint = { url = \"http://h\", model = \"m\" }", "of another type", "type = \"openai\""),
        (
            "path = \"models/tiny\"\nendpoint = { url = \"http://h\", model = \"m\" }",
            "`path` of a model",
            "endpoint.model",
        ),
    ] {
        let text = wrong(keys);
        assert!(text.contains(message) && text.contains(help) && text.contains("eval.toml:"), "{keys}\n{text}");
    }
    for (keys, message, help) in [
        (", key_env = \"sk-123\"", "not the name of an environment variable", "never the key"),
        (", key_env = \"K\", key_file = \"k\"", "beside `key_env`", "remove one"),
        (", headers = { Authorization = \"Bearer x\" }", "looks like a secret", "{key}"),
        (", headers = { \"a b\" = \"x\" }", "not the name of a header", "dashes"),
        (", api = \"responses\"", "unknown api `responses`", "`auto`, `chat` and `completions`"),
        (", max_concurrency = 0", "out of range: 0", "from 1 to 4096"),
        (", timeout = \"0s\"", "`timeout` cannot be `0s`", "90s"),
        (", max_cost = 3", "without a `price`", "price ="),
        (", price = { input = -1 }", "out of range: -1", "0 or more"),
        (", workers = 9, rpm = 4", "more than `rpm = 4`", "lower `workers`"),
        (", rmp = 3", "unknown key `rmp`", "`rpm`"),
    ] {
        let text = wrong(&format!("endpoint = {{ {URL}{keys} }}"));
        assert!(text.contains(message) && text.contains(help) && text.contains("eval.toml:3:"), "{keys}\n{text}");
    }
}

#[test]
fn opencompass_s_classes_are_endpoints() {
    let model = model(
        "type = \"OpenAI\"\npath = \"gpt-4o\"\nkey = \"ENV\"\nopenai_api_base = \"http://h/v1/chat/completions\"
query_per_second = 2\nmax_workers = 8\ntemperature = 0\nmax_seq_len = 4096\nretry = 3",
    );
    let endpoint = model.endpoint.unwrap();
    assert_eq!((endpoint.url.as_str(), endpoint.model.as_str()), ("http://h/v1", "gpt-4o"));
    assert_eq!(endpoint.key, Some(KeySource::Env("OPENAI_API_KEY".into())));
    assert_eq!((endpoint.budget.rpm, endpoint.budget.max_concurrency), (120, 8));
    assert_eq!((model.max_seq_len, model.decoding.do_sample, model.chat), (Some(4096), None, true));
    let plain = super::endpoints::model("type = \"opencompass.models.OpenAISDK\"\npath = \"gpt-4o\"\nkey = \"EMPTY\"");
    assert_eq!((plain.decoding.do_sample, plain.decoding.temperature), (Some(true), Some(0.7)));
    assert_eq!(plain.endpoint.as_ref().map(|endpoint| endpoint.url.as_str()), Some("https://api.openai.com/v1"));
    assert_eq!(plain.endpoint.unwrap().key, None);
    let literal = wrong("type = \"OpenAI\"\npath = \"gpt-4o\"\nkey = \"sk-1\"");
    assert!(literal.contains("holds the key itself") && literal.contains("OPENAI_API_KEY"), "{literal}");
}

#[test]
fn lmdeploy_s_server_continues_texts() {
    let model = model(
        "type = \"TurboMindAPIModel\"\npath = \"internlm-20b\"\nmodel_name = \"internlm\"\napi_addr = \"http://h:23333/\"\nend_str = \"<eoa>\"\n\
         max_out_len = 100\nbatch_size = 8\nrun_cfg = { num_gpus = 1, num_procs = 1 }\ntemperature = 0.2\n\
         gen_config = { top_k = 40, max_new_tokens = 64 }",
    );
    let endpoint = model.endpoint.unwrap();
    assert_eq!((endpoint.url.as_str(), endpoint.model.as_str()), ("http://h:23333/v1", "internlm"));
    assert_eq!((endpoint.api, endpoint.key, model.chat), (EndpointApi::Completions, None, false));
    let drawn = &model.decoding;
    assert_eq!(
        (drawn.do_sample, drawn.temperature, drawn.top_p, drawn.top_k),
        (Some(true), Some(0.2), Some(0.8), Some(40))
    );
    let plain = super::endpoints::model("type = \"TurboMindAPIModel\"");
    assert_eq!(plain.endpoint.as_ref().map(|endpoint| endpoint.url.as_str()), Some("http://0.0.0.0:23333/v1"));
    assert_eq!(plain.endpoint.unwrap().model, "", "the first that the server lists");
    assert_eq!((plain.decoding.temperature, plain.decoding.top_k), (Some(1.0), Some(50)));
    let greedy = super::endpoints::model("type = \"TurboMindAPIModel\"\ngen_config = { top_k = 1 }");
    assert_eq!(greedy.decoding.do_sample, None);
    let refused = wrong("type = \"TurboMindAPIModel\"\napi_key = \"sk-1\"\ngen_config = { repetition_penalty = 1.1 }");
    assert!(
        refused.contains("holds the key itself") && refused.contains("`repetition_penalty` of `gen_config`"),
        "{refused}"
    );
}

#[test]
fn a_name_in_python_is_no_path() {
    let fixture = Fixture::new();
    fixture.write("models.py", "from opencompass.models import OpenAI\nmodels = [dict(type=OpenAI, abbr='gpt', path='gpt-4o', temperature=0)]\n");
    let config = fixture.good(&format!("include = [\"models.py\"]\n{DATASET}"));
    assert_eq!(config.models[0].endpoint.as_ref().map(|endpoint| endpoint.model.as_str()), Some("gpt-4o"));
}
