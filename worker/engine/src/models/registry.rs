//! Finds the family that a config.json asks for.

use super::pipeline::Pipeline;
use super::{
    Decoder, Placement, deepseek_v2, deepseek_v3, gemma, gemma2, gemma3, glm, gpt_neox, gpt2, internlm, internlm2,
    internlm3, llama, meta_llama, mistral, mixtral, olmo2, opt, phi3, qwen2, qwen2_moe, qwen3, qwen3_moe,
};
use crate::config::ModelConfig;
use crate::fault::device_fault;
use crate::kernels::Cuda;
use crate::weights::Weights;
use compass_plan::engine::EngineFault;
use compass_plan::{ModelKind, architecture};
use tch::{Device, Kind};

/// A family with its name in config.json; its `model_type` is in [`architecture::ARCHITECTURES`].
pub(crate) struct Family {
    architecture: &'static str,
    load: fn(&ModelConfig, &mut Weights, Placement) -> Result<Decoder, EngineFault>,
}

const FAMILIES: &[Family] = &[
    Family { architecture: "LlamaForCausalLM", load: llama::load },
    Family { architecture: "MistralForCausalLM", load: mistral::load },
    Family { architecture: "Qwen2ForCausalLM", load: qwen2::load },
    Family { architecture: "Qwen3ForCausalLM", load: qwen3::load },
    Family { architecture: "InternLM2ForCausalLM", load: internlm2::load },
    Family { architecture: "InternLM3ForCausalLM", load: internlm3::load },
    Family { architecture: "GemmaForCausalLM", load: gemma::load },
    Family { architecture: "Gemma2ForCausalLM", load: gemma2::load },
    Family { architecture: "Gemma3ForCausalLM", load: gemma3::load },
    Family { architecture: "Gemma3ForConditionalGeneration", load: gemma3::load_text },
    Family { architecture: "GlmForCausalLM", load: glm::load },
    Family { architecture: "Glm4ForCausalLM", load: glm::load_4 },
    Family { architecture: "Olmo2ForCausalLM", load: olmo2::load },
    Family { architecture: "DeepseekV2ForCausalLM", load: deepseek_v2::load },
    Family { architecture: "DeepseekV3ForCausalLM", load: deepseek_v3::load },
    Family { architecture: "Phi3ForCausalLM", load: phi3::load },
    Family { architecture: "GPT2LMHeadModel", load: gpt2::load },
    Family { architecture: "GPTNeoXForCausalLM", load: gpt_neox::load },
    Family { architecture: "OPTForCausalLM", load: opt::load },
    Family { architecture: "MixtralForCausalLM", load: mixtral::load },
    Family { architecture: "Qwen2MoeForCausalLM", load: qwen2_moe::load },
    Family { architecture: "Qwen3MoeForCausalLM", load: qwen3_moe::load },
];

/// Families of other layouts than Hugging Face's: one each.
const META_LLAMA: &Family = &Family { architecture: "Llama", load: meta_llama::load };
const INTERNLM: &Family = &Family { architecture: "InternLM", load: internlm::load };

impl Family {
    /// Returns the family of a model in this layout.
    ///
    /// # Errors
    /// As [`Family::of`].
    pub(crate) fn of_layout(layout: ModelKind, config: &ModelConfig) -> Result<&'static Self, EngineFault> {
        match layout {
            ModelKind::Hf | ModelKind::Endpoint | ModelKind::Echo | ModelKind::Sandbox => Self::of(config),
            ModelKind::Llama => Ok(META_LLAMA),
            ModelKind::InternLm => Ok(INTERNLM),
        }
    }

    /// Returns the family of the architecture that config.json asks for: see [`architecture::supported`].
    ///
    /// # Errors
    /// [`EngineFault::Model`] with the requested and the supported names.
    pub(crate) fn of(config: &ModelConfig) -> Result<&'static Self, EngineFault> {
        let found = architecture::supported(&config.architectures, config.model_type.as_deref());
        let found = found.and_then(|name| {
            let family = FAMILIES.iter().find(|family| family.architecture == name);
            family.ok_or_else(|| format!("architecture {name} has no family"))
        });
        found.map_err(|why| config.fault(why))
    }

    /// Loads a model, and checks that `weights` has no other tensors. `notes` receives ignored settings, `remarks` the facts that
    /// are read in another way than by some peers.
    ///
    /// # Errors
    /// [`EngineFault::Model`] if weights and configuration do not match, [`EngineFault::Device`] if they cannot be
    /// moved to their device.
    pub(crate) fn load(
        &self,
        config: &ModelConfig,
        mut weights: Weights,
        to: Placement,
        notes: &mut Vec<String>,
        remarks: &mut Vec<String>,
    ) -> Result<Decoder, EngineFault> {
        let decoder = (self.load)(config, &mut weights, to)?;
        notes.append(&mut weights.notes);
        remarks.append(&mut weights.remarks);
        let mut layer_devices = weights.layer_devices();
        // A checkpoint may have layers that the model does not use.
        layer_devices.truncate(decoder.layers.len());
        let pipeline = Pipeline::new(to.stages, decoder.layers.len(), &layer_devices);
        let mut decoder = Decoder { layer_devices, pipeline, _files: weights.finish()?, ..decoder };
        // On the CPU weights are views of files, which a copy would double, and operations begin at no cost.
        if to.device != Device::Cpu {
            decoder.join().map_err(|error| device_fault(&error))?;
        }
        if to.device.is_cuda() && to.kind != Kind::Float {
            match Cuda::new((decoder.kv_heads, decoder.head_dim), to.kind, to.device) {
                Ok(cuda) => {
                    notes.extend(
                        cuda.note()
                            .map(|why| format!("libtorch's operations are used between products, slower, and with other last bits than where \
                                             they are not: {why}")),
                    );
                    decoder.kernels = Box::new(cuda);
                }
                Err(why) => notes.push(format!(
                    "attention is computed in single operations, slowly, and with other last bits than where it is \
                                           not: {why}"
                )),
            }
        }
        Ok(decoder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_architecture_that_is_planned_has_its_family() {
        let families = FAMILIES.iter().map(|family| family.architecture);
        assert!(families.eq(architecture::ARCHITECTURES.iter().map(|(name, _)| *name)));
        let config = ModelConfig::from_json("config.json".into(), json!({"model_type": "opt"})).unwrap();
        assert_eq!(Family::of(&config).unwrap().architecture, "OPTForCausalLM");
        let config = ModelConfig::from_json("config.json".into(), json!({})).unwrap();
        let message = Family::of(&config).map(|family| family.architecture).unwrap_err().to_string();
        assert!(message.contains("config.json: it names no architecture"), "{message}");
    }
}
