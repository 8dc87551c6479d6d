// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>
#include <upsweep/files.hpp>

#include "dtype.hpp"
#include "temporaries.hpp"

namespace upsweep::files {

namespace {

// Whole elements of every type.
constexpr std::size_t block_bytes = std::size_t{4} << 20;
constexpr std::size_t most_blocks_in_memory = 64;

// A temporary file that has no name, so that it goes with the process, however that ends.
class nameless_file {
public:
    nameless_file(const nameless_file&) = delete;
    nameless_file& operator=(const nameless_file&) = delete;
    ~nameless_file() { ::close(descriptor_); }

    // `whose` is what the file has a copy of.
    explicit nameless_file(const std::string& whose) : whose_(whose), folder_(folder())
    {
        descriptor_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, S_IRUSR | S_IWUSR);
        if (descriptor_ >= 0)
            return;
        // Not every file system can do that.
        std::string path = folder_ + "/upsweep-XXXXXX";
        descriptor_ = ::mkostemp(path.data(), O_CLOEXEC);
        if (descriptor_ < 0)
            fail(errno);
        const listed_temporary listed(path);
        ::unlink(path.c_str());
    }

    void append(const char* bytes, std::size_t count)
    {
        while (count > 0) {
            const ssize_t written = ::write(descriptor_, bytes, count);
            if (written < 0 && errno == EINTR)
                continue;
            if (written <= 0)
                fail(errno);
            bytes += written;
            count -= static_cast<std::size_t>(written);
            size_ += static_cast<std::uint64_t>(written);
        }
    }

    std::uint64_t size() const { return size_; }

    void read(std::uint64_t from, char* bytes, std::size_t count) const
    {
        while (count > 0) {
            const ssize_t got = ::pread(descriptor_, bytes, count, static_cast<off_t>(from));
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                fail(got < 0 ? errno : EIO);
            bytes += got;
            from += static_cast<std::uint64_t>(got);
            count -= static_cast<std::size_t>(got);
        }
    }

private:
    static std::string folder()
    {
        const char* const named = std::getenv("TMPDIR");
        return named == nullptr || *named == '\0' ? "/tmp" : named;
    }

    [[noreturn]] void fail(int error_number) const
    {
        throw failure(whose_, {},
                      {fmt::format("is more than {} MB, of which a second reading needs a copy, and a temporary file "
                                   "in {} cannot be used: {}",
                                   (most_blocks_in_memory * block_bytes) >> 20, folder_, std::strerror(error_number)),
                       remedy::avoid_second_reading});
    }

    std::string whose_;
    std::string folder_;
    int descriptor_ = -1;
    std::uint64_t size_ = 0;
};

// Bytes in blocks of memory, and those that come after in a file.
class byte_store {
public:
    void append(const std::string& whose, const char* bytes, std::size_t count)
    {
        while (count > 0) {
            if (used_ == block_bytes && file_ == nullptr && !add_block())
                file_ = std::make_unique<nameless_file>(whose);
            if (file_ != nullptr)
                return file_->append(bytes, count);
            const std::size_t taken = std::min(count, block_bytes - used_);
            std::memcpy(blocks_.back().get() + used_, bytes, taken);
            used_ += taken;
            bytes += taken;
            count -= taken;
        }
    }

    // Calls take(bytes, count) with whole elements.
    template <class Take>
    void read(const Take& take) const
    {
        for (std::size_t k = 0; k < blocks_.size(); ++k)
            take(blocks_[k].get(), k + 1 < blocks_.size() ? block_bytes : used_);
        if (file_ == nullptr)
            return;
        const auto block = std::make_unique_for_overwrite<char[]>(block_bytes);
        for (std::uint64_t done = 0; done < file_->size(); done += block_bytes) {
            const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes, file_->size() - done));
            file_->read(done, block.get(), size);
            take(block.get(), size);
        }
    }

private:
    bool add_block()
    {
        if (blocks_.size() == most_blocks_in_memory)
            return false;
        try {
            blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_bytes));
        } catch (const std::bad_alloc&) {
            return false;
        }
        used_ = 0;
        return true;
    }

    std::vector<std::unique_ptr<char[]>> blocks_;
    std::size_t used_ = block_bytes; // of the last block
    std::unique_ptr<nameless_file> file_;
};

class kept_reader final : public reader {
public:
    explicit kept_reader(std::unique_ptr<reader> from) : from_(std::move(from)) {}

    const std::string& name() const override { return from_->name(); }
    upsweep_dtype dtype() const override { return from_->dtype(); }
    std::optional<std::vector<std::uint64_t>> shape() const override { return from_->shape(); }
    std::optional<std::uint64_t> count() const override { return is_kept_ ? count_ : from_->count(); }
    std::optional<std::uint64_t> bytes() const override { return is_kept_ ? bytes_ : from_->bytes(); }
    std::optional<table_layout> table() const override { return from_->table(); }
    bool rereadable() const override { return true; }
    bool read_as(upsweep_dtype dtype) override { return !is_kept_ && from_->read_as(dtype); }
    bool keeps_cores_busy() const override { return !is_kept_ && from_->keeps_cores_busy(); }

    void read(const sink& take) override
    {
        if (is_kept_)
            return read_again(take);
        const std::uint64_t size = dtype_size(dtype());
        from_->read([&](const chunk& c) {
            store_.append(name(), static_cast<const char*>(c.elements), c.count * size);
            count_ += c.count;
            bytes_ += c.bytes;
            missing_ += c.missing;
            take(c);
        });
        is_kept_ = true;
    }

private:
    void read_again(const sink& take)
    {
        const std::uint64_t size = dtype_size(dtype());
        // All bytes of the file count as read for the first elements.
        std::uint64_t bytes = bytes_;
        std::uint64_t missing = missing_;
        store_.read([&](const char* elements, std::size_t element_bytes) {
            take({elements, element_bytes / size, std::exchange(bytes, 0), std::exchange(missing, 0)});
        });
    }

    std::unique_ptr<reader> from_;
    byte_store store_;
    std::uint64_t count_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t missing_ = 0;
    bool is_kept_ = false;
};

} // namespace

std::unique_ptr<reader> kept(std::unique_ptr<reader> from) { return std::make_unique<kept_reader>(std::move(from)); }

} // namespace upsweep::files
