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

// The tests are written once and run on every target. A target brings its variants, whose results may not differ
// (numbers of threads, say), an array in its memory, and how much it samples: one element of so many where a test has
// very many.
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
    static constexpr std::size_t sampling = 1;
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
    static constexpr std::size_t sampling = 10; // since the GPU may be simulated
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

// INSTANTIATE_TYPED_TEST_SUITE_P(cuda, suite, on_gpu<float, double>)
template <class... Ts>
using on_gpu = ::testing::Types<on<cuda, Ts>...>;
#endif

template <class Target, class T>
using target_array = typename target_traits<Target>::template array<T>;

// The number of elements of a test that has `count` of them where time does not matter.
template <class Target>
constexpr std::size_t sampled(std::size_t count)
{
    return count / target_traits<Target>::sampling;
}

// Calls f(target) for every variant of the target; a failure names it.
template <class Target, class F>
void on_every_variant(F f)
{
    for (const Target& target : target_traits<Target>::variants()) {
        SCOPED_TRACE(target_traits<Target>::name(target));
        f(target);
    }
}

// INSTANTIATE_TYPED_TEST_SUITE_P(cpu, suite, every<float, double>)
template <class... Ts>
using every = ::testing::Types<on<cpu, Ts>...>;

// All floating-point types. Sanitizers see one of 16 bits, which folds in f32, and one that folds in its own type: to
// memory and to threads the others are the same.
#ifdef UPSWEEP_TEST_FEW_TYPES
using every_float = every<f16, double>;
#else
using every_float = every<f16, bf16, float, double>;
#endif

} // namespace upsweep::test
