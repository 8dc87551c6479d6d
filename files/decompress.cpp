// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "decompress.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include <bzlib.h>
#include <fmt/core.h>
#include <lzma.h>
#include <upsweep/files.hpp>
#include <zlib.h>
#include <zstd.h>

#include "read_ahead.hpp"

namespace upsweep::files {

namespace {

// A file may ask for as much memory as it was compressed with. Presets take 65 MiB at most.
constexpr std::uint64_t most_xz_memory = std::uint64_t{1} << 30;

// Where the magic bytes of bzip2, "BZh" and a digit, are followed by those of a block or, of nothing compressed, of the
// end. The first four alone may begin a text.
constexpr std::string_view bzip2_magic = "BZh";
constexpr std::string_view bzip2_block = "\x31\x41\x59\x26\x53\x59";
constexpr std::string_view bzip2_end = "\x17\x72\x45\x38\x50\x90";
constexpr std::size_t bzip2_block_offset = 4;

constexpr std::string_view gzip_magic = "\x1f\x8b\x08";
constexpr std::string_view xz_magic{"\xfd\x37zXZ\0", 6};
constexpr std::string_view zstd_magic = "\x28\xb5\x2f\xfd";
// A frame that decompressors skip has one of 16 magic numbers, of which the first byte differs; pzstd begins with one.
constexpr std::string_view zstd_skippable_magic = "\x2a\x4d\x18";

bool is_bzip2(std::string_view front)
{
    if (front.substr(0, bzip2_magic.size()) != bzip2_magic || front.size() < compression_magic_bytes)
        return false;
    const std::string_view after = front.substr(bzip2_block_offset, bzip2_block.size());
    return front[3] >= '1' && front[3] <= '9' && (after == bzip2_block || after == bzip2_end);
}

bool is_zstd(std::string_view front)
{
    if (front.substr(0, zstd_magic.size()) == zstd_magic)
        return true;
    return !front.empty() && (static_cast<unsigned char>(front[0]) & 0xf0U) == 0x50U &&
           front.substr(1, zstd_skippable_magic.size()) == zstd_skippable_magic;
}

// What all decompressors share: the compressed bytes that are at hand, and what to say of them.
class decompressor : public byte_stream {
public:
    decompressor(compression kind, byte_input& from, std::size_t piece_bytes)
        : kind_(kind), from_(from), pieces_(from, piece_bytes)
    {
    }

    void interrupt() override { from_.interrupt(); }

    std::size_t read(char* buffer, std::size_t capacity) final
    {
        std::size_t done = 0;
        while (done < capacity && !is_complete) {
            if (input.empty() && !at_end)
                refill();
            const std::size_t before = input.size();
            // The libraries' counts may have 32 bits.
            const std::size_t room = std::min<std::size_t>(capacity - done, std::numeric_limits<int>::max());
            const std::size_t written = step(buffer + done, room);
            done += written;
            // They may hold back bytes of the result when they have seen the last one of the input, so this is not the
            // end of the data before nothing more comes.
            if (at_end && written == 0 && input.size() == before && !is_complete)
                fail_truncated();
        }
        return done;
    }

protected:
    // Decompresses some of input, which it removes from there, or what the library holds back where input is empty.
    // Returns how many bytes it wrote. Sets is_complete after the last stream.
    virtual std::size_t step(char* buffer, std::size_t capacity) = 0;

    // Gets more of the input, unless that has ended.
    bool refill()
    {
        input = pieces_.next();
        at_end = input.empty();
        return !at_end;
    }

    // Whether a byte of the input is at hand after all that came before.
    bool has_input() { return !input.empty() || (!at_end && refill()); }

    [[noreturn]] void fail(std::string_view what) const
    {
        throw failure(from_.name(), {.byte = pieces_.position() - input.size()}, {std::string(what)});
    }

    [[noreturn]] void fail_truncated() const
    {
        fail(fmt::format("the {} data is truncated; copy or compress the file again", name_of(kind_)));
    }

    // `how` is a library's word for it.
    [[noreturn]] void fail_corrupt(std::string_view how) const
    {
        fail(fmt::format("the {} data is corrupt ({}); copy or compress the file again", name_of(kind_), how));
    }

    [[noreturn]] void fail_followed() const
    {
        fail(fmt::format("something else follows the {} data; remove it, or copy the file again", name_of(kind_)));
    }

