// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms of arrays in memory of a GPU, on the stream of their library. Results are arrays of the same kind; numbers of samples in no
// bin stay there until somebody asks for them.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fold.hpp"
#include "gpu_inputs.hpp"
#include "gpu_output.hpp"
#include "gpu_shapes.hpp"

namespace upsweep::python {

namespace {

// --- bins -----------------------------------------------------------------------------------------------------------------------

double as_double(const value& of, upsweep_dtype dtype)
{
    switch (dtype) {
    case UPSWEEP_BOOL:
    case UPSWEEP_U8: return of.as<std::uint8_t>();
    case UPSWEEP_I8: return of.as<std::int8_t>();
    case UPSWEEP_I16: return of.as<std::int16_t>();
    case UPSWEEP_I32: return of.as<std::int32_t>();
    case UPSWEEP_I64: return static_cast<double>(of.as<std::int64_t>());
    case UPSWEEP_U16: return of.as<std::uint16_t>();
    case UPSWEEP_U32: return of.as<std::uint32_t>();
    case UPSWEEP_U64: return static_cast<double>(of.as<std::uint64_t>());
    case UPSWEEP_F16: {
        const nb::object scalar =
            nb::steal(PyArray_Scalar(const_cast<unsigned char*>(of.bytes), descr_of(UPSWEEP_F16), nullptr));
        check(scalar.ptr());
        return nb::cast<double>(nb::float_(scalar));
    }
    case UPSWEEP_BF16: return std::bit_cast<float>(std::uint32_t{of.as<std::uint16_t>()} << 16);
    case UPSWEEP_F32: return of.as<float>();
    case UPSWEEP_F64: break;
    }
    return of.as<double>();
}

// The least and the greatest element, for which the GPU is waited for.
range range_on_gpu(const char* call, const gpu_array& in)
{
    if (in.count() == 0)
        return {0, 1};
    double ends[2];
    for (const upsweep_op op : {UPSWEEP_MINIMUM, UPSWEEP_MAXIMUM}) {
        value end;
        const upsweep_array result = end.array(in.dtype());
        on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
            return library.reduce(context, op, &in.at().array, &result);
        });
        ends[op == UPSWEEP_MAXIMUM ? 1 : 0] = as_double(end, in.dtype());
    }
    const range over{ends[0], ends[1]};
    check_range_is_finite(call, over);
    return over;
}

// So many bins over the range that is given or found, or those between edges.
even_bins bins_on_gpu(const char* call, const gpu_array& in, nb::handle bins, nb::handle range_given,
                      nb::handle weights = Py_None)
{
    if (nb::isinstance<nb::str>(bins))
        return bins_between(
            nb::module_::import_("upsweep._histogram").attr("edges_by_rule")(in.array(), bins, range_given, weights));
    const bool is_number = PyLong_Check(bins.ptr()) || PyArray_IsScalar(bins.ptr(), Integer);
    if (!is_number || PyBool_Check(bins.ptr()))
        return bins_between(nb::module_::import_("upsweep._histogram").attr("checked_edges")(bins));
    const nb::object number = nb::steal(PyNumber_Index(bins.ptr()));
    check(number.ptr());
    const bool finds_range = range_given.is_none();
    const range over = finds_range ? range_on_gpu(call, in) : range_argument(call, range_given);
    return even_bins_of(nb::cast<std::int64_t>(number), over, finds_range && in.count() != 0, in.dtype());
}

std::int64_t count_of(const even_bins& bins) { return PyArray_SIZE(as_array(bins.edges)) - 1; }

nb::object edges_on_gpu(const gpu_array& in, const even_bins& bins)
{
    const upsweep_dtype dtype = dtype_of(PyArray_DESCR(as_array(bins.edges))).value_or(UPSWEEP_F64);
    return on_gpu_from(in, copy_as(as_array(bins.edges), dtype), dtype); // without gaps
}

// --- what is counted ------------------------------------------------------------------------------------------------------------

