// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Instructions for which CUDA C++ has no spelling. The simulator has a header of the same name that declares the same
// names, so that a kernel written with them runs on both; a test compares the declarations of the two.
#pragma once

#include <cstdint>

#include <nv/target>

namespace upsweep::gpu {

// Sixteen bytes that are read and written as one, by a single access with an ordering at the scope of the GPU.
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

// Copies 16 bytes into shared memory, asynchronously, as __pipeline_memcpy_async does. The second-level cache evicts
// them before anything else. GPUs before compute capability 8.0 copy them at once.
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

// The same by way of the first-level cache, and to stay in the second as long as other loads do. What goes past the first-level cache is asked for by
// sectors of 32 bytes, and twice where a sector of memory does not lie in one of shared memory.
__device__ inline void copy_cached_async(void* shared, const void* global)
{
    NV_IF_ELSE_TARGET(NV_PROVIDES_SM_80,
                      (asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(
                                        static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
                                    "l"(__cvta_generic_to_global(global))
                                    : "memory");),
                      (*static_cast<word128*>(shared) = *static_cast<const word128*>(global);))
}

// The same for 16 bytes of a line of 128 of which other bytes are read soon: the second-level cache gets all of it at once.
__device__ inline void copy_line_async(void* shared, const void* global)
{
    NV_IF_ELSE_TARGET(NV_PROVIDES_SM_80,
                      (asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(
                                        static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
                                    "l"(__cvta_generic_to_global(global))
                                    : "memory");),
                      (*static_cast<word128*>(shared) = *static_cast<const word128*>(global);))
}

// Asks the second-level cache for the line of 128 bytes around an address.
__device__ inline void prefetch_line(const void* global)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(global)));
}

// Orders what this thread has read and written before with what it reads and writes after, for all threads of the GPU.
__device__ inline void fence() { __threadfence(); }

// The address of a word in shared memory, in 32 bits. The compiler keeps it in a register; an address that it could
// compute it would compute anew for each access.
using shared_address = std::uint32_t;
__device__ inline shared_address shared_address_of(std::uint32_t* words)
{
    shared_address address;
    asm volatile("mov.u32 %0, %1;" : "=r"(address) : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(words))));
    return address;
}

// The same value, which the compiler keeps in registers. It would compute anew, wherever it is used, what it can.
template <class T>
__device__ T keep(T value)
{
    if constexpr (sizeof(T) == 8)
        asm("" : "+l"(value));
    else
        asm("" : "+r"(value));
    return value;
}

// Adds one to a word. Nobody asks for the old value, which lets the hardware add up what the lanes of a warp add to one
// address.
__device__ inline void increment_shared(shared_address words, std::uint32_t index)
{
    asm volatile("red.relaxed.cta.shared.add.u32 [%0], 1;" ::"r"(words + 4 * index) : "memory");
}

// The same for the word whose index is the lower, or the upper, half of a pair of 16-bit indices. One instruction
// extracts the index and multiplies it by the 4 bytes of a word: a dot product with (4, 0), or (0, 4).
__device__ inline void increment_shared_lower(shared_address words, std::uint32_t pair)
{
    asm volatile("red.relaxed.cta.shared.add.u32 [%0], 1;" ::"r"(words + __dp2a_lo(pair, 0x0004U, 0U)) : "memory");
}
__device__ inline void increment_shared_upper(shared_address words, std::uint32_t pair)
{
    asm volatile("red.relaxed.cta.shared.add.u32 [%0], 1;" ::"r"(words + __dp2a_lo(pair, 0x0400U, 0U)) : "memory");
}

// Both add a value to a word; the first one returns what the word held before.
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

// Shared memory that is addressed by numbers of 32 bits: the number of a byte is its address, so that an access needs
// no base to be added.
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

// The barrier of a cluster, at which every thread arrives and then waits. There are clusters from compute capability
// 9.0 on.
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

// The lower half of the result repeats the sign bit of one integer, and the upper half that of the other.
__device__ inline std::uint32_t signs(std::uint32_t lower, std::uint32_t upper)
{
    std::uint32_t pair = 0;
    asm("prmt.b32 %0, %1, %2, 0xffbb;" : "=r"(pair) : "r"(lower), "r"(upper));
    return pair;
}

