// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The image ladder: the integral image, or summed-area table (Crow, Summed-Area Tables for Texture Mapping, 1984). out(y, x) is
// the sum of all pixels above and to the left, with those of row y and of column x.
//
//   I1   rows, then columns   the kernels of S9: every pixel is read twice and written twice; a few long rows have few
//                             blocks, and a few long columns have few threads
//   I2   tiles and carries    the sums along the edges of tiles are scanned, and the tiles begin with them: read twice,
//                             written once (Nehab, Maximo, Lima and Hoppe, GPU-Efficient Recursive Filtering and
//                             Summed-Area Tables, 2011)
//   I3   one pass             tiles look back along their row, and then along their column: read once, written once
//                             (look-back: Merrill and Garland 2016; one kernel with flags: Emoto, Honda, Nakano and Ito, An
//                             Efficient GPU Implementation of Computing the Summed Area Table, 2017)
#pragma once

#include "scan.cuh"
#include "segmented.cuh"

namespace lab {

// I2, I3. A tile has as many rows and columns as a warp has lanes. Its rows are one word longer in shared memory, so that the
// words of a column lie in different banks.
constexpr unsigned edge = 32;
template <class T>
using tile_of_image = T[edge][edge + 1];

struct image_shape {
    unsigned rows, columns;
    __host__ __device__ unsigned tile_rows() const { return (rows + edge - 1) / edge; }
    __host__ __device__ unsigned tile_columns() const { return (columns + edge - 1) / edge; }
};

// Where a tile lies. Tiles are numbered row by row.
struct place_of_tile {
    unsigned row, column; // of tiles
    __device__ place_of_tile(unsigned number, image_shape shape)
        : row(number / shape.tile_columns()), column(number % shape.tile_columns())
    {
    }
    __device__ unsigned y(unsigned i) const { return row * edge + i; }
    __device__ unsigned x(unsigned i) const { return column * edge + i; }
};

// Warps take rows of the tile in turns. Outside the image lies the identity.
template <class T, class Op>
__device__ void load_tile(const T* in, image_shape shape, place_of_tile place, tile_of_image<T>& tile, Op op)
{
    const unsigned lane = threadIdx.x % 32;
    for (unsigned i = threadIdx.x / 32; i < edge; i += blockDim.x / 32) {
        const bool inside = place.y(i) < shape.rows && place.x(lane) < shape.columns;
        tile[i][lane] = inside ? in[static_cast<size_t>(place.y(i)) * shape.columns + place.x(lane)] : op.identity();
    }
    __syncthreads();
}

// Each warp scans rows, a lane a column.
template <class T, class Op>
__device__ void scan_rows_of_tile(tile_of_image<T>& tile, Op op)
{
    const unsigned lane = threadIdx.x % 32;
    for (unsigned i = threadIdx.x / 32; i < edge; i += blockDim.x / 32)
        tile[i][lane] = segmented_scan_warp(tile[i][lane], 0, op);
    __syncthreads();
}

// Each warp scans columns, a lane a row, whose sum to the left of the tile comes first.
template <class T, class Op>
__device__ void scan_columns_of_tile(tile_of_image<T>& tile, const T* left, Op op)
{
    const unsigned lane = threadIdx.x % 32;
    for (unsigned i = threadIdx.x / 32; i < edge; i += blockDim.x / 32)
        tile[lane][i] = segmented_scan_warp(op(left[lane], tile[lane][i]), 0, op);
    __syncthreads();
}

template <class T, class Op>
__device__ void store_tile(T* out, image_shape shape, place_of_tile place, const tile_of_image<T>& tile, const T* above,
                           Op op)
{
    const unsigned lane = threadIdx.x % 32;
    for (unsigned i = threadIdx.x / 32; i < edge; i += blockDim.x / 32)
        if (place.y(i) < shape.rows && place.x(lane) < shape.columns)
            out[static_cast<size_t>(place.y(i)) * shape.columns + place.x(lane)] = op(above[lane], tile[i][lane]);
}

// I2, first launch. A block folds the rows and the columns of its tile. The folds of rows have a line for each column of
// tiles, and those of columns one for each row of tiles.
template <class T, class Op>
__global__ void image_edges(const T* in, image_shape shape, T* row_sums, T* column_sums, Op op)
{
    __shared__ tile_of_image<T> tile;
    const place_of_tile place(blockIdx.x, shape);
    load_tile(in, shape, place, tile, op);
    const unsigned lane = threadIdx.x % 32;
    for (unsigned i = threadIdx.x / 32; i < edge; i += blockDim.x / 32) {
        const T row = fold_warp_in_order(tile[i][lane], op), column = fold_warp_in_order(tile[lane][i], op);
        if (lane == 0 && place.y(i) < shape.rows)
            row_sums[static_cast<size_t>(place.column) * shape.rows + place.y(i)] = row;
        if (lane == 0 && place.x(i) < shape.columns)
            column_sums[static_cast<size_t>(place.row) * shape.columns + place.x(i)] = column;
    }
}

// I2, last launch. By now, a line of row_sums holds the sums of rows up to the end of its column of tiles, and a line of
// column_sums the integral image at the lower edge of its row of tiles.
template <class T, class Op>
__global__ void image_tiles(const T* in, T* out, image_shape shape, const T* row_sums, const T* column_sums, Op op)
{
    __shared__ tile_of_image<T> tile;
    __shared__ T left[edge], above[edge];
    const place_of_tile place(blockIdx.x, shape);
    const unsigned t = threadIdx.x, y = place.y(t), x = place.x(t);
    if (t < edge) {
        left[t] = place.column > 0 && y < shape.rows ? row_sums[static_cast<size_t>(place.column - 1) * shape.rows + y]
                                                     : op.identity();
        above[t] = place.row > 0 && x < shape.columns
                       ? column_sums[static_cast<size_t>(place.row - 1) * shape.columns + x]
                       : op.identity();
    }
    load_tile(in, shape, place, tile, op);
    scan_rows_of_tile(tile, op);
    scan_columns_of_tile(tile, left, op);
    store_tile(out, shape, place, tile, above, op);
}

// What tiles tell one another in one direction: 32 sums of their own, then 32 sums up to their end, and how far they are.
template <class T>
struct edges_of_tiles {
    T *totals, *prefixes;
    unsigned* states;
};

// One warp publishes 32 values of a tile, a lane each. The lane that sets the state passes on, by its fence, what the others
// have written before the barrier.
template <class T>
__device__ void publish_edge(T* values, unsigned* states, unsigned tile, T mine, unsigned state)
{
    values[tile * edge + threadIdx.x] = mine;
    __syncwarp();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(&states[tile], state);
    }
}

