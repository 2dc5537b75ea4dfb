//! `runner` of a stage, and the launchers that pools name too.

use super::key::Kind::{self, Anything, Boolean, Choice, Duration, Either, Path, Table, Text, Texts};
use super::key::{TableKeys, TypeKeys, ignored, key};
use super::vocabulary::RUNNERS;

pub(crate) static RUNNER: TableKeys = TableKeys {
    name: "runner",
    title: "`runner`",
    keys: &[
        key(
            "type",
            Choice(|| RUNNERS.words()),
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
            Duration,
            "how long a model waits when no connected worker can load it, or a sample when none has room for it; then it fails",
        )
        .default("`\"10m\"`"),
        key(
            "engine_timeout",
            Duration,
            "an engine that computes nothing for so long is ended, and its samples run again in smaller batches",
        )
        .takes("duration, 5s to 30d")
        .default("`\"30m\"`"),
        ignored("task", Anything, "OpenCompass's `OpenICLInferTask` and `OpenICLEvalTask` are accepted"),
    ],
    types: &LAUNCHERS,
};

/// `launcher` of a pool.
pub(crate) static LAUNCHER: TableKeys = TableKeys {
    name: "launcher",
    title: "`launcher`",
    keys: &[key("type", Choice(|| RUNNERS.words()), "")],
    types: &LAUNCHERS,
};

static LAUNCHERS: [TypeKeys; 5] = [
    TypeKeys { name: "local", meaning: "processes on this host", keys: &[] },
    TypeKeys {
        name: "slurm",
        meaning: "jobs of `sbatch`",
        keys: &[&[
            key("partition", Text, "of the jobs").default("the site's own"),
            key("quotatype", Text, "of the jobs, only where the site has it").default("none"),
            key("qos", Text, "of the jobs").default("none"),
            key("extra_command", Either(&[Text, Texts]), "further arguments of `sbatch`")
                .takes("array, or one line")
                .default("none"),
            key("log_dir", Path, "where jobs write their output: a folder that this host and every node reach")
                .default("`logs/` of the run; `compass-master serve`: none is kept"),
        ]],
    },
    TypeKeys {
        name: "dlc",
        meaning: "jobs of Alibaba's `dlc`",
        keys: &[&[
            key(
                "aliyun_cfg",
                Either(&[Text, Table(&super::ALIYUN)]),
                "settings of the jobs, or the file that holds them",
            )
            .takes("path or table")
            .default("`~/.aliyun.cfg`"),
            key("preemptible", Boolean, "whether jobs of higher priority may take the place of these")
                .default("`false`"),
            ignored("eval_with_gpu", Anything, "a key of OpenCompass's"),
            ignored("keep_tmp_file", Anything, "a key of OpenCompass's"),
            ignored("lark_bot_url", Anything, "a key of OpenCompass's"),
        ]],
    },
    TypeKeys {
        name: "command",
        meaning: "a line of shell for each worker",
        keys: &[&[
            key("template", Text, "the line; `{task_cmd}`, `{task_word}`, `{num_gpus}`, `{name}`, `{{` for a brace")
                .required(),
            key("pipe", Boolean, "the line passes standard input on, and its worker ends when the master does")
                .default("`true`"),
        ]],
    },
    TypeKeys { name: "none", meaning: "nothing is launched; workers are started by hand", keys: &[] },
];
