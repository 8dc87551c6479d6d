// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/core.h>

#include "c_order.hpp"
#include "dtype.hpp"
#include "npy.hpp"
#include "pipeline.hpp"
#include "readers.hpp"

namespace upsweep::files {

namespace {

// Large enough that starting the threads costs nothing, small enough that progress can be shown.
constexpr std::size_t mapped_chunk_bytes = std::size_t{64} << 20;
// Small enough to stay in the L2 cache between the stages of a pipeline.
constexpr std::size_t converted_chunk_bytes = std::size_t{1} << 20;

struct element_layout {
    upsweep_dtype dtype = UPSWEEP_U8;
    bool byte_swapped = false;
    bool fortran_order = false;
    std::optional<std::vector<std::uint64_t>> shape; // of .npy
    std::optional<std::uint64_t> count;              // not known of a raw pipe
    std::size_t offset = 0;
};

template <class Bits>
void swap_bytes(char* elements, std::size_t count)
{
    for (std::size_t i = 0; i < count; ++i) {
        Bits bits;
        std::memcpy(&bits, elements + i * sizeof bits, sizeof bits);
        if constexpr (sizeof bits == 2)
            bits = __builtin_bswap16(bits);
        else if constexpr (sizeof bits == 4)
            bits = __builtin_bswap32(bits);
        else
            bits = __builtin_bswap64(bits);
        std::memcpy(elements + i * sizeof bits, &bits, sizeof bits);
    }
}

class array_reader final : public reader {
public:
    array_reader(std::unique_ptr<byte_input> input, element_layout layout, int threads)
        : input_(std::move(input)), layout_(std::move(layout)), threads_(threads),
          element_bytes_(dtype_size(layout_.dtype))
    {
        transposed_ = layout_.fortran_order && !is_contiguous_in_c_order(*layout_.shape);
        if (transposed_ && !input_->is_mapped())
            throw failure(name(), {},
                          {fmt::format("a Fortran-ordered array of {} dimensions cannot be read {}, or save "
                                       "np.ascontiguousarray(a)",
                                       layout_.shape->size(),
                                       input_->rereadable() ? "where it is compressed or in an archive; decompress it"
                                                            : "from a pipe; name the file")});
        if (input_->is_mapped())
            check_length(input_->content().size());
    }

    const std::string& name() const override { return input_->name(); }
    upsweep_dtype dtype() const override { return layout_.dtype; }
    bool rereadable() const override { return input_->rereadable(); }
    std::optional<std::vector<std::uint64_t>> shape() const override { return layout_.shape; }
    std::optional<std::uint64_t> count() const override { return layout_.count; }
    bool keeps_cores_busy() const override { return converts(); }

    const void* mapped() const override
    {
        return input_->is_mapped() && !converts() ? input_->content().data() + layout_.offset : nullptr;
    }
    std::optional<std::uint64_t> bytes() const override
    {
        if (!layout_.count)
            return std::nullopt;
        return *layout_.count * element_bytes_;
    }

    void read(const sink& take) override
    {
        if (input_->is_mapped() && !converts())
            read_mapping(take);
        else
            read_in_chunks(take);
    }

private:
    // Whether the elements have to be copied and changed before they can be folded. Bytes of a bool other than 0 and 1
    // count as true, as in NumPy; C++ must not see them as bool.
    bool converts() const
    {
        const bool misaligned =
            input_->is_mapped() &&
            reinterpret_cast<std::uintptr_t>(input_->content().data() + layout_.offset) % element_bytes_ != 0;
        return layout_.byte_swapped || transposed_ || layout_.dtype == UPSWEEP_BOOL || misaligned;
    }

    void check_length(std::uint64_t file_bytes)
    {
        const std::uint64_t data_bytes = file_bytes - std::min<std::uint64_t>(layout_.offset, file_bytes);
        if (!layout_.count) {
            if (data_bytes % element_bytes_ != 0)
                fail(file_bytes, fmt::format("the file ends inside an element of {} bytes", element_bytes_),
                     remedy::check_dtype);
            layout_.count = data_bytes / element_bytes_;
            return;
        }
        const std::uint64_t expected = *layout_.count * element_bytes_;
        if (data_bytes < expected)
            fail(file_bytes, fmt::format("the file is truncated: the header tells {} bytes of elements, {} are there; "
                                         "copy or save it again",
                                         expected, data_bytes));
        if (data_bytes > expected)
            fail(layout_.offset + expected,
                 fmt::format("{} bytes follow the last element; save each array to a file of its own",
                             data_bytes - expected));
    }

    [[noreturn]] void fail(std::uint64_t byte, const std::string& what, remedy help = remedy::none) const
    {
        throw failure(name(), {.byte = byte}, {what, help});
    }

