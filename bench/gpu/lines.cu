// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Rows, columns, segments and runs of keys, of floats: beside CUB where it has them, and beside kernels that read and write the same
// bytes.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include <cub/cub.cuh>

#include <upsweep/axis.hpp>
#include <upsweep/by_key.hpp>
#include <upsweep/reduce.hpp>
#include <upsweep/scan.hpp>
#include <upsweep/segmented.hpp>

#include "contenders.hpp"
#include "generated.cuh"
#include "peers.cuh"
#include "roof.hpp"

namespace bench {

namespace {

namespace up = upsweep;

__global__ void fill_floats_kernel(float* out, std::size_t n)
{
    for (std::size_t i = std::size_t{blockIdx.x} * block + threadIdx.x; i < n; i += std::size_t{grid} * block)
        out[i] = small_float(scattered(i));
}

// Results are compared with the CPU's where there are few elements, and of many where the first so many are lines of their own.
constexpr std::size_t compared = std::size_t{1} << 20;

template <class T>
bool begins_with(const T* there, const std::vector<T>& expected)
{
    const auto found = to_host(there, expected.size());
    return std::equal(expected.begin(), expected.end(), found.begin(),
                      [](const T& a, const T& b) { return std::memcmp(&a, &b, sizeof(T)) == 0; });
}

std::size_t multiple_of_16(std::size_t bytes) { return bytes / 16 * 16; }

// Memory for the elements and the results of all subjects.
struct arrays {
    explicit arrays(std::size_t most)
        : in(3 * most * sizeof(float)), out(3 * most * sizeof(float)), keys(most * sizeof(int)),
          keys_out(most * sizeof(int)), runs(sizeof(std::uint64_t))
    {
        fill_floats_kernel<<<grid, block>>>(in.data<float>(), 3 * most);
        check(cudaDeviceSynchronize(), "fill_floats_kernel");
    }
    std::span<const float> elements(std::size_t n) const { return {in.data<float>(), n}; }

