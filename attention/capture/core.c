/* Exact causal attention that gives back every head's pattern: float32, forward only.

   A block of rows at a time, and of the keys only those up to the block's end: scores into a
   scratch that fits the L2 cache, softmax of each row over exactly the keys that it may see, z
   from the weights before they are divided by their sum, and then, if asked for, the divided
   weights written out once, zeros after them. The pattern is never read again.

   No library is linked: the matrix product is the caller's (the BLAS that torch has loaded), or
   the plain one below. With OpenMP the functions of torch's own runtime are found when this is
   loaded, so that there is one pool of threads. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

#pragma GCC diagnostic ignored "-Wpsabi" /* wide vectors go no further than this file */

#define LANES 16
#define ROUND_UP(n) (((n) + LANES - 1) / LANES * LANES)

typedef float vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint32_t bits __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef void (*sgemm_t)(const char *, const char *, const int *, const int *, const int *,
                        const float *, const float *, const int *, const float *, const int *,
                        const float *, float *, const int *);

/* The caller has the same in Python; strides are in floats, those of the last axis are 1. */
struct job {
  const float *q, *k, *v;       /* (batch, head, query | key, head_dim) */
  float *z, *pattern;           /* (batch, query, head, head_dim), (batch, head, query, key) */
  int64_t q_strides[3], k_strides[3], v_strides[3];
  int64_t batch, heads, kv_heads, head_dim, queries, keys, block;
  int64_t start;                /* the key at which the first query is */
  int64_t threads;
  int64_t large;                /* whether the pattern would only sweep the caches */
  sgemm_t sgemm;                /* or NULL */
  float scale;
};

static inline vec load(const float *p) { return *(const vec *)p; }
static inline void store(float *p, vec x) { *(vec *)p = x; }
static inline vec all(float x) { return (vec){0} + x; }

/* Past the caches, to an address that is a multiple of 32 bytes. */
static inline void stream(float *p, vec x) {
#ifdef __AVX__
  const __m256 *half = (const __m256 *)&x;
  _mm256_stream_ps(p, half[0]);
  _mm256_stream_ps(p + LANES / 2, half[1]);
#else
  store(p, x);
#endif
}

static inline vec larger(vec a, vec b) {
  const bits first = (bits)(a > b);
  return (vec)(((bits)a & first) | ((bits)b & ~first));
}

/* exp of x <= 0 to 2 units in the last place; 0 below -87, NaN stays. Cephes' polynomial. */
static inline vec exp_of(vec x) {
  const vec magic = all(12582912.f);
  const vec shifted = x * 1.44269504088896341f + magic; /* its low bits are the whole power of 2 */
  const vec n = shifted - magic;
  const vec r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  vec p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.f;
  const vec power = (vec)((((bits)shifted - (bits)magic) + 127) << 23);
  return (vec)((bits)(p * power) & ~(bits)(x < -87.f));
}

/* Scores s[0..seen) to exponentials, zeros up to `wide`; gives back 1 / their sum. */
static float exponentials(float *s, int64_t seen, int64_t wide) {
  const int64_t padded = ROUND_UP(seen);
  for (int64_t i = seen; i < padded; i++) s[i] = -__builtin_inff();
  vec most = load(s), sum = all(0.f);
  for (int64_t i = LANES; i < padded; i += LANES) most = larger(load(s + i), most);
  float top = most[0], total = 0.f;
  for (int lane = 1; lane < LANES; lane++) top = most[lane] > top ? most[lane] : top;
  for (int64_t i = 0; i < padded; i += LANES) {
    const vec e = exp_of(load(s + i) - top);
    store(s + i, e);
    sum += e;
  }
  for (int lane = 0; lane < LANES; lane++) total += sum[lane];
  if (wide > padded) memset(s + padded, 0, (size_t)(wide - padded) * sizeof(float));
  return 1.f / total;
}

