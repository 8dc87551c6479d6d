// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/warp.cuh>

// How the warps of a block that scans wait for one another, in one of two ways. Either all of them meet at a named barrier in
// each step. Or they wait apart, each at an mbarrier for what it needs next:
//
//     who waits          for what                 of tile       who wrote it
//     publishing warp    totals of warp tiles     i + ahead     scanning warps
//     look-back warp     its number               i             publishing warp
//     look-back warp     totals of warp tiles     i and i + 1   scanning warps
//     scanning warps     folds before warp tiles  i             look-back warp
//     scanning warps     its number               i + stages    publishing warp
//
// so that a warp may be a step ahead of another, which no longer waits for the slowest of all in each step. That is worth a tenth
// of the time where warps shift what they read and write. Else steps bring reads and writes of memory into an order in which
// memory is 1 % faster.
namespace upsweep::gpu {

// Shape is a scan_shape.
template <class Shape>
class scan_steps {
    static constexpr int stages = Shape::stages;
    static constexpr int numbers = stages + 2;                 // of tiles that are kept
    static constexpr int first_number = stages - Shape::ahead; // that the publishing warp writes
    static_assert(Shape::ahead >= 1 && stages > Shape::ahead,
                  "what is written in the place of an earlier tile's has been waited for by those who read that");

public:
    struct mbarriers {
        std::uint64_t of_totals[stages];
        std::uint64_t of_folds[stages];
        std::uint64_t of_numbers[numbers];
    };
    struct nothing {};
    using memory = std::conditional_t<Shape::waits_apart, mbarriers, nothing>;

    // All threads of a block call this together.
    __device__ explicit scan_steps(memory& shared) : shared_(shared)
    {
        if constexpr (Shape::waits_apart) {
            if (!apart())
                return;
            if (threadIdx.x == 0) {
                for (int k = 0; k < stages; ++k) {
                    mbarrier_init(&shared_.of_totals[k], Shape::warps);
                    mbarrier_init(&shared_.of_folds[k], 1);
                }
                for (int k = 0; k < numbers; ++k)
                    mbarrier_init(&shared_.of_numbers[k], 1);
                mbarrier_init_fence();
            }
            __syncthreads();
        }
    }

    // The named barrier of step i, at which all warps meet but for the look-back warps whose turn it is not.
    __device__ static void meet(int i)
    {
        if (!apart())
            named_barrier((i + Shape::ahead) % Shape::look_back_warps,
                          Shape::threads - (Shape::look_back_warps - 1) * lanes);
    }

    // Where warps wait apart, the lanes of a warp call these together: after they wrote something for others, and before they
    // read what others wrote. The publishing warp calls wrote_number in each step, for tile i + stages, also for the tiles
    // whose numbers all know: it says that the totals of tile i - 1 + ahead have been read, too.
    __device__ void wrote_total(int tile) const { arrive<&mbarriers::of_totals>(tile, stages); }
    __device__ void wrote_folds(int tile) const { arrive<&mbarriers::of_folds>(tile, stages); }
    __device__ void wrote_number(int tile) const { arrive<&mbarriers::of_numbers>(tile - first_number, numbers); }
    __device__ void wait_for_totals(int tile) const { wait<&mbarriers::of_totals>(tile, stages); }
    __device__ void wait_for_folds(int tile) const { wait<&mbarriers::of_folds>(tile, stages); }
    __device__ void wait_for_number(int tile) const { wait<&mbarriers::of_numbers>(tile - first_number, numbers); }

private:
    // Whether warps wait apart. GPUs before compute capability 9.0, and what their PTX becomes on others, have no mbarriers that
    // can be waited for.
    __device__ static bool apart() { return Shape::waits_apart && has_mbarriers(); }

    template <auto Which>
    __device__ void arrive(int use, int count) const
    {
        if constexpr (Shape::waits_apart) {
            if (!apart())
                return;
            __syncwarp();
            if (lane_id() == 0)
                mbarrier_arrive(&(shared_.*Which)[use % count]);
        }
    }
    template <auto Which>
    __device__ void wait(int use, int count) const
    {
        if constexpr (Shape::waits_apart)
            if (apart() && use >= 0)
                mbarrier_wait(&(shared_.*Which)[use % count], static_cast<unsigned>(use / count) % 2);
    }

    memory& shared_;
};

} // namespace upsweep::gpu
