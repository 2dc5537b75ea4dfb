//! `endpoint` of a model.

use super::key::Kind::{self, Choice, Duration, MapOf, Number, Path, Table, Text, Whole};
use super::key::{TableKeys, key};
use super::vocabulary::APIS;

pub(crate) static ENDPOINT: TableKeys = TableKeys {
    name: "endpoint",
    title: "`endpoint`",
    keys: &[
        key("url", Text, "address of the server, with the path before `/chat/completions`")
            .takes("`https://host/v1`")
            .required(),
        key("model", Text, "name of the model there").default("the first that the server lists at `/models`"),
        key(
            "api",
            Choice(|| APIS.words()),
            "`chat` sends messages, `completions` texts; only the latter can score options. `auto`: `completions` with \
             `chat = false`, else `chat`",
        )
        .default("`auto`"),
        key("key_env", Text, "environment variable that holds the key where workers run").default("no key"),
        key("key_file", Path, "file whose first line is the key, where workers run").default("no key"),
        key("headers", MapOf(&Text), "sent with every request; `{key}` in a value stands for the key")
            .takes("table of strings")
            .default("none"),
        key(
            "max_concurrency",
            Whole(1, 4096),
            "requests at once, of the whole job; fewer while the server asks for it",
        )
        .default("64"),
        key("rpm", Kind::from(0), "requests a minute, of the whole job; 0 sets no limit").default("0"),
        key("tpm", Whole(0, i64::MAX), "tokens a minute, read and generated, of the whole job; 0 sets no limit")
            .default("0"),
        key("workers", Whole(1, 1024), "worker slots that ask at once; each has an equal share of the budget")
            .default("1"),
        key("timeout", Duration, "how long one request may take, `1s` to `24h`").default("`5m`"),
        key("price", Table(&ENDPOINT_PRICE), "money for a million tokens").default("none"),
        key("max_cost", Number, "money after which no more samples are asked for; needs `price`")
            .takes("number")
            .default("no limit"),
    ],
    types: &[],
};

pub(crate) static ENDPOINT_PRICE: TableKeys = TableKeys {
    name: "endpoint.price",
    title: "`price`",
    keys: &[
        key("input", Number, "for a million tokens that are read").takes("number").default("0"),
        key("output", Number, "for a million tokens that are generated").takes("number").default("0"),
    ],
    types: &[],
};
