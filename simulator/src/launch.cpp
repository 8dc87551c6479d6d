// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Turns a launch into a grid that runs: refuses what the machine cannot run, keeps the attributes of kernels, and passes the
// report on.
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "engine.h"
#include "host.h"
#include "host_access.h"
#include "runtime_state.h"
#include "upsweep/simulator/cuda/launch.h"

namespace upsweep::simulator {

namespace {

struct host_thread_state {
    cudaError_t last = cudaSuccess;
    std::optional<finding> unchecked;
};
thread_local host_thread_state state;

// The launch that `configure` has announced, until the kernel's stub takes it.
struct announced_launch {
    bool is_there = false;
    cuda::launch_shape shape;
    void** addresses = nullptr; // of the values of the parameters, where the stub does not have them
    cudaError_t result = cudaSuccess;
};
thread_local announced_launch announced;

// "void space::kernel(T*) [with T = float; int N = 4]" becomes "space::kernel<float, 4>". An argument that would fill a line
// is cut.
std::string short_name(std::string_view signature)
{
    constexpr std::size_t longest_argument = 40;
    std::string arguments;
    int depth = 0;
    if (const auto open = signature.rfind(" ["); open != signature.npos && signature.back() == ']') {
        std::string_view list = signature.substr(open + 2, signature.size() - open - 3);
        if (list.starts_with("with "))
            list.remove_prefix(5);
        std::string value;
        bool in_value = false;
        const auto finish = [&] {
            if (in_value)
                arguments += (arguments.empty() ? "" : ", ") +
                             (value.size() > longest_argument ? value.substr(0, longest_argument) + "..." : value);
            value.clear();
            in_value = false;
        };
        for (std::size_t i = 0; i < list.size(); ++i) {
            const char c = list[i];
            depth += c == '<' || c == '(' || c == '{' || c == '['   ? 1
                     : c == '>' || c == ')' || c == '}' || c == ']' ? -1
                                                                    : 0;
            if (depth == 0 && (c == ';' || c == ','))
                finish();
            else if (depth == 0 && !in_value && list.substr(i, 3) == " = ")
                in_value = true, i += 2;
            else if (in_value)
                value += c;
        }
        finish();
        signature = signature.substr(0, open);
    }
    // The name ends at the parenthesis that opens the parameters, and begins after the type before it.
    std::size_t end = signature.rfind(')');
    depth = 0;
    for (std::size_t i = end == signature.npos ? 0 : end + 1; i-- > 0;) {
        depth += signature[i] == ')' ? 1 : signature[i] == '(' ? -1 : 0;
        if (depth == 0) {
            end = i;
            break;
        }
    }
    std::string_view name = signature.substr(0, end);
    depth = 0;
    for (std::size_t i = name.size(); i-- > 0;) {
        depth += name[i] == '>' ? 1 : name[i] == '<' ? -1 : 0;
        if (name[i] == ' ' && depth == 0) {
            name.remove_prefix(i + 1);
            break;
        }
    }
    constexpr std::string_view unnamed = "{anonymous}::";
    std::string out(name);
    if (const auto at = out.find(unnamed); at != out.npos)
        out.erase(at, unnamed.size());
    return arguments.empty() ? out : out + "<" + arguments + ">";
}

void (*after_launch)() = nullptr; // see after_launches

std::mutex attributes_guard;
std::map<const void*, int> dynamic_limits; // cudaFuncAttributeMaxDynamicSharedMemorySize
std::set<const void*> large_clusters;      // cudaFuncAttributeNonPortableClusterSizeAllowed

// The reason why the machine cannot run this launch, or success and no reason.
std::pair<cudaError_t, std::string> refusal(const void* kernel, const cuda::launch_shape& shape, const options& opts)
{
    const auto& m = opts.machine;
    const std::uint64_t threads = std::uint64_t{shape.block.x} * shape.block.y * shape.block.z;
    const std::uint64_t blocks = std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
    if (threads == 0 || blocks == 0)
        return {cudaErrorInvalidConfiguration, "the grid or the block is empty"};
    if (threads > m.threads_per_block)
        return {cudaErrorInvalidConfiguration, std::to_string(threads) +
                                                   " threads in a block; this machine has at most " +
                                                   std::to_string(m.threads_per_block)};
    if (shape.block.z > 64 || shape.grid.y > 65535 || shape.grid.z > 65535)
        return {cudaErrorInvalidConfiguration, "a dimension of the grid or the block is too large"};
    if (blocks * threads > 0xffffffffu)
        return {cudaErrorInvalidConfiguration, "the simulator runs at most 2^32 threads a launch"};
    std::size_t limit = m.shared_per_block;
    {
        std::lock_guard lock(attributes_guard);
        const auto raised = dynamic_limits.find(kernel);
        if (raised != dynamic_limits.end())
            limit = std::max<std::size_t>(limit, static_cast<std::size_t>(raised->second));
    }
    if (shape.dynamic_shared > std::min(limit, std::max(m.shared_opt_in, m.shared_per_block)))
        return {cudaErrorInvalidValue, std::to_string(shape.dynamic_shared) +
                                           " bytes of dynamic shared memory; the kernel may have " +
                                           std::to_string(limit) + " (cudaFuncSetAttribute raises it)"};
    const std::uint64_t cluster = std::uint64_t{shape.cluster.x} * shape.cluster.y * shape.cluster.z;
    if (cluster == 0 || shape.grid.x % shape.cluster.x != 0 || shape.grid.y % shape.cluster.y != 0 ||
        shape.grid.z % shape.cluster.z != 0)
        return {cudaErrorInvalidClusterSize, "the grid is not a whole number of clusters"};
    if (cluster > 1 && m.major < 9)
        return {cudaErrorInvalidClusterSize, "this machine has no clusters; sm_90 is the first that has"};
    if (cluster > 8) {
        std::lock_guard lock(attributes_guard);
        if (cluster > 16 || !large_clusters.contains(kernel))
            return {cudaErrorInvalidClusterSize,
                    "a cluster has at most 8 blocks, or 16 after cudaFuncAttributeNonPortableClusterSizeAllowed"};
    }
    int per_sm = 0;
    cuda::occupancy(&per_sm, static_cast<int>(threads), shape.dynamic_shared);
    if (shape.cooperative && blocks > static_cast<std::uint64_t>(per_sm) * m.sms)
        return {cudaErrorCooperativeLaunchTooLarge, std::to_string(blocks) + " blocks cannot be resident at once"};
    return {cudaSuccess, {}};
}

cudaError_t error_of(const launch_report& report)
{
    if (report.completed)
        return cudaSuccess;
    for (const auto& f : report.findings) {
        if (f.kind == finding_kind::out_of_bounds)
            return cudaErrorIllegalAddress;
        if (f.kind == finding_kind::deadlock || f.kind == finding_kind::livelock)
            return cudaErrorLaunchTimeout;
        if (f.kind == finding_kind::assertion)
            return cudaErrorAssert;
        if (f.kind == finding_kind::misaligned)
            return cudaErrorMisalignedAddress;
    }
    return cudaErrorLaunchFailure;
}

extent as_extent(dim3 d) { return {d.x, d.y, d.z}; }

} // namespace

cudaError_t failed(cudaError_t error)
{
    state.last = error;
    return error;
}

void add_host_finding(finding found)
{
    if (recording* here = current_recording())
        here->add(std::move(found));
    else
        std::fprintf(stderr, "%s\n", found.text().c_str());
}

void entered_runtime()
{
    if (!state.unchecked)
        return;
    add_host_finding(std::move(*state.unchecked));
    state.unchecked.reset();
}

std::optional<finding> unchecked_launch() { return state.unchecked; }
void forget_unchecked_launch() { state.unchecked.reset(); }

cudaError_t cuda::run_grid(const void* kernel, const launch_shape& shape, void (*run)(void*), void* arguments,
                           std::size_t bytes, bool returns_error)
{
    entered_runtime();
    const options opts = current_options();
    if (auto [error, why] = refusal(kernel, shape, opts); error != cudaSuccess) {
        if (!returns_error) {
            finding f;
            f.kind = finding_kind::unchecked_launch;
            f.kernel = shape.name != nullptr ? shape.name : function_name(kernel);
            f.message = "the launch failed and nobody asked for its error: " + why;
            if (shape.launched_at != 0)
                f.launch = locate(shape.launched_at);
            state.unchecked = std::move(f);
        }
        return failed(error);
    }
    launch_request request{kernel,
                           as_extent(shape.grid),
                           as_extent(shape.block),
                           as_extent(shape.cluster),
                           shape.dynamic_shared,
                           shape.cooperative,
                           run,
                           arguments,
                           bytes,
                           shape.name,
                           shape.launched_at};
    launch_report report = engine(request, opts).run();
    launched(report.kernel, engine::last_launch());
    const cudaError_t error = error_of(report);
    if (error != cudaSuccess)
        failed(error);
    if (recording* here = current_recording())
        here->add(std::move(report));
    else
        for (const auto& f : report.findings)
            std::fprintf(stderr, "%s\n", f.text().c_str());
    if (after_launch != nullptr)
        after_launch();
    return error;
}

bool cuda::launch_is_running() noexcept { return running_engine != nullptr; }
void cuda::after_launches(void (*action)()) { after_launch = action; }

void cuda::announce(const launch_shape& shape)
{
    announced = {true, shape, nullptr, cudaSuccess};
    announced.shape.launched_at = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
}

cuda::kernel_stub::kernel_stub(const char* signature) : signature_(signature), in_thread_(device::inside_kernel())
{
    if (in_thread_)
        return;
    // The stub is the function that called this constructor.
    kernel_ = _Unwind_FindEnclosingFunction(__builtin_return_address(0));
    addresses_ = announced.is_there ? announced.addresses : nullptr;
}

void cuda::kernel_stub::launch(void (*run)(void*), void* body, std::size_t bytes)
{
    const std::string name = short_name(signature_);
    if (!announced.is_there) {
        finding f;
        f.kind = finding_kind::failed_launch;
        f.kernel = name;
        f.message = "the host calls the kernel as a function, without <<<grid, block>>>";
        add_host_finding(std::move(f));
        return;
    }
    const announced_launch now = std::exchange(announced, {});
    cuda::launch_shape shape = now.shape;
    shape.name = name.c_str();
    announced.result = run_grid(kernel_, shape, run, body, bytes, now.addresses != nullptr);
}

cudaError_t cuda::launch_by_address(const void* kernel, const launch_shape& shape, void** arguments)
{
    // The stub is called without arguments. It finds those that it expects in memory in this parameter, and takes the values
    // of all of them from their addresses before it uses any.
    struct room {
        std::array<std::byte, 33 << 10> bytes; // parameters have at most 32,764 bytes
    };
    if (kernel == nullptr || arguments == nullptr)
        return failed(cudaErrorInvalidValue);
    announced = {true, shape, arguments, cudaSuccess};
    announced.shape.launched_at = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    reinterpret_cast<void (*)(room)>(const_cast<void*>(kernel))(room{});
    return announced.result;
}

unsigned cuda::warp_of_block()
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / device::warp_width();
}
unsigned cuda::warps_of_block()
{
    return (blockDim.x * blockDim.y * blockDim.z + device::warp_width() - 1) / device::warp_width();
}
unsigned cuda::multiprocessor()
{
    return (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) % multiprocessors();
}
unsigned cuda::multiprocessors() { return current_options().machine.sms; }

