//! Parameters and results of operations: forms, rules and choices.

use tch::Tensor;

/// Form in which the learnt weight of a root-mean-square norm is applied to rows that are computed in f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RmsForm {
    /// After the cast back to the model's kind (Llama).
    #[default]
    AfterCast,
    /// Before the cast (OLMo 2).
    BeforeCast,
    /// Before the cast, one more than the stored weight (Gemma).
    FromOne,
}

/// Rule from scores to attention weights.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScoreRule {
    /// Factor of the products of queries and keys; `head_dim ^ -0.5` if absent.
    pub(crate) scale: Option<f64>,
    /// Number of keys that a query sees, itself included; all before it if absent.
    pub(crate) window: Option<i64>,
    /// `cap tanh(score / cap)`.
    pub(crate) softcap: Option<f64>,
}

impl ScoreRule {
    /// Factor of the products of queries and keys of this width.
    pub(crate) fn scale_for(&self, head_dim: i64) -> f64 {
        self.scale.unwrap_or((head_dim as f64).powf(-0.5))
    }

    /// Returns whether attention over parts of the keys can be merged: a window would begin within a part, and no fused
    /// kernel has a soft cap.
    pub(crate) fn can_be_merged(&self) -> bool {
        self.window.is_none() && self.softcap.is_none()
    }
}

/// From scores to shares.
pub(crate) enum RoutingRule {
    /// A softmax over all experts, of those chosen scaled to sum to one if `normalise` (Mixtral, Qwen). Shares are rounded to the
    /// model's kind, in which outputs are added.
    Softmax { normalise: bool },
    /// A softmax over all experts, times `scale` (DeepSeek-V2). The gate and all that follows it is in f32.
    ScaledSoftmax { groups: Option<Groups>, scale: f64 },
    /// Sigmoids, times `scale`, of the experts that are best after a learnt correction, `[experts]` (DeepSeek-V3). The gate and
    /// all that follows it is in f32.
    Sigmoid { correction: Tensor, groups: Option<Groups>, normalise: bool, scale: f64 },
}

/// Groups of experts of equal size: a row's experts are of its best groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    pub(crate) count: i64,
    pub(crate) chosen: i64,
}

/// The experts of each row, `[rows, top_k]`, and their shares.
pub(crate) struct Routes {
    pub(crate) experts: Tensor,
    /// In the kind in which outputs are added.
    pub(crate) shares: Tensor,
}
