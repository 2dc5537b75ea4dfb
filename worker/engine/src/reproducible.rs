//! Numbers that depend neither on the number of threads nor on the address of a buffer.
//!
//! Three things on libtorch's CPU path would break this: MKL picks kernels by the alignment of its operands (measured:
//! the per-thread buffers of the fused attention differ in the last bits with 1, 2, 3 and 4 threads); elementwise
//! kernels compute the tail of each thread's share with another `exp` than its body; and a matrix product so narrow
//! that each thread would get less than about a vector register of columns uses another kernel (measured for 16 to 128
//! rows and up to 64 threads: below 12 columns per thread, in every reproducibility mode). MKL's own reproducibility
//! mode solves the first, at no measurable cost, [`on_one_thread`] the second, [`alone_if_narrow`] the third.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use tch::{Device, TchError, Tensor};

/// Elements up to which libtorch runs an elementwise kernel on one thread anyway (its `GRAIN_SIZE`).
const GRAIN: usize = 32_768;

/// `MKL_CBWR_AUTO | MKL_CBWR_STRICT` of mkl_types.h: the best branch for this CPU, the same bits for every alignment
/// and every number of threads.
const AUTO_STRICT: libc::c_int = 0x10002;

/// Switches MKL's reproducibility mode on, once per process and before its first use. An exported `MKL_CBWR` takes
/// precedence. Returns a note if this fails.
pub fn make_mkl_reproducible() -> Option<&'static str> {
    static DONE: OnceLock<Option<&'static str>> = OnceLock::new();
    *DONE.get_or_init(|| {
        if std::env::var_os("MKL_CBWR").is_some() {
            return None;
        }
        // SAFETY: the name is a NUL-terminated literal; RTLD_DEFAULT searches the loaded libraries.
        let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"mkl_serv_cbwr_set".as_ptr()) };
        if symbol.is_null() {
            return tch::utils::has_mkl().then_some(
                "this libtorch hides MKL's reproducibility mode: set MKL_CBWR=AUTO,STRICT in the environment",
            );
        }
        // SAFETY: MKL declares `int mkl_cbwr_set(int)`, exported by libtorch's static copy under its service name.
        let set: extern "C" fn(libc::c_int) -> libc::c_int = unsafe { std::mem::transmute(symbol) };
        (set(AUTO_STRICT) != 0)
            .then_some("MKL rejected its reproducibility mode: set MKL_CBWR=AUTO,STRICT in the environment")
    })
}

/// Set if bits on a GPU must not vary. A property of the process, like cuBLAS's own, which reads its environment once.
static DETERMINISTIC: AtomicBool = AtomicBool::new(true);

/// Lets the bits of a row on a GPU vary with its neighbours from now on, or not. On the CPU they never do.
pub(crate) fn set_deterministic(deterministic: bool) {
    DETERMINISTIC.store(deterministic, Ordering::Relaxed);
}

/// Returns whether bits must not vary on this device.
pub(crate) fn is_deterministic_on(device: Device) -> bool {
    device == Device::Cpu || DETERMINISTIC.load(Ordering::Relaxed)
}

/// Runs an elementwise computation over `elements` elements on one thread, so that all but the last few use the same
/// code.
///
/// On CUDA the CPU's threads do not matter.
pub(crate) fn on_one_thread<T>(elements: usize, compute: impl FnOnce() -> T) -> T {
    if elements < GRAIN {
        return compute();
    }
    alone(compute)
}

/// Maximum number of elements that vectorised kernels process at once (two AVX-512 vectors of f32, or of bf16), or a
/// multiple.
const LANES: i64 = 64;

/// Runs an elementwise computation on rows, `[..., width]`, so that no element's bits depend on the number of rows: the
/// last few elements of a tensor, fewer than a vector, are computed by other code. Rows that are not a whole number of
/// vectors are therefore padded.
pub(crate) fn in_whole_vectors(
    x: &Tensor,
    compute: impl FnOnce(&Tensor) -> Result<Tensor, TchError>,
) -> Result<Tensor, TchError> {
    if x.device() != Device::Cpu {
        return compute(x);
    }
    let width = x.size().last().copied().unwrap_or(1);
    match width % LANES {
        0 => on_one_thread(x.numel(), || compute(&x.f_contiguous()?)),
        over => {
            let filled = x.f_constant_pad_nd([0, LANES - over])?;
            on_one_thread(filled.numel(), || compute(&filled))?.f_narrow(-1, 0, width)
        }
    }
}

