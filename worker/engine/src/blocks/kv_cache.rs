//! Keys and values of the tokens seen so far, in room reserved once for the known length.

use tch::{Device, Kind, TchError, Tensor};

/// The cache of one sequence.
pub(crate) struct KvCache {
    /// The tokens themselves, for models that must at some length compute them anew.
    tokens: Vec<u32>,
    restarted: bool,
    layers: Vec<LayerCache>,
}

/// Keys and values of one layer, `[1, kv_heads, capacity, head_dim]` each.
pub(crate) struct LayerCache {
    keys: Tensor,
    values: Tensor,
    length: i64,
}

impl KvCache {
    /// Room for `capacity` tokens in each of `layers` layers.
    pub(crate) fn new(
        layers: usize,
        kv_heads: i64,
        capacity: i64,
        head_dim: i64,
        options: (Kind, Device),
    ) -> Result<Self, TchError> {
        let room = || Tensor::f_zeros([1, kv_heads, capacity, head_dim], options);
        let layer = || Ok(LayerCache { keys: room()?, values: room()?, length: 0 });
        Ok(Self {
            tokens: Vec::new(),
            restarted: false,
            layers: (0..layers).map(|_| layer()).collect::<Result<_, TchError>>()?,
        })
    }

    /// Notes tokens whose keys and values are about to be appended.
    pub(crate) fn note(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
    }

    /// Forgets keys and values, and returns the tokens that they were of.
    pub(crate) fn restart(&mut self) -> Vec<u32> {
        for layer in &mut self.layers {
            layer.length = 0;
        }
        self.restarted = true;
        std::mem::take(&mut self.tokens)
    }

    /// Forgets everything after the first `length` tokens, to go on from there another way. Returns whether that is
    /// possible: keys that were computed anew for a longer text are not those of the shorter one.
    pub(crate) fn rewind(&mut self, length: usize) -> bool {
        if self.restarted || length > self.tokens.len() {
            return false;
        }
        self.tokens.truncate(length);
        for layer in &mut self.layers {
            layer.length = layer.length.min(length as i64);
        }
        true
    }

    /// The layers in order.
    pub(crate) fn layers_mut(&mut self) -> impl Iterator<Item = &mut LayerCache> {
        self.layers.iter_mut()
    }
}

impl LayerCache {
    /// Whether nothing was appended yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Appends rows, `[1, kv_heads, rows, head_dim]`, and returns everything held, as views.
    pub(crate) fn append(&mut self, keys: &Tensor, values: &Tensor) -> Result<(Tensor, Tensor), TchError> {
        let (_, _, rows, _) = keys.size4()?;
        self.keys.f_narrow(2, self.length, rows)?.f_copy_(keys)?;
        self.values.f_narrow(2, self.length, rows)?.f_copy_(values)?;
        self.length += rows;
        Ok((self.keys.f_narrow(2, 0, self.length)?, self.values.f_narrow(2, 0, self.length)?))
    }
}
