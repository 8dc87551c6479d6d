// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "zip.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include <fmt/core.h>
#include <upsweep/files.hpp>
#include <zlib.h>

#include "read_ahead.hpp"

namespace upsweep::files {

namespace {

// PKWARE's APPNOTE.TXT names the records, and the offsets of the fields within them.
constexpr std::string_view local_header_magic = "PK\x03\x04";
constexpr std::string_view directory_entry_magic = "PK\x01\x02";
constexpr std::string_view directory_end_magic = "PK\x05\x06";
constexpr std::string_view zip64_locator_magic = "PK\x06\x07";
constexpr std::string_view zip64_end_magic = "PK\x06\x06";
constexpr std::size_t local_header_bytes = 30;
constexpr std::size_t directory_entry_bytes = 46;
constexpr std::size_t directory_end_bytes = 22;
constexpr std::size_t zip64_locator_bytes = 20;
constexpr std::size_t zip64_end_bytes = 56;
constexpr std::size_t longest_comment = 65535;
constexpr std::uint32_t in_zip64 = 0xffffffff;
constexpr unsigned zip64_extra = 1;
constexpr unsigned stored = 0;
constexpr unsigned deflated = 8;

template <class Integer>
Integer number_at(std::string_view bytes, std::size_t offset)
{
    Integer value = 0;
    for (std::size_t i = sizeof value; i-- > 0;)
        value = static_cast<Integer>(value << 8 | static_cast<unsigned char>(bytes[offset + i]));
    return value;
}

[[noreturn]] void fail(const std::string& archive, std::uint64_t byte, std::string_view what)
{
    throw failure(archive, {.byte = byte}, {std::string(what)});
}

// A record of the archive, which must begin with these bytes.
std::string_view record(const std::string& archive, std::string_view content, std::uint64_t offset, std::uint64_t bytes,
                        std::string_view magic)
{
    const bool fits = offset <= content.size() && bytes <= content.size() - offset;
    const std::string_view found = fits ? content.substr(offset, bytes) : std::string_view();
    if (!fits || found.substr(0, magic.size()) != magic)
        fail(archive, std::min<std::uint64_t>(offset, content.size()),
             "the zip archive is damaged: a record is not where its directory says; copy or save it again");
    return found;
}

struct directory_place {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

directory_place find_directory(const std::string& archive, std::string_view content)
{
    // The last record is found from its end, as a comment of any length follows it.
    std::size_t end = std::string_view::npos;
    const std::size_t fewest = content.size() - std::min(content.size(), directory_end_bytes + longest_comment);
    for (std::size_t at = content.rfind(directory_end_magic); at != content.npos && at >= fewest;
         at = at == 0 ? content.npos : content.rfind(directory_end_magic, at - 1)) {
        constexpr std::size_t comment_length = 20;
        if (content.size() - at < directory_end_bytes)
            continue;
        if (at + directory_end_bytes + number_at<std::uint16_t>(content, at + comment_length) == content.size()) {
            end = at;
            break;
        }
    }
    if (end == content.npos)
        fail(archive, content.size(), "the zip archive is truncated: it has no directory; copy or save it again");

    const std::string_view last = content.substr(end, directory_end_bytes);
    directory_place place{number_at<std::uint32_t>(last, 16), number_at<std::uint32_t>(last, 12)};
    if (end >= zip64_locator_bytes) {
        const std::string_view locator = content.substr(end - zip64_locator_bytes, zip64_locator_bytes);
        if (locator.substr(0, zip64_locator_magic.size()) == zip64_locator_magic) {
            const std::string_view wide =
                record(archive, content, number_at<std::uint64_t>(locator, 8), zip64_end_bytes, zip64_end_magic);
            place = {number_at<std::uint64_t>(wide, 48), number_at<std::uint64_t>(wide, 40)};
        }
    }
    record(archive, content, place.offset, place.bytes, "");
    return place;
}

// Fills in the numbers that did not fit the entry, in the order in which their record has them.
void read_zip64(std::string_view extra, zip_member& member)
{
    constexpr std::size_t tag_bytes = 4;
    while (extra.size() >= tag_bytes) {
        const unsigned tag = number_at<std::uint16_t>(extra, 0);
        std::string_view body = extra.substr(tag_bytes, number_at<std::uint16_t>(extra, 2));
        extra.remove_prefix(std::min(extra.size(), tag_bytes + number_at<std::uint16_t>(extra, 2)));
        if (tag != zip64_extra)
            continue;
        for (std::uint64_t* const number : {&member.bytes, &member.stored_bytes, &member.header_offset}) {
            if (*number != in_zip64 || body.size() < sizeof *number)
                continue;
            *number = number_at<std::uint64_t>(body, 0);
            body.remove_prefix(sizeof *number);
        }
    }
}

class member_stream final : public byte_stream {
public:
    // `stored_bytes` is a part of the archive, which begins at this offset.
    member_stream(std::string archive, zip_member member, std::string_view stored_bytes, std::uint64_t offset)
        : archive_(std::move(archive)), member_(std::move(member)), rest_(stored_bytes),
          end_(offset + stored_bytes.size())
    {
        if (member_.method == deflated && ::inflateInit2(&state_, -MAX_WBITS) != Z_OK)
            throw std::bad_alloc();
    }
    member_stream(const member_stream&) = delete;
    member_stream& operator=(const member_stream&) = delete;
    ~member_stream() override
    {
        if (member_.method == deflated)
            ::inflateEnd(&state_);
    }

