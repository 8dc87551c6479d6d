/* Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
 *
 * libupsweep: reduce, scan and histogram, of rows and columns, segments and runs of keys, too, with the element type and
 * the operator chosen at run time, for arrays in memory of the host or of a GPU. docs/c-abi.md explains it with a program.
 *
 * Every function that can fail returns a status. On any status but UPSWEEP_OK nothing has been written to the caller's
 * memory (but for results of a scan that failed on the way, UPSWEEP_INTERNAL), and upsweep_last_error() tells the calling
 * thread what failed, why, and what to do about it. Functions are thread-safe; a context, and what has been created with
 * it, belongs to one thread at a time.
 *
 * Floating-point results are those of the canonical order (docs/fold-order.md): the same bits for every context, memory,
 * number of threads and way of cutting the input into pieces.
 */
#ifndef UPSWEEP_RUNTIME_H
#define UPSWEEP_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UPSWEEP_API __attribute__((visibility("default")))

/* A caller may pass any number for an enumeration; those that stand for nothing are refused. In C++ that takes a fixed type,
 * which is the size that C gives them. */
#ifdef __cplusplus
#define UPSWEEP_ENUM_TYPE : int
#else
#define UPSWEEP_ENUM_TYPE
#endif

/* --- statuses, types and operators --------------------------------------------------------------------------------- */

typedef enum upsweep_status {
    UPSWEEP_OK = 0,
    UPSWEEP_INVALID_ARGUMENT = 1, /* the call is wrong as it stands: lo >= hi, zero bins, unsorted edges, ... */
    UPSWEEP_UNSUPPORTED = 2,      /* the operator is not defined for the type, or there is no such type */
    UPSWEEP_OUT_OF_MEMORY = 3,    /* the message tells the bytes asked for */
    UPSWEEP_NO_DEVICE = 4,        /* the machine has no GPU that can be used, or this build none of the engine for it */
    UPSWEEP_INTERNAL = 5,
    UPSWEEP_BUSY = 6,        /* another thread is in a call with the same context */
    UPSWEEP_UNREACHABLE = 7, /* an array lies in memory that the context cannot reach */
    UPSWEEP_OVERLAP = 8 /* elements of an output share memory with one another, or with other elements of an input */
} upsweep_status;

typedef enum upsweep_dtype UPSWEEP_ENUM_TYPE {
    UPSWEEP_BOOL = 0, /* one byte, 0 or 1 */
    UPSWEEP_I8 = 1,
    UPSWEEP_I16 = 2,
    UPSWEEP_I32 = 3,
    UPSWEEP_I64 = 4,
    UPSWEEP_U8 = 5,
    UPSWEEP_U16 = 6,
    UPSWEEP_U32 = 7,
    UPSWEEP_U64 = 8,
    UPSWEEP_F16 = 9,   /* IEEE binary16 */
    UPSWEEP_BF16 = 10, /* the upper half of an f32 */
    UPSWEEP_F32 = 11,
    UPSWEEP_F64 = 12
} upsweep_dtype;

typedef enum upsweep_op UPSWEEP_ENUM_TYPE {
    UPSWEEP_PLUS = 0,
    UPSWEEP_MULTIPLIES = 1,
    UPSWEEP_MINIMUM = 2, /* NaN if any element is NaN; -0 is less than +0 */
    UPSWEEP_MAXIMUM = 3,
    UPSWEEP_BIT_AND = 4, /* bool and integers */
    UPSWEEP_BIT_OR = 5,
    UPSWEEP_BIT_XOR = 6,
    UPSWEEP_LOGICAL_AND = 7, /* all types; nonzero and NaN are true */
    UPSWEEP_LOGICAL_OR = 8,
    UPSWEEP_LOG_SUM_EXP = 9 /* floating-point numbers: ln(e^a + e^b), which overflows nowhere */
} upsweep_op;

/* The calling thread's last failure: one line, what failed and the remedy. Valid until its next failing call. */
UPSWEEP_API const char* upsweep_last_error(void);

UPSWEEP_API const char* upsweep_version(void);

/* What the CPU engine was compiled for ("x86-64-v4", say) and how many threads it would use. */
UPSWEEP_API const char* upsweep_cpu_isa(void);
UPSWEEP_API int32_t upsweep_cpu_threads(void);

