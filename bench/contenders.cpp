// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "contenders.hpp"

#include <boost/version.hpp>
#include <fmt/format.h>
#include <tbb/version.h>
#include <upsweep/runtime.h>

#include "roof.hpp"

namespace bench {

std::vector<contender> read_roofs(std::span<const std::byte> in)
{
    std::vector<contender> roofs;
    for (const read_kernel& kernel : read_kernels())
        roofs.push_back({"roof", "read: " + std::string(kernel.name), "", timed([in, run = kernel.run] {
                             // Volatile: the compiler must not find out that nobody needs the value.
                             volatile std::size_t value = run(in);
                             static_cast<void>(value);
                         })});
    return roofs;
}

std::vector<contender> copy_roofs(std::span<const std::byte> in, std::span<std::byte> out)
{
    std::vector<contender> roofs;
    for (const copy_kernel& kernel : copy_kernels())
        roofs.push_back(
            {"roof", "copy: " + std::string(kernel.name), "", timed([in, out, run = kernel.run] { run(in, out); })});
    return roofs;
}

std::vector<contender> update_roofs(std::span<std::byte> data)
{
    std::vector<contender> roofs;
    for (const update_kernel& kernel : update_kernels())
        roofs.push_back(
            {"roof", "update: " + std::string(kernel.name), "", timed([data, run = kernel.run] { run(data); })});
    return roofs;
}

const versions& versions_in_use()
{
    static const versions in_use
    {
        upsweep_version(),
#if defined(__clang__)
            fmt::format("clang {}", __clang_version__),
#else
            fmt::format("g++ {}", __VERSION__),
#endif
            TBB_runtime_version(),
            fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100),
    };
    return in_use;
}

} // namespace bench