    std::size_t read(char* buffer, std::size_t capacity) override
    {
        std::size_t done = 0;
        while (done < capacity && !is_complete_) {
            // zlib's counts have 32 bits.
            const std::size_t room = std::min<std::size_t>(capacity - done, std::numeric_limits<int>::max());
            const std::size_t written =
                member_.method == deflated ? inflate_to(buffer + done, room) : copy_to(buffer + done, room);
            checksum_ = static_cast<std::uint32_t>(
                ::crc32(checksum_, reinterpret_cast<const Bytef*>(buffer + done), static_cast<uInt>(written)));
            total_ += written;
            done += written;
            if (total_ > member_.bytes || (is_complete_ && (total_ != member_.bytes || !rest_.empty())))
                fail_damaged("its length is not what the directory says");
            if (is_complete_ && checksum_ != member_.checksum)
                fail_damaged("its checksum is not what the directory says");
        }
        return done;
    }

private:
    std::size_t copy_to(char* buffer, std::size_t capacity)
    {
        const std::string_view taken = rest_.substr(0, capacity);
        std::copy(taken.begin(), taken.end(), buffer);
        rest_.remove_prefix(taken.size());
        is_complete_ = rest_.empty();
        return taken.size();
    }

    std::size_t inflate_to(char* buffer, std::size_t capacity)
    {
        const std::size_t given = std::min<std::size_t>(rest_.size(), std::numeric_limits<int>::max());
        state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data())); // zlib does not write to it
        state_.avail_in = static_cast<uInt>(given);
        state_.next_out = reinterpret_cast<Bytef*>(buffer);
        state_.avail_out = static_cast<uInt>(capacity);
        const int status = ::inflate(&state_, Z_NO_FLUSH);
        rest_.remove_prefix(given - state_.avail_in);
        is_complete_ = status == Z_STREAM_END;
        if (status == Z_MEM_ERROR)
            throw std::bad_alloc();
        if (status == Z_BUF_ERROR) // no progress: all that was stored has been seen
            fail_damaged("it ends too early");
        if (status != Z_OK && status != Z_STREAM_END)
            fail_damaged(state_.msg != nullptr ? state_.msg : "unknown");
        return capacity - state_.avail_out;
    }

    [[noreturn]] void fail_damaged(std::string_view how) const
    {
        fail(archive_, end_ - rest_.size(),
             fmt::format("{} in the zip archive is damaged ({}); copy or save it again", in_quotes(member_.name), how));
    }

    std::string archive_;
    zip_member member_;
    std::string_view rest_; // of the stored bytes
    std::uint64_t end_;     // of them in the archive
    z_stream state_{};
    std::uint64_t total_ = 0;
    std::uint32_t checksum_ = 0;
    bool is_complete_ = false;
};

// A few names, for a message.
std::string list_of(const std::vector<zip_member>& members)
{
    constexpr std::size_t most = 10;
    std::string list;
    for (std::size_t i = 0; i < std::min(most, members.size()); ++i)
        list += (i == 0 ? "" : ", ") + in_quotes(members[i].name);
    if (members.size() > most)
        list += fmt::format(" and {} more", members.size() - most);
    return list;
}

[[noreturn]] void fail(const std::string& archive, const std::string& what) { throw failure(archive, {}, {what}); }

const zip_member& choose(const std::string& archive, const std::vector<zip_member>& members,
                         const std::optional<std::string>& name)
{
    if (name) {
        for (const std::string& spelling : {*name, *name + ".npy"})
            for (const zip_member& each : members)
                if (each.name == spelling)
                    return each;
        fail(archive, fmt::format("no {} in this zip archive, which holds {}", in_quotes(*name), list_of(members)));
    }
    const auto is_of_workbook = [](const zip_member& each) { return each.name.substr(0, 3) == "xl/"; };
    if (std::any_of(members.begin(), members.end(), is_of_workbook))
        fail(archive, "is an Excel workbook; save the sheet as CSV, or with Python: "
                      "pandas.read_excel('FILE.xlsx').to_csv('FILE.csv', index=False)");
    if (members.empty())
        fail(archive, "is a zip archive without files in it; name another file");
    if (members.size() > 1) {
        const std::string file = archive == "standard input" ? "FILE.zip" : archive;
        fail(archive, fmt::format("holds {} files: {}; name one, as {}:{}", members.size(), list_of(members), file,
                                  members.front().name));
    }
    return members.front();
}

} // namespace

