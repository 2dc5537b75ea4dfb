//! Every table of the configuration, in the order in which the reference shows them.

use crate::keys::TableKeys;
use crate::read::combination::COMBINATION;
use crate::read::datasets::dataset::{DATASET, READER_CFG};
use crate::read::datasets::infer_cfg::INFER_CFG;
use crate::read::datasets::inferencer::INFERENCER;
use crate::read::datasets::retriever::RETRIEVER;
use crate::read::decoding::GENERATION_KWARGS;
use crate::read::evaluation::eval_cfg::EVAL_CFG;
use crate::read::evaluation::evaluator::EVALUATOR;
use crate::read::evaluation::filter::PIPELINE;
use crate::read::evaluation::reading::READING;
use crate::read::import::IMPORT;
use crate::read::master::addresses::MASTER;
use crate::read::master::http::HTTP_TLS;
use crate::read::master::store::ETCD;
use crate::read::models::endpoint::{ENDPOINT, ENDPOINT_PRICE};
use crate::read::models::kwargs::{MODEL_KWARGS, TOKENIZER_KWARGS};
use crate::read::models::meta_template::{META_MESSAGE, META_ROLE, META_TEMPLATE};
use crate::read::models::model::{MODEL, RUN_CFG};
use crate::read::models::thinking::{FORCE, MARKS, THINKING};
use crate::read::notify::NOTIFY;
use crate::read::pool::POOL;
use crate::read::splits::circular::CIRCULAR;
use crate::read::splits::columns::COLUMN;
use crate::read::splits::keep::KEEP;
use crate::read::splits::lists::SPAN;
use crate::read::splits::split::SPLIT;
use crate::read::stages::aliyun::ALIYUN;
use crate::read::stages::partitioner::PARTITIONER;
use crate::read::stages::runner::{LAUNCHER, RUNNER};
use crate::read::stages::stage::{EVAL, INFER};
use crate::read::summary::group::SUMMARY_GROUP;
use crate::read::summary::summarizer::SUMMARIZER;
use crate::read::templates::raw_template::{MESSAGE, MESSAGES};
use crate::read::templates::template::{LINE, ROUNDS};
use crate::read::top::TOP;

/// Every table.
pub(crate) static TABLES: [&TableKeys; 47] = [
    &TOP,
    &IMPORT,
    &MASTER,
    &HTTP_TLS,
    &ETCD,
    &MODEL,
    &ENDPOINT,
    &ENDPOINT_PRICE,
    &THINKING,
    &MARKS,
    &FORCE,
    &RUN_CFG,
    &TOKENIZER_KWARGS,
    &MODEL_KWARGS,
    &GENERATION_KWARGS,
    &META_TEMPLATE,
    &META_ROLE,
    &META_MESSAGE,
    &DATASET,
    &READER_CFG,
    &READING,
    &SPLIT,
    &COLUMN,
    &SPAN,
    &KEEP,
    &CIRCULAR,
    &INFER_CFG,
    &ROUNDS,
    &LINE,
    &MESSAGES,
    &MESSAGE,
    &RETRIEVER,
    &INFERENCER,
    &EVAL_CFG,
    &PIPELINE,
    &EVALUATOR,
    &INFER,
    &EVAL,
    &PARTITIONER,
    &RUNNER,
    &LAUNCHER,
    &ALIYUN,
    &POOL,
    &NOTIFY,
    &SUMMARIZER,
    &SUMMARY_GROUP,
    &COMBINATION,
];
