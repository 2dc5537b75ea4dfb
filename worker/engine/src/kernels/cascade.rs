//! Attention over a part of the keys with its log-sum-exp, and the merge of parts, by libtorch's operations.
//!
//! A device's own kernel does a level in one launch; here it is one call of libtorch's for each span. The bits of a row follow
//! from its own path: over shared keys, queries are put into blocks of [`BLOCK`], filled with zeros, so that every product
//! has the same number of rows, however many share these keys; over a segment's own keys its rows alone decide.

use super::{Part, added_rows};
use crate::blocks::{attend, causal_mask, fused, repeated};
use crate::kernels::ScoreRule;
use crate::kv::{LayerKv, Level, Masks, Span};
use crate::reproducible::{alone_if_single, in_whole_vectors};
use tch::{Device, Kind, TchError, Tensor};

/// Number of queries of a block: the least with which the products of a row do not depend on the others.
const BLOCK: i64 = 16;

/// Attends with all rows over the keys of one level.
pub(super) fn attend_level(queries: &Tensor, kv: &LayerKv, level: &Level, rule: &ScoreRule) -> Result<Part, TchError> {
    let (rows, heads, head_dim) = queries.size3()?;
    // Rows without a span see nothing at this level; rows that pad the pass see nothing at all.
    let nothing = if level.causal { 0.0 } else { f64::NEG_INFINITY };
    let unseeing = |count: i64| -> Result<Part, TchError> {
        Ok(Part {
            out: Tensor::f_zeros([count, heads, head_dim], (queries.kind(), queries.device()))?,
            log_sum: Tensor::f_full([count, heads], nothing, (Kind::Float, queries.device()))?,
        })
    };
    let (mut parts, mut at) = (Vec::new(), 0);
    for span in &level.spans {
        if span.first > at {
            parts.push(unseeing(span.first - at)?);
        }
        let own = queries.f_narrow(0, span.first, span.rows)?;
        let (keys, values) = kv.run(span.start, span.used)?;
        parts.push(match level.causal {
            true => last_rows(&own, (&keys, &values), span, &level.masks, rule)?,
            false => shared(&own, (&keys, &values), rule)?,
        });
        at = span.first + span.rows;
    }
    if rows > at {
        parts.push(unseeing(rows - at)?);
    }
    if parts.len() == 1
        && let Some(whole) = parts.pop()
    {
        return Ok(whole);
    }
    let (outs, log_sums): (Vec<Tensor>, Vec<Tensor>) = parts.into_iter().map(|part| (part.out, part.log_sum)).unzip();
    Ok(Part { out: Tensor::f_cat(&outs, 0)?, log_sum: Tensor::f_cat(&log_sums, 0)? })
}

/// `[rows, heads, head_dim]` to `[1, heads, rows, head_dim]`.
pub(super) fn heads_first(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_unsqueeze(0)?.f_transpose(1, 2)
}

/// Keys that the queries see.
enum Visible {
    All,
    UpToItself,
    /// Zeros, and minus infinity for keys that a query cannot see.
    Mask(Tensor),
}