    device_memory in, out, keys, keys_out, runs;
};

// --- rows and columns -------------------------------------------------------------------------------------------------------

void measure_axis(session& run, const arrays& memory, std::size_t rows, std::size_t columns, std::size_t axis)
{
    const up::cuda gpu(run.stream());
    const std::size_t n = rows * columns;
    const std::size_t lines = axis == 0 ? columns : rows;
    float* const out = memory.out.data<float>();
    const up::view<const float, 2> in(memory.in.data<float>(), {rows, columns});
    const std::size_t compared_rows = axis == 0 ? rows : std::min(rows, compared / columns);
    const bool is_compared = compared_rows != 0 && compared_rows * columns <= 4 * compared;
    const auto on_cpu = [=, &memory](auto call) {
        const auto copy = to_host(memory.in.data<float>(), compared_rows * columns);
        return call(up::view<const float, 2>(copy.data(), {compared_rows, columns}));
    };
    const std::string split =
        std::string(axis == 0 ? "columns" : "rows") + " of " + std::to_string(rows) + " x " + std::to_string(columns);

    const std::size_t result_bytes = lines * sizeof(float);
    std::vector<contender> contenders = read_and_write_roofs(run.stream(), in.data(), multiple_of_16(n * sizeof(float)),
                                                             out, multiple_of_16(result_bytes));
    contenders.push_back(
        {"upsweep", "up::reduce", UPSWEEP_VERSION,
         [=] { up::reduce(gpu, in, up::axis{axis}, up::view<float, 1>(std::span<float>(out, lines)), up::plus{}); },
         [=] {
             return !is_compared ||
                    begins_with(out, on_cpu([&](const auto& some) {
                                    std::vector<float> sums(some.extent(1 - axis));
                                    up::reduce(up::cpu{}, some, up::axis{axis}, up::view<float, 1>(sums), up::plus{});
                                    return sums;
                                }));
         }});
    run.measure({"lines", "f32", "sum of " + split, n, n * sizeof(float) + result_bytes},
                {memory.out.data(), result_bytes}, contenders);

    contenders = copy_roofs(run.stream(), in.data(), out, multiple_of_16(n * sizeof(float)));
    contenders.push_back(
        {"upsweep", "up::inclusive_scan", UPSWEEP_VERSION,
         [=] {
             up::inclusive_scan(gpu, in, up::axis{axis}, up::view<float, 2>(out, {rows, columns}), up::plus{});
         },
         [=] {
             return !is_compared ||
                    begins_with(out, on_cpu([&](const auto& some) {
                                    std::vector<float> scans(some.size());
                                    up::inclusive_scan(up::cpu{}, some, up::axis{axis},
                                                       up::view<float, 2>(scans.data(), {compared_rows, columns}),
                                                       up::plus{});
                                    return scans;
                                }));
         }});
    run.measure({"lines", "f32", "scan of " + split, n, 2 * n * sizeof(float)}, {memory.out.data(), n * sizeof(float)},
                contenders);
}

// --- segments -----------------------------------------------------------------------------------------------------------------

using length_of_next = std::function<std::size_t(std::mt19937_64&)>;

std::vector<std::int64_t> offsets_of(std::size_t n, const length_of_next& length)
{
    std::mt19937_64 random(7);
    std::vector<std::int64_t> offsets{0};
    while (offsets.back() < static_cast<std::int64_t>(n))
        offsets.push_back(
            std::min(static_cast<std::int64_t>(n), offsets.back() + static_cast<std::int64_t>(length(random))));
    return offsets;
}

// How many of the segments have no more elements than are compared.
std::size_t compared_segments(const std::vector<std::int64_t>& offsets)
{
    const auto end = std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int64_t>(compared));
    return static_cast<std::size_t>(end - offsets.begin()) - 1;
}

void measure_segments(session& run, const arrays& memory, const std::string& lengths,
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
    const std::size_t some = compared_segments(offsets);
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

// --- runs of keys -------------------------------------------------------------------------------------------------------------

void measure_runs(session& run, const arrays& memory, const std::string& lengths,
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
    const std::size_t some = compared_segments(offsets);
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

double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

length_of_next always(std::size_t length)
{
    return [=](std::mt19937_64&) { return length; };
}

length_of_next up_to(std::size_t most)
{
    return [=](std::mt19937_64& random) { return static_cast<std::size_t>(random() % (most + 1)); };
}

} // namespace

void measure_lines(session& run)
{
    if (!run.wants("lines", "f32") && !run.wants("segments", "f32") && !run.wants("keys", "f32"))
        return;
    const arrays memory(run.largest());
    for (const std::size_t n : run.sizes()) {
        if (run.wants("lines", "f32"))
            for (const std::size_t columns : {2, 3, 16, 100, 1000, 16384})
                for (const std::size_t axis : {1, 0}) {
                    measure_axis(run, memory, n / columns, columns, axis);
                    measure_axis(run, memory, columns, n / columns, axis);
                }
        const std::vector<std::pair<std::string, length_of_next>> mixes{
            {"1", always(1)},
            {"2", always(2)},
            {"8", always(8)},
            {"64", always(64)},
            {"300", always(300)},
            {"4096", always(4096)},
            {"1000000", always(1000000)},
            {"0 to 32", up_to(32)},
            {"0 to 1000", up_to(1000)},
            {"0 to 4096", up_to(4096)},
            {"a power law", [](std::mt19937_64& random) {
                 return static_cast<std::size_t>(std::min(1e7, 1 / std::max(uniform(random), 1e-7)));
             }}};
        if (run.wants("segments", "f32"))
            for (const auto& [name, length] : mixes)
                measure_segments(run, memory, name, offsets_of(n, length));
        if (run.wants("keys", "f32"))
            for (const auto& [name, length] : mixes)
                if (name == "1" || name == "2" || name == "8" || name == "64" || name == "4096")
                    measure_runs(run, memory, name, offsets_of(n, length));
    }
}

} // namespace bench
