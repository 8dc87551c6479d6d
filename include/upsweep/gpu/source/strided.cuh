// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/shifted.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/qualifiers.hpp>
#include <upsweep/view.hpp>

// The source of views: elements at strides, found by their position in the order of the view. A lane divides once for
// each vector; from there on it counts the indices up.
namespace upsweep::gpu {

template <class T, std::size_t Rank>
struct strided_source {
    using value_type = std::remove_cv_t<T>;
    using difference_type = std::ptrdiff_t;
    static constexpr int most_dimensions = static_cast<int>(Rank);

    // The dimensions from the innermost one on, without those of extent 1 in front: the loops over them end at
    // `dimensions`.
    T* data;
    std::int64_t strides[Rank];
    divider extents[Rank - 1];
    std::int64_t
        carries[Rank - 1]; // from behind the last element of a dimension to the first one of the next index before it
    int dimensions = 1;
    unsigned run =
        0; // elements that are in one piece, and aligned as one, from each multiple of so many on: a power of two
    std::uint64_t first = 0;

    // Of the elements of a view that is collapsed, as its iterators have it.
    explicit strided_source(const view<T, Rank>& elements) : data(elements.data())
    {
        for (std::size_t k = 0; k < Rank; ++k) {
            const std::size_t extent = elements.extent(Rank - 1 - k);
            strides[k] = elements.stride(Rank - 1 - k);
            if (extent != 1)
                dimensions = static_cast<int>(k) + 1;
            if (k + 1 < Rank) {
                extents[k] = divider(extent != 0 ? extent : 1);
                carries[k] = elements.stride(Rank - 2 - k) - static_cast<std::int64_t>(extent) * strides[k];
            }
        }
        run = is_in_rows() ? longest_run() : 1;
    }

    UPSWEEP_HOST_DEVICE strided_source operator+(std::uint64_t n) const
    {
        strided_source there = *this;
        there.first += n;
        return there;
    }
    __device__ T& operator[](std::uint64_t n) const { return *place_of(n); }

    // The stride, if it is the only one, and 2 or 4, or else 0.
    __device__ int short_stride() const
    {
        return dimensions == 1 && (strides[0] == 2 || strides[0] == 4) ? static_cast<int>(strides[0]) : 0;
    }

    __device__ T* place_of(std::uint64_t n) const
    {
        std::uint64_t index[Rank];
        find_indices(first + n, index);
        return place_of_indices(index);
    }

    // The indices of element n of the view, by recursion: constant subscripts keep the arrays in registers.
    template <int K = 0>
    __device__ void find_indices(std::uint64_t n, std::uint64_t (&index)[Rank]) const
    {
        index[K] = n;
        if constexpr (K + 1 < most_dimensions) {
            index[K + 1] = 0;
            if (K + 1 < dimensions) {
                const std::uint64_t quotient = extents[K].quotient(n);
                index[K] = n - quotient * extents[K].divisor;
                find_indices<K + 1>(quotient, index);
            }
        }
    }
    __device__ T* place_of_indices(const std::uint64_t (&index)[Rank]) const
    {
        std::int64_t offset = static_cast<std::int64_t>(index[0]) * strides[0];
        add_offsets<1>(index, offset);
        return data + offset;
    }

private:
    template <int K>
    __device__ void add_offsets(const std::uint64_t (&index)[Rank], std::int64_t& offset) const
    {
        if constexpr (K < most_dimensions)
            if (K < dimensions) {
                offset += static_cast<std::int64_t>(index[K]) * strides[K];
                add_offsets<K + 1>(index, offset);
            }
    }

    bool is_in_rows() const { return strides[0] == 1 && reinterpret_cast<std::uintptr_t>(data) % sizeof(T) == 0; }