// One warp looks back over `count` tiles, which are `stride` apart, and publishes what it gains: each lane folds a line of its
// own. It returns the fold of all that precedes the tile.
template <class T, class Op>
__device__ T look_back_along(edges_of_tiles<T> edges, unsigned tile, unsigned count, unsigned stride, T total, Op op)
{
    if (count > 0)
        publish_edge(edges.totals, edges.states, tile, total, tile_total);
    T prefix = op.identity();
    for (unsigned other = tile; count > 0; --count) {
        other -= stride;
        unsigned state = tile_empty;
        while (threadIdx.x == 0 && state == tile_empty)
            state = atomicAdd(&edges.states[other], 0u);
        __threadfence();
        __syncwarp();
        state = __shfl_sync(every_lane, state, 0);
        const T* values = state == tile_prefix ? edges.prefixes : edges.totals;
        prefix = op(values[other * edge + threadIdx.x], prefix);
        if (state == tile_prefix)
            break;
    }
    publish_edge(edges.prefixes, edges.states, tile, op(prefix, total), tile_prefix);
    return prefix;
}

// I3. Tickets number tiles row by row, so that a tile waits only for those whose blocks already run: the ones to its left, for
// the sums of its rows, and then the ones above, for the sums of its columns. The states and the ticket start at zero.
template <class T, class Op>
__global__ void image_look_back(const T* in, T* out, image_shape shape, edges_of_tiles<T> across,
                                edges_of_tiles<T> down, unsigned* ticket, Op op)
{
    __shared__ tile_of_image<T> tile;
    __shared__ T left[edge], above[edge];
    __shared__ unsigned number;
    const unsigned t = threadIdx.x;
    if (t == 0)
        number = atomicAdd(ticket, 1u);
    __syncthreads();
    const place_of_tile place(number, shape);
    load_tile(in, shape, place, tile, op);
    scan_rows_of_tile(tile, op);
    if (t < edge)
        left[t] = look_back_along(across, number, place.column, 1, tile[t][edge - 1], op);
    __syncthreads();
    scan_columns_of_tile(tile, left, op);
    if (t < edge)
        above[t] = look_back_along(down, number, place.row, shape.tile_columns(), tile[edge - 1][t], op);
    __syncthreads();
    store_tile(out, shape, place, tile, above, op);
}

} // namespace lab
