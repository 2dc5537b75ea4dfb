//! `[[combination]]`.

use super::key::Kind::Texts;
use super::key::{TableKeys, key};

pub(crate) static COMBINATION: TableKeys = TableKeys {
    name: "combination",
    title: "[[combination]]",
    keys: &[
        key("models", Texts, "models that run these data sets").takes("array of names").required(),
        key("datasets", Texts, "data sets that these models run: an `abbr`, or a preset")
            .takes("array of names")
            .required(),
    ],
    types: &[],
};
