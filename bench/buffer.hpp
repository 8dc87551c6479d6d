// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include <sys/mman.h>

namespace bench {

// An array in huge pages where the system grants them, so that no contender pays for the others' page table walks.
template <class T>
class buffer {
public:
    explicit buffer(std::size_t count) : count_(count)
    {
        constexpr std::size_t page = std::size_t{2} << 20;
        const std::size_t bytes = (count * sizeof(T) + page - 1) / page * page;
        void* memory = std::aligned_alloc(page, bytes);
        if (memory == nullptr)
            throw std::bad_alloc();
        madvise(memory, bytes, MADV_HUGEPAGE);
        data_.reset(static_cast<T*>(memory));
    }

    std::span<T> span() { return {data_.get(), count_}; }
    std::span<const T> span() const { return {data_.get(), count_}; }

private:
    struct release {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<T[], release> data_;
    std::size_t count_;
};

} // namespace bench
