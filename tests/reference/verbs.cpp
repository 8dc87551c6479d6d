// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Carries out what verbs.py asks for, and writes the results as they are. A request is a line, "VERB TYPE THREADS SIZES...", and the bytes of the
// arrays; the answer is the bytes of the results. The verbs' own types are chosen here, so that few are compiled.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <upsweep/argmin.hpp>
#include <upsweep/image.hpp>
#include <upsweep/monoids.hpp>
#include <upsweep/recurrence.hpp>
#include <upsweep/reduce.hpp>
#include <upsweep/scan.hpp>
#include <upsweep/select.hpp>

namespace up = upsweep;

namespace {

struct request {
    up::cpu cpu;
    std::vector<std::size_t> sizes;
};

template <class T>
std::vector<T> read(std::size_t count)
{
    std::vector<T> values(count);
    std::cin.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
    return values;
}
template <class T>
void write(const std::vector<T>& values)
{
    std::cout.write(reinterpret_cast<const char*>(values.data()),
                    static_cast<std::streamsize>(values.size() * sizeof(T)));
}

template <class T>
void positions(const request& of)
{
    const std::vector<T> values = read<T>(of.sizes[0]);
    write(std::vector<std::uint64_t>{up::argmin(of.cpu, values), up::argmax(of.cpu, values)});
}

// outer x length x inner, along the middle.
template <class T>
void recurrence(const request& of, up::direction begin)
{
    const std::size_t outer = of.sizes[0];
    const std::size_t length = of.sizes[1];
    const std::size_t inner = of.sizes[2];
    auto a = read<T>(outer * length * inner);
    auto b = read<T>(a.size());
    auto before = read<T>(outer * inner);
    std::vector<T> h(a.size());
    const auto viewed = [&](std::vector<T>& all) { return up::view(all.data(), {outer, length, inner}); };
    up::linear_recurrence(of.cpu, viewed(a), viewed(b), viewed(h), up::view(before.data(), {outer, inner}), up::axis{1},
                          begin);
    write(h);
    std::vector<T> of_a(a.size());
    std::vector<T> of_b(a.size());
    std::vector<T> of_before(before.size());
    up::linear_recurrence_gradient(of.cpu, viewed(a), viewed(h), viewed(b), viewed(of_a), viewed(of_b),
                                   up::view(before.data(), {outer, inner}), up::view(of_before.data(), {outer, inner}),
                                   up::axis{1}, begin);
    write(of_a);
    write(of_b);
    write(of_before);
}

void rectangles(const request& of)
{
    const std::size_t rows = of.sizes[0];
    const std::size_t columns = of.sizes[1];
    const auto pixels = read<float>(rows * columns);
    const auto boxes = read<std::int64_t>(4 * of.sizes[2]);
    std::vector<float> sums(pixels.size());
    std::vector<double> squares(pixels.size());
    const up::view s(sums.data(), {rows, columns});
    const up::view q(squares.data(), {rows, columns});
    up::integral_images(of.cpu, up::view(pixels.data(), {rows, columns}), s, q);
    const up::view asked(boxes.data(), {of.sizes[2], 4});
    std::vector<float> of_sums(of.sizes[2]);
    std::vector<double> variances(of.sizes[2]);
    up::rectangle_sum(of.cpu, s, asked, of_sums);
    up::rectangle_variance(of.cpu, s, q, asked, variances);
    write(sums);
    write(squares);
    write(of_sums);
    write(variances);
}

template <class T, class Op>
void scanned(const request& of)
{
    const auto values = read<T>(of.sizes[0]);
    std::vector<T> out(values.size());
    up::inclusive_scan(of.cpu, values, out, Op{});
    write(out);
}
void moments(const request& of)
{
    const auto values = read<float>(of.sizes[0]);
    const auto all = up::reduce(of.cpu, values, up::mean_and_variance{});
    write(std::vector<double>{static_cast<double>(all.count()), all.mean(), all.sum_of_squares()});
}
void differences(const request& of)
{
    const auto values = read<float>(of.sizes[0]);
    std::vector<float> out(values.size());
    up::adjacent_difference(of.cpu, values, out);
    write(out);
}

using verb = void (*)(const request&);
const std::map<std::string, verb> verbs{
    {"positions f32", positions<float>},
    {"positions f64", positions<double>},
    {"positions i8", positions<std::int8_t>},
    {"forward f32", [](const request& of) { recurrence<float>(of, up::forward); }},
    {"backward f32", [](const request& of) { recurrence<float>(of, up::backward); }},
    {"forward f64", [](const request& of) { recurrence<double>(of, up::forward); }},
    {"forward bf16", [](const request& of) { recurrence<up::bf16>(of, up::forward); }},
    {"rectangles f32", rectangles},
    {"log_sum_exp f32", scanned<float, up::log_sum_exp>},
    {"log_sum_exp f64", scanned<double, up::log_sum_exp>},
    {"last_valid f32", scanned<float, up::last_valid>},
    {"max_plus f32", scanned<up::shift_and_bound<float>, up::max_plus>},
    {"moments f32", moments},
    {"differences f32", differences},
};

} // namespace

int main()
{
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string name;
        std::string type;
        request of;
        words >> name >> type >> of.cpu.threads;
        for (std::size_t size = 0; words >> size;)
            of.sizes.push_back(size);
        verbs.at(name.append(" ").append(type))(of);
        std::cout.flush();
    }
}
