//! Keys and values of a sequence, in memory reserved once for a known length.
//!
//! A cache is a stack: a position keeps its content until it is overwritten, and a segment sees the positions before
//! it. So one cache serves a whole trie of sequences that is walked depth-first; going back means writing at an earlier
//! position.

use tch::{Device, Kind, TchError, Tensor};

/// The cache of one sequence.
pub(crate) struct KvCache {
    /// The tokens, for models that must recompute them all at some length.
    tokens: Vec<u32>,
    /// Whether keys were rotated for a long sequence, for models where this differs.
    long: bool,
    layers: Vec<LayerCache>,
    capacity: usize,
}

/// Keys and values of one layer, `[1, kv_heads, capacity, head_dim]` each.
pub(crate) struct LayerCache {
    keys: Tensor,
    values: Tensor,
}

impl KvCache {
    /// Creates a cache for `capacity` tokens in each of `layers` layers.
    pub(crate) fn new(
        layers: usize,
        kv_heads: i64,
        capacity: usize,
        head_dim: i64,
        options: (Kind, Device),
    ) -> Result<Self, TchError> {
        Self::spread(&vec![options.1; layers], kv_heads, capacity, head_dim, options.0)
    }

    /// Creates a cache with each layer on its own device.
    pub(crate) fn spread(
        devices: &[Device],
        kv_heads: i64,
        capacity: usize,
        head_dim: i64,
        kind: Kind,
    ) -> Result<Self, TchError> {
        // Nothing is read before it was written, and untouched memory is not allocated.
        let room = |device| Tensor::f_empty([1, kv_heads, capacity as i64, head_dim], (kind, device));
        let layer = |&device: &Device| Ok(LayerCache { keys: room(device)?, values: room(device)? });
        let layers = devices.iter().map(layer).collect::<Result<_, TchError>>()?;
        Ok(Self { tokens: Vec::new(), long: false, layers, capacity })
    }

    /// Maximum number of tokens.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let of = |tensor: &Tensor| tensor.numel() * tensor.kind().elt_size_in_bytes();
        self.layers.iter().map(|layer| of(&layer.keys) + of(&layer.values)).sum()
    }

    /// Returns the cached tokens, from the first position on.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Whether the cached keys are those of a long sequence, see [`super::RotaryEmbedding::is_long`].
    pub(crate) fn is_long(&self) -> bool {
        self.long
    }

    /// Notes tokens whose keys and values are about to be written at `position`; the positions after it become invalid.
    pub(crate) fn note(&mut self, position: usize, tokens: &[u32], long: bool) {
        self.tokens.truncate(position);
        self.tokens.extend_from_slice(tokens);
        self.long = long;
    }

    /// Copies the first `length` tokens of another cache of the same model.
    pub(crate) fn fork_from(&mut self, other: &Self, length: usize) -> Result<(), TchError> {
        for (to, from) in self.layers.iter_mut().zip(&other.layers) {
            for (to, from) in [(&mut to.keys, &from.keys), (&mut to.values, &from.values)] {
                to.f_narrow(2, 0, length as i64)?.f_copy_(&from.f_narrow(2, 0, length as i64)?)?;
            }
        }
        self.tokens.clear();
        self.tokens.extend(other.tokens.iter().take(length));
        self.long = other.long;
        Ok(())
    }

    /// Returns one layer.
    pub(crate) fn layer(&mut self, number: usize) -> &mut LayerCache {
        &mut self.layers[number]
    }
}

impl LayerCache {
    /// Writes rows, `[1, kv_heads, rows, head_dim]`, at `position`, and returns views of everything up to their end.
    pub(crate) fn write(
        &mut self,
        position: i64,
        keys: &Tensor,
        values: &Tensor,
    ) -> Result<(Tensor, Tensor), TchError> {
        let (_, _, rows, _) = keys.size4()?;
        self.keys.f_narrow(2, position, rows)?.f_copy_(keys)?;
        self.values.f_narrow(2, position, rows)?.f_copy_(values)?;
        Ok((self.keys.f_narrow(2, 0, position + rows)?, self.values.f_narrow(2, 0, position + rows)?))
    }
}
