// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// How the kernels of image.cuh are launched and checked.
#include "image.cuh"

#include <algorithm>
#include <cmath>

#include "launch.cuh"

namespace lab {

namespace {

enum : unsigned { square, wide, tall };

// About n pixels, and no more.
image_shape shape_of_image(const task& what)
{
    const unsigned side =
        what.input == square ? static_cast<unsigned>(std::sqrt(static_cast<double>(what.n))) : std::min(what.n, 16u);
    const unsigned other = what.n / side;
    return what.input == wide ? image_shape{side, other} : image_shape{other, side};
}

struct image_by_lines {
    template <class T, class Op>
    std::vector<T> operator()(const std::vector<T>& pixels, image_shape shape, unsigned block, Op op) const
    {
        const buffer<T> in(pixels), out(pixels.size());
        launch(scan_rows<T, Op>, shape.rows, block, 0, in.data(), out.data(), shape.columns, op);
        launch(scan_columns<T, Op>, blocks_for(shape.columns, block), block, 0, out.data(), shape.rows, shape.columns,
               op);
        return out.read();
    }
};

struct image_by_tiles {
    template <class T, class Op>
    std::vector<T> operator()(const std::vector<T>& pixels, image_shape shape, unsigned block, Op op) const
    {
        const unsigned tile_rows = shape.tile_rows(), tile_columns = shape.tile_columns();
        const buffer<T> in(pixels), out(pixels.size()), row_sums(std::size_t{tile_columns} * shape.rows),
            column_sums(std::size_t{tile_rows} * shape.columns);
        launch(image_edges<T, Op>, tile_rows * tile_columns, block, 0, in.data(), shape, row_sums.data(),
               column_sums.data(), op);
        launch(scan_columns<T, Op>, blocks_for(shape.rows, block), block, 0, row_sums.data(), tile_columns, shape.rows,
               op);
        launch(scan_columns<T, Op>, blocks_for(shape.columns, block), block, 0, column_sums.data(), tile_rows,
               shape.columns, op);
        launch(scan_rows<T, Op>, tile_rows, block, 0, column_sums.data(), column_sums.data(), shape.columns, op);
        launch(image_tiles<T, Op>, tile_rows * tile_columns, block, 0, in.data(), out.data(), shape, row_sums.data(),
               column_sums.data(), op);
        return out.read();
    }
};

struct image_in_one_pass {
    template <class T, class Op>
    std::vector<T> operator()(const std::vector<T>& pixels, image_shape shape, unsigned block, Op op) const
    {
        const unsigned tiles = shape.tile_rows() * shape.tile_columns();
        const buffer<T> in(pixels), out(pixels.size()), values(4 * std::size_t{tiles} * edge);
        const auto states = zeros<unsigned>(2 * std::size_t{tiles}), ticket = zeros<unsigned>(1);
        T* const edges = values.data();
        const std::size_t apart = std::size_t{tiles} * edge;
        launch(image_look_back<T, Op>, tiles, block, 0, in.data(), out.data(), shape,
               edges_of_tiles<T>{edges, edges + apart, states.data()},
               edges_of_tiles<T>{edges + 2 * apart, edges + 3 * apart, states.data() + tiles}, ticket.data(), op);
        return out.read();
    }
};

std::vector<int> integral_image(const std::vector<int>& pixels, image_shape shape)
{
    std::vector<int> out(pixels.size());
    for (std::size_t y = 0; y < shape.rows; ++y) {
        int row = 0;
        for (std::size_t x = 0; x < shape.columns; ++x) {
            row += pixels[y * shape.columns + x];
            out[y * shape.columns + x] = row + (y > 0 ? out[(y - 1) * shape.columns + x] : 0);
        }
    }
    return out;
}

template <class Runner>
rung image_rung(const char* row, const char* name, const char* idea, Runner runner)
{
    rung made{row, name, idea, [runner](const task& what) {
                  const auto shape = shape_of_image(what);
                  const auto pixels = small_numbers(shape.rows * shape.columns);
                  const auto answer = integral_image(pixels, shape);
                  return repeat(what.repetitions, pixels.size(), 2 * pixels.size() * sizeof(int),
                                [&] { return runner(pixels, shape, what.block, counted<plus<int>>()) == answer; });
              }};
    made.trace = traced([runner](const task& what, auto values_of, auto op) {
        const auto shape = shape_of_image(what);
        runner(values_of(shape.rows * shape.columns), shape, what.block, op);
    });
    return made;
}

} // namespace

ladder image_ladder()
{
    return {
        "image",
        "Image: the sums over all rectangles from the corner",
        {
            image_rung("I1", "scan_rows", "rows, then columns: two passes over the image", image_by_lines()),
            image_rung("I2", "image_tiles", "tiles and their carries: read twice, written once", image_by_tiles()),
            image_rung("I3", "image_look_back", "tiles that look back: read once, written once", image_in_one_pass()),
        },
        {{"square", "as many rows as columns"}, {"wide", "16 long rows"}, {"tall", "16 long columns"}}};
}

} // namespace lab
