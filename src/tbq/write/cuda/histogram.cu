// Counts and moments of the numbers of a tensor, in one pass: compiled while the program runs, see
// fused_histogram.py.
//
// `count_*` gives each block its share of the numbers, and writes the block's counts and moments; `join` adds
// those of all blocks, always in the same order. Neither waits for the other blocks of its grid, and no
// memory is zeroed before.
//
// Before this text come THREADS, EDGES, and the tables that are made of the edges of the host:
// `edges32` (rounded up to float32) and `edges64`, each followed by a NaN, and `starts`: for each
// group of numbers that share the first 13 bits of `order`, how many of `edges32` are at or below all of
// them. No group has more than one edge above its smallest number.

typedef unsigned int u32;
typedef unsigned long long u64;

#define BINS (EDGES + 1)
#define GROUPS 8192
#define UNROLLED 8
#define TILE (THREADS * UNROLLED)
#define COLUMNS 32
#define LAYERS (THREADS / COLUMNS)

struct Work {
  const void* numbers;
  u64 count;
  double* moments;  // of each block: least, greatest, sum, sum of squares
  u32* counts;      // of each block: BINS of them
  double* result;   // BINS counts and four moments, of all blocks
  u64 blocks;
};

struct Moments {
  double low, high, total, squares;
};

// NaN if one of them is, as torch and NumPy have it.
template <class Number>
__device__ Number lower(Number a, Number b) {
  return a < b || a != a ? a : b;
}

template <class Number>
__device__ Number higher(Number a, Number b) {
  return a > b || a != a ? a : b;
}

