// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// upsweep-bench-c-abi: what a call by the C ABI of libupsweep takes beside the same one by the C++ face, in interleaved rounds
// on the same arrays in memory of a GPU. Writes one row of JSON a line to the file that is its argument.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "c_abi.hpp"
#include "device.hpp"

namespace bench::c_abi {

std::vector<run_type>& all_types()
{
    static std::vector<run_type> all;
    return all;
}

} // namespace bench::c_abi

namespace {

using namespace bench;
using namespace bench::c_abi;

void check_status(upsweep_status status)
{
    if (status != UPSWEEP_OK)
        throw std::runtime_error(upsweep_last_error());
}

struct measured {
    double cpp;
    double c;
};

class stopwatch {
public:
    explicit stopwatch(cudaStream_t stream) : stream_(stream)
    {
        for (cudaEvent_t& event : events_)
            check(cudaEventCreate(&event), "cudaEventCreate");
    }

    // Microseconds of one of `calls` calls.
    template <class Call>
    double time(int calls, const Call& call) const
    {
        check(cudaEventRecord(events_[0], stream_), "cudaEventRecord");
        for (int k = 0; k < calls; ++k)
            call();
        check(cudaEventRecord(events_[1], stream_), "cudaEventRecord");
        check(cudaEventSynchronize(events_[1]), "cudaEventSynchronize");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), "cudaEventElapsedTime");
        return milliseconds * 1000.0 / calls;
    }

private:
    cudaStream_t stream_;
    std::array<cudaEvent_t, 2> events_{};
};

double median(std::vector<double> values)
{
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

// Medians of rounds in which the two take turns.
measured times_of(const stopwatch& watch, const pair_of_calls& calls, void* result)
{
    constexpr int rounds = 21;
    const int repeats = calls.bytes < (std::size_t{1} << 24) ? 40 : 4;
    const auto cpp = [&] { calls.cpp(result); };
    const auto c = [&] { check_status(calls.c(result)); };
    watch.time(2, cpp);
    watch.time(2, c);
    std::vector<double> of_cpp;
    std::vector<double> of_c;
    for (int round = 0; round < rounds; ++round) {
        of_cpp.push_back(watch.time(repeats, cpp));
        of_c.push_back(watch.time(repeats, c));
    }
    return {median(of_cpp), median(of_c)};
}

int run(std::FILE* rows)
{
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    const std::vector<std::size_t> sizes{1000, std::size_t{1} << 20, std::size_t{1} << 28};
    const device_memory a(sizes.back() * sizeof(double));
    const device_memory b(sizes.back() * sizeof(double));
    const stopwatch watch(stream);
    int wrong = 0;

    std::printf("%-5s %-14s %10s %12s %12s %8s\n", "type", "verb", "n", "C++ us", "C us", "C/C++");
    const measure each = [&](const std::string& type, std::size_t n, const std::vector<pair_of_calls>& pairs) {
        for (const pair_of_calls& calls : pairs) {
            check(cudaMemsetAsync(a.data(), 0, calls.result_bytes, stream), "cudaMemsetAsync");
            check(cudaMemsetAsync(b.data(), 0, calls.result_bytes, stream), "cudaMemsetAsync");
            calls.cpp(a.data());
            check_status(calls.c(b.data()));
            const std::size_t compared = std::min(calls.result_bytes, std::size_t{1} << 24);
            const bool same = to_host(a.data(), compared) == to_host(b.data(), compared);
            wrong += same ? 0 : 1;
            // Into the same memory: where results lie beside the elements makes up to a seventh of the time.
            const auto [cpp, c] = times_of(watch, calls, a.data());
            std::printf("%-5s %-14s %10zu %12.2f %12.2f %8.3f%s\n", type.c_str(), calls.verb.c_str(), n, cpp, c,
                        c / cpp, same ? "" : "   DIFFERENT RESULTS");
            if (rows != nullptr)
                std::fprintf(rows,
                             R"({"type":"%s","verb":"%s","n":%zu,"bytes":%zu,"cpp_us":%.3f,"c_us":%.3f,"same":%s})"
                             "\n",
                             type.c_str(), calls.verb.c_str(), n, calls.bytes, cpp, c, same ? "true" : "false");
        }
    };
    for (const run_type type : all_types()) {
        upsweep_context* context = nullptr;
        check_status(upsweep_context_create(UPSWEEP_CUDA, -1, &context));
        check_status(upsweep_context_set_stream(context, stream));
        type(stream, context, sizes, each);
        upsweep_context_destroy(context);
    }
    return wrong == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        std::FILE* const rows = argc > 1 ? std::fopen(argv[1], "w") : nullptr;
        const int status = run(rows);
        if (rows != nullptr && std::fclose(rows) != 0)
            return 1;
        return status;
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "upsweep-bench-c-abi: %s\n", problem.what());
        return 1;
    }
}
