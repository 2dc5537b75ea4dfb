//! OpenCompass's names that no preset answers to yet, with the reason and what to take meanwhile.

/// Names of one kind, the reason why they are not served, and what is served meanwhile.
struct Later {
    names: &'static [&'static str],
    /// Or any name that holds one of these.
    parts: &'static [&'static str],
    why: &'static str,
    meanwhile: &'static str,
}

const LATER: &[Later] = &[
    Later {
        names: &[
            "commonsenseqa_gen",
            "commonsenseqa_gen_c946f2",
            "commonsenseqa_ppl",
            "commonsenseqa_ppl_3e9f2d",
            "commonsenseqa_ppl_5545e2",
            "commonsenseqa_ppl_716f78",
        ],
        parts: &[],
        why: "its shots are chosen by MDLRetriever, with sentence embeddings and the perplexities of GPT-2 XL",
        meanwhile: "with fixed shots there are commonsenseqa_gen_1da2d0 and commonsenseqa_ppl_c49e77, without shots \
                    commonsenseqa_ppl_e51e32",
    },
    Later {
        names: &["SuperGLUE_BoolQ_few_shot_ppl"],
        parts: &[],
        why: "its template has no place for its shots, so that OpenCompass shows none",
        meanwhile: "with shots there is SuperGLUE_BoolQ_few_shot_gen_ba58ea, without them SuperGLUE_BoolQ_ppl",
    },
    Later {
        names: &["GaokaoBench_gen", "GaokaoBench_gen_5cfe9e", "GaokaoBench_mixed", "GaokaoBench_mixed_9af5ee"],
        parts: &[],
        why: "a person has to mark its essays and gaps",
        meanwhile: "use GaokaoBench_no_subjective_gen_4c31db",
    },
    Later {
        names: &["gsm8k_gen_a3e34a", "math_gen_943d32", "gsm8k_gen_57b0b1"],
        parts: &["_agent_"],
        why: "its answers come from an agent with a Python interpreter, or from several passes",
        meanwhile: "use gsm8k_gen, math_gen or mathbench_gen",
    },
    Later {
        names: &["aime2024_llmverify_repeat8_gen_e8fcee", "aime2024_llmverify_repeat16_gen_bf7475"],
        parts: &["aime2024_cascade", "aime2024_llmjudge", "aime2024_0shot_nocot_genericllmeval"],
        why: "another model judges its answers",
        meanwhile: "with answers compared as text there are aime2024_gen_6e39a4 and aime2024_0shot_nocot_gen_5e9f4f",
    },
    Later {
        names: &[],
        parts: &["aime2025_cascade", "aime2025_llmjudge"],
        why: "another model judges its answers",
        meanwhile: "with answers compared as text there is aime2025_gen",
    },
    Later {
        names: &[],
        parts: &["_clean_ppl"],
        why: "it splits its questions by the annotations of a contamination detector",
        meanwhile: "leave `_clean` out of the name",
    },
    Later {
        names: &[],
        parts: &[
            "llm_judge",
            "llmjudge",
            "llmverify",
            "genericllmeval",
            "cascade_eval",
            "xfinder",
            "model_postprocess",
        ],
        why: "another model judges its answers",
        meanwhile: "use the variant without a judge, as `compass-master datasets` lists it",
    },
];

/// Returns, for a name that OpenCompass knows and no preset answers to, the reason and what to take meanwhile.
pub fn preset_later(name: &str) -> Option<(&'static str, &'static str)> {
    let found =
        LATER.iter().find(|later| later.names.contains(&name) || later.parts.iter().any(|part| name.contains(part)))?;
    Some((found.why, found.meanwhile))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_meanwhile_is_served() {
        let known = crate::presets::data_sets::names();
        for later in LATER {
            let words = later.meanwhile.split([' ', ',']).filter(|word| word.contains('_') && !word.starts_with('`'));
            for word in words {
                assert!(known.iter().any(|name| name == word), "{word}");
            }
            for name in later.names {
                assert!(!known.iter().any(|known| known == name), "{name} is served");
            }
        }
        assert!(preset_later("mmlu_llm_judge_gen").is_some() && preset_later("mmlu_gen").is_none());
    }
}
