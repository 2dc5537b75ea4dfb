//! `runner`: what launches workers, and how many.

use super::{command, dlc, slurm};
use crate::flags::overrides::Overrides;
use crate::keys::vocabulary::{LauncherName, RUNNERS};
use crate::keys::{Kind, TableKeys, TypeKeys, ignored, key};
use crate::read::fields::{Fields, text};
use crate::read::stages::aliyun::ALIYUN;
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_plan::engine::ENGINE_TIMEOUT;
use compass_settings::{RunnerConfig, RunnerKind};
use compass_types::duration::{DURATION_HELP, parse_duration};
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

pub(crate) static RUNNER: TableKeys = TableKeys {
    name: "runner",
    title: "`runner`",
    keys: &[
        key(
            "type",
            Kind::Choice(|| RUNNERS.words()),
            "who launches workers ([launchers](launchers.md)); left out where there are pools",
        )
        .default("`local`"),
        key("max_num_workers", Kind::from(1), "replica slots of the job")
            .default("what GPUs or cores allow; one job of a remote launcher"),
        key("max_workers_per_gpu", Kind::from(1), "most replicas that share a GPU; checked when a model is loaded")
            .default("1"),
        key("max_gpus", Kind::from(0), "GPUs of the whole job over all launchers").default("0, no bound"),
        key(
            "retry",
            Kind::from(0),
            "tries that follow a failed one: of a task that failed for no reason of its node, and of launches in a row; launches have \
             [defaults of their own](launchers.md#tries)",
        )
        .default("2"),
        key(
            "unschedulable_timeout",
            Kind::Duration,
            "how long a model waits when no connected worker can load it, or a sample when none has room for it; then it fails",
        )
        .default("`\"10m\"`"),
        key(
            "engine_timeout",
            Kind::Duration,
            "an engine that computes nothing for so long is ended, and its samples run again in smaller batches",
        )
        .takes("duration, 5s to 30d")
        .default("`\"30m\"`"),
        ignored("task", Kind::Anything, "OpenCompass's `OpenICLInferTask` and `OpenICLEvalTask` are accepted"),
    ],
    types: &LAUNCHERS,
};

/// `launcher` of a pool.
pub(crate) static LAUNCHER: TableKeys = TableKeys {
    name: "launcher",
    title: "`launcher`",
    keys: &[key("type", Kind::Choice(|| RUNNERS.words()), "")],
    types: &LAUNCHERS,
};

static LAUNCHERS: [TypeKeys; 5] = [
    TypeKeys { name: "local", meaning: "processes on this host", keys: &[] },
    TypeKeys {
        name: "slurm",
        meaning: "jobs of `sbatch`",
        keys: &[&[
            key("partition", Kind::Text, "of the jobs").default("the site's own"),
            key("quotatype", Kind::Text, "of the jobs, only where the site has it").default("none"),
            key("qos", Kind::Text, "of the jobs").default("none"),
            key("extra_command", Kind::Either(&[Kind::Text, Kind::Texts]), "further arguments of `sbatch`")
                .takes("array, or one line")
                .default("none"),
            key("log_dir", Kind::Path, "where jobs write their output: a folder that this host and every node reach")
                .default("`logs/` of the run; `compass-master serve`: none is kept"),
        ]],
    },
    TypeKeys {
        name: "dlc",
        meaning: "jobs of Alibaba's `dlc`",
        keys: &[&[
            key(
                "aliyun_cfg",
                Kind::Either(&[Kind::Text, Kind::Table(&ALIYUN)]),
                "settings of the jobs, or the file that holds them",
            )
            .takes("path or table")
            .default("`~/.aliyun.cfg`"),
            key("preemptible", Kind::Boolean, "whether jobs of higher priority may take the place of these")
                .default("`false`"),
            ignored("eval_with_gpu", Kind::Anything, "a key of OpenCompass's"),
            ignored("keep_tmp_file", Kind::Anything, "a key of OpenCompass's"),
            ignored("lark_bot_url", Kind::Anything, "a key of OpenCompass's"),
        ]],
    },
    TypeKeys {
        name: "command",
        meaning: "a line of shell for each worker",
        keys: &[&[
            key(
                "template",
                Kind::Text,
                "the line; `{task_cmd}`, `{task_word}`, `{num_gpus}`, `{name}`, `{{` for a brace",
            )
            .required(),
            key("pipe", Kind::Boolean, "the line passes standard input on, and its worker ends when the master does")
                .default("`true`"),
        ]],
    },
    TypeKeys { name: "none", meaning: "nothing is launched; workers are started by hand", keys: &[] },
];

