//! Templates: dialogues in rounds, and messages.

use super::key::Kind::{self, Anything, ArrayOf, Boolean, Either, Table, Text};
use super::key::{TableKeys, ignored, key};

/// A line, or several.
const LINES: Kind = Either(&[Text, Table(&LINE), ArrayOf(&Either(&[Text, Table(&LINE)]))]);

pub(crate) static ROUNDS: TableKeys = TableKeys {
    name: "template.rounds",
    title: "a dialogue",
    keys: &[
        key("begin", LINES, "before the dialogue; shots go to its ice token").takes("lines").default("none"),
        key("round", LINES, "the dialogue").takes("lines").required(),
        key("end", LINES, "after the dialogue").takes("lines").default("none"),
    ],
    types: &[],
};

pub(crate) static LINE: TableKeys = TableKeys {
    name: "template.line",
    title: "a line",
    keys: &[
        key("role", Text, "who says it: a role of the model's `meta_template`").required(),
        key("prompt", Text, "what is said").default("the role's own"),
        key("fallback_role", Text, "who says it where the model has no such role").default("none"),
        key("begin", Text, "before what is said").default("the role's own"),
        key("end", Text, "after what is said").default("the role's own"),
    ],
    types: &[],
};

pub(crate) static MESSAGES: TableKeys = TableKeys {
    name: "template.messages",
    title: "messages",
    keys: &[
        key("messages", ArrayOf(&Either(&[Text, Table(&MESSAGE)])), "the conversation; a string is a text of its own")
            .takes("array of messages and strings")
            .required(),
        key("format_variables", Boolean, "whether columns are filled in; `false` only where no text has a brace")
            .default("`true`"),
        ignored("type", Text, "OpenCompass's `RawPromptTemplate`"),
        ignored("ice_token", Anything, "that of `infer_cfg` counts"),
    ],
    types: &[],
};

pub(crate) static MESSAGE: TableKeys = TableKeys {
    name: "template.message",
    title: "a message of `messages`",
    keys: &[
        key("role", Text, "who says it").takes("`system`, `user`, `assistant`").required(),
        key("content", Text, "what is said").required(),
        key("expand_column", Text, "in place of both: column that holds messages").default("none"),
    ],
    types: &[],
};
