// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <thread>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <upsweep/cpu/plain_threads.hpp>
#include <upsweep/target.hpp>

#if defined(__SANITIZE_THREAD__)
#define UPSWEEP_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UPSWEEP_THREAD_SANITIZER 1
#endif
#endif
#ifndef UPSWEEP_THREAD_SANITIZER
#define UPSWEEP_THREAD_SANITIZER 0
#endif

namespace upsweep::cpu_engine {

// The process in which oneTBB starts its threads: that of the first fold. A shared library with Upsweep in it that is
// loaded late, when the process may have been forked after a fold by another such library, sets it before it folds.
inline pid_t& process_of_scheduler()
{
    static pid_t process = getpid();
    return process;
}

// Whether oneTBB can do work here. A child made by fork() has none of its parent's threads, while oneTBB counts on them
// and on locks that they held. And ThreadSanitizer cannot see into oneTBB as distributions build it: it would report
// every task as a race, where every report shall be a mistake of Upsweep or of the user's operator.
inline bool has_scheduler() { return !UPSWEEP_THREAD_SANITIZER && process_of_scheduler() == getpid(); }

inline int thread_count(const cpu& target)
{
    return target.threads > 0 ? target.threads : tbb::this_task_arena::max_concurrency();
}

// Calls f() in an arena of the target's threads.
template <class F>
void in_arena(const cpu& target, F f)
{
    if (target.threads <= 0) {
        f();
        return;
    }
    // More threads than cores are only had on request; the caller asked for them.
    std::optional<tbb::global_control> allowance;
    if (target.threads > static_cast<int>(std::thread::hardware_concurrency()))
        allowance.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(target.threads));
    tbb::task_arena arena(target.threads);
    arena.execute(f);
}

// The work on one index with its type erased. A call is nothing beside the work on a grain; but oneTBB's templates copy
// their body into several functions, and so they are compiled once a file and not once for each loop.
class index_work {
public:
    template <class F>
    explicit index_work(F& f) : f_(&f), call_([](void* erased, std::size_t k) { (*static_cast<F*>(erased))(k); })
    {
    }
    void operator()(std::size_t k) const { call_(f_, k); }

private:
    void* f_;
    void (*call_)(void*, std::size_t);
};

inline void run_for_each_index(const cpu& target, std::size_t count, index_work work)
{
    if (count <= 1) { // which asks neither the system nor the scheduler
        if (count == 1)
            work(0);
        return;
    }
    if (!has_scheduler()) {
        for_each_index_on_plain_threads(thread_count(target), count, work);
        return;
    }
    in_arena(target, [&] {
        tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, 1),
                          [&](const tbb::blocked_range<std::size_t>& range) {
                              for (std::size_t k = range.begin(); k != range.end(); ++k)
                                  work(k);
                          });
    });
}

// Calls f(k) for every k < count, in any order.
template <class F>
void for_each_index(const cpu& target, std::size_t count, F f)
{
    run_for_each_index(target, count, index_work(f));
}

// Calls f(first, count) for stretches of `all`, of at most `at_once` each, in any order.
template <class F>
void for_each_stretch(const cpu& target, std::size_t all, std::size_t at_once, F f)
{
    for_each_index(target, (all + at_once - 1) / at_once, [&](std::size_t k) {
        const std::size_t first = k * at_once;
        f(first, std::min(at_once, all - first));
    });
}

// Tells the processor that this thread looks at a variable again and again.
inline void pause()
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

// For what comes in a moment if the thread that it depends on runs.
template <class Condition>
void pause_until(Condition is_met)
{
    constexpr int spins = 4096;
    for (int spin = 0; !is_met(); ++spin)
        spin < spins ? pause() : std::this_thread::yield();
}

} // namespace upsweep::cpu_engine
