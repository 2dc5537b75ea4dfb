//! The kernels on the devices that a model uses: fused.cu, of which fused.ptx is made.

use super::driver::{Argument, MOST_PARTS, Module, PartsArgument};
use crate::kernels::{Part, RmsForm, Rotation, Warp};
use crate::kv::LayerKv;
use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;
use tch::{Device, Kind, TchError, Tensor};

/// Code that the driver compiles.
const PTX: &str = concat!(include_str!("fused.ptx"), "\0");

const KERNELS: [&CStr; 7] =
    [c"rms_norm", c"silu_gate", c"rotate_halves", c"write_kv", c"merge_parts", c"token_scores", c"draw_tokens"];
const RMS_NORM: usize = 0;
const SILU_GATE: usize = 1;
const ROTATE_HALVES: usize = 2;
const WRITE_KV: usize = 3;
const MERGE_PARTS: usize = 4;
const TOKEN_SCORES: usize = 5;
const DRAW_TOKENS: usize = 6;

/// Numbers that a thread reads at once.
const EIGHT: i64 = 8;

/// Threads of a block that computes a part of a row.
const THREADS: i64 = 256;

/// Most threads of a block.
const MOST_THREADS: i64 = 1024;

/// Largest vocabulary of which tokens are drawn: the sum of its weights is a whole number of 64 bits.
const MOST_DRAWN: i64 = 1 << 20;

type Loaded = Rc<Module<{ KERNELS.len() }>>;

/// The kernels, on each device that a model uses. An operation returns `None` for tensors that it has no kernel for.
pub(crate) struct Fused {
    /// By GPU; `None` where they could not be loaded, which is not tried again.
    modules: RefCell<Vec<(usize, Option<Loaded>)>>,
}

impl Fused {
    /// Loads the kernels on the GPU of this number.
    ///
    /// # Errors
    /// Why they cannot be loaded, for the user.
    pub(super) fn loaded(ordinal: usize) -> Result<Self, String> {
        let fused = Self { modules: RefCell::new(Vec::new()) };
        fused.load(ordinal)?;
        Ok(fused)
    }

    fn load(&self, ordinal: usize) -> Result<Loaded, String> {
        let ptx = CStr::from_bytes_with_nul(PTX.as_bytes()).map_err(|error| error.to_string())?;
        let module = Rc::new(Module::load(ordinal, ptx, KERNELS)?);
        self.modules.borrow_mut().push((ordinal, Some(Rc::clone(&module))));
        Ok(module)
    }

    /// Returns the kernels for a tensor of bfloat16 on a GPU.
    fn of(&self, tensor: &Tensor) -> Option<Loaded> {
        if tensor.kind() == Kind::BFloat16 { self.on(tensor.device()) } else { None }
    }

    /// Returns the kernels on a GPU.
    fn on(&self, device: Device) -> Option<Loaded> {
        let Device::Cuda(ordinal) = device else { return None };
        let known = self.modules.borrow().iter().find(|(device, _)| *device == ordinal).map(|(_, one)| one.clone());
        known.unwrap_or_else(|| {
            let loaded = self.load(ordinal);
            if let Err(why) = &loaded {
                tracing::warn!(
                    gpu = ordinal,
                    why,
                    "libtorch's operations are used between products on this GPU, slower"
                );
                self.modules.borrow_mut().push((ordinal, None));
            }
            loaded.ok()
        })
    }

