// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "axis.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "../runtime/element_type.hpp"
#include "conversion.hpp"
#include "failure.hpp"

namespace upsweep::cli {

namespace {

std::uint64_t product(const std::vector<std::uint64_t>& extents)
{
    return std::accumulate(extents.begin(), extents.end(), std::uint64_t{1}, std::multiplies<>());
}

void make_room(array_values& values)
{
    const std::uint64_t bytes = values.count() * upsweep_dtype_size(values.dtype);
    values.words.resize((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
}

upsweep_array described_values(array_values& values, const std::vector<std::int64_t>& extents)
{
    return {values.data(),  values.dtype, UPSWEEP_HOST, 0, static_cast<std::int32_t>(extents.size()),
            extents.data(), nullptr};
}

std::vector<std::int64_t> signed_extents(const std::vector<std::uint64_t>& shape)
{
    return {shape.begin(), shape.end()};
}

// The least and the greatest integer of a type.
std::pair<int128, int128> limits_of(upsweep_dtype dtype)
{
    return runtime::with_type(dtype, []<class T>(std::type_identity<T>) -> std::pair<int128, int128> {
        if constexpr (std::is_integral_v<T>)
            return {int128{std::numeric_limits<T>::min()}, int128{std::numeric_limits<T>::max()}};
        else
            return {0, 0};
    });
}

int128 integer_value(upsweep_dtype dtype, const void* value)
{
    return runtime::with_type(dtype, [&]<class T>(std::type_identity<T>) -> int128 {
        if constexpr (std::is_integral_v<T>) {
            T typed;
            std::memcpy(&typed, value, sizeof typed);
            return int128{typed};
        } else {
            return 0;
        }
    });
}

// Values of another type.
array_values converted(array_values values, upsweep_dtype dtype)
{
    if (values.dtype == dtype)
        return values;
    array_values to{dtype, values.shape};
    make_room(to);
    const std::uint64_t from_size = upsweep_dtype_size(values.dtype);
    const std::uint64_t to_size = upsweep_dtype_size(dtype);
    for (std::uint64_t i = 0; i < values.count(); ++i)
        convert_value(values.dtype, static_cast<const std::byte*>(values.data()) + i * from_size, dtype,
                      static_cast<std::byte*>(to.data()) + i * to_size);
    return to;
}

} // namespace

std::uint64_t array_values::count() const { return product(shape); }

std::string array_values::index_text(std::uint64_t element) const
{
    std::vector<std::uint64_t> index(shape.size());
    for (std::size_t k = shape.size(); k-- > 0; element /= shape[k])
        index[k] = element % shape[k];
    return fmt::format("[{}]", fmt::join(index, ", "));
}

array_along_axis::array_along_axis(const inputs& in, const std::string& axis) : dtype_(in.dtype())
{
    const files::reader& file = in.array();
    name_ = file.name();
    shape_ = *file.shape();
    extents_ = signed_extents(shape_);
    count_ = product(shape_);
    const auto rank = static_cast<std::int64_t>(shape_.size());
    std::int64_t number = 0;
    if (files::parse_number(axis, number) != files::number_error::none)
        throw usage_error(fmt::format("--axis: {} is not possible; give a whole number", files::in_quotes(axis)));
    if (number < -rank || number >= rank)
        throw failure(rank == 0 ? fmt::format("{}: an array of no dimensions has no axis; leave out --axis", name_)
                                : fmt::format("{}: there is no axis {} of {} dimensions; give --axis from 0 to {}",
                                              name_, number, rank, rank - 1));
    axis_ = static_cast<std::uint64_t>(number < 0 ? number + rank : number);

    const std::uint64_t bytes = count_ * upsweep_dtype_size(dtype_);
    elements_ = file.mapped();
    if (elements_ != nullptr) {
        read_ = {count_, bytes};
        return;
    }
    memory_.resize((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
    std::byte* to = reinterpret_cast<std::byte*>(memory_.data());
    read_ = in.stream([&](const input_chunk& some) {
        const std::uint64_t size = some.count * upsweep_dtype_size(dtype_);
        std::memcpy(to, some.elements, size);
        to += size;
    });
    elements_ = memory_.data();
}

measurement array_along_axis::done() const
{
    measurement all = read_;
    all.seconds = watch_.seconds();
    return all;
}

upsweep_array array_along_axis::described(const void* elements, upsweep_dtype dtype, const std::int64_t* strides) const
{
    return {const_cast<void*>(elements),
            dtype,
            UPSWEEP_HOST,
            0,
            static_cast<std::int32_t>(extents_.size()),
            extents_.data(),
            strides};
}

array_values array_along_axis::results_of_fold(upsweep_dtype dtype) const
{
    array_values results{dtype, shape_};
    results.shape.erase(results.shape.begin() + static_cast<std::ptrdiff_t>(axis_));
    make_room(results);
    return results;
}

// Whether no sum of elements of a line, or of some of them, can leave the type, as the least and the greatest of all elements tell.
bool array_along_axis::fits(upsweep_context& context, upsweep_dtype type, int128 init) const
{
    if (count_ == 0)
        return true;
    const std::pair<int128, int128> limits = limits_of(type);
    const std::pair<int128, int128> of_elements = limits_of(dtype_);
    const int128 elements{length()};
    // No element has more than 64 bits, and a line less than 2^63 of them.
    const auto fit_between = [&](int128 low, int128 high) {
        return init + elements * std::min(low, int128{0}) >= limits.first &&
               init + elements * std::max(high, int128{0}) <= limits.second;
    };
    if (fit_between(of_elements.first, of_elements.second))
        return true;
    const upsweep_array all = described(elements_, dtype_);
    return fit_between(integer_fold(context, UPSWEEP_MINIMUM, all, name_),
                       integer_fold(context, UPSWEEP_MAXIMUM, all, name_));
}

// Writes the sums of integers of 64 bits that may not fit 64 bits, from those of the lower and the upper halves of all elements.
void array_along_axis::exact_sums(upsweep_context& context, array_values& sums) const
{
    if (upsweep_dtype_size(dtype_) != sizeof(std::uint64_t))
        throw failure(fmt::format("{}: lines of {} elements may have sums that do not fit {}; give --out-dtype f64, "
                                  "or --wrap",
                                  name_, length(), upsweep_dtype_name(sums.dtype)));
    std::vector<std::int64_t> strides(shape_.size());
    std::int64_t behind = 2;
    for (std::size_t k = shape_.size(); k-- > 0; behind *= extents_[k])
        strides[k] = behind;
    const upsweep_dtype upper_type = dtype_ == UPSWEEP_I64 ? UPSWEEP_I32 : UPSWEEP_U32;
    const auto sums_of = [&](const void* elements, upsweep_dtype type, upsweep_dtype sum_type) {
        array_values half = results_of_fold(sum_type);
        const auto extents = signed_extents(half.shape);
        const upsweep_array from = described(elements, type, strides.data());
        const upsweep_array to = described_values(half, extents);
        check(upsweep_reduce_axis(&context, UPSWEEP_PLUS, &from, static_cast<std::int32_t>(axis_), &to), name_);
        return half;
    };
    const array_values lower = sums_of(elements_, UPSWEEP_U32, UPSWEEP_U64);
    const array_values upper = sums_of(static_cast<const std::byte*>(elements_) + 4, upper_type, dtype_);
    for (std::uint64_t k = 0; k < sums.count(); ++k) {
        const int128 sum = integer_value(UPSWEEP_U64, &lower.words[k]) +
                           integer_value(upper.dtype, &upper.words[k]) * (int128{1} << 32);
        scalar value{};
        if (!store_integer(sum, sums.dtype, value))
            throw failure(fmt::format("{}: the sum at {} is {}, which does not fit {}; give --out-dtype f64, or --wrap "
                                      "for it modulo 2^64",
                                      name_, sums.index_text(k), fmt::format("{}", sum),
                                      upsweep_dtype_name(sums.dtype)));
        sums.words[k] = value.u64;
    }
}

array_values array_along_axis::fold(upsweep_context& context, const axis_fold& how) const
{
    const bool of_integers = is_integral(dtype_) && (!how.out || is_integer(*how.out));
    const bool is_sum = how.op == UPSWEEP_PLUS;
    if (of_integers && !how.wraps && how.op == UPSWEEP_MULTIPLIES)
        throw failure(
            fmt::format("{}: products of integers along an axis are modulo 2^64 alone; give --wrap for those, "
                        "or --out-dtype f64",
                        name_));
    const bool is_exact = of_integers && !how.wraps && is_sum;

    // Integers are summed in 64 bits, whatever type the results will have; other elements are converted first.
    upsweep_dtype folded = dtype_;
    if (how.out && !is_exact)
        folded = folded_dtype(how.op, dtype_, *how.out, name_);
    std::vector<std::uint64_t> memory;
    const void* elements = elements_;
    if (folded != dtype_) {
        const std::uint64_t size = upsweep_dtype_size(folded);
        memory.resize((count_ * size + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
        auto* to = reinterpret_cast<std::byte*>(memory.data());
        element_converter(dtype_, folded, how.wraps)(chunk(), [&](const void* some, std::uint64_t number) {
            std::memcpy(to, some, number * size);
            to += number * size;
        });
        elements = memory.data();
    }

    upsweep_dtype type{};
    check(upsweep_reduce_dtype(how.op, folded, &type), name_);
    const bool may_not_fit = is_exact && !fits(context, type, 0);
    if (how.mean && is_integral(folded))
        type = UPSWEEP_F64;
    array_values results = results_of_fold(type);
    if (may_not_fit) { // and is refused, if it does not
        array_values sums = results_of_fold(dtype_ == UPSWEEP_U64 ? UPSWEEP_U64 : UPSWEEP_I64);
        exact_sums(context, sums);
        if (!how.mean)
            results = std::move(sums);
    }
    if (!may_not_fit || how.mean) {
        const auto extents = signed_extents(results.shape);
        const upsweep_array from = described(elements, folded);
        const upsweep_array to = described_values(results, extents);
        const auto along = static_cast<std::int32_t>(axis_);
        check(how.mean ? upsweep_mean_axis(&context, &from, along, &to)
                       : upsweep_reduce_axis(&context, how.op, &from, along, &to),
              name_);
    }
    if (!how.out)
        return results;
    if (is_exact && !how.mean)
        for (std::uint64_t k = 0; k < results.count(); ++k) {
            scalar ignored{};
            const int128 sum = integer_value(results.dtype, &results.words[k]);
            if (!store_integer(sum, *how.out, ignored))
                throw failure(fmt::format(
                    "{}: the sum at {} is {}, which does not fit {}; give a wider --out-dtype, or "
                    "--wrap for it modulo 2^{}",
                    name_, results.index_text(k), sum, upsweep_dtype_name(*how.out), 8 * upsweep_dtype_size(*how.out)));
        }
    return converted(std::move(results), *how.out);
}

// Throws a failure that names the first value of a line that is not the sum or the product of its prefix.
void array_along_axis::check_values(const axis_scan& how, const array_values& values) const
{
    const std::uint64_t inner = std::accumulate(shape_.begin() + static_cast<std::ptrdiff_t>(axis_) + 1, shape_.end(),
                                                std::uint64_t{1}, std::multiplies<>());
    const std::uint64_t in_size = upsweep_dtype_size(dtype_);
    const std::uint64_t out_size = upsweep_dtype_size(how.out);
    std::vector<std::uint64_t> line(length());
    std::vector<std::uint64_t> line_values(length());
    for (std::uint64_t k = 0; k < count_ / length(); ++k) {
        const std::uint64_t first = k / inner * length() * inner + k % inner;
        for (std::uint64_t j = 0; j < length(); ++j) {
            std::memcpy(reinterpret_cast<std::byte*>(line.data()) + j * in_size,
                        static_cast<const std::byte*>(elements_) + (first + j * inner) * in_size, in_size);
            std::memcpy(reinterpret_cast<std::byte*>(line_values.data()) + j * out_size,
                        static_cast<const std::byte*>(values.data()) + (first + j * inner) * out_size, out_size);
        }
        const std::string name = fmt::format("{}: line {} along axis {}", name_, k, axis_);
        scan_check(how.op, how.exclusive, dtype_, how.out, how.init)
            .feed({name, line.data(), length(), 0, whole_}, 0, length(), line_values.data());
    }
}

array_values array_along_axis::scan(upsweep_context& context, const axis_scan& how) const
{
    const bool can_wrap = !how.wraps && is_integral(dtype_) && is_integer(how.out);
    const bool is_sum_or_product = how.op == UPSWEEP_PLUS || how.op == UPSWEEP_MULTIPLIES;
    if (can_wrap && !is_sum_or_product)
        check_elements_fit(chunk(), dtype_, how.out);
    array_values values{how.out, shape_};
    make_room(values);
    const upsweep_array from = described(elements_, dtype_);
    const upsweep_array to = described(values.data(), how.out);
    check(upsweep_scan_axis(&context, how.op, how.exclusive, &from, static_cast<std::int32_t>(axis_), &to, how.init),
          name_);
    if (can_wrap && is_sum_or_product && count_ != 0) {
        const int128 init = how.init != nullptr ? integer_value(how.out, how.init) : 0;
        if (how.op == UPSWEEP_MULTIPLIES || !fits(context, how.out, init))
            check_values(how, values);
    }
    return values;
}

array_values array_along_axis::histogram(upsweep_context& context, const axis_bins& bins,
                                         upsweep_outside& outside) const
{
    array_values counts{UPSWEEP_U64, shape_};
    counts.shape[axis_] = bins.count;
    make_room(counts);
    const std::uint64_t lines = counts.count() / bins.count;
    std::vector<upsweep_outside> of_lines(lines);
    const auto extents = signed_extents(counts.shape);
    const upsweep_array from = described(elements_, dtype_);
    const upsweep_array to = described_values(counts, extents);
    const auto along = static_cast<std::int32_t>(axis_);
    check(bins.edges.empty()
              ? upsweep_histogram_axis_even(&context, &from, along, bins.lo, bins.hi, &to, of_lines.data(), lines)
              : upsweep_histogram_axis_edges(&context, &from, along, bins.edges.data(), bins.edges.size(), &to,
                                             of_lines.data(), lines),
          name_);
    for (const upsweep_outside& of_line : of_lines) {
        outside.below += of_line.below;
        outside.above += of_line.above;
        outside.nan += of_line.nan;
    }
    return counts;
}

void write_values(files::writer& writer, const array_values& values)
{
    constexpr std::uint64_t most = std::uint64_t{1} << 20;
    const std::uint64_t size = upsweep_dtype_size(values.dtype);
    for (std::uint64_t first = 0; first < values.count(); first += most)
        writer.append(static_cast<const std::byte*>(values.data()) + first * size,
                      std::min(most, values.count() - first));
}

} // namespace upsweep::cli