    // The largest power of two, up to 16, of which the place, the length and the strides of rows are multiples.
    unsigned longest_run() const
    {
        std::uint64_t all = 16 | reinterpret_cast<std::uintptr_t>(data) / sizeof(T);
        for (int k = 1; k < dimensions; ++k)
            all |= extents[0].divisor | static_cast<std::uint64_t>(strides[k]);
        return static_cast<unsigned>(all & (0 - all));
    }
};

template <class Source>
inline constexpr bool is_strided_source = false;
template <class T, std::size_t Rank>
inline constexpr bool is_strided_source<strided_source<T, Rank>> = true;

// One element after the other from number n on, without a division after the first.
template <class T, std::size_t Rank>
class strided_cursor {
public:
    __device__ strided_cursor(const strided_source<T, Rank>& source, std::uint64_t n) : source_(source)
    {
        source.find_indices(source.first + n, index_);
        place_ = source.place_of_indices(index_);
    }

    __device__ T& operator*() const { return *place_; }
    // Whether so many elements from here on are in one row of the innermost dimension, where the j-th one is at [j].
    __device__ bool are_in_row(int count) const
    {
        if constexpr (strided_source<T, Rank>::most_dimensions == 1)
            return true;
        else
            return source_.dimensions == 1 || index_[0] + static_cast<unsigned>(count) <= source_.extents[0].divisor;
    }
    __device__ T& operator[](int j) const { return place_[j * source_.strides[0]]; }
    __device__ void advance()
    {
        place_ += source_.strides[0];
        carry<0>();
    }

private:
    template <int K>
    __device__ void carry()
    {
        if constexpr (K + 1 < strided_source<T, Rank>::most_dimensions)
            if (K + 1 < source_.dimensions && ++index_[K] == source_.extents[K].divisor) {
                index_[K] = 0;
                place_ += source_.carries[K];
                carry<K + 1>();
            }
    }

    const strided_source<T, Rank>& source_;
    T* place_;
    std::uint64_t index_[Rank];
};

template <int Count, class T, std::size_t Rank>
inline constexpr bool may_have_words<Count, strided_source<T, Rank>> = are_word<Count, T>;

template <class T, std::size_t Rank>
__device__ T* address_of(const strided_source<T, Rank>& source)
{
    return source.place_of(0);
}

// Whether all vectors from here on are aligned and in one row each.
template <int Count, class T, std::size_t Rank>
UPSWEEP_HOST_DEVICE bool is_aligned(const strided_source<T, Rank>& source)
{
    return are_word<Count, T> && Count > 1 && source.run >= Count && source.first % Count == 0;
}

template <int Count, class T, std::size_t Rank>
__device__ auto load_vector(const strided_source<T, Rank>& source)
{
    return load_vector<Count>(static_cast<const std::remove_cv_t<T>*>(address_of(source)));
}

// Elements of a row are loaded together; those of a vector that goes on in another row are, one after the other.
template <int Count, class T, std::size_t Rank>
__device__ auto gather_vector(const strided_source<T, Rank>& source, int end = Count)
{
    using vector_t = lane_vector<std::remove_cv_t<T>, Count>;
    typename vector_t::elements all{};
    if (end <= 0)
        return vector_t::of(all);
    strided_cursor<T, Rank> cursor(source, 0);
    if (cursor.are_in_row(end)) {
#pragma unroll
        for (int j = 0; j < Count; ++j)
            if (j < end)
                all.element[j] = cursor[j];
        return vector_t::of(all);
    }
#pragma unroll
    for (int j = 0; j < Count; ++j) {
        if (j < end)
            all.element[j] = *cursor;
        if (j + 1 < end)
            cursor.advance();
    }
    return vector_t::of(all);
}

// Elements of one byte at stride 2 or 4, such as one channel of an image. One by one, lanes load sixteen of them a vector, and those of a warp, whose
// vectors begin a power of two apart, meet in few banks of the cache. By words they take half of the time.
template <int Count, class Source>
inline constexpr bool may_be_strided_bytes = false;
template <int Count, class T, std::size_t Rank>
inline constexpr bool may_be_strided_bytes<Count, strided_source<T, Rank>> = sizeof(T) == 1 && Count == sizeof(uint4);

// The vector of Count bytes of which each is Stride behind the one before, by the words of 16 bytes that they lie in. With them are read up to 15
// bytes before the first one and up to Stride + 15 behind the last one, which must be memory that may be read. All lanes of a warp have their
// first byte at the same place of a word.
template <int Stride, int Count, class T>
__device__ auto load_strided_bytes(const T* first)
{
    constexpr int words = Stride + 1;
    constexpr int numbers = sizeof(uint4) / sizeof(unsigned);
    using vector_t = lane_vector<T, Count>;
    const auto before = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(first) % sizeof(uint4));
    unsigned all[numbers * words];
#pragma unroll
    for (int w = 0; w < words; ++w) {
        const vector_t word = load_vector_of_many<Count>(first - before + w * Count);
        std::memcpy(all + w * numbers, &word.memory, sizeof(uint4));
    }
    shift_out<numbers, sizeof(T)>(all, before);
    T elements[Count * Stride];
    std::memcpy(elements, all, sizeof(elements));
    typename vector_t::elements picked;
#pragma unroll
    for (int j = 0; j < Count; ++j)
        picked.element[j] = elements[j * Stride];
    return vector_t::of(picked);
}

