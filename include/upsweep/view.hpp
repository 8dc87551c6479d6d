// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <upsweep/error.hpp>
#include <upsweep/overlap.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/range.hpp>

namespace upsweep {

template <class T, std::size_t Rank>
class view_iterator;

namespace detail {

// The dimensions of iterators. One type for all views with few of them lets engines be compiled once.
template <std::size_t Rank>
inline constexpr std::size_t iterator_rank = Rank < 4 ? 4 : Rank;

// Refuses extents whose product std::ptrdiff_t cannot count. Those that are zero do not make others small enough.
inline void check_extents(std::span<const std::size_t> extents)
{
    std::size_t product = 1;
    for (const std::size_t extent : extents) {
        if (extent <= 1)
            continue; // without a division, which takes as long as to add up hundreds of elements
        if (extent > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / product)
            throw error(error_kind::invalid_argument, "view", "the product of the extents is more than 2^63 - 1",
                        "check the extents: one may be negative or not initialised");
        product *= extent;
    }
}

// Refuses strides by which elements lie further apart than any two in memory.
inline void check_strides(std::span<const std::size_t> extents, std::span<const std::ptrdiff_t> strides,
                          std::size_t element_bytes)
{
    std::size_t left = (std::size_t{1} << 60) / element_bytes;
    for (std::size_t k = 0; k < extents.size(); ++k) {
        const auto stride = static_cast<std::size_t>(strides[k]);
        const std::size_t step = strides[k] < 0 ? 0 - stride : stride;
        const std::size_t steps = extents[k] > 1 ? extents[k] - 1 : 0;
        if (steps != 0 && step > left / steps)
            throw error(error_kind::invalid_argument, "view",
                        "elements " + std::to_string(strides[k]) + " apart are too far apart for memory, " +
                            std::to_string(extents[k]) + " of them",
                        "give strides in elements, not in bytes, and check the extents");
        left -= steps * step;
    }
}

} // namespace detail

// Where elements lie in memory that belongs to someone else: a pointer to the element with all indices zero, and for
// each dimension an extent and a stride, by how many elements the next one lies further. Strides may be larger than a
// row (padding), in any order (a transposed view), negative (reversed), or zero (the same elements again: broadcast).
// The last index is the fastest: that is the order in which a view is a range, which every verb reads and every scan
// writes.
//
//     up::view image(pixels, {rows, columns});                       // row by row without gaps
//     up::view crop(pixels + 5, {rows, 100}, {columns, 1});          // 100 columns, from the sixth on
//     up::view flipped(pixels + n - 1, {n}, {-1});
//
// The constructors refuse extents and strides that go beyond memory (invalid_argument).
template <class T, std::size_t Rank>
class view {
    static_assert(Rank >= 1, "a view has at least one dimension");

public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using iterator = view_iterator<T, detail::iterator_rank<Rank>>;
    static constexpr std::size_t rank = Rank;

    // Of no elements.
    view() = default;

    // Rows without gaps, as C has them.
    view(T* data, const std::array<std::size_t, Rank>& extents) : data_(data)
    {
        detail::check_extents(extents);
        std::size_t stride = 1;
        for (std::size_t k = Rank; k-- > 0;) {
            extents_[k] = extents[k];
            strides_[k] = static_cast<std::ptrdiff_t>(stride);
            stride *= extents[k];
        }
        detail::check_strides(extents_, strides_, sizeof(T));
    }

    view(T* data, const std::array<std::size_t, Rank>& extents, const std::array<std::ptrdiff_t, Rank>& strides)
        : data_(data)
    {
        detail::check_extents(extents);
        std::copy(extents.begin(), extents.end(), extents_);
        std::copy(strides.begin(), strides.end(), strides_);
        detail::check_strides(extents_, strides_, sizeof(T));
    }