/* One row of the pattern: the exponentials divided, then zeros. */
static void write_row(float *out, const float *s, float inverse, int64_t seen, int64_t keys,
                      int64_t large) {
  const int64_t filled = ROUND_UP(seen);
  int64_t i = 0;
  if (large && (uintptr_t)out % 32 == 0) {
    for (; i < filled && i + LANES <= keys; i += LANES) stream(out + i, load(s + i) * inverse);
    for (; i + LANES <= keys; i += LANES) stream(out + i, all(0.f));
  }
  for (; i < filled && i + LANES <= keys; i += LANES) store(out + i, load(s + i) * inverse);
  for (; i < filled && i < keys; i++) out[i] = s[i] * inverse;
  if (i < keys) memset(out + i, 0, (size_t)(keys - i) * sizeof(float));
}

/* rows x keys: s[t][j] = scale * q[t] . k[j], without a BLAS. */
static void plain_scores(const struct job *a, const float *q, const float *k, float *s, int rows,
                         int keys, int64_t ld) {
  float turned[LANES];
  for (int t = 0; t < rows; t++) memset(s + t * ld, 0, (size_t)keys * sizeof(float));
  for (int j = 0; j < keys; j += LANES) {
    const int n = keys - j < LANES ? keys - j : LANES;
    for (int64_t c = 0; c < a->head_dim; c++) {
      for (int lane = 0; lane < n; lane++) turned[lane] = k[(j + lane) * a->k_strides[2] + c];
      for (int t = 0; t < rows; t++) {
        const float x = q[t * a->q_strides[2] + c] * a->scale;
        for (int lane = 0; lane < n; lane++) s[t * ld + j + lane] += x * turned[lane];
      }
    }
  }
}

/* rows x head_dim: z[t] = sum over j of s[t][j] * v[j], without a BLAS. */
static void plain_mix(const struct job *a, const float *s, const float *v, float *z, int rows,
                      int keys, int64_t ld) {
  const int64_t step = a->heads * a->head_dim;
  for (int t = 0; t < rows; t++) {
    memset(z + t * step, 0, (size_t)a->head_dim * sizeof(float));
    for (int j = 0; j < keys; j++)
      for (int64_t c = 0; c < a->head_dim; c++)
        z[t * step + c] += s[t * ld + j] * v[j * a->v_strides[2] + c];
  }
}

static void one_block(const struct job *a, int64_t pair, int64_t first, float *s, int64_t ld) {
  const int64_t b = pair / a->heads, h = pair % a->heads, g = h / (a->heads / a->kv_heads);
  const int64_t last = first + a->block < a->queries ? first + a->block : a->queries;
  const int rows = (int)(last - first), keys = (int)(a->start + last), dim = (int)a->head_dim;
  const int step = (int)(a->heads * a->head_dim), width = (int)ld;
  const int q_ld = (int)a->q_strides[2], k_ld = (int)a->k_strides[2], v_ld = (int)a->v_strides[2];
  const float one = 1.f, zero = 0.f;
  const float *q = a->q + b * a->q_strides[0] + h * a->q_strides[1] + first * a->q_strides[2];
  const float *k = a->k + b * a->k_strides[0] + g * a->k_strides[1];
  float inverse[64];

  if (a->sgemm)
    a->sgemm("T", "N", &keys, &rows, &dim, &a->scale, k, &k_ld, q, &q_ld, &zero, s, &width);
  else
    plain_scores(a, q, k, s, rows, keys, ld);
  for (int t = 0; t < rows; t++) {
    const int64_t seen = a->start + first + t + 1;
    inverse[t] = exponentials(s + t * ld, seen, keys);
    if (a->pattern)
      write_row(a->pattern + (pair * a->queries + first + t) * a->keys, s + t * ld, inverse[t],
                seen, a->keys, a->large);
  }
  if (!a->z) return;
  const float *v = a->v + b * a->v_strides[0] + g * a->v_strides[1];
  float *z = a->z + (b * a->queries + first) * step + h * dim;
  if (a->sgemm)
    a->sgemm("N", "N", &dim, &rows, &keys, &one, v, &v_ld, s, &width, &zero, z, &step);
  else
    plain_mix(a, s, v, z, rows, keys, ld);
  for (int t = 0; t < rows; t++)
    for (int c = 0; c < dim; c++) z[t * step + c] *= inverse[t];
}

