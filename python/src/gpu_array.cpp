// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "gpu_array.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace upsweep::python {

void check_gpu(upsweep_status status)
{
    if (status == UPSWEEP_OK) [[likely]]
        return;
    throw_status(status, gpu_lib()->last_error());
}

namespace {

// --- types ------------------------------------------------------------------------------------------------------------------

dlpack::data_type dlpack_type_of(upsweep_dtype dtype)
{
    const auto bits = static_cast<std::uint8_t>(8 * lib().dtype_size(dtype));
    std::uint8_t code = dlpack::floating;
    if (dtype == UPSWEEP_BOOL)
        code = dlpack::boolean;
    else if (dtype <= UPSWEEP_I64)
        code = dlpack::signed_integer;
    else if (dtype <= UPSWEEP_U64)
        code = dlpack::unsigned_integer;
    else if (dtype == UPSWEEP_BF16)
        code = dlpack::bfloat;
    return {code, bits, 1};
}

upsweep_dtype dtype_of_dlpack(const char* call, dlpack::data_type type)
{
    for (int k = UPSWEEP_BOOL; k <= UPSWEEP_F64; ++k) {
        const auto dtype = static_cast<upsweep_dtype>(k);
        const dlpack::data_type same = dlpack_type_of(dtype);
        if (type.code == same.code && type.bits == same.bits && type.lanes == 1)
            return dtype;
    }
    refuse(PyExc_TypeError, call,
           "arrays of this dtype (DLPack's type " + std::to_string(type.code) + " of " + std::to_string(type.bits) +
               " bits) cannot be folded",
           "convert to bool, an integer of 8 to 64 bits, float16, bfloat16, float32 or float64");
}

upsweep_dtype dtype_named(std::string_view name)
{
    for (int k = UPSWEEP_BOOL; k < UPSWEEP_F64; ++k)
        if (name == lib().dtype_name(static_cast<upsweep_dtype>(k)))
            return static_cast<upsweep_dtype>(k);
    return UPSWEEP_F64;
}

// --- what objects tell of themselves ------------------------------------------------------------------------------------------

// An attribute, or null where there is none.
nb::object attribute(nb::handle of, const char* name)
{
    PyObject* value = PyObject_GetAttrString(of.ptr(), name);
    if (value == nullptr) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0)
            throw nb::python_error();
        PyErr_Clear();
    }
    return nb::steal(value);
}

