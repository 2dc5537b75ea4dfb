//! Architectures of config.json that are served, and the message for others: said by the master when it plans, and by an engine
//! when it loads a model.

use compass_pyfmt::without_python_words;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The architectures, each with its `model_type`.
pub const ARCHITECTURES: [(&str, &str); 22] = [
    ("LlamaForCausalLM", "llama"),
    ("MistralForCausalLM", "mistral"),
    ("Qwen2ForCausalLM", "qwen2"),
    ("Qwen3ForCausalLM", "qwen3"),
    ("InternLM2ForCausalLM", "internlm2"),
    ("InternLM3ForCausalLM", "internlm3"),
    ("GemmaForCausalLM", "gemma"),
    ("Gemma2ForCausalLM", "gemma2"),
    ("Gemma3ForCausalLM", "gemma3_text"),
    ("Gemma3ForConditionalGeneration", "gemma3"),
    ("GlmForCausalLM", "glm"),
    ("Glm4ForCausalLM", "glm4"),
    ("Olmo2ForCausalLM", "olmo2"),
    ("DeepseekV2ForCausalLM", "deepseek_v2"),
    ("DeepseekV3ForCausalLM", "deepseek_v3"),
    ("Phi3ForCausalLM", "phi3"),
    ("GPT2LMHeadModel", "gpt2"),
    ("GPTNeoXForCausalLM", "gpt_neox"),
    ("OPTForCausalLM", "opt"),
    ("MixtralForCausalLM", "mixtral"),
    ("Qwen2MoeForCausalLM", "qwen2_moe"),
    ("Qwen3MoeForCausalLM", "qwen3_moe"),
];

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

/// Ending of most names of architectures.
const USUAL: &str = "ForCausalLM";

/// Returns the first of the architectures that is served; without any architecture, or with only a headless one such as
/// `LlamaModel`, the one of `model_type`, as transformers' `AutoModelForCausalLM` does.
///
/// # Errors
/// Returns what was asked for and what is supported, in words.
pub fn supported(architectures: &[String], model_type: Option<&str>) -> Result<&'static str, String> {
    let by_name = |name: &String| ARCHITECTURES.iter().find(|(known, _)| known == name);
    let found = architectures.iter().find_map(by_name).or_else(|| {
        let is_headless = architectures.iter().all(|name| name.ends_with("Model"));
        ARCHITECTURES.iter().find(|(_, known)| is_headless && Some(*known) == model_type)
    });
    let named = architectures.first().map(String::as_str).or(model_type);
    found.map(|(name, _)| *name).ok_or_else(|| refusal(named))
}

/// Returns why no engine loads the model whose config.json this is; `None` where one does, and where the file names nothing.
pub fn unsupported(config: &Map<String, Value>) -> Option<String> {
    let model_type = config.get("model_type").and_then(Value::as_str);
    let names = config.get("architectures").and_then(Value::as_array).into_iter().flatten();
    let architectures: Vec<String> = names.filter_map(Value::as_str).map(str::to_owned).collect();
    let is_named = model_type.is_some() || !architectures.is_empty();
    is_named.then(|| supported(&architectures, model_type).err()).flatten()
}

/// The content of config.json. Python's words for floats that JSON lacks are read: `Infinity` as the greatest float, `NaN` as null.
///
/// # Errors
/// It is not JSON.
pub fn read_config(bytes: &[u8]) -> serde_json::Result<Value> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serde_json::from_str(&without_python_words(text)),
        Err(_) => serde_json::from_slice(bytes),
    }
}

/// Returns the refusal of `named`, the architecture or `model_type` of config.json.
fn refusal(named: Option<&str>) -> String {
    let known: BTreeSet<&str> = ARCHITECTURES.iter().map(|(name, _)| *name).collect();
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
    use serde_json::json;

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
            let message = refusal(Some(name));
            assert!(message.contains(name) && message.contains("recurrent state"), "{message}");
            assert_eq!(message.lines().count(), 1);
        }
    }

    #[test]
    fn architecture_takes_precedence_over_type() {
        let of = |keys: Value| unsupported(keys.as_object().unwrap());
        for keys in [
            json!({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen2"}),
            json!({"architectures": ["GPT2Model"], "model_type": "gpt2"}),
            json!({"architectures": ["Gemma3Model"], "model_type": "gemma3"}),
            json!({"model_type": "opt"}),
            json!({"vocab_size": 3}),
        ] {
            assert_eq!(of(keys), None);
        }
        for (keys, said) in [
            (json!({"architectures": ["FuturaForCausalLM"], "model_type": "llama"}), "FuturaForCausalLM"),
            (json!({"model_type": "x"}), "x"),
        ] {
            let message = of(keys).unwrap();
            let start = format!("architecture {said} is not supported; supported are DeepseekV2, DeepseekV3, ");
            assert!(message.starts_with(&start), "{message}");
            assert!(message.ends_with("and GPT2LMHeadModel, Gemma3ForConditionalGeneration"), "{message}");
        }
        assert!(supported(&[], None).unwrap_err().starts_with("it names no architecture; supported are DeepseekV2, "));
    }

    #[test]
    fn words_of_python_in_a_configuration() {
        let config = read_config(br#"{"a": NaN, "b": [0.0, Infinity, -Infinity], "c": "NaN"}"#).unwrap();
        assert_eq!(config, json!({"a": null, "b": [0.0, f64::MAX, f64::MIN], "c": "NaN"}));
        assert!(read_config(b"{").is_err() && read_config(b"\"\xff\"").is_err());
    }
}