/* The name of the GPU that the target UPSWEEP_CUDA would use, valid until the thread's next call of this function; NULL
 * where there is none, and upsweep_last_error() tells why. */
UPSWEEP_API const char* upsweep_gpu_name(void);

/* Bytes of one element; 0 for a number that is no dtype. */
UPSWEEP_API uint64_t upsweep_dtype_size(upsweep_dtype dtype);
/* "f32", "i8", ..., "bool"; NULL for a number that is no dtype. Likewise "plus", "minimum", ... */
UPSWEEP_API const char* upsweep_dtype_name(upsweep_dtype dtype);
UPSWEEP_API const char* upsweep_op_name(upsweep_op op);

/* The type of a reduce's result: sums and products of bool and signed integers are i64, of unsigned integers u64, of
 * f16 and bf16 f32; logical operators give bool; everything else keeps the element type. UPSWEEP_UNSUPPORTED where the
 * operator is not defined for the type (bit operators on floating-point numbers). */
UPSWEEP_API upsweep_status upsweep_reduce_dtype(upsweep_op op, upsweep_dtype dtype, upsweep_dtype* result_dtype);

/* --- where calls are carried out -------------------------------------------------------------------------------- */

/* UPSWEEP_AUTO is the CPU. */
typedef enum upsweep_place UPSWEEP_ENUM_TYPE { UPSWEEP_AUTO = 0, UPSWEEP_CPU = 1, UPSWEEP_CUDA = 2 } upsweep_place;

/* The CPU with a number of threads, or a GPU with a stream and what a call there takes of its memory. Every function that
 * takes a context takes NULL as well, which stands for the CPU with all cores and is never busy. What is created with a
 * context may outlive it. A call that finds the context in use by another thread gives UPSWEEP_BUSY. */
typedef struct upsweep_context upsweep_context;

/* On a GPU: the one with this number, or the calling thread's current one for -1; calls are carried out in order of its
 * default stream. UPSWEEP_NO_DEVICE where there is none, or where it is older than compute capability 7.5. */
UPSWEEP_API upsweep_status upsweep_context_create(upsweep_place place, int32_t device, upsweep_context** context);
/* The threads of the CPU, which bring elements to a GPU, too: 0 means all cores. */
UPSWEEP_API upsweep_status upsweep_context_set_threads(upsweep_context* context, int32_t threads);
/* Calls are carried out in order of this cudaStream_t, which is one of the context's device; those before it in order of
 * theirs. UPSWEEP_INVALID_ARGUMENT for a context of the CPU. */
UPSWEEP_API upsweep_status upsweep_context_set_stream(upsweep_context* context, void* stream);
/* Limits how much of the GPU's memory elements on their way from the host take, which is 64 MiB by default: an array of
 * any size passes through. Holds for what is created with the context afterwards; no effect on the CPU.
 * UPSWEEP_INVALID_ARGUMENT below 3072 bytes, and from what is created below as many for each byte of an element. */
UPSWEEP_API upsweep_status upsweep_context_limit_gpu_memory(upsweep_context* context, uint64_t bytes);
/* Waits for all that has been started: after that, results in memory of the GPU are there. */
UPSWEEP_API upsweep_status upsweep_context_wait(upsweep_context* context);
/* `context` may be NULL. */
UPSWEEP_API void upsweep_context_destroy(upsweep_context* context);

/* --- arrays ------------------------------------------------------------------------------------------------------ */

typedef enum upsweep_memory UPSWEEP_ENUM_TYPE {
    UPSWEEP_HOST = 0,   /* of the host: a context of a GPU brings the elements there in pieces */
    UPSWEEP_DEVICE = 1, /* of the GPU with the number `device` */
    UPSWEEP_MANAGED = 2 /* of both, which CUDA calls managed */
} upsweep_memory;

/* Where elements lie. They are taken in the order in which the last index runs fastest. An input may have any strides,
 * negative ones and zero, too; those of an output must put every element at a place of its own. The address is a multiple
 * of the element's size. Elements without gaps are read where they lie at the speed of the memory; others are, if a reduction's
 * bits allow it, or else gathered piece by piece on a CPU, and on a GPU copied as a whole to memory that must be free there. More than
 * 8 dimensions that cannot be told as fewer give UPSWEEP_UNSUPPORTED. */
