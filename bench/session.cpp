// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace bench {
namespace {

constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

// The rounds of one contender; one that takes long takes part in fewer.
struct record {
    std::vector<double> cold;
    std::vector<double> hot;
    double spent = 0;
};

double quantile(std::vector<double> values, double q)
{
    if (values.empty())
        return not_measured;
    const auto k = std::lround(q * static_cast<double>(values.size() - 1));
    std::ranges::nth_element(values, values.begin() + k);
    return values[static_cast<std::size_t>(k)];
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

double spread(const std::vector<double>& values)
{
    return (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / median(values);
}

// How many times faster `a` is than `b`: the median over the rounds that both took part in.
double times_faster(const record& a, const record& b)
{
    std::vector<double> ratios(std::min(a.hot.size(), b.hot.size()));
    std::ranges::transform(a.hot, b.hot, ratios.begin(), [](double mine, double other) { return other / mine; });
    return median(ratios);
}

std::string duration(double ms)
{
    if (ms < 0.1)
        return fmt::format("{:.2f} us", ms * 1e3);
    return ms < 1000 ? fmt::format("{:.2f} ms", ms) : fmt::format("{:.2f} s ", ms * 1e-3);
}

std::string count(std::size_t n)
{
    return n >= 1024 && (n & (n - 1)) == 0 ? fmt::format("2^{}", std::countr_zero(n)) : fmt::format("{}", n);
}

std::string percent(double share) { return std::isnan(share) ? "" : fmt::format("{:.0f} %", share * 100); }

} // namespace

session::session(settings chosen) : settings_(std::move(chosen)), scratch_(std::size_t{96} << 20) {}

bool session::wants(const subject& what) const
{
    const std::string name = what.name();
    return std::ranges::all_of(settings_.words, [&](const std::string& word) { return name.find(word) != name.npos; });
}

void session::empty_caches()
{
    for (std::size_t k = 0; k < scratch_.size(); k += 64)
        ++scratch_[k];
}

void session::measure(const subject& what, const requirement& required, std::vector<contender> contenders)
{
    constexpr double budget_ms = 3000; // for one contender
    constexpr double shortest_ms = 1;  // what the clock and the scheduler measure well

    std::vector<record> records(contenders.size());
    std::vector<int> calls(contenders.size(), 1);
    std::vector<std::size_t> order(contenders.size());
    std::iota(order.begin(), order.end(), std::size_t{0});

    for (int round = 0; round < settings_.rounds; ++round) {
        for (const std::size_t k : order) {
            const contender& one = contenders[k];
            record& mine = records[k];
            if (round >= 2 && mine.spent > budget_ms)
                continue;
            one.spoil();
            empty_caches();
            const double cold = one.milliseconds(1);
            if (round == 0) {
                const double warm = one.milliseconds(1);
                calls[k] = static_cast<int>(std::clamp(shortest_ms / warm, 1.0, 1e6));
            }
            const double hot = cold > budget_ms ? cold : one.milliseconds(calls[k]);
            if (!one.check())
                throw std::runtime_error(
                    fmt::format("{}: the result of {} {} is wrong", what.name(), one.library, one.variant));
            mine.cold.push_back(cold);
            mine.hot.push_back(hot);
            mine.spent += cold + hot * calls[k];
        }
        std::rotate(order.begin(), order.begin() + 1, order.end());
    }

    // The best of a kind is the one with the least median.
    const auto best = [&](auto is_of_kind) -> std::optional<std::size_t> {
        std::optional<std::size_t> found;
        for (std::size_t k = 0; k < contenders.size(); ++k)
            if (is_of_kind(contenders[k]) && (!found || median(records[k].hot) < median(records[*found].hot)))
                found = k;
        return found;
    };
    const auto roof = best([](const contender& one) { return one.library == "roof"; });
    const auto ours = best([](const contender& one) { return one.library == "upsweep"; });
    const auto peer = best([](const contender& one) { return one.library != "roof" && one.library != "upsweep"; });

    fmt::print("{}, n = {}\n", what.name(), count(what.n));
    const auto row_of = [&](std::size_t k) {
        const contender& one = contenders[k];
        const record& mine = records[k];
        return row{what,
                   one.library,
                   one.variant,
                   one.version,
                   median(mine.cold),
                   median(mine.hot),
                   spread(mine.hot),
                   roof ? times_faster(mine, records[*roof]) : not_measured};
    };
    for (std::size_t k = 0; k < contenders.size(); ++k) {
        if (contenders[k].library == "roof" && k != *roof)
            continue;
        const row result = row_of(k);
        rows_.push_back(result);
        fmt::print("  {:<10} {:<34} {:>10} +- {:>2.0f} %  {:>7.2f} GB/s  {:>6}  (cold {})\n", result.library,
                   result.variant, duration(result.ms_hot), result.spread * 100,
                   static_cast<double>(what.bytes) / result.ms_hot * 1e-6, percent(result.share_of_roof),
                   duration(result.ms_cold));
    }
    std::fflush(stdout);
    if (ours) {
        const row nobody{what, "", "", "", not_measured, not_measured, not_measured, not_measured};
        comparisons_.push_back({what, required, row_of(*ours), roof ? row_of(*roof) : nobody,
                                peer ? row_of(*peer) : nobody,
                                peer ? times_faster(records[*ours], records[*peer]) : not_measured});
    }
}

std::string session::table() const
{
    std::string text =
        fmt::format("\n{:<34}{:>9} {:>11} {:>6} {:>8} {:>9} {:>8}  {:<26} {:>11} {:>8}  {}\n", "work", "n", "Upsweep",
                    "+-", "GB/s", "G elem/s", "of roof", "best peer", "", "faster", "required");
    for (const comparison& one : comparisons_) {
        std::string wanted;
        const auto require = [&](double bound, bool met, const std::string& phrase) {
            if (bound != 0)
                wanted += fmt::format("{}{}: {}", wanted.empty() ? "" : ", ", phrase, met ? "met" : "MISSED");
        };
        const requirement& required = one.required;
        const double rate = static_cast<double>(one.what.n) / one.ours.ms_hot * 1e3;
        require(required.share_of_roof, one.ours.share_of_roof >= required.share_of_roof,
                fmt::format("{:.0f} % of the roof", required.share_of_roof * 100));
        require(required.samples_per_second, rate >= required.samples_per_second,
                fmt::format("{:.1f} G/s", required.samples_per_second * 1e-9));
        require(required.times_best_peer, one.times_peer >= required.times_best_peer,
                fmt::format("{:.0f} x the peer", required.times_best_peer));
        require(required.microseconds, one.ours.ms_hot * 1e3 <= required.microseconds,
                fmt::format("{:.0f} us", required.microseconds));

        const bool has_peer = !one.peer.library.empty();
        text += fmt::format("{:<34}{:>9} {:>11} {:>6} {:>8.2f} {:>9.3f} {:>8}  {:<26} {:>11} {:>8}  {}\n",
                            one.what.name(), count(one.what.n), duration(one.ours.ms_hot), percent(one.ours.spread),
                            static_cast<double>(one.what.bytes) / one.ours.ms_hot * 1e-6, rate * 1e-9,
                            percent(one.ours.share_of_roof),
                            has_peer ? one.peer.library + " " + one.peer.variant : std::string(),
                            has_peer ? duration(one.peer.ms_hot) : std::string(),
                            has_peer ? fmt::format("{:.2f} x", one.times_peer) : std::string(), wanted);
    }
    return text;
}

std::string session::json_lines() const
{
    std::string lines;
    for (const row& one : rows_) {
        nlohmann::ordered_json json;
        json["machine"] = settings_.machine;
        json["commit"] = settings_.commit;
        json["library"] = one.library;
        json["version"] = one.version;
        json["algorithm"] = one.what.algorithm;
        json["type"] = one.what.type;
        json["variant"] = one.what.variant;
        json["call"] = one.variant;
        json["n"] = one.what.n;
        json["bytes"] = one.what.bytes;
        if (one.what.algorithm == "scan") {
            json["offset_in"] = one.what.offset_in;
            json["offset_out"] = one.what.offset_out;
            json["op"] = one.what.op;
            json["neighbours"] = one.what.neighbours;
        }
        json["ms_cold"] = one.ms_cold;
        json["ms_hot"] = one.ms_hot;
        json["spread"] = one.spread;
        json["gbps"] = static_cast<double>(one.what.bytes) / one.ms_hot * 1e-6;
        json["share_of_roof"] =
            std::isnan(one.share_of_roof) ? nlohmann::ordered_json() : nlohmann::ordered_json(one.share_of_roof);
        lines += json.dump() + '\n';
    }
    return lines;
}

} // namespace bench