// The table of a type, or null. The last type with one is remembered, and kept, since a table is asked for at each call.
const dlpack::exchange* exchange_of(PyTypeObject* type)
{
    static PyTypeObject* known = nullptr; // The GIL protects both.
    static const dlpack::exchange* table_of_known = nullptr;
    if (type == known) [[likely]]
        return table_of_known;
    const nb::object capsule = attribute(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
    if (!capsule.is_valid() || PyCapsule_IsValid(capsule.ptr(), dlpack::exchange_capsule) == 0)
        return nullptr;
    auto* header = static_cast<dlpack::exchange_header*>(PyCapsule_GetPointer(capsule.ptr(), dlpack::exchange_capsule));
    while (header != nullptr && header->version.major != 1)
        header = header->before;
    if (header == nullptr)
        return nullptr;
    Py_INCREF(reinterpret_cast<PyObject*>(type));
    Py_XDECREF(reinterpret_cast<PyObject*>(known));
    known = type;
    table_of_known = reinterpret_cast<const dlpack::exchange*>(header);
    return table_of_known;
}

bool is_gpu(std::int64_t type) { return type == dlpack::cuda || type == dlpack::cuda_managed; }

// --- contexts -----------------------------------------------------------------------------------------------------------------

// The contexts of a thread, since one belongs to a thread at a time: one for each stream that it has lately worked on. A stream that its
// library would destroy with its object is kept until the context is gone.
class thread_contexts {
public:
    upsweep_context* of(int device, void* stream, const nb::object& keeps_stream)
    {
        for (const one& known : all_)
            if (known.stream == stream && known.device == device) [[likely]]
                return known.context;
        if (all_.size() == most) {
            destroy(all_.front());
            all_.erase(all_.begin());
        }
        upsweep_context* context = nullptr;
        check_gpu(gpu_lib()->context_create(UPSWEEP_CUDA, device, &context));
        const upsweep_status status = gpu_lib()->context_set_stream(context, stream);
        if (status != UPSWEEP_OK)
            gpu_lib()->context_destroy(context);
        check_gpu(status);
        all_.push_back({device, stream, context, nb::object(keeps_stream).release().ptr()});
        return context;
    }

    // Those of the main thread end with the process: the driver may have gone by then.
    ~thread_contexts()
    {
        if (all_.empty() || gettid() == getpid() || Py_IsInitialized() == 0)
            return;
        const PyGILState_STATE state = PyGILState_Ensure();
        for (const one& known : all_)
            destroy(known);
        PyGILState_Release(state);
    }

private:
    static constexpr std::size_t most = 16;
    struct one {
        int device;
        void* stream;
        upsweep_context* context;
        PyObject* keeps_stream;
    };
    static void destroy(const one& known)
    {
        gpu_lib()->context_destroy(known.context);
        Py_XDECREF(known.keeps_stream);
    }

    std::vector<one> all_;
};

thread_local thread_contexts contexts;

// --- memory of ours -------------------------------------------------------------------------------------------------------------

// Memory of a GPU that belongs to this module, for arrays of a library without a way to make one that can be written.
struct gpu_memory {
    int device;
    void* stream; // that writes it
    void* data = nullptr;
    upsweep_dtype dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;

    gpu_memory(int device, void* stream, const layout& at)
        : device(device), stream(stream), dtype(at.array.dtype), shape(at.shape, at.shape + at.rank()),
          strides(at.strides, at.strides + at.rank())
    {
        const std::uint64_t bytes = static_cast<std::uint64_t>(at.count()) * lib().dtype_size(dtype);
        check_gpu(gpu_lib()->allocate(device, stream, std::max<std::uint64_t>(bytes, 1), &data));
    }
    gpu_memory(const gpu_memory&) = delete;
    gpu_memory& operator=(const gpu_memory&) = delete;
    ~gpu_memory() { gpu_lib()->free(device, data); }

    dlpack::tensor tensor()
    {
        return {data,
                {dlpack::cuda, device},
                static_cast<std::int32_t>(shape.size()),
                dlpack_type_of(dtype),
                shape.data(),
                strides.data(),
                0};
    }
};

// What Python sees of it: an object that shows its elements by DLPack.
struct exported_memory {
    std::shared_ptr<gpu_memory> memory;

    // What comes to the stream of the caller waits for what writes the memory. 1 and None are the default stream, -1 asks for nothing.
    nb::object dlpack(nb::handle stream, nb::handle max_version) const
    {
        const long long number = stream.is_none() ? 1 : nb::cast<long long>(stream);
        void* const waits = number == 1 ? nullptr : reinterpret_cast<void*>(number);
        if (number != -1 && waits != memory->stream)
            check_gpu(gpu_lib()->order(memory->device, memory->stream, waits));
        const bool has_version = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
        return has_version ? capsule<dlpack::managed>(dlpack::capsule)
                           : capsule<dlpack::managed_before_1>(dlpack::capsule_before_1);
    }

private:
    template <class Managed>
    struct lent {
        Managed managed{};
        std::shared_ptr<gpu_memory> memory;
    };

    template <class Managed>
    nb::object capsule(const char* name) const
    {
        auto lending = std::make_unique<lent<Managed>>();
        lending->memory = memory;
        Managed& managed = lending->managed;
        managed.tensor = memory->tensor();
        managed.owner = lending.get();
        managed.give_back = [](Managed* self) { delete static_cast<lent<Managed>*>(self->owner); };
        if constexpr (requires { managed.version; })
            managed.version = {1, 0};
        PyObject* made = PyCapsule_New(&managed, name, [](PyObject* capsule) {
            constexpr const char* own =
                std::is_same_v<Managed, dlpack::managed> ? dlpack::capsule : dlpack::capsule_before_1;
            if (PyCapsule_IsValid(capsule, own) != 0) { // Nobody has taken it.
                auto* left = static_cast<Managed*>(PyCapsule_GetPointer(capsule, own));
                left->give_back(left);
            }
        });
        check(made);
        static_cast<void>(lending.release());
        return nb::steal(made);
    }
};

} // namespace

// --- arguments ------------------------------------------------------------------------------------------------------------------

