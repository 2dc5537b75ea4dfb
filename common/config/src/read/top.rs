//! The top level of a file.

use crate::keys::{Kind, TableKeys, key};
use crate::read::combination::COMBINATION;
use crate::read::datasets::dataset::DATASET;
use crate::read::import::IMPORT;
use crate::read::master::addresses::MASTER;
use crate::read::models::model::MODEL;
use crate::read::notify::NOTIFY;
use crate::read::pool::POOL;
use crate::read::stages::stage::{EVAL, INFER};
use crate::read::summary::group::SUMMARY_GROUP;
use crate::read::summary::summarizer::SUMMARIZER;

pub(crate) static TOP: TableKeys = TableKeys {
    name: "top",
    title: "the configuration",
    keys: &[
        key("include", Kind::Texts, "files below this one, in the order named: this file overrides")
            .takes("array of paths")
            .default("none"),
        key("work_dir", Kind::Path, "where run folders are made (`-w`)").default("`outputs/default` below the current directory"),
        key(
            "data_dir",
            Kind::Path,
            "where relative data paths are looked up that do not exist beside their file (`--data-dir`, `COMPASS_DATA_CACHE`)",
        )
        .default("none; presets then look in `data` below the current directory"),
        key(
            "models",
            Kind::Texts,
            "models of this job: an `abbr`, or the name of a model that comes with the program (`compass-master models`)",
        )
        .takes("array of names")
        .default("every `[[model]]` defined"),
        key("datasets", Kind::Texts, "data sets of this job: an `abbr`, or a preset (`compass-master datasets`)")
            .takes("array of names")
            .default("every `[[dataset]]` defined"),
        key("import", Kind::Table(&IMPORT), "what configurations in Python need").default("none"),
        key("master", Kind::Table(&MASTER), "addresses, store, admission of workers"),
        key("model", Kind::Tables(&MODEL), "one model each"),
        key("dataset", Kind::Tables(&DATASET), "one data set each"),
        key("infer", Kind::Table(&INFER), "partitioner and runner of the stage that runs models"),
        key("eval", Kind::Table(&EVAL), "partitioner and runner of the stage that runs programs"),
        key("pool", Kind::Tables(&POOL), "places where inference workers are launched, in place of the runner")
            .default("none"),
        key("notify", Kind::Table(&NOTIFY), "whom the job tells that it has ended, failed, or waits").default("none"),
        key("summarizer", Kind::Table(&SUMMARIZER), "rows of the table in their order, and OpenCompass's groups by name")
            .default("every data set, and the groups whose data sets are all in the job"),
        key("combination", Kind::Tables(&COMBINATION), "which models run which data sets")
            .default("every model runs every data set"),
        key("summary_group", Kind::Tables(&SUMMARY_GROUP), "data sets that the table also shows as one").default("none"),
    ],
    types: &[],
};
