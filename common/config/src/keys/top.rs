//! The top level of a file.

use super::key::Kind::{Path, Table, Tables, Texts};
use super::key::{TableKeys, key};

pub(crate) static TOP: TableKeys = TableKeys {
    name: "top",
    title: "the configuration",
    keys: &[
        key("include", Texts, "files below this one, in the order named: this file overrides")
            .takes("array of paths")
            .default("none"),
        key("work_dir", Path, "where run folders are made (`-w`)").default("`outputs/default` below the current directory"),
        key(
            "data_dir",
            Path,
            "where relative data paths are looked up that do not exist beside their file (`--data-dir`, `COMPASS_DATA_CACHE`)",
        )
        .default("none; presets then look in `data` below the current directory"),
        key(
            "models",
            Texts,
            "models of this job: an `abbr`, or the name of a model that comes with the program (`compass-master models`)",
        )
        .takes("array of names")
        .default("every `[[model]]` defined"),
        key("datasets", Texts, "data sets of this job: an `abbr`, or a preset (`compass-master datasets`)")
            .takes("array of names")
            .default("every `[[dataset]]` defined"),
        key("import", Table(&super::IMPORT), "what configurations in Python need").default("none"),
        key("master", Table(&super::MASTER), "addresses, store, admission of workers"),
        key("model", Tables(&super::MODEL), "one model each"),
        key("dataset", Tables(&super::DATASET), "one data set each"),
        key("infer", Table(&super::INFER), "partitioner and runner of the stage that runs models"),
        key("eval", Table(&super::EVAL), "partitioner and runner of the stage that runs programs"),
        key("pool", Tables(&super::POOL), "places where inference workers are launched, in place of the runner")
            .default("none"),
        key("notify", Table(&super::NOTIFY), "whom the job tells that it has ended, failed, or waits").default("none"),
        key("summarizer", Table(&super::SUMMARIZER), "rows of the table in their order, and OpenCompass's groups by name")
            .default("every data set, and the groups whose data sets are all in the job"),
        key("combination", Tables(&super::COMBINATION), "which models run which data sets")
            .default("every model runs every data set"),
        key("summary_group", Tables(&super::SUMMARY_GROUP), "data sets that the table also shows as one").default("none"),
    ],
    types: &[],
};