bool gpu_array::open(const char* call, nb::handle x)
{
    import_numpy();
    if (PyArray_Check(x.ptr()) || PyArray_CheckScalar(x.ptr()))
        return false;
    close();
    if (const dlpack::exchange* table = exchange_of(Py_TYPE(x.ptr())); table != nullptr && table->tensor_of != nullptr)
        return open_by_table(call, x, *table);
    return open_by_protocol(call, x);
}

bool gpu_array::open_by_table(const char* call, nb::handle x, const dlpack::exchange& table)
{
    dlpack::tensor tensor{};
    if (table.tensor_of(x.ptr(), &tensor) != 0) { // A sparse one, say: the protocol has a message for it.
        PyErr_Clear();
        return open_by_protocol(call, x);
    }
    if (!is_gpu(tensor.device.type))
        return false;
    if (const nb::object grad = attribute(x, "requires_grad");
        grad.is_valid() && grad.ptr() == Py_True &&
        nb::cast<bool>(nb::module_::import_("upsweep._recorded").attr("ends_gradient")(x)))
        refuse(PyExc_TypeError, call, "the array is part of a computation of gradients, which would end here",
               "pass x.detach()");
    check_engine(call);
    exchange_ = &table;
    array_ = nb::borrow(x);
    describe(call, tensor);
    if (table.current_stream(tensor.device.type, tensor.device.number, &stream_) != 0)
        throw nb::python_error();
    return true;
}

bool gpu_array::open_by_protocol(const char* call, nb::handle x)
{
    const nb::object device = attribute(x, "__dlpack_device__");
    if (device.is_valid()) {
        const nb::object where = device();
        if (!is_gpu(nb::cast<std::int64_t>(nb::int_(where[0]))))
            return false;
    } else if (!attribute(x, "__cuda_array_interface__").is_valid()) {
        return false;
    }
    check_engine(call);
    const nb::object parts = nb::module_::import_("upsweep._gpu_arrays").attr("opened")(call, x);
    library_ = parts[3];
    stream_ = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(nb::object(parts[1])));
    if (nb::object keeper = parts[2]; !keeper.is_none())
        keeps_stream_ = std::move(keeper);
    is_read_only_ = nb::cast<bool>(nb::object(library_.attr("is_read_only")));
    array_ = nb::borrow(x);
    const nb::object elements = parts[0];
    if (nb::isinstance<nb::tuple>(elements))
        describe(call, nb::borrow<nb::tuple>(elements));
    else
        take(call, elements);
    return true;
}

void gpu_array::describe(const char* call, const dlpack::tensor& of)
{
    if (of.rank > most_dimensions)
        refuse(PyExc_TypeError, call, "the array has more than 64 dimensions", "reshape it");
    at_.begin(static_cast<char*>(of.data) + of.byte_offset, dtype_of_dlpack(call, of.dtype));
    at_.array.memory = of.device.type == dlpack::cuda_managed ? UPSWEEP_MANAGED : UPSWEEP_DEVICE;
    at_.array.device = of.device.number;
    for (int k = 0; k < of.rank; ++k)
        at_.append(of.shape[k], of.strides != nullptr ? of.strides[k] : 1);
    if (of.strides == nullptr)
        at_.close_gaps();
}

void gpu_array::describe(const char* call, const nb::tuple& of)
{
    const nb::object shape = of[2];
    const nb::object strides = of[3];
    if (nb::len(shape) > most_dimensions)
        refuse(PyExc_TypeError, call, "the array has more than 64 dimensions", "reshape it");
    at_.begin(reinterpret_cast<void*>(nb::cast<std::uintptr_t>(nb::object(of[0]))),
              dtype_named(nb::cast<const char*>(nb::object(of[1]))));
    at_.array.device = nb::cast<int>(nb::object(of[5]));
    at_.array.memory = at_.array.device >= 0 ? UPSWEEP_DEVICE : UPSWEEP_MANAGED; // of whatever device the memory tells
    for (std::size_t k = 0; k < nb::len(shape); ++k)
        at_.append(nb::cast<std::int64_t>(nb::object(shape[k])),
                   strides.is_none() ? 1 : nb::cast<std::int64_t>(nb::object(strides[k])));
    if (strides.is_none())
        at_.close_gaps();
    is_read_only_ = is_read_only_ || nb::cast<bool>(nb::object(of[4]));
}