/* ---------------------------------------------------------------- patterns read and not kept */

/* What is read off the patterns of a layer's heads in some rows. */
struct scan {
  const float *q, *k;           /* (head, pos, head_dim) */
  int64_t q_strides[2], k_strides[2];
  int64_t heads, kv_heads, head_dim, keys;
  int64_t first, last;          /* the rows */
  int64_t band;                 /* rows that one thread reads at a time: whole steps */
  int64_t block;                /* rows whose scores are held at a time */
  int64_t step, side;           /* of the squares of cells; 0: none are wanted */
  int64_t hide_first;           /* whether these are of the rows without their first weight */
  int64_t templates;
  const int64_t *starts;        /* (template, keys + 1): where the cells of each row begin ... */
  const int32_t *places;        /* ... in these, the keys of all cells */
  float *squares;               /* (head, side, side): the largest so far, < 0 where none is */
  double *totals;               /* (head, band, template): the weight on its cells */
  float *sums, *spreads;        /* (head, keys): of each row, see below; the rows asked for */
  int64_t threads;
  sgemm_t sgemm;                /* or NULL */
  float scale;
};

/* Of a row of exponentials e = exp(s - top): the first, the sum of the others, the sum of
   e * (s - top). The row's entropy is log(sum) - spread / sum: nothing cancels, as spread <= 0. */
struct sums {
  float first, rest, spread;
};

static struct sums exponentials_and_sums(float *s, int64_t seen) {
  const int64_t padded = ROUND_UP(seen);
  for (int64_t i = seen; i < padded; i++) s[i] = -__builtin_inff();
  vec most = load(s), sum = all(0.f), spread = all(0.f);
  for (int64_t i = LANES; i < padded; i += LANES) most = larger(load(s + i), most);
  float top = most[0];
  for (int lane = 1; lane < LANES; lane++) top = most[lane] > top ? most[lane] : top;
  struct sums found = {0.f, 0.f, 0.f};
  for (int64_t i = 0; i < padded; i += LANES) {
    const vec below = load(s + i) - top;
    vec e = exp_of(below);
    store(s + i, e);
    spread += e * larger(below, all(-88.f)); /* where e is 0, -inf would make NaN of it */
    if (i == 0) {
      found.first = e[0];
      e[0] = 0.f;
    }
    sum += e;
  }
  for (int lane = 0; lane < LANES; lane++) {
    found.rest += sum[lane];
    found.spread += spread[lane];
  }
  return found;
}

/* The weight on each template's cells in a row. */
static void add_row(const struct scan *a, const float *s, int64_t row, float sum, double *totals) {
  for (int64_t t = 0; t < a->templates; t++) {
    const int64_t *starts = a->starts + t * (a->keys + 1) + row;
    float on = 0.f;
    for (int64_t i = starts[0]; i < starts[1]; i++) on += s[a->places[i]];
    totals[t] += (double)(on / sum);
  }
}

/* A row into the largest weights of each column of a row of squares. */
static void pool_row(const struct scan *a, float *s, struct sums sums, int64_t seen, float *most,
                     float *out) {
  const float sum = a->hide_first ? sums.rest : sums.rest + sums.first;
  if (sum != sum)
    for (int64_t c = 0; c * a->step < seen; c++) out[c] = sum; /* NaN stays */
  if (!(sum > 0.f)) return;
  if (a->hide_first) s[0] = -__builtin_inff();
  const float inverse = 1.f / sum;
  for (int64_t i = 0; i < seen; i += LANES)
    store(most + i, larger(load(s + i) * inverse, load(most + i)));
}

/* The largest weights of each column into a row of squares; those are as new then. */
static void pool_columns(const struct scan *a, int64_t seen, float *most, float *out) {
  for (int64_t c = 0; c * a->step < seen; c++) {
    const int64_t last = (c + 1) * a->step < seen ? (c + 1) * a->step : seen;
    float top = out[c];
    for (int64_t j = c * a->step; j < last; j++) top = most[j] > top ? most[j] : top;
    out[c] = top;
  }
  for (int64_t i = 0; i < seen; i += LANES) store(most + i, all(-1.f));
}

