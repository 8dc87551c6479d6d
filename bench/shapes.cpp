// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <upsweep/upsweep.hpp>

#include "buffer.hpp"
#include "contenders.hpp"
#include "input.hpp"

namespace up = upsweep;

namespace bench {
namespace {

// An array of outer x length x inner elements, folded along the middle.
struct line_shape {
    std::size_t outer;
    std::size_t length;
    std::size_t inner;

    std::size_t lines() const { return outer * inner; }
    std::size_t size() const { return lines() * length; }
    std::size_t at(std::size_t line, std::size_t i) const { return (line / inner * length + i) * inner + line % inner; }
    std::string name() const { return fmt::format("{} x {} x {}", outer, length, inner); }
};

// Rows and columns, short and long, few and many, of a length that is no power of two, and of rows that lie a power of two apart. Of a small n few are left.
std::vector<line_shape> shapes_of(std::size_t n)
{
    std::vector<line_shape> all;
    for (const line_shape& shape : {line_shape{n / 16, 16, 1},
                                    {n / 100, 100, 1},
                                    {n / 1000, 1000, 1},
                                    {n >> 13, 8192, 1},
                                    {32, n / 32, 1},
                                    {1, n / 2, 2},
                                    {1, n / 16, 16},
                                    {1, n / 100, 100},
                                    {1, n >> 9, 512},
                                    {1, n / 1000, 1000},
                                    {1, n >> 10, 1024},
                                    {1, n >> 13, 8192},
                                    {1, 32, n / 32},
                                    {n >> 16, 256, 256}})
        if (shape.size() != 0)
            all.push_back(shape);
    return all;
}

// The sums of some lines, as no contender computes them.
class expected_line_sums {
public:
    expected_line_sums(std::span<const float> in, const line_shape& shape)
    {
        const std::size_t step = shape.lines() / 100 + 1;
        for (std::size_t line = 0; line < shape.lines(); line += step) {
            sum one{line, 0, 0};
            for (std::size_t i = 0; i < shape.length; ++i) {
                one.value += in[shape.at(line, i)];
                one.magnitude += std::abs(in[shape.at(line, i)]);
            }
            sums_.push_back(one);
        }
    }

    // Whether the sums are at place(line).
    template <class Place>
    bool are_at(const float* out, Place place) const
    {
        return std::ranges::all_of(sums_, [&](const sum& one) {
            return std::abs(static_cast<double>(out[place(one.line)] - one.value)) <= 1e-5 * one.magnitude;
        });
    }

private:
    struct sum {
        std::size_t line;
        long double value;
        double magnitude;
    };
    std::vector<sum> sums_;
};

void measure_lines(session& run, numpy_peer& numpy, const line_shape& shape)
{
    const std::size_t n = shape.size();
    const subject sum{.algorithm = "reduce",
                      .type = "f32",
                      .variant = "sum along the middle axis of " + shape.name(),
                      .n = n,
                      .bytes = (n + shape.lines()) * sizeof(float),
                      .op = "plus"};
    const subject scan{.algorithm = "scan",
                       .type = "f32",
                       .variant = "inclusive sum along the middle axis of " + shape.name(),
                       .n = n,
                       .bytes = 2 * n * sizeof(float),
                       .op = "plus"};
    if (!run.wants(sum) && !run.wants(scan))
        return;
    buffer<float> in_memory(n);
    buffer<float> out_memory(n);
    fill_for_folds(in_memory.span());
    const std::span<const float> in = in_memory.span();
    const std::span<float> out = out_memory.span();
    const up::view<const float, 3> from(in.data(), {shape.outer, shape.length, shape.inner});
    const expected_line_sums expected(in, shape);
    const auto spoil = [&] { std::memset(out.data(), 0xa5, out.size_bytes()); };
    numpy.set("x", "float32", std::as_bytes(in));
    numpy.run(fmt::format("x = x.reshape({}, {}, {}); y = np.ones_like(x)", shape.outer, shape.length, shape.inner));

    const auto versus_numpy = [&](const subject& what, std::vector<contender> contenders, auto call, auto place,
                                  const std::string& call_name, const std::string& statement) {
        if (!run.wants(what))
            return;
        contenders.push_back({"upsweep", call_name, versions_in_use().upsweep, timed(call), spoil,
                              [&expected, out, place] { return expected.are_at(out.data(), place); }});
        contenders.push_back(
            {"numpy", statement, numpy.version(), [&](int calls) { return numpy.milliseconds(statement, calls); }});
        run.measure(what, {}, std::move(contenders));
    };
    versus_numpy(
        sum, read_roofs(std::as_bytes(in)),
        [&] {
            up::reduce(up::cpu{}, from, up::axis{1}, up::view<float, 2>(out.data(), {shape.outer, shape.inner}),
                       up::plus{});
        },
        [](std::size_t line) { return line; }, "up::reduce", "x.sum(axis=1)");
    versus_numpy(
        scan, copy_roofs(std::as_bytes(in), std::as_writable_bytes(out)),
        [&] {
            up::inclusive_scan(up::cpu{}, from, up::axis{1},
                               up::view<float, 3>(out.data(), {shape.outer, shape.length, shape.inner}), up::plus{});
        },
        [shape](std::size_t line) { return shape.at(line, shape.length - 1); }, "up::inclusive_scan",
        "np.cumsum(x, axis=1, out=y)");
}

// Floats in segments of random lengths below 2 * mean.
class random_segments {
public:
    random_segments(std::size_t n, std::size_t mean) : elements_(n)
    {
        fill_for_folds(elements_.span());
        random_numbers random;
        while (static_cast<std::size_t>(offsets_.back()) < n) {
            const auto length = 1 + static_cast<std::size_t>(random.uniform() * static_cast<double>(2 * mean - 1));
            offsets_.push_back(
                static_cast<std::int64_t>(std::min(n, static_cast<std::size_t>(offsets_.back()) + length)));
        }
    }