// An array of counters of one or several histograms, or of sums, and for each of these three numbers of what is in no bin. Counts are
// shown as signed numbers.
class gpu_tally {
public:
    gpu_tally(const gpu_array& in, std::vector<std::int64_t> shape, std::vector<std::int64_t> shape_of_parts,
              upsweep_dtype shown = UPSWEEP_I64, upsweep_dtype counted = UPSWEEP_U64)
        : shape_(std::move(shape)), shape_beside_(with_three(std::move(shape_of_parts))),
          counts_(in, static_cast<int>(shape_.size()), shape_.data(), shown),
          beside_(in, static_cast<int>(shape_beside_.size()), shape_beside_.data(), shown)
    {
        describe(counts_, shape_, counted, counters_);
        describe(beside_, shape_beside_, counted, beside_bins_);
    }

    void clear(const gpu_array& in) const
    {
        python::clear(in, counts_.at());
        python::clear(in, beside_.at());
    }
    const upsweep_array* counts() const { return &counters_; }
    const upsweep_array* beside() const { return &beside_bins_; }
    upsweep_outside* outside() const { return static_cast<upsweep_outside*>(beside_bins_.data); }
    std::uint64_t parts() const { return static_cast<std::uint64_t>(beside_.at().count() / 3); }

    nb::object finish_counts() { return counts_.finish(); }
    nb::object finish_beside() { return beside_.finish(); }

private:
    static std::vector<std::int64_t> with_three(std::vector<std::int64_t> shape)
    {
        shape.push_back(3);
        return shape;
    }
    static void describe(const new_gpu_array& array, const std::vector<std::int64_t>& shape, upsweep_dtype dtype,
                         upsweep_array& to)
    {
        to = value_at(array.at(), dtype);
        to.rank = static_cast<std::int32_t>(shape.size());
        to.shape = shape.data();
    }

    std::vector<std::int64_t> shape_;
    std::vector<std::int64_t> shape_beside_;
    new_gpu_array counts_;
    new_gpu_array beside_;
    upsweep_array counters_{};
    upsweep_array beside_bins_{};
};

// A function of upsweep/_histogram.py, which makes of arrays what is handed back.
nb::object of_module(const char* name) { return nb::module_::import_("upsweep._histogram").attr(name); }

nb::object finish(const gpu_array& in, gpu_tally& tally, const even_bins& bins, bool density)
{
    const nb::object counts = tally.finish_counts();
    const nb::object edges = edges_on_gpu(in, bins);
    if (!density)
        return of_module("make_on_gpu")(counts, edges, tally.finish_beside());
    const nb::object widths = of_module("widths")(bins.edges);
    return of_module("densities_on_gpu")(counts, on_gpu_from(in, widths, UPSWEEP_F64), edges, tally.finish_beside());
}

nb::object finish_several(const gpu_array& in, gpu_tally& tally, const even_bins& bins)
{
    return of_module("make_several_on_gpu")(tally.finish_counts(), edges_on_gpu(in, bins), tally.finish_beside());
}

// Adds to what has been cleared.
void count(const gpu_array& in, const even_bins& bins, const gpu_tally& to)
{
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return bins.between.empty() ? library.histogram_even(context, &in.at().array, bins.over.low, bins.over.high,
                                                             to.counts(), to.outside())
                                    : library.histogram_edges(context, &in.at().array, bins.between.data(),
                                                              bins.between.size(), to.counts(), to.outside());
    });
}

void add_up(const gpu_array& in, const gpu_array& weights, const even_bins& bins, const gpu_tally& to)
{
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return bins.between.empty()
                   ? library.weighted_histogram_even(context, &in.at().array, &weights.at().array, bins.over.low,
                                                     bins.over.high, to.counts(), to.beside())
                   : library.weighted_histogram_edges(context, &in.at().array, &weights.at().array, bins.between.data(),
                                                      bins.between.size(), to.counts(), to.beside());
    });
}

// Opens weights of samples, of whose shape they are.
void open_weights(const char* call, const gpu_array& in, nb::handle given, gpu_array& weights)
{
    open_beside(call, "the weights", in, given, weights);
    if (weights.rank() != in.rank() || !std::equal(in.at().shape, in.at().shape + in.rank(), weights.at().shape))
        refuse(PyExc_ValueError, call, "the weights have not the shape of the samples", "pass one weight a sample");
}

