// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Calls that are captured in a CUDA graph.
#include <string>

#include "device.cuh"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

TEST(graph, replayed_100_times_with_other_elements)
{
    auto random = generator();
    constexpr std::size_t n = 300'007;
    const stream on;
    const up::cuda gpu(on);
    target_array<up::cuda, float> in(n);
    results<float> got(n);
    comparison compared(on);
    const auto fold = [&] {
        up::reduce(gpu, in.const_span(), got.sum.span().data(), up::plus{});
        up::inclusive_scan(gpu, in.const_span(), got.scan.span());
        up::exclusive_scan(gpu, got.scan.span(), got.scan.span(), up::maximum{}, 0.0F);
    };
    fold();

    const captured graph(on, fold);
    for (int replay = 0; replay < 100; ++replay) {
        const host_array<float> values = random_array<float>(random, n);
        host_array<float> scan(n);
        up::inclusive_scan(up::cpu{}, values.span(), scan.span());
        up::exclusive_scan(up::cpu{}, scan.span(), scan.span(), up::maximum{}, 0.0F);

        check(cudaMemcpyAsync(in.span().data(), values.begin(), n * sizeof(float), cudaMemcpyHostToDevice, on));
        graph.launch();
        on.wait();
        ASSERT_TRUE(bits_equal(got.sum.to_host()[0], up::reduce(up::cpu{}, values.span())));
        ASSERT_TRUE(bits_equal(got.scan.to_host(), scan));
        if (replay % 10 == 0)
            fold(); // calls beside the graph use the same workspace
    }
}

TEST(graph, whose_workspace_would_grow_is_refused)
{
    auto random = generator();
    const stream on;
    const up::cuda gpu(on);
    example<double> given(random, 100'000);
    results<double> got(100'000);
    cudaGraph_t graph{};
    check(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal));
    try {
        up::inclusive_scan(gpu, given.in.const_span(), got.scan.span());
        ADD_FAILURE() << "no error";
    } catch (const up::error& failure) {
        EXPECT_EQ(failure.kind(), up::error_kind::invalid_argument);
        const std::string message = failure.what();
        EXPECT_NE(message.find("captured"), std::string::npos) << message;
        EXPECT_NE(message.find("before the capture"), std::string::npos) << message;
    }
    check(cudaStreamEndCapture(on, &graph));
    check(cudaGraphDestroy(graph));

    comparison compared(on);
    got.fold(gpu, given, compared);
    EXPECT_EQ(compared.differences(), 0U);
}

// The value cannot be known while a graph is captured.
TEST(graph, call_that_returns_a_value_is_refused)
{
    auto random = generator();
    const stream on;
    const up::cuda gpu(on);
    example<double> given(random, 100'000);
    results<double> got(100'000);
    EXPECT_TRUE(bits_equal(up::reduce(gpu, given.in.const_span()), given.sum.to_host()[0]));

    cudaGraph_t graph{};
    check(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal));
    EXPECT_THROW((void)up::reduce(gpu, given.in.const_span()), up::error);
    EXPECT_NE(cudaStreamEndCapture(on, &graph), cudaSuccess);
    cudaGetLastError();

    comparison compared(on);
    got.fold(gpu, given, compared);
    EXPECT_EQ(compared.differences(), 0U);
}

} // namespace
