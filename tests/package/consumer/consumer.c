/* Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <upsweep/runtime.h>

int main(void)
{
    const float numbers[5] = {1, 2, 3, 4, 5};
    const upsweep_target cpu = {UPSWEEP_CPU, 0};
    float sum = 0;
    float sums[5];

    if (upsweep_reduce(cpu, UPSWEEP_PLUS, UPSWEEP_F32, numbers, 5, &sum) != UPSWEEP_OK ||
        upsweep_scan(cpu, UPSWEEP_PLUS, false, UPSWEEP_F32, numbers, UPSWEEP_F32, sums, 5, NULL) != UPSWEEP_OK) {
        fprintf(stderr, "%s\n", upsweep_last_error());
        return EXIT_FAILURE;
    }
    return sum == 15 && sums[3] == 10 ? EXIT_SUCCESS : EXIT_FAILURE;
}
