// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/histogram.hpp>
#include <upsweep/range.hpp>

// Bin finders for a batch of samples at a time, with the types of the samples and of the bins erased: a call is nothing
// beside a batch, and what counts is compiled once.
namespace upsweep::cpu_engine {

// At most a batch of samples, row by row; the places are relative to the first element of the array.
struct sample_patch {
    std::ptrdiff_t first;
    std::size_t rows;
    std::size_t columns;
    std::ptrdiff_t row_stride;
    std::ptrdiff_t stride;

    std::size_t size() const { return rows * columns; }
    bool is_contiguous() const
    {
        return (columns == 1 || stride == 1) && (rows == 1 || row_stride == static_cast<std::ptrdiff_t>(columns));
    }
};
using patch_finder = std::function<void(const sample_patch& samples, detail::bin_index* bins)>;

// The same for at most a batch of samples of an array, from number `first` on.
using stretch_finder = std::function<void(std::size_t first, std::size_t count, detail::bin_index* bins)>;

// The bins of all values of a byte.
class bins_of_values {
public:
    template <class T, class Finder>
    bins_of_values(std::type_identity<T>, const Finder& finder)
    {
        for (std::size_t value = 0; value < bins_.size(); ++value)
            bins_[value] = finder(static_cast<T>(value));
    }
    template <class T>
    detail::bin_index operator()(T value) const
    {
        return bins_[static_cast<std::uint8_t>(value)];
    }

private:
    std::array<detail::bin_index, 256> bins_;
};

// The bin finder that is kept for a type of samples: bytes are looked up by value.
template <class T, class Finder>
auto kept_finder(const Finder& finder)
{
    if constexpr (std::integral<T> && sizeof(T) == 1 && !std::same_as<T, bool>)
        return bins_of_values(std::type_identity<T>{}, finder);
    else
        return finder;
}

// Finds the bins of samples of type T that lie one behind the other, a batch of them or fewer.
template <class T, class Finder>
class batch_finder {
    using kept = decltype(kept_finder<T>(std::declval<const Finder&>()));
    static constexpr std::size_t few = 16; // for which a whole batch would take longer

public:
    explicit batch_finder(const Finder& finder) : finder_(kept_finder<T>(finder)) {}

    void find(const T* samples, std::size_t count, detail::bin_index* bins) const
    {
        if (count == histogram_batch)
            return find_bins_of_batch<T>(samples, finder_, bins);
        if constexpr (finds_by_vectors<kept>)
            if (count > few)
                return find_in_part(samples, count, bins);
        for (std::size_t j = 0; j < count; ++j)
            bins[j] = finder_(load<T>(samples, j));
    }

    // The same of samples that `copy` puts into an array.
    template <class Copy>
    void find_copied(std::size_t count, detail::bin_index* bins, Copy copy) const
    {
        std::array<T, histogram_batch> samples;
        copy(samples.data());
        find(samples.data(), count, bins);
    }

private:
    // A batch that is filled up with one of the samples.
    void find_in_part(const T* samples, std::size_t count, detail::bin_index* bins) const
    {
        std::array<T, histogram_batch> filled;
        std::fill(std::copy_n(samples, count, filled.begin()), filled.end(), samples[0]);
        std::array<detail::bin_index, histogram_batch> all;
        find_bins_of_batch<T>(static_cast<const T*>(filled.data()), finder_, all.data());
        std::copy_n(all.begin(), count, bins);
    }

    kept finder_;
};

template <class T, class Finder>
patch_finder bins_of_patches(const T* data, const Finder& finder)
{
    return [data, batch = batch_finder<T, Finder>(finder)](const sample_patch& patch, detail::bin_index* bins) {
        const T* const first = data + patch.first;
        if (patch.is_contiguous())
            return batch.find(first, patch.size(), bins);
        batch.find_copied(patch.size(), bins, [&](T* to) {
            for (std::size_t r = 0; r < patch.rows; ++r)
                for (std::size_t c = 0; c < patch.columns; ++c)
                    *to++ = first[static_cast<std::ptrdiff_t>(r) * patch.row_stride +
                                  static_cast<std::ptrdiff_t>(c) * patch.stride];
        });
    };
}

template <class In, class Finder>
stretch_finder bins_of_stretches(const In& in, const Finder& finder)
{
    using sample = std::iter_value_t<In>;
    if constexpr (detail::strided_iterator<In>)
        if (in.is_contiguous())
            return bins_of_stretches(static_cast<const sample*>(in.address()), finder);
    return [in, batch = batch_finder<sample, Finder>(finder)](std::size_t first, std::size_t count,
                                                              detail::bin_index* bins) {
        const auto from = in + static_cast<std::iter_difference_t<In>>(first);
        if constexpr (std::is_pointer_v<In>)
            batch.find(from, count, bins);
        else
            batch.find_copied(count, bins, [&](sample* to) {
                if constexpr (detail::strided_iterator<In>)
                    from.read(count, to);
                else
                    std::copy_n(from, count, to);
            });
    };
}

} // namespace upsweep::cpu_engine
