// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The same bits again and again: while other kernels take processors away, in other grids, on several streams, from
// several host threads.
#include <random>
#include <thread>

#include "device.cuh"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

// Keeps processors busy for a while.
__global__ void occupy(long long cycles)
{
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
}

template <class On>
class repeats : public ::testing::Test {
};
using types = on_gpu<up::f16, float, double>;
TYPED_TEST_SUITE(repeats, types);

TYPED_TEST(repeats, a_thousand_beside_kernels_that_come_and_go)
{
    using element = typename TypeParam::element;
    auto random = generator();
    const stream ours;
    const stream others;
    const up::cuda gpu(ours);
    comparison compared(ours);
    for (int array = 0; array < 20; ++array) {
        const std::size_t n = random_size(random, 7);
        SCOPED_TRACE(std::to_string(n) + " elements");
        example<element> given(random, n);
        results<element> got(n);
        for (int repeat = 0; repeat < 50; ++repeat) {
            occupy<<<1 + random() % 500, 32 << random() % 5, 0, others>>>(static_cast<long long>(random() % 50'000));
            check(cudaGetLastError());
            got.fold(gpu, given, compared);
        }
        others.wait();
        ASSERT_EQ(compared.differences(), 0U);
    }
}

// Gives the kernel of a graph that has one node another grid.
void set_blocks(cudaGraph_t graph, unsigned blocks)
{
    std::size_t count = 1;
    cudaGraphNode_t node{};
    check(cudaGraphGetNodes(graph, &node, &count));
    cudaKernelNodeParams parameters{};
    check(cudaGraphKernelNodeGetParams(node, &parameters));
    parameters.gridDim.x = blocks;
    check(cudaGraphKernelNodeSetParams(node, &parameters));
}

unsigned blocks_of(cudaGraph_t graph)
{
    std::size_t nodes = 0;
    check(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT_EQ(nodes, 1U) << "a call is one kernel";
    cudaGraphNode_t node{};
    check(cudaGraphGetNodes(graph, &node, &(nodes = 1)));
    cudaKernelNodeParams parameters{};
    check(cudaGraphKernelNodeGetParams(node, &parameters));
    return parameters.gridDim.x;
}

// Captures fold(), then runs it as if the GPU had fewer processors.
template <class Fold, class Check>
void in_fewer_blocks(const stream& on, Fold fold, Check is_right)
{
    fold(); // takes the workspace, which a captured call cannot
    cudaGraph_t graph{};
    check(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal));
    fold();
    check(cudaStreamEndCapture(on, &graph));
    const unsigned most = blocks_of(graph);
    ASSERT_GE(most, 4U);
    for (const unsigned blocks : {2U, 3U, most / 2 + 1, most - 1, most}) {
        set_blocks(graph, blocks);
        cudaGraphExec_t work{};
        check(cudaGraphInstantiate(&work, graph, 0));
        check(cudaGraphLaunch(work, on));
        is_right(blocks);
        check(cudaGraphExecDestroy(work));
    }
    check(cudaGraphDestroy(graph));
}

TYPED_TEST(repeats, in_grids_of_other_sizes)
{
    using element = typename TypeParam::element;
    auto random = generator();
    const stream on;
    const up::cuda gpu(on);
    for (const std::size_t n : {100'000U, 1'000'000U, 10'000'000U}) {
        SCOPED_TRACE(std::to_string(n) + " elements");
        example<element> given(random, n + random() % n);
        results<element> got(given.in.span().size());
        comparison compared(on);
        in_fewer_blocks(
            on, [&] { up::reduce(gpu, given.in.const_span(), got.sum.span().data(), up::plus{}); },
            [&](unsigned blocks) {
                compared.expect_same(got.sum.const_span(), given.sum.const_span());
                EXPECT_EQ(compared.differences(), 0U) << "reduce by " << blocks << " blocks";
            });
        in_fewer_blocks(
            on, [&] { up::inclusive_scan(gpu, given.in.const_span(), got.scan.span()); },
            [&](unsigned blocks) {
                compared.expect_same(got.scan.const_span(), given.inclusive.const_span());
                EXPECT_EQ(compared.differences(), 0U) << "scan by " << blocks << " blocks";
            });
    }
}

TEST(concurrent, two_streams_of_one_host_thread)
{
    auto random = generator();
    const stream streams[2];
    const up::cuda gpus[2] = {up::cuda(streams[0]), up::cuda(streams[1])};
    comparison compared[2] = {comparison(streams[0]), comparison(streams[1])};
    example<float> given[2] = {{random, 700'001}, {random, 1'234'567}};
    results<float> got[2] = {results<float>(700'001), results<float>(1'234'567)};
    for (int repeat = 0; repeat < 200; ++repeat)
        for (int i = 0; i < 2; ++i)
            got[i].fold(gpus[i], given[i], compared[i]);
    EXPECT_EQ(compared[0].differences(), 0U);
    EXPECT_EQ(compared[1].differences(), 0U);
}

// Each with its own stream and targets, of which one follows the other.
TEST(concurrent, eight_host_threads)
{
    auto random = generator();
    std::vector<unsigned long long> differences(8, ~0ULL);
    std::vector<std::thread> threads;
    for (unsigned long long& mine : differences)
        threads.emplace_back([&mine, seed = random()] {
            std::mt19937_64 random_here(seed);
            const stream on;
            comparison compared(on);
            for (int target = 0; target < 5; ++target) {
                const up::cuda gpu(on);
                const std::size_t n = random_size(random_here, 6);
                example<double> given(random_here, n);
                results<double> got(n);
                for (int repeat = 0; repeat < 40; ++repeat)
                    got.fold(gpu, given, compared);
                mine = compared.differences();
                if (mine != 0)
                    return;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    for (const unsigned long long each : differences)
        EXPECT_EQ(each, 0U);
}

} // namespace