const RETRY: u32 = 2;
const UNSCHEDULABLE_TIMEOUT: Duration = Duration::from_secs(600);
const MAX_WORKERS_PER_GPU: u32 = 1;
/// Engines report their progress every second; the wire counts milliseconds in 32 bits.
const ENGINE_TIMEOUTS: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(30 * 86_400));

/// Reads the runner in `node`, flags over keys over defaults.
pub(crate) fn read(check: &mut Check, node: Option<&Node>, flags: &Overrides) -> RunnerConfig {
    let mut config = RunnerConfig {
        kind: RunnerKind::Local,
        max_num_workers: None,
        max_workers_per_gpu: MAX_WORKERS_PER_GPU,
        max_gpus: 0,
        retry: RETRY,
        launch_retry: None,
        unschedulable_timeout: UNSCHEDULABLE_TIMEOUT,
        engine_timeout: ENGINE_TIMEOUT,
    };
    // What a flag replaces need not be served.
    let unselected = check.unselected;
    check.unselected |= flags.slurm.asked || flags.dlc.asked;
    let known = node.and_then(|node| tagged(check, node));
    check.unselected = unselected;
    // Of a kind that is not known only the numbers that every kind has can be checked.
    let of_any_kind = node.and_then(Node::table).zip(node).filter(|_| known.is_none());
    if let Some((table, node)) = of_any_kind {
        let mut fields = Fields::new(table, node.span, &RUNNER);
        for key in ["max_num_workers", "max_workers_per_gpu", "max_gpus", "retry"] {
            fields.u32(check, key);
        }
        unschedulable_timeout(check, &mut fields);
        engine_timeout(check, &mut fields);
    }
    if let Some((tag, mut fields)) = known {
        config.kind = match tag.unwrap_or(LauncherName::Local) {
            // With `--slurm` it does not matter how jobs of DLC would be made.
            LauncherName::Dlc if flags.slurm.asked => {
                fields.of_type(RUNNERS.name_of(&LauncherName::Dlc));
                fields.get("aliyun_cfg");
                fields.get("preemptible");
                RunnerKind::Local
            }
            tag => kind(check, tag, &mut fields, flags.dlc.aliyun_cfg.as_deref()),
        };
        config.max_num_workers = fields.u32(check, "max_num_workers");
        config.max_workers_per_gpu = fields.u32(check, "max_workers_per_gpu").unwrap_or(config.max_workers_per_gpu);
        config.max_gpus = fields.u32(check, "max_gpus").unwrap_or(config.max_gpus);
        config.launch_retry = fields.u32(check, "retry");
        config.retry = config.launch_retry.unwrap_or(config.retry);
        config.unschedulable_timeout =
            unschedulable_timeout(check, &mut fields).unwrap_or(config.unschedulable_timeout);
        config.engine_timeout = engine_timeout(check, &mut fields).unwrap_or(config.engine_timeout);
        if let Some(node) = fields.get("task") {
            task(check, node);
        }
        fields.finish(check);
    }
    over(check, &mut config, flags);
    config
}

/// Reads how long tasks wait for a worker that can load their model.
fn unschedulable_timeout(check: &mut Check, fields: &mut Fields<'_>) -> Option<Duration> {
    timeout(check, fields, "unschedulable_timeout", Duration::ZERO..=Duration::MAX, DURATION_HELP)
}

/// Reads how long an engine may compute nothing.
fn engine_timeout(check: &mut Check, fields: &mut Fields<'_>) -> Option<Duration> {
    let (least, most) = ENGINE_TIMEOUTS;
    let help = format!("{DURATION_HELP}; from {}s to {}d", least.as_secs(), most.as_secs() / 86_400);
    timeout(check, fields, "engine_timeout", least..=most, &help)
}

