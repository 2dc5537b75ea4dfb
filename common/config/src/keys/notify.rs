//! `[notify]`.

use super::key::Kind::{Duration, Text, Texts};
use super::key::{TableKeys, key};

pub(crate) static NOTIFY: TableKeys = TableKeys {
    name: "notify",
    title: "[notify]",
    keys: &[
        key("webhook", Text, "where a JSON object is posted")
            .takes("`http(s)://` address, or the path of a file that holds one")
            .default("none"),
        key("lark", Text, "the same for a bot of Lark or Feishu, which gets a text (`lark_bot_url` of OpenCompass)")
            .or(&["lark_bot_url"])
            .takes("`http(s)://` address, or the path of a file that holds one")
            .default("none"),
        key("command", Texts, "program with its arguments; the JSON object is its standard input")
            .takes("array of texts")
            .default("none"),
        key(
            "on",
            Texts,
            "when: `end` (with the table), `failure` (with the reason), `idle` (nothing runs; with the reasons)",
        )
        .takes("array of `end`, `failure`, `idle`")
        .default("all three"),
        key("idle", Duration, "how long nothing has come in before that is `idle`")
            .takes("duration, 1m or more")
            .default("`15m`"),
    ],
    types: &[],
};
