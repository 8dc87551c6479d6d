// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

// One run of benchmarks: contenders are measured in interleaved rounds on the same data, so that a machine whose memory
// is faster now and slower then treats them alike, and a ratio is the median of the ratios of the rounds.
namespace bench {

// What is measured. `bytes` is what the algorithm must move, `n` its elements.
struct subject {
    std::string algorithm; // reduce, scan, histogram
    std::string type;
    std::string variant;
    std::size_t n = 0;
    std::size_t bytes = 0;
    std::size_t offset_in = 0; // bytes between a multiple of 64 and the first element, or result
    std::size_t offset_out = 0;
    std::string op = {};
    std::string neighbours = {}; // what else runs on the machine

    std::string name() const { return algorithm + " " + type + " " + variant; }
};

// What Upsweep must reach; 0 where nothing is required.
struct requirement {
    double share_of_roof = 0;
    double samples_per_second = 0;
    double times_best_peer = 0;
    double microseconds = 0; // at most
};

struct contender {
    std::string library; // "roof" and "upsweep" are special
    std::string variant; // the kernel or the call
    std::string version;

    // Runs the work `calls` times and returns the milliseconds of one.
    std::function<double(int calls)> milliseconds;

    // Overwrites the results, and tells whether they are right, so that no contender passes on the work of another.
    std::function<void()> spoil = [] {};
    std::function<bool()> check = [] { return true; };
};

// A contender's `milliseconds`, of a function in this process.
template <class F>
std::function<double(int)> timed(F work)
{
    return [work](int calls) {
        const auto start = std::chrono::steady_clock::now();
        for (int call = 0; call < calls; ++call)
            work();
        const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
        return elapsed.count() / calls;
    };
}

struct settings {
    std::vector<std::string> words; // a subject is measured if its name contains all of them
    std::size_t n = std::size_t{1} << 26;
    int rounds = 15;
    bool sweep = true; // the sizes from 2^10 on
    std::string machine;
    std::string commit;
    std::string command;                     // the command `upsweep`
    std::string python = "/usr/bin/python3"; // with NumPy
    std::string folder;                      // for temporary files
    std::size_t text_lines = 20'000'000;
};

class session {
public:
    explicit session(settings chosen);

    const settings& chosen() const { return settings_; }
    bool wants(const subject& what) const;

    // Throws std::runtime_error if a contender's result is wrong.
    void measure(const subject& what, const requirement& required, std::vector<contender> contenders);

    // The table of ratios, and the rows as lines of JSON.
    std::string table() const;
    std::string json_lines() const;

private:
    struct row {
        subject what;
        std::string library;
        std::string variant;
        std::string version;
        double ms_cold;
        double ms_hot;
        double spread; // of ms_hot: half the distance between its quartiles, over the median
        double share_of_roof;
    };
    struct comparison {
        subject what;
        requirement required;
        row ours;
        row roof;
        row peer;
        double times_peer;
    };

    void empty_caches();

    settings settings_;
    std::vector<char> scratch_;
    std::vector<row> rows_;
    std::vector<comparison> comparisons_;
};

} // namespace bench
