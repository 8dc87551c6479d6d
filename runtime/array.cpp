// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "array.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>

#include <upsweep/cpu/parallel.hpp>
#include <upsweep/overlap.hpp>

#include "call.hpp"

namespace upsweep::runtime {

namespace {

// Bytes of an element, which are copied as they are. An array of bytes may lie where an object of any type does.
template <std::size_t Bytes>
struct alignas(Bytes) word {
    std::byte bytes[Bytes];
};

template <class F>
auto with_word(std::size_t bytes, F f)
{
    switch (bytes) {
    case 1: return f(word<1>{});
    case 2: return f(word<2>{});
    case 4: return f(word<4>{});
    default: return f(word<8>{});
    }
}

template <class Word>
view_iterator<Word, most_dimensions> words_of(const elements& of)
{
    return view<Word, most_dimensions>(reinterpret_cast<Word*>(of.data), of.extents, of.strides).begin();
}

// Elements that a thread copies at a time. Of an array whose neighbours in memory are those of a column, as those of a transposed one, they are several
// whole rows, so that lines of the cache are read once, unless rows are long.
std::uint64_t copied_at_once(const elements& of)
{
    constexpr std::uint64_t part = std::uint64_t{1} << 14;
    constexpr std::uint64_t most = std::uint64_t{1} << 17;
    constexpr std::uint64_t bytes_of_column = 128;
    const std::uint64_t columns = of.extents[most_dimensions - 1];
    const bool is_by_columns =
        std::abs(of.strides[most_dimensions - 2]) < std::abs(of.strides[most_dimensions - 1]) && of.count != columns;
    const std::uint64_t rows = std::min(std::max(part / columns, bytes_of_column / of.bytes()), most / columns);
    return is_by_columns && rows > 1 ? rows * columns : part;
}

// Calls f(first, count) for parts of elements `first` to `first + count`, which the threads take.
template <class F>
void for_each_part(const cpu& host, const elements& of, std::uint64_t first, std::uint64_t count, F f)
{
    const std::uint64_t part = copied_at_once(of);
    const std::uint64_t end = first + count;
    const std::uint64_t first_part = first / part;
    cpu_engine::for_each_index(host, (end + part - 1) / part - first_part, [&](std::size_t k) {
        const std::uint64_t begin = std::max(first, (first_part + k) * part);
        f(begin, std::min(end, (first_part + k + 1) * part) - begin);
    });
}

[[noreturn]] void refuse(const char* call, const char* name, const std::string& reason, const char* remedy)
{
    throw error(error_kind::invalid_argument, call, std::string(name) + ' ' + reason, remedy);
}

// Writes the dimensions of the array to the last ones of `to`: those of one element are left out, and neighbours that lie as
// one dimension would are made one.
void collapse(const char* call, const char* name, std::span<const std::int64_t> shape, const std::int64_t* strides,
              elements& to)
{
    to.extents.fill(1);
    to.strides.fill(1);
    std::size_t last = most_dimensions; // the first dimension of the result so far
    std::int64_t behind = 1;            // how many elements an index has in an array without gaps
    for (std::size_t k = shape.size(); k-- > 0;) {
        const auto extent = static_cast<std::size_t>(shape[k]);
        const std::ptrdiff_t stride = strides != nullptr ? strides[k] : behind;
        behind *= shape[k];
        if (extent == 1)
            continue;
        // A product that is too large is one of strides that are too large, too, which are refused below.
        if (last < most_dimensions &&
            static_cast<std::int64_t>(static_cast<std::uint64_t>(to.extents[last]) *
                                      static_cast<std::uint64_t>(to.strides[last])) == stride) {
            to.extents[last] *= extent;
            continue;
        }
        if (last == 0)
            throw refusal(UPSWEEP_UNSUPPORTED, call,
                          std::string(name) + " has strides that take more than " + std::to_string(most_dimensions) +
                              " dimensions to tell",
                          "copy it to an array without gaps");
        --last;
        to.extents[last] = extent;
        to.strides[last] = stride;
    }
}

bool share_memory(const elements& a, const elements& b)
{
    if (a.count == 0 || b.count == 0)
        return false;
    return with_word(a.bytes(), [&]<class A>(A) {
        const auto of_a = detail::footprint_of(words_of<A>(a), a.count);
        return with_word(b.bytes(), [&]<class B>(B) {
            return detail::overlap(of_a, detail::footprint_of(words_of<B>(b), b.count));
        });
    });
}

} // namespace

bool elements::is_contiguous() const
{
    return extents[most_dimensions - 2] == 1 && (strides[most_dimensions - 1] == 1 || count <= 1);
}

elements in_order_of_strides(const elements& of)
{
    std::array<std::size_t, most_dimensions> by_stride{};
    std::iota(by_stride.begin(), by_stride.end(), std::size_t{0});
    std::ranges::stable_sort(by_stride, {}, [&](std::size_t k) { return of.strides[k]; });
    elements sorted = of;
    sorted.extents.fill(1);
    sorted.strides.fill(1);
    for (const std::size_t k : by_stride)
        put_before(sorted, of.extents[k], of.strides[k]);
    return sorted;
}

std::optional<elements> in_order_of_memory(const elements& of)
{
    const elements sorted = in_order_of_strides(of);
    return sorted.is_contiguous() ? std::optional(sorted) : std::nullopt;
}

void put_before(elements& of, std::size_t extent, std::ptrdiff_t stride)
{
    if (extent == 1)
        return;
    const auto is_longer = [](std::size_t of_dimension) { return of_dimension != 1; };
    const auto first = static_cast<std::size_t>(std::ranges::find_if(of.extents, is_longer) - of.extents.begin());
    if (first < most_dimensions && static_cast<std::ptrdiff_t>(of.extents[first]) * of.strides[first] == stride) {
        of.extents[first] *= extent;
        return;
    }
    of.extents[first - 1] = extent;
    of.strides[first - 1] = stride;
}

std::pair<elements, elements> in_order_of_output(const elements& in, const elements& out)
{
    if (in.extents != out.extents || out.is_contiguous())
        return {in, out};
    std::array<std::size_t, most_dimensions> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t k) {
        return out.extents[k] == 1 ? std::numeric_limits<std::ptrdiff_t>::max() : std::abs(out.strides[k]);
    });
    elements from = in;
    elements to = out;
    from.extents.fill(1);
    from.strides.fill(1);
    to.strides.fill(1);
    std::size_t last = most_dimensions; // the first dimension of the results so far
    for (std::size_t n = most_dimensions; n-- > 0 && in.extents[order[n]] != 1;) {
        const std::size_t k = order[n];
        const auto reach = [&](const elements& of) {
            return static_cast<std::ptrdiff_t>(from.extents[last]) * of.strides[last];
        };
        if (last < most_dimensions && in.strides[k] == reach(from) && out.strides[k] == reach(to)) {
            from.extents[last] *= in.extents[k];
            continue;
        }
        --last;
        from.extents[last] = in.extents[k];
        from.strides[last] = in.strides[k];
        to.strides[last] = out.strides[k];
    }
    to.extents = from.extents;
    return {from, to};
}

