// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms. The bins of most calls, so many of equal width, are made here; upsweep/_histogram.py has the others, and what is
// handed back.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "array.hpp"
#include "docs.hpp"
#include "fold.hpp"
#include "library.hpp"

namespace upsweep::python {

range range_argument(const char* call, nb::handle of)
{
    if (PySequence_Check(of.ptr()) == 0 || nb::len(of) != 2)
        refuse(PyExc_ValueError, call, "range is no pair", "pass range=(low, high)");
    const range result{nb::cast<double>(nb::float_(nb::object(of[0]))),
                       nb::cast<double>(nb::float_(nb::object(of[1])))};
    if (!std::isfinite(result.low) || !std::isfinite(result.high))
        refuse(PyExc_ValueError, call, "range is not finite", "pass two finite numbers");
    if (result.low > result.high)
        refuse(PyExc_ValueError, call, "the lower end of range is above the upper one", "pass range=(low, high)");
    return result;
}

// Edges as numpy.linspace computes them in type T: the last one is exact.
template <class T, class Edge>
void write_even_edges(T low, T high, std::int64_t bins, Edge* to)
{
    const T step = (high - low) / static_cast<T>(bins);
    for (std::int64_t k = 0; k < bins; ++k)
        to[k] = static_cast<Edge>(static_cast<T>(k) * step + low);
    to[bins] = static_cast<Edge>(high);
}

// The same as an array.
template <class T>
nb::object even_edges(T low, T high, std::int64_t bins, upsweep_dtype dtype)
{
    const std::int64_t count = bins + 1;
    nb::object edges = new_array(1, &count, dtype);
    void* to = PyArray_DATA(as_array(edges));
    if (dtype == UPSWEEP_F32)
        write_even_edges(low, high, bins, static_cast<float*>(to));
    else
        write_even_edges(low, high, bins, static_cast<double*>(to));
    return edges;
}

even_bins even_bins_of(std::int64_t bins, range over, bool was_found, upsweep_dtype samples)
{
    if (bins < 1)
        refuse(PyExc_ValueError, "histogram", "there are no bins", "pass bins=1 or more");
    if (over.low == over.high) {
        over.low -= 0.5;
        over.high += 0.5;
    }
    if (was_found && samples == UPSWEEP_F32) {
        // NumPy computes these edges in the type of the samples.
        const auto low = static_cast<float>(over.low);
        const auto high = static_cast<float>(over.high);
        std::vector<double> between(static_cast<std::size_t>(bins) + 1);
        write_even_edges(low, high, bins, between.data());
        return {over, std::move(between), even_edges(low, high, bins, UPSWEEP_F32)};
    }
    const bool has_float_edges = samples == UPSWEEP_F32 || is_half(samples);
    return {over, {}, even_edges(over.low, over.high, bins, has_float_edges ? UPSWEEP_F32 : UPSWEEP_F64)};
}

even_bins bins_between(const nb::object& edges)
{
    const nb::object doubles = copy_as(as_array(edges), UPSWEEP_F64);
    const auto* const first = static_cast<const double*>(PyArray_DATA(as_array(doubles)));
    return {{}, {first, first + PyArray_SIZE(as_array(doubles))}, edges};
}

void check_numbers_to_count(int rank, upsweep_dtype dtype, std::int64_t minlength)
{
    if (rank != 1)
        refuse(PyExc_ValueError, "bincount", "the array has not one dimension", "pass x.ravel()");
    if (is_float(dtype))
        refuse(PyExc_TypeError, "bincount", "the numbers are no integers", "convert them, or use histogram");
    if (minlength < 0)
        refuse(PyExc_ValueError, "bincount", "minlength is negative", "pass 0 or more");
}

namespace {

[[noreturn]] void refuse_negative_numbers()
{
    refuse(PyExc_ValueError, "bincount", "there are negative numbers", "use histogram, or subtract the least one");
}

} // namespace

std::int64_t bins_up_to(range over)
{
    if (over.low < 0)
        refuse_negative_numbers();
    if (over.high >= 0x1p53)
        refuse(PyExc_ValueError, "bincount", "there are numbers of 2**53 and more", "subtract the least one");
    return static_cast<std::int64_t>(over.high) + 1;
}

void check_range_is_finite(const char* call, range over)
{
    if (!std::isfinite(over.low) || !std::isfinite(over.high))
        refuse(PyExc_ValueError, call, "there are samples that are not finite, and no range", "pass range=(low, high)");
}

upsweep_dtype sum_dtype(upsweep_dtype weights)
{
    if (is_float(weights))
        return weights == UPSWEEP_F64 ? UPSWEEP_F64 : UPSWEEP_F32;
    return weights >= UPSWEEP_U8 ? UPSWEEP_U64 : UPSWEEP_I64;
}

namespace {

// A function of upsweep/_histogram.py, found once and kept for ever. No static variable with a guard: whoever imports may let go of
// the GIL, and another thread would wait for the guard with it.
nb::handle of_module(nb::handle& kept, const char* name)
{
    if (!kept.is_valid())
        kept = nb::object(nb::module_::import_("upsweep._histogram").attr(name)).release();
    return kept;
}

nb::handle make_function;
nb::handle histogram_function;

// The least or the greatest of elements, which are those of `in` or some of them, as a double.
double extreme_of(upsweep_op op, const operand& in, const upsweep_array& elements)
{
    alignas(8) unsigned char bytes[8];
    const upsweep_array result{bytes, in.dtype(), UPSWEEP_HOST, 0, 0, nullptr, nullptr};
    const auto fold = [&] {
        const gil_released others(in.count());
        return lib().reduce(nullptr, op, &elements, &result);
    };
    check(fold());
    if (in.dtype() == UPSWEEP_F32)
        return *reinterpret_cast<float*>(bytes);
    if (in.dtype() == UPSWEEP_F64)
        return *reinterpret_cast<double*>(bytes);
    const nb::object scalar = nb::steal(PyArray_Scalar(bytes, PyArray_DESCR(in.numpy()), nullptr));
    check(scalar.ptr());
    return nb::cast<double>(nb::float_(scalar));
}

range range_of(const char* call, const operand& in)
{
    if (in.count() == 0)
        return {0, 1};
    const range over{extreme_of(UPSWEEP_MINIMUM, in, in.at().array), extreme_of(UPSWEEP_MAXIMUM, in, in.at().array)};
    check_range_is_finite(call, over);
    return over;
}

// Zeros, described for a call.
struct zeros {
    nb::object array;
    layout at;