    // A vector, a span, an array.
    template <class R>
        requires(Rank == 1 && !std::same_as<std::remove_cvref_t<R>, view> && std::ranges::contiguous_range<R> &&
                 std::ranges::sized_range<R> &&
                 std::convertible_to<std::remove_reference_t<std::ranges::range_reference_t<R>> (*)[], T (*)[]>)
    explicit(false) view(R&& range) : view(std::ranges::data(range), {detail::size_of(range)}) {}

    // What may be written may be read.
    template <class U>
        requires(std::same_as<const U, T> && !std::same_as<U, T>)
    UPSWEEP_HOST_DEVICE explicit(false) view(const view<U, Rank>& other) : data_(other.data())
    {
        for (std::size_t k = 0; k < Rank; ++k) {
            extents_[k] = other.extent(k);
            strides_[k] = other.stride(k);
        }
    }

    UPSWEEP_HOST_DEVICE T* data() const { return data_; }
    UPSWEEP_HOST_DEVICE std::size_t extent(std::size_t k) const { return extents_[k]; }
    UPSWEEP_HOST_DEVICE std::ptrdiff_t stride(std::size_t k) const { return strides_[k]; }
    UPSWEEP_HOST_DEVICE std::size_t size() const
    {
        std::size_t product = 1;
        for (std::size_t k = 0; k < Rank; ++k)
            product *= extents_[k];
        return product;
    }
    UPSWEEP_HOST_DEVICE bool empty() const { return size() == 0; }

    // The element of these indices, which are not checked.
    template <std::convertible_to<std::size_t>... Indices>
        requires(sizeof...(Indices) == Rank)
    UPSWEEP_HOST_DEVICE T& operator()(Indices... indices) const
    {
        std::size_t k = 0;
        std::ptrdiff_t offset = 0;
        ((offset += static_cast<std::ptrdiff_t>(indices) * strides_[k++]), ...);
        return data_[offset];
    }

    // Element i in the order of the range, by a division a dimension.
    UPSWEEP_HOST_DEVICE T& operator[](std::size_t i) const
    {
        std::ptrdiff_t offset = 0;
        for (std::size_t k = Rank - 1; k > 0 && i != 0; --k) {
            offset += static_cast<std::ptrdiff_t>(i % extents_[k]) * strides_[k];
            i /= extents_[k];
        }
        return data_[offset + static_cast<std::ptrdiff_t>(i) * strides_[0]];
    }

    // Whether the elements lie one behind the other, in the order of the range, so that data() and size() say it all.
    UPSWEEP_HOST_DEVICE bool is_contiguous() const
    {
        std::size_t behind = 1;
        bool is_dense = true;
        for (std::size_t k = Rank; k-- > 0;) {
            is_dense &= extents_[k] <= 1 || strides_[k] == static_cast<std::ptrdiff_t>(behind);
            behind *= extents_[k];
        }
        return is_dense || behind == 0;
    }

    // The same elements in the same order, by as few dimensions as there can be: neighbours that lie as one dimension
    // would are made one. They are the last ones; those before them have extent 1.
    view<T, detail::iterator_rank<Rank>> collapsed() const
    {
        view<T, detail::iterator_rank<Rank>> result;
        result.data_ = data_;
        std::size_t last = result.rank; // the first dimension of the result so far
        for (std::size_t k = Rank; k-- > 0;) {
            if (extents_[k] == 1)
                continue;
            if (last < result.rank &&
                strides_[k] == static_cast<std::ptrdiff_t>(result.extents_[last]) * result.strides_[last]) {
                result.extents_[last] *= extents_[k];
            } else {
                --last;
                result.extents_[last] = extents_[k];
                result.strides_[last] = strides_[k];
            }
        }
        std::fill(result.extents_, result.extents_ + last, 1);
        std::fill(result.strides_, result.strides_ + last, 1);
        return result;
    }

    iterator begin() const { return iterator(collapsed(), 0); }
    iterator end() const { return iterator(collapsed(), static_cast<std::ptrdiff_t>(size())); }

private:
    template <class, std::size_t>
    friend class view;

