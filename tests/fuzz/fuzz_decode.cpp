// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// Compressed files, archives and texts in other encodings end in a failure, or in the same bytes however they are cut.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include <upsweep/files.hpp>

#include "decompress.hpp"
#include "encoding.hpp"
#include "zip.hpp"

namespace {

namespace files = upsweep::files;

// A little input may stand for very much.
constexpr std::size_t most_bytes = std::size_t{1} << 18;

class memory_stream final : public files::byte_stream {
public:
    explicit memory_stream(std::string_view bytes) : rest_(bytes) {}

    std::size_t read(char* buffer, std::size_t capacity) override
    {
        const std::string_view taken = rest_.substr(0, capacity);
        std::copy(taken.begin(), taken.end(), buffer);
        rest_.remove_prefix(taken.size());
        return taken.size();
    }

private:
    std::string_view rest_;
};

struct outcome {
    std::string bytes;
    std::string error;
    bool operator==(const outcome&) const = default;
};

// What comes out of the stream that `make` gives.
template <class Make>
outcome read_all(const Make& make, std::size_t capacity)
{
    outcome result;
    try {
        const auto stream = make();
        std::string buffer(capacity, '\0');
        for (std::size_t got = capacity; got == capacity && result.bytes.size() < most_bytes;) {
            got = stream->read(buffer.data(), capacity);
            result.bytes.append(buffer, 0, got);
        }
        result.bytes.resize(std::min(result.bytes.size(), most_bytes));
    } catch (const files::failure& error) {
        result.error = error.what();
        result.bytes.clear(); // how many come before the error depends on how many are asked for
    }
    return result;
}

template <class Make>
void check(std::string_view bytes, const Make& make)
{
    const auto with = [&](std::size_t piece, std::size_t capacity) {
        files::byte_input input(
            "fuzzed", [&] { return std::make_unique<memory_stream>(bytes); }, true);
        return read_all([&] { return make(input, piece); }, capacity);
    };
    const outcome whole = with(files::byte_pieces::usual_bytes, 4096);
    const outcome in_drops = with(3, 61);
    if (whole.error.empty() != in_drops.error.empty() && whole.bytes.size() < most_bytes &&
        in_drops.bytes.size() < most_bytes)
        std::abort();
    if (whole.error.empty() && in_drops.error.empty() && whole.bytes != in_drops.bytes)
        std::abort();
}

void check_zip(std::string_view bytes)
{
    try {
        for (const files::zip_member& member : files::zip_members("fuzzed", bytes)) {
            const auto make = [&] { return files::read_zip_member("fuzzed", bytes, member); };
            const outcome whole = read_all(make, 4096);
            if (whole.error.empty() && whole.bytes.size() < most_bytes && whole.bytes.size() != member.bytes)
                std::abort();
        }
    } catch (const files::failure&) {
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    // A copy of the exact size, so that reading past its end is noticed.
    const std::string copy(reinterpret_cast<const char*>(data), size);
    const std::string_view bytes = copy;
    if (const auto kind = files::compression_of_front(bytes))
        check(bytes,
              [&](files::byte_input& input, std::size_t piece) { return files::decompress(*kind, input, piece); });
    else if (files::is_zip(bytes))
        check_zip(bytes);
    else
        check(bytes, [](files::byte_input& input, std::size_t piece) { return files::utf8_of_utf16(input, piece); });
    return 0;
}