typedef struct upsweep_array {
    void* data; /* of the element with all indices zero; is not written to where the array is an input */
    upsweep_dtype dtype;
    upsweep_memory memory;
    int32_t device;         /* has a meaning for UPSWEEP_DEVICE alone */
    int32_t rank;           /* 0: one element */
    const int64_t* shape;   /* `rank` numbers of elements */
    const int64_t* strides; /* in elements; NULL: without gaps, as C has them */
} upsweep_array;

/* *count elements side by side in memory of the host. The count is read when the array is used. */
static inline upsweep_array upsweep_array_of(const void* data, upsweep_dtype dtype, const int64_t* count)
{
    upsweep_array array;
    array.data = (void*)data;
    array.dtype = dtype;
    array.memory = UPSWEEP_HOST;
    array.device = 0;
    array.rank = 1;
    array.shape = count;
    array.strides = 0;
    return array;
}

/* --- reduce, scan and histogram ------------------------------------------------------------------------------------ */

/* Writes the fold of all elements to the first element of `result`, an array in any memory that has one element and the
 * type that upsweep_reduce_dtype tells. Of sums and products it may also be f32 or f64, to which the elements are converted before they are
 * folded: on a CPU some at a time, and on a GPU in a copy; those in memory of the host by the CPU, also in a context of a GPU. No elements: the operator's identity; UPSWEEP_INVALID_ARGUMENT for minimum and
 * maximum, which have none. Waits for the GPU unless the result lies in its memory. */
UPSWEEP_API upsweep_status upsweep_reduce(upsweep_context* context, upsweep_op op, const upsweep_array* in,
                                          const upsweep_array* result);

/* out[i] = in[0] (+) ... (+) in[i], or without in[i] where `exclusive`. `init`, one value of out's dtype in memory of the
 * host or NULL, is put before the first element. Both arrays have as many elements and lie in memory of the host, or both
 * where the GPU reaches them, which the call then does not wait for; `out` may be `in`.
 * Elements are converted to out's dtype (f16 and bf16: to f32, and results rounded once) before they are folded; sums
 * wrap in integers of its width. UPSWEEP_UNSUPPORTED where the operator is not defined for it, or the elements are
 * floating-point numbers and the results integers. Without `init` an exclusive scan starts with the identity: 0, 1, the
 * largest value for minimum, ... */
UPSWEEP_API upsweep_status upsweep_scan(upsweep_context* context, upsweep_op op, bool exclusive,
                                        const upsweep_array* in, const upsweep_array* out, const void* init);

/* Writes the variance of all elements to the first element of `result`, an array in any memory that has one element: the sum of the squares of
 * their distances from their mean, divided by their number less `correction`, or by zero where that is negative. 0 is for a population, 1 for
 * what the elements are a sample of. f32 for f16, bf16 and f32, else f64; NaN of no elements. One pass, in f64 (Chan, Golub and LeVeque 1983),
 * in the canonical order of means and sums of squares, which docs/fold-order.md has. Elements in memory of the host are folded by the CPU,
 * also in a context of a GPU. Waits for the GPU unless the result lies in its memory. */
UPSWEEP_API upsweep_status upsweep_variance(upsweep_context* context, const upsweep_array* in, double correction,
                                            const upsweep_array* result);

/* How many samples are in no bin: below the first one, above the last one, or NaN. */
typedef struct upsweep_outside {
    uint64_t below;
    uint64_t above;
    uint64_t nan;
} upsweep_outside;

/* Counts samples in bins of equal width over [lo, hi], the last bin closed, as numpy.histogram does (docs/histogram.md),
 * one for each element of `counts`, which are u64 without gaps and share no memory with the samples. Adds to the counts
 * and to *outside, so that an array may come in pieces: the caller clears them first. Samples and counts lie in memory of
 * the host, or both where the GPU reaches them, and *outside where the counts do; the call does not wait for a GPU that
 * finds them in its memory. From memory of the host, each call on a GPU allocates as a counter does (below): feed pieces
 * to one of those.
 * UPSWEEP_INVALID_ARGUMENT: no bins, an empty range, or on a GPU more bins than it counts (below). */
