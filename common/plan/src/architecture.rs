//! What is said of an architecture that no family has.

use std::collections::BTreeSet;

/// Models whose state of a prefix is not a row of keys and values per token, by a part of the names of their architecture or
/// `model_type`, without signs and in lowercase.
const RECURRENT: [&str; 22] = [
    "bamba",
    "falconh1",
    "granitemoehybrid",
    "griffin",
    "hymba",
    "jamba",
    "kimilinear",
    "lfm2",
    "mamba",
    "minimaxfor",
    "minimaxm1",
    "minimaxtext",
    "nemotronh",
    "phi4flash",
    "plamo2",
    "qwen3next",
    "qwen35",
    "recurrentgemma",
    "retnet",
    "rwkv",
    "xlstm",
    "zamba",
];

/// What most names of architectures end in.
const USUAL: &str = "ForCausalLM";

/// Returns the refusal of `named`, the architecture or `model_type` of config.json, where `known` are supported.
pub(super) fn refusal<'a>(named: Option<&str>, known: impl Iterator<Item = &'a str>) -> String {
    let known: BTreeSet<&str> = known.collect();
    let Some(named) = named else {
        return format!("it names no architecture; supported are {}", listed(&known));
    };
    let plain: String =
        named.chars().filter(char::is_ascii_alphanumeric).map(|sign| sign.to_ascii_lowercase()).collect();
    if RECURRENT.iter().any(|part| plain.contains(part)) {
        return format!(
            "architecture {named} is not supported: its layers carry a recurrent state from token to token, and Compass evaluates \
             only models that attend to keys and values of every token; help: use a transformer, such as of the families Llama, \
             Qwen3 or Gemma 3"
        );
    }
    format!("architecture {named} is not supported; supported are {}", listed(&known))
}

/// Lists the names in order: first those with the usual ending, without it.
fn listed(known: &BTreeSet<&str>) -> String {
    let mut short: Vec<&str> = known.iter().filter_map(|name| name.strip_suffix(USUAL)).collect();
    short.sort_unstable();
    let others: Vec<&str> = known.iter().copied().filter(|name| !name.ends_with(USUAL)).collect();
    format!("{} (each with {USUAL}), and {}", short.join(", "), others.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recurrent_models_are_refused_by_name() {
        for name in [
            "MambaForCausalLM",
            "Mamba2ForCausalLM",
            "FalconMambaForCausalLM",
            "JambaForCausalLM",
            "RecurrentGemmaForCausalLM",
            "Qwen3NextForCausalLM",
            "ZambaForCausalLM",
            "Zamba2ForCausalLM",
            "BambaForCausalLM",
            "RwkvForCausalLM",
            "RWKV7ForCausalLM",
            "FalconH1ForCausalLM",
            "NemotronHForCausalLM",
            "GraniteMoeHybridForCausalLM",
            "Lfm2ForCausalLM",
            "MiniMaxText01ForCausalLM",
            "xLSTMForCausalLM",
            "qwen3_next",
            "falcon_h1",
            "nemotron_h",
        ] {
            let message = refusal(Some(name), ["LlamaForCausalLM"].into_iter());
            assert!(message.contains(name) && message.contains("recurrent state"), "{message}");
            assert_eq!(message.lines().count(), 1);
        }
    }

    #[test]
    fn unknown_models_are_refused_with_a_list_in_order() {
        let known =
            ["Qwen3ForCausalLM", "LlamaForCausalLM", "GPT2LMHeadModel", "Gemma2ForCausalLM", "GemmaForCausalLM"];
        let list = "Gemma, Gemma2, Llama, Qwen3 (each with ForCausalLM), and GPT2LMHeadModel";
        assert_eq!(
            refusal(Some("FuturaForCausalLM"), known.into_iter()),
            format!("architecture FuturaForCausalLM is not supported; supported are {list}")
        );
        assert_eq!(refusal(None, known.into_iter()), format!("it names no architecture; supported are {list}"));
    }
}
