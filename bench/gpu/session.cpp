// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "roof.hpp"

namespace bench {
namespace {

constexpr std::size_t scratch_bytes = std::size_t{256} << 20; // several times the second-level cache
constexpr int calls_in_a_row = 5;

// Up to here the host is slower than the GPU, or not much faster: what it needs for a call can be measured.
constexpr std::size_t most_bytes_for_the_host = 16384;
constexpr int calls_of_the_host = 100; // of at most a few kernels, that the stream takes without making the host wait

double quantile(std::vector<double> values, double q)
{
    const auto k = std::lround(q * static_cast<double>(values.size() - 1));
    std::ranges::nth_element(values, values.begin() + k);
    return values[static_cast<std::size_t>(k)];
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

double microseconds(double ms) { return ms * 1e3; }

bool contains(const std::vector<std::string>& names, const std::string& name)
{
    return std::ranges::find(names, name) != names.end();
}

// What was measured, without its algorithm and type.
std::string name_of(const subject& what)
{
    std::string name = what.kind.empty() ? what.variant : what.kind + ' ' + what.variant;
    if (what.place.offset_in != 0 || what.place.offset_out != 0)
        name += fmt::format(" +{} +{}", what.place.offset_in, what.place.offset_out);
    if (what.place.in_place)
        name += " in place";
    if (!what.place.init.empty())
        name += ", exclusive, init " + what.place.init;
    return name;
}

std::string name_of(std::size_t n)
{
    return std::has_single_bit(n) ? fmt::format("2^{}", std::countr_zero(n)) : std::to_string(n);
}

// Multiplies, to be read out as the geometric mean.
struct mean {
    double logarithms = 0;
    int count = 0;

    void add(double value)
    {
        logarithms += std::log(value);
        ++count;
    }
    double value() const { return std::exp(logarithms / count); }
};

} // namespace

session::session(settings chosen, std::FILE* rows) : settings_(std::move(chosen)), rows_(rows)
{
    check(cudaStreamCreate(&stream_), "cudaStreamCreate");
    for (cudaEvent_t& event : events_)
        check(cudaEventCreate(&event), "cudaEventCreate");
    scratch_ = std::make_unique<device_memory>(scratch_bytes);
    fmt::print("times in us, cold / hot; share of the roof and speed over CUB, cold / hot\n");
    fmt::print("{:<10}{:<6}{:<31}{:>9} {:>21} {:>21} {:>15} {:>21} {:>13}\n", "", "type", "operator", "n", "roof",
               "upsweep", "share", "cub", "faster");
}

session::~session()
{
    for (cudaEvent_t event : events_)
        cudaEventDestroy(event);
    cudaStreamDestroy(stream_);
}

bool session::wants(const std::string& algorithm, const std::string& type) const
{
    return contains(settings_.algorithms, algorithm) && (settings_.types.empty() || contains(settings_.types, type));
}

bool session::wants_axis(const std::string& axis) const { return contains(settings_.axes, axis); }

bool session::wants_histogram(const std::string& kind, const std::string& type) const
{
    return wants("histogram", type) && contains(settings_.kinds, kind);
}

std::vector<std::size_t> session::sizes() const
{
    if (!settings_.counts.empty())
        return settings_.counts;
    std::vector<std::size_t> sizes;
    for (unsigned exponent = settings_.lowest; exponent <= settings_.highest; exponent += 2)
        sizes.push_back(std::size_t{1} << exponent);
    return sizes;
}

bool session::is_right(const contender& one, std::span<std::byte> result)
{
    check(cudaMemsetAsync(result.data(), 0xee, result.size(), stream_), "cudaMemsetAsync");
    one.launch();
    check(cudaStreamSynchronize(stream_), one.call.c_str());
    return one.right();
}

double session::milliseconds(const std::function<void()>& work)
{
    check(cudaEventRecord(events_[0], stream_), "cudaEventRecord");
    work();
    check(cudaEventRecord(events_[1], stream_), "cudaEventRecord");
    check(cudaEventSynchronize(events_[1]), "cudaEventSynchronize");
    float elapsed = 0;
    check(cudaEventElapsedTime(&elapsed, events_[0], events_[1]), "cudaEventElapsedTime");
    return elapsed;
}

double session::host_microseconds(const std::function<void()>& launch)
{
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    const auto start = std::chrono::steady_clock::now();
    for (int call = 0; call < calls_of_the_host; ++call)
        launch();
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
    return elapsed.count() / calls_of_the_host;
}

void session::measure(const subject& what, std::span<std::byte> result, const std::vector<contender>& contenders)
{
    const bool large = what.bytes >= scratch_bytes;
    const int cold_rounds = large ? 7 : 15;
    const int hot_rounds = large ? 1 : 5; // no cache holds what is large

    std::vector<bool> right;
    for (const contender& one : contenders)
        right.push_back(is_right(one, result)); // warms up, too

    std::vector<record> records(contenders.size());
    for (int round = 0; round < cold_rounds; ++round)
        for (std::size_t k = 0; k < contenders.size(); ++k) {
            // Takes so long that the host is ahead when the clock starts: launches on the host are not measured.
            check(cudaMemsetAsync(scratch_->data(), round, scratch_bytes, stream_), "cudaMemsetAsync");
            records[k].cold.push_back(milliseconds(contenders[k].launch));
        }
    for (int round = 0; round < hot_rounds; ++round)
        for (std::size_t k = 0; k < contenders.size(); ++k) {
            hold(stream_); // for the same reason
            contenders[k].launch();
            records[k].hot.push_back(milliseconds([&] {
                                         for (int call = 0; call < calls_in_a_row; ++call)
                                             contenders[k].launch();
                                     }) /
                                     calls_in_a_row);
        }

    const bool on_host = what.bytes <= most_bytes_for_the_host;
    for (int round = 0; on_host && round < cold_rounds; ++round)
        for (std::size_t k = 0; k < contenders.size(); ++k)
            if (contenders[k].promise.empty()) // by another interface, which allocates memory in each call
                records[k].host.push_back(host_microseconds(contenders[k].launch));

    const auto best = [&](auto is_of_kind) -> std::optional<std::size_t> {
        std::optional<std::size_t> found;
        for (std::size_t k = 0; k < contenders.size(); ++k)
            if (contenders[k].promise.empty() && is_of_kind(contenders[k].library) &&
                (!found || median(records[k].cold) < median(records[*found].cold)))
                found = k;
        return found;
    };
    const auto is_roof = [](const std::string& library) { return library == "roof"; };
    const auto is_ours = [](const std::string& library) { return library == "upsweep"; };
    const std::size_t roof = best(is_roof).value();
    const std::size_t ours = best(is_ours).value();
    const auto peer = best([&](const std::string& library) { return !is_roof(library) && !is_ours(library); });
    const auto times_of = [&](std::size_t k) { return times{median(records[k].cold), median(records[k].hot)}; };

    // The roof of the hot times can be another of the programs than that of the cold ones.
    comparison compared{what, times_of(roof), times_of(ours), {}, {}};
    if (peer)
        compared.peer = times_of(*peer);
    for (std::size_t k = 0; k < contenders.size(); ++k)
        if (!contenders[k].promise.empty())
            compared.peer_by_promise[contenders[k].promise] = times_of(k);
    if (on_host && peer)
        compared.host = {median(records[ours].host), median(records[*peer].host)};
    for (std::size_t k = 0; k < contenders.size(); ++k)
        if (is_roof(contenders[k].library))
            compared.roof.hot = std::min(compared.roof.hot, median(records[k].hot));

    for (std::size_t k = 0; k < contenders.size(); ++k) {
        const contender& one = contenders[k];
        if (is_roof(one.library) && k != roof)
            continue;
        const times mine = k == roof ? compared.roof : times_of(k);
        nlohmann::ordered_json row;
        row["machine"] = settings_.machine;
        row["commit"] = settings_.commit;
        row["library"] = one.library;
        row["version"] = one.version;
        row["algorithm"] = what.algorithm;
        if (!what.kind.empty())
            row["kind"] = what.kind;
        row["type"] = what.type;
        row["variant"] = what.variant;
        row["call"] = one.call;
        row["promise"] = one.promise;
        if (what.algorithm == "scan") {
            row["op"] = what.variant;
            row["offset_in"] = what.place.offset_in;
            row["offset_out"] = what.place.offset_out;
            row["in_place"] = what.place.in_place;
            row["init"] = what.place.init;
        }
        row["n"] = what.n;
        row["bytes"] = what.bytes;
        row["ms_cold"] = mine.cold;
        row["ms_hot"] = mine.hot;
        row["ms_cold_quartiles"] = {quantile(records[k].cold, 0.25), quantile(records[k].cold, 0.75)};
        row["gbps"] = static_cast<double>(what.bytes) / mine.cold * 1e-6;
        row["share_of_roof"] = compared.roof.cold / mine.cold;
        if (!records[k].host.empty())
            row["us_host"] = median(records[k].host);
        row["right"] = static_cast<bool>(right[k]);
        if (rows_ != nullptr)
            fmt::print(rows_, "{}\n", row.dump());
    }

    print(compared);
    for (std::size_t k = 0; k < contenders.size(); ++k)
        if (!right[k]) {
            fmt::print("       the result of {} is wrong\n", contenders[k].call);
            ++wrong_;
        }
    std::fflush(nullptr);
    comparisons_.push_back(compared);
}

void session::print(const comparison& one)
{
    const auto pair = [](const times& t) {
        return fmt::format("{:.2f} / {:.2f}", microseconds(t.cold), microseconds(t.hot));
    };
    fmt::print("{:<10}{:<6}{:<31}{:>9} {:>21} {:>21} {:>15} {:>21} {:>13}\n", one.what.algorithm, one.what.type,
               name_of(one.what), name_of(one.what.n), pair(one.roof), pair(one.ours),
               fmt::format("{:.1f} / {:.1f} %", 100 * one.roof.cold / one.ours.cold, 100 * one.roof.hot / one.ours.hot),
               one.peer ? pair(*one.peer) : "",
               one.peer ? fmt::format("{:.2f} / {:.2f}", one.peer->cold / one.ours.cold, one.peer->hot / one.ours.hot)
                        : "");
}

void session::print_means(const std::string& algorithm, const std::string& name) const
{
    struct range {
        const char* name;
        std::size_t lowest, highest;
    };
    const range ranges[] = {{"n <= 2^22", 0, std::size_t{1} << 22},
                            {"n <= 2^24", 0, std::size_t{1} << 24},
                            {"n >= 2^28", std::size_t{1} << 28, SIZE_MAX},
                            {"all n", 0, SIZE_MAX}};
    for (const range& sizes : ranges) {
        mean share_cold, share_hot, faster_cold, faster_hot;
        std::map<std::string, std::pair<mean, mean>> faster_by_promise;
        const comparison* least = nullptr; // of those with a peer
        bool any = false;
        const auto faster = [](const comparison& one) { return one.peer->cold / one.ours.cold; };
        for (const comparison& one : comparisons_) {
            if (one.what.algorithm != algorithm || name_of(one.what) != name || one.what.n < sizes.lowest ||
                one.what.n > sizes.highest)
                continue;
            any = true;
            share_cold.add(one.roof.cold / one.ours.cold);
            share_hot.add(one.roof.hot / one.ours.hot);
            if (!one.peer)
                continue;
            faster_cold.add(faster(one));
            faster_hot.add(one.peer->hot / one.ours.hot);
            if (least == nullptr || faster(one) < faster(*least))
                least = &one;
            for (const auto& [promise, peer] : one.peer_by_promise) {
                faster_by_promise[promise].first.add(peer.cold / one.ours.cold);
                faster_by_promise[promise].second.add(peer.hot / one.ours.hot);
            }
        }
        if (!any)
            continue;
        fmt::print("{:<10}{:<31}{:<10} {:>15}", algorithm, name, sizes.name,
                   fmt::format("{:.1f} / {:.1f} %", 100 * share_cold.value(), 100 * share_hot.value()));
        if (least != nullptr)
            fmt::print(" {:>13}  {:.2f} ({}, {})",
                       fmt::format("{:.2f} / {:.2f}", faster_cold.value(), faster_hot.value()), faster(*least),
                       least->what.type, name_of(least->what.n));
        fmt::print("\n");
        for (const auto& [promise, faster_than] : faster_by_promise)
            fmt::print("{:<67} {:>13}  {}, the types that CUB has it for\n", "",
                       fmt::format("{:.2f} / {:.2f}", faster_than.first.value(), faster_than.second.value()), promise);
    }
}

void session::print_host_times() const
{
    std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> calls;
    for (const comparison& one : comparisons_)
        if (one.host) {
            calls[one.what.algorithm].first.push_back(one.host->ours);
            calls[one.what.algorithm].second.push_back(one.host->peer);
        }
    for (const auto& [algorithm, times] : calls)
        fmt::print("{:<10}a call takes the host {:.2f} us, {:.2f} at most; CUB {:.2f} us\n", algorithm,
                   median(times.first), std::ranges::max(times.first), median(times.second));
}

void session::print_summary() const
{
    fmt::print("\ngeometric means over types and sizes, cold / hot\n{:<10}{:<31}{:<10} {:>15} {:>13}  {}\n", "",
               "operator", "sizes", "share of roof", "over CUB", "least over CUB, cold");
    std::vector<std::pair<std::string, std::string>> kinds;
    for (const comparison& one : comparisons_)
        if (const std::pair kind(one.what.algorithm, name_of(one.what)); std::ranges::find(kinds, kind) == kinds.end())
            kinds.push_back(kind);
    for (const auto& [algorithm, name] : kinds)
        print_means(algorithm, name);
    print_host_times();
    if (!all_right())
        fmt::print("\n{} results are wrong\n", wrong_);
}

} // namespace bench