    T* data_ = nullptr;
    std::size_t extents_[Rank] = {};
    std::ptrdiff_t strides_[Rank] = {};
};

// What braces name: up::view(pointer, {rows, columns}), up::view(pointer, {rows, columns}, {pitch, 1}).
template <class T, std::size_t Rank>
view(T*, const std::size_t (&)[Rank]) -> view<T, Rank>;
template <class T, std::size_t Rank>
view(T*, const std::size_t (&)[Rank], const std::ptrdiff_t (&)[Rank]) -> view<T, Rank>;
template <std::ranges::contiguous_range R>
view(R&&) -> view<std::remove_reference_t<std::ranges::range_reference_t<R>>, 1>;

// A place among the elements of a view, in their order. What it stands at costs a division a dimension; engines read
// and write whole blocks instead, which count the indices up.
template <class T, std::size_t Rank>
class view_iterator {
public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = std::remove_cv_t<T>;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using pointer = T*;

    view_iterator() = default;
    view_iterator(const view<T, Rank>& elements, std::ptrdiff_t at) : elements_(elements), at_(at) {}

    const view<T, Rank>& elements() const { return elements_; }
    std::size_t position() const { return static_cast<std::size_t>(at_); }

    T& operator*() const { return elements_[position()]; }
    T* operator->() const { return &**this; }
    T& operator[](difference_type n) const { return elements_[static_cast<std::size_t>(at_ + n)]; }
    view_iterator& operator+=(difference_type n)
    {
        at_ += n;
        return *this;
    }
    view_iterator& operator-=(difference_type n) { return *this += -n; }
    view_iterator& operator++() { return *this += 1; }
    view_iterator& operator--() { return *this += -1; }
    view_iterator operator++(int)
    {
        const view_iterator before = *this;
        ++*this;
        return before;
    }
    view_iterator operator--(int)
    {
        const view_iterator before = *this;
        --*this;
        return before;
    }
    friend view_iterator operator+(view_iterator it, difference_type n) { return it += n; }
    friend view_iterator operator+(difference_type n, view_iterator it) { return it += n; }
    friend view_iterator operator-(view_iterator it, difference_type n) { return it -= n; }
    friend difference_type operator-(const view_iterator& a, const view_iterator& b) { return a.at_ - b.at_; }
    friend bool operator==(const view_iterator& a, const view_iterator& b) { return a.at_ == b.at_; }
    friend std::strong_ordering operator<=>(const view_iterator& a, const view_iterator& b) { return a.at_ <=> b.at_; }

    // Whether the elements lie one behind the other, and then where those from here on do.
    bool is_contiguous() const { return elements_.is_contiguous(); }
    T* address() const { return elements_.data() + at_; }

    // Copies the next `count` elements to an array, and back.
    void read(std::size_t count, value_type* __restrict to) const
    {
        for_each_patch(count, [&](const patch& from) {
            from.for_each([&](const T& element, std::size_t i) { to[i] = element; },
                          [&](const T* row, std::size_t i, std::size_t size) { std::copy_n(row, size, to + i); });
            to += from.rows * from.columns;
        });
    }
    void write(std::size_t count, const value_type* __restrict from) const
    {
        for_each_patch(count, [&](const patch& to) {
            to.for_each([&](T& element, std::size_t i) { element = from[i]; },
                        [&](T* row, std::size_t i, std::size_t size) { std::copy_n(from + i, size, row); });
            from += to.rows * to.columns;
        });
    }

private:
    // Elements that follow one another in the order of the view: a part of a row, or several whole rows.
    struct patch {
        T* first;
        std::size_t rows;
        std::size_t columns;
        std::ptrdiff_t row_stride;
        std::ptrdiff_t stride;

