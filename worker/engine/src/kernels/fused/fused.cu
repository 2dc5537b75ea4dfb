// Operations between matrix products, fused: each reads and writes a row once.
//
// Invariant: a row's bits depend on that row alone. One block, or a part of one, computes a row, in an order that
// depends on its width only. Numbers are rounded where transformers rounds them.
//
// `deploy/ptx.sh` makes fused.ptx of this file.

#include <cuda_bf16.h>
#include <stdint.h>

using bf16 = __nv_bfloat16;

// Eight numbers, which are read and written at once.
struct alignas(16) Eight {
  bf16 of[8];
};

static __device__ Eight load(const bf16 *from) { return *reinterpret_cast<const Eight *>(from); }

static __device__ void store(bf16 *to, const Eight &eight) { *reinterpret_cast<Eight *>(to) = eight; }

static __device__ float wide(bf16 x) { return __bfloat162float(x); }

static __device__ bf16 narrow(float x) { return __float2bfloat16_rn(x); }

// A product and a sum, each rounded, which must not become one operation.
static __device__ bf16 times(bf16 a, bf16 b) { return narrow(__fmul_rn(wide(a), wide(b))); }

static __device__ bf16 plus(bf16 a, bf16 b) { return narrow(__fadd_rn(wide(a), wide(b))); }

