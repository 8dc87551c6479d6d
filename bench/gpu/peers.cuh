// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// How CUB's calls are made contenders.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <cub/version.cuh>

#include "device.hpp"

namespace bench {

// A call of CUB's, call(storage, bytes), with the storage that it asks for, which is not part of what is measured.
template <class Call>
std::function<void()> with_storage(Call call)
{
    std::size_t bytes = 0;
    check(call(nullptr, bytes), "cub");
    const auto storage = std::make_shared<device_memory>(bytes);
    return [=] {
        std::size_t given = storage->bytes();
        check(call(storage->data(), given), "cub");
    };
}

inline std::string cub_version()
{
    return std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." +
           std::to_string(CUB_SUBMINOR_VERSION);
}

} // namespace bench