UPSWEEP_API upsweep_status upsweep_histogram_even(upsweep_context* context, const upsweep_array* in, double lo,
                                                  double hi, const upsweep_array* counts, upsweep_outside* outside);

/* The same with bin k = [edges[k], edges[k+1]), the last one closed; edges strictly ascending, in memory of the host,
 * edge_count >= 2 and one more than there are counts. */
UPSWEEP_API upsweep_status upsweep_histogram_edges(upsweep_context* context, const upsweep_array* in,
                                                   const double* edges, uint64_t edge_count,
                                                   const upsweep_array* counts, upsweep_outside* outside);

/* Counts letters A-Z and a-z of a text, an array of u8, in groups of `group` letters (1..26; group 4: a-d, e-h, ..., y-z).
 * Adds to the (26 + group - 1) / group counts; bytes that are no letters count as below all bins. */
UPSWEEP_API upsweep_status upsweep_histogram_letters(upsweep_context* context, const upsweep_array* text,
                                                     uint64_t group, const upsweep_array* counts,
                                                     upsweep_outside* outside);

/* Adds up, for each bin, the weights of the samples in it: as many weights as samples, in the same order. The sums are i64 of bool
 * and signed weights, u64 of unsigned ones (both modulo 2^64), f64 of f64, and f32 of all other floating-point ones; a sum of
 * floating-point numbers is that of the real numbers, rounded once. Overwrites the sums, one a bin, and `outside`, three of
 * the same type: the weights of samples below, above and NaN. Samples are in the bins of the calls above; those that are no f32 or
 * f64, and weights that are not of the type of their sums, are copied. On a GPU all of these arrays lie in its memory, and samples of i32 are
 * not copied. */
UPSWEEP_API upsweep_status upsweep_weighted_histogram_even(upsweep_context* context, const upsweep_array* in,
                                                           const upsweep_array* weights, double lo, double hi,
                                                           const upsweep_array* sums, const upsweep_array* outside);
UPSWEEP_API upsweep_status upsweep_weighted_histogram_edges(upsweep_context* context, const upsweep_array* in,
                                                            const upsweep_array* weights, const double* edges,
                                                            uint64_t edge_count, const upsweep_array* sums,
                                                            const upsweep_array* outside);

/* --- rows and columns, segments, runs of keys ------------------------------------------------------------------------ */

/* Each line along an axis, each segment and each run is an array of its own: its result has the bits of upsweep_reduce or
 * upsweep_scan over its elements alone (docs/shapes.md). A context of a GPU carries these calls out for arrays in its memory, and
 * gives UPSWEEP_UNSUPPORTED where docs/c-abi.md says so. Outputs share no memory with inputs, but
 * that a scan may be in place, nor with one another. */

/* Folds an array along an axis, numbered from 0. `out` has the shape of `in` without the axis, or with extent 1 there, and
 * a type that the result of upsweep_reduce may have. An axis without elements gives the operator's identity;
 * UPSWEEP_INVALID_ARGUMENT for minimum and maximum, which have none. Arrays of any strides are read where they lie. */
UPSWEEP_API upsweep_status upsweep_reduce_axis(upsweep_context* context, upsweep_op op, const upsweep_array* in,
                                               int32_t axis, const upsweep_array* out);
/* The sum along an axis, divided by its extent: f32 for f16, bf16 and f32, else f64, whose sums are exact modulo 2^64 of
 * integers. NaN where the axis has no elements. */
UPSWEEP_API upsweep_status upsweep_mean_axis(upsweep_context* context, const upsweep_array* in, int32_t axis,
                                             const upsweep_array* out);
/* The variance along an axis, as upsweep_variance has it of each line, with the same bits. NaN where the axis has no elements. */
UPSWEEP_API upsweep_status upsweep_variance_axis(upsweep_context* context, const upsweep_array* in, int32_t axis,
                                                 double correction, const upsweep_array* out);