    /// Adds `added` to rows, `[..., width]`, and norms the sums; returns both. Without `added` the first is empty.
    pub(crate) fn rms_norm(
        &self,
        x: &Tensor,
        added: Option<&Tensor>,
        weight: &Tensor,
        (eps, form): (f64, RmsForm),
    ) -> Result<Option<(Option<Tensor>, Tensor)>, TchError> {
        let width = weight.size1()?;
        let Some(module) = self.of(x).filter(|_| width > 0 && width % EIGHT == 0) else { return Ok(None) };
        let fits = |tensor: &Tensor| is_whole(tensor) && tensor.size() == x.size();
        if !fits(x) || added.is_some_and(|added| !fits(added)) || weight.kind() != Kind::BFloat16 || !is_whole(weight) {
            return Ok(None);
        }
        let rows = x.numel() as i64 / width;
        if rows == 0 {
            return Ok(None);
        }
        let out = x.f_empty_like()?;
        let sum = added.map(|_| x.f_empty_like()).transpose()?;
        let threads = ((width / EIGHT + 31) / 32 * 32).min(MOST_THREADS);
        let optional = |tensor: Option<&Tensor>| tensor.map_or(Argument::Pointer(std::ptr::null_mut()), pointer);
        let arguments = [
            pointer(x),
            optional(added),
            optional(sum.as_ref()),
            pointer(&out),
            pointer(weight),
            Argument::Float(eps as f32),
            int(width),
            Argument::Int(match form {
                RmsForm::AfterCast => 0,
                RmsForm::BeforeCast => 1,
                RmsForm::FromOne => 2,
            }),
        ];
        // SAFETY: these are the kernel's arguments; every tensor is whole, on the device, and `[rows, width]`.
        unsafe { module.launch(RMS_NORM, (rows as u32, 1), threads as u32, arguments)? };
        Ok(Some((sum, out)))
    }

    /// `silu(gate) * up`, each `[rows, width]` with whole rows.
    pub(crate) fn silu_gate(&self, gate: &Tensor, up: &Tensor) -> Result<Option<Tensor>, TchError> {
        let (rows, width) = gate.size2()?;
        let Some(module) = self.of(gate).filter(|_| rows > 0 && width > 0 && width % EIGHT == 0) else {
            return Ok(None);
        };
        let (Some(gate_stride), Some(up_stride)) = (row_stride(gate, width), row_stride(up, width)) else {
            return Ok(None);
        };
        if up.size() != gate.size() || up.kind() != gate.kind() {
            return Ok(None);
        }
        let out = Tensor::f_empty([rows, width], (gate.kind(), gate.device()))?;
        let arguments = [
            pointer(gate),
            Argument::Long(gate_stride),
            pointer(up),
            Argument::Long(up_stride),
            pointer(&out),
            int(width),
        ];
        // SAFETY: these are the kernel's arguments; the rows of all tensors are whole, on the device, and this wide.
        unsafe { module.launch(SILU_GATE, grid(rows, width / EIGHT), THREADS as u32, arguments)? };
        Ok(Some(out))
    }

    /// Rotates heads, `[rows, heads, head_dim]`, whose halves turn together.
    pub(crate) fn rotate(&self, x: &Tensor, rotation: &Rotation) -> Result<Option<Tensor>, TchError> {
        let Some((cos, sin)) = rotation.of_halves() else { return Ok(None) };
        let (rows, heads, dim) = x.size3()?;
        let Some(module) = self.of(x).filter(|_| rows > 0 && dim % (2 * EIGHT) == 0) else { return Ok(None) };
        let Some(stride) = row_stride(x, heads * dim).filter(|_| has_whole_heads(x)) else { return Ok(None) };
        let fits = |table: &Tensor| table.kind() == Kind::BFloat16 && is_whole(table) && table.size() == [rows, dim];
        if !fits(cos) || !fits(sin) {
            return Ok(None);
        }
        let out = Tensor::f_empty([rows, heads, dim], (x.kind(), x.device()))?;
        let arguments =
            [pointer(x), Argument::Long(stride), pointer(cos), pointer(sin), pointer(&out), int(heads), int(dim)];
        // SAFETY: these are the kernel's arguments; heads are whole, rows of heads and of tables are on the device.
        unsafe { module.launch(ROTATE_HALVES, grid(rows, heads * dim / 2 / EIGHT), THREADS as u32, arguments)? };
        Ok(Some(out))
    }

