//! FlashAttention 2 (Dao 2023) for sequences of any lengths, as libtorch's CUDA half exports it by its C interface.
//!
//! Keys and values are rows of an arena: a sequence's begin at `starts` and are `used` many, in any order, shared or not.
//! A row that sees nothing is zeros, and its log-sum-exp plus infinity. Causal means that the rows of a sequence are the
//! last of its keys.

use crate::cuda::symbol;
use crate::fault::first_line;
use crate::kv::VarlenOnDevice;
use std::ptr::{null, null_mut};
use tch::{Device, Kind, TchError, Tensor};

/// A tensor of libtorch's C interface: a pointer to the C++ object, as in tch.
type Handle = *mut libc::c_void;

/// `aoti_torch_cuda__flash_attention_forward` of libtorch 2.11: query, key, value, cum_seq_q, cum_seq_k, max_q, max_k,
/// dropout_p, is_causal, return_debug_mask, scale, window_size_left, window_size_right, seqused_k, alibi_slopes, and the
/// results: output, log-sum-exp, and three that are not read.
type FlashForward = unsafe extern "C" fn(
    Handle,
    Handle,
    Handle,
    *const Handle,
    *const Handle,
    i64,
    i64,
    f64,
    i32,
    i32,
    *const f64,
    *const i64,
    *const i64,
    *const Handle,
    *const Handle,
    *mut Handle,
    *mut Handle,
    *mut Handle,
    *mut Handle,
    *mut Handle,
) -> i32;

/// Variable-length attention.
#[derive(Clone, Copy, Debug)]
pub(super) enum Flash {
    /// The kernel of libtorch's CUDA half.
    Libtorch(FlashForward),
    /// The kernel's computation, sequence by sequence on any device.
    #[cfg(test)]
    Twin,
    /// The same with one shared key too few: a check must notice it.
    #[cfg(test)]
    TwinOffByOne,
}

/// Widest head of the kernel.
pub(super) const WIDEST_HEAD: i64 = 256;

impl Flash {
    /// Finds the kernel; `None` where libtorch's CUDA half is not loaded.
    pub(super) fn find() -> Option<Self> {
        let found = symbol(c"aoti_torch_cuda__flash_attention_forward")?;
        // SAFETY: this is the function's type in the header of the libtorch that this program is built for, whose CUDA
        // half refuses to load beside another version.
        Some(Self::Libtorch(unsafe { std::mem::transmute::<*mut libc::c_void, FlashForward>(found) }))
    }

    /// Returns whether tensors of a device can be attended to.
    pub(super) fn runs_on(self, device: Device) -> bool {
        match self {
            Self::Libtorch(_) => device.is_cuda(),
            #[cfg(test)]
            Self::Twin | Self::TwinOffByOne => true,
        }
    }

    /// Attends with `queries`, `[rows, heads, head_dim]`, over rows of `keys` and `values`, `[tokens, kv_heads,
    /// head_dim]`. Returns the output as the queries, and the log-sum-exp, `[heads, rows]` in f32.
    ///
    /// # Errors
    /// The kernel refuses; its reason is on standard error, and in the error where the device gives it when asked.
    pub(super) fn attend(
        self,
        queries: &Tensor,
        (keys, values): (&Tensor, &Tensor),
        lists: &VarlenOnDevice,
        causal: bool,
        scale: f64,
    ) -> Result<(Tensor, Tensor), TchError> {
        match self {
            Self::Libtorch(forward) => by_libtorch(forward, queries, (keys, values), lists, causal, scale),
            #[cfg(test)]
            Self::Twin => twin::attend(queries, (keys, values), lists, causal, scale, 0),
            #[cfg(test)]
            Self::TwinOffByOne => twin::attend(queries, (keys, values), lists, causal, scale, 1),
        }
    }
}

fn by_libtorch(
    forward: FlashForward,
    queries: &Tensor,
    (keys, values): (&Tensor, &Tensor),
    lists: &VarlenOnDevice,
    causal: bool,
    scale: f64,
) -> Result<(Tensor, Tensor), TchError> {
    let handle = |tensor: &Tensor| tensor.as_ptr().cast_mut().cast::<libc::c_void>();
    let (begins, starts, used) = (handle(&lists.begins), handle(&lists.starts), handle(&lists.used));
    let mut results: [Handle; 5] = [null_mut(); 5];
    let [out, log_sum, seed, offset, mask] = &mut results;
    let (most_rows, most_keys) = (lists.call.most_rows, lists.call.most_keys);
    // SAFETY: the function only reads the tensors, which live through the call, and takes null for what is optional; it
    // writes a new tensor of its own to each of the last five if it returns 0.
    let code = unsafe {
        forward(
            handle(queries),
            handle(keys),
            handle(values),
            &raw const begins,
            &raw const starts,
            most_rows,
            most_keys,
            0.0,
            i32::from(causal),
            0,
            &raw const scale,
            null(),
            null(),
            &raw const used,
            null(),
            out,
            log_sum,
            seed,
            offset,
            mask,
        )
    };
    if code != 0 {
        return Err(failure(|| answer(queries.device()), || make_room(queries)));
    }
    // SAFETY: each handle is a C++ tensor that the function made for its caller; tch frees it in the same way.
    let [out, log_sum, ..] = results.map(|handle| unsafe { Tensor::from_ptr(handle.cast()) });
    Ok((out, log_sum))
}

