//! Prompts against what the peers themselves sent to the model, byte for byte, on the shared data.
//!
//! Without the shared folder (`COMPASS_SHARED`, or `shared` beside the workspace) every test says that it was skipped.

mod lm_eval;
mod lm_eval_jinja;
mod opencompass;
mod opencompass_gen;
mod opencompass_ppl;
mod shared;
mod written;
