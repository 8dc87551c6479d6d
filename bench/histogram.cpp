// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>

#include <boost/histogram.hpp>
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

using counters = std::vector<std::uint64_t>;

enum class distribution { uniform, constant, skewed, sorted };

std::string_view name_of(distribution shape)
{
    constexpr std::string_view names[] = {"uniform", "constant", "skewed", "sorted"};
    return names[static_cast<std::size_t>(shape)];
}

// Samples in [0, bins), or in (0, 1) for floats. Skewed: the AND of three random words for integers, and the product of
// three numbers for floats.
template <class T>
void fill_samples(std::span<T> samples, distribution shape, std::size_t bins)
{
    random_numbers random;
    const auto draw = [&] {
        if constexpr (std::integral<T>)
            return static_cast<T>(random.next() % bins);
        else
            return (static_cast<T>(random.next() >> 41) + T{0.5}) * T{0x1p-23}; // all 24 bits, below 1
    };
    const T same = draw();
    for (T& sample : samples) {
        if (shape == distribution::constant)
            sample = same;
        else if (shape != distribution::skewed)
            sample = draw();
        else if constexpr (std::integral<T>)
            sample = static_cast<T>(draw() & draw() & draw());
        else
            sample = draw() * draw() * draw();
    }
    if (shape == distribution::sorted)
        std::ranges::sort(samples);
}

// A loop that a programmer would write: a table for every thread, added up at the end.
template <class T, class Bin>
counters plain_loop(std::span<const T> samples, std::size_t bins, Bin bin)
{
    return tbb::parallel_reduce(
        tbb::blocked_range<std::size_t>(0, samples.size(), std::size_t{1} << 20), counters(bins),
        [&](const tbb::blocked_range<std::size_t>& range, counters counts) {
            for (std::size_t i = range.begin(); i < range.end(); ++i)
                ++counts[bin(samples[i])];
            return counts;
        },
        [](counters a, const counters& b) {
            std::ranges::transform(a, b, a.begin(), std::plus<>{});
            return a;
        });
}

template <class T, class Axis>
counters boost_histogram(std::span<const T> samples, const Axis& axis)
{
    namespace bh = boost::histogram;
    auto histogram = bh::make_histogram_with(bh::dense_storage<std::uint64_t>{}, axis);
    histogram.fill(samples);
    counters counts;
    for (const auto& cell : bh::indexed(histogram))
        counts.push_back(*cell);
    return counts;
}

// The contenders that all kinds of bins have.
template <class T, class Bins, class Bin, class Axis, class Libupsweep>
void measure_counts(session& run, numpy_peer& numpy, const subject& what, const requirement& required,
                    std::span<const T> in, const Bins& bins, std::size_t count, Bin bin, const Axis& axis,
                    Libupsweep libupsweep, const std::string& numpy_call)
{
    // All edges here are floats, and so are the products that find a bin: every contender has the same counts.
    const counters expected = plain_loop(in, count, bin);
    counters counts(count);
    const auto spoil = [&] { std::ranges::fill(counts, std::numeric_limits<std::uint64_t>::max()); };
    const auto check = [&] { return counts == expected; };
    const versions& version = versions_in_use();

    std::vector<contender> contenders = read_roofs(std::as_bytes(in));
    contenders.push_back({"upsweep", "up::histogram", version.upsweep,
                          timed([&] { up::histogram(up::cpu{}, in, bins, counts); }), spoil, check});
    contenders.push_back({"upsweep", "libupsweep", version.upsweep, timed([&] {
                              std::ranges::fill(counts, 0); // the C ABI adds
                              upsweep_outside outside{};
                              libupsweep(counts.data(), &outside);
                          }),
                          spoil, check});
    contenders.push_back({"loop", "a table a thread", version.compiler,
                          timed([&] { counts = plain_loop(in, count, bin); }), spoil, check});
    contenders.push_back(
        {"boost", "histogram", version.boost, timed([&] { counts = boost_histogram(in, axis); }), spoil, check});
    numpy.set("x", std::string(names_of<T>().numpy), std::as_bytes(in));
    contenders.push_back(
        {"numpy", numpy_call.substr(0, numpy_call.find('(')), numpy.version(),
         [&](int calls) { return numpy.milliseconds("r = " + numpy_call, calls); },
         [&] { numpy.run("r = np.zeros(1)"); },
         [&] {
             return numpy.value("r.sum()") == static_cast<double>(in.size()) &&
                    std::ranges::all_of(std::array{std::size_t{0}, count / 2, count - 1}, [&](std::size_t k) {
                        return numpy.value(fmt::format("r[{}]", k)) == static_cast<double>(expected[k]);
                    });
         }});
    run.measure(what, required, std::move(contenders));
}

subject subject_of(std::string_view type, std::size_t size, std::size_t n, const std::string& bins, distribution shape)
{
    return {"histogram", std::string(type), fmt::format("{} {}", bins, name_of(shape)), n, n * size};
}