// The sum over a block of whole warps, in every thread.
static __device__ float block_sum(float x) {
  __shared__ float of_warps[32];
  for (int step = 16; step > 0; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
  if ((threadIdx.x & 31) == 0) of_warps[threadIdx.x >> 5] = x;
  __syncthreads();
  float sum = 0;
  for (int warp = 0; warp < blockDim.x >> 5; warp++) sum += of_warps[warp];
  __syncthreads();
  return sum;
}

// Where the weight of a norm is applied: after the cast back, before it, or before it and one more than stored.
enum Form { AFTER_CAST = 0, BEFORE_CAST = 1, FROM_ONE = 2 };

// sum = x + added, where there is something to add; out = norm(sum) with `weight`. A block is a row.
extern "C" __global__ void __launch_bounds__(1024)
    rms_norm(const bf16 *x, const bf16 *added, bf16 *sum, bf16 *out, const bf16 *weight, float eps, int width, int form) {
  const int64_t row = int64_t(blockIdx.x) * width;
  const int step = blockDim.x * 8;
  float squares = 0;
  for (int i = threadIdx.x * 8; i < width; i += step) {
    Eight eight = load(x + row + i);
    if (added) {
      const Eight more = load(added + row + i);
      for (int j = 0; j < 8; j++) eight.of[j] = plus(eight.of[j], more.of[j]);
      store(sum + row + i, eight);
    }
    for (int j = 0; j < 8; j++) squares += wide(eight.of[j]) * wide(eight.of[j]);
  }
  const float scale = rsqrtf(block_sum(squares) / width + eps);
  const bf16 *from = added ? sum : x;
  for (int i = threadIdx.x * 8; i < width; i += step) {
    const Eight eight = load(from + row + i), by = load(weight + i);
    Eight scaled;
    for (int j = 0; j < 8; j++) {
      const float one = __fmul_rn(wide(eight.of[j]), scale);
      if (form == AFTER_CAST) scaled.of[j] = times(by.of[j], narrow(one));
      if (form == BEFORE_CAST) scaled.of[j] = narrow(__fmul_rn(wide(by.of[j]), one));
      if (form == FROM_ONE) scaled.of[j] = narrow(__fmul_rn(one, __fadd_rn(wide(by.of[j]), 1.0f)));
    }
    store(out + row + i, scaled);
  }
}

// out = silu(gate) * up. Blocks are rows by parts of a row, here and below.
extern "C" __global__ void silu_gate(const bf16 *gate, int64_t gate_stride, const bf16 *up, int64_t up_stride, bf16 *out,
                                     int width) {
  const int i = (blockIdx.y * blockDim.x + threadIdx.x) * 8;
  if (i >= width) return;
  const int64_t row = blockIdx.x;
  const Eight g = load(gate + row * gate_stride + i), u = load(up + row * up_stride + i);
  Eight gated;
  for (int j = 0; j < 8; j++) {
    const float x = wide(g.of[j]);
    gated.of[j] = times(narrow(x / (1.0f + expf(-x))), u.of[j]);
  }
  store(out + row * width + i, gated);
}

// Rotates heads whose first half turns with the second: `x` is `[rows, heads, dim]` with rows `stride` apart, `cos` and
// `sin` are `[rows, dim]`.
extern "C" __global__ void rotate_halves(const bf16 *x, int64_t stride, const bf16 *cos, const bf16 *sin, bf16 *out, int heads,
                                         int dim) {
  const int half = dim / 2, of_head = half / 8;
  const int number = blockIdx.y * blockDim.x + threadIdx.x;
  if (number >= heads * of_head) return;
  const int64_t row = blockIdx.x;
  const int head = number / of_head, i = number % of_head * 8;
  const bf16 *from = x + row * stride + head * dim + i;
  bf16 *to = out + (row * heads + head) * dim + i;
  const Eight first = load(from), second = load(from + half);
  const Eight cos_first = load(cos + row * dim + i), cos_second = load(cos + row * dim + half + i);
  const Eight sin_first = load(sin + row * dim + i), sin_second = load(sin + row * dim + half + i);
  Eight turned_first, turned_second;
  for (int j = 0; j < 8; j++) {
    turned_first.of[j] = plus(times(first.of[j], cos_first.of[j]), times(__hneg(second.of[j]), sin_first.of[j]));
    turned_second.of[j] = plus(times(second.of[j], cos_second.of[j]), times(first.of[j], sin_second.of[j]));
  }
  store(to, turned_first);
  store(to + half, turned_second);
}

// Writes keys and values, rows of `width` numbers, to rows `places` of their arenas.
extern "C" __global__ void write_kv(const bf16 *keys, int64_t key_stride, const bf16 *values, int64_t value_stride,
                                    const int64_t *places, bf16 *all_keys, bf16 *all_values, int width) {
  const int i = (blockIdx.y * blockDim.x + threadIdx.x) * 8;
  if (i >= width) return;
  const int64_t row = blockIdx.x, place = places[row] * width;
  store(all_keys + place + i, load(keys + row * key_stride + i));
  store(all_values + place + i, load(values + row * value_stride + i));
}

// Most parts of attention that are merged at once.
const int MOST_PARTS = 8;

struct Parts {
  const bf16 *out[MOST_PARTS];
  const float *log_sum[MOST_PARTS];
  int64_t row_stride[MOST_PARTS];
  int64_t head_stride[MOST_PARTS];
};

// Merges parts of attention, `[rows, heads, dim]` each, by their log-sum-exps, in order.
extern "C" __global__ void merge_parts(const Parts parts, int count, bf16 *out, int heads, int dim) {
  const int i = (blockIdx.y * blockDim.x + threadIdx.x) * 8;
  if (i >= heads * dim) return;
  const int64_t row = blockIdx.x;
  const int head = i / dim;
  float most = -INFINITY;
  for (int part = 0; part < count; part++)
    most = fmaxf(most, parts.log_sum[part][row * parts.row_stride[part] + head * parts.head_stride[part]]);
  float total = 0, sums[8] = {};
  for (int part = 0; part < count; part++) {
    const float weight = expf(parts.log_sum[part][row * parts.row_stride[part] + head * parts.head_stride[part]] - most);
    const Eight eight = load(parts.out[part] + row * heads * dim + i);
    total = __fadd_rn(total, weight);
    for (int j = 0; j < 8; j++) sums[j] = __fadd_rn(sums[j], __fmul_rn(wide(eight.of[j]), weight));
  }
  Eight merged;
  for (int j = 0; j < 8; j++) merged.of[j] = narrow(sums[j] / total);
  store(out + row * heads * dim + i, merged);
}

// Of rows of logits: the log-probabilities of the tokens `ids[first[row]]` to `ids[first[row + 1]]`, and the token of the
// largest logit, the lowest of equals. A block of 1024 threads is a row.
extern "C" __global__ void __launch_bounds__(1024)
    token_scores(const bf16 *logits, int vocabulary, const int64_t *ids, const int64_t *first, float *log_probs, float *best) {
  const int row = blockIdx.x, thread = threadIdx.x;
  const bf16 *of_row = logits + int64_t(row) * vocabulary;
  __shared__ float largest[1024];
  __shared__ int places[1024];
  float most = -INFINITY;
  int place = 0x7fffffff;
  for (int id = thread; id < vocabulary; id += 1024) {
    const float x = wide(of_row[id]);
    if (x > most || place == 0x7fffffff) {
      most = x;
      place = id;
    }
  }
  largest[thread] = most;
  places[thread] = place;
  __syncthreads();
  for (int step = 512; step > 0; step >>= 1) {
    if (thread < step) {
      const float other = largest[thread + step];
      const int at = places[thread + step];
      if (other > largest[thread] || (other == largest[thread] && at < places[thread])) {
        largest[thread] = other;
        places[thread] = at;
      }
    }
    __syncthreads();
  }
  most = largest[0];
  float sum = 0;
  for (int id = thread; id < vocabulary; id += 1024) sum += expf(wide(of_row[id]) - most);
  const float log_sum = logf(block_sum(sum));
  if (thread == 0) best[row] = places[0];
  for (int64_t i = first[row] + thread; i < first[row + 1]; i += 1024) log_probs[i] = wide(of_row[ids[i]]) - most - log_sum;
}
