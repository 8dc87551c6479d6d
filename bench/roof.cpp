// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "roof.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace bench {
namespace {

constexpr std::size_t line = 64;

// A cache line in the widest registers of the machine that this is compiled for (GCC's and clang's vector extension).
using vector = std::uint64_t __attribute__((vector_size(line), aligned(line), may_alias));

// f(first, last) for every piece of [0, bytes), by all threads.
template <class F>
void for_pieces(std::size_t bytes, std::size_t piece, F f)
{
    tbb::parallel_for(
        std::size_t{0}, (bytes + piece - 1) / piece,
        [&](std::size_t k) { f(k * piece, std::min((k + 1) * piece, bytes)); }, tbb::simple_partitioner{});
}

std::size_t one_piece_a_thread(std::size_t bytes)
{
    const auto threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
    return ((bytes + threads - 1) / threads + line - 1) / line * line;
}

constexpr std::size_t small_piece = std::size_t{256} << 10;

// Accumulators are independent, so that loads and not additions bound the speed.
template <bool Prefetch>
std::uint64_t read(const std::byte* first, const std::byte* last)
{
    constexpr std::size_t unroll = 8;
    constexpr std::size_t ahead = 4096;
    vector sums[unroll]{}; // not std::array: template arguments lose the alignment
    const std::byte* in = first;
    for (; in + unroll * line <= last; in += unroll * line)
        for (std::size_t k = 0; k < unroll; ++k) {
            if constexpr (Prefetch)
                __builtin_prefetch(in + ahead + k * line, 0, 0);
            sums[k] += *reinterpret_cast<const vector*>(in + k * line);
        }
    std::uint64_t total = 0;
    for (; in < last; ++in)
        total += std::to_integer<std::uint64_t>(*in);
    for (const vector& sum : sums)
        for (std::size_t lane = 0; lane < line / 8; ++lane)
            total += sum[lane];
    return total;
}

template <bool Prefetch, bool Small>
std::size_t read_all(std::span<const std::byte> in)
{
    std::atomic<std::size_t> total{0};
    for_pieces(in.size(), Small ? small_piece : one_piece_a_thread(in.size()),
               [&](std::size_t first, std::size_t last) {
                   total.fetch_add(read<Prefetch>(in.data() + first, in.data() + last), std::memory_order_relaxed);
               });
    return total;
}

// store(to, value) for every cache line, and memcpy for what remains.
template <class Store>
void copy_lines(const std::byte* in, std::byte* out, std::size_t bytes, Store store)
{
    constexpr std::size_t unroll = 4;
    std::size_t i = 0;
    for (; i + unroll * line <= bytes; i += unroll * line) {
        vector lines[unroll];
        for (std::size_t k = 0; k < unroll; ++k)
            lines[k] = *reinterpret_cast<const vector*>(in + i + k * line);
        for (std::size_t k = 0; k < unroll; ++k)
            store(reinterpret_cast<vector*>(out + i + k * line), lines[k]);
    }
    std::memcpy(out + i, in + i, bytes - i);
}

void copy_by_memcpy(const std::byte* in, std::byte* out, std::size_t bytes) { std::memcpy(out, in, bytes); }

void copy_by_stores(const std::byte* in, std::byte* out, std::size_t bytes)
{
    copy_lines(in, out, bytes, [](vector* to, const vector& value) { *to = value; });
}

#if defined(__x86_64__)
void copy_by_rep_movsb(const std::byte* in, std::byte* out, std::size_t bytes)
{
    asm volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(bytes) : : "memory");
}

// Past the caches, which saves reading the lines that are about to be overwritten.
void copy_by_streaming_stores(const std::byte* in, std::byte* out, std::size_t bytes)
{
    copy_lines(in, out, bytes, [](vector* to, const vector& value) {
#if defined(__AVX512F__)
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(value));
#else
        for (std::size_t word = 0; word < line / 8; ++word)
            _mm_stream_si64(reinterpret_cast<long long*>(to) + word, static_cast<long long>(value[word]));
#endif
    });
    _mm_sfence();
}
#endif

template <void (*Copy)(const std::byte*, std::byte*, std::size_t), bool Small>
void copy_all(std::span<const std::byte> in, std::span<std::byte> out)
{
    for_pieces(in.size(), Small ? small_piece : one_piece_a_thread(in.size()),
               [&](std::size_t first, std::size_t last) { Copy(in.data() + first, out.data() + first, last - first); });
}

template <void (*Copy)(const std::byte*, std::byte*, std::size_t), bool Small>
void update_all(std::span<std::byte> data)
{
    copy_all<Copy, Small>(data, data);
}

constexpr read_kernel readers[] = {
    {"one piece a thread", read_all<false, false>},
    {"one piece a thread, prefetch", read_all<true, false>},
    {"small pieces", read_all<false, true>},
    {"small pieces, prefetch", read_all<true, true>},
};

constexpr copy_kernel copiers[] = {
    {"memcpy", copy_all<copy_by_memcpy, false>},
    {"memcpy, small pieces", copy_all<copy_by_memcpy, true>},
    {"stores", copy_all<copy_by_stores, false>},
#if defined(__x86_64__)
    {"rep movsb", copy_all<copy_by_rep_movsb, false>},
    {"streaming stores", copy_all<copy_by_streaming_stores, false>},
    {"streaming stores, small pieces", copy_all<copy_by_streaming_stores, true>},
#endif
};

constexpr update_kernel updaters[] = {
    {"stores", update_all<copy_by_stores, false>},
    {"stores, small pieces", update_all<copy_by_stores, true>},
#if defined(__x86_64__)
    {"streaming stores, small pieces", update_all<copy_by_streaming_stores, true>},
#endif
};

} // namespace

std::span<const read_kernel> read_kernels() { return readers; }
std::span<const copy_kernel> copy_kernels() { return copiers; }
std::span<const update_kernel> update_kernels() { return updaters; }

} // namespace bench
