//! Every key of the configuration, table by table, in the order in which the reference shows them.

mod aliyun;
mod combination;
mod dataset;
mod endpoint;
mod evaluation;
mod gate;
mod import;
mod inferencer;
mod key;
mod master;
mod model;
mod notify;
mod pool;
mod retriever;
mod runner;
mod split;
mod stage;
mod summarizer;
mod summary_group;
mod template;
#[cfg(test)]
mod tests;
mod top;
pub(crate) mod vocabulary;

pub(crate) use aliyun::ALIYUN;
pub(crate) use combination::COMBINATION;
pub(crate) use dataset::{DATASET, INFER_CFG, READER_CFG};
pub(crate) use endpoint::{ENDPOINT, ENDPOINT_PRICE};
pub(crate) use evaluation::{EVAL_CFG, EVALUATOR, PIPELINE};
pub(crate) use gate::{GATE, GATE_DEFAULT, GATE_RULE};
pub(crate) use import::IMPORT;
pub(crate) use inferencer::INFERENCER;
pub(crate) use key::{Key, Kind, Standing, TableKeys, TypeKeys};
pub(crate) use master::{ETCD, HTTP_TLS, MASTER};
pub(crate) use model::{
    GENERATION_KWARGS, META_MESSAGE, META_ROLE, META_TEMPLATE, MODEL, MODEL_KWARGS, RUN_CFG, TOKENIZER_KWARGS,
};
pub(crate) use notify::NOTIFY;
pub(crate) use pool::POOL;
pub(crate) use retriever::RETRIEVER;
pub(crate) use runner::{LAUNCHER, RUNNER};
pub(crate) use split::{CIRCULAR, COLUMN, KEEP, SPAN, SPLIT};
pub(crate) use stage::{EVAL, INFER, PARTITIONER};
pub(crate) use summarizer::SUMMARIZER;
pub(crate) use summary_group::SUMMARY_GROUP;
pub(crate) use template::{LINE, MESSAGE, MESSAGES, ROUNDS};
pub(crate) use top::TOP;

/// Every table.
pub(crate) static TABLES: [&TableKeys; 43] = [
    &TOP,
    &IMPORT,
    &MASTER,
    &HTTP_TLS,
    &ETCD,
    &MODEL,
    &ENDPOINT,
    &ENDPOINT_PRICE,
    &RUN_CFG,
    &TOKENIZER_KWARGS,
    &MODEL_KWARGS,
    &GENERATION_KWARGS,
    &META_TEMPLATE,
    &META_ROLE,
    &META_MESSAGE,
    &DATASET,
    &READER_CFG,
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
