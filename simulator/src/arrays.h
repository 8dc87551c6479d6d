// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "upsweep/simulator/cuda/textures.h"

// The memory of an array lies row by row, without gaps.
struct cudaArray {
    cudaChannelFormatDesc format;
    cudaExtent extent; // in elements; 0 in the dimensions that it does not have
    unsigned flags;
    std::size_t element_bytes;
    void* memory;

    std::size_t rows() const { return extent.height == 0 ? 1 : extent.height; }
    std::size_t slices() const { return extent.depth == 0 ? 1 : extent.depth; }
    std::size_t pitch() const { return extent.width * element_bytes; }
    char* at(std::size_t x_bytes, std::size_t y, std::size_t z = 0) const
    {
        return static_cast<char*>(memory) + (z * rows() + y) * pitch() + x_bytes;
    }
};
