// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "context.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "call.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace upsweep::runtime {

bool execution::lies_on_gpu(const char* call, const elements& where) const
{
    if (gpu == nullptr) {
        if (where.memory == UPSWEEP_DEVICE)
            throw refusal(UPSWEEP_UNREACHABLE, call,
                          "an array lies in memory of GPU " + std::to_string(where.device) +
                              ", the context is of the CPU",
                          "create a context of that GPU");
        return false;
    }
    gpu::check_memory(*gpu, call, where);
    return where.memory != UPSWEEP_HOST;
}

execution execution_of(const upsweep_context* context) { return context != nullptr ? context->where : execution{}; }

in_use::in_use(const execution& where) : taken_(where.in_use.get())
{
    if (taken_ != nullptr && taken_->exchange(true, std::memory_order_acquire))
        throw refusal(UPSWEEP_BUSY, "upsweep", "another thread is in a call with this context",
                      "create a context for each thread");
}

in_use::~in_use()
{
    if (taken_ != nullptr)
        taken_->store(false, std::memory_order_release);
}

} // namespace upsweep::runtime

namespace {

constexpr std::size_t most_streams = 16;

upsweep_context& checked(upsweep_context* context)
{
    require(context != nullptr, "context", "the context is a null pointer", "create it first");
    return *context;
}

} // namespace

extern "C" {

upsweep_status upsweep_context_create(upsweep_place place, int32_t device, upsweep_context** context)
{
    return guarded([&] {
        require(context != nullptr, "context", "the context is a null pointer", "pass a pointer to a pointer");
        require(place == UPSWEEP_AUTO || place == UPSWEEP_CPU || place == UPSWEEP_CUDA, "context",
                "there is no such place", "pass one of enum upsweep_place");
        require(device >= -1, "context", "the number of the device is negative", "pass -1 for the current device");
        auto created = std::make_unique<upsweep_context>();
        created->where.in_use = std::make_shared<std::atomic<bool>>(false);
        if (place == UPSWEEP_CUDA) {
            created->where.gpu = gpu::open(device, nullptr);
            created->device = gpu::number_of(*created->where.gpu);
            created->streams.emplace_back(nullptr, created->where.gpu);
        }
        *context = created.release();
    });
}

upsweep_status upsweep_context_set_threads(upsweep_context* context, int32_t threads)
{
    return guarded([&] {
        const in_use taken(checked(context).where);
        require(threads >= 0, "context", "the number of threads is negative", "pass 0 for all cores");
        context->where.host = cpu{threads};
    });
}

upsweep_status upsweep_context_set_stream(upsweep_context* context, void* stream)
{
    return guarded([&] {
        const in_use taken(checked(context).where);
        require(context->where.gpu != nullptr, "context", "the context is of the CPU, which has no streams",
                "create a context of a GPU");
        auto& streams = context->streams;
        auto known = std::ranges::find(streams, stream, &std::pair<void*, std::shared_ptr<gpu::device>>::first);
        if (known == streams.end()) {
            if (streams.size() == most_streams)
                streams.erase(streams.begin());
            known = streams.emplace(streams.end(), stream, gpu::open(context->device, stream));
        }
        context->where.gpu = known->second;
    });
}

upsweep_status upsweep_context_limit_gpu_memory(upsweep_context* context, uint64_t bytes)
{
    return guarded([&] {
        const in_use taken(checked(context).where);
        constexpr std::uint64_t least = 3072; // three chunks of the smallest size, of bytes
        if (bytes < least)
            throw error(error_kind::invalid_argument, "context",
                        std::to_string(bytes) + " bytes of the GPU's memory are too few",
                        "allow at least " + std::to_string(least));
        context->where.gpu_memory = bytes;
    });
}

upsweep_status upsweep_context_wait(upsweep_context* context)
{
    return guarded([&] {
        const execution where = execution_of(context);
        const in_use taken(where);
        if (where.gpu != nullptr)
            gpu::wait(*where.gpu);
    });
}

void upsweep_context_destroy(upsweep_context* context) { delete context; }

} // extern "C"