/// Attends with the last rows of `keys`, `[keys, kv_heads, head_dim]`, each over all keys up to its own.
fn last_rows(
    queries: &Tensor,
    (keys, values): (&Tensor, &Tensor),
    span: &Span,
    masks: &Masks,
    rule: &ScoreRule,
) -> Result<Part, TchError> {
    let (rows, heads, head_dim) = queries.size3()?;
    let (length, kv_heads, _) = keys.size3()?;
    let (keys, values) = (heads_first(keys)?, heads_first(values)?);
    let nothing_else = || Tensor::f_zeros([rows, heads], (Kind::Float, queries.device()));
    if rows == 1 {
        // The queries of a group are the rows of one product with their common key.
        let grouped = queries.f_reshape([1, kv_heads, heads / kv_heads, head_dim])?;
        let (out, log_sum) = match span.alone {
            true => {
                let scale = rule.scale_for(head_dim);
                let out = alone_if_single(kv_heads, || fused(&grouped, &keys, &values, None, false, scale))?;
                (out, nothing_else()?)
            }
            false => with_log_sum(&grouped, &keys, &values, &Visible::All, rule)?,
        };
        return Ok(Part { out: out.f_reshape([1, heads, head_dim])?, log_sum: log_sum.f_reshape([1, heads])? });
    }
    let queries = heads_first(queries)?;
    let mask = || masks.get((rows, length), || causal_mask(rows, length, (queries.kind(), queries.device())));
    let rows_first = |x: Tensor| x.f_transpose(1, 2)?.f_squeeze_dim(0);
    if span.alone {
        let mask = if rows == length { None } else { Some(mask()?) };
        let out = attend(&queries, &keys, &values, mask.as_ref(), rule)?;
        return Ok(Part { out: rows_first(out)?, log_sum: nothing_else()? });
    }
    let visible = if rows == length { Visible::UpToItself } else { Visible::Mask(mask()?) };
    let (keys, values) = (repeated(&keys, &queries)?, repeated(&values, &queries)?);
    let (out, log_sum) = with_log_sum(&queries, &keys, &values, &visible, rule)?;
    Ok(Part { out: rows_first(out)?, log_sum: rows_first(log_sum)? })
}

/// Attends with rows of any segments over keys that all of them see, `[keys, kv_heads, head_dim]`.
fn shared(queries: &Tensor, (keys, values): (&Tensor, &Tensor), rule: &ScoreRule) -> Result<Part, TchError> {
    let (rows, heads, head_dim) = queries.size3()?;
    let (_, kv_heads, _) = keys.size3()?;
    let group = heads / kv_heads;
    // Queries of a group share their key, so that they are rows of one product too.
    let by_head = queries.f_view([rows, kv_heads, group, head_dim])?.f_permute([1, 0, 2, 3])?;
    let by_head = by_head.f_reshape([kv_heads, rows * group, head_dim])?;
    // A block of its own would be a copy of the keys where products are batched by libtorch.
    let block =
        if queries.device() == Device::Cpu { BLOCK } else { rows * group + added_rows(rows * group, queries.device()) };
    let blocks = (rows * group + block - 1) / block;
    let filled = by_head.f_constant_pad_nd([0, 0, 0, blocks * block - rows * group])?;
    let in_blocks = filled.f_view([kv_heads, blocks, block, head_dim])?.f_transpose(0, 1)?;
    let for_all = |x: &Tensor| heads_first(x)?.f_expand([blocks, -1, -1, -1], false);
    let (out, log_sum) = with_log_sum(&in_blocks, &for_all(keys)?, &for_all(values)?, &Visible::All, rule)?;
    let out = out.f_transpose(0, 1)?.f_reshape([kv_heads, blocks * block, head_dim])?.f_narrow(1, 0, rows * group)?;
    let out = out.f_reshape([kv_heads, rows, group, head_dim])?.f_permute([1, 0, 2, 3])?;
    let log_sum = log_sum.f_transpose(0, 1)?.f_reshape([kv_heads, blocks * block])?.f_narrow(1, 0, rows * group)?;
    let log_sum = log_sum.f_reshape([kv_heads, rows, group])?.f_permute([1, 0, 2])?;
    Ok(Part { out: out.f_reshape([rows, heads, head_dim])?, log_sum: log_sum.f_reshape([rows, heads])? })
}

/// Attention of `[batch, heads, rows, head_dim]` with its log-sum-exp, `[batch, heads, rows]` in f32.
fn with_log_sum(
    queries: &Tensor,
    keys: &Tensor,
    values: &Tensor,
    visible: &Visible,
    rule: &ScoreRule,
) -> Result<(Tensor, Tensor), TchError> {
    let head_dim = queries.size().last().copied().unwrap_or(1);
    let scale = rule.scale_for(head_dim);
    if queries.device() != Device::Cpu {
        return in_single_operations(queries, keys, values, visible, scale);
    }
    let (causal, mask) = match visible {
        Visible::All => (false, None),
        Visible::UpToItself => (true, None),
        Visible::Mask(mask) => (false, Some(mask)),
    };
    let tasks = queries.size().iter().take(2).product();
    alone_if_single(tasks, || {
        Tensor::f_internal_scaled_dot_product_flash_attention_for_cpu(queries, keys, values, 0.0, causal, mask, scale)
    })
}

