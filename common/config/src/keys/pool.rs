//! `[[pool]]`.

use super::key::Kind::{self, Choice, MapOf, Named, Path, Text, Texts};
use super::key::{TableKeys, key};
use super::vocabulary::OFFLINE;

pub(crate) static POOL: TableKeys = TableKeys {
    name: "pool",
    title: "[[pool]]",
    keys: &[
        key("name", Text, "the pool's name").takes("1 to 64 letters, digits, `-`, `_`, `.`").required(),
        key("launcher", Named(&super::LAUNCHER), "as a runner's `type` with its keys").required(),
        key("labels", Texts, "other names by which a model may ask for it").default("none"),
        key("max_num_workers", Kind::from(1), "replica slots at most").default("the job's bound"),
        key("min_num_workers", Kind::from(0), "replica slots that stay while the job lasts, idle or not").default("0"),
        key("max_gpus", Kind::from(0), "GPUs at most").default("0, no bound"),
        key(
            "paths",
            MapOf(&Text),
            "prefixes of model paths, and what stands in their place there; the longest that fits counts",
        )
        .takes("table of prefixes")
        .default("none"),
        key("environment", MapOf(&Text), "what its workers' environment gets")
            .takes("table of strings")
            .default("none"),
        key(
            "offline",
            Choice(|| OFFLINE.words()),
            "what a pool that is cut off does with granted work that has not begun",
        )
        .default("`finish`"),
        key("worker", Path, "`compass-worker` there").default("this host's program"),
    ],
    types: &[],
};
