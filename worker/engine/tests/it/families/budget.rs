//! Work of a pass on a device: as much for many sequences as for one. On a model with the heads of an 8B Llama and
//! narrow widths, whose structure is the same.
//!
//! Work of one layer is the difference between models of three layers and of two.

use compass_engine::{BareModel, DeviceCounts, Traced};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::json;
use std::path::Path;

const VOCABULARY: usize = 300;
const HIDDEN: usize = 64;
const INNER: usize = 96;
const HEADS: usize = 32;
const KV_HEADS: usize = 8;
const HEAD_DIM: usize = 4;
const EXPERTS: usize = 16;

/// The second half of a layer.
#[derive(Clone, Copy)]
enum Mlp {
    /// Llama's.
    Dense,
    /// Qwen2-MoE's: a few of many experts for each row, and one for every row.
    Sparse,
}

impl Mlp {
    fn architecture(self) -> &'static str {
        match self {
            Self::Dense => "LlamaForCausalLM",
            Self::Sparse => "Qwen2MoeForCausalLM",
        }
    }

    fn tensors(self) -> Vec<(String, Vec<usize>)> {
        let gated = |at: &str| {
            let widths = [("gate_proj", [INNER, HIDDEN]), ("up_proj", [INNER, HIDDEN]), ("down_proj", [HIDDEN, INNER])];
            widths.map(|(name, shape)| (format!("{at}.{name}"), shape.to_vec()))
        };
        match self {
            Self::Dense => gated("mlp").into(),
            Self::Sparse => {
                let experts = (0..EXPERTS).flat_map(|number| gated(&format!("mlp.experts.{number}")));
                let gates = [("mlp.gate", vec![EXPERTS, HIDDEN]), ("mlp.shared_expert_gate", vec![1, HIDDEN])];
                let gates = gates.map(|(name, shape)| (name.to_owned(), shape));
                experts.chain(gated("mlp.shared_expert")).chain(gates).collect()
            }
        }
    }
}

fn write(folder: &Path, layers: usize, mlp: Mlp) {
    let config = json!({
        "architectures": [mlp.architecture()], "vocab_size": VOCABULARY, "hidden_size": HIDDEN, "intermediate_size": INNER,
        "num_hidden_layers": layers, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM,
        "rms_norm_eps": 1e-5, "max_position_embeddings": 4096, "rope_theta": 500_000.0, "qkv_bias": false, "num_experts": EXPERTS, "num_experts_per_tok": 2,
        "moe_intermediate_size": INNER, "shared_expert_intermediate_size": INNER, "norm_topk_prob": true
    });
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let mut tensors = vec![
        ("model.embed_tokens".to_owned(), vec![VOCABULARY, HIDDEN]),
        ("lm_head".to_owned(), vec![VOCABULARY, HIDDEN]),
        ("model.norm".to_owned(), vec![HIDDEN]),
    ];
    for layer in 0..layers {
        for (name, shape) in [
            ("self_attn.q_proj", vec![HEADS * HEAD_DIM, HIDDEN]),
            ("self_attn.k_proj", vec![KV_HEADS * HEAD_DIM, HIDDEN]),
            ("self_attn.v_proj", vec![KV_HEADS * HEAD_DIM, HIDDEN]),
            ("self_attn.o_proj", vec![HIDDEN, HEADS * HEAD_DIM]),
            ("input_layernorm", vec![HIDDEN]),
            ("post_attention_layernorm", vec![HIDDEN]),
        ] {
            tensors.push((format!("model.layers.{layer}.{name}"), shape));
        }
        tensors.extend(mlp.tensors().into_iter().map(|(name, shape)| (format!("model.layers.{layer}.{name}"), shape)));
    }
    let mut state = 1u32;
    let mut number = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) as f32 / (1 << 24) as f32 - 0.5) * 0.4
    };
    let data: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
        .into_iter()
        .map(|(name, shape)| {
            let count = shape.iter().product::<usize>();
            let bytes = (0..count).flat_map(|_| number().to_le_bytes()).collect();
            (format!("{name}.weight"), shape, bytes)
        })
        .collect();
    let views =
        data.iter().map(|(name, shape, bytes)| (name, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()));
    safetensors::serialize_to_file(views, None, &folder.join("model.safetensors")).unwrap();
}