/// The same, where libtorch has no fused kernel that returns the log-sum-exp.
fn in_single_operations(
    queries: &Tensor,
    keys: &Tensor,
    values: &Tensor,
    visible: &Visible,
    scale: f64,
) -> Result<(Tensor, Tensor), TchError> {
    let scores = queries.f_matmul(&keys.f_transpose(2, 3)?)?.f_to_kind(Kind::Float)?.f_mul_scalar(scale)?;
    let (rows, length) = (scores.size()[2], scores.size()[3]);
    let scores = match visible {
        Visible::All => scores,
        Visible::UpToItself => scores.f_add(&causal_mask(rows, length, (Kind::Float, queries.device()))?)?,
        Visible::Mask(mask) => scores.f_add(&mask.f_to_kind(Kind::Float)?)?,
    };
    let log_sum = scores.f_logsumexp([-1i64].as_slice(), false)?;
    let weights = scores.f_softmax(-1, Kind::Float)?.f_to_kind(queries.kind())?;
    Ok((weights.f_matmul(values)?, log_sum))
}

/// Merges parts, in order, by their log-sum-exps.
pub(super) fn merge(parts: &[Part]) -> Result<Tensor, TchError> {
    let log_sums: Vec<&Tensor> = parts.iter().map(|part| &part.log_sum).collect();
    let log_sums = Tensor::f_stack(&log_sums, 0)?;
    let most = log_sums.f_amax([0i64].as_slice(), true)?;
    let weights = in_whole_vectors(&log_sums.f_sub(&most)?, Tensor::f_exp)?;
    let (mut out, mut total): (Option<Tensor>, Option<Tensor>) = (None, None);
    for (number, part) in parts.iter().enumerate() {
        let weight = weights.f_select(0, number as i64)?.f_unsqueeze(-1)?;
        let weighted = part.out.f_to_kind(Kind::Float)?.f_mul(&weight)?;
        out = Some(out.map_or(Ok(weighted.shallow_clone()), |out| out.f_add(&weighted))?);
        total = Some(total.map_or(Ok(weight.shallow_clone()), |total| total.f_add(&weight))?);
    }
    match (out, total, parts.first()) {
        (Some(out), Some(total), Some(first)) => out.f_div(&total)?.f_to_kind(first.out.kind()),
        _ => Err(TchError::Torch("no part to merge".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::{Arena, ExtentId, Segment, levels};

    /// A header of 40 keys, two branches of it, and what follows them, in an arena of random numbers.
    fn filled(kind: Kind) -> (Arena, [ExtentId; 4]) {
        let mut arena = Arena::new(&[Device::Cpu], 200, (2, 24), kind).unwrap();
        let extents = [(40, 40), (7, 7), (21, 21), (60, 33)].map(|(room, tokens)| {
            let extent = arena.allocate(room).unwrap();
            arena.note(extent, 0, &vec![0; tokens], false);
            extent
        });
        tch::manual_seed(3);
        for tensor in [&arena.layer(0).keys, &arena.layer(0).values] {
            let random = Tensor::randn(tensor.size(), (Kind::Float, Device::Cpu)).to_kind(kind);
            tensor.shallow_clone().copy_(&random);
        }
        (arena, extents)
    }

    fn segments([header, left, right, own]: [ExtentId; 4]) -> Vec<Segment> {
        let segment = |path: &[ExtentId], own, before, position, rows| Segment {
            path: path.into(),
            own,
            before,
            position,
            rows,
            decodes: false,
        };
        vec![
            segment(&[header], left, 0, 40, 7),
            segment(&[header], right, 0, 40, 21),
            segment(&[header, right], own, 3, 64, 1),
            segment(&[header, right], own, 4, 65, 29),
            Segment::alone(header, 0, 40),
        ]
    }

    fn attended(queries: &Tensor, arena: &Arena, segments: &[Segment]) -> Tensor {
        let rule = ScoreRule::default();
        let parts: Vec<Part> = levels(segments, arena)
            .iter()
            .map(|level| attend_level(queries, arena.layer(0), level, &rule).unwrap())
            .collect();
        merge(&parts).unwrap()
    }

    #[test]
    fn merged_levels_are_attention_over_the_whole_path() {
        let (arena, extents) = filled(Kind::Float);
        let segments = segments(extents);
        let rows: i64 = segments.iter().map(|segment| segment.rows as i64).sum();
        let queries = Tensor::randn([rows, 6, 24], (Kind::Float, Device::Cpu));
        let got = attended(&queries, &arena, &segments);
        for chain in crate::kv::chains(&segments, &arena) {
            let runs = |which: &Tensor| {
                let parts: Vec<Tensor> = chain.runs.iter().map(|&(at, count)| which.narrow(0, at, count)).collect();
                heads_first(&Tensor::cat(&parts, 0)).unwrap()
            };
            let (keys, values) = (runs(&arena.layer(0).keys), runs(&arena.layer(0).values));
            let own = heads_first(&queries.narrow(0, chain.first, chain.rows)).unwrap();
            let whole = attend(&own, &keys, &values, None, &ScoreRule::default()).unwrap();
            let off = (whole.transpose(1, 2).squeeze_dim(0) - got.narrow(0, chain.first, chain.rows)).abs().max();
            assert!(off.double_value(&[]) < 2e-6, "{chain:?}: {off}");
        }
    }

    /// Each segment alone, and all in another order, give the same bits.
    #[test]
    fn rows_are_batch_invariant() {
        assert_eq!(crate::reproducible::make_mkl_reproducible(), None);
        for kind in [Kind::Float, Kind::BFloat16] {
            let (arena, extents) = filled(kind);
            let segments = segments(extents);
            let rows: i64 = segments.iter().map(|segment| segment.rows as i64).sum();
            let queries = Tensor::randn([rows, 6, 24], (Kind::Float, Device::Cpu)).to_kind(kind);
            let together = attended(&queries, &arena, &segments);
            let mut first = 0;
            let ranges: Vec<(i64, i64)> = segments
                .iter()
                .map(|segment| {
                    first += segment.rows as i64;
                    (first - segment.rows as i64, segment.rows as i64)
                })
                .collect();
            let of = |x: &Tensor, which: &[usize]| {
                let parts: Vec<Tensor> = which.iter().map(|&n| x.narrow(0, ranges[n].0, ranges[n].1)).collect();
                Tensor::cat(&parts, 0)
            };
            for which in [&[0usize][..], &[1], &[2], &[3], &[4], &[3, 0, 4, 2], &[2, 3, 1, 0]] {
                let some: Vec<Segment> = which.iter().map(|&number| segments[number].clone()).collect();
                let got = attended(&of(&queries, which), &arena, &some);
                assert!(got.equal(&of(&together, which)), "{kind:?}, segments {which:?}");
            }
        }
    }

    #[test]
    fn single_operations_agree_with_the_fused_kernel() {
        let random = |rows: i64| Tensor::randn([2, 3, rows, 8], (Kind::Float, Device::Cpu));
        let (queries, keys, values) = (random(5), random(5), random(5));
        let mask = causal_mask(5, 5, (Kind::Float, Device::Cpu)).unwrap();
        for visible in [Visible::All, Visible::UpToItself, Visible::Mask(mask)] {
            let (out, log_sum) = with_log_sum(&queries, &keys, &values, &visible, &ScoreRule::default()).unwrap();
            let scale = ScoreRule::default().scale_for(8);
            let (single, single_sum) = in_single_operations(&queries, &keys, &values, &visible, scale).unwrap();
            assert!(out.allclose(&single, 1e-5, 1e-6, false) && log_sum.allclose(&single_sum, 1e-5, 1e-6, false));
        }
    }
}
