// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Scans from and to any address, in place, and exclusive, of one element type, which the build names: UPSWEEP_BENCH_ELEMENT.
#include <algorithm>

#include "folds.cuh"

namespace bench {

namespace {

// The maximum, for CUB.
struct peer_maximum {
    template <class T>
    __device__ T operator()(const T& a, const T& b) const
    {
        return a < b ? b : a;
    }
};

struct peer_exclusive_sum {
    template <class T>
    cudaError_t operator()(void* storage, std::size_t& bytes, const T* in, T* out, std::size_t n,
                           cudaStream_t stream) const
    {
        return cub::DeviceScan::ExclusiveSum(storage, bytes, in, out, n, stream);
    }
};

// CUB's exclusive scan after the initial value 1.
template <class F>
struct peer_exclusive_fold {
    F f;

    template <class T>
    cudaError_t operator()(void* storage, std::size_t& bytes, const T* in, T* out, std::size_t n,
                           cudaStream_t stream) const
    {
        return cub::DeviceScan::ExclusiveScan(storage, bytes, in, out, f, T(1), n, stream);
    }
};

} // namespace

template <class T>
void measure_scan_places(session& run, const std::string& type)
{
    if (!run.wants_axis("place"))
        return;
    // An element, 8 and 15 bytes, as far as they are multiples of the alignment of an element.
    std::vector<std::size_t> offsets;
    for (const std::size_t offset : {sizeof(T), std::size_t{4}, std::size_t{8}, std::size_t{16 - sizeof(T)}})
        if (offset % sizeof(T) == 0 && std::ranges::find(offsets, offset) == offsets.end() && offset != 16)
            offsets.push_back(offset);
    std::vector<placement> places{{}};
    for (const std::size_t offset : offsets)
        for (const auto& [in, out] : {std::pair{offset, std::size_t{0}}, {std::size_t{0}, offset}, {offset, offset}})
            places.push_back({in, out, {}, false});
    places.push_back({16, 16, {}, false});
    if constexpr (std::integral<T>) { // floats would grow from scan to scan
        places.push_back({0, 0, {}, true});
        places.push_back({sizeof(T), sizeof(T), {}, true});
    }
    measure_scan<T>(run, type, a_scan("sum", up::plus{}, "DeviceScan::InclusiveSum", peer_sum{}), places);
    measure_scan<T>(run, type, a_scan<exclusive>("sum", up::plus{}, "DeviceScan::ExclusiveSum", peer_exclusive_sum{}));
    measure_scan<T>(run, type,
                    a_scan<exclusive_after_one>("maximum", up::maximum{}, "DeviceScan::ExclusiveScan",
                                                peer_exclusive_fold<peer_maximum>{}));
}

template void measure_scan_places<UPSWEEP_BENCH_ELEMENT>(session& run, const std::string& type);

} // namespace bench