elements checked_elements(const char* call, const char* name, const upsweep_array* array)
{
    if (array == nullptr)
        refuse(call, name, "is a null pointer", "pass a description of an array");
    check_dtype(call, array->dtype);
    if (array->memory != UPSWEEP_HOST && array->memory != UPSWEEP_DEVICE && array->memory != UPSWEEP_MANAGED)
        refuse(call, name, "lies in memory of kind " + std::to_string(static_cast<int>(array->memory)),
               "pass one of enum upsweep_memory");
    if (array->rank < 0 || array->rank > 64)
        refuse(call, name, "has " + std::to_string(array->rank) + " dimensions", "pass 0 to 64 of them");
    if (array->rank != 0 && array->shape == nullptr)
        refuse(call, name, "has no shape", "pass one number of elements a dimension");

    elements result;
    result.data = static_cast<std::byte*>(array->data);
    result.dtype = array->dtype;
    result.memory = array->memory;
    result.device = array->device;
    const std::span shape(array->shape, static_cast<std::size_t>(array->rank));
    for (std::size_t k = 0; k < shape.size(); ++k)
        if (shape[k] < 0)
            refuse(call, name, "has " + std::to_string(shape[k]) + " elements in dimension " + std::to_string(k),
                   "check its shape");
    const bool is_empty = std::ranges::find(shape, 0) != shape.end();
    result.extents.fill(1);
    result.strides.fill(1);
    if (is_empty) {
        result.extents.back() = 0;
        return result;
    }
    std::uint64_t count = 1;
    for (const std::int64_t extent : shape) {
        if (static_cast<std::uint64_t>(extent) >
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / count)
            refuse(call, name, "has more than 2^63 - 1 elements", "check its shape");
        count *= static_cast<std::uint64_t>(extent);
    }
    result.count = count;
    collapse(call, name, shape, array->strides, result);
    detail::check_strides(result.extents, result.strides, result.bytes());
    if (result.data == nullptr)
        refuse(call, name, "has elements and a null pointer to them", "pass their address");
    if (reinterpret_cast<std::uintptr_t>(result.data) % result.bytes() != 0)
        refuse(call, name, "is not aligned to the size of its elements", "copy it to memory that is");
    return result;
}