/// Returns the work of `run` on a model with this many dense layers.
fn counted(layers: usize, run: impl Fn(&mut BareModel)) -> DeviceCounts {
    counted_of(layers, Mlp::Dense, run)
}

fn counted_of(layers: usize, mlp: Mlp, run: impl Fn(&mut BareModel)) -> DeviceCounts {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), layers, mlp);
    let (mut model, counts) = BareModel::load_counted(folder.path()).unwrap();
    run(&mut model);
    counts.get()
}

fn per_layer(run: impl Fn(&mut BareModel)) -> u64 {
    counted(3, &run).operations - counted(2, &run).operations
}

/// Prompts of one token that have nothing in common, continued by `tokens` tokens: one step each.
fn decode(batch: usize, tokens: usize) -> impl Fn(&mut BareModel) {
    decode_by(batch, tokens, None)
}

/// The same with draws of a seed, if there is one.
fn decode_by(batch: usize, tokens: usize, seed: Option<u64>) -> impl Fn(&mut BareModel) {
    move |model| {
        let asked: Vec<Traced> = (0..batch).map(|sample| asked(sample, vec![sample as u32], &[], tokens)).collect();
        let (traces, _) = model.continue_together(&asked, batch, seed).unwrap();
        assert!(traces.iter().all(|trace| trace.tokens.len() == tokens));
    }
}

fn asked(sample: usize, prompt: Vec<u32>, borders: &[usize], tokens: usize) -> Traced {
    Traced { sample: sample as u32, prompt, borders: borders.to_vec(), tokens }
}

/// The same after a header of a hundred tokens.
fn decode_after_header(batch: usize, tokens: usize) -> impl Fn(&mut BareModel) {
    move |model| {
        let after = |sample: usize| (0..100).chain([sample as u32]).collect();
        let asked: Vec<Traced> = (0..batch).map(|sample| asked(sample, after(sample), &[100], tokens)).collect();
        model.continue_together(&asked, batch, None).unwrap();
    }
}

#[test]
fn decode_step_costs_as_much_for_many_sequences_as_for_one() {
    let of_a_step = |batch| per_layer(decode(batch, 6)) - per_layer(decode(batch, 5));
    let one = of_a_step(1);
    eprintln!("{one} device operations per layer of a decode step");
    assert!(one <= 19 + 3, "{one}");
    for batch in [2, 31, 64, 256] {
        assert_eq!(of_a_step(batch), one, "{batch} sequences");
    }
}

#[test]
fn decode_step_reads_a_header_in_one_call() {
    let of_a_step = |batch| per_layer(decode_after_header(batch, 6)) - per_layer(decode_after_header(batch, 5));
    let one = of_a_step(1);
    eprintln!("{one} device operations per layer of a decode step after a header");
    assert!(one <= 19 + 2 * 3, "{one}");
    for batch in [2, 31, 64, 256] {
        assert_eq!(of_a_step(batch), one, "{batch} sequences");
    }
}

/// To the device a row's id, position, place in the arena and row of the pass, and the number of its draw; to the host its
/// token. Logits stay where they are, whatever rules change in them.
#[test]
fn decode_step_copies_a_few_numbers_of_each_sequence() {
    for (batch, seed) in [(1, None), (64, None), (256, None), (64, Some(7)), (256, Some(7))] {
        let (six, five) = (counted(2, decode_by(batch, 6, seed)), counted(2, decode_by(batch, 5, seed)));
        assert_eq!(six.copies_to_host - five.copies_to_host, 1, "{batch} sequences");
        let to_device = six.copies_to_device - five.copies_to_device;
        let drawn = u64::from(seed.is_some());
        assert!(to_device <= 4 + drawn, "{to_device} copies of ids, positions, places, rows and draws");
        let (bytes, number) = ((six.bytes - five.bytes) as usize, size_of::<i64>());
        let most = batch.max(32) * (4 + drawn as usize + 1) * number;
        assert!(bytes <= most, "{bytes} bytes for {batch} sequences, {most} at most");
    }
}