/* The variance along several axes, dimension k where `axes` has the bit 2^k: that of the elements along them as one line, in the order of the array.
 * `out` has the shape of `in` without these axes, or with extent 1 there; NaN where they have no elements. UPSWEEP_UNSUPPORTED where the axes that
 * stay and those that are folded take more than 8 dimensions to tell and do not lie as one. Elements along axes that do not lie as one are copied first; on a GPU
 * floating-point numbers are not, but folded by blocks of a power of two along the last of these axes, where blocks have 128 bytes or more. */
UPSWEEP_API upsweep_status upsweep_variance_axes(upsweep_context* context, const upsweep_array* in, uint64_t axes,
                                                 double correction, const upsweep_array* out);
/* Writes where the least or the greatest element along an axis is, counted from 0, as i64: the lowest index among equal ones.
 * NaN comes before all else, and -0 is less than +0, as for minimum and maximum. UPSWEEP_INVALID_ARGUMENT where the axis has no
 * elements. Those of types other than bool, u8, i32, i64, u64, f32 and f64 are copied. */
UPSWEEP_API upsweep_status upsweep_argmin_axis(upsweep_context* context, const upsweep_array* in, int32_t axis,
                                               const upsweep_array* out);
UPSWEEP_API upsweep_status upsweep_argmax_axis(upsweep_context* context, const upsweep_array* in, int32_t axis,
                                               const upsweep_array* out);
/* Writes h_t = a_t h_(t-1) + b_t along an axis, or from its end a_t h_(t+1) + b_t where `backward`: a scan of affine maps, in the
 * canonical order. `h0` has the states before the first elements: it lacks the axis, or has it once; NULL stands for zeros. All other
 * arrays have the shape of `a`, of at most 8 dimensions, and all are of one type: f16 or bf16, whose states are f32 and are rounded
 * once, f32 or f64. The strides of a and b may be zero; `out` may be one of them. */
UPSWEEP_API upsweep_status upsweep_linear_recurrence(upsweep_context* context, const upsweep_array* a,
                                                     const upsweep_array* b, const upsweep_array* h0, int32_t axis,
                                                     bool backward, const upsweep_array* out);
/* Scans an array along an axis, as upsweep_scan would each line. `out` has the shape of `in`. `init`, or the identity,
 * begins each line. Elements of another type than the results' are first converted to `out`. */
UPSWEEP_API upsweep_status upsweep_scan_axis(upsweep_context* context, upsweep_op op, bool exclusive,
                                             const upsweep_array* in, int32_t axis, const upsweep_array* out,
                                             const void* init);
/* Writes prefix sums in the last two dimensions: scans along the rows, of whose results the columns are scanned. `out` has
 * the shape of `in`, and the type in which sums are accumulated. */
UPSWEEP_API upsweep_status upsweep_integral_image(upsweep_context* context, const upsweep_array* in,
                                                  const upsweep_array* out);
/* Counts the samples of each line along an axis in bins, as upsweep_histogram_even and upsweep_histogram_edges count them.
 * `counts` are u64, in the shape of `in` with as many as there are bins in place of the axis, and may have gaps. outside[k]
 * counts the samples of line k that are in no bin, of outside_count lines, numbered in order of the other indices. Both are
 * overwritten. On a GPU all of these arrays lie in its memory; samples that are no u8, i32, f32 or f64, or whose strides take more than
 * three dimensions to tell, are copied. */
UPSWEEP_API upsweep_status upsweep_histogram_axis_even(upsweep_context* context, const upsweep_array* in, int32_t axis,
                                                       double lo, double hi, const upsweep_array* counts,
                                                       upsweep_outside* outside, uint64_t outside_count);
UPSWEEP_API upsweep_status upsweep_histogram_axis_edges(upsweep_context* context, const upsweep_array* in, int32_t axis,
                                                        const double* edges, uint64_t edge_count,
                                                        const upsweep_array* counts, upsweep_outside* outside,
                                                        uint64_t outside_count);

/* The arrays of segments and runs may have any shape and strides: their elements are taken in order. What is not in one
 * piece is copied as a whole, so there must be memory for that.
 *
 * Segment k has the elements from offsets[k] to before offsets[k + 1]. Offsets are i32, u32, i64 or u64 (those of 32 bits
 * are copied), one more than there are segments, and ascend. That they do so is taken on trust, but for the first and the
 * last, on a GPU also for these: upsweep_check_offsets is the check, which waits for a GPU. Elements before the first and from the last offset on are in no segment. */