// A float's place among the others: integers in the order of the numbers, -0 right before 0.
__device__ u32 order(float number) {
  u32 bits = __float_as_uint(number);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// How many edges are at or below a number: all of them for a NaN, which torch.bucketize sorts last.
__device__ u32 bin_of(float number, const unsigned short* starts, const float* edges) {
  if (number != number) return EDGES;
  u32 bin = starts[order(number) >> 19];
  return bin + (number >= edges[bin]);
}

__device__ u32 bin_of(double number, const unsigned short* starts, const double* edges) {
  if (number != number) return EDGES;
  u32 bin = starts[order(__double2float_rd(number)) >> 19];  // at most a few edges too low
  while (number >= edges[bin]) ++bin;
  return bin;
}

// Numbers in memory, and the type that holds each of them and is compared with the edges.
struct Half {
  unsigned short bits;
  __device__ float value() const {
    u32 size = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
    if (size >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (size & 0x3ffu) << 13);
    return __uint_as_float(
        sign | __float_as_uint(__uint_as_float(size << 13) * __uint_as_float(0x77800000u)));  // 2^112
  }
};

struct Bfloat {
  unsigned short bits;
  __device__ float value() const { return __uint_as_float((u32)bits << 16); }
};

struct Bool {
  unsigned char bits;
  __device__ float value() const { return bits ? 1.0f : 0.0f; }  // any byte but 0 is true
};

template <class Stored, class Number>
struct Plain {
  Stored stored;
  __device__ Number value() const { return (Number)stored; }
};

__device__ const float* edges_as(float) { return (const float*)edges32; }
__device__ const double* edges_as(double) { return (const double*)edges64; }

// A NaN becomes the one that operations yield: its own bits could be the mark of memory that still waits for
// its value.
__device__ double usual(double number) {
  return number != number ? __longlong_as_double(0x7ff8000000000000ll) : number;
}

// The moments of all threads of a block, in the same order each time; only thread 0 gets them.
__device__ void gather(Moments& own, double* shared) {
  u32 thread = threadIdx.x;
  double *low = shared, *high = low + THREADS, *total = high + THREADS, *squares = total + THREADS;
  low[thread] = own.low;
  high[thread] = own.high;
  total[thread] = own.total;
  squares[thread] = own.squares;
  for (u32 half = THREADS / 2; half; half /= 2) {
    __syncthreads();
    if (thread < half) {
      low[thread] = lower(low[thread], low[thread + half]);
      high[thread] = higher(high[thread], high[thread + half]);
      total[thread] += total[thread + half];
      squares[thread] += squares[thread + half];
    }
  }
  if (thread == 0) {
    own.low = low[0];
    own.high = high[0];
    own.total = total[0];
    own.squares = squares[0];
  }
}

template <class Number>
struct Search {
  unsigned short starts[GROUPS];
  Number edges[BINS];  // followed by a NaN
};

template <class Number>
union Shared {
  Search<Number> search;
  double moments[4 * THREADS];  // when all numbers are counted
};

template <class Stored>
__device__ void count(const Work& work) {
  typedef decltype(Stored().value()) Number;
  __shared__ Shared<Number> shared;
  __shared__ u32 counts[BINS];
  const u32 thread = threadIdx.x;
  Search<Number>& search = shared.search;
  const Number* edges = edges_as(Number());
  for (u32 i = thread; i < GROUPS; i += THREADS) search.starts[i] = starts[i];
  for (u32 i = thread; i < BINS; i += THREADS) {
    search.edges[i] = edges[i];
    counts[i] = 0;
  }
  __syncthreads();

  Number low = (Number)__uint_as_float(0x7f800000u), high = -low;
  double total = 0, squares = 0;
  const Stored* numbers = (const Stored*)work.numbers;
  for (u64 first = (u64)blockIdx.x * TILE; first < work.count; first += (u64)gridDim.x * TILE) {
    Stored some[UNROLLED];
    u32 have = UNROLLED;
    if (work.count - first >= TILE) {
#pragma unroll
      for (u32 i = 0; i < UNROLLED; ++i) some[i] = numbers[first + i * THREADS + thread];
    } else {
      have = 0;
#pragma unroll
      for (u32 i = 0; i < UNROLLED; ++i) {
        if (first + i * THREADS + thread < work.count) {
          some[i] = numbers[first + i * THREADS + thread];
          ++have;
        }
      }
    }
#pragma unroll
    for (u32 i = 0; i < UNROLLED; ++i) {
      if (i < have) {
        Number number = some[i].value();
        atomicAdd(&counts[bin_of(number, search.starts, search.edges)], 1u);
        low = lower(number, low);
        high = higher(number, high);
        double wide = (double)number;
        total += wide;
        squares += wide * wide;
      }
    }
  }
  __syncthreads();

  u32* target = work.counts + (u64)blockIdx.x * BINS;
  for (u32 i = thread; i < BINS; i += THREADS) target[i] = counts[i];
  Moments own = {(double)low, (double)high, total, squares};
  gather(own, shared.moments);
  if (thread == 0) ((Moments*)work.moments)[blockIdx.x] = own;
}

#define COUNT(name, Stored) \
  extern "C" __global__ void __launch_bounds__(THREADS) count_##name(Work work) { count<Stored>(work); }

#define SINGLE(name, Stored)                  \
  typedef Plain<Stored, float> name##_number; \
  COUNT(name, name##_number)
#define DOUBLE(name, Stored)                   \
  typedef Plain<Stored, double> name##_number; \
  COUNT(name, name##_number)

COUNT(float16, Half)
COUNT(bfloat16, Bfloat)
COUNT(bool, Bool)
SINGLE(float32, float)
SINGLE(uint8, unsigned char)
SINGLE(int8, signed char)
SINGLE(int16, short)
DOUBLE(float64, double)
DOUBLE(int32, int)
DOUBLE(int64, long long)

// Blocks of COLUMNS bins each, and a last one for the moments.
extern "C" __global__ void __launch_bounds__(THREADS) join(Work work) {
  __shared__ u64 sums[THREADS];
  __shared__ double moments[4 * THREADS];
  const u32 thread = threadIdx.x;
  if (blockIdx.x + 1 == gridDim.x) {
    const Moments* each = (const Moments*)work.moments;
    double infinite = (double)__uint_as_float(0x7f800000u);
    Moments own = {infinite, -infinite, 0, 0};
    for (u64 block = thread; block < work.blocks; block += THREADS) {
      own.low = lower(each[block].low, own.low);
      own.high = higher(each[block].high, own.high);
      own.total += each[block].total;
      own.squares += each[block].squares;
    }
    gather(own, moments);
    if (thread == 0) {
      work.result[BINS] = usual(own.low);
      work.result[BINS + 1] = usual(own.high);
      work.result[BINS + 2] = usual(own.total);
      work.result[BINS + 3] = usual(own.squares);
    }
    return;
  }
  u32 bin = blockIdx.x * COLUMNS + thread % COLUMNS;
  u64 sum = 0;
  if (bin < BINS) {
#pragma unroll 4
    for (u64 block = thread / COLUMNS; block < work.blocks; block += LAYERS)
      sum += work.counts[block * BINS + bin];
  }
  sums[thread] = sum;
  __syncthreads();
  if (thread < COLUMNS && bin < BINS) {
    for (u32 layer = 1; layer < LAYERS; ++layer) sum += sums[layer * COLUMNS + thread];
    work.result[bin] = (double)sum;
  }
}
