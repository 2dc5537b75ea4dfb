//! The engine's Llama, batched and with gradients: only for training.

use tch::nn::{Init, Path, VarStore};
use tch::{Kind, TchError, Tensor};

/// The demo model's shape: 853 000 parameters.
pub(crate) const HIDDEN: i64 = 128;
pub(crate) const INNER: i64 = 384;
pub(crate) const LAYERS: i64 = 4;
pub(crate) const HEADS: i64 = 4;
pub(crate) const KV_HEADS: i64 = 2;
pub(crate) const HEAD_DIM: i64 = HIDDEN / HEADS;
pub(crate) const THETA: f64 = 10_000.0;
pub(crate) const EPS: f64 = 1e-5;

struct Layer {
    input_layernorm: Tensor,
    q_proj: Tensor,
    k_proj: Tensor,
    v_proj: Tensor,
    o_proj: Tensor,
    post_attention_layernorm: Tensor,
    gate_proj: Tensor,
    up_proj: Tensor,
    down_proj: Tensor,
}

/// Trainable weights; their names in the store are the names in a Hugging Face checkpoint.
pub(crate) struct TrainableLlama {
    embed_tokens: Tensor,
    layers: Vec<Layer>,
    norm: Tensor,
    cos: Tensor,
    sin: Tensor,
}

fn weight(path: &Path<'_>, shape: &[i64], stdev: f64) -> Result<Tensor, TchError> {
    path.f_var("weight", shape, Init::Randn { mean: 0.0, stdev })
}

impl TrainableLlama {
    /// Creates random weights for rows of `positions` tokens.
    pub(crate) fn new(store: &VarStore, vocabulary: i64, positions: i64) -> Result<Self, TchError> {
        let root = store.root() / "model";
        let stdev = 0.02;
        // Output layers of the residual stream start smaller the more layers there are (GPT-2).
        let added = stdev / (2.0 * LAYERS as f64).sqrt();
        let layer = |at: i64| {
            let here = &root / "layers" / at;
            let attention = &here / "self_attn";
            let mlp = &here / "mlp";
            Ok(Layer {
                input_layernorm: (&here / "input_layernorm").f_ones("weight", &[HIDDEN])?,
                q_proj: weight(&(&attention / "q_proj"), &[HEADS * HEAD_DIM, HIDDEN], stdev)?,
                k_proj: weight(&(&attention / "k_proj"), &[KV_HEADS * HEAD_DIM, HIDDEN], stdev)?,
                v_proj: weight(&(&attention / "v_proj"), &[KV_HEADS * HEAD_DIM, HIDDEN], stdev)?,
                o_proj: weight(&(&attention / "o_proj"), &[HIDDEN, HEADS * HEAD_DIM], added)?,
                post_attention_layernorm: (&here / "post_attention_layernorm").f_ones("weight", &[HIDDEN])?,
                gate_proj: weight(&(&mlp / "gate_proj"), &[INNER, HIDDEN], stdev)?,
                up_proj: weight(&(&mlp / "up_proj"), &[INNER, HIDDEN], stdev)?,
                down_proj: weight(&(&mlp / "down_proj"), &[HIDDEN, INNER], added)?,
            })
        };
        let options = (Kind::Float, store.device());
        let exponent = Tensor::f_arange_start_step(0, HEAD_DIM, 2, options)?.f_div_scalar(HEAD_DIM)?;
        let frequency = Tensor::f_pow_scalar(THETA, &exponent)?.f_reciprocal()?;
        let angles = Tensor::f_arange(positions, options)?.f_unsqueeze(1)?.f_mul(&frequency)?;
        let angles = Tensor::f_cat(&[&angles, &angles], -1)?;
        Ok(Self {
            embed_tokens: weight(&(&root / "embed_tokens"), &[vocabulary, HIDDEN], stdev)?,
            layers: (0..LAYERS).map(layer).collect::<Result<_, TchError>>()?,
            norm: (&root / "norm").f_ones("weight", &[HIDDEN])?,
            cos: angles.f_cos()?,
            sin: angles.f_sin()?,
        })
    }

    /// Mean cross-entropy in nats of `targets` under `inputs`, both `[batch, positions]` of ids.
    pub(crate) fn loss(&self, inputs: &Tensor, targets: &Tensor) -> Result<Tensor, TchError> {
        let mut x = Tensor::f_embedding(&self.embed_tokens, inputs, -1, false, false)?;
        for layer in &self.layers {
            x = x.f_add(&self.attention(layer, &rms_norm(&x, &layer.input_layernorm)?)?)?;
            let normed = rms_norm(&x, &layer.post_attention_layernorm)?;
            let gated = linear(&normed, &layer.gate_proj)?.f_silu()?.f_mul(&linear(&normed, &layer.up_proj)?)?;
            x = x.f_add(&linear(&gated, &layer.down_proj)?)?;
        }
        let logits = linear(&rms_norm(&x, &self.norm)?, &self.embed_tokens)?;
        let log_probs = logits.f_flatten(0, 1)?.f_log_softmax(-1, Kind::Float)?;
        log_probs.f_nll_loss::<&Tensor>(&targets.f_flatten(0, 1)?, None, tch::Reduction::Mean, -100)
    }

    fn attention(&self, layer: &Layer, x: &Tensor) -> Result<Tensor, TchError> {
        let (batch, rows, _) = x.size3()?;
        let split = |x: Tensor, heads: i64| x.f_view([batch, rows, heads, HEAD_DIM])?.f_transpose(1, 2);
        let widen = |x: Tensor| x.f_repeat_interleave_self_int(HEADS / KV_HEADS, 1, None);
        let queries = self.rotate(&split(linear(x, &layer.q_proj)?, HEADS)?)?;
        let keys = widen(self.rotate(&split(linear(x, &layer.k_proj)?, KV_HEADS)?)?)?;
        let values = widen(split(linear(x, &layer.v_proj)?, KV_HEADS)?)?;
        let mixed = Tensor::f_scaled_dot_product_attention(
            &queries,
            &keys,
            &values,
            None::<&Tensor>,
            0.0,
            true,
            None::<f64>,
            false,
        )?;
        linear(&mixed.f_transpose(1, 2)?.f_reshape([batch, rows, HIDDEN])?, &layer.o_proj)
    }

    fn rotate(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let (_, _, rows, _) = x.size4()?;
        let half = HEAD_DIM / 2;
        let turned = Tensor::f_cat(&[x.f_narrow(3, half, half)?.f_neg()?, x.f_narrow(3, 0, half)?], -1)?;
        x.f_mul(&self.cos.f_narrow(0, 0, rows)?)?.f_add(&turned.f_mul(&self.sin.f_narrow(0, 0, rows)?)?)
    }
}

fn linear(x: &Tensor, weight: &Tensor) -> Result<Tensor, TchError> {
    x.f_linear(weight, None::<&Tensor>)
}

fn rms_norm(x: &Tensor, weight: &Tensor) -> Result<Tensor, TchError> {
    let variance = x.f_pow_tensor_scalar(2)?.f_mean_dim([-1i64].as_slice(), true, None)?;
    x.f_mul(&variance.f_add_scalar(EPS)?.f_rsqrt()?)?.f_mul(weight)
}
