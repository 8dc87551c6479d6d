// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// An image of 480 x 640 pixels, in memory whose rows have room for 1024: its sum, its histogram and the running sum of
// that, from C. The sum is taken again of rows as they come, and of two halves, which may be on two machines.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <upsweep/runtime.h>

enum { rows = 480, columns = 640, pitch = 1024, bins = 4 };

static float image[rows][pitch];

// Every call that can fail returns a status; the message says what failed, why, and what to do about it.
static void must(upsweep_status status)
{
    if (status != UPSWEEP_OK) {
        fprintf(stderr, "%s\n", upsweep_last_error());
        exit(EXIT_FAILURE);
    }
}

int main(void)
{
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < pitch; ++c)
            image[r][c] = c < columns ? (float)(r * c % 1000) / 1000 : -1e30f; // the padding is never read

    // Where calls are carried out: on the CPU, by two threads. No number of threads changes a bit of a result.
    upsweep_context* context;
    must(upsweep_context_create(UPSWEEP_CPU, -1, &context));
    must(upsweep_context_set_threads(context, 2));

    // Strides are in elements: the next row begins `pitch` of them further, the next pixel of a row one.
    const int64_t shape[] = {rows, columns};
    const int64_t strides[] = {pitch, 1};
    const upsweep_array pixels = {image, UPSWEEP_F32, UPSWEEP_HOST, 0, 2, shape, strides};

    // A result is an array of one element, of the type that upsweep_reduce_dtype tells.
    float sum;
    const upsweep_array result = {&sum, UPSWEEP_F32, UPSWEEP_HOST, 0, 0, NULL, NULL};
    must(upsweep_reduce(context, UPSWEEP_PLUS, &pixels, &result));
    printf("sum: %.9g\n", sum);

    // A histogram adds to its counts, one for each bin of equal width over [0, 1]; a scan of them is cumulative.
    uint64_t counts[bins] = {0};
    uint64_t sums[bins];
    upsweep_outside outside = {0, 0, 0};
    const int64_t bin_count = bins;
    const upsweep_array counted = upsweep_array_of(counts, UPSWEEP_U64, &bin_count);
    const upsweep_array cumulative = upsweep_array_of(sums, UPSWEEP_U64, &bin_count);
    must(upsweep_histogram_even(context, &pixels, 0, 1, &counted, &outside));
    must(upsweep_scan(context, UPSWEEP_PLUS, false, &counted, &cumulative, NULL));
    for (int k = 0; k < bins; ++k)
        printf("bin %d: %" PRIu64 ", up to here %" PRIu64 "\n", k, counts[k], sums[k]);

    // Pieces of any size, as they come: here a row at a time.
    upsweep_reducer* reducer;
    float sum_of_pieces;
    must(upsweep_reducer_create(context, UPSWEEP_PLUS, UPSWEEP_F32, &reducer));
    for (int r = 0; r < rows; ++r) {
        const upsweep_array row = upsweep_array_of(image[r], UPSWEEP_F32, &shape[1]);
        must(upsweep_reducer_feed(reducer, &row));
    }
    must(upsweep_reducer_result(reducer, &sum_of_pieces));
    upsweep_reducer_destroy(reducer);

    // Two halves, whose partials know the positions of their elements and are merged in any order.
    upsweep_partial* halves[2];
    float sum_of_halves;
    const int64_t half[] = {rows / 2, columns};
    for (int k = 0; k < 2; ++k) {
        const upsweep_array part = {image[k * rows / 2], UPSWEEP_F32, UPSWEEP_HOST, 0, 2, half, strides};
        must(upsweep_partial_create(UPSWEEP_PLUS, UPSWEEP_F32, &halves[k]));
        must(upsweep_partial_feed(halves[k], context, &part, (uint64_t)k * rows / 2 * columns));
    }
    must(upsweep_partial_merge(halves[1], halves[0]));
    must(upsweep_partial_result(halves[1], &sum_of_halves));
    upsweep_partial_destroy(halves[0]);
    upsweep_partial_destroy(halves[1]);
    printf("the same bits: %s\n", sum == sum_of_pieces && sum == sum_of_halves ? "yes" : "no");

    // A call that is refused has written nothing. Here all results would lie at one place.
    const int64_t nowhere[] = {0, 0};
    const upsweep_array squeezed = {sums, UPSWEEP_F32, UPSWEEP_HOST, 0, 2, shape, nowhere};
    if (upsweep_scan(context, UPSWEEP_PLUS, false, &pixels, &squeezed, NULL) == UPSWEEP_OVERLAP)
        printf("%s\n", upsweep_last_error());
    upsweep_context_destroy(context);
}

// Prints:
// sum: 151582.797
// bin 0: 78724, up to here 78724
// bin 1: 76470, up to here 155194
// bin 2: 76345, up to here 231539
// bin 3: 75661, up to here 307200
// the same bits: yes
// scan: strides of the output put two elements at the same place; write to an array whose elements lie apart
