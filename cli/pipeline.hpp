// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

namespace upsweep::cli {

inline int thread_count(int requested) { return requested > 0 ? requested : oneapi::tbb::info::default_concurrency(); }

// Runs blocks through three stages: `produce` fills them one after the other until it returns false, `transform` works
// on several at once, `consume` takes them one after the other, in order. A fixed number of blocks is in use at any
// time, so memory is bounded however long the input is. An exception in any stage ends the whole.
template <class Block, class Produce, class Transform, class Consume>
void run_pipeline(int threads, const Produce& produce, const Transform& transform, const Consume& consume)
{
    const int count = thread_count(threads);
    // Two for each thread keep all busy while the serial stages take turns.
    std::vector<Block> blocks(static_cast<std::size_t>(2 * count + 1));
    std::size_t produced = 0;

    namespace tbb = oneapi::tbb;
    const auto first =
        tbb::make_filter<void, Block*>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) -> Block* {
            // The blocks are consumed in the order in which they were produced, and no more of them are under way than
            // there are: the oldest is free.
            Block& block = blocks[produced % blocks.size()];
            if (!produce(block)) {
                control.stop();
                return nullptr;
            }
            ++produced;
            return &block;
        });
    const auto second = tbb::make_filter<Block*, Block*>(tbb::filter_mode::parallel, [&](Block* block) {
        transform(*block);
        return block;
    });
    const auto third =
        tbb::make_filter<Block*, void>(tbb::filter_mode::serial_in_order, [&](Block* block) { consume(*block); });

    tbb::task_arena arena(count);
    arena.execute([&] { tbb::parallel_pipeline(blocks.size(), first & second & third); });
}

} // namespace upsweep::cli
