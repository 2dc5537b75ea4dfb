//! Tests of the configuration from files on disk to what a person reads.

mod aliyun;
mod chat_auto;
mod command_line;
mod convert;
mod evaluator_fit;
mod example;
mod fixture;
mod jinja;
mod keys;
mod layers;
mod left_out;
mod missing_files;
mod model_files;
mod not_yet;
mod opencompass;
mod pools;
mod positions;
mod preset_twice;
mod presets;
mod programs;
mod rendered;
mod rounds;
mod splits;
mod summary_groups;
mod values;
