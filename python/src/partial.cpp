// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The fold of some elements of an array as a value.
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "array.hpp"
#include "docs.hpp"
#include "library.hpp"

namespace upsweep::python {

namespace {

struct destroy {
    void operator()(upsweep_partial* of) const { lib().partial_destroy(of); }
};

class partial {
public:
    partial(upsweep_op op, upsweep_dtype dtype) : op_(op), dtype_(dtype)
    {
        upsweep_partial* created = nullptr;
        check(lib().partial_create(op, dtype, &created));
        fold_.reset(created);
    }
    // Bytes 9 and 10 are the operator and the type (docs/fold-order.md), and have been checked by then.
    explicit partial(const nb::bytes& bytes)
    {
        upsweep_partial* created = nullptr;
        check(lib().partial_of_bytes(bytes.c_str(), bytes.size(), &created));
        fold_.reset(created);
        op_ = static_cast<upsweep_op>(bytes.c_str()[9]);
        dtype_ = static_cast<upsweep_dtype>(bytes.c_str()[10]);
    }

    void feed(nb::handle x, std::uint64_t start)
    {
        if (comes_in_chunks(x)) {
            x.attr("for_each")(
                nb::cpp_function([&](nb::handle chunk, std::uint64_t position) { feed(chunk, start + position); }),
                "partial");
            return;
        }
        const operand in("partial.feed", x);
        check(alone([&] { return lib().partial_feed(fold_.get(), nullptr, &in.at().array, start); }));
    }
    void merge(const partial& other)
    {
        if (this == &other)
            refuse(PyExc_ValueError, "partial.merge", "a partial has all of its own elements", "merge another one");
        upsweep_status status{};
        {
            const nb::gil_scoped_release others;
            const std::scoped_lock both(mutex_, other.mutex_);
            status = lib().partial_merge(fold_.get(), other.fold_.get());
        }
        check(status);
    }
    nb::object value() const
    {
        upsweep_dtype type{};
        check(lib().reduce_dtype(op_, dtype_, &type));
        import_numpy();
        const nb::object result = new_array(0, nullptr, type);
        check(alone([&] { return lib().partial_result(fold_.get(), PyArray_DATA(as_array(result))); }));
        // As us.reduce gives it: rounded once to the type of the elements.
        const bool is_wider = is_half(dtype_) && type == UPSWEEP_F32;
        return scalar_of(is_wider ? copy_as(as_array(result), dtype_) : result);
    }
    std::uint64_t count() const
    {
        const nb::gil_scoped_release others;
        const std::scoped_lock locked(mutex_);
        return lib().partial_count(fold_.get());
    }
    nb::bytes bytes() const
    {
        std::vector<char> result;
        check(alone([&] {
            std::uint64_t size = 0;
            if (const upsweep_status status = lib().partial_bytes(fold_.get(), nullptr, &size); status != UPSWEEP_OK)
                return status;
            result.resize(size);
            return lib().partial_bytes(fold_.get(), result.data(), &size);
        }));
        return nb::bytes(result.data(), result.size());
    }
    const char* op() const { return lib().op_name(op_); }
    nb::object dtype() const
    {
        import_numpy();
        return nb::steal(reinterpret_cast<PyObject*>(descr_of(dtype_)));
    }

private:
    // One call at a time, whichever thread of Python makes it. A thread that waits for its turn does not hold the GIL.
    template <class F>
    upsweep_status alone(F f) const
    {
        const nb::gil_scoped_release others;
        const std::scoped_lock locked(mutex_);
        return f();
    }

    upsweep_op op_{};
    upsweep_dtype dtype_{};
    std::unique_ptr<upsweep_partial, destroy> fold_;
    mutable std::mutex mutex_;
};

} // namespace

void bind_partials(nb::module_& m)
{
    auto type = nb::class_<partial>(m, "partial", docs::partial.text);
    type.def(
            "__init__",
            [](partial* self, nb::handle x, nb::handle op, std::uint64_t start, nb::handle dtype) {
                const upsweep_op of = op_argument("partial", op);
                if (x.is_none()) {
                    const auto type = dtype_argument("partial", dtype);
                    if (!type)
                        refuse(PyExc_TypeError, "partial", "neither elements nor their dtype are given",
                               "pass one of them");
                    new (self) partial(of, *type);
                    return;
                }
                std::optional<upsweep_dtype> type;
                if (comes_in_chunks(x))
                    type = dtype_argument("partial", nb::object(x.attr("dtype")));
                auto folded = std::make_unique<partial>(of, type ? *type : operand("partial", x).dtype());
                folded->feed(x, start);
                new (self) partial(folded->bytes());
            },
            nb::arg().none(), nb::arg("op"), nb::kw_only(), nb::arg("start") = 0, nb::arg("dtype") = nb::none(),
            nb::sig(docs::partial.signature))
        .def("feed", &partial::feed, nb::arg(), nb::arg("start"),
             nb::sig("def feed(self, x: numpy.typing.ArrayLike, /, start: int) -> None"),
             "Fold elements, the first of which has the position `start` in its array. None of them has been folded "
             "yet.")
        .def("merge", &partial::merge, nb::arg("other"),
             "Add the elements of another partial, which has none in common with this one.")
        .def("value", &partial::value, nb::sig("def value(self) -> typing.Any"),
             "The fold, with the bits of `reduce` over the whole. ValueError while elements before the last one are "
             "missing.")
        .def("__bytes__", &partial::bytes,
             "The partial for a file or another machine: the same bytes for the same elements.")
        .def_static(
            "from_bytes", [](const nb::bytes& bytes) { return new partial(bytes); }, nb::arg("bytes"),
            nb::rv_policy::take_ownership, "The partial whose bytes these are.")
        .def("__getstate__", &partial::bytes)
        .def("__setstate__", [](partial& self, const nb::bytes& bytes) { new (&self) partial(bytes); })
        .def(
            "__eq__",
            [](const partial& self, nb::handle other) -> nb::object {
                if (!nb::isinstance<partial>(other))
                    return nb::not_implemented();
                return nb::bool_(self.bytes().equal(nb::cast<const partial&>(other).bytes()));
            },
            nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__repr__",
             [](const partial& self) {
                 return nb::str(("upsweep.partial of " + std::to_string(self.count()) + " elements: " + self.op() +
                                 " of " + nb::str(self.dtype()).c_str())
                                    .c_str());
             })
        .def_prop_ro("count", &partial::count, "How many elements have been folded.")
        .def_prop_ro("op", &partial::op, "The operator's name.")
        .def_prop_ro("dtype", &partial::dtype, nb::sig("def dtype(self, /) -> numpy.dtype"),
                     "The type of the elements.");
    type.attr("__hash__") = nb::none(); // Elements can be added.
}

} // namespace upsweep::python
