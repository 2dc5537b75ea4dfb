//! The shipped presets on real data: prompts byte for byte as OpenCompass 0.5.4 wrote them, and every preset whose data is
//! in the shared folder.
//!
//! Without the shared folder (`COMPASS_SHARED`, or `shared` beside the workspace) every test says that it was skipped.

mod every;
mod golden;
mod layout;
mod lm_eval;
mod same_prompts;
