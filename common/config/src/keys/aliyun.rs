//! `aliyun_cfg`: OpenCompass's keys, and three of Compass's.

use super::key::Kind::{self, Anything, Boolean, Either, MapOf, Path, Text, Texts, Whole};
use super::key::{TableKeys, ignored, key};

pub(crate) static ALIYUN: TableKeys = TableKeys {
    name: "aliyun_cfg",
    title: "`aliyun_cfg`",
    keys: &[
        key("workspace_id", Text, "of the jobs").required(),
        key("worker_image", Text, "of the jobs").required(),
        key("resource_id", Text, "quota").default("the workspace's own"),
        key("data_sources", Either(&[Text, Texts]), "data sets of the workspace that the jobs mount")
            .takes("array of ids, or one text with commas")
            .default("none"),
        key("bashrc_path", Text, "file that prepares the job's shell, beside `conda_env_name`").default("none"),
        key("conda_env_name", Text, "environment that the shell activates, beside `bashrc_path`").default("none"),
        key("python_env_path", Text, "environment whose `bin` comes first, without a `bashrc_path`")
            .default("the image's own"),
        key("dlc_config_path", Path, "what `dlc config` wrote, on this host").default("`dlc`'s own"),
        key("dlc_job_cmd", Text, "`create` for a `dlc` that knows `create job`")
            .takes("`submit`, `create`")
            .default("`submit`"),
        key("dlc_sleep_time", Kind::from(0), "seconds between two looks at the jobs").default("10"),
        key("priority", Whole(1, 9), "of the jobs, 1 to 9").default("1"),
        key("worker_cpu", Kind::from(1), "at least so many, and 8 for each GPU").default("12"),
        key("worker_memory", Kind::from(1), "at least so many GiB, and 128 for each GPU").default("192"),
        key("huggingface_cache", Text, "variable of the job").default("none"),
        key("torch_cache", Text, "variable of the job").default("none"),
        key("hf_endpoint", Text, "variable of the job").default("none"),
        key("http_proxy", Text, "variable of the job; a proxy with a password is refused").default("none"),
        key("hf_offline", Boolean, "no network for the hub's libraries").default("`true`"),
        key(
            "extra_envs",
            Either(&[Texts, MapOf(&Text)]),
            "variables of the job; `$OTHER` is filled in; secrets are refused",
        )
        .takes("array of `NAME=value`, or a table")
        .default("none"),
        key("env_file", Text, "file of the job to source, for secrets").default("none"),
        key("pre_cmd", Text, "run in the job before everything else").default("none"),
        key("worker_path", Text, "`compass-worker` as the job sees it").default("this host's own"),
        key("token_file", Text, "the join token as the job sees it").default("none"),
        ignored("ali_submit_dlc_path", Anything, "jobs are submitted with `dlc`"),
    ],
    types: &[],
};