    zeros(std::int64_t count, upsweep_dtype shown, upsweep_dtype dtype)
    {
        npy_intp extent = count;
        array = nb::steal(PyArray_Zeros(1, &extent, descr_of(shown), 0));
        check(array.ptr());
        describe(as_array(array), dtype, at);
    }
};

// What is counted, or summed where there are weights: one number a bin, and what is in none. NumPy gives counts as signed numbers.
class tally {
public:
    tally(const operand& in, const operand* weights, std::int64_t bins)
        : in_(in), weights_(weights),
          bins_(weights == nullptr ? zeros(bins, UPSWEEP_I64, UPSWEEP_U64)
                                   : zeros(bins, sum_dtype(weights->dtype()), sum_dtype(weights->dtype())))
    {
    }

    void add_even(range over)
    {
        run([&](const upsweep_array* beside) {
            return weights_ == nullptr
                       ? lib().histogram_even(nullptr, &in_.at().array, over.low, over.high, &bins_.at.array, &outside_)
                       : lib().weighted_histogram_even(nullptr, &in_.at().array, &weights_->at().array, over.low,
                                                       over.high, &bins_.at.array, beside);
        });
    }
    void add_between(std::span<const double> edges)
    {
        run([&](const upsweep_array* beside) {
            return weights_ == nullptr
                       ? lib().histogram_edges(nullptr, &in_.at().array, edges.data(), edges.size(), &bins_.at.array,
                                               &outside_)
                       : lib().weighted_histogram_edges(nullptr, &in_.at().array, &weights_->at().array, edges.data(),
                                                        edges.size(), &bins_.at.array, beside);
        });
    }
    const nb::object& bins() const { return bins_.array; }

