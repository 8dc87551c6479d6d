// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Sums of rows and columns of floats, beside kernels that read and write the same bytes.
#include <vector>

#include <upsweep/axis.hpp>

#include "matrix_lines.cuh"

namespace bench {

namespace {

namespace up = upsweep;

void measure_sums(session& run, const line_arrays& memory, const matrix_lines& lines)
{
    const up::cuda gpu(run.stream());
    const float* const in = memory.in.data<float>();
    float* const out = memory.out.data<float>();
    const std::size_t bytes = lines.elements() * sizeof(float);
    const std::size_t result_bytes = lines.count() * sizeof(float);
    std::vector<contender> contenders =
        read_and_write_roofs(run.stream(), in, multiple_of_16(bytes), out, multiple_of_16(result_bytes));
    contenders.push_back({"upsweep", "up::reduce", UPSWEEP_VERSION,
                          [=] {
                              const up::view<float, 1> sums(std::span<float>(out, lines.count()));
                              up::reduce(gpu, lines.of(in), up::axis{lines.axis}, sums, up::plus{});
                          },
                          [=] {
                              return begins_with_fold(in, out, lines, [](const auto& some, const matrix_lines& part) {
                                  std::vector<float> sums(part.count());
                                  up::reduce(up::cpu{}, some, up::axis{part.axis}, up::view<float, 1>(sums),
                                             up::plus{});
                                  return sums;
                              });
                          }});
    run.measure({"lines", "f32", "sum of " + lines.name(), lines.elements(), bytes + result_bytes},
                {memory.out.data(), result_bytes}, contenders);
}

} // namespace

void measure_line_sums(session& run)
{
    for_each_matrix(run,
                    [&](const line_arrays& memory, const matrix_lines& lines) { measure_sums(run, memory, lines); });
}

} // namespace bench
