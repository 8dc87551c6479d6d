// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <nv/target>

// What CUDA C++ has no spelling for: single accesses of 16 bytes and accesses with an ordering, at the scope of the GPU.
namespace upsweep::gpu {

// Sixteen bytes that are read and written as one.
struct alignas(16) word128 {
    std::uint64_t low;
    std::uint64_t high;
};

__device__ inline word128 load_relaxed(const word128* from)
{
    word128 word;
    asm volatile("{\n\t.reg .b128 t;\n\tld.relaxed.gpu.global.b128 t, [%2];\n\tmov.b128 {%0, %1}, t;\n\t}"
                 : "=l"(word.low), "=l"(word.high)
                 : "l"(__cvta_generic_to_global(from))
                 : "memory");
    return word;
}

__device__ inline void store_relaxed(word128* to, word128 word)
{
    asm volatile("{\n\t.reg .b128 t;\n\tmov.b128 t, {%1, %2};\n\tst.relaxed.gpu.global.b128 [%0], t;\n\t}" ::"l"(
                     __cvta_generic_to_global(to)),
                 "l"(word.low), "l"(word.high)
                 : "memory");
}

__device__ inline std::uint64_t load_relaxed(const std::uint64_t* from)
{
    std::uint64_t value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(from)) : "memory");
    return value;
}

__device__ inline void store_relaxed(std::uint64_t* to, std::uint64_t value)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "l"(value) : "memory");
}

// Copies 16 bytes into shared memory, asynchronously, as __pipeline_memcpy_async does. The second-level cache gives them up before
// anything else. GPUs before compute capability 8.0 copy them at once.
__device__ inline void copy_once_async(void* shared, const void* global)
{
    NV_IF_ELSE_TARGET(NV_PROVIDES_SM_80,
                      (std::uint64_t policy; asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;"
                                                 : "=l"(policy));
                       asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(
                                        static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
                                    "l"(__cvta_generic_to_global(global)), "l"(policy)
                                    : "memory");),
                      (*static_cast<word128*>(shared) = *static_cast<const word128*>(global);))
}

// Orders what this thread has read and written before with what it reads and writes after, for all threads of the GPU.
__device__ inline void fence() { __threadfence(); }

// Where a word of shared memory lies. The compiler keeps it in a register, where it would compute an address anew.
using shared_address = std::uint32_t;
__device__ inline shared_address shared_address_of(std::uint32_t* words)
{
    shared_address address;
    asm volatile("mov.u32 %0, %1;" : "=r"(address) : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(words))));
    return address;
}

// Adds one to a word. Nobody sees the old value, so that the hardware may add up what a warp adds to one address.
__device__ inline void increment_shared(shared_address words, std::uint32_t index)
{
    asm volatile("red.relaxed.cta.shared.add.u32 [%0], 1;" ::"r"(words + 4 * index) : "memory");
}

// The same for the word whose index is the lower, or the upper, half of a pair of 16-bit indices. One instruction takes
// it out and makes bytes of it: a dot product with (4, 0), or (0, 4).
__device__ inline void increment_shared_lower(shared_address words, std::uint32_t pair)
{
    asm volatile("red.relaxed.cta.shared.add.u32 [%0], 1;" ::"r"(words + __dp2a_lo(pair, 0x0004U, 0U)) : "memory");
}
__device__ inline void increment_shared_upper(shared_address words, std::uint32_t pair)
{
    asm volatile("red.relaxed.cta.shared.add.u32 [%0], 1;" ::"r"(words + __dp2a_lo(pair, 0x0400U, 0U)) : "memory");
}

// Adds a value to a word; the first tells what the word held.
__device__ inline std::uint32_t fetch_add_shared(shared_address words, std::uint32_t index, std::uint32_t value)
{
    std::uint32_t before;
    asm volatile("atom.relaxed.cta.shared.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "r"(words + 4 * index), "r"(value)
                 : "memory");
    return before;
}
__device__ inline void add_shared(shared_address words, std::uint32_t index, std::uint32_t value)
{
    asm volatile("red.relaxed.cta.shared.add.u32 [%0], %1;" ::"r"(words + 4 * index), "r"(value) : "memory");
}

