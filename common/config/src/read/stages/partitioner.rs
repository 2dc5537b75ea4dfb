//! `partitioner`: how a stage is cut into tasks.

use crate::keys::PARTITIONER;
use crate::keys::vocabulary::{PARTITIONERS, PartitionerName, STRATEGIES};
use crate::read::fields::Fields;
use crate::report::check::Check;
use crate::syntax::tree::Node;
use compass_plan::partition::{PartitionStrategy, PartitionerKind};

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
