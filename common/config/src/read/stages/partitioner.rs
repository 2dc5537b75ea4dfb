//! `partitioner`: how a stage is cut into tasks.

use crate::keys::vocabulary::{PARTITIONERS, PartitionerName, STRATEGIES};
use crate::keys::{Key, Kind, TableKeys, TypeKeys, key};
use crate::read::fields::Fields;
use crate::report::check::Check;
use crate::syntax::tree::Node;
use compass_plan::partition::{PartitionStrategy, PartitionerKind};

const POSITIVE: Kind = Kind::Whole(1, i64::MAX);

const STRATEGY: &[Key] =
    &[key("strategy", Kind::Choice(|| STRATEGIES.words()), "OpenCompass's way to cut a data set")
        .default("`heuristic`")];

pub(crate) static PARTITIONER: TableKeys = TableKeys {
    name: "partitioner",
    title: "`partitioner`",
    keys: &[key("type", Kind::Choice(|| PARTITIONERS.words()), "")],
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

/// OpenCompass's `SizePartitioner` defaults.
pub(crate) const MAX_TASK_SIZE: u64 = 40_000;
pub(crate) const GEN_TASK_COEF: u64 = 20;
/// OpenCompass's `NumWorkerPartitioner` defaults.
const NUM_WORKER: u32 = 8;
const MIN_TASK_SIZE: u32 = 16;

/// Reads the partitioner in `node`; `workers` is the runner's `max_num_workers`, the default of `num_worker`.
pub(crate) fn read(check: &mut Check, node: &Node, workers: Option<u32>) -> Option<PartitionerKind> {
    let (name, mut fields) = PARTITIONERS.tagged(check, "partitioner", node, &PARTITIONER)?;
    fields.of_type(PARTITIONERS.name_of(&name));
    let kind = match name {
        PartitionerName::Naive => PartitionerKind::Naive,
        PartitionerName::Balanced => PartitionerKind::Balanced,
        PartitionerName::Size => PartitionerKind::Size {
            max_task_size: fields.u64(check, "max_task_size").unwrap_or(MAX_TASK_SIZE),
            gen_task_coef: fields.u64(check, "gen_task_coef").unwrap_or(GEN_TASK_COEF),
            strategy: strategy(check, &mut fields),
        },
        PartitionerName::NumWorker => PartitionerKind::NumWorker {
            num_worker: fields.u32(check, "num_worker").or(workers).unwrap_or(NUM_WORKER),
            num_split: fields.u32(check, "num_split"),
            min_task_size: fields.u32(check, "min_task_size").unwrap_or(MIN_TASK_SIZE),
            strategy: strategy(check, &mut fields),
        },
    };
    fields.finish(check);
    Some(kind)
}

fn strategy(check: &mut Check, fields: &mut Fields<'_>) -> PartitionStrategy {
    fields.get("strategy").and_then(|node| STRATEGIES.pick(check, "strategy", node)).unwrap_or_default()
}
