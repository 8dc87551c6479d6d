// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "c_order.hpp"

#include <algorithm>
#include <cstring>

namespace upsweep::files {

namespace {

// Walks the columns (everything but the first index) in C order and tells where each lies in Fortran order.
class column_walk {
public:
    column_walk(const std::vector<std::uint64_t>& shape, std::uint64_t column)
        : extents_(shape.begin() + 1, shape.end()), index_(extents_.size()), strides_(extents_.size())
    {
        std::uint64_t stride = shape[0];
        for (std::size_t d = 0; d < extents_.size(); ++d) {
            strides_[d] = stride;
            stride *= extents_[d];
        }
        for (std::size_t d = extents_.size(); d-- > 0;) {
            index_[d] = column % extents_[d];
            column /= extents_[d];
            offset_ += index_[d] * strides_[d];
        }
    }

    std::uint64_t offset() const { return offset_; }

    void advance()
    {
        for (std::size_t d = extents_.size(); d-- > 0;) {
            offset_ += strides_[d];
            if (++index_[d] < extents_[d])
                return;
            offset_ -= extents_[d] * strides_[d];
            index_[d] = 0;
        }
    }

private:
    std::vector<std::uint64_t> extents_;
    std::vector<std::uint64_t> index_;
    std::vector<std::uint64_t> strides_; // in elements
    std::uint64_t offset_ = 0;
};

template <class Element>
void gather(const char* elements, const std::vector<std::uint64_t>& shape, std::uint64_t first, std::uint64_t count,
            char* out)
{
    std::uint64_t row_elements = 1;
    for (std::size_t d = 1; d < shape.size(); ++d)
        row_elements *= shape[d];

    while (count > 0) {
        const std::uint64_t row = first / row_elements;
        const std::uint64_t column = first % row_elements;
        const std::uint64_t rows = column == 0 ? std::max<std::uint64_t>(count / row_elements, 1) : 1;
        const std::uint64_t columns = std::min(row_elements - column, count);
        column_walk walk(shape, column);
        for (std::uint64_t c = 0; c < columns; ++c, walk.advance()) {
            const char* run = elements + (walk.offset() + row) * sizeof(Element);
            char* target = out + c * sizeof(Element);
            for (std::uint64_t r = 0; r < rows; ++r)
                std::memcpy(target + r * row_elements * sizeof(Element), run + r * sizeof(Element), sizeof(Element));
        }
        first += rows * columns;
        count -= rows * columns;
        out += rows * columns * sizeof(Element);
    }
}

} // namespace

bool is_contiguous_in_c_order(const std::vector<std::uint64_t>& shape)
{
    return std::count_if(shape.begin(), shape.end(), [](std::uint64_t extent) { return extent != 1; }) <= 1 ||
           std::find(shape.begin(), shape.end(), 0U) != shape.end();
}

void gather_in_c_order(const char* elements, std::size_t element_bytes, const std::vector<std::uint64_t>& shape,
                       std::uint64_t first, std::uint64_t count, char* out)
{
    switch (element_bytes) {
    case 1: return gather<std::uint8_t>(elements, shape, first, count, out);
    case 2: return gather<std::uint16_t>(elements, shape, first, count, out);
    case 4: return gather<std::uint32_t>(elements, shape, first, count, out);
    default: return gather<std::uint64_t>(elements, shape, first, count, out);
    }
}

} // namespace upsweep::files
