// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Bulk copies and mbarriers, by the same kernels in the simulator and on a GPU.
#include "bulk_copies.cuh"

#include <algorithm>
#include <numeric>

#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/target.hpp>

#include "../targets.hpp"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

class bulk_copies : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (!gpu.workspace().has_clusters())
            GTEST_SKIP() << "bulk copies need compute capability 9.0";
    }

    up::cuda gpu;
};

TEST_F(bulk_copies, pass_a_whole_array_through_shared_memory)
{
    constexpr unsigned blocks = 5;
    for (const unsigned tiles : {1U, 2U, 3U, 11U}) {
        host_array<std::uint32_t> values(blocks * tiles * bulk_threads);
        std::iota(values.begin(), values.end(), 1);
        const target_array<up::cuda, std::uint32_t> in(values.span());
        target_array<up::cuda, std::uint32_t> out(values.size());
        up::gpu::launch(gpu, "double_by_bulk_copies", double_by_bulk_copies,
                        up::gpu::grid_shape{blocks, bulk_threads, 0}, in.const_span().data(), out.span().data(), tiles);
        for (std::uint32_t& value : values)
            value *= 2;
        EXPECT_TRUE(std::ranges::equal(out.to_host(), values)) << tiles << " tiles";
    }
}

TEST_F(bulk_copies, load_what_the_thread_has_written)
{
    target_array<up::cuda, std::uint32_t> data(4), out(4);
    up::gpu::launch(gpu, "load_what_was_written", load_what_was_written, up::gpu::grid_shape{1, 1, 0},
                    data.span().data(), out.span().data());
    EXPECT_TRUE(std::ranges::equal(out.to_host(), host_array<std::uint32_t>{10, 11, 12, 13}));
}

} // namespace