    std::span<const float> elements() const { return elements_.span(); }
    const std::vector<std::int64_t>& offsets() const { return offsets_; }

private:
    buffer<float> elements_;
    std::vector<std::int64_t> offsets_{0};
};

void measure_segments(session& run, numpy_peer& numpy, std::size_t n, std::size_t mean)
{
    const subject what{.algorithm = "segments",
                       .type = "f32",
                       .variant = fmt::format("sums of segments of {} on average", mean),
                       .n = n,
                       .bytes = n * sizeof(float) + n / mean * (sizeof(std::int64_t) + sizeof(float)),
                       .op = "plus"};
    if (!run.wants(what))
        return;
    const random_segments segments(n, mean);
    const std::span<const float> in = segments.elements();
    const std::vector<std::int64_t>& offsets = segments.offsets();
    std::vector<float> sums(offsets.size() - 1);
    const auto spoil = [&] { std::ranges::fill(sums, std::numeric_limits<float>::quiet_NaN()); };
    const auto check = [&] {
        for (std::size_t k = 0; k < sums.size(); k += sums.size() / 100 + 1) {
            long double sum = 0;
            long double magnitude = 0;
            for (auto i = offsets[k]; i < offsets[k + 1]; ++i) {
                sum += in[static_cast<std::size_t>(i)];
                magnitude += std::abs(in[static_cast<std::size_t>(i)]);
            }
            if (!(std::abs(sums[k] - sum) <= 1e-5L * magnitude))
                return false;
        }
        return true;
    };
    std::vector<contender> contenders = read_roofs(std::as_bytes(in));
    contenders.push_back({"upsweep", "up::segmented_reduce", versions_in_use().upsweep,
                          timed([&] { up::segmented_reduce(up::cpu{}, in, offsets, sums, up::plus{}); }), spoil,
                          check});
    numpy.set("x", "float32", std::as_bytes(in));
    numpy.set("o", "int64", std::as_bytes(std::span(offsets).first(offsets.size() - 1)));
    contenders.push_back({"numpy", "np.add.reduceat(x, o)", numpy.version(),
                          [&](int calls) { return numpy.milliseconds("np.add.reduceat(x, o)", calls); }});
    run.measure(what, {}, std::move(contenders));
}

void measure_scans_of_segments(session& run, std::size_t n, std::size_t mean)
{
    const subject what{.algorithm = "segments",
                       .type = "f32",
                       .variant = fmt::format("inclusive scans of segments of {} on average", mean),
                       .n = n,
                       .bytes = 2 * n * sizeof(float) + n / mean * sizeof(std::int64_t),
                       .op = "plus"};
    if (!run.wants(what))
        return;
    const random_segments segments(n, mean);
    const std::span<const float> in = segments.elements();
    const std::vector<std::int64_t>& offsets = segments.offsets();
    buffer<float> memory(n);
    const std::span<float> out = memory.span();
    const auto spoil = [&] { std::ranges::fill(out, std::numeric_limits<float>::quiet_NaN()); };
    const auto check = [&] {
        for (std::size_t k = 0; k + 1 < offsets.size(); k += offsets.size() / 100 + 1) {
            long double sum = 0;
            long double magnitude = 0;
            for (auto i = static_cast<std::size_t>(offsets[k]); i < static_cast<std::size_t>(offsets[k + 1]); ++i) {
                sum += in[i];
                magnitude += std::abs(in[i]);
                if (!(std::abs(out[i] - sum) <= 1e-5L * magnitude))
                    return false;
            }
        }
        return true;
    };
    std::vector<contender> contenders = copy_roofs(std::as_bytes(in), std::as_writable_bytes(out));
    contenders.push_back({"upsweep", "up::segmented_inclusive_scan", versions_in_use().upsweep,
                          timed([&] { up::segmented_inclusive_scan(up::cpu{}, in, offsets, out, up::plus{}); }), spoil,
                          check});
    contenders.push_back({"loop", "one thread", versions_in_use().compiler, timed([&] {
                              for (std::size_t k = 0; k + 1 < offsets.size(); ++k) {
                                  float sum = 0;
                                  for (auto i = static_cast<std::size_t>(offsets[k]);
                                       i < static_cast<std::size_t>(offsets[k + 1]); ++i)
                                      out[i] = sum += in[i];
                              }
                          })});
    run.measure(what, {}, std::move(contenders));
}

void measure_runs(session& run, std::size_t n, std::size_t length)
{
    const subject what{.algorithm = "runs",
                       .type = "i32",
                       .variant = fmt::format("run_length_encode, runs of {} on average", length),
                       .n = n,
                       .bytes = n * sizeof(int) + n / length * 2 * sizeof(int)};
    if (!run.wants(what))
        return;
    random_numbers random;
    buffer<int> memory(n);
    std::size_t runs = 0;
    for (std::size_t i = 0, left = 0; i < n; ++i, --left) {
        if (left == 0) {
            left = 1 + static_cast<std::size_t>(random.uniform() * static_cast<double>(2 * length - 1));
            ++runs;
        }
        memory.span()[i] = static_cast<int>(runs);
    }
    const std::span<const int> in = memory.span();
    std::vector<int> values(runs);
    std::vector<int> lengths(runs);
    std::size_t found = 0;
    const auto spoil = [&] {
        std::ranges::fill(values, 0);
        std::ranges::fill(lengths, 0);
        found = 0;
    };
    const auto check = [&] { // the keys count the runs
        std::size_t elements = 0;
        for (std::size_t k = 0; k < runs; ++k) {
            elements += static_cast<std::size_t>(lengths[k]);
            if (values[k] != static_cast<int>(k + 1))
                return false;
        }
        return found == runs && elements == n;
    };
    std::vector<contender> contenders = read_roofs(std::as_bytes(in));
    contenders.push_back({"upsweep", "up::run_length_encode", versions_in_use().upsweep,
                          timed([&] { up::run_length_encode(up::cpu{}, in, values, lengths, &found); }), spoil, check});
    contenders.push_back({"loop", "one thread", versions_in_use().compiler, timed([&] {
                              std::size_t k = 0;
                              for (std::size_t i = 0, first = 0; i < n; ++i)
                                  if (i + 1 == n || in[i + 1] != in[i]) {
                                      values[k] = in[i];
                                      lengths[k++] = static_cast<int>(i + 1 - first);
                                      first = i + 1;
                                  }
                              found = k;
                          }),
                          spoil, check});
    run.measure(what, {}, std::move(contenders));
}

} // namespace

void measure_shapes(session& run, numpy_peer& numpy)
{
    const std::size_t n = run.chosen().n;
    for (const line_shape& shape : shapes_of(n))
        measure_lines(run, numpy, shape);
    for (const std::size_t mean : {1, 8, 64, 1000})
        measure_segments(run, numpy, n, mean);
    for (const std::size_t mean : {1, 8, 64, 1000})
        measure_scans_of_segments(run, n, mean);
    for (const std::size_t length : {1, 8, 64, 4096})
        measure_runs(run, n, length);
}

} // namespace bench