    std::string_view input;
    bool at_end = false; // of the input, so that input is the last of it
    bool is_complete = false;

private:
    compression kind_;
    byte_input& from_;
    byte_pieces pieces_;
};

class gzip_decompressor final : public decompressor {
public:
    gzip_decompressor(byte_input& from, std::size_t piece_bytes) : decompressor(compression::gzip, from, piece_bytes)
    {
        constexpr int gzip_alone = 16;
        if (::inflateInit2(&state_, MAX_WBITS + gzip_alone) != Z_OK)
            throw std::bad_alloc();
    }
    gzip_decompressor(const gzip_decompressor&) = delete;
    gzip_decompressor& operator=(const gzip_decompressor&) = delete;
    ~gzip_decompressor() override { ::inflateEnd(&state_); }

private:
    std::size_t step(char* buffer, std::size_t capacity) override
    {
        state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data())); // zlib does not write to it
        state_.avail_in = static_cast<uInt>(input.size());
        state_.next_out = reinterpret_cast<Bytef*>(buffer);
        state_.avail_out = static_cast<uInt>(capacity);
        const int status = ::inflate(&state_, Z_NO_FLUSH);
        input.remove_prefix(input.size() - state_.avail_in);
        if (status == Z_STREAM_END)
            begin_next();
        else if (status == Z_MEM_ERROR)
            throw std::bad_alloc();
        else if (status == Z_NEED_DICT)
            fail_corrupt("it needs a dictionary");
        else if (status != Z_OK && status != Z_BUF_ERROR)
            fail_corrupt(state_.msg != nullptr ? state_.msg : "unknown");
        return capacity - state_.avail_out;
    }

    // Tapes and the like fill their last block with zeros, which gzip passes over.
    void begin_next()
    {
        bool is_padded = false;
        while (has_input() && input.front() == '\0') {
            input.remove_prefix(std::min(input.find_first_not_of('\0'), input.size()));
            is_padded = true;
        }
        is_complete = !has_input();
        if (is_complete)
            return;
        if (is_padded || input.front() != gzip_magic.front())
            fail_followed();
        ::inflateReset(&state_);
    }

    z_stream state_{};
};

class zstd_decompressor final : public decompressor {
public:
    zstd_decompressor(byte_input& from, std::size_t piece_bytes)
        : decompressor(compression::zstd, from, piece_bytes), state_(::ZSTD_createDStream())
    {
        if (state_ == nullptr)
            throw std::bad_alloc();
    }
    zstd_decompressor(const zstd_decompressor&) = delete;
    zstd_decompressor& operator=(const zstd_decompressor&) = delete;
    ~zstd_decompressor() override { ::ZSTD_freeDStream(state_); }

private:
    std::size_t step(char* buffer, std::size_t capacity) override
    {
        if (is_between_ && !has_input()) {
            is_complete = true;
            return 0;
        }
        ZSTD_inBuffer in{input.data(), input.size(), 0};
        ZSTD_outBuffer out{buffer, capacity, 0};
        const std::size_t status = ::ZSTD_decompressStream(state_, &out, &in);
        input.remove_prefix(in.pos);
        if (::ZSTD_isError(status) != 0)
            fail_on(status);
        is_between_ = status == 0;
        has_frame_ = has_frame_ || is_between_;
        return out.pos;
    }

    [[noreturn]] void fail_on(std::size_t status) const
    {
        const std::string_view how = ::ZSTD_getErrorName(status);
        // The library has these messages for all that may be: the first bytes of a frame, and a window of 128 MiB.
        if (has_frame_ && how == "Unknown frame descriptor")
            fail_followed();
        if (how == "Frame requires too much memory for decoding")
            fail("was compressed with a window of more than 128 MiB; decompress it with zstd -dc --long=31");
        fail_corrupt(how);
    }

    ZSTD_DStream* state_;
    bool is_between_ = false; // frames
    bool has_frame_ = false;
};

class xz_decompressor final : public decompressor {
public:
    xz_decompressor(byte_input& from, std::size_t piece_bytes) : decompressor(compression::xz, from, piece_bytes)
    {
        if (::lzma_stream_decoder(&state_, most_xz_memory, LZMA_CONCATENATED) != LZMA_OK)
            throw std::bad_alloc();
    }
    xz_decompressor(const xz_decompressor&) = delete;
    xz_decompressor& operator=(const xz_decompressor&) = delete;
    ~xz_decompressor() override { ::lzma_end(&state_); }

private:
    std::size_t step(char* buffer, std::size_t capacity) override
    {
        state_.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
        state_.avail_in = input.size();
        state_.next_out = reinterpret_cast<std::uint8_t*>(buffer);
        state_.avail_out = capacity;
        const lzma_ret status = ::lzma_code(&state_, at_end ? LZMA_FINISH : LZMA_RUN);
        input.remove_prefix(input.size() - state_.avail_in);
        switch (status) {
        case LZMA_OK: break;
        case LZMA_BUF_ERROR: break; // no progress, which is an error at the end alone
        case LZMA_STREAM_END: is_complete = true; break;
        case LZMA_MEM_ERROR: throw std::bad_alloc();
        case LZMA_MEMLIMIT_ERROR:
            fail(fmt::format("needs {} MiB to be decompressed; decompress it with xz -dc",
                             ::lzma_memusage(&state_) >> 20));
        case LZMA_OPTIONS_ERROR: fail_corrupt("its options are not known");
        case LZMA_FORMAT_ERROR: fail_corrupt("its header is wrong");
        default: fail_corrupt("its blocks or what follows them are wrong");
        }
        return capacity - state_.avail_out;
    }

    lzma_stream state_ = LZMA_STREAM_INIT;
};