void measure_even_bins(session& run, numpy_peer& numpy, std::size_t n, distribution shape,
                       const requirement& required = {})
{
    const subject what = subject_of("f32", sizeof(float), n, "256 even bins", shape);
    if (!run.wants(what))
        return;
    buffer<float> memory(n);
    fill_samples(memory.span(), shape, 256);
    const std::span<const float> in = memory.span();
    namespace bh = boost::histogram;
    measure_counts(
        run, numpy, what, required, in, up::even_bins{0, 1, 256}, 256,
        [](float x) { return static_cast<std::size_t>(x * 256); },
        bh::axis::regular<float, bh::use_default, bh::use_default, bh::axis::option::none_t>(256, 0.0F, 1.0F),
        [&](std::uint64_t* counts, upsweep_outside* outside) {
            const auto size = static_cast<std::int64_t>(n);
            const std::int64_t bins = 256;
            const upsweep_array array = upsweep_array_of(in.data(), UPSWEEP_F32, &size);
            const upsweep_array results = upsweep_array_of(counts, UPSWEEP_U64, &bins);
            upsweep_histogram_even(nullptr, &array, 0, 1, &results, outside);
        },
        "np.histogram(x, bins=256, range=(0, 1))[0]");
}

void measure_edges(session& run, numpy_peer& numpy, std::size_t n)
{
    const subject what = subject_of("f32", sizeof(float), n, "256 bins by edges", distribution::uniform);
    if (!run.wants(what))
        return;
    buffer<float> memory(n);
    fill_samples(memory.span(), distribution::uniform, 256);
    const std::span<const float> in = memory.span();
    // Quadratic: narrow bins at the lower end, wide ones at the upper; all edges are floats.
    std::vector<double> edges(257);
    for (std::size_t k = 0; k < edges.size(); ++k)
        edges[k] = static_cast<double>(k * k) / 65536;
    namespace bh = boost::histogram;
    measure_counts(
        run, numpy, what, {}, in, up::edges(edges), 256,
        [&](float x) {
            return static_cast<std::size_t>(std::ranges::upper_bound(edges, static_cast<double>(x)) - edges.begin() -
                                            1);
        },
        bh::axis::variable<double, bh::use_default, bh::axis::option::none_t>(edges),
        [&](std::uint64_t* counts, upsweep_outside* outside) {
            const auto size = static_cast<std::int64_t>(n);
            const std::int64_t bins = 256;
            const upsweep_array array = upsweep_array_of(in.data(), UPSWEEP_F32, &size);
            const upsweep_array results = upsweep_array_of(counts, UPSWEEP_U64, &bins);
            upsweep_histogram_edges(nullptr, &array, edges.data(), edges.size(), &results, outside);
        },
        "np.histogram(x, bins=np.arange(257.0) ** 2 / 65536)[0]");
}

template <class T>
void measure_integers(session& run, numpy_peer& numpy, std::size_t n, std::size_t count, distribution shape,
                      const requirement& required = {})
{
    constexpr type_names names = names_of<T>();
    const subject what = subject_of(names.ours, sizeof(T), n, fmt::format("{} integer bins", count), shape);
    if (!run.wants(what))
        return;
    buffer<T> memory(n);
    fill_samples(memory.span(), shape, count);
    const std::span<const T> in = memory.span();
    const auto last = static_cast<double>(count);
    namespace bh = boost::histogram;
    measure_counts(
        run, numpy, what, required, in, up::integer_bins{0, count}, count,
        [](T x) { return static_cast<std::size_t>(x); },
        bh::axis::integer<int, bh::use_default, bh::axis::option::none_t>(0, static_cast<int>(count)),
        [&](std::uint64_t* counts, upsweep_outside* outside) {
            const auto size = static_cast<std::int64_t>(n);
            const auto bins = static_cast<std::int64_t>(count);
            const upsweep_array array = upsweep_array_of(in.data(), names.dtype, &size);
            const upsweep_array results = upsweep_array_of(counts, UPSWEEP_U64, &bins);
            upsweep_histogram_even(nullptr, &array, 0, last, &results, outside);
        },
        fmt::format("np.bincount(x, minlength={})", count));
}

} // namespace

void measure_histogram(session& run, numpy_peer& numpy)
{
    using enum distribution;
    const std::size_t n = run.chosen().n;
    const requirement f32_rate{.samples_per_second = 2e9};
    const requirement u8_rate{.samples_per_second = 4e9};
    measure_even_bins(run, numpy, n, uniform, f32_rate);
    measure_even_bins(run, numpy, n, constant, f32_rate);
    measure_even_bins(run, numpy, n, skewed);
    measure_even_bins(run, numpy, n, sorted);
    for (const distribution shape : {uniform, constant, skewed, sorted})
        measure_integers<std::uint8_t>(run, numpy, n, 256, shape, u8_rate);
    for (const std::size_t count : {256, 2048, 65536})
        for (const distribution shape : {uniform, constant, skewed})
            measure_integers<std::int32_t>(run, numpy, n, count, shape);
    measure_edges(run, numpy, n);
    measure_even_bins(run, numpy, 1000, uniform, {.microseconds = 2});
}

} // namespace bench
