// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>
#include <vector>

#include "upsweep/simulator/simulator.h"

namespace sim = upsweep::simulator;

// Device memory that a test fills, passes to kernels and reads back.
template <class T>
class device_array {
public:
    explicit device_array(std::vector<T> values) : device_array(values.size())
    {
        EXPECT_EQ(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
    }
    explicit device_array(std::size_t size) : size_(size)
    {
        EXPECT_EQ(cudaMalloc(&data_, size * sizeof(T)), cudaSuccess);
    }
    ~device_array() { cudaFree(data_); }
    device_array(const device_array&) = delete;
    device_array& operator=(const device_array&) = delete;

    operator T*() const { return data_; }
    std::vector<T> read() const
    {
        std::vector<T> values(size_);
        EXPECT_EQ(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
        return values;
    }

private:
    T* data_ = nullptr;
    std::size_t size_;
};

template <class T>
device_array<T> zeros(std::size_t size)
{
    return device_array<T>(std::vector<T>(size));
}

// Runs one launch and returns its report.
template <class... P, class... A>
sim::launch_report run(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared, A&&... arguments)
{
    sim::recording here;
    sim::cuda::configured(kernel, grid, block, shared)(std::forward<A>(arguments)...);
    EXPECT_EQ(here.launches().size(), 1u);
    return here.launches().empty() ? sim::launch_report{} : here.launches().front();
}

// The same for a grid of clusters of blocks.
template <class... P, class... A>
cudaError_t launch_cluster(dim3 grid, dim3 cluster, unsigned threads, void (*kernel)(P...), A&&... arguments)
{
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
    cudaLaunchConfig_t config{grid, threads, 0, nullptr, &attribute, 1};
    return cudaLaunchKernelEx(&config, kernel, std::forward<A>(arguments)...);
}

template <class... P, class... A>
sim::launch_report run_cluster(dim3 grid, dim3 cluster, unsigned threads, void (*kernel)(P...), A&&... arguments)
{
    sim::recording here;
    launch_cluster(grid, cluster, threads, kernel, std::forward<A>(arguments)...);
    EXPECT_EQ(here.launches().size(), 1u);
    cudaGetLastError();
    return here.launches().empty() ? sim::launch_report{} : here.launches().front();
}

// Each kind of schedule, and some seeds.
inline const std::vector<sim::schedule>& schedules()
{
    static const auto all = [] {
        std::vector<sim::schedule> list{{sim::schedule::order::in_order, 0, 0},
                                        {sim::schedule::order::reversed, 0, 0},
                                        {sim::schedule::order::round_robin, 0, 0},
                                        sim::schedule::stall(0),
                                        sim::schedule::starve_others(1)};
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            list.push_back(sim::schedule::random(seed));
            list.push_back(sim::schedule::lanes_apart(seed));
        }
        return list;
    }();
    return all;
}

template <class F>
void under_every_schedule(F body)
{
    for (const auto& how : schedules()) {
        SCOPED_TRACE(how.name());
        sim::options opts;
        opts.schedule = how;
        sim::with_options with(opts);
        body();
    }
}

inline std::vector<sim::finding_kind> kinds(const std::vector<sim::finding>& findings)
{
    std::vector<sim::finding_kind> all;
    for (const auto& f : findings)
        all.push_back(f.kind);
    return all;
}

inline bool found(const sim::launch_report& report, sim::finding_kind kind)
{
    for (const auto& f : report.findings)
        if (f.kind == kind)
            return true;
    return false;
}

inline std::string texts(const sim::launch_report& report)
{
    std::string all;
    for (const auto& f : report.findings)
        all += f.text() + "\n";
    return all;
}

inline testing::AssertionResult is_clean(const sim::launch_report& report)
{
    if (report.findings.empty() && report.completed)
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << texts(report);
}

inline testing::AssertionResult has_finding(const sim::launch_report& report, sim::finding_kind kind)
{
    if (found(report, kind))
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << "no " << sim::name_of(kind) << ", but:\n" << texts(report);
}

#define EXPECT_CLEAN(report) EXPECT_TRUE(is_clean(report))
#define EXPECT_FOUND(report, what) EXPECT_TRUE(has_finding(report, sim::finding_kind::what))
