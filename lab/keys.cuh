// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The keys ladder: reduce by key. A run is a stretch of equal keys; of each run, its key and the fold of its values are
// written. Nobody knows in advance where a run's result belongs: that is the number of runs before it, which is a scan. The
// operator need not commute.
//
//   K1   serial
//   K2   scan, scatter         flags at the heads of runs, their scan (S6), then each tile folds its runs and writes them
//                              where the scan says (Blelloch, Prefix Sums and Their Applications, 1990): several passes
//   K3   decoupled look-back   one pass: a tile publishes how many runs begin in it together with the fold of its last run
//                              (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016)
#pragma once

#include "scan.cuh"
#include "segmented.cuh"

namespace lab {

// K1. One thread goes from run to run.
template <class K, class T, class Op>
__global__ void keys_serial(const K* keys, const T* values, K* keys_out, T* totals_out, unsigned* runs, unsigned n,
                            Op op)
{
    unsigned run = 0;
    K key = keys[0];
    T total = values[0];
    for (unsigned i = 1; i < n; ++i) {
        const K next = keys[i];
        if (next == key) {
            total = op(total, values[i]);
            continue;
        }
        keys_out[run] = key;
        totals_out[run] = total;
        ++run;
        key = next;
        total = values[i];
    }
    keys_out[run] = key;
    totals_out[run] = total;
    *runs = run + 1;
}

// K2, first launch. A one at the head of each run. The inclusive scan of these flags numbers the runs from one.
template <class K>
__global__ void keys_head_flags(const K* keys, unsigned* flags, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        flags[i] = i == 0 || keys[i] != keys[i - 1];
}

// K2, after the scan. The head of a run writes its key, and the last element of a run what the tile has of its fold. What a
// tile leaves open is for segments_fix_up.
template <class K, class T, class Op>
__global__ void keys_scatter(const K* keys, const T* values, const unsigned* numbers, K* keys_out, T* totals_out,
                             unsigned n, unsigned* open_runs, T* open_values, Op op)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool inside = i < n;
    const unsigned number = inside ? numbers[i] : 0;
    const bool head = inside && (i == 0 || numbers[i - 1] != number);
    const bool tail = !inside || i + 1 == n || numbers[i + 1] != number;
    bool open;
    const T mine = segmented_scan_block(inside ? values[i] : op.identity(), head, op, &open);
    if (head)
        keys_out[number - 1] = keys[i];
    if (inside && tail)
        totals_out[number - 1] = mine;
    if (threadIdx.x == blockDim.x - 1) {
        open_runs[blockIdx.x] = tail ? no_segment : number - 1;
        open_values[blockIdx.x] = mine;
    }
}

// Of a stretch of elements: how many runs begin in it, and the fold of what it has of its last run.
template <class T>
struct runs_of_stretch {
    unsigned heads;
    T last_run;
};

// Two stretches, one after the other. This is associative, and so it can be scanned.
template <class T, class Op>
struct join_stretches {
    Op op;
    __device__ runs_of_stretch<T> operator()(const runs_of_stretch<T>& left, const runs_of_stretch<T>& right) const
    {
        return {left.heads + right.heads, right.heads > 0 ? right.last_run : op(left.last_run, right.last_run)};
    }
    __device__ runs_of_stretch<T> identity() const { return {0, op.identity()}; }
};

// K3. The tile's keys lie in shared memory, with the one before and the one behind them. The last thread of the block knows
// the tile's number of heads and the fold of its last run; it looks back, as in S7, over pairs of both.
template <class K, class T, class Op>
__global__ void keys_look_back(const K* keys, const T* values, K* keys_out, T* totals_out, unsigned* runs, unsigned n,
                               runs_of_stretch<T>* totals, runs_of_stretch<T>* prefixes, unsigned* tile_states,
                               unsigned* ticket, Op op)
{
    extern __shared__ unsigned char storage[];
    __shared__ unsigned tile;
    __shared__ runs_of_stretch<T> before;
    K* tile_keys = reinterpret_cast<K*>(storage) + 1;
    const unsigned t = threadIdx.x;
    if (t == 0)
        tile = atomicAdd(ticket, 1u);
    __syncthreads();
    const unsigned i = tile * blockDim.x + t;
    if (i < n)
        tile_keys[t] = keys[i];
    if (t == 0 && i > 0)
        tile_keys[-1] = keys[i - 1];
    if (t == blockDim.x - 1 && i + 1 < n)
        tile_keys[blockDim.x] = keys[i + 1];
    __syncthreads();
    const bool inside = i < n;
    const bool head = inside && (i == 0 || tile_keys[t] != tile_keys[static_cast<int>(t) - 1]);
    const bool tail = inside && (i + 1 == n || tile_keys[t] != tile_keys[t + 1]);
    bool open;
    const T mine = segmented_scan_block(inside ? values[i] : op.identity(), head, op, &open);
    unsigned heads;
    const unsigned number = scan_block(head ? 1u : 0u, plus<unsigned>(), &heads);
    if (t == blockDim.x - 1) {
        const join_stretches<T, Op> join{op};
        const runs_of_stretch<T> total{heads, mine};
        if (tile > 0)
            publish(totals, tile_states, tile, total, tile_total);
        before = look_back(totals, prefixes, tile_states, tile, join);
        publish(prefixes, tile_states, tile, join(before, total), tile_prefix);
        if (tile == gridDim.x - 1)
            *runs = before.heads + heads;
    }
    __syncthreads();
    const unsigned run = before.heads + number - 1;
    if (head)
        keys_out[run] = tile_keys[t];
    if (tail)
        totals_out[run] = open ? op(before.last_run, mine) : mine;
}

} // namespace lab
