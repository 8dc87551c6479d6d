// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <upsweep/gpu/fold/line_start.cuh>
#include <upsweep/gpu/fold/packed.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>

// Elements of lines that lie side by side, as one value, and what folds them all at once, each with its counterpart.
namespace upsweep::gpu::adjacent_lines {

// As elements that are one machine word together, if that is so.
template <class T, int Count>
inline constexpr std::size_t alignment = !std::has_single_bit(sizeof(T) * Count) ? alignof(T)
                                         : sizeof(T) * Count < 16                ? sizeof(T) * Count
                                                                                 : 16;

// One element, accumulator or result of each of Count lines.
template <class T, int Count>
class alignas(alignment<T, Count>) adjacent {
public:
    using value_type = T;

    adjacent() = default;

    // Those that make(k) returns for line k.
    template <class F>
    UPSWEEP_HOST_DEVICE static adjacent of(F make)
    {
        adjacent all;
        for (int k = 0; k < Count; ++k)
            all.values_[k] = make(k);
        return all;
    }

    UPSWEEP_HOST_DEVICE T operator[](int k) const { return values_[k]; }

private:
    T values_[Count];
};

// Of elements that fill a word together. They are kept as the word, which compilers have in one register.
template <class T, int Count>
    requires(sizeof(T) < sizeof(unsigned) && sizeof(T) * Count == sizeof(unsigned))
class adjacent<T, Count> {
    using bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
    static constexpr int width = 8 * sizeof(T);

public:
    using value_type = T;

    adjacent() = default;
    UPSWEEP_HOST_DEVICE explicit adjacent(unsigned word) : word_(word) {}

    template <class F>
    UPSWEEP_HOST_DEVICE static adjacent of(F make)
    {
        unsigned word = 0;
        for (int k = 0; k < Count; ++k)
            word |= static_cast<unsigned>(std::bit_cast<bits>(static_cast<T>(make(k)))) << k * width;
        return adjacent(word);
    }

    UPSWEEP_HOST_DEVICE T operator[](int k) const { return std::bit_cast<T>(static_cast<bits>(word_ >> k * width)); }
    UPSWEEP_HOST_DEVICE unsigned word() const { return word_; }

private:
    unsigned word_;
};

// Whether the elements of a word are folded without being taken apart.
template <class Op, class T, int Count>
inline constexpr bool folds_words = sizeof(T) * Count == sizeof(unsigned) &&
                                    (is_packed<Op, T> || (detail::is_logical<Op> && std::same_as<T, bool>));

// The operator on the elements of two words. Truths are bytes of 0 or 1.
template <class Op, class T>
__device__ unsigned fold_words(unsigned a, unsigned b)
{
    if constexpr (std::same_as<Op, logical_or>)
        return a | b;
    else if constexpr (std::same_as<Op, logical_and>)
        return a & b;
    else if constexpr (std::same_as<Op, plus>)
        return sizeof(T) == 1 ? __vadd4(a, b) : __vadd2(a, b);
    else if constexpr (detail::is_extremum<Op> && sizeof(T) == 1)
        // By halves: odd bytes are their upper ends, and even ones after a shift.
        return __byte_perm(packed::apply<T, Op>(a << 8, b << 8), packed::apply<T, Op>(a, b), 0x7351);
    else
        return packed::apply<T, Op>(a, b);
}

template <class Op>
struct op_on_adjacent {
    Op op;

    template <class T, int Count>
    __device__ adjacent<T, Count> operator()(const adjacent<T, Count>& a, const adjacent<T, Count>& b) const
    {
        if constexpr (folds_words<Op, T, Count>)
            return adjacent<T, Count>(fold_words<Op, T>(a.word(), b.word()));
        else
            return adjacent<T, Count>::of([&](int k) { return static_cast<T>(op(a[k], b[k])); });
    }
    template <class Adjacent>
    UPSWEEP_HOST_DEVICE Adjacent identity() const
    {
        return Adjacent::of([&](int) { return op.template identity<typename Adjacent::value_type>(); });
    }
    // Of operands whose order a lane knows only when it runs.
    template <class T, int Count>
    __device__ adjacent<T, Count> joined(const adjacent<T, Count>& mine, const adjacent<T, Count>& theirs,
                                         bool mine_is_right) const
    {
        if constexpr (folds_words<Op, T, Count>)
            return (*this)(mine, theirs);
        else
            return adjacent<T, Count>::of(
                [&](int k) { return static_cast<T>(combine(op, mine[k], theirs[k], mine_is_right)); });
    }
};

// Writes the results of adjacent lines as one, of folds that are accumulators of type Acc but narrower.
template <class Acc, class Finish>
struct finish_adjacent {
    Finish finish;

    template <class Fold, class Result, int Count>
    UPSWEEP_HOST_DEVICE void operator()(const adjacent<Fold, Count>& folds, adjacent<Result, Count>& results) const
    {
        results = adjacent<Result, Count>::of([&](int k) {
            Result result;
            finish(static_cast<Acc>(folds[k]), result);
            return result;
        });
    }
};

// What kernels call for single elements, too; they find these by the types of the arguments.
template <class Acc, class T, int Count>
UPSWEEP_HOST_DEVICE Acc convert(const adjacent<T, Count>& elements)
{
    if constexpr (std::same_as<Acc, adjacent<T, Count>>)
        return elements;
    else
        return Acc::of([&](int k) { return upsweep::convert<typename Acc::value_type>(elements[k]); });
}
template <class Result, class Op, class Acc, int Count>
UPSWEEP_HOST_DEVICE Result as_result(const adjacent<Acc, Count>& folds)
{
    if constexpr (std::same_as<Result, adjacent<Acc, Count>> && std::integral<Acc>)
        return folds;
    else
        return Result::of([&](int k) {
            using upsweep::as_result; // elements may be adjacent ones themselves
            return as_result<typename Result::value_type, decltype(Op::op)>(folds[k]);
        });
}

// What each of the lines begins with.
template <int Count, class Acc>
line_start<adjacent<Acc, Count>> start_of_each(const line_start<Acc>& start)
{
    const auto each = [](const Acc& value) { return adjacent<Acc, Count>::of([&](int) { return value; }); };
    return {each(start.first), start.has_init, start.is_exclusive};
}

} // namespace upsweep::gpu::adjacent_lines

namespace upsweep::gpu {

template <class Op, class T, int Count>
inline constexpr bool is_any_order<adjacent_lines::op_on_adjacent<Op>, adjacent_lines::adjacent<T, Count>> =
    is_any_order<Op, T>;

template <class Op, class Acc, class T, int Count>
struct element_of_few<adjacent_lines::op_on_adjacent<Op>, adjacent_lines::adjacent<Acc, Count>,
                      adjacent_lines::adjacent<T, Count>> {
    using type = adjacent_lines::adjacent<typename element_of_few<Op, Acc, T>::type, Count>;
};

} // namespace upsweep::gpu
