// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>

#include <zlib.h>
#include <zstd.h>

#include "decompress.hpp"
#include "encoding.hpp"
#include "read_ahead.hpp"
#include "scratch.hpp"

// What stands before the readers: decompression in a thread of its own, and text in other encodings.
namespace upsweep::files::test {

namespace {

class decode : public scratch {};

std::string gzip(std::string_view content)
{
    z_stream state{};
    constexpr int gzip_alone = 16;
    EXPECT_EQ(deflateInit2(&state, 1, Z_DEFLATED, MAX_WBITS + gzip_alone, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string result(deflateBound(&state, content.size()), '\0');
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    state.avail_in = static_cast<uInt>(content.size());
    state.next_out = reinterpret_cast<Bytef*>(result.data());
    state.avail_out = static_cast<uInt>(result.size());
    EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
    result.resize(state.total_out);
    deflateEnd(&state);
    return result;
}

std::string zstd(std::string_view content)
{
    std::string result(ZSTD_compressBound(content.size()), '\0');
    result.resize(ZSTD_compress(result.data(), result.size(), content.data(), content.size(), 1));
    return result;
}

std::string numbers(std::size_t count)
{
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
        text += std::to_string(i * 2654435761U % 1000003) + "\n";
    return text;
}

std::string all_of(byte_stream& stream, std::size_t capacity)
{
    std::string result;
    std::string buffer(capacity, '\0');
    for (std::size_t got = capacity; got == capacity;) {
        got = stream.read(buffer.data(), capacity);
        result.append(buffer, 0, got);
    }
    return result;
}

// Counts up to a number, and then fails.
class counting_stream final : public byte_stream {
public:
    counting_stream(std::size_t bytes, std::atomic<std::size_t>& done) : bytes_(bytes), done_(done) {}

    std::size_t read(char* buffer, std::size_t capacity) override
    {
        if (done_ + capacity > bytes_)
            throw failure("counted", {.byte = bytes_}, {"no more"});
        for (std::size_t i = 0; i < capacity; ++i)
            buffer[i] = static_cast<char>((done_ + i) % 251);
        done_ += capacity;
        return capacity;
    }

private:
    std::size_t bytes_;
    std::atomic<std::size_t>& done_;
};

} // namespace

TEST_F(decode, pieces_of_any_size_give_the_same)
{
    const std::string content = numbers(20'000);
    for (const auto& [kind, compressed] : {std::pair{compression::gzip, gzip(content) + gzip("") + gzip(content)},
                                           {compression::zstd, zstd(content) + zstd("") + zstd(content)}}) {
        EXPECT_EQ(compression_of_front(compressed), kind);
        byte_input mapped(write("a", compressed));
        for (const std::size_t piece : {1UL, 7UL, 65536UL})
            for (const std::size_t capacity : {3UL, 4096UL, 10'000'000UL})
                EXPECT_EQ(all_of(*decompress(kind, mapped, piece), capacity), content + content);
        pipe_of pipe(compressed);
        byte_input piped(pipe.path());
        EXPECT_EQ(all_of(*decompress(kind, piped, 1000), 1000), content + content);
    }
}

TEST_F(decode, a_truncated_file_fails_at_its_end)
{
    for (const auto& [name, whole] : {std::pair{"a.txt.gz", gzip("1 2 3")}, {"a.txt.zst", zstd("1 2 3")}})
        for (std::size_t length = 0; length < whole.size(); ++length) {
            const failure error =
                failure_of([&, part = write(name, whole.substr(0, length))] { return elements_of<double>(part); });
            EXPECT_EQ(error.where().byte, length) << error.what();
            EXPECT_NE(error.reason().find("is truncated"), std::string::npos) << error.what();
        }
}

TEST_F(decode, readers_can_read_a_compressed_file_again)
{
    const std::string content = numbers(400'000);
    const auto in = open(write("a.txt.gz", gzip(content)));
    EXPECT_TRUE(in->rereadable());
    EXPECT_EQ(in->dtype(), UPSWEEP_I64);
    EXPECT_TRUE(in->read_as(UPSWEEP_F64));
    const std::vector<double> first = elements_of<double>(*in);
    EXPECT_EQ(first, elements_of<double>(write("a.txt", content)));
    EXPECT_EQ(elements_of<double>(*in), first);
    struct enough {};
    EXPECT_THROW(in->read([](const chunk&) { throw enough(); }), enough);
    EXPECT_EQ(elements_of<double>(*in), first);
    pipe_of pipe(gzip(content));
    EXPECT_FALSE(open(pipe.path())->rereadable());
}

TEST_F(decode, a_thread_reads_ahead_of_its_reader_but_not_far)
{
    std::atomic<std::size_t> done = 0;
    constexpr std::size_t whole = std::size_t{1} << 24;
    {
        read_ahead stream(std::make_unique<counting_stream>(whole, done));
        std::string buffer(1000, '\0');
        EXPECT_EQ(stream.read(buffer.data(), buffer.size()), buffer.size());
    } // the thread has ended
    EXPECT_LE(done, std::size_t{2} << 20);

    done = 0;
    read_ahead stream(std::make_unique<counting_stream>(whole, done));
    std::string buffer(4099, '\0');
    std::size_t position = 0;
    const failure error = failure_of([&] {
        for (;; position += buffer.size()) {
            stream.read(buffer.data(), buffer.size());
            for (std::size_t i = 0; i < buffer.size(); ++i)
                if (buffer[i] != static_cast<char>((position + i) % 251))
                    return position;
        }
    });
    EXPECT_EQ(error.where().byte, whole);
    EXPECT_EQ(position, whole / buffer.size() * buffer.size());
}

TEST_F(decode, whoever_waits_for_a_pipe_can_be_ended)
{
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const std::string front = zstd(numbers(1000)).substr(0, 100);
    ASSERT_EQ(::write(ends[1], front.data(), front.size()), static_cast<ssize_t>(front.size()));
    {
        const auto input =
            decompressed(compression::zstd, std::make_unique<byte_input>("/dev/fd/" + std::to_string(ends[0])));
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the thread begins to wait
    }                                                               // and ends, though the pipe stays open
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_F(decode, utf16_in_pieces_of_any_size)
{
    // Of one to four bytes in UTF-8, and a byte order mark that is a character.
    const std::u16string text = u"1,\u00e9 \u20ac\ufeff\U0001d11e\n\U0010ffff2";
    const std::string expected = "1,\xc3\xa9 \xe2\x82\xac\xef\xbb\xbf\xf0\x9d\x84\x9e\n\xf4\x8f\xbf\xbf"
                                 "2";
    for (const bool big : {false, true}) {
        std::string bytes = big ? "\xfe\xff" : "\xff\xfe";
        for (const char16_t unit : text) {
            const auto high = static_cast<char>(unit >> 8);
            const auto low = static_cast<char>(unit & 0xff);
            bytes += big ? std::string{high, low} : std::string{low, high};
        }
        byte_input mapped(write("a", bytes));
        for (const std::size_t piece : {2UL, 3UL, 5UL, 100UL})
            for (const std::size_t capacity : {1UL, 5UL, 100UL})
                EXPECT_EQ(all_of(*utf8_of_utf16(mapped, piece), capacity), expected);
    }
}

TEST_F(decode, plain_text_stays_mapped)
{
    for (const std::string plain : {"", "1\n2\n", "1\r\n2\r\n",
                                    "\xef\xbb\xbf"
                                    "1\n"}) {
        const auto input = as_plain_text(std::make_unique<byte_input>(write("a", plain)));
        EXPECT_FALSE(input->is_decoded());
        EXPECT_EQ(input->is_mapped(), !plain.empty());
    }
    EXPECT_TRUE(as_plain_text(std::make_unique<byte_input>(write("a", "1\r2\r")))->is_decoded());
}

} // namespace upsweep::files::test