        // Calls visit(element, which of them it is), or visit_row(first element, which of them it is, how many lie side by side). The long side is the
        // inner loop; where neighbours in memory are those of a column, so few columns are taken at a time that the first-level cache holds
        // their lines, even if all of them belong in one of its sets.
        template <class Visit, class VisitRow>
        void for_each(Visit visit, VisitRow visit_row) const
        {
            constexpr std::size_t few_columns = 8;
            const auto distance = [](std::ptrdiff_t of) { return of < 0 ? -of : of; };
            if (columns >= 16 && rows > 1 && distance(row_stride) < distance(stride))
                for (std::size_t first_column = 0; first_column < columns; first_column += few_columns)
                    for (std::size_t r = 0; r < rows; ++r)
                        for (std::size_t c = first_column; c < std::min(columns, first_column + few_columns); ++c)
                            visit(at(r, c), r * columns + c);
            else if (columns < 16 && rows > 1)
                for (std::size_t c = 0; c < columns; ++c)
                    for (std::size_t r = 0; r < rows; ++r)
                        visit(at(r, c), r * columns + c);
            else if (stride == 1)
                for (std::size_t r = 0; r < rows; ++r)
                    visit_row(row(r), r * columns, columns);
            else if (stride == -1) // which compilers turn into vector code
                for (std::size_t r = 0; r < rows; ++r)
                    for (std::size_t c = 0; c < columns; ++c)
                        visit(*(row(r) - c), r * columns + c);
            else
                for (std::size_t r = 0; r < rows; ++r)
                    for (std::size_t c = 0; c < columns; ++c)
                        visit(at(r, c), r * columns + c);
        }

    private:
        T* row(std::size_t r) const { return first + static_cast<std::ptrdiff_t>(r) * row_stride; }
        T& at(std::size_t r, std::size_t c) const { return row(r)[static_cast<std::ptrdiff_t>(c) * stride]; }
    };

    // Calls visit(patch) for the next `count` elements. The indices are found by division once, and then counted up.
    template <class Visit>
    void for_each_patch(std::size_t count, Visit visit) const
    {
        constexpr std::size_t inner = Rank - 1;
        constexpr std::size_t outer = Rank > 1 ? Rank - 2 : 0;
        std::array<std::size_t, Rank> index{};
        std::size_t rest = position();
        for (std::size_t k = inner; k > 0 && rest != 0; --k) {
            index[k] = rest % elements_.extent(k);
            rest /= elements_.extent(k);
        }
        index[0] = rest;
        T* row = elements_.data(); // the element of these indices, but for the last one, which is zero
        for (std::size_t k = 0; k < inner; ++k)
            row += static_cast<std::ptrdiff_t>(index[k]) * elements_.stride(k);

        const std::size_t columns = elements_.extent(inner);
        std::size_t column = index[inner];
        while (count != 0) {
            patch here{row, 1, std::min(count, columns - column), elements_.stride(outer), elements_.stride(inner)};
            here.first += static_cast<std::ptrdiff_t>(column) * here.stride;
            if (Rank > 1 && here.columns == columns)
                here.rows = std::min(count / columns, elements_.extent(outer) - index[outer]);
            visit(here);
            count -= here.rows * here.columns;
            column = 0;
            std::size_t steps = here.rows;
            for (std::size_t k = inner; k-- > 0; steps = 1) {
                row += static_cast<std::ptrdiff_t>(steps) * elements_.stride(k);
                index[k] += steps;
                if (index[k] < elements_.extent(k))
                    break;
                row -= static_cast<std::ptrdiff_t>(index[k]) * elements_.stride(k);
                index[k] = 0;
            }
        }
    }