    /// Writes keys and values, `[rows, kv_heads, head_dim]`, to rows of a layer; `None` if it was not done.
    pub(crate) fn write(
        &self,
        kv: &LayerKv,
        keys: &Tensor,
        values: &Tensor,
        places: &Tensor,
    ) -> Result<Option<()>, TchError> {
        let (rows, heads, dim) = keys.size3()?;
        let width = heads * dim;
        let Some(module) = self.of(keys).filter(|_| rows > 0 && width % EIGHT == 0) else { return Ok(None) };
        let strides = (row_stride(keys, width), row_stride(values, width));
        let (Some(key_stride), Some(value_stride)) = strides else { return Ok(None) };
        let fits = |to: &Tensor| to.size().get(1..) == Some(&[heads, dim]) && is_whole(to) && to.kind() == keys.kind();
        let fit = values.size() == keys.size() && values.kind() == keys.kind() && places.size() == [rows];
        if !fit || !fits(&kv.keys) || !fits(&kv.values) || !has_whole_heads(keys) || !has_whole_heads(values) {
            return Ok(None);
        }
        let arguments = [
            pointer(keys),
            Argument::Long(key_stride),
            pointer(values),
            Argument::Long(value_stride),
            pointer(places),
            pointer(&kv.keys),
            pointer(&kv.values),
            int(width),
        ];
        // SAFETY: these are the kernel's arguments; places are rows of the arena, which is on the device as the rows are.
        unsafe { module.launch(WRITE_KV, grid(rows, width / EIGHT), THREADS as u32, arguments)? };
        Ok(Some(()))
    }

    /// Merges parts of attention.
    pub(crate) fn merge(&self, parts: &[Part]) -> Result<Option<Tensor>, TchError> {
        let Some(first) = parts.first().filter(|_| parts.len() <= MOST_PARTS) else { return Ok(None) };
        let (rows, heads, dim) = first.out.size3()?;
        let Some(module) = self.of(&first.out).filter(|_| rows > 0 && dim % EIGHT == 0) else { return Ok(None) };
        let null = std::ptr::null_mut();
        let mut argument = PartsArgument {
            out: [null; MOST_PARTS],
            log_sum: [null; MOST_PARTS],
            row_stride: [0; MOST_PARTS],
            head_stride: [0; MOST_PARTS],
        };
        for (number, part) in parts.iter().enumerate() {
            let fits =
                part.out.size() == [rows, heads, dim] && is_whole(&part.out) && part.out.kind() == Kind::BFloat16;
            if !fits || part.log_sum.size() != [rows, heads] || part.log_sum.kind() != Kind::Float {
                return Ok(None);
            }
            argument.out[number] = part.out.data_ptr();
            argument.log_sum[number] = part.log_sum.data_ptr();
            let strides = part.log_sum.stride();
            (argument.row_stride[number], argument.head_stride[number]) = (strides[0], strides[1]);
        }
        let out = first.out.f_empty_like()?;
        let arguments =
            [Argument::Parts(Box::new(argument)), int(parts.len() as i64), pointer(&out), int(heads), int(dim)];
        // SAFETY: these are the kernel's arguments; the parts are whole, on the device, and of one shape.
        unsafe { module.launch(MERGE_PARTS, grid(rows, heads * dim / EIGHT), THREADS as u32, arguments)? };
        Ok(Some(out))
    }

    /// Returns log-probabilities of tokens under rows of logits, `[rows, vocabulary]`: for row n, of the `ids` from
    /// `first[n]` to `first[n + 1]`; then the token of each row's largest logit. All in f32.
    pub(crate) fn token_scores(
        &self,
        logits: &Tensor,
        (ids, first): (&Tensor, &Tensor),
    ) -> Result<Option<Tensor>, TchError> {
        let (rows, vocabulary) = logits.size2()?;
        let Some(module) = self.of(logits).filter(|_| rows > 0 && is_whole(logits)) else { return Ok(None) };
        let count = ids.size1()?;
        let out = Tensor::f_empty([count + rows], (Kind::Float, logits.device()))?;
        let best = out.f_narrow(0, count, rows)?;
        let arguments = [pointer(logits), int(vocabulary), pointer(ids), pointer(first), pointer(&out), pointer(&best)];
        // SAFETY: these are the kernel's arguments; the logits are whole and on the device, ids are below the vocabulary.
        unsafe { module.launch(TOKEN_SCORES, (rows as u32, 1), MOST_THREADS as u32, arguments)? };
        Ok(Some(out))
    }

