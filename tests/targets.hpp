// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/target.hpp>
#include <upsweep/types.hpp>

// The tests are written once and run on every target. A target brings three things: its variants, whose results may not
// differ (numbers of threads, say), an array in its memory, and a place in the list of `every` below.
namespace upsweep::test {

// A contiguous array of exactly `size` elements, so that a sanitizer sees every step beyond it; of bool too, which
// std::vector packs into bits.
template <class T>
class host_array {
public:
    explicit host_array(std::size_t size) : data_(std::make_unique<T[]>(size)), size_(size) {}
    host_array(std::initializer_list<T> values) : host_array(std::span<const T>(values)) {}
    explicit host_array(std::span<const T> values)
        : data_(std::make_unique_for_overwrite<T[]>(values.size())), size_(values.size())
    {
        std::ranges::copy(values, begin());
    }
    host_array(const host_array& other) : host_array(other.span()) {}
    host_array(host_array&&) noexcept = default;

    std::size_t size() const { return size_; }
    T* begin() { return data_.get(); }
    T* end() { return begin() + size_; }
    const T* begin() const { return data_.get(); }
    const T* end() const { return begin() + size_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    std::span<T> span() { return {begin(), size_}; }
    std::span<const T> span() const { return {begin(), size_}; }
    std::span<const T> first(std::size_t count) const { return span().first(count); }

private:
    std::unique_ptr<T[]> data_;
    std::size_t size_;
};

// The parameter of a typed test: a target and an element type.
template <class Target, class T>
struct on {
    using target = Target;
    using element = T;
};

template <class Target>
struct target_traits;

template <>
struct target_traits<cpu> {
    static std::vector<cpu> variants() { return {cpu{}, cpu{1}, cpu{2}, cpu{3}, cpu{8}}; }
    static std::string name(const cpu& target) { return "cpu{" + std::to_string(target.threads) + "}"; }

    // An array in the target's memory: constructed from a host span or of a size; span() is what the library is given,
    // to_host() what the test looks at.
    template <class T>
    class array {
    public:
        explicit array(std::size_t size) : memory_(size) {}
        explicit array(std::span<const T> values) : memory_(values) {}

        std::span<T> span() { return memory_.span(); }
        std::span<const T> const_span() const { return memory_.span(); }
        host_array<T> to_host() const { return memory_; }

    private:
        host_array<T> memory_;
    };
};

#ifdef __CUDACC__
template <>
struct target_traits<cuda> {
    static std::vector<cuda> variants() { return {cuda{}}; }
    static std::string name(const cuda&) { return "cuda{}"; }

    template <class T>
    class array {
    public:
        explicit array(std::size_t size) : size_(size)
        {
            gpu::check("cudaMalloc", cudaMalloc(&data_, std::max<std::size_t>(size * sizeof(T), 1)));
            if (size != 0)
                gpu::check("cudaMemset", cudaMemset(data_, 0xee, size * sizeof(T)));
        }
        explicit array(std::span<const T> values) : array(values.size())
        {
            if (size_ != 0)
                gpu::check("cudaMemcpy", cudaMemcpy(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice));
        }
        array(const array&) = delete;
        array& operator=(const array&) = delete;
        ~array() { cudaFree(data_); }

        std::span<T> span() { return {data_, size_}; }
        std::span<const T> const_span() const { return {data_, size_}; }
        host_array<T> to_host() const
        {
            host_array<T> values(size_);
            if (size_ != 0)
                gpu::check("cudaMemcpy", cudaMemcpy(values.begin(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
            return values;
        }

    private:
        T* data_ = nullptr;
        std::size_t size_;
    };
};

// TYPED_TEST_SUITE(suite, on_gpu<float, double>)
template <class... Ts>
using on_gpu = ::testing::Types<on<cuda, Ts>...>;
#endif

template <class Target, class T>
using target_array = typename target_traits<Target>::template array<T>;

// Calls f(target) for every variant of the target; a failure names it.
template <class Target, class F>
void on_every_variant(F f)
{
    for (const Target& target : target_traits<Target>::variants()) {
        SCOPED_TRACE(target_traits<Target>::name(target));
        f(target);
    }
}

// TYPED_TEST_SUITE(suite, every<float, double>): each element type on each target.
template <class... Ts>
using every = ::testing::Types<on<cpu, Ts>...>;

} // namespace upsweep::test
