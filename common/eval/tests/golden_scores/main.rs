//! Evaluators and documents against what the peers themselves wrote: OpenCompass's and lm-eval's golden results.

#[cfg(test)]
mod golden;
#[cfg(test)]
mod lm_eval;
#[cfg(test)]
mod opencompass_gen;
#[cfg(test)]
mod opencompass_ll;
#[cfg(test)]
mod opencompass_ppl;