void check_places(const char* call, const elements& out)
{
    const auto overlaps_itself = [&]<class Word>(Word) {
        return detail::overlaps_itself(detail::footprint_of(words_of<Word>(out), out.count));
    };
    if (out.count != 0 && !out.is_contiguous() && with_word(out.bytes(), overlaps_itself))
        throw refusal(UPSWEEP_OVERLAP, call, "strides of the output put two elements at the same place",
                      "write to an array whose elements lie apart");
}

void check_output(const char* call, const elements& in, const elements& out)
{
    check_places(call, out);
    const bool is_same =
        in.data == out.data && in.dtype == out.dtype && in.extents == out.extents && in.strides == out.strides;
    if (!is_same && share_memory(in, out))
        throw refusal(UPSWEEP_OVERLAP, call, "input and output overlap without being the same array",
                      "scan in place or into an array of its own");
}

void check_apart(const char* call, const elements& in, const elements& out)
{
    if (share_memory(in, out))
        throw refusal(UPSWEEP_OVERLAP, call, "input and output overlap", "write to an array of its own");
}

std::uint64_t gathered_at_once(const cpu& host, const elements& of)
{
    constexpr std::uint64_t of_thread = std::uint64_t{1} << 17;
    const std::uint64_t part = copied_at_once(of);
    const auto threads = static_cast<std::uint64_t>(cpu_engine::thread_count(host));
    return std::max(part * threads, of_thread * threads / part * part);
}

void gather(const cpu& host, const elements& from, std::uint64_t first, std::uint64_t count, std::byte* to)
{
    with_word(from.bytes(), [&]<class Word>(Word) {
        const auto words = words_of<Word>(from);
        for_each_part(host, from, first, count, [&](std::uint64_t begin, std::uint64_t size) {
            (words + static_cast<std::ptrdiff_t>(begin)).read(size, reinterpret_cast<Word*>(to) + (begin - first));
        });
    });
}

void scatter(const cpu& host, const std::byte* from, std::uint64_t first, std::uint64_t count, const elements& to)
{
    with_word(to.bytes(), [&]<class Word>(Word) {
        const auto words = words_of<Word>(to);
        for_each_part(host, to, first, count, [&](std::uint64_t begin, std::uint64_t size) {
            (words + static_cast<std::ptrdiff_t>(begin))
                .write(size, reinterpret_cast<const Word*>(from) + (begin - first));
        });
    });
}

} // namespace upsweep::runtime