fn timeout(
    check: &mut Check,
    fields: &mut Fields<'_>,
    key: &'static str,
    allowed: RangeInclusive<Duration>,
    help: &str,
) -> Option<Duration> {
    let node = fields.get(key)?;
    let written = text(check, key, node)?;
    let time = parse_duration(written).filter(|time| allowed.contains(time));
    if time.is_none() {
        let message = format!("`{key}` cannot be `{written}`");
        check.error(node.span, message, Some(help.into()));
    }
    time
}

/// Reads the keys that belong to one launcher; `aliyun_cfg` is the file of the flag.
pub(crate) fn kind(
    check: &mut Check,
    tag: LauncherName,
    fields: &mut Fields<'_>,
    aliyun_cfg: Option<&Path>,
) -> RunnerKind {
    fields.of_type(RUNNERS.name_of(&tag));
    match tag {
        LauncherName::Local => RunnerKind::Local,
        LauncherName::None => RunnerKind::None,
        LauncherName::Slurm => RunnerKind::Slurm(slurm::read(check, fields)),
        LauncherName::Dlc => RunnerKind::Dlc(Box::new(dlc::read(check, fields, aliyun_cfg))),
        LauncherName::Command => RunnerKind::Command(command::read(check, fields)),
    }
}

/// The launcher of a pool: by name, or a table with `type` and its settings.
pub(crate) fn launcher(check: &mut Check, node: &Node) -> Option<RunnerKind> {
    let (tag, mut fields) = RUNNERS.tagged(check, "launcher", node, &LAUNCHER)?;
    let read = kind(check, tag, &mut fields, None);
    fields.finish(check);
    Some(read)
}

/// Puts what the command line says over the file.
fn over(check: &mut Check, config: &mut RunnerConfig, flags: &Overrides) {
    config.max_num_workers = flags.max_num_workers.or(config.max_num_workers);
    config.max_workers_per_gpu = flags.max_workers_per_gpu.unwrap_or(config.max_workers_per_gpu);
    config.max_gpus = flags.max_gpus.unwrap_or(config.max_gpus);
    config.retry = flags.retry.unwrap_or(config.retry);
    config.launch_retry = flags.retry.or(config.launch_retry);
    if flags.slurm.asked && !matches!(config.kind, RunnerKind::Slurm(_)) {
        config.kind = RunnerKind::Slurm(Default::default());
    }
    if flags.dlc.asked && !matches!(config.kind, RunnerKind::Dlc(_)) {
        config.kind = RunnerKind::Dlc(Box::new(dlc::flagged(check, flags.dlc.aliyun_cfg.as_deref())));
    }
    if let RunnerKind::Slurm(slurm) = &mut config.kind {
        slurm::flags(slurm, &flags.slurm);
    }
}

/// As [`Choices::tagged`], with `type` left out (`None`) meaning `local`: `[infer.runner]` often sets only a number.
fn tagged<'t>(check: &mut Check, node: &'t Node) -> Option<(Option<LauncherName>, Fields<'t>)> {
    match &node.value {
        Value::Table(table) if table.get("type").is_none() => {
            let mut fields = Fields::new(table, node.span, &RUNNER);
            fields.get("type");
            Some((None, fields))
        }
        _ => RUNNERS.tagged(check, "runner", node, &RUNNER).map(|(tag, fields)| (Some(tag), fields)),
    }
}

/// OpenCompass names the class of its tasks here; there is nothing to choose, so the usual ones are let pass.
fn task(check: &mut Check, node: &Node) {
    let named = match &node.value {
        Value::Table(table) => match table.get("type") {
            Some(tag) => tag,
            None => {
                return check.unneeded(
                    node.span,
                    "`task`",
                    "`task` is ignored".into(),
                    "the master makes its own tasks",
                );
            }
        },
        _ => node,
    };
    let Some(name) = text(check, "task", named) else { return };
    match name.rsplit('.').next() {
        Some("OpenICLInferTask" | "OpenICLEvalTask") => {
            let message = format!("task `{name}` is ignored");
            check.unneeded(named.span, "`task` of a runner", message, "the master makes its own tasks");
        }
        _ => {
            let help = "remove it: the master makes its own tasks";
            check.not_yet(named.span, &format!("task `{name}`"), help);
        }
    }
}
