// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The calls of one element type, which the build names: UPSWEEP_BENCH_ELEMENT and UPSWEEP_BENCH_DTYPE.
#include <cstdint>
#include <span>

#include <upsweep/upsweep.hpp>

#include "c_abi.hpp"
#include "device.hpp"
#include "generated.cuh"

namespace bench::c_abi {

namespace {

namespace up = upsweep;
using element = UPSWEEP_BENCH_ELEMENT;
constexpr upsweep_dtype dtype = UPSWEEP_BENCH_DTYPE;

__global__ void fill_kernel(element* out, std::size_t n)
{
    for (std::size_t i = std::size_t{blockIdx.x} * block + threadIdx.x; i < n; i += std::size_t{grid} * block)
        if constexpr (std::integral<element>)
            out[i] = static_cast<element>(scattered(i));
        else
            out[i] = static_cast<element>(small_float(scattered(i)));
}

// An array in memory of the GPU that keeps its shape.
struct device_array {
    device_array(const void* data, upsweep_dtype type, std::size_t n) : count(static_cast<std::int64_t>(n))
    {
        array = upsweep_array_of(data, type, nullptr);
        array.memory = UPSWEEP_DEVICE;
    }
    const upsweep_array* get()
    {
        array.shape = &count;
        return &array;
    }

    std::int64_t count;
    upsweep_array array;
};

template <class Op>
pair_of_calls reduction(const up::cuda& gpu, upsweep_context* context, const element* in, std::size_t n,
                        const char* name, upsweep_op number)
{
    using total = up::result_t<Op, element>;
    return {name, n * sizeof(element), sizeof(total),
            [=](void* result) { up::reduce(gpu, std::span(in, n), static_cast<total*>(result), Op{}); },
            [=](void* result) {
                device_array from(in, dtype, n);
                upsweep_dtype kind{};
                upsweep_reduce_dtype(number, dtype, &kind);
                device_array to(result, kind, 1);
                return upsweep_reduce(context, number, from.get(), to.get());
            }};
}

template <class Op>
pair_of_calls scan(const up::cuda& gpu, upsweep_context* context, const element* in, std::size_t n, const char* name,
                   upsweep_op number, bool exclusive)
{
    return {name, 2 * n * sizeof(element), n * sizeof(element),
            [=](void* result) {
                const std::span out(static_cast<element*>(result), n);
                if (exclusive)
                    up::exclusive_scan(gpu, std::span(in, n), out, Op{});
                else
                    up::inclusive_scan(gpu, std::span(in, n), out, Op{});
            },
            [=](void* result) {
                device_array from(in, dtype, n);
                device_array to(result, dtype, n);
                return upsweep_scan(context, number, exclusive, from.get(), to.get(), nullptr);
            }};
}

pair_of_calls histogram(const up::cuda& gpu, upsweep_context* context, const element* in, std::size_t n)
{
    constexpr std::size_t bins = 256;
    constexpr double lo = std::integral<element> && sizeof(element) > 1 ? -30000 : -128;
    return {"histogram", n * sizeof(element), (bins + 3) * sizeof(std::uint64_t),
            [=](void* result) {
                auto* const counts = static_cast<std::uint64_t*>(result);
                up::histogram_accumulate(gpu, std::span(in, n), up::even_bins{lo, -lo, bins}, std::span(counts, bins),
                                         reinterpret_cast<up::outside*>(counts + bins));
            },
            [=](void* result) {
                auto* const counts = static_cast<std::uint64_t*>(result);
                device_array from(in, dtype, n);
                device_array to(counts, UPSWEEP_U64, bins);
                return upsweep_histogram_even(context, from.get(), lo, -lo, to.get(),
                                              reinterpret_cast<upsweep_outside*>(counts + bins));
            }};
}

void run(cudaStream_t stream, upsweep_context* context, const std::vector<std::size_t>& sizes, const measure& each)
{
    const up::cuda gpu(stream);
    const device_memory memory(sizes.back() * sizeof(element));
    fill_kernel<<<grid, block, 0, stream>>>(memory.data<element>(), sizes.back());
    check(cudaGetLastError(), "fill_kernel");
    const auto* const in = memory.data<const element>();
    for (const std::size_t n : sizes)
        each(upsweep_dtype_name(dtype), n,
             {reduction<up::plus>(gpu, context, in, n, "sum", UPSWEEP_PLUS),
              reduction<up::minimum>(gpu, context, in, n, "min", UPSWEEP_MINIMUM),
              reduction<up::maximum>(gpu, context, in, n, "max", UPSWEEP_MAXIMUM),
              scan<up::plus>(gpu, context, in, n, "inclusive sum", UPSWEEP_PLUS, false),
              scan<up::plus>(gpu, context, in, n, "exclusive sum", UPSWEEP_PLUS, true),
              scan<up::maximum>(gpu, context, in, n, "inclusive max", UPSWEEP_MAXIMUM, false),
              histogram(gpu, context, in, n)});
}

const registered here(run);

} // namespace

} // namespace bench::c_abi