/* out[k] is the fold of segment k, of the type that upsweep_reduce_dtype tells. That of no elements is the identity; of
 * minimum and maximum that is an infinity, or the type's limit. */
UPSWEEP_API upsweep_status upsweep_segmented_reduce(upsweep_context* context, upsweep_op op, const upsweep_array* in,
                                                    const upsweep_array* offsets, const upsweep_array* out);
/* out[i] is the result of upsweep_scan over the segment of element i. `init`, or the identity, begins each segment; what is
 * in no segment is not written. */
UPSWEEP_API upsweep_status upsweep_segmented_scan(upsweep_context* context, upsweep_op op, bool exclusive,
                                                  const upsweep_array* in, const upsweep_array* offsets,
                                                  const upsweep_array* out, const void* init);
/* Counts the samples of each segment in bins. `counts` are u64 without gaps, as many for each segment as there are bins, one
 * segment behind the other; outside[k] counts the samples of segment k that are in no bin, of outside_count segments. Both
 * are overwritten. On a GPU all of these arrays lie in its memory; samples that are no u8, i32, f32 or f64 are copied. */
UPSWEEP_API upsweep_status upsweep_segmented_histogram_even(upsweep_context* context, const upsweep_array* in,
                                                            const upsweep_array* offsets, double lo, double hi,
                                                            const upsweep_array* counts, upsweep_outside* outside,
                                                            uint64_t outside_count);
UPSWEEP_API upsweep_status upsweep_segmented_histogram_edges(upsweep_context* context, const upsweep_array* in,
                                                             const upsweep_array* offsets, const double* edges,
                                                             uint64_t edge_count, const upsweep_array* counts,
                                                             upsweep_outside* outside, uint64_t outside_count);
/* UPSWEEP_INVALID_ARGUMENT, and the message names the first offset that is wrong, where one is less than the one before
 * it, or more than `count`. */
UPSWEEP_API upsweep_status upsweep_check_offsets(upsweep_context* context, const upsweep_array* offsets,
                                                 uint64_t count);

/* A run is a stretch of keys of which each is == to the one before it: -0 and +0 are one run, and each NaN is a run of its
 * own. Of a run's keys the first is written.
 *
 * Writes the first key of each run, the fold of its values, and the number of runs, which lies in memory of the host.
 * UPSWEEP_INVALID_ARGUMENT where there are more runs than an output has room for: the message tells both. There are at
 * most as many as elements; what is behind them is not written. A GPU is waited for, for that number, and has then written the
 * runs for which there is room. */
UPSWEEP_API upsweep_status upsweep_reduce_by_key(upsweep_context* context, upsweep_op op, const upsweep_array* keys,
                                                 const upsweep_array* values, const upsweep_array* keys_out,
                                                 const upsweep_array* totals_out, uint64_t* runs);
/* out[i] is the result of upsweep_scan over the values of the run of element i; `out` may be `values`. */
UPSWEEP_API upsweep_status upsweep_scan_by_key(upsweep_context* context, upsweep_op op, bool exclusive,
                                               const upsweep_array* keys, const upsweep_array* values,
                                               const upsweep_array* out, const void* init);
/* Writes the first element of each run, how many it has, as i64 or u64, and the number of runs, as above. */
UPSWEEP_API upsweep_status upsweep_run_length_encode(upsweep_context* context, const upsweep_array* in,
                                                     const upsweep_array* values_out, const upsweep_array* lengths_out,
                                                     uint64_t* runs);
/* Writes values[k] lengths[k] times, one run behind the other. UPSWEEP_INVALID_ARGUMENT where a length is negative or
 * `out` has not room for all; what is behind them is not written. A GPU takes both on trust, and writes what there is
 * room for. */
UPSWEEP_API upsweep_status upsweep_run_length_decode(upsweep_context* context, const upsweep_array* values,
                                                     const upsweep_array* lengths, const upsweep_array* out);

/* --- elements by flags, points in bins ------------------------------------------------------------------------------ */

