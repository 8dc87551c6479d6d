// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <execution>
#include <numeric>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_scan.h>
#include <upsweep/runtime.h>
#include <upsweep/upsweep.hpp>

#include "buffer.hpp"
#include "contenders.hpp"
#include "input.hpp"
#include "neighbours.hpp"

namespace up = upsweep;

namespace bench {
namespace {

// What a running sum must be at some tens of thousands of positions, the last one among them; all of a small array.
template <class T>
class expected_sums {
public:
    explicit expected_sums(std::span<const T> in) : step_(in.size() / 50'000 + 1)
    {
        std::conditional_t<std::integral<T>, std::uint64_t, long double> sum = 0;
        long double magnitude = 0;
        for (std::size_t i = 0; i < in.size(); ++i) {
            sum += static_cast<decltype(sum)>(in[i]);
            magnitude += std::abs(static_cast<long double>(in[i]));
            if (is_sample(i, in.size()))
                samples_.push_back({i, static_cast<T>(sum), std::integral<T> ? 0 : 1e-6L * magnitude});
        }
    }

    void spoil(T* out) const
    {
        for (const sample& one : samples_)
            std::memset(&out[one.position], 0xa5, sizeof(T));
    }

    bool matches(const T* out) const
    {
        return std::ranges::all_of(samples_, [&](const sample& one) {
            return std::abs(static_cast<long double>(out[one.position]) - one.value) <= one.tolerance;
        });
    }

    bool last_matches(double value) const
    {
        const sample& last = samples_.back();
        return std::abs(value - static_cast<double>(last.value)) <= last.tolerance;
    }

private:
    struct sample {
        std::size_t position;
        T value;
        long double tolerance;
    };

    bool is_sample(std::size_t i, std::size_t n) const { return i % step_ == 0 || i + 1 == n; }

    std::size_t step_;
    std::vector<sample> samples_;
};

template <class T>
void tbb_scan(std::span<const T> in, std::span<T> out)
{
    tbb::parallel_scan(
        tbb::blocked_range<std::size_t>(0, in.size(), std::size_t{1} << 16), T{},
        [&](const tbb::blocked_range<std::size_t>& range, T sum, bool is_final) {
            for (std::size_t i = range.begin(); i < range.end(); ++i) {
                sum += in[i];
                if (is_final)
                    out[i] = sum;
            }
            return sum;
        },
        std::plus<>{});
}

template <class T>
void measure_sums(session& run, numpy_peer& numpy, std::size_t n, const requirement& required = {})
{
    constexpr type_names names = names_of<T>();
    const subject what{.algorithm = "scan",
                       .type = std::string(names.ours),
                       .variant = "inclusive sum",
                       .n = n,
                       .bytes = 2 * n * sizeof(T),
                       .op = "plus"};
    if (!run.wants(what))
        return;

    buffer<T> in_memory(n);
    buffer<T> out_memory(n);
    fill_for_folds(in_memory.span());
    const std::span<const T> in = in_memory.span();
    const std::span<T> out = out_memory.span();
    std::memset(out.data(), 0xa5, out.size_bytes());
    const expected_sums<T> expected(in);

    const auto spoil = [&] { expected.spoil(out.data()); };
    const auto check = [&] { return expected.matches(out.data()); };
    const versions& version = versions_in_use();

    const auto count = static_cast<std::int64_t>(n);
    const upsweep_array from = upsweep_array_of(in.data(), names.dtype, &count);
    const upsweep_array to = upsweep_array_of(out.data(), names.dtype, &count);
    std::vector<contender> contenders = copy_roofs(std::as_bytes(in), std::as_writable_bytes(out));
    contenders.push_back({"upsweep", "up::inclusive_scan", version.upsweep,
                          timed([&] { up::inclusive_scan(up::cpu{}, in, out, up::plus{}); }), spoil, check});
    contenders.push_back({"upsweep", "libupsweep", version.upsweep,
                          timed([&] { upsweep_scan(nullptr, UPSWEEP_PLUS, false, &from, &to, nullptr); }), spoil,
                          check});
    contenders.push_back({"std", "inclusive_scan(par_unseq)", version.compiler, timed([&] {
                              std::inclusive_scan(std::execution::par_unseq, in.begin(), in.end(), out.begin());
                          }),
                          spoil, check});
    contenders.push_back({"tbb", "parallel_scan", version.tbb, timed([&] { tbb_scan(in, out); }), spoil, check});
    numpy.set("x", std::string(names.numpy), std::as_bytes(in));
    numpy.run("y = np.ones_like(x)");
    contenders.push_back({"numpy", "np.cumsum(x, out=y)", numpy.version(),
                          [&](int calls) { return numpy.milliseconds("np.cumsum(x, dtype=x.dtype, out=y)", calls); },
                          [&] { numpy.run("y[-1] = 0"); },
                          [&] { return expected.last_matches(numpy.value("y[-1]")); }});
    run.measure(what, required, std::move(contenders));
}

// The input is laid anew before every call, outside the time.
void measure_in_place(session& run, std::size_t n)
{
    const subject what{.algorithm = "scan",
                       .type = "f32",
                       .variant = "inclusive sum in place",
                       .n = n,
                       .bytes = 2 * n * sizeof(float),
                       .op = "plus"};
    if (!run.wants(what))
        return;

    buffer<float> in_memory(n);
    buffer<float> memory(n);
    fill_for_folds(in_memory.span());
    const std::span<const float> in = in_memory.span();
    const std::span<float> data = memory.span();
    const expected_sums<float> expected(in);

    const auto check = [&] { return expected.matches(data.data()); };
    const auto on_fresh_input = [&](auto scan) {
        return [&, scan](int calls) {
            double total = 0;
            for (int call = 0; call < calls; ++call) {
                std::memcpy(data.data(), in.data(), in.size_bytes());
                total += timed(scan)(1);
            }
            return total / calls;
        };
    };
    const versions& version = versions_in_use();

    const auto count = static_cast<std::int64_t>(n);
    const upsweep_array array = upsweep_array_of(data.data(), UPSWEEP_F32, &count);
    std::vector<contender> contenders = update_roofs(std::as_writable_bytes(data));
    contenders.push_back({"upsweep", "up::inclusive_scan", version.upsweep,
                          on_fresh_input([&] { up::inclusive_scan(up::cpu{}, data, data, up::plus{}); }), [] {},
                          check});
    contenders.push_back({"upsweep", "libupsweep", version.upsweep,
                          on_fresh_input([&] { upsweep_scan(nullptr, UPSWEEP_PLUS, false, &array, &array, nullptr); }),
                          [] {}, check});
    contenders.push_back({"std", "inclusive_scan(par_unseq)", version.compiler, on_fresh_input([&] {
                              std::inclusive_scan(std::execution::par_unseq, data.begin(), data.end(), data.begin());
                          }),
                          [] {}, check});
    run.measure(what, {}, std::move(contenders));
}

// What users differ in beside the type and the size: where their arrays begin, the operator, and what else runs.
struct circumstances {
    std::string name;
    std::size_t offset_in = 0; // bytes
    std::size_t offset_out = 0;
    std::string neighbours = {};
    int threads = 0; // 0: one a core
};

template <class T, class Op>
void measure_in(session& run, std::size_t n, const circumstances& there, const Op& op, const std::string& op_name)
{
    const subject what{"scan",
                       std::string(names_of<T>().ours),
                       "inclusive " + op_name + there.name,
                       n,
                       2 * n * sizeof(T),
                       there.offset_in,
                       there.offset_out,
                       op_name,
                       there.neighbours};
    if (!run.wants(what))
        return;

    constexpr std::size_t room = 64 / sizeof(T);
    buffer<T> in_memory(n + room);
    buffer<T> out_memory(n + room);
    fill_for_folds(in_memory.span());
    const std::span<const T> in = in_memory.span().subspan(there.offset_in / sizeof(T), n);
    const std::span<T> out = out_memory.span().subspan(there.offset_out / sizeof(T), n);
    std::vector<T> expected(n); // by one thread alone, which other tests compare with references
    up::inclusive_scan(up::cpu{1}, in, std::span(expected), op);

    const auto spoil = [&] { std::memset(out.data(), 0xa5, out.size_bytes()); };
    const auto check = [&] { return std::memcmp(out.data(), expected.data(), out.size_bytes()) == 0; };
    double tolerance = 0; // of sums in another order
    if constexpr (std::is_floating_point_v<T> && std::is_same_v<Op, up::plus>)
        for (const T element : in)
            tolerance += 1e-6 * std::abs(static_cast<double>(element));
    const auto is_near = [&] {
        return std::ranges::equal(out, expected, [&](T a, T b) {
            return std::abs(static_cast<double>(a) - static_cast<double>(b)) <= tolerance;
        });
    };
    // The roof is that of aligned arrays.
    std::vector<contender> contenders =
        copy_roofs(std::as_bytes(in_memory.span().first(n)), std::as_writable_bytes(out_memory.span().first(n)));
    contenders.push_back({"upsweep", "up::inclusive_scan", versions_in_use().upsweep,
                          timed([&] { up::inclusive_scan(up::cpu{there.threads}, in, out, op); }), spoil, check});
    contenders.push_back({"std", "inclusive_scan(par_unseq)", versions_in_use().compiler, timed([&] {
                              std::inclusive_scan(std::execution::par_unseq, in.begin(), in.end(), out.begin(), op);
                          }),
                          spoil, is_near});
    if constexpr (std::is_same_v<Op, up::plus>)
        contenders.push_back(
            {"tbb", "parallel_scan", versions_in_use().tbb, timed([&] { tbb_scan(in, out); }), spoil, is_near});
    run.measure(what, {}, std::move(contenders));
}

void measure_circumstances(session& run, std::size_t n)
{
    const auto of_f32 = [&](const circumstances& there) { measure_in<float>(run, n, there, up::plus{}, "plus"); };
    for (const auto& [in, out] : {std::pair{4, 0}, {0, 4}, {4, 4}, {12, 8}})
        of_f32({fmt::format(", from {} to {}", in, out), static_cast<std::size_t>(in), static_cast<std::size_t>(out)});
    measure_in<std::int8_t>(run, n, {", from 1 to 3", 1, 3}, up::plus{}, "plus");
    measure_in<double>(run, n / 2, {", from 8 to 8", 8, 8}, up::plus{}, "plus");
    measure_in<std::int8_t>(run, n, {}, up::plus{}, "plus");
    measure_in<std::int8_t>(run, n, {}, up::maximum{}, "maximum");
    measure_in<std::int16_t>(run, n, {}, up::plus{}, "plus");
    measure_in<float>(run, n, {}, up::minimum{}, "minimum");
    measure_in<double>(run, n / 2, {}, up::maximum{}, "maximum");
    for (const std::size_t size : {5'000U, 300'000U, 1'500'000U, 10'000'001U})
        measure_in<float>(run, size, {}, up::plus{}, "plus");

    of_f32({.name = ", more threads than cores", .threads = 4 * static_cast<int>(std::thread::hardware_concurrency())});
    const auto beside = [&](const std::string& what, neighbours::work work, int niceness) {
        if (!run.wants({"scan", "f32", "inclusive plus, beside " + what}))
            return;
        const neighbours others(work, niceness);
        of_f32({.name = ", beside " + what, .neighbours = what});
    };
    constexpr int nicest = 19;
    beside("loops", neighbours::work::loop, 0);
    beside("nice loops", neighbours::work::loop, nicest);
    beside("copies", neighbours::work::copy, 0);
    beside("nice copies", neighbours::work::copy, nicest);
}

} // namespace

void measure_scan(session& run, numpy_peer& numpy)
{
    const std::size_t n = run.chosen().n;
    const requirement at_the_roof{.share_of_roof = 0.9};
    measure_sums<std::int32_t>(run, numpy, n, at_the_roof);
    measure_sums<float>(run, numpy, n, at_the_roof);
    measure_sums<std::int64_t>(run, numpy, n);
    measure_sums<double>(run, numpy, n);
    measure_in_place(run, n);
    measure_circumstances(run, n);
    measure_sums<float>(run, numpy, 1000, {.microseconds = 2});
    for (std::size_t size = 1 << 10; run.chosen().sweep && size < n; size *= 2)
        measure_sums<float>(run, numpy, size);
}

} // namespace bench
