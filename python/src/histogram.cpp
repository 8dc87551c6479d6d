// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms. The bins of most calls, so many of equal width, are made here; upsweep/_histogram.py has the others, and what is
// handed back.
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "array.hpp"
#include "docs.hpp"
#include "library.hpp"

namespace upsweep::python {

namespace {

// A function of upsweep/_histogram.py, found once and kept for ever.
nb::handle of_module(const char* name)
{
    return nb::object(nb::module_::import_("upsweep._histogram").attr(name)).release();
}

// Counters, which NumPy gives as signed numbers.
struct counters {
    nb::object array;
    layout at;

    explicit counters(std::int64_t bins)
    {
        npy_intp extent = bins;
        array = nb::steal(PyArray_Zeros(1, &extent, descr_of(UPSWEEP_I64), 0));
        check(array.ptr());
        describe(as_array(array), UPSWEEP_U64, at);
    }
};

struct range {
    double low;
    double high;
};

// The least and the greatest element.
range range_of(const char* call, const operand& in)
{
    if (in.count() == 0)
        return {0, 1};
    double ends[2];
    for (const upsweep_op op : {UPSWEEP_MINIMUM, UPSWEEP_MAXIMUM}) {
        alignas(8) unsigned char bytes[8];
        const upsweep_array result{bytes, in.dtype(), UPSWEEP_HOST, 0, 0, nullptr, nullptr};
        const auto fold = [&] {
            const gil_released others(in.count());
            return lib().reduce(nullptr, op, &in.at().array, &result);
        };
        check(fold());
        double& end = ends[op == UPSWEEP_MAXIMUM ? 1 : 0];
        if (in.dtype() == UPSWEEP_F32) {
            end = *reinterpret_cast<float*>(bytes);
        } else if (in.dtype() == UPSWEEP_F64) {
            end = *reinterpret_cast<double*>(bytes);
        } else {
            const nb::object scalar = nb::steal(PyArray_Scalar(bytes, PyArray_DESCR(in.numpy()), nullptr));
            check(scalar.ptr());
            end = nb::cast<double>(nb::float_(scalar));
        }
    }
    if (!std::isfinite(ends[0]) || !std::isfinite(ends[1]))
        refuse(PyExc_ValueError, call, "there are samples that are not finite, and no range", "pass range=(low, high)");
    return {ends[0], ends[1]};
}

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

// Edges as numpy.linspace computes them in this type. The last one is exact.
template <class T>
nb::object even_edges(T low, T high, std::int64_t bins, upsweep_dtype dtype)
{
    const std::int64_t count = bins + 1;
    nb::object edges = new_array(1, &count, dtype);
    const T step = (high - low) / static_cast<T>(bins);
    const auto write = [&]<class Edge>(Edge* to) {
        for (std::int64_t k = 0; k < bins; ++k)
            to[k] = static_cast<Edge>(static_cast<T>(k) * step + low);
        to[bins] = static_cast<Edge>(high);
    };
    if (dtype == UPSWEEP_F32)
        write(static_cast<float*>(PyArray_DATA(as_array(edges))));
    else
        write(static_cast<double*>(PyArray_DATA(as_array(edges))));
    return edges;
}

// Counts, and what was in no bin.
void count_between(const operand& in, const nb::object& edges, const counters& to, upsweep_outside& outside)
{
    const nb::object doubles = copy_as(as_array(edges), UPSWEEP_F64);
    const auto* first = static_cast<const double*>(PyArray_DATA(as_array(doubles)));
    const auto count = static_cast<std::uint64_t>(PyArray_SIZE(as_array(doubles)));
    const auto fill = [&] {
        const gil_released others(in.count());
        return lib().histogram_edges(nullptr, &in.at().array, first, count, &to.at.array, &outside);
    };
    check(fill());
}

nb::object finish(const operand& in, nb::object counts, nb::object edges, const upsweep_outside& outside)
{
    static const nb::handle make = of_module("make");
    return make(in.finish(std::move(counts)), in.finish(std::move(edges)), outside.below, outside.above, outside.nan);
}

nb::object histogram_even(const operand& in, std::int64_t bins, nb::handle range_given)
{
    if (bins < 1)
        refuse(PyExc_ValueError, "histogram", "there are no bins", "pass bins=1 or more");
    const bool finds_range = range_given.is_none();
    range over = finds_range ? range_of("histogram", in) : range_argument("histogram", range_given);
    if (over.low == over.high) {
        over.low -= 0.5;
        over.high += 0.5;
    }
    const counters to(bins);
    upsweep_outside outside{0, 0, 0};
    if (finds_range && in.dtype() == UPSWEEP_F32 && in.count() != 0) {
        // NumPy computes these edges in the type of the samples.
        const nb::object edges =
            even_edges(static_cast<float>(over.low), static_cast<float>(over.high), bins, UPSWEEP_F32);
        count_between(in, edges, to, outside);
        return finish(in, to.array, edges, outside);
    }
    const bool has_float_edges = in.dtype() == UPSWEEP_F32 || is_half(in.dtype());
    const auto fill = [&] {
        const gil_released others(in.count());
        return lib().histogram_even(nullptr, &in.at().array, over.low, over.high, &to.at.array, &outside);
    };
    check(fill());
    return finish(in, to.array, even_edges(over.low, over.high, bins, has_float_edges ? UPSWEEP_F32 : UPSWEEP_F64),
                  outside);
}

nb::object histogram(nb::handle x, nb::handle bins, nb::handle range, nb::handle weights, bool density)
{
    const bool is_count = PyLong_CheckExact(bins.ptr());
    if (!is_count || !weights.is_none() || density) {
        static const nb::handle other = of_module("histogram");
        return other(x, bins, range, weights, density);
    }
    const operand in("histogram", x);
    return histogram_even(in, nb::cast<std::int64_t>(bins), range);
}

// For upsweep/_histogram.py: edges is an array of one dimension.
nb::object histogram_between(nb::handle x, nb::object edges)
{
    const operand in("histogram", x);
    const counters to(PyArray_SIZE(as_array(edges)) - 1);
    upsweep_outside outside{0, 0, 0};
    count_between(in, edges, to, outside);
    return finish(in, to.array, std::move(edges), outside);
}

nb::object bincount(nb::handle x, std::int64_t minlength)
{
    const operand in("bincount", x);
    if (in.rank() != 1)
        refuse(PyExc_ValueError, "bincount", "the array has not one dimension", "pass x.ravel()");
    if (is_float(in.dtype()))
        refuse(PyExc_TypeError, "bincount", "the numbers are no integers", "convert them, or use histogram");
    if (minlength < 0)
        refuse(PyExc_ValueError, "bincount", "minlength is negative", "pass 0 or more");
    std::int64_t bins = minlength;
    if (in.count() != 0) {
        const range over = range_of("bincount", in);
        if (over.low < 0)
            refuse(PyExc_ValueError, "bincount", "there are negative numbers",
                   "use histogram, or subtract the least one");
        if (over.high >= 0x1p53)
            refuse(PyExc_ValueError, "bincount", "there are numbers of 2**53 and more", "subtract the least one");
        bins = std::max(bins, static_cast<std::int64_t>(over.high) + 1);
    }
    const counters to(bins);
    if (in.count() != 0) {
        upsweep_outside outside{0, 0, 0};
        const auto fill = [&] {
            const gil_released others(in.count());
            return lib().histogram_even(nullptr, &in.at().array, 0, static_cast<double>(bins), &to.at.array, &outside);
        };
        check(fill());
    }
    return in.finish(to.array);
}

} // namespace

void bind_histograms(nb::module_& m)
{
    m.def("histogram", &histogram, nb::arg(), nb::arg("bins") = 10, nb::arg("range") = nb::none(), nb::kw_only(),
          nb::arg("weights") = nb::none(), nb::arg("density") = false, nb::sig(UPSWEEP_HISTOGRAM_SIGNATURE),
          docs::histogram);
    m.def("histogram_between", &histogram_between, nb::arg(), nb::arg(), "A histogram with bins between these edges.");
    m.def("bincount", &bincount, nb::arg(), nb::kw_only(), nb::arg("minlength") = 0,
          nb::sig("def bincount" UPSWEEP_X ", *, minlength: int = 0) -> typing.Any"), docs::bincount);
}

} // namespace upsweep::python