// An mbarrier is a barrier of 8 bytes in shared memory. Its phases count arrivals, and the bytes of asynchronous copies
// that were announced to it: a phase is complete when all of both have come. There are mbarriers with bytes, and all
// that follows up to `named_barrier`, from compute capability 9.0 on; kernels for older GPUs do not call them. The compiler
// knows whether there are any in what it compiles.
__device__ inline bool has_mbarriers() { NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (return true;), (return false;)) }
__device__ inline void mbarrier_init(std::uint64_t* barrier, std::uint32_t arrivals)
{
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(
                                                      static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier))),
                                                  "r"(arrivals)
                                                  : "memory");))
}
// The thread that has initialised mbarriers calls this before the barrier of the block, or of the cluster, after which
// others use them.
__device__ inline void mbarrier_init_fence()
{
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");))
}
// Arrives, and announces that the phase waits for so many bytes more.
__device__ inline void mbarrier_expect(std::uint64_t* barrier, std::uint32_t bytes)
{
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(
                                                      static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier))),
                                                  "r"(bytes)
                                                  : "memory");))
}
__device__ inline void mbarrier_arrive(std::uint64_t* barrier)
{
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(
                                                      static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier)))
                                                  : "memory");))
}
// Waits until the phase of this parity is complete. The first phase has parity 0, and the one before it, which counts
// as complete, has parity 1.
__device__ inline void mbarrier_wait(const std::uint64_t* barrier, std::uint32_t parity)
{
    NV_IF_TARGET(
        NV_PROVIDES_SM_90,
        (asm volatile("{\n\t.reg .pred complete;\nwait:\n\t"
                      "mbarrier.try_wait.parity.shared.b64 complete, [%0], %1;\n\t@!complete bra wait;\n\t}" ::"r"(
                          static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier))),
                      "r"(parity)
                      : "memory");))
}

// Bulk copies move multiples of 16 bytes between addresses that are multiples of 16. One thread issues a copy, and the
// hardware carries it out. The bytes of a load count at an mbarrier of the block when they have arrived.
__device__ inline void bulk_load(void* shared, const void* global, std::uint32_t bytes, std::uint64_t* barrier)
{
    NV_IF_TARGET(
        NV_PROVIDES_SM_90,
        (asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                          static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))),
                      "l"(__cvta_generic_to_global(global)), "r"(bytes),
                      "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier)))
                      : "memory");))
}
__device__ inline void bulk_store(void* global, const void* shared, std::uint32_t bytes)
{
    NV_IF_TARGET(NV_PROVIDES_SM_90,
                 (asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                                   __cvta_generic_to_global(global)),
                               "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))), "r"(bytes)
                               : "memory");))
}
// Makes a group of the stores that the thread has issued since its last group.
__device__ inline void bulk_commit()
{
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("cp.async.bulk.commit_group;" ::: "memory");))
}
// Waits until all but the last N groups of the thread have been read from shared memory, or written to global memory.
template <int N>
__device__ inline void bulk_wait_read()
{
    static_assert(N >= 0 && N < 64);
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");))
}
template <int N>
__device__ inline void bulk_wait()
{
    static_assert(N >= 0 && N < 64);
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");))
}
// Bulk copies reach memory by another way, the async proxy, than loads and stores do. This fence stands between an
// ordinary write to shared memory and the bulk copy that is to see it; the second one does so for global memory, too.
__device__ inline void async_proxy_fence()
{
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("fence.proxy.async.shared::cta;" ::: "memory");))
}
__device__ inline void async_proxy_fence_of_all_memory()
{
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("fence.proxy.async;" ::: "memory");))
}

// The same word in the shared memory of another block of the cluster. The address is good for transfers alone.
__device__ inline shared_address cluster_address(shared_address words, std::uint32_t rank)
{
    shared_address there = 0;
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                                                  : "=r"(there)
                                                  : "r"(words), "r"(rank));))
    return there;
}

// A transfer (st.async) carries 16 bytes into the shared memory of another block of the cluster, where they count at an
// mbarrier when they have arrived. Words are addressed in units of 16 bytes, and mbarriers in units of 8. One warp
// waits at an mbarrier, for the same number of bytes each time; `turn` says how many times it has waited before. All
// threads of the cluster pass its barrier between `init_transfers` and the first transfer.
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

// Waits at barrier number `id` of the block until so many of its threads have come: whole warps, which may call it at
// different places of the program.
__device__ inline void named_barrier(int id, int threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

} // namespace upsweep::gpu
