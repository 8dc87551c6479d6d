// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <cuda_runtime.h>

#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/streaming/chunk.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>

#include "../any_order.hpp"
#include "../call.hpp"
#include "../variance.hpp"
#include "conversion.cuh"
#include "device.cuh"
#include "elementwise.cuh"
#include "fold.hpp"
#include "shape_fold.hpp"
#include "shapes.hpp"
#include "typed/kernels.hpp"
#include "typed/view.hpp"

namespace upsweep::runtime::gpu {

namespace {

// How the GPU folds: the type in which it does so, and the operator, which may be another one than the caller's.
enum class folded_in { truth, u64, i64, f32, f64 };
struct fold {
    folded_in type;
    upsweep_op op;
};

// Returns how elements are folded that have been converted to `dtype`. Integers are folded in 64 bits whatever their width,
// since all operators but minimum and maximum are the same modulo 2^k, and these are exact.
fold fold_of(upsweep_op op, upsweep_dtype dtype)
{
    if (is_of_truths(op, dtype))
        return {folded_in::truth, op_of_truths(op)};
    if (dtype == UPSWEEP_F64)
        return {folded_in::f64, op};
    if (dtype >= UPSWEEP_F16)
        return {folded_in::f32, op};
    return {is_signed(dtype) && (op == UPSWEEP_MINIMUM || op == UPSWEEP_MAXIMUM) ? folded_in::i64 : folded_in::u64, op};
}

void check_device()
{
    int device = 0;
    int major = 0;
    int minor = 0;
    upsweep::gpu::check("upsweep", cudaGetDevice(&device));
    upsweep::gpu::check("upsweep", cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    upsweep::gpu::check("upsweep", cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    if (10 * major + minor < 75)
        throw error(error_kind::no_device, "upsweep",
                    "the GPU has the compute capability " + std::to_string(major) + '.' + std::to_string(minor) +
                        ", less than 7.5",
                    "use the target cpu");
}

// Makes a counter. f16, bf16 and f32 are compared with edges in float, all other types in double.
template <class Bins>
std::unique_ptr<any_counter> make_counter_by(const counter_request& request, const Bins& bins)
{
    if (request.dtype == UPSWEEP_F16 || request.dtype == UPSWEEP_BF16 || request.dtype == UPSWEEP_F32)
        return make_counter_of<float>(request, bins);
    return make_counter_of<double>(request, bins);
}

// Calls count(counts, out_of_range) with counters in memory of the GPU, and adds what it counts to those of the host.
template <class Count>
void count_for_host(const device& gpu, std::span<std::uint64_t> counts, outside& out_of_range, Count count)
{
    const upsweep::gpu::current_device current(gpu.target.device());
    std::vector<std::uint64_t> counted(counts.size() + 3);
    const std::size_t bytes = counted.size() * sizeof(std::uint64_t);
    const upsweep::gpu::streaming::device_memory table(bytes, "free some, or ask for fewer bins");
    auto* const on_gpu = reinterpret_cast<std::uint64_t*>(table.data());
    upsweep::gpu::check("cudaMemsetAsync", cudaMemsetAsync(on_gpu, 0, bytes, gpu.target.stream()));
    count(std::span(on_gpu, counts.size()), reinterpret_cast<outside*>(on_gpu + counts.size()));
    copy_and_wait(gpu, counted.data(), on_gpu, bytes);
    std::ranges::transform(counts, std::span(counted).first(counts.size()), counts.begin(), std::plus{});
    const auto beside = std::span(counted).subspan(counts.size());
    out_of_range += {beside[0], beside[1], beside[2]};
}

template <class Bins, class Count>
bool count_by(Count typed_kernels::*kernel, const counter_request& request, const Bins& bins, const elements& in,
              std::span<std::uint64_t> counts, outside* out_of_range, bool are_on_gpu)
{
    const typed_kernels* const kernels = typed_kernels_of(request.dtype);
    if (kernels == nullptr || kernels->*kernel == nullptr)
        return false;
    const device& gpu = *request.gpu;
    const auto count = [&](std::span<std::uint64_t> to, outside* beside) {
        (kernels->*kernel)(gpu.target, bins, in.data, in.count, to, beside);
    };
    if (are_on_gpu)
        count(counts, out_of_range);
    else
        count_for_host(gpu, counts, *out_of_range, count);
    return true;
}

// Calls fold(to), which writes one value to memory that the GPU reaches: to where the result belongs, if it does, or else the value is copied
// there.
template <class Fold>
void write_value(const cuda& target, const char* call, void* result, std::size_t bytes, bool is_on_gpu, Fold fold)
{
    if (is_on_gpu)
        return fold(result);
    using any_value = std::uint64_t;
    const auto value = detail::returned<cuda>::value<any_value>(target, call, [&](any_value* to) { fold(to); });
    std::memcpy(result, &value, bytes);
}

// Where elements lie that have gaps, by their position.
struct places {
    explicit places(const elements& of) : data(of.data)
    {
        for (std::size_t k = 0; k < most_dimensions; ++k) {
            extents[k] = of.extents[k];
            strides[k] = of.strides[k] * static_cast<std::int64_t>(of.bytes());
        }
    }

    __device__ std::byte* of(std::uint64_t position) const
    {
        std::byte* place = data;
        for (std::size_t k = most_dimensions - 1; k > 0 && position != 0; --k) {
            if (extents[k] == 1)
                continue;
            place += static_cast<std::int64_t>(position % extents[k]) * strides[k];
            position /= extents[k];
        }
        return place + static_cast<std::int64_t>(position) * strides[0];
    }

    std::byte* data;
    std::uint64_t extents[most_dimensions];
    std::int64_t strides[most_dimensions]; // in bytes
};

// Copies elements of the size of a word from where they lie to an array without gaps, or from there.
template <class Word, bool Back>
__global__ void gather_kernel(places elements, std::uint64_t count, Word* dense)
{
    for_each_element(count, [&](std::uint64_t i) {
        auto* const place = reinterpret_cast<Word*>(elements.of(i));
        if constexpr (Back)
            *place = dense[i];
        else
            dense[i] = *place;
    });
}

template <class From, class To>
__global__ void copy_kernel(const __grid_constant__ From from, std::uint64_t count, const __grid_constant__ To to)
{
    convert_each(from, count, to, [](const auto& element) { return element; });
}

// Where an element lies, and how far from it the next one of the same row does.
template <class T>
struct place_in_row {
    T* place;
    std::int64_t step;
};
// Of element `first`, if `count` elements from there on are in one row; else there is no place.
template <class Word>
__device__ place_in_row<Word> find_row(Word* dense, std::uint64_t first, int)
{
    return {dense + first, 1};
}
template <class Word, std::size_t Rank>
__device__ place_in_row<Word> find_row(const upsweep::gpu::strided_source<Word, Rank>& apart, std::uint64_t first,
                                       int count)
{
    const upsweep::gpu::strided_cursor<Word, Rank> cursor(apart, first);
    return {cursor.are_in_row(count) ? &*cursor : nullptr, apart.strides[0]};
}

// Lanes side by side copy elements side by side, of rows that are longer than what a warp copies at once.
template <class Word>
inline constexpr int copied_by_lane = sizeof(Word) < 4 ? 16 : 8;
template <class Word, class From, class To>
__global__ void copy_rows_kernel(const __grid_constant__ From from, std::uint64_t count, const __grid_constant__ To to)
{
    using namespace upsweep::gpu;
    constexpr int each = copied_by_lane<Word>;
    constexpr unsigned piece = each * lanes;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / lanes);
    const std::uint64_t warp = std::uint64_t{blockIdx.x} * (blockDim.x / lanes) + threadIdx.x / lanes;
    for (std::uint64_t first = warp * piece; first < count; first += warps * piece) {
        const std::uint64_t of_lane = first + static_cast<unsigned>(lane_id());
        constexpr int reach = (each - 1) * lanes + 1; // from a lane's first element to behind its last
        const auto read = find_row(from, of_lane, reach);
        const auto written = find_row(to, of_lane, reach);
        if (first + piece <= count && read.place != nullptr && written.place != nullptr) {
            Word words[each];
#pragma unroll
            for (int k = 0; k < each; ++k)
                words[k] = read.place[k * lanes * read.step];
#pragma unroll
            for (int k = 0; k < each; ++k)
                written.place[k * lanes * written.step] = words[k];
        } else {
            const std::uint64_t end = first + piece < count ? first + piece : count;
            for (std::uint64_t i = of_lane; i < end; i += lanes)
                to[i] = from[i];
        }
    }
}

// Whether the elements lie at strides that kernels know, in few dimensions.
bool has_few_dimensions(const elements& of)
{
    return std::ranges::all_of(std::span(of.extents).first(most_dimensions - few_dimensions),
                               [](std::size_t extent) { return extent == 1; });
}

template <bool Back>
void gather(const device& gpu, const elements& elements, std::byte* dense)
{
    const upsweep::gpu::current_device current(gpu.target.device());
    const auto with = [&]<class Word>(Word) {
        auto* const words = reinterpret_cast<Word*>(dense);
        if (!has_few_dimensions(elements))
            return upsweep::gpu::launch(gpu.target, "upsweep", gather_kernel<Word, Back>,
                                        grid_of_elements(elements.count), places(elements), elements.count, words);
        const upsweep::gpu::strided_source apart(view<Word, few_dimensions>(
            reinterpret_cast<Word*>(elements.data), last_of(elements.extents), last_of(elements.strides)));
        // Neighbours in memory are copied by vectors, whether these are aligned or not.
        const bool are_rows_apart =
            elements.strides.back() != 1 && elements.extents.back() >= 2 * copied_by_lane<Word> * upsweep::gpu::lanes;
        const auto copy = [&]<class From, class To>(const From& from, const To& to) {
            constexpr auto by_vectors = copy_kernel<From, To>;
            constexpr auto by_rows = copy_rows_kernel<Word, From, To>;
            upsweep::gpu::launch(gpu.target, "upsweep", are_rows_apart ? by_rows : by_vectors,
                                 grid_of_conversion(elements.count), from, elements.count, to);
        };
        if constexpr (Back)
            copy(static_cast<const Word*>(words), apart);
        else
            copy(apart, words);
    };
    switch (elements.bytes()) {
    case 1: return with(std::uint8_t{});
    case 2: return with(std::uint16_t{});
    case 4: return with(std::uint32_t{});
    default: return with(std::uint64_t{});
    }
}

// One for each GPU, which lives as long as the process.
cudaMemPool_t pool_of_copies(int number)
{
    static std::mutex mutex;
    static std::map<int, cudaMemPool_t> pools;
    const std::lock_guard lock(mutex);
    if (const auto found = pools.find(number); found != pools.end())
        return found->second;
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = number;
    cudaMemPool_t pool = nullptr;
    upsweep::gpu::check("cudaMemPoolCreate", cudaMemPoolCreate(&pool, &properties));
    std::size_t free = 0;
    std::size_t total = 0;
    upsweep::gpu::check("cudaMemGetInfo", cudaMemGetInfo(&free, &total));
    std::uint64_t kept = total / 16;
    upsweep::gpu::check("cudaMemPoolSetAttribute",
                        cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
    return pools[number] = pool;
}

} // namespace

std::string device_name()
{
    check_device();
    int device = 0;
    cudaDeviceProp properties{};
    upsweep::gpu::check("upsweep", cudaGetDevice(&device));
    upsweep::gpu::check("upsweep", cudaGetDeviceProperties(&properties, device));
    return properties.name;
}

std::shared_ptr<device> open(int number, void* stream)
{
    if (number < 0)
        upsweep::gpu::check("upsweep", cudaGetDevice(&number));
    int devices = 0;
    upsweep::gpu::check("upsweep", cudaGetDeviceCount(&devices));
    if (number >= devices)
        throw error(error_kind::no_device, "upsweep",
                    "there is no device " + std::to_string(number) + " of " + std::to_string(devices),
                    "pass a smaller number, or -1 for the current device");
    const upsweep::gpu::current_device current(number);
    check_device();
    return std::make_shared<device>(static_cast<cudaStream_t>(stream));
}

int number_of(const device& gpu) { return gpu.target.device(); }

void wait(const device& gpu)
{
    upsweep::gpu::check("cudaStreamSynchronize", cudaStreamSynchronize(gpu.target.stream()));
}

void check_memory(const device& gpu, const char* call, const elements& where)
{
    if (where.count == 0)
        return;
    cudaPointerAttributes place{};
    upsweep::gpu::check(call, cudaPointerGetAttributes(&place, where.data));
    const auto refuse = [&](const std::string& reason) {
        throw refusal(UPSWEEP_UNREACHABLE, call, reason, "say where the array lies, and use a context of that device");
    };
    const bool is_on_gpu = place.type == cudaMemoryTypeDevice || place.type == cudaMemoryTypeManaged;
    if (where.memory == UPSWEEP_HOST && place.type == cudaMemoryTypeDevice)
        refuse("an array that is said to lie in memory of the host lies in a GPU's");
    if (where.memory != UPSWEEP_HOST && !is_on_gpu)
        refuse("an array that is said to lie in memory of a GPU lies in the host's");
    if (where.memory == UPSWEEP_DEVICE && place.type == cudaMemoryTypeDevice && place.device != where.device)
        refuse("an array that is said to lie in memory of GPU " + std::to_string(where.device) +
               " lies in that of GPU " + std::to_string(place.device));
    if (place.type == cudaMemoryTypeDevice && place.device != gpu.target.device())
        refuse("an array lies in memory of GPU " + std::to_string(place.device) + ", the context is of GPU " +
               std::to_string(gpu.target.device()));
}

void write(const device& gpu, void* to, const void* from, std::size_t bytes)
{
    const upsweep::gpu::current_device current(gpu.target.device());
    upsweep::gpu::check("cudaMemcpyAsync",
                        cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, gpu.target.stream()));
}

void copy_and_wait(const device& gpu, void* to, const void* from, std::size_t bytes)
{
    const upsweep::gpu::current_device current(gpu.target.device());
    upsweep::gpu::check("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, gpu.target.stream()));
    wait(gpu);
}

std::byte* allocate_copy(const device& gpu, std::size_t bytes, const char* remedy)
{
    const upsweep::gpu::current_device current(gpu.target.device());
    void* copy = nullptr;
    upsweep::gpu::streaming::check_memory(
        cudaMallocFromPoolAsync(&copy, bytes, pool_of_copies(gpu.target.device()), gpu.target.stream()), "the GPU",
        bytes, remedy);
    return static_cast<std::byte*>(copy);
}

void free_copy(const device& gpu, std::byte* copy) { cudaFreeAsync(copy, gpu.target.stream()); }

without_gaps::without_gaps(const device& gpu, const elements& of, bool wants_copy)
    : without_gaps(gpu, of, wants_copy, true)
{
}

without_gaps::without_gaps(const device& gpu, const elements& of, bool wants_copy, bool is_read)
    : gpu_(gpu), of_(of), elements_(of)
{
    if (of.count == 0 || (of.is_contiguous() && !wants_copy))
        return;
    const upsweep::gpu::current_device current(gpu.target.device());
    elements_.data = allocate_copy(gpu, of.count * of.bytes(), "pass an array without gaps, which is not copied");
    elements_.memory = UPSWEEP_DEVICE;
    elements_.extents.fill(1);
    elements_.extents.back() = of.count;
    elements_.strides.fill(1);
    if (is_read)
        gather<false>(gpu, of, elements_.data);
}

without_gaps::~without_gaps()
{
    if (elements_.data != of_.data)
        free_copy(gpu_, elements_.data);
}

void without_gaps::write_back() const
{
    if (elements_.data != of_.data)
        gather<true>(gpu_, of_, elements_.data);
}

bool reduce_by_type(const reduce_request& request, const elements& in, void* result, bool is_on_gpu)
{
    const typed_kernels* const kernels = typed_kernels_of(request.in);
    const reduce_kernel reduce = kernels != nullptr ? reduce_kernel_of(*kernels, request.op) : nullptr;
    if (reduce == nullptr)
        return false;
    const cuda& target = request.gpu->target;
    std::optional<without_gaps> copy;
    elements all = in;
    if (is_of_any_order(request.op, request.in))
        all = in_order_of_memory(in).value_or(in);
    // Products of arrays with gaps are too rare for kernels of their own.
    if (!all.is_contiguous() && (request.op == UPSWEEP_MULTIPLIES || !has_few_dimensions(all)))
        all = copy.emplace(*request.gpu, in).get();
    write_value(target, "reduce", result, upsweep_dtype_size(request.out), is_on_gpu,
                [&](void* to) { reduce(target, request.op, all, to); });
    return true;
}

void write_variance(const device& gpu, double correction, const elements& in, void* result, bool is_on_gpu)
{
    const variance_kernel kernel = typed_kernels_of(in.dtype)->variance;
    std::optional<without_gaps> copy;
    const elements all = has_few_dimensions(in) ? in : copy.emplace(gpu, in).get();
    write_value(gpu.target, "variance", result, upsweep_dtype_size(quotient_dtype_of(in.dtype)), is_on_gpu,
                [&](void* to) { kernel(gpu.target, correction, all, to); });
}

bool scan_by_type(const scan_request& request, const elements& in, const elements& out)
{
    if (request.kind == scan_kind::inclusive && request.init != nullptr)
        return false;
    const cuda& target = request.gpu->target;
    const typed_kernels* const kernels = typed_kernels_of(request.out);
    const scan_kernel scan = kernels != nullptr ? scan_kernel_of(*kernels, request.op) : nullptr;
    const bool are_reversed = !in.is_contiguous();
    if (are_reversed && request.op != UPSWEEP_PLUS)
        return false;
    const auto scan_by = [&](scan_kernel kernel, const std::byte* from) {
        kernel(target, request.op, {request.kind, from, out.data, in.count, request.init, are_reversed});
        return true;
    };
    // Sums and products of integers of as many bits have the same bits, with a sign or without.
    const bool is_any_sign = request.op == UPSWEEP_PLUS || request.op == UPSWEEP_MULTIPLIES;
    if (request.in == request.out || (is_any_sign && scan != nullptr && has_bits_of(request.in, request.out)))
        return scan != nullptr && scan_by(scan, in.data);
    if (request.op == UPSWEEP_PLUS)
        if (const scan_kernel widened = widened_sums_of(request.in, request.out); widened != nullptr)
            return scan_by(widened, in.data);
    // Many elements are converted to where the results belong, and scanned there, in less time than it takes to ask for the type of each.
    constexpr std::uint64_t many = std::uint64_t{1} << 16;
    if (scan == nullptr || are_reversed || in.count < many ||
        scan_accumulator_dtype(request.op, request.out) != request.out ||
        !convert_to(*request.gpu, in, request.out, out.data))
        return false;
    return scan_by(scan, out.data);
}

bool count_by_type(const counter_request& request, const even_bins& bins, const elements& in,
                   std::span<std::uint64_t> counts, outside* out_of_range, bool are_on_gpu)
{
    return count_by(&typed_kernels::count_even, request, bins, in, counts, out_of_range, are_on_gpu);
}
bool count_by_type(const counter_request& request, const edges& bins, const elements& in,
                   std::span<std::uint64_t> counts, outside* out_of_range, bool are_on_gpu)
{
    return count_by(&typed_kernels::count_edges, request, bins, in, counts, out_of_range, are_on_gpu);
}

std::unique_ptr<any_reducer> make_reducer(const reduce_request& request)
{
    // Sums and products of bool are those of the integers 0 and 1.
    const bool counts = request.op == UPSWEEP_PLUS || request.op == UPSWEEP_MULTIPLIES;
    const fold how = fold_of(request.op, counts ? request.out : request.in);
    switch (how.type) {
    case folded_in::truth: return make_reducer_in<bool>(how.op, request);
    case folded_in::u64: return make_reducer_in<std::uint64_t>(how.op, request);
    case folded_in::i64: return make_reducer_in<std::int64_t>(how.op, request);
    case folded_in::f32: return make_reducer_in<float>(how.op, request);
    case folded_in::f64: break;
    }
    return make_reducer_in<double>(how.op, request);
}

std::unique_ptr<any_scanner> make_scanner(const scan_request& request)
{
    const fold how = fold_of(request.op, request.out);
    switch (how.type) {
    case folded_in::truth: return make_scanner_in<bool>(how.op, request);
    case folded_in::u64: return make_scanner_in<std::uint64_t>(how.op, request);
    case folded_in::i64: return make_scanner_in<std::int64_t>(how.op, request);
    case folded_in::f32: return make_scanner_in<float>(how.op, request);
    case folded_in::f64: break;
    }
    return make_scanner_in<double>(how.op, request);
}

std::unique_ptr<any_counter> make_counter(const counter_request& request, const even_bins& bins)
{
    return make_counter_by(request, bins);
}

std::unique_ptr<any_counter> make_counter(const counter_request& request, const edges& bins)
{
    return make_counter_by(request, bins);
}

std::unique_ptr<any_counter> make_byte_counter(const counter_request& request)
{
    return make_counter_of<std::uint8_t>(request, integer_bins{0, 256});
}

} // namespace upsweep::runtime::gpu
