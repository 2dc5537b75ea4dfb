//! Defaults of transformers' tokenizer classes in addition to the files (transformers 4.57).

use super::settings::TokenizerSettings;

/// Classes that differ here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Llama, CodeLlama, and the default for SentencePiece files without a class.
    Llama,
    Gemma,
    Cohere,
    GptNeoX,
    Gpt2,
    Qwen2,
    T5,
    /// Remote code of models whose tokenizers start every text with BOS: InternLM, Baichuan, and related ones.
    Remote,
    /// `PreTrainedTokenizerFast` and all others: the files decide.
    Files,
}

impl Class {
    /// Returns the class of a `tokenizer_class` without `Fast`.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "LlamaTokenizer" | "CodeLlamaTokenizer" => Self::Llama,
            "GemmaTokenizer" => Self::Gemma,
            "CohereTokenizer" => Self::Cohere,
            "GPTNeoXTokenizer" => Self::GptNeoX,
            "GPT2Tokenizer" => Self::Gpt2,
            "Qwen2Tokenizer" => Self::Qwen2,
            "T5Tokenizer" => Self::T5,
            _ if name.contains("InternLM") || name.contains("Baichuan") || name.contains("Yi") => Self::Remote,
            _ => Self::Files,
        }
    }

    /// Returns the class that `AutoTokenizer` uses for a `model_type` of config.json if no file names one.
    pub(super) fn of_model_type(name: &str) -> Self {
        match name {
            "llama" | "mistral" | "mixtral" | "code_llama" | "deepseek_v2" | "deepseek_v3" => Self::Llama,
            "gemma" | "gemma2" | "gemma3" | "gemma3_text" => Self::Gemma,
            "cohere" | "cohere2" => Self::Cohere,
            "gpt_neox" => Self::GptNeoX,
            "gpt2" | "opt" => Self::Gpt2,
            "qwen2" | "qwen2_moe" | "qwen3" | "qwen3_moe" => Self::Qwen2,
            "t5" | "mt5" => Self::T5,
            "internlm" | "internlm2" | "internlm3" | "baichuan" => Self::Remote,
            _ => Self::Files,
        }
    }

    /// The tokens that the class names where the files name none.
    fn roles(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Llama | Self::Remote => &[("bos_token", "<s>"), ("eos_token", "</s>"), ("unk_token", "<unk>")],
            Self::Gemma => {
                &[("bos_token", "<bos>"), ("eos_token", "<eos>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")]
            }
            Self::Cohere => &[("bos_token", "<BOS_TOKEN>"), ("eos_token", "<|END_OF_TURN_TOKEN|>")],
            Self::Gpt2 | Self::GptNeoX => {
                &[("bos_token", "<|endoftext|>"), ("eos_token", "<|endoftext|>"), ("unk_token", "<|endoftext|>")]
            }
            Self::Qwen2 => {
                &[("eos_token", "<|endoftext|>"), ("unk_token", "<|endoftext|>"), ("pad_token", "<|endoftext|>")]
            }
            Self::T5 => &[("eos_token", "</s>"), ("unk_token", "<unk>"), ("pad_token", "<pad>")],
            Self::Files => &[],
        }
    }

    /// Sets the class's own tokens in the settings.
    pub(super) fn name_tokens(self, settings: &mut TokenizerSettings) {
        for (role, content) in self.roles() {
            settings.default_role(role, content);
        }
    }

    /// As [`Self::name_tokens`], but only for a class that a file names: beside tokenizer.json, a guessed one sets
    /// nothing.
    pub(super) fn name_tokens_of(self, named: Option<Self>, settings: &mut TokenizerSettings) {
        if named == Some(self) {
            self.name_tokens(settings);
        }
    }

    /// Returns whether BOS and EOS are put around a text; `None` if the class leaves that to the files.
    ///
    /// Classes with an answer replace the post-processor of tokenizer.json (`update_post_processor`).
    pub(super) fn frame(self, settings: &TokenizerSettings) -> Option<(bool, bool)> {
        let (bos, eos) = match self {
            Self::Llama | Self::Gemma | Self::Cohere | Self::Remote => (true, false),
            Self::GptNeoX => (false, false),
            Self::T5 => return Some((false, true)),
            Self::Gpt2 | Self::Qwen2 | Self::Files => return None,
        };
        Some((settings.add_bos_token.unwrap_or(bos), settings.add_eos_token.unwrap_or(eos)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_frame_texts() {
        let mut settings = TokenizerSettings::default();
        assert_eq!(Class::of("LlamaTokenizer").frame(&settings), Some((true, false)));
        assert_eq!(Class::of("PreTrainedTokenizer").frame(&settings), None);
        assert_eq!(Class::of("InternLM2Tokenizer"), Class::Remote);
        (settings.add_bos_token, settings.add_eos_token) = (Some(false), Some(true));
        assert_eq!(Class::of("GemmaTokenizer").frame(&settings), Some((false, true)));
        Class::Qwen2.name_tokens(&mut settings);
        assert_eq!((settings.text("eos_token"), settings.text("bos_token")), (Some("<|endoftext|>"), None));
    }
}