    view<T, Rank> elements_;
    std::ptrdiff_t at_ = 0;
};

namespace detail {

template <class It>
inline constexpr bool is_view_iterator = false;
template <class T, std::size_t Rank>
inline constexpr bool is_view_iterator<view_iterator<T, Rank>> = true;

// Where the first `count` elements of a view lie, which has at least as many.
template <class T, std::size_t Rank>
footprint<Rank> footprint_of(const view_iterator<T, Rank>& it, std::size_t count)
{
    const view<T, Rank>& elements = it.elements();
    footprint<Rank> result{reinterpret_cast<std::uintptr_t>(elements.data()), sizeof(T), {}};
    std::size_t behind = count != 0 ? elements.size() : 0; // how many elements one index of the dimension before has
    bool is_first = true;
    for (std::size_t k = 0; k < Rank; ++k) {
        if (behind == 0 || elements.extent(k) == 1)
            continue;
        behind /= elements.extent(k);
        const std::size_t extent = is_first ? (count + behind - 1) / behind : elements.extent(k);
        is_first = false;
        const std::ptrdiff_t step = elements.stride(k) * static_cast<std::ptrdiff_t>(sizeof(T));
        const auto most = static_cast<std::int64_t>(extent) - 1;
        result.dimensions[k] = {step < 0 ? -step : step, most};
        if (step < 0)
            result.lowest -= static_cast<std::uintptr_t>(-step * most);
    }
    return result;
}
template <class T>
footprint<1> footprint_of(T* it, std::size_t count)
{
    return {reinterpret_cast<std::uintptr_t>(it), sizeof(T), {{{sizeof(T), static_cast<std::int64_t>(count) - 1}}}};
}

template <class It>
inline constexpr bool is_in_memory = std::is_pointer_v<It> || is_view_iterator<It>;

// Whether two views, by their iterators, are the same elements in the same order. Their first dimension may be longer
// in one.
template <class T, class U, std::size_t Rank>
bool same_elements(view_iterator<T, Rank> a, view_iterator<U, Rank> b)
{
    const view<T, Rank>& of_a = a.elements();
    const view<U, Rank>& of_b = b.elements();
    if (static_cast<const void*>(of_a.data()) != static_cast<const void*>(of_b.data()) || sizeof(T) != sizeof(U))
        return false;
    bool is_first = true;
    for (std::size_t k = 0; k < Rank; ++k) {
        if (of_a.extent(k) == 1 && of_b.extent(k) == 1)
            continue;
        if (of_a.stride(k) != of_b.stride(k) || (!is_first && of_a.extent(k) != of_b.extent(k)))
            return false;
        is_first = false;
    }
    return true;
}
template <class In, class Out>
    requires(is_view_iterator<In> != is_view_iterator<Out> && is_in_memory<In> && is_in_memory<Out>)
bool same_elements(In in, Out out)
{
    if constexpr (is_view_iterator<In>)
        return in.is_contiguous() && same_elements(in.address(), out);
    else
        return out.is_contiguous() && same_elements(in, out.address());
}

// The results of a scan need a place each, and must not overwrite elements that are still to be read.
template <class In, class Out>
    requires(is_view_iterator<In> || is_view_iterator<Out>)
void check_overlap(std::string_view call, In in, Out out, std::size_t count)
{
    if (count == 0)
        return;
    if constexpr (is_view_iterator<Out>)
        if (overlaps_itself(footprint_of(out, count)))
            throw error(error_kind::invalid_argument, call, "strides of the output put two elements at the same place",
                        "write to a view whose elements lie apart");
    if constexpr (is_in_memory<In> && is_in_memory<Out>)
        if (!same_elements(in, out) && overlap(footprint_of(in, count), footprint_of(out, count)))
            throw error(error_kind::invalid_argument, call, "input and output overlap without being the same view",
                        "scan in place or into a view of its own");
}

} // namespace detail
} // namespace upsweep

template <class T, std::size_t Rank>
inline constexpr bool std::ranges::enable_borrowed_range<upsweep::view<T, Rank>> = true;
template <class T, std::size_t Rank>
inline constexpr bool std::ranges::enable_view<upsweep::view<T, Rank>> = true;
