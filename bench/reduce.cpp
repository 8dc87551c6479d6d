// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <execution>
#include <limits>
#include <memory>
#include <numeric>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#include <upsweep/runtime.h>
#include <upsweep/upsweep.hpp>

#include "buffer.hpp"
#include "contenders.hpp"
#include "input.hpp"

namespace up = upsweep;

namespace bench {
namespace {

// What a peer must accumulate in for the result to be right.
template <class T>
using peer_sum_t = std::conditional_t<up::sub_word_float<T>, float,
                                      std::conditional_t<std::integral<T> && sizeof(T) < 4, std::int64_t, T>>;

// The sum in long double, and the sum of the magnitudes, which bounds the error of any order of additions.
template <class T>
struct expected_sum {
    long double value = 0;
    long double magnitude = 0;
    std::uint64_t wrapped = 0;

    explicit expected_sum(std::span<const T> in)
    {
        for (const T x : in) {
            if constexpr (std::integral<T>) {
                wrapped += static_cast<std::uint64_t>(x);
            } else {
                value += static_cast<float>(x) == x ? static_cast<float>(x) : static_cast<double>(x);
                magnitude += std::abs(static_cast<double>(x));
            }
        }
    }

    // Integers are compared modulo the width of the accumulator that was used.
    template <class Result>
    bool matches(Result result) const
    {
        if constexpr (std::integral<Result>)
            return static_cast<Result>(wrapped) == result;
        else
            return std::abs(static_cast<long double>(result) - value) <= 1e-5L * magnitude;
    }
};

template <class T>
T tbb_sum(std::span<const T> in)
{
    return tbb::parallel_reduce(
        tbb::blocked_range<const T*>(in.data(), in.data() + in.size()), T{},
        [](const tbb::blocked_range<const T*>& range, T sum) {
#pragma omp simd reduction(+ : sum)
            for (const T* x = range.begin(); x < range.end(); ++x)
                sum += *x;
            return sum;
        },
        std::plus<>{});
}

template <class T>
void measure_sum(session& run, numpy_peer& numpy, std::size_t n, const requirement& required = {})
{
    constexpr type_names names = names_of<T>();
    const subject what{"reduce", std::string(names.ours), "sum", n, n * sizeof(T)};
    if (!run.wants(what))
        return;

    using sum = up::accumulator_t<up::plus, T>;
    using peer_sum = peer_sum_t<T>;
    buffer<T> memory(n);
    fill_for_folds(memory.span());
    const std::span<const T> in = memory.span();
    const expected_sum<T> expected(in);

    sum ours{};
    peer_sum theirs{};
    const auto spoil = [&] {
        ours = static_cast<sum>(-1);
        theirs = static_cast<peer_sum>(-1);
    };
    const auto check_ours = [&] { return expected.matches(ours); };
    const auto check_theirs = [&] { return expected.matches(theirs); };
    const versions& version = versions_in_use();

    const auto count = static_cast<std::int64_t>(n);
    const std::int64_t one = 1;
    const upsweep_array array = upsweep_array_of(in.data(), names.dtype, &count);
    upsweep_dtype result_dtype{};
    upsweep_reduce_dtype(UPSWEEP_PLUS, names.dtype, &result_dtype);
    const upsweep_array result = upsweep_array_of(&ours, result_dtype, &one);
    std::vector<contender> contenders = read_roofs(std::as_bytes(in));
    contenders.push_back({"upsweep", "up::reduce", version.upsweep,
                          timed([&] { ours = up::reduce(up::cpu{}, in, up::plus{}); }), spoil, check_ours});
    contenders.push_back({"upsweep", "libupsweep", version.upsweep,
                          timed([&] { upsweep_reduce(nullptr, UPSWEEP_PLUS, &array, &result); }), spoil, check_ours});
    contenders.push_back({"std", "reduce(par_unseq)", version.compiler, timed([&] {
                              if constexpr (up::sub_word_float<T>)
                                  theirs =
                                      std::transform_reduce(std::execution::par_unseq, in.begin(), in.end(), 0.0F,
                                                            std::plus<>{}, [](T x) { return static_cast<float>(x); });
                              else
                                  theirs = std::reduce(std::execution::par_unseq, in.begin(), in.end(), peer_sum{});
                          }),
                          spoil, check_theirs});
    if constexpr (std::same_as<T, peer_sum>)
        contenders.push_back(
            {"tbb", "parallel_reduce", version.tbb, timed([&] { theirs = tbb_sum(in); }), spoil, check_theirs});
    if constexpr (!names.numpy.empty()) {
        // NumPy sums f16 in f16, which overflows: it is told to use f32.
        numpy.set("x", std::string(names.numpy), std::as_bytes(in));
        const std::string call = up::sub_word_float<T> ? "np.sum(x, dtype='f4')" : "np.sum(x)";
        contenders.push_back({"numpy", call, numpy.version(),
                              [&numpy, call](int calls) { return numpy.milliseconds("r = " + call, calls); },
                              [&numpy] { numpy.run("r = None"); },
                              [&] {
                                  const double value = numpy.value("float(r)");
                                  if constexpr (std::integral<T>)
                                      return value == static_cast<double>(static_cast<std::int64_t>(expected.wrapped));
                                  else
                                      return expected.matches(value);
                              }});
    }
    run.measure(what, required, std::move(contenders));
}

void measure_minimum(session& run, numpy_peer& numpy, std::size_t n)
{
    const subject what{"reduce", "f32", "min", n, n * sizeof(float)};
    if (!run.wants(what))
        return;

    buffer<float> memory(n);
    fill_for_folds(memory.span());
    const std::span<const float> in = memory.span();
    const float expected = *std::ranges::min_element(in);

    float result = 0;
    const auto spoil = [&] { result = std::numeric_limits<float>::quiet_NaN(); };
    const auto check = [&] { return result == expected; };
    const versions& version = versions_in_use();

    const auto count = static_cast<std::int64_t>(n);
    const std::int64_t one = 1;
    const upsweep_array array = upsweep_array_of(in.data(), UPSWEEP_F32, &count);
    const upsweep_array lowest = upsweep_array_of(&result, UPSWEEP_F32, &one);
    std::vector<contender> contenders = read_roofs(std::as_bytes(in));
    contenders.push_back({"upsweep", "up::reduce", version.upsweep,
                          timed([&] { result = up::reduce(up::cpu{}, in, up::minimum{}); }), spoil, check});
    contenders.push_back({"upsweep", "libupsweep", version.upsweep,
                          timed([&] { upsweep_reduce(nullptr, UPSWEEP_MINIMUM, &array, &lowest); }), spoil, check});
    contenders.push_back({"std", "reduce(par_unseq)", version.compiler, timed([&] {
                              result = std::reduce(std::execution::par_unseq, in.begin(), in.end(), in.front(),
                                                   [](float a, float b) { return b < a ? b : a; });
                          }),
                          spoil, check});
    numpy.set("x", "f4", std::as_bytes(in));
    contenders.push_back({"numpy", "np.min(x)", numpy.version(),
                          [&](int calls) { return numpy.milliseconds("r = np.min(x)", calls); },
                          [&] { numpy.run("r = None"); }, [&] { return numpy.value("r") == expected; }});
    run.measure(what, {}, std::move(contenders));
}

} // namespace

void measure_reduce(session& run, numpy_peer& numpy)
{
    const std::size_t n = run.chosen().n;
    const requirement at_the_roof{.share_of_roof = 0.95};
    measure_sum<std::int8_t>(run, numpy, n);
    measure_sum<std::int16_t>(run, numpy, n);
    measure_sum<std::int32_t>(run, numpy, n, at_the_roof);
    measure_sum<std::int64_t>(run, numpy, n);
    measure_sum<up::f16>(run, numpy, n);
    measure_sum<up::bf16>(run, numpy, n);
    measure_sum<float>(run, numpy, n, at_the_roof);
    measure_sum<double>(run, numpy, n, at_the_roof);
    measure_minimum(run, numpy, n);
    measure_sum<float>(run, numpy, 1000, {.microseconds = 2});
    for (std::size_t size = 1 << 10; run.chosen().sweep && size < n; size *= 2)
        measure_sum<float>(run, numpy, size, {});
}

} // namespace bench
