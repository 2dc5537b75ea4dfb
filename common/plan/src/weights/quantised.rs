//! The meaning of `quantization_config` of a config.json for weights: eight-bit floats are dequantised when they are loaded,
//! every other format is refused by its name, with the way out.

use serde_json::Value;

/// Weights stored as eight-bit floats, each of which a scale multiplies: that of its block, of its row, or of the whole tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fp8 {
    /// Rows and columns that share a scale; `None` where a row or a tensor has one.
    pub block: Option<(u32, u32)>,
}

/// Formats of compressed-tensors whose tensors are eight-bit floats and their scales.
const FLOATS: [&str; 2] = ["float-quantized", "naive-quantized"];

impl Fp8 {
    /// Reads the value of `quantization_config`.
    ///
    /// # Errors
    /// In one sentence: which format it is that is not supported, and the way out.
    pub fn read(config: &Value) -> Result<Self, String> {
        let method = config.get("quant_method").and_then(Value::as_str).unwrap_or_default();
        match method {
            "fp8" | "fbgemm_fp8" => Ok(Self { block: block(config.get("weight_block_size"))? }),
            "compressed-tensors" => compressed_tensors(config),
            _ => Err(refusal(method)),
        }
    }
}

/// The sides of a block; `None` where there is no such key.
fn block(value: Option<&Value>) -> Result<Option<(u32, u32)>, String> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let side = |at: usize| u32::try_from(value.get(at)?.as_u64()?).ok().filter(|&side| side > 0);
    let sides = value.as_array().filter(|sides| sides.len() == 2).and_then(|_| Some((side(0)?, side(1)?)));
    sides.map(Some).ok_or_else(|| {
        format!("quantization_config has the block {value}, which is not two numbers above 0, such as [128, 128]")
    })
}

/// vLLM's format: groups of layers, each with what its weights are.
fn compressed_tensors(config: &Value) -> Result<Fp8, String> {
    let format = config.get("format").and_then(Value::as_str).unwrap_or("of no name");
    let refused = |what: String| {
        format!(
            "{what} (quantization_config) are not supported, only float-quantized with 8 bits; use the checkpoint that they \
             were made from"
        )
    };
    if !FLOATS.contains(&format) {
        return Err(refused(format!("compressed-tensors weights in the format {format}")));
    }
    let is_sparse =
        |sparsity: &Value| sparsity.get("format").and_then(Value::as_str).is_some_and(|name| name != "dense");
    if config.get("sparsity_config").is_some_and(is_sparse) {
        return Err(refused("sparse weights of compressed-tensors".into()));
    }
    let is_filled = |value: &&Value| value.as_object().is_some_and(|entries| !entries.is_empty());
    if config.get("transform_config").filter(is_filled).is_some() {
        return Err(refused("transformed weights of compressed-tensors".into()));
    }
    let mut blocks = Vec::new();
    for group in config.get("config_groups").and_then(Value::as_object).into_iter().flat_map(|groups| groups.values()) {
        let Some(weights) = group.get("weights").filter(|weights| !weights.is_null()) else { continue };
        let (bits, kind) =
            (weights.get("num_bits").and_then(Value::as_u64), weights.get("type").and_then(Value::as_str));
        if (bits, kind) != (Some(8), Some("float")) {
            let bits = bits.map_or_else(|| "?".into(), |bits| bits.to_string());
            return Err(refused(format!("compressed-tensors weights of {bits} bits ({})", kind.unwrap_or("?"))));
        }
        match weights.get("strategy").and_then(Value::as_str).unwrap_or_default() {
            "tensor" | "channel" => blocks.push(None),
            "block" => blocks.push(block(weights.get("block_structure"))?),
            other => return Err(refused(format!("compressed-tensors weights with scales by {other}"))),
        }
    }
    let first = blocks.first().copied().flatten();
    if blocks.iter().any(|block| *block != first) {
        return Err(refused("compressed-tensors weights whose groups have blocks of several sizes".into()));
    }
    Ok(Fp8 { block: first })
}

/// Returns the refusal of a checkpoint whose numbers are packed otherwise, by the name of the method.
fn refusal(method: &str) -> String {
    let (name, way_out) = match method {
        "gptq" => ("GPTQ", ""),
        "awq" => ("AWQ", ""),
        "bitsandbytes" => ("bitsandbytes", ", or save what `dequantize()` of transformers makes of it"),
        "mxfp4" => ("MXFP4", ", or save what transformers makes of it with `Mxfp4Config(dequantize=True)`"),
        "" => ("quantised", ""),
        other => (other, ""),
    };
    format!(
        "{name} weights (quantization_config) are not supported; use the checkpoint that they were made from{way_out}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn eight_bit_floats_in_every_way_that_they_are_written() {
        let groups = |weights: Value| {
            json!({"quant_method": "compressed-tensors", "format": "float-quantized",
                   "config_groups": {"group_0": {"weights": weights, "input_activations": null}}})
        };
        for (config, block) in [
            (json!({"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 64]}), Some((128, 64))),
            (json!({"quant_method": "fp8", "activation_scheme": "static"}), None),
            (json!({"quant_method": "fp8", "weight_block_size": null}), None),
            (json!({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0}), None),
            (groups(json!({"num_bits": 8, "type": "float", "strategy": "tensor"})), None),
            (groups(json!({"num_bits": 8, "type": "float", "strategy": "channel"})), None),
            (
                groups(json!({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]})),
                Some((128, 128)),
            ),
        ] {
            assert_eq!(Fp8::read(&config), Ok(Fp8 { block }), "{config}");
        }
    }

    #[test]
    fn other_formats_are_refused_by_name_with_the_way_out() {
        let groups = |weights: Value| {
            json!({"quant_method": "compressed-tensors", "format": "float-quantized",
                   "config_groups": {"group_0": {"weights": weights}}})
        };
        for (config, said) in [
            (json!({"bits": 4}), "quantised weights (quantization_config) are not supported; use the checkpoint that"),
            (json!({"quant_method": "gptq", "bits": 4}), "GPTQ weights (quantization_config)"),
            (json!({"quant_method": "awq"}), "AWQ weights"),
            (json!({"quant_method": "bitsandbytes"}), "bitsandbytes weights"),
            (json!({"quant_method": "bitsandbytes"}), "or save what `dequantize()` of transformers makes of it"),
            (json!({"quant_method": "hqq"}), "hqq weights"),
            (json!({"quant_method": "mxfp4"}), "MXFP4 weights"),
            (
                json!({"quant_method": "compressed-tensors", "format": "pack-quantized"}),
                "compressed-tensors weights in the format pack-quantized (quantization_config) are not supported, only \
                 float-quantized with 8 bits; use the checkpoint",
            ),
            (groups(json!({"num_bits": 8, "type": "int", "strategy": "channel"})), "weights of 8 bits (int)"),
            (groups(json!({"num_bits": 8, "type": "float", "strategy": "group"})), "with scales by group"),
            (
                json!({"quant_method": "fp8", "weight_block_size": [0, 128]}),
                "the block [0,128], which is not two numbers",
            ),
            (json!({"quant_method": "fp8", "weight_block_size": 128}), "the block 128, which is not two numbers"),
        ] {
            let message = Fp8::read(&config).unwrap_err();
            assert!(message.contains(said), "{config}: {message}");
        }
    }
}
