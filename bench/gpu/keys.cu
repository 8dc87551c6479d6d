// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Runs of keys, and floats by key, beside CUB and beside kernels that read and write the same bytes.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>

#include <upsweep/by_key.hpp>
#include <upsweep/segmented.hpp>

#include "lines.cuh"
#include "peers.cuh"
#include "segment_lengths.hpp"

namespace bench {

namespace {

namespace up = upsweep;

struct key_arrays : line_arrays {
    explicit key_arrays(std::size_t most)
        : line_arrays(most), keys(most * sizeof(int)), keys_out(most * sizeof(int)), runs(sizeof(std::uint64_t))
    {
    }

    device_memory keys, keys_out, runs;
};

void measure_runs(session& run, const key_arrays& memory, const std::string& lengths,
                  const std::vector<std::int64_t>& offsets)
{
    const up::cuda gpu(run.stream());
    const cudaStream_t stream = run.stream();
    const auto n = static_cast<std::size_t>(offsets.back());
    const std::size_t count = offsets.size() - 1;
    std::vector<int> keys(n);
    for (std::size_t k = 0; k < count; ++k)
        std::fill(keys.begin() + offsets[k], keys.begin() + offsets[k + 1], static_cast<int>(7 * k));
    check(cudaMemcpy(memory.keys.data(), keys.data(), n * sizeof(int), cudaMemcpyHostToDevice), "cudaMemcpy");
    const std::span<const int> keys_in(memory.keys.data<int>(), n);
    const std::span<int> keys_out(memory.keys_out.data<int>(), n);
    const float* const in = memory.in.data<float>();
    float* const out = memory.out.data<float>();
    auto* const found = memory.runs.data<std::uint64_t>();
    const std::size_t some = segments_within(compared, offsets);
    const std::vector<std::int64_t> some_offsets(offsets.begin(),
                                                 offsets.begin() + static_cast<std::ptrdiff_t>(some) + 1);
    const auto some_elements = [=] { return to_host(in, static_cast<std::size_t>(some_offsets.back())); };
    const std::string variant = " with runs of " + lengths;
    const auto roofs = [=](std::size_t bytes_in, std::size_t bytes_out) {
        return read_and_write_roofs(stream, in, multiple_of_16(bytes_in), out, multiple_of_16(bytes_out));
    };

    auto* const lengths_out = reinterpret_cast<unsigned*>(out);
    std::vector<contender> contenders = roofs(n * sizeof(int), count * 8);
    contenders.push_back(
        {"upsweep", "up::run_length_encode", UPSWEEP_VERSION,
         [=] { up::run_length_encode(gpu, keys_in, keys_out, std::span<unsigned>(lengths_out, n), found); },
         [=] {
             std::vector<unsigned> expected(some);
             for (std::size_t k = 0; k < some; ++k)
                 expected[k] = static_cast<unsigned>(some_offsets[k + 1] - some_offsets[k]);
             return to_host(found, 1).front() == count && begins_with(lengths_out, expected);
         }});
    contenders.push_back(
        {"cub", "DeviceRunLengthEncode::Encode", cub_version(), with_storage([=](void* storage, std::size_t& size) {
             return cub::DeviceRunLengthEncode::Encode(storage, size, keys_in.data(), keys_out.data(), lengths_out,
                                                       found, static_cast<std::int64_t>(n), stream);
         })});
    run.measure({"keys", "i32", "run-length encoding" + variant, n, n * sizeof(int) + count * 8},
                {memory.out.data(), count * sizeof(unsigned)}, contenders);

    contenders = roofs(n * 8, count * 8);
    contenders.push_back({"upsweep", "up::reduce_by_key", UPSWEEP_VERSION,
                          [=, &memory] {
                              up::reduce_by_key(gpu, keys_in, memory.elements(n), keys_out, std::span<float>(out, n),
                                                found, up::plus{});
                          },
                          [=] {
                              std::vector<float> sums(some);
                              up::segmented_reduce(up::cpu{}, some_elements(), some_offsets, sums, up::plus{});
                              return to_host(found, 1).front() == count && begins_with(out, sums);
                          }});
    contenders.push_back(
        {"cub", "DeviceReduce::ReduceByKey", cub_version(), with_storage([=](void* storage, std::size_t& size) {
             return cub::DeviceReduce::ReduceByKey(storage, size, keys_in.data(), keys_out.data(), in, out, found,
                                                   cuda::std::plus<>{}, static_cast<std::int64_t>(n), stream);
         })});
    run.measure({"keys", "f32", "sum by key" + variant, n, n * 8 + count * 8},
                {memory.out.data(), count * sizeof(float)}, contenders);

    contenders = roofs(n * 8, n * 4);
    contenders.push_back({"upsweep", "up::inclusive_scan_by_key", UPSWEEP_VERSION,
                          [=, &memory] {
                              up::inclusive_scan_by_key(gpu, keys_in, memory.elements(n), std::span<float>(out, n),
                                                        up::plus{});
                          },
                          [=] {
                              const auto elements = some_elements();
                              std::vector<float> scans(elements.size());
                              up::segmented_inclusive_scan(up::cpu{}, elements, some_offsets, scans, up::plus{});
                              return begins_with(out, scans);
                          }});
    contenders.push_back(
        {"cub", "DeviceScan::InclusiveSumByKey", cub_version(), with_storage([=](void* storage, std::size_t& size) {
             return cub::DeviceScan::InclusiveSumByKey(storage, size, keys_in.data(), in, out,
                                                       static_cast<std::int64_t>(n), cuda::std::equal_to<>{}, stream);
         })});
    run.measure({"keys", "f32", "scan by key" + variant, n, n * 12}, {memory.out.data(), n * sizeof(float)},
                contenders);
}

} // namespace

void measure_keys(session& run)
{
    if (!run.wants("keys", "f32"))
        return;
    const key_arrays memory(run.largest());
    for (const std::size_t n : run.sizes())
        for (const std::string lengths : {"1", "2", "8", "64", "4096"})
            measure_runs(run, memory, lengths, offsets_of(n, lengths));
}

} // namespace bench
