// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Select, partition, adjacent differences and linear recurrences of floats, beside CUB where it has them, and beside kernels that read and
// write the same bytes.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <cub/cub.cuh>

#include <upsweep/recurrence.hpp>
#include <upsweep/select.hpp>

#include "contenders.hpp"
#include "generated.cuh"
#include "peers.cuh"
#include "roof.hpp"

namespace bench {

namespace {

namespace up = upsweep;

// Numbers from 0 to 1, of which a share of t is below t, and whether they are.
__global__ void fill_shares_kernel(float* out, std::size_t n)
{
    for (std::size_t i = std::size_t{blockIdx.x} * block + threadIdx.x; i < n; i += std::size_t{grid} * block)
        out[i] = static_cast<float>(scattered(i) >> 40) * 0x1p-24f;
}
__global__ void fill_flags_kernel(const float* in, float share, std::uint8_t* out, std::size_t n)
{
    for (std::size_t i = std::size_t{blockIdx.x} * block + threadIdx.x; i < n; i += std::size_t{grid} * block)
        out[i] = in[i] < share ? 1 : 0;
}

struct is_below {
    float share;
    __host__ __device__ bool operator()(float x) const { return x < share; }
};

std::size_t multiple_of_16(std::size_t bytes) { return std::max<std::size_t>(bytes / 16 * 16, 16); }

bool are_same(const float* there, const std::vector<float>& expected)
{
    const auto found = to_host(there, expected.size());
    return expected.empty() || std::memcmp(found.data(), expected.data(), expected.size() * sizeof(float)) == 0;
}

// Memory for the elements and the results of all subjects.
struct arrays {
    explicit arrays(std::size_t most)
        : in(most * sizeof(float)), out(most * sizeof(float)), rest(most * sizeof(float)), flags(most),
          count(sizeof(std::uint64_t))
    {
        fill_shares_kernel<<<grid, block>>>(in.data<float>(), most);
        check(cudaDeviceSynchronize(), "fill_shares_kernel");
    }
    device_memory in, out, rest, flags, count;
};

void measure_select(session& run, const arrays& memory, std::size_t n, float share)
{
    const up::cuda gpu(run.stream());
    const cudaStream_t stream = run.stream();
    const std::span<const float> in(memory.in.data<float>(), n);
    const std::span<float> out(memory.out.data<float>(), n);
    const std::span<float> rest(memory.rest.data<float>(), n);
    const std::span<const std::uint8_t> flags(memory.flags.data<std::uint8_t>(), n);
    auto* const count = memory.count.data<std::uint64_t>();
    const is_below below{share};
    fill_flags_kernel<<<grid, block>>>(in.data(), share, memory.flags.data<std::uint8_t>(), n);
    std::vector<float> selected;
    std::vector<float> rejected;
    for (const float x : to_host(in.data(), n))
        (below(x) ? selected : rejected).push_back(x);
    const auto expected = std::make_shared<const std::vector<float>>(std::move(selected));
    const auto others = std::make_shared<const std::vector<float>>(std::move(rejected));
    const auto is_right = [=] {
        return to_host(count, 1).front() == expected->size() && are_same(out.data(), *expected);
    };
    const std::size_t some = expected->size() * sizeof(float);
    const std::size_t all = n * sizeof(float);
    const std::string variant = " of " + std::to_string(static_cast<int>(std::lround(share * 100))) + " %";

    std::vector<contender> contenders =
        read_and_write_roofs(stream, in.data(), multiple_of_16(all), out.data(), multiple_of_16(some));
    contenders.push_back(
        {"upsweep", "up::select", UPSWEEP_VERSION, [=] { up::select(gpu, in, below, out, count); }, is_right});
    contenders.push_back({"cub", "DeviceSelect::If", cub_version(), with_storage([=](void* storage, std::size_t& size) {
                              return cub::DeviceSelect::If(storage, size, in.data(), out.data(), count,
                                                           static_cast<std::int64_t>(n), below, stream);
                          })});
    run.measure({"selections", "f32", "select" + variant, n, all + some}, {memory.out.data(), some}, contenders);

    contenders = read_and_write_roofs(stream, in.data(), multiple_of_16(all + n), out.data(), multiple_of_16(some));
    contenders.push_back(
        {"upsweep", "up::select", UPSWEEP_VERSION, [=] { up::select(gpu, in, flags, out, count); }, is_right});
    contenders.push_back(
        {"cub", "DeviceSelect::Flagged", cub_version(), with_storage([=](void* storage, std::size_t& size) {
             return cub::DeviceSelect::Flagged(storage, size, in.data(), flags.data(), out.data(), count,
                                               static_cast<std::int64_t>(n), stream);
         })});
    run.measure({"selections", "f32", "select by flags" + variant, n, all + n + some}, {memory.out.data(), some},
                contenders);

    // CUB's keeps what is selected in order, and reverses the rest.
    contenders = copy_roofs(stream, in.data(), out.data(), multiple_of_16(all));
    contenders.push_back({"upsweep", "up::partition to two arrays", UPSWEEP_VERSION,
                          [=] { up::partition(gpu, in, below, out, rest, count); },
                          [=] { return is_right() && are_same(rest.data(), *others); }});
    contenders.push_back(
        {"cub", "DevicePartition::If", cub_version(), with_storage([=](void* storage, std::size_t& size) {
             return cub::DevicePartition::If(storage, size, in.data(), out.data(), count, static_cast<std::int64_t>(n),
                                             below, stream);
         })});
    run.measure({"selections", "f32", "partition" + variant, n, 2 * all}, {memory.out.data(), some}, contenders);
}

void measure_differences(session& run, const arrays& memory, std::size_t n)
{
    const up::cuda gpu(run.stream());
    const cudaStream_t stream = run.stream();
    const std::span<const float> in(memory.in.data<float>(), n);
    const std::span<float> out(memory.out.data<float>(), n);
    std::vector<contender> contenders = copy_roofs(stream, in.data(), out.data(), multiple_of_16(n * sizeof(float)));
    contenders.push_back({"upsweep", "up::adjacent_difference", UPSWEEP_VERSION,
                          [=] { up::adjacent_difference(gpu, in, out); },
                          [=] {
                              std::vector<float> expected = to_host(in.data(), n);
                              up::adjacent_difference(up::cpu{}, expected, expected);
                              return are_same(out.data(), expected);
                          }});
    contenders.push_back({"cub", "DeviceAdjacentDifference::SubtractLeftCopy", cub_version(),
                          with_storage([=](void* storage, std::size_t& size) {
                              return cub::DeviceAdjacentDifference::SubtractLeftCopy(
                                  storage, size, in.data(), out.data(), static_cast<std::int64_t>(n),
                                  cuda::std::minus<>{}, stream);
                          })});
    run.measure({"selections", "f32", "adjacent difference", n, 2 * n * sizeof(float)},
                {memory.out.data(), n * sizeof(float)}, contenders);
}

// Lines of 65536 elements, whose coefficients and inputs are from 0 to 1.
void measure_recurrence(session& run, const arrays& memory, std::size_t n)
{
    constexpr std::size_t length = 65536;
    if (n < length)
        return;
    const up::cuda gpu(run.stream());
    const std::array<std::size_t, 2> extents{n / length, length};
    const up::view<const float, 2> a(memory.in.data<float>(), extents);
    const up::view<float, 2> out(memory.out.data<float>(), extents);
    std::vector<contender> contenders =
        read_and_write_roofs(run.stream(), memory.in.data(), n * sizeof(float), memory.out.data(), n * sizeof(float));
    contenders.push_back({"upsweep", "up::linear_recurrence", UPSWEEP_VERSION,
                          [=] { up::linear_recurrence(gpu, a, a, out, up::axis{1}); },
                          [=] {
                              const std::vector<float> some = to_host(a.data(), length);
                              std::vector<float> expected(length);
                              const up::view<const float, 1> line(some.data(), {length});
                              up::linear_recurrence(up::cpu{}, line, line, up::view<float, 1>(expected), up::axis{0});
                              return are_same(out.data(), expected);
                          }});
    run.measure(
        {"selections", "f32", "linear recurrence of one array with itself, lines of 65536", n, 2 * n * sizeof(float)},
        {memory.out.data(), n * sizeof(float)}, contenders);
}

} // namespace

void measure_selections(session& run)
{
    if (!run.wants("selections", "f32"))
        return;
    const arrays memory(run.largest());
    for (const std::size_t n : run.sizes()) {
        for (const float share : {0.0F, 0.01F, 0.1F, 0.5F, 0.9F, 1.0F})
            measure_select(run, memory, n, share);
        measure_differences(run, memory, n);
        measure_recurrence(run, memory, n);
    }
}

} // namespace bench