    // As upsweep.Histogram.
    nb::object finish(nb::object edges) const
    {
        const nb::handle make = of_module(make_function, "make");
        nb::object bins = in_.finish(bins_.array);
        edges = in_.finish(std::move(edges));
        if (weights_ == nullptr)
            return make(bins, edges, outside_.below, outside_.above, outside_.nan);
        return make(bins, edges, beside_[0], beside_[1], beside_[2]);
    }

private:
    template <class F>
    void run(F f)
    {
        if (weights_ == nullptr)
            return check(alone(f, nullptr));
        const upsweep_dtype sum = bins_.at.array.dtype;
        const zeros beside(3, sum, sum);
        check(alone(f, &beside.at.array));
        beside_ = beside.array.attr("tolist")();
    }
    template <class F>
    upsweep_status alone(F f, const upsweep_array* beside) const
    {
        const gil_released others(in_.count());
        return f(beside);
    }

    const operand& in_;
    const operand* weights_;
    zeros bins_;
    upsweep_outside outside_{0, 0, 0};
    nb::object beside_;
};

nb::object histogram_even(const operand& in, const operand* weights, std::int64_t count, nb::handle range_given)
{
    if (count < 1)
        refuse(PyExc_ValueError, "histogram", "there are no bins", "pass bins=1 or more");
    const bool finds_range = range_given.is_none();
    const range over = finds_range ? range_of("histogram", in) : range_argument("histogram", range_given);
    const even_bins bins = even_bins_of(count, over, finds_range && in.count() != 0, in.dtype());
    tally to(in, weights, count);
    if (bins.between.empty())
        to.add_even(bins.over);
    else
        to.add_between(bins.between);
    return to.finish(bins.edges);
}

nb::object histogram(nb::handle x, nb::handle bins, nb::handle range, nb::handle weights, bool density, nb::handle axis)
{
    if (!is_of_numpy(x)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open("histogram", x))
            return histogram_on_gpu(on_gpu, bins, range, weights, density, axis);
    if (!PyLong_CheckExact(bins.ptr()) || !weights.is_none() || density || !axis.is_none() || comes_in_chunks(x)) {
        return of_module(histogram_function, "histogram")(x, bins, range, weights, density, axis);
    }
    const operand in("histogram", x);
    return histogram_even(in, nullptr, nb::cast<std::int64_t>(bins), range);
}

// --- for upsweep/_histogram.py: samples and weights are arrays of NumPy, of the same shape ----------------------------------------

nb::object weighted_histogram(nb::handle x, std::int64_t bins, nb::handle range, nb::handle weights)
{
    const operand in("histogram", x);
    const operand each("histogram", weights);
    return histogram_even(in, &each, bins, range);
}

// `edges` has one dimension.
nb::object histogram_between(nb::handle x, nb::object edges, nb::handle weights)
{
    const operand in("histogram", x);
    std::optional<operand> each;
    if (!weights.is_none())
        each.emplace("histogram", weights);
    tally to(in, each ? &*each : nullptr, PyArray_SIZE(as_array(edges)) - 1);
    const nb::object doubles = copy_as(as_array(edges), UPSWEEP_F64);
    to.add_between(std::span(static_cast<const double*>(PyArray_DATA(as_array(doubles))),
                             static_cast<std::size_t>(PyArray_SIZE(as_array(doubles)))));
    return to.finish(std::move(edges));
}

// Points whose coordinates are in a list of arrays, between edges of float64 in another one: counts in one dimension, and how many
// points are below, above and NaN.
nb::object joint_histogram(nb::list coordinates, nb::list edges)
{
    const std::size_t dimensions = nb::len(coordinates);
    std::vector<std::unique_ptr<operand>> each;
    std::vector<upsweep_array> arrays;
    std::vector<const double*> bounds;
    std::vector<std::uint64_t> counts_of_bounds;
    std::int64_t bins = 1;
    for (std::size_t d = 0; d < dimensions; ++d) {
        each.push_back(std::make_unique<operand>("histogramdd", coordinates[d]));
        arrays.push_back(each[d]->at().array);
        PyArrayObject* of_dimension = as_array(edges[d]);
        bounds.push_back(static_cast<const double*>(PyArray_DATA(of_dimension)));
        counts_of_bounds.push_back(static_cast<std::uint64_t>(PyArray_SIZE(of_dimension)));
        if (__builtin_mul_overflow(bins, PyArray_SIZE(of_dimension) - 1, &bins))
            refuse(PyExc_ValueError, "histogramdd", "there are too many bins", "ask for fewer in a dimension");
    }
    const zeros to(bins, UPSWEEP_I64, UPSWEEP_U64);
    upsweep_outside outside{0, 0, 0};
    const auto count = [&] {
        const gil_released others(each[0]->count());
        return lib().joint_histogram_edges(nullptr, arrays.data(), dimensions, bounds.data(), counts_of_bounds.data(),
                                           &to.at.array, &outside);
    };
    check(count());
    return nb::make_tuple(to.array, outside.below, outside.above, outside.nan);
}

// Counts of several histograms with the same bins, of this shape; and how many samples of each are below, above and NaN.
struct counts_of_parts {
    nb::object counts;
    nb::object beside;
    layout at;
    std::int64_t parts;