template <int Count, class T, std::size_t Rank, class Number>
__device__ auto gather_within(const strided_source<T, Rank>& source, Number count, Number from)
{
    using vector_t = lane_vector<std::remove_cv_t<T>, Count>;
    typename vector_t::elements all;
    strided_cursor<T, Rank> cursor(source, from < count ? from : count - 1);
#pragma unroll
    for (int j = 0; j < Count; ++j) {
        all.element[j] = *cursor;
        if (from + j + 1 < count)
            cursor.advance();
    }
    return vector_t::of(all);
}

template <int Count, class T, std::size_t Rank, class Number>
__device__ void scatter_within(const strided_source<T, Rank>& to, Number count, Number from,
                               const lane_vector<T, Count>& vector)
{
    if (from >= count)
        return;
    strided_cursor<T, Rank> cursor(to, from);
#pragma unroll
    for (int j = 0; j < Count; ++j) {
        if (from + j < count)
            *cursor = vector[j];
        if (from + j + 1 < count)
            cursor.advance();
    }
}

// Refuses memory that kernels cannot reach, by the lowest and the highest of `count` elements.
template <class T, std::size_t Rank>
void check_place(const cuda& target, std::string_view call, const strided_source<T, Rank>& source, std::size_t count)
{
    if (count == 0)
        return;
    const T* lowest = source.data;
    const T* highest = source.data;
    std::uint64_t rest = count - 1;
    for (int k = 0; k < source.dimensions; ++k) {
        const bool is_outermost = k + 1 == source.dimensions;
        const std::uint64_t most = is_outermost ? rest : source.extents[k].divisor - 1;
        const std::int64_t reach = static_cast<std::int64_t>(most) * source.strides[k];
        (reach < 0 ? lowest : highest) += reach;
        rest = is_outermost ? 0 : rest / source.extents[k].divisor;
    }
    check_pointer(target, call, lowest);
    check_pointer(target, call, highest);
}

// Calls f with sources in the place of iterators: a pointer where the elements of a view lie one behind the other,
// which only the run time tells, a strided source where they do not, and other iterators as they are. With two views,
// either both are pointers or none is, which saves half of the kernels.
template <class In, class F>
void with_source(const In& in, F f)
{
    if constexpr (!detail::is_view_iterator<In>)
        f(in);
    else if (in.is_contiguous())
        f(in.address());
    else
        f(strided_source(in.elements()));
}
template <class In, class Out, class F>
void with_sources(const In& in, const Out& out, F f)
{
    if constexpr (!detail::is_view_iterator<In>)
        with_source(out, [&](const auto& to) { f(in, to); });
    else if constexpr (!detail::is_view_iterator<Out>)
        with_source(in, [&](const auto& from) { f(from, out); });
    else if (in.is_contiguous() && out.is_contiguous())
        f(in.address(), out.address());
    else
        f(strided_source(in.elements()), strided_source(out.elements()));
}

// The source for an iterator where it is one of several, of which each that lies elsewhere would double the number of
// kernels.
template <class It>
auto source_of(const It& first)
{
    if constexpr (detail::is_view_iterator<It>)
        return strided_source(first.elements());
    else
        return first;
}

} // namespace upsweep::gpu