    void read_mapping(const sink& take)
    {
        std::string_view rest = input_->content().substr(layout_.offset);
        while (!rest.empty()) {
            const std::string_view piece = rest.substr(0, mapped_chunk_bytes);
            take({piece.data(), piece.size() / element_bytes_, piece.size()});
            rest.remove_prefix(piece.size());
        }
    }

    struct converted_chunk {
        std::uint64_t first = 0; // element
        std::uint64_t count = 0;
        std::vector<char> bytes;
    };

    void read_in_chunks(const sink& take)
    {
        if (!input_->is_mapped()) {
            input_->rewind();
            std::string skipped(layout_.offset, '\0');
            input_->read(skipped.data(), skipped.size());
        }
        std::uint64_t next = 0;
        const auto produce = [&](converted_chunk& c) {
            c.first = next;
            const std::uint64_t left =
                layout_.count ? *layout_.count - next : std::numeric_limits<std::uint64_t>::max();
            c.count = std::min<std::uint64_t>(left, chunk_elements());
            c.bytes.resize(c.count * element_bytes_);
            if (!input_->is_mapped())
                read_chunk(c);
            next += c.count;
            return c.count > 0;
        };
        const auto consume = [&](const converted_chunk& c) {
            take({c.bytes.data(), c.count, c.count * element_bytes_});
        };
        run_pipeline<converted_chunk>(
            threads_, produce, [&](converted_chunk& c) { convert(c); }, consume);
    }

    // Chunks of a transposed array hold whole rows where these are short: then the file is read in runs.
    std::uint64_t chunk_elements() const
    {
        const std::uint64_t elements = converted_chunk_bytes / element_bytes_;
        if (!transposed_)
            return elements;
        const std::uint64_t row = *layout_.count / layout_.shape->front();
        return row > elements ? elements : elements / row * row;
    }

    void read_chunk(converted_chunk& c)
    {
        const std::size_t got = input_->read(c.bytes.data(), c.bytes.size());
        const std::uint64_t position = layout_.offset + c.first * element_bytes_ + got;
        if (got % element_bytes_ != 0 && !layout_.count)
            fail(position, fmt::format("the input ends inside an element of {} bytes", element_bytes_),
                 remedy::check_dtype);
        if (got < c.bytes.size() && layout_.count)
            fail(position, fmt::format("the input is truncated: the header tells {} elements", *layout_.count));
        if (c.count == 0 && layout_.count && !input_->peek(1).empty())
            fail(position, "bytes follow the last element; send one array at a time");
        c.count = got / element_bytes_;
    }

    void convert(converted_chunk& c) const
    {
        if (input_->is_mapped()) {
            const char* const elements = input_->content().data() + layout_.offset;
            if (transposed_)
                gather_in_c_order(elements, element_bytes_, *layout_.shape, c.first, c.count, c.bytes.data());
            else if (c.count > 0)
                std::memcpy(c.bytes.data(), elements + c.first * element_bytes_, c.bytes.size());
        }
        if (layout_.byte_swapped && element_bytes_ == 2)
            swap_bytes<std::uint16_t>(c.bytes.data(), c.count);
        if (layout_.byte_swapped && element_bytes_ == 4)
            swap_bytes<std::uint32_t>(c.bytes.data(), c.count);
        if (layout_.byte_swapped && element_bytes_ == 8)
            swap_bytes<std::uint64_t>(c.bytes.data(), c.count);
        if (layout_.dtype == UPSWEEP_BOOL)
            for (char& byte : c.bytes)
                byte = byte != 0;
    }

    std::unique_ptr<byte_input> input_;
    element_layout layout_;
    int threads_;
    std::uint64_t element_bytes_;
    bool transposed_ = false;
};

} // namespace

std::unique_ptr<reader> read_npy(std::unique_ptr<byte_input> input, const read_options& options)
{
    const std::size_t header_bytes = npy_data_offset(input->name(), input->peek(npy_preamble_bytes));
    const npy_header header = parse_npy_header(input->name(), input->peek(header_bytes));
    if (options.dtype && *options.dtype != header.dtype)
        throw failure(input->name(), {},
                      {fmt::format("holds {}, not {}", dtype_name(header.dtype), dtype_name(*options.dtype)),
                       remedy::leave_out_dtype});
    element_layout layout{header.dtype, header.byte_swapped, header.fortran_order,
                          header.shape, header.count,        header.data_offset};
    return std::make_unique<array_reader>(std::move(input), std::move(layout), options.threads);
}

std::unique_ptr<reader> read_raw(std::unique_ptr<byte_input> input, upsweep_dtype dtype, int threads)
{
    element_layout layout;
    layout.dtype = dtype;
    return std::make_unique<array_reader>(std::move(input), std::move(layout), threads);
}

} // namespace upsweep::files
