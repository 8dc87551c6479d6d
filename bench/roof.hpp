// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

// How fast this machine's memory can be read, copied, and updated in place, by all its cores. Nobody's loop is the
// fastest on every machine, so there are several of each kind and the best of them is the roof.
namespace bench {

struct read_kernel {
    std::string_view name;
    std::size_t (*run)(std::span<const std::byte> in); // returns a value made of every byte
};

struct copy_kernel {
    std::string_view name;
    void (*run)(std::span<const std::byte> in, std::span<std::byte> out);
};

struct update_kernel {
    std::string_view name;
    void (*run)(std::span<std::byte> data); // reads and rewrites every byte
};

std::span<const read_kernel> read_kernels();
std::span<const copy_kernel> copy_kernels();
std::span<const update_kernel> update_kernels();

} // namespace bench