cudaError_t cuda::set_attribute(const void* kernel, cudaFuncAttribute attribute, int value)
{
    if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
        std::lock_guard lock(attributes_guard);
        if (value != 0)
            large_clusters.insert(kernel);
        else
            large_clusters.erase(kernel);
    }
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return cudaSuccess;
    if (value < 0 || static_cast<std::size_t>(value) > current_options().machine.shared_opt_in)
        return failed(cudaErrorInvalidValue);
    std::lock_guard lock(attributes_guard);
    dynamic_limits[kernel] = value;
    return cudaSuccess;
}

cudaError_t cuda::get_attributes(cudaFuncAttributes* attributes, const void*)
{
    *attributes = {};
    attributes->maxThreadsPerBlock = static_cast<int>(current_options().machine.threads_per_block);
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(current_options().machine.shared_per_block);
    attributes->numRegs = 32;
    // The kernel counts as compiled for exactly this machine.
    attributes->ptxVersion = attributes->binaryVersion =
        static_cast<int>(10 * current_options().machine.major + current_options().machine.minor);
    return cudaSuccess;
}

// The occupancy is bounded by threads, blocks and dynamic shared memory. Registers are not simulated.
cudaError_t cuda::occupancy(int* blocks, int threads, std::size_t dynamic_shared)
{
    const auto& m = current_options().machine;
    unsigned fit = std::min(m.blocks_per_sm, m.threads_per_sm / std::max(1u, static_cast<unsigned>(threads)));
    if (dynamic_shared != 0)
        fit = std::min(fit, static_cast<unsigned>(m.shared_per_sm / (dynamic_shared + 1024)));
    *blocks = static_cast<int>(fit);
    return cudaSuccess;
}

} // namespace upsweep::simulator

using namespace upsweep::simulator;

cudaError_t cudaPeekAtLastError()
{
    forget_unchecked_launch();
    return state.last;
}
cudaError_t cudaGetLastError()
{
    const auto last = cudaPeekAtLastError();
    state.last = cudaSuccess;
    return last;
}
cudaError_t cudaDeviceSynchronize()
{
    entered_runtime();
    synchronised();
    const auto last = state.last;
    const bool of_execution = last == cudaErrorIllegalAddress || last == cudaErrorLaunchFailure ||
                              last == cudaErrorLaunchTimeout || last == cudaErrorAssert ||
                              last == cudaErrorMisalignedAddress;
    return of_execution ? last : cudaSuccess;
}