    counts_of_parts(const std::vector<std::int64_t>& shape, std::int64_t histograms)
        : counts(new_array(static_cast<int>(shape.size()), shape.data(), UPSWEEP_I64)), parts(histograms)
    {
        const std::int64_t extents[] = {parts, 3};
        beside = new_array(2, extents, UPSWEEP_I64);
        describe(as_array(counts), UPSWEEP_U64, at);
    }
    upsweep_outside* outside() const { return static_cast<upsweep_outside*>(PyArray_DATA(as_array(beside))); }
    std::uint64_t outside_count() const { return static_cast<std::uint64_t>(parts); }
};

// So many bins over the range that is given or found, or those between edges, an array of one dimension.
even_bins bins_argument(const char* call, const operand& in, nb::handle bins, nb::handle range_given)
{
    if (PyLong_CheckExact(bins.ptr())) {
        const bool finds_range = range_given.is_none();
        const range over = finds_range ? range_of(call, in) : range_argument(call, range_given);
        return even_bins_of(nb::cast<std::int64_t>(bins), over, finds_range && in.count() != 0, in.dtype());
    }
    return bins_between(nb::borrow(bins));
}

nb::object histogram_along(nb::handle x, nb::handle bins_given, nb::handle range_given, nb::handle axis_given)
{
    const operand in("histogram", x);
    const int axis = axis_argument(axis_given, in.rank());
    const even_bins bins = bins_argument("histogram", in, bins_given, range_given);
    std::vector<std::int64_t> shape(in.at().shape, in.at().shape + in.rank());
    shape[static_cast<std::size_t>(axis)] = PyArray_SIZE(as_array(bins.edges)) - 1;
    std::int64_t lines = 1;
    for (int k = 0; k < in.rank(); ++k)
        lines *= k == axis ? 1 : in.at().shape[k];
    const counts_of_parts to(shape, lines);
    const auto count = [&] {
        const gil_released others(in.count());
        const upsweep_array* const samples = &in.at().array;
        return bins.between.empty()
                   ? lib().histogram_axis_even(nullptr, samples, axis, bins.over.low, bins.over.high, &to.at.array,
                                               to.outside(), to.outside_count())
                   : lib().histogram_axis_edges(nullptr, samples, axis, bins.between.data(), bins.between.size(),
                                                &to.at.array, to.outside(), to.outside_count());
    };
    check(count());
    return nb::make_tuple(to.counts, bins.edges, to.beside);
}

// The offsets are of 32 or 64 bits. They are always checked: in Python a wrong number must not read foreign memory.
nb::object histogram_of_segments(nb::handle x, nb::handle offsets, nb::handle bins_given, nb::handle range_given)
{
    constexpr const char* call = "segment_histogram";
    const operand in(call, x);
    const operand cuts(call, offsets);
    const even_bins bins = bins_argument(call, in, bins_given, range_given);
    const auto look = [&] {
        const gil_released others(cuts.count());
        return lib().check_offsets(nullptr, &cuts.at().array, static_cast<std::uint64_t>(in.count()));
    };
    check(look());
    const counts_of_parts to({cuts.count() - 1, PyArray_SIZE(as_array(bins.edges)) - 1}, cuts.count() - 1);
    const auto count = [&] {
        const gil_released others(in.count() + cuts.count());
        const upsweep_array* const samples = &in.at().array;
        return bins.between.empty()
                   ? lib().segmented_histogram_even(nullptr, samples, &cuts.at().array, bins.over.low, bins.over.high,
                                                    &to.at.array, to.outside(), to.outside_count())
                   : lib().segmented_histogram_edges(nullptr, samples, &cuts.at().array, bins.between.data(),
                                                     bins.between.size(), &to.at.array, to.outside(),
                                                     to.outside_count());
    };
    check(count());
    return nb::make_tuple(to.counts, bins.edges, to.beside);
}

// Counts numbers from 0 on by their values, in a table that grows. A piece of the array is counted in the table as it is;
// where the piece has larger numbers, the table is made large enough, and these alone are counted. So the array is read
// once, where its greatest number would have to be found first.
class counts_by_value {
public:
    counts_by_value(const operand& in, std::int64_t least_size) : in_(in)
    {
        constexpr std::int64_t few = 256;
        resize(std::max(least_size, few));
    }

