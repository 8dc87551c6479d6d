// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target on so many inputs of random bytes, for compilers without libFuzzer. A number beside the count replays
// the inputs from that seed on.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv)
{
    const long count = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 1000;
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device{}();
    std::printf("%ld inputs from seed %llu on\n", count, static_cast<unsigned long long>(seed));
    std::fflush(stdout); // which a failure would lose
    for (long k = 0; k < count; ++k) {
        std::mt19937_64 random(seed + static_cast<std::uint64_t>(k));
        std::vector<std::uint8_t> bytes(random() % 400);
        for (std::uint8_t& each : bytes)
            each = static_cast<std::uint8_t>(random());
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
    return 0;
}
