//! Tests of the configuration from files on disk to what a person reads.

mod aliyun;
mod chat_auto;
mod circular;
mod command_line;
mod convert;
mod endpoints;
mod evaluator_fit;
mod example;
mod fixture;
mod jinja;
mod keys;
mod layers;
mod left_out;
mod missing_files;
mod model_classes;
mod model_files;
mod not_yet;
mod opencompass;
mod pools;
mod positions;
mod preset_goldens;
mod preset_twice;
mod presets;
mod programs;
mod remote;
mod rendered;
mod rounds;
mod script_mistakes;
mod splits;
mod summary_groups;
mod tables;
mod thinking;
#[path = "../../tests/it/reference/validate.rs"]
mod validate;
mod values;
mod written;
