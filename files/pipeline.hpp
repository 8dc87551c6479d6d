// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

namespace upsweep::files {

inline int thread_count(int requested) { return requested > 0 ? requested : oneapi::tbb::info::default_concurrency(); }

// Runs chunks through three stages: `produce` fills them one after the other until it returns false, `transform` works
// on several at once, `consume` takes them one after the other, in order. A fixed number of chunks is in use at any
// time, so memory is bounded however long the input is. An exception in any stage ends the whole.
template <class Chunk, class Produce, class Transform, class Consume>
void run_pipeline(int threads, const Produce& produce, const Transform& transform, const Consume& consume)
{
    const int count = thread_count(threads);
    // Two for each thread keep all busy while the serial stages take turns.
    std::vector<Chunk> chunks(static_cast<std::size_t>(2 * count + 1));
    std::size_t produced = 0;

    namespace tbb = oneapi::tbb;
    const auto first =
        tbb::make_filter<void, Chunk*>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) -> Chunk* {
            // The chunks are consumed in the order in which they were produced, and no more of them are under way than
            // there are: the oldest is free.
            Chunk& chunk = chunks[produced % chunks.size()];
            if (!produce(chunk)) {
                control.stop();
                return nullptr;
            }
            ++produced;
            return &chunk;
        });
    const auto second = tbb::make_filter<Chunk*, Chunk*>(tbb::filter_mode::parallel, [&](Chunk* chunk) {
        transform(*chunk);
        return chunk;
    });
    const auto third =
        tbb::make_filter<Chunk*, void>(tbb::filter_mode::serial_in_order, [&](Chunk* chunk) { consume(*chunk); });

    tbb::task_arena arena(count);
    arena.execute([&] { tbb::parallel_pipeline(chunks.size(), first & second & third); });
}

} // namespace upsweep::files
