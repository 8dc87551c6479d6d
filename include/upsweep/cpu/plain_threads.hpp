// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace upsweep::cpu_engine {

// Calls f(k) for every k < count, in any order, in threads that are started for this and end with it.
template <class F>
void for_each_index_on_plain_threads(int threads, std::size_t count, F& f)
{
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto work = [&] {
        try {
            for (std::size_t k; (k = next.fetch_add(1)) < count;)
                f(k);
        } catch (...) {
            next = count;
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
        }
    };
    std::vector<std::thread> team;
    try {
        while (team.size() + 1 < count && static_cast<int>(team.size()) + 1 < threads)
            team.emplace_back(work);
    } catch (const std::system_error&) {
        // The system has no more threads; those that there are do the work.
    }
    work();
    for (std::thread& thread : team)
        thread.join();
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace upsweep::cpu_engine