static void scan_band(const struct scan *a, int64_t head, int64_t first, int64_t last,
                      double *totals, float *s, float *most, int64_t ld) {
  const struct job shape = {.q_strides[2] = a->q_strides[1], .k_strides[2] = a->k_strides[1],
                            .head_dim = a->head_dim, .scale = a->scale};
  const int width = (int)ld, dim = (int)a->head_dim;
  const int q_ld = (int)a->q_strides[1], k_ld = (int)a->k_strides[1];
  const float *k = a->k + head / (a->heads / a->kv_heads) * a->k_strides[0];
  const float zero = 0.f;
  for (int64_t t = 0; t < a->templates; t++) totals[t] = 0.0;
  for (int64_t top = first; top < last; top += a->block) {
    const int64_t end = top + a->block < last ? top + a->block : last;
    const int rows = (int)(end - top), keys = (int)end;
    const float *q = a->q + head * a->q_strides[0] + top * a->q_strides[1];
    if (a->sgemm)
      a->sgemm("T", "N", &keys, &rows, &dim, &a->scale, k, &k_ld, q, &q_ld, &zero, s, &width);
    else
      plain_scores(&shape, q, k, s, rows, keys, ld);
    for (int64_t row = top; row < end; row++) {
      float *own = s + (row - top) * ld;
      const struct sums sums = exponentials_and_sums(own, row + 1);
      a->sums[head * a->keys + row] = sums.first + sums.rest;
      a->spreads[head * a->keys + row] = sums.spread;
      add_row(a, own, row, sums.first + sums.rest, totals);
      if (!a->step) continue;
      float *out = a->squares + (head * a->side + row / a->step) * a->side;
      pool_row(a, own, sums, row + 1, most, out);
      if ((row + 1) % a->step == 0 || row + 1 == last) pool_columns(a, row + 1, most, out);
    }
  }
}

/* As `headscope_capture`. */
int headscope_scan(const struct scan *a) {
  const int64_t begin = a->first / a->band, bands = (a->last + a->band - 1) / a->band - begin;
  const int64_t items = a->heads * bands;
  const int64_t ld = ROUND_UP(a->last) + LANES;
  const int threads = (int)a->threads;
  int failed = 0;
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(| : failed)
  {
    void *room = NULL;
    failed = posix_memalign(&room, 64, (size_t)((a->block + 1) * ld) * sizeof(float)) != 0;
    float *most = failed ? NULL : (float *)room + a->block * ld;
    for (int64_t i = 0; !failed && i < ld; i++) most[i] = -1.f;
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < items; i++)
      if (!failed) { /* as there: the longest bands of a head first */
        const int64_t head = i / bands, band = bands - 1 - i % bands;
        const int64_t first = (begin + band) * a->band, last = first + a->band;
        scan_band(a, head, first > a->first ? first : a->first, last < a->last ? last : a->last,
                  a->totals + (head * bands + band) * a->templates, room, most, ld);
      }
    free(room);
  }
  return failed;
}

/* Whether it was compiled with threads. */
int headscope_has_threads(void) {
#ifdef _OPENMP
  return 1;
#else
  return 0;
#endif
}

/* 0 when all is done, 1 when memory for the scratch ran out (the outputs are then worthless). */
int headscope_capture(const struct job *a) {
  const int64_t blocks = (a->queries + a->block - 1) / a->block;
  const int64_t items = a->batch * a->heads * blocks;
  const int64_t ld = ROUND_UP(a->keys) + LANES; /* rows of a power of two would share cache sets */
  const int threads = (int)a->threads;
  int failed = 0;
  if (a->block > 64) return 1;
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(| : failed)
  {
    void *room = NULL;
    failed = posix_memalign(&room, 64, (size_t)(a->block * ld) * sizeof(float)) != 0;
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < items; i++)
      if (!failed) /* head by head, so that its keys stay in the cache; the longest block first */
        one_block(a, i / blocks, (blocks - 1 - i % blocks) * a->block, room, ld);
#ifdef __AVX__
    _mm_sfence(); /* streamed rows are there for whoever reads next */
#endif
    free(room);
  }
  return failed;
}
