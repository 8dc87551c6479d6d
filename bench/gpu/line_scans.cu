// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Scans of rows and columns of floats, beside kernels that copy as many bytes.
#include <vector>

#include <upsweep/axis.hpp>

#include "matrix_lines.cuh"

namespace bench {

namespace {

namespace up = upsweep;

void measure_scans(session& run, const line_arrays& memory, const matrix_lines& lines)
{
    const up::cuda gpu(run.stream());
    const float* const in = memory.in.data<float>();
    float* const out = memory.out.data<float>();
    const std::size_t bytes = lines.elements() * sizeof(float);
    std::vector<contender> contenders = copy_roofs(run.stream(), in, out, multiple_of_16(bytes));
    contenders.push_back(
        {"upsweep", "up::inclusive_scan", UPSWEEP_VERSION,
         [=] { up::inclusive_scan(gpu, lines.of(in), up::axis{lines.axis}, lines.of(out), up::plus{}); },
         [=] {
             return begins_with_fold(in, out, lines, [](const auto& some, const matrix_lines& part) {
                 std::vector<float> scans(part.elements());
                 up::inclusive_scan(up::cpu{}, some, up::axis{part.axis}, part.of(scans.data()), up::plus{});
                 return scans;
             });
         }});
    run.measure({"lines", "f32", "scan of " + lines.name(), lines.elements(), 2 * bytes}, {memory.out.data(), bytes},
                contenders);
}

} // namespace

void measure_line_scans(session& run)
{
    for_each_matrix(run,
                    [&](const line_arrays& memory, const matrix_lines& lines) { measure_scans(run, memory, lines); });
}

} // namespace bench
