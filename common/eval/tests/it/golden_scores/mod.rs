//! Evaluators and documents against what the peers themselves wrote: OpenCompass's and lm-eval's golden results.

mod golden;
mod lm_eval;
mod opencompass_gen;
mod opencompass_ll;
mod opencompass_ppl;