/* As above: elements of any shape in their order, and what is not in one piece is copied as a whole. By the CPU alone, but
 * for upsweep_select, which waits for a GPU. */

/* Writes the elements whose flag, an array of bool with as many elements, is true, in their order, and how many there are.
 * UPSWEEP_INVALID_ARGUMENT where there are more than `out` has room for, whose elements may have been written then. What is
 * behind the last one is not written. */
UPSWEEP_API upsweep_status upsweep_select(upsweep_context* context, const upsweep_array* in, const upsweep_array* flags,
                                          const upsweep_array* out, uint64_t* selected);
/* The same, and behind them the others, in their order: `out` has room for all. */
UPSWEEP_API upsweep_status upsweep_partition(upsweep_context* context, const upsweep_array* in,
                                             const upsweep_array* flags, const upsweep_array* out, uint64_t* selected);
/* Counts the points whose coordinates are the elements of `dimensions` arrays, each in bins between edges_d[0] < edges_d[1] < ...,
 * the last one closed. There is a count, u64 without gaps, for each combination of bins, the last dimension varying fastest. Adds
 * to the counts and to *outside: a point of which a coordinate is in no bin counts once, as NaN if one is NaN, else as above if one is
 * above its bins, else as below. Samples that are no f32 or f64 are copied. */
UPSWEEP_API upsweep_status upsweep_joint_histogram_edges(upsweep_context* context, const upsweep_array* in,
                                                         uint64_t dimensions, const double* const* edges,
                                                         const uint64_t* edge_counts, const upsweep_array* counts,
                                                         upsweep_outside* outside);

/* --- arrays that come in pieces ------------------------------------------------------------------------------------ */

/* Folds an array that comes in pieces, to the same bits as in one piece. Pieces may lie in any memory, by turns as well;
 * when feed returns, a piece has been read. */
typedef struct upsweep_reducer upsweep_reducer;
UPSWEEP_API upsweep_status upsweep_reducer_create(upsweep_context* context, upsweep_op op, upsweep_dtype dtype,
                                                  upsweep_reducer** reducer);
/* The same for the variance, whose result has the type and the bits of upsweep_variance. Pieces lie in memory of the host: others give
 * UPSWEEP_UNREACHABLE. */
UPSWEEP_API upsweep_status upsweep_reducer_create_variance(upsweep_dtype dtype, double correction,
                                                           upsweep_reducer** reducer);
UPSWEEP_API upsweep_status upsweep_reducer_feed(upsweep_reducer* reducer, const upsweep_array* in);
/* The fold of everything fed so far, a value in memory of the host; more may be fed afterwards. */
UPSWEEP_API upsweep_status upsweep_reducer_result(const upsweep_reducer* reducer, void* result);
UPSWEEP_API void upsweep_reducer_destroy(upsweep_reducer* reducer);

/* Scans an array that comes in pieces, to the same bits as in one piece; every call writes a result an element. The arrays
 * are as upsweep_scan wants them, of these types. */
typedef struct upsweep_scanner upsweep_scanner;
UPSWEEP_API upsweep_status upsweep_scanner_create(upsweep_context* context, upsweep_op op, bool exclusive,
                                                  upsweep_dtype in_dtype, upsweep_dtype out_dtype, const void* init,
                                                  upsweep_scanner** scanner);
UPSWEEP_API upsweep_status upsweep_scanner_feed(upsweep_scanner* scanner, const upsweep_array* in,
                                                const upsweep_array* out);
UPSWEEP_API void upsweep_scanner_destroy(upsweep_scanner* scanner);

/* Counts samples, or letters, that come in pieces. On a GPU the pieces are gathered, and counted in a table there,
 * which stays until the counter is destroyed: cheaper than one of the calls above for each piece.
 *
 * What it takes: 8 bytes a bin, on a GPU of the GPU's memory, on a CPU as much again, and 4 bytes a bin and thread,
 * while samples are fed. On a GPU also up to 64 MiB (upsweep_context_limit_gpu_memory) of its memory and as much
 * page-locked memory of the host, in three parts as they are needed, and what the GPU engine takes for itself
 * (docs/histogram.md); all of it from the first samples on, until the counter is destroyed. */
