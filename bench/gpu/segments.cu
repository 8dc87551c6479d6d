// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Segments of floats, beside CUB where it has them, and beside kernels that read and write the same bytes.
#include <cstdint>
#include <string>
#include <vector>

#include <cub/device/device_segmented_reduce.cuh>

#include <upsweep/segmented.hpp>

#include "lines.cuh"
#include "peers.cuh"
#include "segment_lengths.hpp"

namespace bench {

namespace {

namespace up = upsweep;

void measure_segments(session& run, const line_arrays& memory, const std::string& lengths,
                      const std::vector<std::int64_t>& offsets)
{
    const up::cuda gpu(run.stream());
    const auto n = static_cast<std::size_t>(offsets.back());
    const std::size_t count = offsets.size() - 1;
    const device_memory there(offsets.size() * sizeof(std::int64_t));
    check(cudaMemcpy(there.data(), offsets.data(), there.bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
    const std::span<const std::int64_t> cuts(there.data<std::int64_t>(), offsets.size());
    const float* const in = memory.in.data<float>();
    float* const out = memory.out.data<float>();
    const std::size_t some = segments_within(compared, offsets);
    const std::vector<std::int64_t> some_offsets(offsets.begin(),
                                                 offsets.begin() + static_cast<std::ptrdiff_t>(some) + 1);
    const auto some_elements = [=] { return to_host(in, static_cast<std::size_t>(some_offsets.back())); };

    const std::size_t bytes = n * sizeof(float) + there.bytes() + count * sizeof(float);
    std::vector<contender> contenders = read_and_write_roofs(run.stream(), in, multiple_of_16(n * sizeof(float)), out,
                                                             multiple_of_16(there.bytes() + count * sizeof(float)));
    contenders.push_back({"upsweep", "up::segmented_reduce", UPSWEEP_VERSION,
                          [=, &memory] {
                              up::segmented_reduce(gpu, memory.elements(n), cuts, std::span<float>(out, count),
                                                   up::plus{});
                          },
                          [=] {
                              std::vector<float> sums(some);
                              up::segmented_reduce(up::cpu{}, some_elements(), some_offsets, sums, up::plus{});
                              return begins_with(out, sums);
                          }});
    contenders.push_back({"cub", "DeviceSegmentedReduce::Sum", cub_version(),
                          with_storage([=, stream = run.stream()](void* storage, std::size_t& size) {
                              return cub::DeviceSegmentedReduce::Sum(storage, size, in, out,
                                                                     static_cast<std::int64_t>(count), cuts.data(),
                                                                     cuts.data() + 1, stream);
                          })});
    run.measure({"segments", "f32", "sum of segments of " + lengths, n, bytes},
                {memory.out.data(), count * sizeof(float)}, contenders);

    contenders = read_and_write_roofs(run.stream(), in, multiple_of_16(n * sizeof(float) + there.bytes()), out,
                                      multiple_of_16(n * sizeof(float)));
    contenders.push_back({"upsweep", "up::segmented_inclusive_scan", UPSWEEP_VERSION,
                          [=, &memory] {
                              up::segmented_inclusive_scan(gpu, memory.elements(n), cuts, std::span<float>(out, n),
                                                           up::plus{});
                          },
                          [=] {
                              const auto elements = some_elements();
                              std::vector<float> scans(elements.size());
                              up::segmented_inclusive_scan(up::cpu{}, elements, some_offsets, scans, up::plus{});
                              return begins_with(out, scans);
                          }});
    run.measure({"segments", "f32", "scan of segments of " + lengths, n, 2 * n * sizeof(float) + there.bytes()},
                {memory.out.data(), n * sizeof(float)}, contenders);
}

} // namespace

void measure_segments(session& run)
{
    if (!run.wants("segments", "f32"))
        return;
    const line_arrays memory(run.largest());
    for (const std::size_t n : run.sizes())
        for (const std::string& lengths : segment_lengths())
            measure_segments(run, memory, lengths, offsets_of(n, lengths));
}

} // namespace bench
