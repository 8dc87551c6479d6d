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

// oneTBB as distributions build it is opaque to ThreadSanitizer, which would report every task as a race. A program that
// is compiled for ThreadSanitizer has its work done by plain threads instead, so that a report is a mistake of Upsweep's or
// of the user's operator.
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