bool is_zip(std::string_view front)
{
    const std::string_view magic = front.substr(0, local_header_magic.size());
    return magic == local_header_magic || magic == directory_end_magic; // one without files is its directory's end
}

std::vector<zip_member> zip_members(const std::string& archive, std::string_view content)
{
    const directory_place place = find_directory(archive, content);
    std::vector<zip_member> members;
    for (std::uint64_t at = place.offset; at < place.offset + place.bytes;) {
        const std::string_view entry = record(archive, content, at, directory_entry_bytes, directory_entry_magic);
        const std::size_t name_bytes = number_at<std::uint16_t>(entry, 28);
        const std::size_t extra_bytes = number_at<std::uint16_t>(entry, 30);
        const std::size_t comment_bytes = number_at<std::uint16_t>(entry, 32);
        const std::size_t whole = directory_entry_bytes + name_bytes + extra_bytes + comment_bytes;
        const std::string_view tail =
            record(archive, content, at, whole, directory_entry_magic).substr(directory_entry_bytes);
        at += whole;

        zip_member member;
        member.name = tail.substr(0, name_bytes);
        member.is_encrypted = (number_at<std::uint16_t>(entry, 8) & 1U) != 0;
        member.method = number_at<std::uint16_t>(entry, 10);
        member.checksum = number_at<std::uint32_t>(entry, 16);
        member.stored_bytes = number_at<std::uint32_t>(entry, 20);
        member.bytes = number_at<std::uint32_t>(entry, 24);
        member.header_offset = number_at<std::uint32_t>(entry, 42);
        read_zip64(tail.substr(name_bytes, extra_bytes), member);

        // Folders are no files, and those of macOS describe the others.
        const bool is_folder = !member.name.empty() && member.name.back() == '/';
        if (!is_folder && member.name.rfind("__MACOSX/", 0) != 0)
            members.push_back(std::move(member));
    }
    return members;
}

std::unique_ptr<byte_stream> read_zip_member(const std::string& archive, std::string_view content,
                                             const zip_member& member)
{
    const std::string quoted = in_quotes(member.name);
    if (member.is_encrypted)
        fail(archive, fmt::format("{} in the zip archive is encrypted; extract it with its password", quoted));
    if (member.method != stored && member.method != deflated)
        fail(archive, fmt::format("{} in the zip archive is compressed by method {}, not by deflate; extract it, or "
                                  "make the archive with zip",
                                  quoted, member.method));
    const std::string_view header =
        record(archive, content, member.header_offset, local_header_bytes, local_header_magic);
    const std::uint64_t offset = member.header_offset + local_header_bytes + number_at<std::uint16_t>(header, 26) +
                                 number_at<std::uint16_t>(header, 28);
    const std::string_view stored_bytes = record(archive, content, offset, member.stored_bytes, "");
    return std::make_unique<member_stream>(archive, member, stored_bytes, offset);
}

zip_input open_zip(std::unique_ptr<byte_input> archive, const std::optional<std::string>& member)
{
    const std::string name = archive->name();
    if (!archive->is_mapped())
        fail(name, "is a zip archive, which can be read from a file alone; save and name it, or send what is in it: "
                   "unzip -p FILE.zip");
    const zip_member chosen = choose(name, zip_members(name, archive->content()), member);
    const auto open = [name, chosen, source = std::shared_ptr<byte_input>(std::move(archive))] {
        return std::make_unique<read_ahead>(read_zip_member(name, source->content(), chosen));
    };
    return {std::make_unique<byte_input>(member ? name + ":" + chosen.name : name, open, true), chosen.name};
}

} // namespace upsweep::files
