// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device.hpp"

// One run of benchmarks on a GPU: contenders are measured in interleaved rounds on the same data, by the GPU's clock.
namespace bench {

// Where a scan's elements and results lie and what it begins with.
struct placement {
    std::size_t offset_in = 0; // bytes behind a multiple of 256
    std::size_t offset_out = 0;
    std::string init = {}; // "none": exclusive; "init": exclusive with an initial value
    bool in_place = false;
    bool operator==(const placement&) const = default;
};

// What is measured. `bytes` is what the algorithm must move, `n` its elements.
struct subject {
    std::string algorithm; // reduce, scan, histogram
    std::string type;
    std::string variant; // the operator; of histograms the bins and the distribution
    std::size_t n = 0;
    std::size_t bytes = 0;
    std::string kind = {}; // of histograms: see settings
    placement place = {};
};

struct contender {
    std::string library; // "roof" and "upsweep" are special; of several roofs the fastest counts
    std::string call;
    std::string version;

    // Puts the work on the session's stream.
    std::function<void()> launch;

    // Whether what the launch wrote is right. Asked once, after the result was overwritten and the work done again.
    std::function<bool()> right = [] { return true; };

    // What the library promises about the order of operations, where it was asked for more than it does by itself.
    std::string promise = {};
};

struct settings {
    std::vector<std::string> algorithms{"reduce", "scan"};
    std::vector<std::string> types; // all where it is empty
    unsigned lowest = 10;           // sizes are 2^lowest, 2^(lowest + 2), ... up to 2^highest
    unsigned highest = 30;
    std::vector<std::size_t> counts; // in place of those sizes, where any are given
    std::vector<std::string> axes;   // of scans: "place", "operator"; where none is given, sums between aligned arrays
    std::vector<std::string> kinds{"even", "integer",  "edges",   "weights", "joint",
                                   "rows", "channels", "pitched", "axis",    "segments"};
    std::vector<unsigned> bins; // the usual ones of each kind where it is empty
    std::vector<std::string> distributions{"uniform", "constant", "two", "zipf", "normal", "sorted", "hot"};
    std::string machine;
    std::string commit;
};

class session {
public:
    // Rows go to `rows` as JSON, one a line, where it is not null.
    session(settings chosen, std::FILE* rows);
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    bool wants(const std::string& algorithm, const std::string& type) const;
    bool wants_axis(const std::string& axis) const;
    bool wants_histogram(const std::string& kind, const std::string& type) const;
    std::vector<std::size_t> sizes() const;
    const std::vector<unsigned>& bins(const std::vector<unsigned>& usual) const
    {
        return settings_.bins.empty() ? usual : settings_.bins;
    }
    const std::vector<std::string>& distributions() const { return settings_.distributions; }
    std::size_t largest() const { return sizes().back(); }
    cudaStream_t stream() const { return stream_; }

    // The contenders write their result to `result`.
    void measure(const subject& what, std::span<std::byte> result, const std::vector<contender>& contenders);

    // The geometric means, and whether all results were right.
    void print_summary() const;
    bool all_right() const { return wrong_ == 0; }

private:
    struct record {
        std::vector<double> cold; // milliseconds
        std::vector<double> hot;
        std::vector<double> host; // microseconds a call, where they were measured
    };
    struct times {
        double cold;
        double hot;
    };
    // Microseconds that a call takes on the host.
    struct host_times {
        double ours;
        double peer;
    };
    struct comparison {
        subject what;
        times roof;
        times ours;
        std::optional<times> peer; // not every histogram has one
        std::map<std::string, times> peer_by_promise;
        std::optional<host_times> host = {};
    };

    bool is_right(const contender& one, std::span<std::byte> result);
    double milliseconds(const std::function<void()>& work);
    double host_microseconds(const std::function<void()>& launch);
    void print(const comparison& one);
    void print_means(const std::string& algorithm, const std::string& name) const;
    void print_host_times() const;

    settings settings_;
    std::FILE* rows_;
    cudaStream_t stream_ = nullptr;
    std::array<cudaEvent_t, 2> events_{};
    std::unique_ptr<device_memory> scratch_;
    std::vector<comparison> comparisons_;
    std::size_t wrong_ = 0;
};

} // namespace bench