    /// Draws a token for each row of logits, `[rows, vocabulary]` in f32, by its number of `uniforms`, `[rows]` in f64, as
    /// [`super::super::draw::draw`]: `[rows]`.
    pub(crate) fn draw(&self, logits: &Tensor, warp: Warp, uniforms: &Tensor) -> Result<Option<Tensor>, TchError> {
        let (rows, vocabulary) = logits.size2()?;
        let fits = logits.kind() == Kind::Float && is_whole(logits) && rows > 0 && vocabulary <= MOST_DRAWN;
        let fits = fits && uniforms.kind() == Kind::Double && uniforms.is_contiguous() && uniforms.size() == [rows];
        let Some(module) = self.on(logits.device()).filter(|_| fits) else { return Ok(None) };
        let drawn = Tensor::f_empty([rows], (Kind::Int64, logits.device()))?;
        let arguments = [
            pointer(logits),
            int(vocabulary),
            Argument::Float(warp.temperature),
            int(i64::try_from(warp.top_k).unwrap_or(0)),
            Argument::Double(warp.top_p),
            pointer(uniforms),
            pointer(&drawn),
        ];
        // SAFETY: these are the kernel's arguments; the logits are whole and on the device, with a number for each row.
        unsafe { module.launch(DRAW_TOKENS, (rows as u32, 1), MOST_THREADS as u32, arguments)? };
        Ok(Some(drawn))
    }
}

fn pointer(tensor: &Tensor) -> Argument {
    Argument::Pointer(tensor.data_ptr())
}

fn int(number: i64) -> Argument {
    Argument::Int(i32::try_from(number).unwrap_or(i32::MAX))
}

/// Blocks of a row, and parts of a row for this many threads.
fn grid(rows: i64, threads: i64) -> (u32, u32) {
    (rows as u32, ((threads + THREADS - 1) / THREADS) as u32)
}

/// Returns whether a tensor lies in one piece that eight numbers divide.
fn is_whole(tensor: &Tensor) -> bool {
    tensor.is_contiguous() && (tensor.data_ptr() as usize).is_multiple_of(16)
}

/// Returns the distance of rows of this width, whose numbers are adjacent, if eight numbers divide it.
fn row_stride(tensor: &Tensor, width: i64) -> Option<i64> {
    let strides = tensor.stride();
    let (first, last) = (*strides.first()?, *strides.last()?);
    // A single row may have any stride.
    let stride = if tensor.size().first() == Some(&1) { width } else { first };
    let fits = last == 1 && stride % EIGHT == 0 && (tensor.data_ptr() as usize).is_multiple_of(16);
    fits.then_some(stride)
}

/// Returns whether the heads of a row, `[rows, heads, head_dim]`, are adjacent.
fn has_whole_heads(x: &Tensor) -> bool {
    let (size, strides) = (x.size(), x.stride());
    size[1] == 1 || strides[1] == size[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_has_every_kernel() {
        assert!(PTX.contains(".target sm_80") && PTX.ends_with('\0'));
        for name in KERNELS {
            let entry = format!(".entry {}(", name.to_str().unwrap());
            assert!(PTX.contains(&entry), "deploy/ptx.sh was not run: {entry}");
        }
        assert_eq!(PTX.matches(".entry ").count(), KERNELS.len());
    }

    #[test]
    fn rows_that_eight_numbers_do_not_divide_have_no_stride() {
        let all = Tensor::zeros([6, 3, 16], (Kind::BFloat16, Device::Cpu));
        assert_eq!(row_stride(&all.narrow(1, 1, 2), 32), Some(48));
        assert!(has_whole_heads(&all.narrow(1, 1, 2)) && !is_whole(&all.narrow(1, 1, 2)));
        assert_eq!(row_stride(&all.narrow(2, 8, 8), 24), Some(48));
        assert!(!has_whole_heads(&all.narrow(2, 8, 8)), "half of each head");
        let odd = Tensor::zeros([6, 20], (Kind::BFloat16, Device::Cpu));
        assert_eq!(row_stride(&odd, 20), None);
        assert_eq!(row_stride(&all.transpose(1, 2), 48), None);
        assert_eq!(grid(7, 300), (7, 2));
    }
}