    void count_all()
    {
        constexpr std::int64_t least = std::int64_t{1} << 22;
        std::int64_t first = 0;
        while (first < in_.count()) {
            // A piece has many more numbers than the table has counters, which every thread clears and adds up.
            const std::int64_t size = std::min(in_.count() - first, std::max(least, 16 * size_));
            count_piece(first, size);
            first += size;
        }
    }

    // The counters up to the greatest number, and at least so many.
    nb::object finish(std::int64_t least_size) const
    {
        std::int64_t size = size_;
        while (size > least_size && counts_[static_cast<std::size_t>(size - 1)] == 0)
            --size;
        const std::int64_t shape[] = {std::max(size, least_size)};
        nb::object result = new_array(1, shape, UPSWEEP_I64);
        std::copy_n(counts_.begin(), shape[0], static_cast<std::int64_t*>(PyArray_DATA(as_array(result))));
        return result;
    }

private:
    // There is a counter more than numbers in the table: the last of several bins counts its upper edge, too.
    void resize(std::int64_t size)
    {
        size_ = size;
        counts_.resize(static_cast<std::size_t>(size) + 1);
    }

    void count_piece(std::int64_t first, std::int64_t size)
    {
        const std::int64_t stride = in_.at().array.strides == nullptr ? 1 : in_.at().array.strides[0];
        upsweep_array piece = in_.at().array;
        piece.data = static_cast<char*>(piece.data) + first * stride * PyArray_ITEMSIZE(in_.numpy());
        piece.shape = &size;
        piece.strides = &stride;

        const auto [negative, larger] = count_from(0, piece);
        if (negative)
            refuse_negative_numbers();
        if (larger) {
            const std::int64_t before = size_;
            resize(std::max(2 * before, bins_up_to({0, extreme_of(UPSWEEP_MAXIMUM, in_, piece)})));
            count_from(before, piece);
        }
    }

    struct others {
        bool are_below;
        bool are_above;
    };
    // Counts the numbers of a piece from the given one on, as far as there are counters.
    others count_from(std::int64_t number, const upsweep_array& piece)
    {
        const std::int64_t counters = size_ + 1 - number;
        const upsweep_array table = upsweep_array_of(counts_.data() + number, UPSWEEP_U64, &counters);
        upsweep_outside outside{0, 0, 0};
        const auto count = [&] {
            const gil_released all(in_.count());
            return lib().histogram_even(nullptr, &piece, static_cast<double>(number), static_cast<double>(size_ + 1),
                                        &table, &outside);
        };
        check(count());
        const bool are_above = outside.above != 0 || counts_.back() != 0;
        counts_.back() = 0;
        return {outside.below != 0, are_above};
    }

