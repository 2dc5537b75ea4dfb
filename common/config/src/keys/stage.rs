//! `[infer]`, `[eval]` and `partitioner`.

use super::key::Kind::{self, Choice, Either, Named, Table, Text, Whole};
use super::key::{Key, TableKeys, TypeKeys, key};
use super::vocabulary::{PARTITIONERS, STRATEGIES};

static RUNNER_TAKES: [Kind; 2] = [Text, Table(&super::RUNNER)];
const RUNNER: Key = key("runner", Either(&RUNNER_TAKES), "who launches workers, and how many")
    .takes("name or table")
    .default("`local`");
const PARTITIONER_KEY: Key = key("partitioner", Named(&PARTITIONER), "how the stage is cut into tasks");

pub(crate) static INFER: TableKeys =
    TableKeys { name: "infer", title: "[infer]", keys: &[PARTITIONER_KEY.default("`balanced`"), RUNNER], types: &[] };

pub(crate) static EVAL: TableKeys =
    TableKeys { name: "eval", title: "[eval]", keys: &[PARTITIONER_KEY.default("`naive`"), RUNNER], types: &[] };

const POSITIVE: Kind = Whole(1, i64::MAX);
const STRATEGY: &[Key] =
    &[key("strategy", Choice(|| STRATEGIES.words()), "OpenCompass's way to cut a data set").default("`heuristic`")];

pub(crate) static PARTITIONER: TableKeys = TableKeys {
    name: "partitioner",
    title: "`partitioner`",
    keys: &[key("type", Choice(|| PARTITIONERS.words()), "")],
    types: &[
        TypeKeys {
            name: "balanced",
            meaning: "contiguous pieces of even estimated cost, large first, small at the tail; shared prefixes stay together",
            keys: &[],
        },
        TypeKeys { name: "naive", meaning: "one per model and data set", keys: &[] },
        TypeKeys {
            name: "size",
            meaning: "of bounded cost, as OpenCompass cuts them",
            keys: &[
                &[
                    key("max_task_size", POSITIVE, "most cost of a task").default("40000"),
                    key(
                        "gen_task_coef",
                        POSITIVE,
                        "cost of a generated sample, where a scored one costs as much as it has options",
                    )
                    .default("20"),
                ],
                STRATEGY,
            ],
        },
        TypeKeys {
            name: "num_worker",
            meaning: "as many per model as workers",
            keys: &[
                &[
                    key("num_worker", Kind::from(1), "number of workers")
                        .default("the runner's `max_num_workers`, else 8"),
                    key("num_split", Kind::from(1), "pieces of each data set").default("`num_worker`"),
                    key("min_task_size", Kind::from(1), "fewest samples of a piece").default("16"),
                ],
                STRATEGY,
            ],
        },
    ],
};
