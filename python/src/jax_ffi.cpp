// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Folds as foreign functions of XLA (upsweep/jax.py), which are called inside of what JAX has compiled: by any thread, without the GIL.
// XLA gives arrays without gaps, as C has them. Each is shown as [outer, extent, inner], whose lines lie along the axis in the middle.
#include <algorithm>
#include <array>
#include <cfenv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "array.hpp"
#include "fold.hpp"
#include "library.hpp"
#include "xla_ffi.hpp"

namespace upsweep::python {

namespace {

// --- errors -----------------------------------------------------------------------------------------------------------------

// What ends a call with an error of XLA.
class failure : public std::runtime_error {
public:
    failure(xla_ffi::error_code code, const std::string& message) : std::runtime_error(message), code_(code) {}
    xla_ffi::error_code code() const { return code_; }

private:
    xla_ffi::error_code code_;
};

[[noreturn]] void refuse_call(const std::string& reason, const char* remedy)
{
    throw failure(xla_ffi::error_code::invalid_argument, "upsweep: " + reason + "; " + remedy);
}

xla_ffi::error_code code_of(upsweep_status status)
{
    switch (status) {
    case UPSWEEP_INVALID_ARGUMENT: return xla_ffi::error_code::invalid_argument;
    case UPSWEEP_UNSUPPORTED: return xla_ffi::error_code::unimplemented;
    case UPSWEEP_OUT_OF_MEMORY: return xla_ffi::error_code::resource_exhausted;
    case UPSWEEP_NO_DEVICE: return xla_ffi::error_code::unavailable;
    default: return xla_ffi::error_code::internal;
    }
}

void check_call(const library& of, upsweep_status status)
{
    if (status != UPSWEEP_OK) [[unlikely]]
        throw failure(code_of(status), of.last_error());
}

// --- where calls are carried out ------------------------------------------------------------------------------------------------

struct place {
    const upsweep::python::library& library;
    upsweep_context* context;
    upsweep_memory memory;
    int device;
};

// XLA has its threads flush denormal numbers to zero. Folds are carried out as everywhere else, for the same bits.
class default_floating_point {
public:
    default_floating_point()
    {
        std::fegetenv(&of_xla_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~default_floating_point() { std::fesetenv(&of_xla_); }
    default_floating_point(const default_floating_point&) = delete;
    default_floating_point& operator=(const default_floating_point&) = delete;

private:
    std::fenv_t of_xla_{};
};

// The contexts of XLA's streams, with the workspace of each. Any thread may be the next one to work on a stream. They are never
// destroyed: XLA keeps its streams, and tells nobody when it gives one up.
class stream_contexts {
public:
    struct shared_context {
        std::mutex in_use; // by one thread at a time
        upsweep_context* context = nullptr;
    };

    shared_context& of(const gpu_library& gpu, int device, void* stream)
    {
        const std::scoped_lock lock(mutex_);
        shared_context& known = all_[{device, stream}];
        if (known.context == nullptr)
            known.context = create(gpu, device, stream);
        return known;
    }

private:
    static upsweep_context* create(const gpu_library& gpu, int device, void* stream)
    {
        upsweep_context* context = nullptr;
        check_call(gpu, gpu.context_create(UPSWEEP_CUDA, device, &context));
        const upsweep_status status = gpu.context_set_stream(context, stream);
        if (status != UPSWEEP_OK)
            gpu.context_destroy(context);
        check_call(gpu, status);
        return context;
    }

    std::mutex mutex_;
    std::map<std::pair<int, void*>, shared_context> all_;
};

stream_contexts& contexts()
{
    static stream_contexts all;
    return all;
}

// --- arguments and results --------------------------------------------------------------------------------------------------------

upsweep_dtype dtype_of(xla_ffi::data_type type)
{
    switch (type) {
    case xla_ffi::data_type::boolean: return UPSWEEP_BOOL;
    case xla_ffi::data_type::i8: return UPSWEEP_I8;
    case xla_ffi::data_type::i16: return UPSWEEP_I16;
    case xla_ffi::data_type::i32: return UPSWEEP_I32;
    case xla_ffi::data_type::i64: return UPSWEEP_I64;
    case xla_ffi::data_type::u8: return UPSWEEP_U8;
    case xla_ffi::data_type::u16: return UPSWEEP_U16;
    case xla_ffi::data_type::u32: return UPSWEEP_U32;
    case xla_ffi::data_type::u64: return UPSWEEP_U64;
    case xla_ffi::data_type::f16: return UPSWEEP_F16;
    case xla_ffi::data_type::bf16: return UPSWEEP_BF16;
    case xla_ffi::data_type::f32: return UPSWEEP_F32;
    case xla_ffi::data_type::f64: return UPSWEEP_F64;
    }
    throw failure(
        xla_ffi::error_code::unimplemented,
        "upsweep: arrays of XLA's element type " + std::to_string(static_cast<int>(type)) +
            " cannot be folded; convert to bool, an integer of 8 to 64 bits, float16, bfloat16, float32 or float64");
}

// What XLA gives to a function, and where it is carried out.
class call {
public:
    call(const xla_ffi::call_frame& frame, const place& at) : frame_(frame), at_(at) {}

    const place& at() const { return at_; }
    const xla_ffi::buffer& argument(int k) const { return buffer(frame_.arguments, k); }
    const xla_ffi::buffer& result() const { return buffer(frame_.results, 0); }

    void describe(const xla_ffi::buffer& of, int rank, layout& to) const
    {
        if (of.rank != rank)
            refuse_call("an array has " + std::to_string(of.rank) + " dimensions in place of " + std::to_string(rank),
                        "reshape it");
        describe(of.data, dtype_of(of.dtype), {of.shape, static_cast<std::size_t>(rank)}, to);
    }
    void describe(void* data, upsweep_dtype dtype, std::span<const std::int64_t> shape, layout& to) const
    {
        to.begin(data, dtype);
        to.array.memory = at_.memory;
        to.array.device = at_.device;
        for (const std::int64_t extent : shape)
            to.append(extent, 1);
        to.close_gaps();
    }

    bool flag(std::string_view name) const
    {
        const xla_ffi::attributes& all = frame_.attributes;
        for (std::int64_t k = 0; k < all.count; ++k)
            if (name == std::string_view(all.names[k]->first, all.names[k]->length) &&
                all.types[k] == xla_ffi::scalar_attribute) {
                const auto& found = *static_cast<const xla_ffi::scalar*>(all.at[k]);
                if (found.dtype == xla_ffi::data_type::boolean)
                    return *static_cast<const bool*>(found.value);
            }
        refuse_call("the attribute " + std::string(name) + " is missing", "pass True or False");
    }

    void check(upsweep_status status) const { check_call(at_.library, status); }

private:
    static const xla_ffi::buffer& buffer(const xla_ffi::buffers& all, int k)
    {
        if (k >= all.count)
            refuse_call("there are fewer arrays than the function has", "pass all of them");
        return *static_cast<const xla_ffi::buffer*>(all.at[k]);
    }

    const xla_ffi::call_frame& frame_;
    const place& at_;
};

// --- folds ------------------------------------------------------------------------------------------------------------------

using fold = void(const call&);

constexpr int axis = 1;

bool is_one_line(const layout& lines) { return lines.shape[0] == 1 && lines.shape[2] == 1; }

// Writes the sum of each line, of the type that upsweep_reduce_dtype tells. JAX has no numbers of 64 bits unless it is told to have them:
// the result may be declared as an array of whatever type that has as many bytes.
void sum(const call& given)
{
    const place& at = given.at();
    layout x;
    layout totals;
    given.describe(given.argument(0), 3, x);
    upsweep_dtype folded{};
    given.check(at.library.reduce_dtype(UPSWEEP_PLUS, x.array.dtype, &folded));
    const xla_ffi::buffer& result = given.result();
    given.describe(result.data, folded, std::array{x.shape[0], x.shape[2]}, totals);
    std::uint64_t bytes = at.library.dtype_size(dtype_of(result.dtype));
    for (std::int64_t k = 0; k < result.rank; ++k)
        bytes *= static_cast<std::uint64_t>(result.shape[k]);
    if (bytes != static_cast<std::uint64_t>(totals.count()) * at.library.dtype_size(folded))
        refuse_call("the result has " + std::to_string(bytes) + " bytes",
                    "declare one sum a line, as upsweep/jax.py does");
    if (is_one_line(x))
        given.check(at.library.reduce(at.context, UPSWEEP_PLUS, &x.array, &totals.array));
    else
        given.check(at.library.reduce_axis(at.context, UPSWEEP_PLUS, &x.array, axis, &totals.array));
}

void cumulative_sum(const call& given)
{
    const place& at = given.at();
    layout x;
    layout sums;
    given.describe(given.argument(0), 3, x);
    given.describe(given.result(), 3, sums);
    if (given.flag("reverse")) {
        turn(x, axis);
        turn(sums, axis);
    }
    if (is_one_line(x))
        given.check(at.library.scan(at.context, UPSWEEP_PLUS, false, &x.array, &sums.array, nullptr));
    else
        given.check(at.library.scan_axis(at.context, UPSWEEP_PLUS, false, &x.array, axis, &sums.array, nullptr));
}

// Of coefficients a and b, and of states before the first elements, h0[outer, inner].
void linear_recurrence(const call& given)
{
    const place& at = given.at();
    layout a;
    layout b;
    layout h0;
    layout states;
    given.describe(given.argument(0), 3, a);
    given.describe(given.argument(1), 3, b);
    given.describe(given.argument(2), 2, h0);
    given.describe(given.result(), 3, states);
    given.check(at.library.linear_recurrence(at.context, &a.array, &b.array, &h0.array, axis, given.flag("reverse"),
                                             &states.array));
}

// --- handlers ---------------------------------------------------------------------------------------------------------------

xla_ffi::error* error_of(const xla_ffi::api& api, xla_ffi::error_code code, const char* message)
{
    xla_ffi::error_request request{sizeof request, nullptr, message, code};
    return api.create_error(&request);
}

// Version 0.1 is what jaxlib 0.5 takes alone, and later ones as well: structures that they have changed are not used here.
void tell(const xla_ffi::api* api, xla_ffi::metadata& of_handler)
{
    int minor = xla_ffi::least_minor_version;
    if (api != nullptr && api->version.major == xla_ffi::major_version)
        minor = std::clamp(api->version.minor, minor, xla_ffi::last_minor_version);
    of_handler.version = {sizeof(xla_ffi::version), nullptr, xla_ffi::major_version, minor};
    of_handler.traits = 0; // A workspace may grow, so that calls are not captured in graphs.
}

// Tells of the handler, or calls f, which gives an error of XLA or null. No exception leaves it.
template <class F>
xla_ffi::error* handle(const xla_ffi::call_frame& frame, F f) noexcept
{
    if (frame.extensions != nullptr && frame.extensions->type == xla_ffi::metadata_extension) {
        tell(frame.api, *reinterpret_cast<xla_ffi::metadata_request*>(frame.extensions)->metadata);
        return nullptr;
    }
    try {
        return f();
    } catch (const failure& failed) {
        return error_of(*frame.api, failed.code(), failed.what());
    } catch (const std::bad_alloc&) {
        return error_of(*frame.api, xla_ffi::error_code::resource_exhausted,
                        "upsweep: there is no memory left; free some of it");
    } catch (const std::exception& failed) {
        return error_of(*frame.api, xla_ffi::error_code::internal, failed.what());
    }
}

template <fold Fold>
xla_ffi::error* on_cpu(xla_ffi::call_frame* frame)
{
    return handle(*frame, [&]() -> xla_ffi::error* {
        const default_floating_point as_everywhere;
        const place at{lib(), nullptr, UPSWEEP_HOST, 0};
        Fold({*frame, at});
        return nullptr;
    });
}

// The number of the GPU, or -1, which stands for the current one, where XLA does not tell it.
xla_ffi::error* find_device(const xla_ffi::call_frame& frame, int& device)
{
    device = -1;
    if (frame.api->size < offsetof(xla_ffi::api, get_device) + sizeof(frame.api->get_device))
        return nullptr;
    xla_ffi::device_request request{sizeof request, nullptr, frame.context, -1};
    xla_ffi::error* failed = frame.api->get_device(&request);
    device = request.device;
    return failed;
}

// In order of XLA's stream, which is not waited for.
template <fold Fold>
xla_ffi::error* on_gpu(xla_ffi::call_frame* frame)
{
    return handle(*frame, [&]() -> xla_ffi::error* {
        int device = -1;
        if (xla_ffi::error* failed = find_device(*frame, device))
            return failed;
        xla_ffi::stream_request request{sizeof request, nullptr, frame->context, nullptr};
        if (xla_ffi::error* failed = frame->api->get_stream(&request))
            return failed;
        const gpu_library& gpu = *gpu_lib(); // There is one where these handlers are registered.
        stream_contexts::shared_context& shared = contexts().of(gpu, device, request.stream);
        const std::scoped_lock lock(shared.in_use);
        const place at{gpu, shared.context, device >= 0 ? UPSWEEP_DEVICE : UPSWEEP_MANAGED, device};
        Fold({*frame, at});
        return nullptr;
    });
}

// --- what Python sees -----------------------------------------------------------------------------------------------------------

nb::capsule capsule_of(xla_ffi::handler* handler) { return nb::capsule(reinterpret_cast<const void*>(handler)); }

nb::dict handlers_on_cpu()
{
    nb::dict all;
    all["sum"] = capsule_of(&on_cpu<sum>);
    all["cumulative_sum"] = capsule_of(&on_cpu<cumulative_sum>);
    all["linear_recurrence"] = capsule_of(&on_cpu<linear_recurrence>);
    return all;
}

nb::dict handlers_on_gpu()
{
    nb::dict all;
    if (!has_gpu_lib())
        return all;
    all["sum"] = capsule_of(&on_gpu<sum>);
    all["cumulative_sum"] = capsule_of(&on_gpu<cumulative_sum>);
    all["linear_recurrence"] = capsule_of(&on_gpu<linear_recurrence>);
    return all;
}

} // namespace

void bind_xla_handlers(nb::module_& m)
{
    m.def("xla_handlers_on_cpu", &handlers_on_cpu,
          "Foreign functions of XLA by their names, for jax.ffi.register_ffi_target.");
    m.def("xla_handlers_on_gpu", &handlers_on_gpu, "The same for CUDA; none where the package has no engine for GPUs.");
}

} // namespace upsweep::python
