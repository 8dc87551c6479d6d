// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "array.hpp"
#include "dlpack.hpp"
#include "library.hpp"

// The seam between arrays of a GPU and those of the C ABI. A library that exchanges arrays in C (PyTorch from 2.9 on) is asked through
// that table, which takes some hundred nanoseconds; others go by upsweep/_gpu_arrays.py. Nothing here waits for a GPU.
namespace upsweep::python {

// Throws what a status of libupsweep-cuda is in Python.
void check_gpu(upsweep_status status);

// An argument that lies in memory of a GPU.
class gpu_array {
public:
    gpu_array() = default;
    gpu_array(const gpu_array&) = delete;
    gpu_array& operator=(const gpu_array&) = delete;
    ~gpu_array() { close(); }

    // Returns whether x lies in memory of a GPU, and describes it if it does. TypeError where the package has no engine for GPUs.
    bool open(const char* call, nb::handle x);

    const layout& at() const { return at_; }
    int rank() const { return at_.rank(); }
    std::int64_t count() const { return at_.count(); }
    upsweep_dtype dtype() const { return at_.array.dtype; }
    int device() const { return at_.array.device; }
    void* stream() const { return stream_; } // on which its library works
    bool is_read_only() const { return is_read_only_; }
    const dlpack::exchange* exchange() const { return exchange_; }
    const nb::object& library() const { return library_; }
    const nb::object& array() const { return array_; }
    // Whether new arrays of its kind can be made.
    bool can_be_made() const { return exchange_ != nullptr || nb::cast<bool>(library_.attr("makes_arrays")); }

    // Whether its library has arrays that are transposed, and one of its arrays in that way.
    bool is_permutable() const;
    nb::object permuted(const nb::object& array, const nb::object& axes) const;

    // Where calls that fold it are carried out.
    upsweep_context* context() const;

    // Replaces the elements by a copy of this type, which the array's library makes.
    void convert(const char* call, upsweep_dtype dtype);
    // Replaces the array by a copy whose last dimensions are these, which lie as one.
    void bring_behind(const char* call, std::uint64_t axes);

private:
    bool open_by_table(const char* call, nb::handle x, const dlpack::exchange& table);
    bool open_by_protocol(const char* call, nb::handle x);
    void describe(const char* call, const dlpack::tensor& of);
    void describe(const char* call, const nb::tuple& of);
    void take(const char* call, const nb::object& capsule);
    void check_engine(const char* call) const;
    void close();

    layout at_;
    void* stream_ = nullptr;
    bool is_read_only_ = false;
    const dlpack::exchange* exchange_ = nullptr; // null: by `library_`
    nb::object library_;
    nb::object keeps_stream_;
    nb::object array_;
    dlpack::managed* held_ = nullptr;
    dlpack::managed_before_1* held_before_1_ = nullptr;
};

// A new array of the kind of another one, without gaps, on its device. With `in_order_of`, a layout of the same rank, its dimensions are in memory as there,
// if the library has arrays that are transposed, as results of NumPy are: in C's order otherwise.
class new_gpu_array {
public:
    new_gpu_array(const gpu_array& like, int rank, const std::int64_t* shape, upsweep_dtype dtype,
                  const layout* in_order_of = nullptr);
    new_gpu_array(const new_gpu_array&) = delete;
    new_gpu_array& operator=(const new_gpu_array&) = delete;
    ~new_gpu_array();

    const layout& at() const { return at_; }
    // What Python sees, once all that writes it is in order of the stream.
    nb::object finish();

private:
    void allocate(const layout& in_memory);

    const gpu_array& like_;
    layout at_;
    dlpack::managed* held_ = nullptr;
    nb::object array_;
    nb::object places_; // which dimension in memory each is; null where they are in C's order
};

// A value in memory of the GPU, in the array's own memory pool.
inline new_gpu_array new_gpu_value(const gpu_array& like, upsweep_dtype dtype) { return {like, 0, nullptr, dtype}; }

// Runs what was started for `call` on the stream of an array, of so many elements; other threads of Python run meanwhile.
template <class F>
void on_gpu(const gpu_array& in, F f)
{
    upsweep_context* const context = in.context();
    upsweep_status status{};
    {
        const gil_released others(in.count());
        status = f(*gpu_lib(), context);
    }
    check_gpu(status);
}

void bind_gpu_arrays(nb::module_& m);

} // namespace upsweep::python
