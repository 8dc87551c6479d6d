// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>

#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/streaming/scanner.cuh>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/runtime.h>
#include <upsweep/types.hpp>

#include "../element_type.hpp"
#include "../engine.hpp"

// Elements whose type is chosen at run time are converted when a kernel reads and writes them. One kernel therefore
// serves integers of all widths, in 64 bits. That costs no time where elements come from memory of the host: the copy to
// the GPU, where they have their own size, takes longer than the kernel. Arrays in memory of the GPU have kernels of
// their own type (typed/), as far as reductions, histograms and the most frequent scans go.
namespace upsweep::runtime::gpu {

// Reads elements of type `from` as the type Acc in which they are folded. Integers are wrapped to `bits` bits, the
// width of the results, before they are folded: the minimum of wrapped integers is not the wrapped minimum.
template <class Acc>
class typed_input {
public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Acc;
    using difference_type = std::ptrdiff_t;
    using reference = Acc;
    using pointer = void;

    typed_input() = default;
    typed_input(const void* elements, upsweep_dtype from, int bits = 64) : elements_(elements), from_(from), bits_(bits)
    {
    }

    UPSWEEP_HOST_DEVICE Acc operator[](std::ptrdiff_t n) const
    {
        const void* const elements = elements_;
        const std::ptrdiff_t i = at_ + n;
        const Acc value = with_type(from_, [elements, i]<class T>(std::type_identity<T>) {
            return convert<Acc>(static_cast<const T*>(elements)[i]);
        });
        if constexpr (std::integral<Acc>)
            return static_cast<Acc>(static_cast<Acc>(static_cast<std::uint64_t>(value) << (64 - bits_)) >>
                                    (64 - bits_));
        else
            return value;
    }
    UPSWEEP_HOST_DEVICE friend typed_input operator+(typed_input it, std::ptrdiff_t n)
    {
        it.at_ += n;
        return it;
    }

private:
    const void* elements_ = nullptr;
    std::ptrdiff_t at_ = 0;
    upsweep_dtype from_ = UPSWEEP_U8;
    int bits_ = 64;
};

// Writes an Acc as a result of type `to`. All operators are built-in ones, of which any tells that NaN has one pattern.
template <class Acc>
UPSWEEP_HOST_DEVICE void store(void* elements, upsweep_dtype to, std::ptrdiff_t i, Acc value)
{
    with_type(to, [elements, i, value]<class T>(std::type_identity<T>) {
        static_cast<T*>(elements)[i] = as_result<T, plus>(value);
    });
}

// Writes elements of type `to`, converted from the type Acc in which they are folded.
template <class Acc>
class typed_output {
public:
    class place {
    public:
        UPSWEEP_HOST_DEVICE place(const typed_output& out, std::ptrdiff_t i) : out_(out), i_(i) {}
        UPSWEEP_HOST_DEVICE void operator=(Acc value) const { store(out_.elements_, out_.to_, out_.at_ + i_, value); }

    private:
        const typed_output& out_;
        std::ptrdiff_t i_;
    };

    using iterator_category = std::random_access_iterator_tag;
    using value_type = Acc;
    using difference_type = std::ptrdiff_t;
    using reference = place;
    using pointer = void;

    typed_output() = default;
    typed_output(void* elements, upsweep_dtype to) : elements_(elements), to_(to) {}

    UPSWEEP_HOST_DEVICE place operator[](std::ptrdiff_t n) const { return {*this, n}; }
    UPSWEEP_HOST_DEVICE friend typed_output operator+(typed_output it, std::ptrdiff_t n)
    {
        it.at_ += n;
        return it;
    }

private:
    void* elements_ = nullptr;
    std::ptrdiff_t at_ = 0;
    upsweep_dtype to_ = UPSWEEP_U8;
};

// Elements as truth: whether their bits are other than those of zero. There are words of four sizes where there are
// thirteen types, and kernels that read bytes read sixteen at a time.
class truth_of_elements {
public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = bool;
    using difference_type = std::ptrdiff_t;
    using reference = bool;
    using pointer = void;

    truth_of_elements() = default;
    truth_of_elements(const void* elements, upsweep_dtype from)
        : elements_(elements), bytes_(static_cast<int>(upsweep_dtype_size(from)))
    {
        if (from >= UPSWEEP_F16) // The sign of zero is no truth.
            counted_ = ~(std::uint64_t{1} << (8 * bytes_ - 1));
    }

    UPSWEEP_HOST_DEVICE bool operator[](std::ptrdiff_t n) const { return (bits(at_ + n) & counted_) != 0; }
    UPSWEEP_HOST_DEVICE friend truth_of_elements operator+(truth_of_elements it, std::ptrdiff_t n)
    {
        it.at_ += n;
        return it;
    }

private:
    UPSWEEP_HOST_DEVICE std::uint64_t bits(std::ptrdiff_t i) const
    {
        switch (bytes_) {
        case 1: return static_cast<const std::uint8_t*>(elements_)[i];
        case 2: return static_cast<const std::uint16_t*>(elements_)[i];
        case 4: return static_cast<const std::uint32_t*>(elements_)[i];
        default: return static_cast<const std::uint64_t*>(elements_)[i];
        }
    }

    const void* elements_ = nullptr;
    std::ptrdiff_t at_ = 0;
    std::uint64_t counted_ = ~std::uint64_t{0}; // the bits that count
    int bytes_ = 1;
};

// Elements of a type that is chosen at run time, as the engine streams them (upsweep/gpu/streaming/chunk.cuh). Integers
// are wrapped to `bits` bits.
template <class Acc>
struct typed_elements {
    upsweep_dtype dtype;
    int bits = 64;

    std::size_t bytes() const { return upsweep_dtype_size(dtype); }
    auto operator()(const std::byte* memory) const
    {
        if constexpr (std::same_as<Acc, bool>)
            return truth_of_elements(memory, dtype);
        else
            return typed_input<Acc>(memory, dtype, bits);
    }
};

// Results of such a type (upsweep/gpu/streaming/scanner.cuh).
template <class Acc, class Op>
struct typed_results {
    upsweep_dtype dtype;

    std::size_t bytes() const { return upsweep_dtype_size(dtype); }
    auto operator()(std::byte* memory, const std::optional<Acc>& init) const
    {
        return upsweep::gpu::streaming::results_after_init(typed_output<Acc>(memory, dtype), Op{}, init);
    }
    void write(std::byte* to, const Acc& value) const { store(to, dtype, 0, value); }
    // Writes the identity of the type of the results, which may have fewer bits than Acc.
    void write_nothing(std::byte* to) const
    {
        with_type(dtype, [to]<class T>(std::type_identity<T>) {
            using accumulator = scan_accumulator_t<Op, T>;
            if constexpr (is_defined<Op, accumulator>)
                *reinterpret_cast<T*>(to) = convert<T>(fold_of_nothing<accumulator>(Op{}));
        });
    }
};

} // namespace upsweep::runtime::gpu