/// A step may feed a token that the host has not seen: it is given by its row of the pass, and the place where it was chosen.
#[test]
fn decode_step_ahead_of_the_host_costs_no_layer_anything() {
    let ahead = |batch: usize, tokens: usize| {
        move |model: &mut BareModel| {
            let asked: Vec<Traced> = (0..batch).map(|sample| asked(sample, vec![sample as u32], &[], tokens)).collect();
            let (traces, _) = model.continue_ahead(&asked, batch, None).unwrap();
            assert!(traces.iter().all(|trace| trace.tokens.len() == tokens));
        }
    };
    for batch in [1, 64, 256] {
        let of_a_step = per_layer(ahead(batch, 6)) - per_layer(ahead(batch, 5));
        assert_eq!(of_a_step, per_layer(decode(batch, 6)) - per_layer(decode(batch, 5)), "{batch} sequences");
        let (six, five) = (counted(2, ahead(batch, 6)), counted(2, ahead(batch, 5)));
        assert_eq!(six.copies_to_host - five.copies_to_host, 1, "{batch} sequences");
        let to_device = six.copies_to_device - five.copies_to_device;
        assert!(to_device <= 4 + 2, "{to_device} copies");
    }
}

/// A header, 33 questions after it, and two options after each: 100 segments of three depths.
#[test]
fn prefill_of_a_hundred_segments_is_a_call_for_each_depth() {
    let trie = |questions: usize| {
        move |model: &mut BareModel| {
            let tokens: Vec<u32> = (0..VOCABULARY as u32).collect();
            let mut segments: Vec<(usize, &[u32])> = vec![(0, &tokens[..40])];
            for question in 0..questions {
                segments.push((40, &tokens[question..question + 7]));
                segments.push((47, &tokens[question..question + 2]));
                segments.push((47, &tokens[question + 1..question + 4]));
            }
            model.packed(&[&segments]).unwrap();
        }
    };
    let hundred = per_layer(trie(33));
    eprintln!("{hundred} device operations per layer of a pass over 100 segments");
    assert!(hundred <= 40, "{hundred}");
    assert_eq!(per_layer(trie(1)), hundred, "as many as for 4 segments");
}

/// Prompts of one token, each continued by one: a pass of as many rows, which together use all experts.
#[test]
fn experts_cost_as_much_for_many_rows_as_for_few() {
    let of_a_step = |batch| {
        let step = |layers| {
            let (six, five) =
                (counted_of(layers, Mlp::Sparse, decode(batch, 6)), counted_of(layers, Mlp::Sparse, decode(batch, 5)));
            (six.operations - five.operations, six.copies_to_host - five.copies_to_host)
        };
        let (three, two) = (step(3), step(2));
        assert_eq!((two.1, three.1), (1, 1), "{batch} sequences: copies to the host of a step, none of a layer");
        three.0 - two.0
    };
    let one = of_a_step(1);
    eprintln!("{one} device operations per layer with experts of a decode step");
    assert!(one <= 45 + 3, "{one}");
    for batch in [2, 31, 64, 256] {
        assert_eq!(of_a_step(batch), one, "{batch} sequences");
    }
}

#[test]
fn joined_products_are_the_same_model() {
    for mlp in [Mlp::Dense, Mlp::Sparse] {
        joined_products_are_the_same(mlp);
    }
}

fn joined_products_are_the_same(mlp: Mlp) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 2, mlp);
    let (mut joined, _) = BareModel::load_counted(folder.path()).unwrap();
    let mut separate = crate::families::support::load(folder.path(), compass_plan::Dtype::Float32, 1).unwrap();
    let tokens: Vec<u32> = (0..50).map(|token| token * 7 % VOCABULARY as u32).collect();
    let (joined, separate) = (joined.prefill(&tokens).unwrap(), separate.prefill(&tokens).unwrap());
    let largest = separate.iter().fold(0f32, |most, logit| most.max(logit.abs()));
    let off = joined.iter().zip(&separate).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
    assert!(off <= 1e-6 * largest && largest > 0.1, "{off} of {largest}");
}