// What is in a capsule is ours from here on, and is given back when the call is over.
void gpu_array::take(const char* call, const nb::object& capsule)
{
    if (PyCapsule_IsValid(capsule.ptr(), dlpack::capsule) != 0) {
        held_ = static_cast<dlpack::managed*>(PyCapsule_GetPointer(capsule.ptr(), dlpack::capsule));
        PyCapsule_SetName(capsule.ptr(), dlpack::taken_capsule);
        if (held_->version.major > 1)
            refuse(PyExc_BufferError, call, "the array is shown by a later DLPack than version 1", "update Upsweep");
        is_read_only_ = is_read_only_ || (held_->flags & dlpack::read_only) != 0;
        return describe(call, held_->tensor);
    }
    held_before_1_ =
        static_cast<dlpack::managed_before_1*>(PyCapsule_GetPointer(capsule.ptr(), dlpack::capsule_before_1));
    check(held_before_1_);
    PyCapsule_SetName(capsule.ptr(), dlpack::taken_capsule_before_1);
    describe(call, held_before_1_->tensor);
}

void gpu_array::check_engine(const char* call) const
{
    const gpu_library* library = nullptr;
    try {
        library = gpu_lib();
    } catch (const std::exception& failure) {
        PyErr_SetString(PyExc_RuntimeError, failure.what());
        throw nb::python_error();
    }
    if (library == nullptr)
        refuse(PyExc_TypeError, call,
               "the array lies in memory of a GPU, and this package was built without the engine for GPUs",
               "build it where nvcc is by pip install . --config-settings=cmake.define.UPSWEEP_CUDA=ON, or copy the "
               "array to memory of the host");
    static bool has_gpu = false; // The GIL protects it.
    if (!has_gpu && library->gpu_name() == nullptr) {
        PyErr_SetString(PyExc_RuntimeError, library->last_error());
        throw nb::python_error();
    }
    has_gpu = true;
}

void gpu_array::close()
{
    if (held_ != nullptr && held_->give_back != nullptr)
        held_->give_back(held_);
    if (held_before_1_ != nullptr && held_before_1_->give_back != nullptr)
        held_before_1_->give_back(held_before_1_);
    held_ = nullptr;
    held_before_1_ = nullptr;
    exchange_ = nullptr;
    is_read_only_ = false;
}

upsweep_context* gpu_array::context() const { return contexts.of(device(), stream_, keeps_stream_); }

void gpu_array::convert(const char* call, upsweep_dtype dtype)
{
    if (dtype == this->dtype())
        return;
    const nb::object copy =
        nb::module_::import_("upsweep._gpu_arrays").attr("converted")(array_, lib().dtype_name(dtype));
    open(call, copy);
}

void gpu_array::bring_behind(const char* call, std::uint64_t axes)
{
    nb::list order;
    for (const bool is_behind : {false, true})
        for (int k = 0; k < rank(); ++k)
            if ((axes >> k & 1) == (is_behind ? 1 : 0))
                order.append(k);
    const nb::object copy = nb::module_::import_("upsweep._gpu_arrays").attr("transposed")(array_, nb::tuple(order));
    open(call, copy);
}

// PyTorch's tensors have a method for this, and the support of other libraries may have a function.
bool gpu_array::is_permutable() const
{
    return nb::hasattr(array_, "permute") || (library_.is_valid() && nb::hasattr(library_, "permuted"));
}

nb::object gpu_array::permuted(const nb::object& array, const nb::object& axes) const
{
    return nb::hasattr(array, "permute") ? nb::object(array.attr("permute")(axes))
                                         : nb::object(library_.attr("permuted")(array, axes));
}

// --- results --------------------------------------------------------------------------------------------------------------------

namespace {

// Writes to `order` the dimensions of a layout from the one whose elements lie furthest apart on. Returns whether that is another order than C's.
bool order_in_memory(const layout& of, int* order)
{
    int* end = order;
    for (int k = 0; k < of.rank(); ++k) {
        order[k] = k;
        if (of.shape[k] == 1)
            continue;
        if (of.strides[k] == 0) // of an array that is none of its own
            return false;
        *end++ = k;
    }
    const auto is_further = [&](int a, int b) { return std::abs(of.strides[a]) > std::abs(of.strides[b]); };
    if (std::is_sorted(order, end, is_further))
        return false;
    std::stable_sort(order, end, is_further);
    for (int k = 0; k < of.rank(); ++k)
        if (of.shape[k] == 1)
            *end++ = k;
    return true;
}

} // namespace