/// Returns the error of a call that failed without a text, by asking its device: `answer` is an operation that waits, which
/// an error that stays fails too, and `make_room` takes as much memory as the call. The first error of theirs is the cause,
/// and its text is kept, by which lack of memory and lost devices are told apart.
fn failure(
    answer: impl FnOnce() -> Result<(), TchError>,
    make_room: impl FnOnce() -> Result<(), TchError>,
) -> TchError {
    let what = "CUDA: flash attention failed";
    TchError::Torch(match answer().and_then(|()| make_room()) {
        Err(cause) => format!("{what}: {}", first_line(&cause)),
        Ok(()) => format!("{what}; the lines of libtorch before this one say why"),
    })
}

/// Waits for one number of the device.
fn answer(device: Device) -> Result<(), TchError> {
    Tensor::f_zeros([1], (Kind::Float, device))?.f_to_device(Device::Cpu).map(drop)
}

/// Takes, and gives back, the memory of a call's results: the output, its log-sum-exps in f32, and the output in f32, which
/// the kernel keeps where it divides keys.
fn make_room(queries: &Tensor) -> Result<(), TchError> {
    let (rows, heads, _) = queries.size3()?;
    let (size, device) = (queries.size(), queries.device());
    let _out = Tensor::f_empty(&size, (queries.f_kind()?, device))?;
    let _log_sum = Tensor::f_empty([heads, rows], (Kind::Float, device))?;
    let _divided = Tensor::f_empty(&size, (Kind::Float, device))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{device_fault, is_out_of_memory};
    use compass_plan::engine::EngineFault;

    fn refused(text: &str) -> Result<(), TchError> {
        // As libtorch prints it: the error, then advice to programmers, then a backtrace.
        Err(TchError::Torch(format!("{text}\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1")))
    }

    #[test]
    fn lack_of_memory_is_found_by_an_allocation_of_the_same_size() {
        let error = failure(|| Ok(()), || refused("CUDA out of memory. Tried to allocate 2.00 GiB."));
        assert!(is_out_of_memory(&error), "{error}");
        assert_eq!(first_line(&error), "CUDA: flash attention failed: CUDA out of memory. Tried to allocate 2.00 GiB.");
    }

    #[test]
    fn device_that_answers_nothing_more_is_lost() {
        for text in [
            "CUDA error: uncorrectable ECC error encountered",
            "CUDA error: unknown error",
            "CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        ] {
            let error = failure(|| refused(text), || panic!("a device that is gone is asked for no memory"));
            let fault = device_fault(&error);
            assert!(matches!(&fault, EngineFault::Lost(said) if said.contains(text)), "{fault:?}");
        }
    }

    #[test]
    fn device_that_can_do_both_is_blamed_for_nothing() {
        let error = failure(|| Ok(()), || Ok(()));
        assert!(!is_out_of_memory(&error));
        let fault = device_fault(&error);
        let what = "libtorch failed: CUDA: flash attention failed; the lines of libtorch before this one say why";
        assert!(matches!(&fault, EngineFault::Device(said) if said == what), "{fault:?}");
    }

    #[test]
    fn what_a_device_is_asked_for_can_be_done() {
        let queries = Tensor::zeros([3, 2, 8], (Kind::Float, Device::Cpu));
        answer(Device::Cpu).and_then(|()| make_room(&queries)).unwrap();
    }
}

#[cfg(test)]
mod twin {
    use super::*;

    pub(super) fn attend(
        queries: &Tensor,
        (keys, values): (&Tensor, &Tensor),
        lists: &VarlenOnDevice,
        causal: bool,
        scale: f64,
        missing: i64,
    ) -> Result<(Tensor, Tensor), TchError> {
        let numbers = |tensor: &Tensor| Vec::<i64>::try_from(&tensor.to_kind(Kind::Int64)).unwrap();
        let (begins, starts, used) = (numbers(&lists.begins), numbers(&lists.starts), numbers(&lists.used));
        let (rows, heads, _) = queries.size3()?;
        assert_eq!((begins.last(), begins.len(), starts.len()), (Some(&rows), used.len() + 1, used.len() + 1));
        let out = queries.zeros_like();
        let log_sum = Tensor::full([heads, rows], f64::INFINITY, (Kind::Float, queries.device()));
        for (sequence, &used) in used.iter().enumerate() {
            let (first, count) = (begins[sequence], begins[sequence + 1] - begins[sequence]);
            assert!(count <= lists.call.most_rows && used <= lists.call.most_keys);
            let used = if causal { used } else { used - missing };
            if used <= 0 || count == 0 {
                continue;
            }
            let group = heads / keys.size()[1];
            let of = |x: &Tensor| {
                let own = x.narrow(0, starts[sequence], used).to_kind(Kind::Float);
                own.repeat_interleave_self_int(group, 1, None).transpose(0, 1)
            };
            let own = queries.narrow(0, first, count).to_kind(Kind::Float).transpose(0, 1);
            let mut scores = own.matmul(&of(keys).transpose(1, 2)) * scale;
            if causal {
                let later = Tensor::ones([count, used], (Kind::Bool, queries.device())).triu(used - count + 1);
                scores = scores.masked_fill(&later, f64::NEG_INFINITY);
            }
            let mixed = scores.softmax(-1, Kind::Float).matmul(&of(values)).transpose(0, 1);
            out.narrow(0, first, count).copy_(&mixed.to_kind(queries.kind()));
            log_sum.narrow(1, first, count).copy_(&scores.logsumexp([-1i64].as_slice(), false));
        }
        Ok((out, log_sum))
    }
}