/// Minimum number of columns of a matrix product per thread.
const MIN_COLUMNS: i64 = 16;

/// Runs a matrix product with `columns` output columns on one thread if more threads would get too few columns each.
pub(crate) fn alone_if_narrow<T>(columns: i64, compute: impl FnOnce() -> T) -> T {
    if columns >= MIN_COLUMNS * i64::from(tch::get_num_threads()) { compute() } else { alone(compute) }
}

/// Runs a fused attention of `tasks` pairs of a sequence and a head. A single one is no parallel region, in which MKL
/// would compute on one thread, so that the bits of its products would vary with the number of threads.
pub(crate) fn alone_if_single<T>(tasks: i64, compute: impl FnOnce() -> T) -> T {
    if tasks > 1 { compute() } else { alone(compute) }
}

fn alone<T>(compute: impl FnOnce() -> T) -> T {
    let threads = tch::get_num_threads();
    if threads == 1 {
        return compute();
    }
    tch::set_num_threads(1);
    let result = compute();
    tch::set_num_threads(threads);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Kind;

    #[test]
    fn elementwise_operations_are_batch_invariant() {
        tch::manual_seed(7);
        for width in [1, 20, 40, 64, 172] {
            let x = Tensor::randn([50, width], (Kind::Float, Device::Cpu));
            type Elementwise = fn(&Tensor) -> Result<Tensor, TchError>;
            let operations: [Elementwise; 4] =
                [Tensor::f_silu, Tensor::f_sigmoid, Tensor::f_tanh, |x| x.f_gelu("tanh")];
            for compute in operations {
                let all = in_whole_vectors(&x, compute).unwrap();
                for (first, rows) in [(0, 1), (3, 2), (7, 16), (49, 1), (13, 37)] {
                    let some = in_whole_vectors(&x.narrow(0, first, rows), compute).unwrap();
                    assert!(some.equal(&all.narrow(0, first, rows)), "{rows} rows of {width}");
                }
            }
        }
    }

    /// Every operation of the forward pass whose bits varied, or might vary, with 1 to 4 threads.
    #[test]
    fn bits_do_not_vary_with_threads() {
        assert_eq!(make_mkl_reproducible(), None);
        tch::manual_seed(7);
        let options = (Kind::Float, Device::Cpu);
        for (rows, heads, kv_heads, head_dim) in [(13, 4, 2, 6), (17, 8, 4, 8), (100, 4, 4, 32), (511, 12, 4, 64)] {
            let query = Tensor::randn([1, heads, rows, head_dim], options);
            let key = Tensor::randn([1, kv_heads, rows, head_dim], options);
            let value = Tensor::randn([1, kv_heads, rows, head_dim], options);
            let wide = Tensor::randn([rows, 172], options);
            let narrow = Tensor::randn([172, 20], options);
            let attend = |query: &Tensor, causal: bool| {
                let gqa = heads != kv_heads;
                Tensor::scaled_dot_product_attention(
                    query,
                    &key,
                    &value,
                    None::<&Tensor>,
                    0.0,
                    causal,
                    None::<f64>,
                    gqa,
                )
            };
            let all = || {
                [
                    attend(&query, true),
                    attend(&query.narrow(2, 0, 1), false),
                    on_one_thread(wide.numel(), || wide.silu()),
                    alone_if_narrow(20, || wide.matmul(&narrow)),
                    wide.log_softmax(-1, Kind::Float),
                    wide.pow_tensor_scalar(2).mean_dim([-1i64].as_slice(), true, None).rsqrt(),
                ]
            };
            tch::set_num_threads(1);
            let one = all();
            for threads in [2, 3, 4, 8] {
                tch::set_num_threads(threads);
                for (which, (one, more)) in one.iter().zip(all()).enumerate() {
                    assert!(one.equal(&more), "operation {which}, {rows} rows, {threads} threads");
                }
            }
        }
    }
}
