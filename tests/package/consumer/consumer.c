/* Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <upsweep/runtime.h>

int main(void)
{
    const float numbers[5] = {1, 2, 3, 4, 5};
    const int64_t five = 5;
    const int64_t one = 1;
    float sum = 0;
    float sums[5];
    const upsweep_array in = upsweep_array_of(numbers, UPSWEEP_F32, &five);
    const upsweep_array total = upsweep_array_of(&sum, UPSWEEP_F32, &one);
    const upsweep_array out = upsweep_array_of(sums, UPSWEEP_F32, &five);

    if (upsweep_reduce(NULL, UPSWEEP_PLUS, &in, &total) != UPSWEEP_OK ||
        upsweep_scan(NULL, UPSWEEP_PLUS, false, &in, &out, NULL) != UPSWEEP_OK) {
        fprintf(stderr, "%s\n", upsweep_last_error());
        return EXIT_FAILURE;
    }
    return sum == 15 && sums[3] == 10 ? EXIT_SUCCESS : EXIT_FAILURE;
}