class bzip2_decompressor final : public decompressor {
public:
    bzip2_decompressor(byte_input& from, std::size_t piece_bytes) : decompressor(compression::bzip2, from, piece_bytes)
    {
        begin();
    }
    bzip2_decompressor(const bzip2_decompressor&) = delete;
    bzip2_decompressor& operator=(const bzip2_decompressor&) = delete;
    ~bzip2_decompressor() override { ::BZ2_bzDecompressEnd(&state_); }

private:
    void begin()
    {
        if (::BZ2_bzDecompressInit(&state_, 0, 0) != BZ_OK)
            throw std::bad_alloc();
    }

    std::size_t step(char* buffer, std::size_t capacity) override
    {
        state_.next_in = const_cast<char*>(input.data()); // the library does not write to it
        state_.avail_in = static_cast<unsigned>(input.size());
        state_.next_out = buffer;
        state_.avail_out = static_cast<unsigned>(capacity);
        const int status = ::BZ2_bzDecompress(&state_);
        input.remove_prefix(input.size() - state_.avail_in);
        switch (status) {
        case BZ_OK: break;
        case BZ_STREAM_END: begin_next(); break;
        case BZ_MEM_ERROR: throw std::bad_alloc();
        case BZ_DATA_ERROR_MAGIC: fail_corrupt("a header is wrong");
        default: fail_corrupt("a block is wrong");
        }
        return capacity - state_.avail_out;
    }

    void begin_next()
    {
        is_complete = !has_input();
        if (is_complete)
            return;
        if (input.front() != bzip2_magic.front())
            fail_followed();
        const unsigned room = state_.avail_out;
        ::BZ2_bzDecompressEnd(&state_);
        state_ = {};
        begin();
        state_.avail_out = room;
    }

    bz_stream state_{};
};

} // namespace

std::string_view name_of(compression kind)
{
    switch (kind) {
    case compression::gzip: return "gzip";
    case compression::zstd: return "zstd";
    case compression::xz: return "xz";
    case compression::bzip2: break;
    }
    return "bzip2";
}

std::optional<compression> compression_of_front(std::string_view front)
{
    // Three bits of the fourth byte are reserved, and zero: raw elements are less often taken for gzip.
    if (front.size() > gzip_magic.size() && front.substr(0, gzip_magic.size()) == gzip_magic &&
        (static_cast<unsigned char>(front[gzip_magic.size()]) & 0xe0U) == 0)
        return compression::gzip;
    if (is_zstd(front))
        return compression::zstd;
    if (front.substr(0, xz_magic.size()) == xz_magic)
        return compression::xz;
    if (is_bzip2(front))
        return compression::bzip2;
    return std::nullopt;
}

std::optional<compression> compression_of_extension(std::string_view extension)
{
    if (extension == "gz" || extension == "bgz")
        return compression::gzip;
    if (extension == "zst" || extension == "zstd")
        return compression::zstd;
    if (extension == "xz")
        return compression::xz;
    if (extension == "bz2")
        return compression::bzip2;
    return std::nullopt;
}

bool ends_inside_magic(std::string_view content, compression kind)
{
    const auto is_front_of = [&](std::string_view magic) {
        return content.size() <= magic.size() && magic.substr(0, content.size()) == content;
    };
    switch (kind) {
    case compression::gzip: return is_front_of(gzip_magic);
    case compression::zstd: return content.size() < zstd_magic.size() && is_front_of(zstd_magic);
    case compression::xz: return content.size() < xz_magic.size() && is_front_of(xz_magic);
    case compression::bzip2: break;
    }
    if (content.size() <= bzip2_magic.size())
        return is_front_of(bzip2_magic);
    if (content.size() >= compression_magic_bytes || content.substr(0, bzip2_magic.size()) != bzip2_magic)
        return false;
    const std::string_view after = content.substr(bzip2_block_offset);
    return content[3] >= '1' && content[3] <= '9' &&
           (bzip2_block.substr(0, after.size()) == after || bzip2_end.substr(0, after.size()) == after);
}

std::unique_ptr<byte_stream> decompress(compression kind, byte_input& from, std::size_t piece_bytes)
{
    switch (kind) {
    case compression::gzip: return std::make_unique<gzip_decompressor>(from, piece_bytes);
    case compression::zstd: return std::make_unique<zstd_decompressor>(from, piece_bytes);
    case compression::xz: return std::make_unique<xz_decompressor>(from, piece_bytes);
    case compression::bzip2: break;
    }
    return std::make_unique<bzip2_decompressor>(from, piece_bytes);
}

std::unique_ptr<byte_input> decompressed(compression kind, std::unique_ptr<byte_input> from)
{
    from->allow_interrupt();
    const std::string name = from->name();
    const bool rereadable = from->rereadable();
    const auto open = [kind, source = std::shared_ptr<byte_input>(std::move(from))] {
        return std::make_unique<read_ahead>(decompress(kind, *source));
    };
    return std::make_unique<byte_input>(name, open, rereadable);
}

} // namespace upsweep::files