// Shared memory whose bytes have numbers of 32 bits: where they lie, so that an access needs no other address.
class shared_window {
public:
    __device__ explicit shared_window(void* first) : first_(static_cast<std::uint32_t>(__cvta_generic_to_shared(first)))
    {
    }

    __device__ std::uint32_t first() const { return first_; }

    __device__ void increment(std::uint32_t at) const { increment_shared(at, 0); }
    __device__ std::uint32_t fetch_add(std::uint32_t at, std::uint32_t value) const
    {
        return fetch_add_shared(at, 0, value);
    }
    __device__ void store(std::uint32_t at, std::uint16_t value) const
    {
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(value) : "memory");
    }
    __device__ void store(std::uint32_t at, const uint4& value) const
    {
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(value.x), "r"(value.y), "r"(value.z),
                     "r"(value.w)
                     : "memory");
    }
    __device__ uint4 load(std::uint32_t at) const
    {
        uint4 value;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                     : "r"(at)
                     : "memory");
        return value;
    }

private:
    std::uint32_t first_;
};

// The barrier of a cluster, which all its threads pass: arrive, then wait. There are clusters from compute capability 9.0 on.
__device__ inline void cluster_arrive()
{
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");))
}
__device__ inline void cluster_wait()
{
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("barrier.cluster.wait.aligned;" ::: "memory");))
}

// The same variable in the shared memory of another block of the cluster.
template <class T>
__device__ T* cluster_map(T* shared, std::uint32_t rank)
{
    std::uint64_t there = 0;
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("mapa.u64 %0, %1, %2;"
                                                  : "=l"(there)
                                                  : "l"(reinterpret_cast<std::uint64_t>(shared)), "r"(rank));))
    return reinterpret_cast<T*>(there);
}

// The sign of each of two integers, in all bits of a half of a word.
__device__ inline std::uint32_t signs(std::uint32_t lower, std::uint32_t upper)
{
    std::uint32_t pair = 0;
    asm("prmt.b32 %0, %1, %2, 0xffbb;" : "=r"(pair) : "r"(lower), "r"(upper));
    return pair;
}

// The same word in the shared memory of another block of the cluster, for transfers alone.
__device__ inline shared_address cluster_address(shared_address words, std::uint32_t rank)
{
    shared_address there = 0;
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                                                  : "=r"(there)
                                                  : "r"(words), "r"(rank));))
    return there;
}

// Transfers of 16 bytes into the shared memory of another block of the cluster, and barriers of 8 bytes there, at which
// they count when they have arrived. Indices are in units of these. A barrier is waited for again and again, by one
// warp and for the same number of bytes: `turn` counts how often before. Before the first transfer, the blocks of the
// cluster pass a barrier.
__device__ inline void init_transfers(shared_address barriers, std::uint32_t index)
{
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barriers + 8 * index)
                                                  : "memory");
                                     asm volatile("fence.mbarrier_init.release.cluster;" ::
                                                      : "memory");))
}
__device__ inline void transfer(shared_address words, std::uint32_t index, uint4 value, shared_address barriers,
                                std::uint32_t barrier)
{
    NV_IF_TARGET(NV_PROVIDES_SM_90,
                 (asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
                               "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(words + 16 * index),
                               "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "r"(barriers + 8 * barrier)
                               : "memory");))
}
__device__ inline void wait_for_transfers(shared_address barriers, std::uint32_t index, std::uint32_t bytes,
                                          std::uint32_t turn)
{
    NV_IF_TARGET(
        NV_PROVIDES_SM_90,
        (if (threadIdx.x % 32 ==
             0) asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barriers + 8 * index), "r"(bytes)
                             : "memory");
         asm volatile("{\n\t.reg .pred arrived;\nwait:\n\t"
                      "mbarrier.try_wait.parity.shared.b64 arrived, [%0], %1;\n\t@!arrived bra wait;\n\t}" ::"r"(
                          barriers + 8 * index),
                      "r"(turn % 2)
                      : "memory");))
}

// Barrier number `id` of a block, for so many of its threads: whole warps, which may stand at different places.
__device__ inline void named_barrier(int id, int threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

} // namespace upsweep::gpu