nb::object histogram_of_weights(const gpu_array& in, nb::handle given, const even_bins& bins, bool density)
{
    gpu_array weights;
    open_weights("histogram", in, given, weights);
    const upsweep_dtype sum = sum_dtype(weights.dtype());
    gpu_tally to(in, {count_of(bins)}, {}, sum, sum);
    add_up(in, weights, bins, to);
    return finish(in, to, bins, density);
}

nb::object histogram_along(const gpu_array& in, const even_bins& bins, nb::handle axis_given)
{
    const int axis = axis_argument(axis_given, in.rank());
    std::vector<std::int64_t> shape(in.at().shape, in.at().shape + in.rank());
    std::vector<std::int64_t> rest = shape;
    shape[static_cast<std::size_t>(axis)] = count_of(bins);
    rest.erase(rest.begin() + axis);
    gpu_tally to(in, std::move(shape), std::move(rest));
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return bins.between.empty()
                   ? library.histogram_axis_even(context, &in.at().array, axis, bins.over.low, bins.over.high,
                                                 to.counts(), to.outside(), to.parts())
                   : library.histogram_axis_edges(context, &in.at().array, axis, bins.between.data(),
                                                  bins.between.size(), to.counts(), to.outside(), to.parts());
    });
    return finish_several(in, to, bins);
}

} // namespace

nb::object histogram_on_gpu(gpu_array& in, nb::handle bins_given, nb::handle range_given, nb::handle weights,
                            bool density, nb::handle axis)
{
    if (!axis.is_none() && (!weights.is_none() || density))
        refuse(PyExc_TypeError, "histogram", "weights and densities are not summed along an axis",
               "leave weights and density out");
    const even_bins bins = bins_on_gpu("histogram", in, bins_given, range_given, weights);
    if (!axis.is_none())
        return histogram_along(in, bins, axis);
    if (!weights.is_none())
        return histogram_of_weights(in, weights, bins, density);
    gpu_tally to(in, {count_of(bins)}, {});
    to.clear(in);
    count(in, bins, to);
    return finish(in, to, bins, density);
}

nb::object segment_histogram_on_gpu(gpu_array& in, nb::handle offsets_given, nb::handle bins_given,
                                    nb::handle range_given)
{
    constexpr const char* call = "segment_histogram";
    check_is_line(call, "x", in);
    const segment_offsets offsets(call, offsets_given, in);
    const even_bins bins = bins_on_gpu(call, in, bins_given, range_given);
    gpu_tally to(in, {offsets.segments(), count_of(bins)}, {offsets.segments()});
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return bins.between.empty()
                   ? library.segmented_histogram_even(context, &in.at().array, &offsets.array(), bins.over.low,
                                                      bins.over.high, to.counts(), to.outside(), to.parts())
                   : library.segmented_histogram_edges(context, &in.at().array, &offsets.array(), bins.between.data(),
                                                       bins.between.size(), to.counts(), to.outside(), to.parts());
    });
    return finish_several(in, to, bins);
}

nb::object bincount_on_gpu(gpu_array& in, nb::handle weights_given, std::int64_t minlength)
{
    check_numbers_to_count(in.rank(), in.dtype(), minlength);
    std::int64_t number = minlength;
    if (in.count() != 0)
        number = std::max(number, bins_up_to(range_on_gpu("bincount", in)));
    gpu_array weights;
    if (!weights_given.is_none())
        open_weights("bincount", in, weights_given, weights);
    const upsweep_dtype sum = weights_given.is_none() ? UPSWEEP_I64 : sum_dtype(weights.dtype());
    gpu_tally to(in, {number}, {}, sum, weights_given.is_none() ? UPSWEEP_U64 : sum);
    const even_bins bins{{0, static_cast<double>(number)}, {}, {}};
    to.clear(in);
    if (number != 0) {
        if (weights_given.is_none())
            count(in, bins, to);
        else
            add_up(in, weights, bins, to);
    }
    return to.finish_counts();
}

} // namespace upsweep::python
