// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__SANITIZE_THREAD__)
#define UPSWEEP_THREAD_SANITIZER 1
#elif defined(__has_feature)
#define UPSWEEP_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define UPSWEEP_THREAD_SANITIZER 0
#endif

#if UPSWEEP_THREAD_SANITIZER
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

// ThreadSanitizer cannot see into oneTBB as distributions build it, and would report every task as a race. In a program
// that is compiled for ThreadSanitizer plain threads do the work instead, so that every report is a mistake of Upsweep
// or of the user's operator.
namespace upsweep::cpu_engine {

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
    for (int k = 1; k < threads; ++k)
        team.emplace_back(work);
    work();
    for (std::thread& thread : team)
        thread.join();
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace upsweep::cpu_engine
#endif
