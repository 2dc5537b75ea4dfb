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

// The weight of a token whose logit is `x` beyond the largest, which has 2^42: a whole number, so that sums do not depend on
// their order; those of a million tokens stay below 2^62.
extern "C" __noinline__ __device__ unsigned long long weight_of(float x) {
  return __double2ull_rn(exp(double(x)) * 4398046511104.0);
}

// A distribution of a row of logits, as a draw transforms it.
struct Distribution {
  const float *logits;
  float temperature;
  float most;
  // Keys below this one have no weight, nor has a token of this key whose id is larger than `last`.
  unsigned int least;
  int last;

  __device__ float at(int id) const { return temperature == 1.0f ? logits[id] : __fdiv_rn(logits[id], temperature); }

  // Keys are ordered as the numbers are.
  static __device__ unsigned int key(float x) {
    const unsigned int bits = __float_as_uint(x + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  }

  __device__ unsigned long long weight(int id) const {
    const float x = at(id);
    const unsigned int its = key(x);
    if (its < least || (its == least && id > last)) return 0;
    return weight_of(__fsub_rn(x, most));
  }

  // Bins of a thirty-second of a logit, the most probable tokens last.
  static const int BINS = 2048;

  __device__ int bin(float x) const {
    return BINS - 1 - min(BINS - 1, __float2int_rz(__fmul_rn(__fsub_rn(most, x), 32.0f)));
  }
};

const int WARPS = 32;

// Sums of `of` over 32 equal parts of the ids from `begin` to `end`, in every thread's sight. A block has 1024 threads.
template <class Of>
static __device__ void sum_parts(Of of, int begin, int end, unsigned long long *parts) {
  const int warp = threadIdx.x >> 5, length = (end - begin + WARPS - 1) / WARPS;
  const int from = begin + warp * length, to = min(from + length, end);
  unsigned long long sum = 0;
#pragma unroll 1
  for (int id = from + (threadIdx.x & 31); id < to; id += 32) sum += of(id);
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  __syncthreads();
  if ((threadIdx.x & 31) == 0) parts[warp] = sum;
  __syncthreads();
}

static __device__ unsigned long long sum_of(const unsigned long long *parts) {
  unsigned long long sum = 0;
#pragma unroll 1
  for (int part = 0; part < WARPS; part++) sum += parts[part];
  return sum;
}

// The first id up to which `of` sums to more than `border`, which is less than the sum of all; `parts` are those of all.
template <class Of>
static __device__ int first_beyond(Of of, int end, unsigned long long border, unsigned long long *parts) {
  int begin = 0;
#pragma unroll 1
  while (end - begin > 1) {
    const int length = (end - begin + WARPS - 1) / WARPS;
    int part = 0;
#pragma unroll 1
    while (part < WARPS - 1 && parts[part] <= border) border -= parts[part++];
    begin += part * length;
    end = min(begin + length, end);
    if (end - begin > 1) sum_parts(of, begin, end, parts);
  }
  return begin;
}

// The first bin up to which the bins sum to more than `border`; `border` becomes what is left of it before that bin.
static __device__ int bin_beyond(const unsigned long long *bins, int count, unsigned long long &border) {
  __shared__ int found;
  __shared__ unsigned long long left;
  __syncthreads();
  if (threadIdx.x < 32) {
    const int length = count / 32, from = threadIdx.x * length;
    unsigned long long own = 0;
#pragma unroll 1
    for (int bin = 0; bin < length; bin++) own += bins[from + bin];
    unsigned long long through = own;
    for (int step = 1; step < 32; step <<= 1) {
      const unsigned long long other = __shfl_up_sync(0xffffffffu, through, step);
      if (threadIdx.x >= step) through += other;
    }
    if (through > border && through - own <= border) {
      unsigned long long rest = border - (through - own);
      int bin = from;
#pragma unroll 1
      while (bins[bin] <= rest) rest -= bins[bin++];
      found = bin;
      left = rest;
    }
  }
  __syncthreads();
  border = left;
  return found;
}

// Adds each thread's number to its bin; a thread without one has 0. Threads that all have the same bin add once together.
static __device__ void add_to_bins(unsigned long long *bins, int bin, unsigned long long number) {
  int is_one;
  __match_all_sync(0xffffffffu, bin, &is_one);
  if (!is_one) {
    if (number) atomicAdd(&bins[bin], number);
    return;
  }
  for (int step = 16; step > 0; step >>= 1) number += __shfl_xor_sync(0xffffffffu, number, step);
  if ((threadIdx.x & 31) == 0 && number) atomicAdd(&bins[bin], number);
}

// The key of the token up to which, from the least probable one on, `of` sums to more than `border`, which is less than the
// sum of all; `border` becomes what is left of it before that key.
template <class Of>
static __device__ unsigned int key_beyond(const Distribution &row, Of of, int count, unsigned long long &border,
                                          unsigned long long *bins) {
#pragma unroll 1
  for (int bin = threadIdx.x; bin < Distribution::BINS; bin += 1024) bins[bin] = 0;
  __syncthreads();
#pragma unroll 1
  for (int first = 0; first < count; first += 1024) {
    const int id = first + threadIdx.x;
    const bool is_there = id < count;
    // Beyond the end as the last one, so that the last threads do not differ.
    add_to_bins(bins, row.bin(row.at(is_there ? id : count - 1)), is_there ? of(id) : 0);
  }
  const int bin = bin_beyond(bins, Distribution::BINS, border);
  unsigned int key = 0;
#pragma unroll 1
  for (int byte = 24; byte >= 0; byte -= 8) {
    if (threadIdx.x < 256) bins[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 1
    for (int first = 0; first < count; first += 1024) {
      const int id = min(first + int(threadIdx.x), count - 1);
      const float x = row.at(id);
      const unsigned int its = Distribution::key(x);
      const bool is_meant = row.bin(x) == bin && (byte == 24 || its >> (byte + 8) == key) && first + threadIdx.x < count;
      if (__any_sync(0xffffffffu, is_meant)) add_to_bins(bins, its >> byte & 255, is_meant ? of(id) : 0);
    }
    key = key << 8 | bin_beyond(bins, 256, border);
  }
  return key;
}

// Draws a token of each row of logits by its number in [0, 1): temperature, the `top_k` most probable tokens with ties of
// the last (0 for all), of those the most probable ones that sum to `top_p`, and the first token whose cumulative
// probability exceeds the number. -1 for a row that is no distribution. A block of 1024 threads is a row.
extern "C" __global__ void __launch_bounds__(1024)
    draw_tokens(const float *logits, int vocabulary, float temperature, int top_k, double top_p, const double *uniforms,
                int64_t *drawn) {
  __shared__ unsigned long long bins[Distribution::BINS];
  __shared__ unsigned long long parts[WARPS];
  __shared__ float largest[WARPS];
  Distribution row = {logits + int64_t(blockIdx.x) * vocabulary, temperature, 0, 0, vocabulary};
  float most = -INFINITY;
  bool is_number = true;
#pragma unroll 1
  for (int id = threadIdx.x; id < vocabulary; id += 1024) {
    const float x = row.at(id);
    is_number &= !isnan(x);
    most = fmaxf(most, x);
  }
  for (int step = 16; step > 0; step >>= 1) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
  if ((threadIdx.x & 31) == 0) largest[threadIdx.x >> 5] = most;
  is_number = __syncthreads_and(is_number);
#pragma unroll 1
  for (int warp = 0; warp < WARPS; warp++) row.most = warp == 0 ? largest[0] : fmaxf(row.most, largest[warp]);
  if (!is_number || !isfinite(row.most)) {
    if (threadIdx.x == 0) drawn[blockIdx.x] = -1;
    return;
  }
  const auto weight = [&](int id) { return row.weight(id); };
  if (top_k > 0 && top_k < vocabulary) {
    const auto one = [](int) { return 1ull; };
    unsigned long long border = vocabulary - top_k;
    row.least = key_beyond(row, one, vocabulary, border, bins);
  }
  sum_parts(weight, 0, vocabulary, parts);
  if (top_p < 1.0) {
    const unsigned long long total = sum_of(parts);
    unsigned long long border = __double2ull_rd((1.0 - top_p) * double(total));
    // One always stays.
    border = min(border, total - 1);
    const unsigned int key = key_beyond(row, weight, vocabulary, border, bins);
    // Of equal ones those of the highest ids go first.
    row.least = key;
    const auto ties = [&](int id) { return Distribution::key(row.at(id)) == key ? 1ull : 0ull; };
    sum_parts(ties, 0, vocabulary, parts);
    const int any = first_beyond(ties, vocabulary, 0, parts);
    const unsigned long long gone = border / row.weight(any);
    if (gone > 0) {
      sum_parts(ties, 0, vocabulary, parts);
      row.last = first_beyond(ties, vocabulary, sum_of(parts) - gone - 1, parts);
    }
    sum_parts(weight, 0, vocabulary, parts);
  }
  const unsigned long long total = sum_of(parts);
  const unsigned long long border = min(__double2ull_rd(uniforms[blockIdx.x] * double(total)), total - 1);
  const int token = first_beyond(weight, vocabulary, border, parts);
  if (threadIdx.x == 0) drawn[blockIdx.x] = token;
}
