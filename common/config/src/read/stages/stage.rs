//! `[infer]` and `[eval]`: partitioner and runner of a stage, with the flags over them.

use super::partitioner::{self, GEN_TASK_COEF, MAX_TASK_SIZE};
use super::runner::{self, RUNNER};
use crate::flags::overrides::Overrides;
use crate::keys::{Key, Kind, TableKeys, key};
use crate::read::fields::Fields;
use crate::read::stages::partitioner::PARTITIONER;
use crate::report::check::Check;
use compass_plan::partition::{PartitionStrategy, PartitionerKind};
use compass_settings::StageConfig;

static RUNNER_TAKES: [Kind; 2] = [Kind::Text, Kind::Table(&RUNNER)];

const RUNNER_KEY: Key = key("runner", Kind::Either(&RUNNER_TAKES), "who launches workers, and how many")
    .takes("name or table")
    .default("`local`");

const PARTITIONER_KEY: Key = key("partitioner", Kind::Named(&PARTITIONER), "how the stage is cut into tasks");

pub(crate) static INFER: TableKeys = TableKeys {
    name: "infer",
    title: "[infer]",
    keys: &[PARTITIONER_KEY.default("`balanced`"), RUNNER_KEY],
    types: &[],
};

pub(crate) static EVAL: TableKeys =
    TableKeys { name: "eval", title: "[eval]", keys: &[PARTITIONER_KEY.default("`naive`"), RUNNER_KEY], types: &[] };

/// Reads the stage at `key`, which has these keys; `partitioner` is its default.
pub(crate) fn read(
    check: &mut Check,
    root: &mut Fields<'_>,
    key: &'static str,
    keys: &'static TableKeys,
    flags: &Overrides,
    partitioner: PartitionerKind,
) -> StageConfig {
    let given = root.table(check, key, keys);
    let mut fields = given.unwrap_or_else(|| Fields::none(root.span, keys));
    let runner = runner::read(check, fields.get("runner"), flags);
    let node = fields.get("partitioner");
    let partitioner =
        node.and_then(|node| partitioner::read(check, node, runner.max_num_workers)).unwrap_or(partitioner);
    fields.finish(check);
    StageConfig { partitioner, runner }
}

/// `--max-partition-size` and `--gen-task-coef` ask for the `size` partitioner; what they leave out, the file says.
pub(crate) fn size_flags(stage: &mut StageConfig, flags: &Overrides) {
    if flags.max_partition_size.is_none() && flags.gen_task_coef.is_none() {
        return;
    }
    let (max_task_size, gen_task_coef, strategy) = match stage.partitioner {
        PartitionerKind::Size { max_task_size, gen_task_coef, strategy } => (max_task_size, gen_task_coef, strategy),
        _ => (MAX_TASK_SIZE, GEN_TASK_COEF, PartitionStrategy::default()),
    };
    stage.partitioner = PartitionerKind::Size {
        max_task_size: flags.max_partition_size.unwrap_or(max_task_size),
        gen_task_coef: flags.gen_task_coef.unwrap_or(gen_task_coef),
        strategy,
    };
}