typedef struct upsweep_counter upsweep_counter;
/* The edges are copied. Where a counter cannot be created *counter is left as it is: UPSWEEP_INVALID_ARGUMENT for bins
 * that the calls above refuse, and on a GPU for more than it counts at once, 16,777,213, or fewer where its blocks have
 * little shared memory (the message tells how many); UPSWEEP_NO_DEVICE. */
UPSWEEP_API upsweep_status upsweep_counter_create_even(upsweep_context* context, upsweep_dtype dtype, double lo,
                                                       double hi, uint64_t bins, upsweep_counter** counter);
UPSWEEP_API upsweep_status upsweep_counter_create_edges(upsweep_context* context, upsweep_dtype dtype,
                                                        const double* edges, uint64_t edge_count,
                                                        upsweep_counter** counter);
/* The bytes that are no letters count as below all bins. */
UPSWEEP_API upsweep_status upsweep_counter_create_letters(upsweep_context* context, uint64_t group,
                                                          upsweep_counter** counter);
/* The samples are read before the call returns. A call that fails with UPSWEEP_INTERNAL or UPSWEEP_OUT_OF_MEMORY may
 * have counted part of them: such a counter can only be destroyed, and on a GPU refuses further calls. Where nothing
 * has been counted yet, as without memory for the first samples, the call may be repeated. */
UPSWEEP_API upsweep_status upsweep_counter_feed(upsweep_counter* counter, const upsweep_array* in);
/* Overwrites counts, one for each bin, and *outside, in memory of the host, with those of everything fed so far; more may
 * be fed afterwards. */
UPSWEEP_API upsweep_status upsweep_counter_result(const upsweep_counter* counter, uint64_t* counts,
                                                  upsweep_outside* outside);
/* `counter` may be NULL. */
UPSWEEP_API void upsweep_counter_destroy(upsweep_counter* counter);

/* --- partials ------------------------------------------------------------------------------------------------------ */

/* The fold of some elements of an array as a value. Partials of parts of an array, folded by whatever thread, device or
 * machine, are merged in any order, and the result has the bits of upsweep_reduce over the whole (docs/fold-order.md). */
typedef struct upsweep_partial upsweep_partial;
/* Of no elements. */
UPSWEEP_API upsweep_status upsweep_partial_create(upsweep_op op, upsweep_dtype dtype, upsweep_partial** partial);
/* Folds elements, of the partial's dtype, whose first one has the position `first_position` in its array. UPSWEEP_INVALID_ARGUMENT, and
 * nothing folded, where one of them has been folded already (the message names the positions) or positions go beyond
 * 2^63 - 1. */
UPSWEEP_API upsweep_status upsweep_partial_feed(upsweep_partial* partial, upsweep_context* context,
                                                const upsweep_array* in, uint64_t first_position);
/* Adds the elements of another partial, which has none in common: else UPSWEEP_INVALID_ARGUMENT, and nothing changed. */
UPSWEEP_API upsweep_status upsweep_partial_merge(upsweep_partial* partial, const upsweep_partial* other);
/* The fold, of the type that upsweep_reduce_dtype tells, of the elements from position 0 on. UPSWEEP_INVALID_ARGUMENT
 * where elements before the last one are missing: the message names the first of them. */
UPSWEEP_API upsweep_status upsweep_partial_result(const upsweep_partial* partial, void* result);
/* How many elements have been folded. */
UPSWEEP_API uint64_t upsweep_partial_count(const upsweep_partial* partial);
/* Writes the partial as bytes, for a file or another machine. *size is how many there is room for, and becomes how many
 * there are; where `bytes` is NULL, nothing is written. */
UPSWEEP_API upsweep_status upsweep_partial_bytes(const upsweep_partial* partial, void* bytes, uint64_t* size);
/* Makes the partial whose bytes these are. UPSWEEP_INVALID_ARGUMENT, with the number of the byte, where they are cut off
 * or not the bytes of a partial. */
UPSWEEP_API upsweep_status upsweep_partial_of_bytes(const void* bytes, uint64_t size, upsweep_partial** partial);
/* `partial` may be NULL. */
UPSWEEP_API void upsweep_partial_destroy(upsweep_partial* partial);

#ifdef __cplusplus
}
#endif
#endif