new_gpu_array::new_gpu_array(const gpu_array& like, int rank, const std::int64_t* shape, upsweep_dtype dtype,
                             const layout* in_order_of)
    : like_(like)
{
    at_.begin(nullptr, dtype);
    at_.array.memory = UPSWEEP_DEVICE;
    at_.array.device = like.device();
    for (int k = 0; k < rank; ++k)
        at_.append(shape[k], 1);
    at_.close_gaps();
    int order[most_dimensions];
    if (in_order_of == nullptr || !order_in_memory(*in_order_of, order) || !like.is_permutable()) {
        allocate(at_);
        return;
    }
    layout in_memory;
    in_memory.begin(nullptr, dtype);
    for (int k = 0; k < rank; ++k)
        in_memory.append(shape[order[k]], 1);
    in_memory.close_gaps();
    allocate(in_memory);
    nb::list places;
    for (int k = 0; k < rank; ++k) {
        const auto place = std::find(order, order + rank, k) - order;
        at_.strides[k] = in_memory.strides[place];
        places.append(place);
    }
    places_ = nb::tuple(places);
}

// Of memory with this layout, which lies where at_ does then.
void new_gpu_array::allocate(const layout& in_memory)
{
    const upsweep_dtype dtype = at_.array.dtype;
    const int rank = in_memory.rank();
    if (const dlpack::exchange* table = like_.exchange()) {
        dlpack::tensor prototype{nullptr,
                                 {dlpack::cuda, like_.device()},
                                 rank,
                                 dlpack_type_of(dtype),
                                 const_cast<std::int64_t*>(in_memory.shape),
                                 nullptr,
                                 0};
        const auto set_error = [](void*, const char* kind, const char* message) {
            PyErr_SetString(std::string_view(kind) == "MemoryError" ? PyExc_MemoryError : PyExc_RuntimeError, message);
        };
        if (table->allocate(&prototype, &held_, nullptr, set_error) != 0)
            throw nb::python_error();
        at_.array.data = static_cast<char*>(held_->tensor.data) + held_->tensor.byte_offset;
        return;
    }
    nb::list extents;
    for (int k = 0; k < rank; ++k)
        extents.append(in_memory.shape[k]);
    nb::object made = like_.library().attr("empty")(nb::tuple(extents), lib().dtype_name(dtype), like_.device());
    if (made.is_none()) {
        auto memory = std::make_shared<gpu_memory>(like_.device(), like_.stream(), in_memory);
        at_.array.data = memory->data;
        array_ = nb::cast(exported_memory{std::move(memory)});
    } else {
        at_.array.data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(nb::object(made[1])));
        array_ = made[0];
    }
}

new_gpu_array::~new_gpu_array()
{
    if (held_ != nullptr)
        held_->give_back(held_);
}

nb::object new_gpu_array::finish()
{
    if (held_ != nullptr) {
        void* array = nullptr;
        if (like_.exchange()->array_of(std::exchange(held_, nullptr), &array) != 0)
            throw nb::python_error();
        array_ = nb::steal(static_cast<PyObject*>(array));
    } else if (nb::isinstance<exported_memory>(array_)) {
        array_ = like_.library().attr("take")(array_);
    }
    return places_.is_valid() ? like_.permuted(array_, places_) : array_;
}

void bind_gpu_arrays(nb::module_& m)
{
    nb::class_<exported_memory>(m, "GpuMemory", "Memory of a GPU on its way to the library of an array.")
        .def(
            "__dlpack__",
            [](const exported_memory& self, nb::handle stream, nb::handle max_version, nb::handle, nb::handle) {
                return self.dlpack(stream, max_version);
            },
            nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
            nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
            nb::sig("def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None, "
                    "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> typing.Any"))
        .def(
            "__dlpack_device__",
            [](const exported_memory& self) {
                return nb::make_tuple(static_cast<int>(dlpack::cuda), self.memory->device);
            },
            nb::sig("def __dlpack_device__(self) -> tuple[int, int]"));
}

} // namespace upsweep::python