    const operand& in_;
    std::int64_t size_ = 0; // how many numbers have counters
    std::vector<std::uint64_t> counts_;
};

nb::object bincount(nb::handle x, nb::handle weights, std::int64_t minlength)
{
    if (!is_of_numpy(x)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open("bincount", x))
            return bincount_on_gpu(on_gpu, weights, minlength);
    if (comes_in_chunks(x))
        return of_chunks("bincount")(x, weights, minlength);
    const operand in("bincount", x);
    check_numbers_to_count(in.rank(), in.dtype(), minlength);
    if (weights.is_none()) {
        counts_by_value counts(in, minlength);
        counts.count_all();
        return in.finish(counts.finish(minlength));
    }
    const operand each("bincount", weights);
    if (each.rank() != 1)
        refuse(PyExc_ValueError, "bincount", "the weights have not one dimension", "pass weights.ravel()");
    std::int64_t bins = minlength;
    if (in.count() != 0)
        bins = std::max(bins, bins_up_to(range_of("bincount", in)));
    tally to(in, &each, bins);
    if (bins != 0)
        to.add_even({0, static_cast<double>(bins)});
    return in.finish(to.bins());
}

} // namespace

void bind_histograms(nb::module_& m)
{
    m.def("histogram", &histogram, nb::arg(), nb::arg("bins") = 10, nb::arg("range") = nb::none(), nb::kw_only(),
          nb::arg("weights") = nb::none(), nb::arg("density") = false, nb::arg("axis") = nb::none(),
          nb::sig(docs::histogram.signature), docs::histogram.text);
    m.def("histogram_along", &histogram_along, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
          nb::sig(
              "def histogram_along(x: numpy.ndarray, bins: int | numpy.ndarray, range: typing.Any, axis: typing.Any, /)"
              " -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]"),
          "Counts along an axis, edges, and for each line how many samples are below, above and NaN.");
    m.def(
        "histogram_of_segments", &histogram_of_segments, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
        nb::sig("def histogram_of_segments(x: numpy.ndarray, offsets: numpy.ndarray, bins: int | numpy.ndarray, range: "
                "typing.Any, /) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]"),
        "Counts of segments, edges, and for each segment how many samples are below, above and NaN.");
    m.def(
        "segment_histogram_on_gpu",
        [](nb::handle x, nb::handle offsets, nb::handle bins, nb::handle range) -> nb::object {
            if (gpu_array on_gpu; !is_of_numpy(x) && on_gpu.open("segment_histogram", x))
                return segment_histogram_on_gpu(on_gpu, offsets, bins, range);
            return nb::none();
        },
        nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
        nb::sig("def segment_histogram_on_gpu(x: typing.Any, offsets: typing.Any, bins: typing.Any, range: typing.Any, "
                "/) -> "
                "upsweep._histogram.Histograms | None"),
        "upsweep.segment_histogram of an array in memory of a GPU, and None of any other.");
    m.def("weighted_histogram", &weighted_histogram, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
          nb::sig("def weighted_histogram(x: numpy.ndarray, bins: int, range: typing.Any, weights: numpy.ndarray, /) "
                  "-> upsweep._histogram.Histogram"),
          "A histogram of weights in so many bins of equal width.");
    m.def("histogram_between", &histogram_between, nb::arg(), nb::arg(), nb::arg().none(),
          nb::sig("def histogram_between(x: numpy.ndarray, edges: numpy.ndarray, weights: numpy.ndarray | None, /) -> "
                  "upsweep._histogram.Histogram"),
          "A histogram with bins between these edges.");
    m.def("joint_histogram", &joint_histogram, nb::arg(), nb::arg(),
          nb::sig("def joint_histogram(coordinates: list[numpy.ndarray], edges: list[numpy.ndarray], /) -> "
                  "tuple[numpy.ndarray, int, int, int]"),
          "Count points in bins between these edges, float64.");
    m.def("bincount", &bincount, nb::arg(), nb::arg("weights") = nb::none(), nb::arg("minlength") = 0,
          nb::sig(docs::bincount.signature), docs::bincount.text);
}

} // namespace upsweep::python
