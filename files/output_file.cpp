// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <upsweep/files.hpp>

namespace upsweep::files {

namespace {

std::string resolved(const std::string& path)
{
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
    return real == nullptr ? path : real.get(); // a file that is not there yet
}

mode_t permissions_of_new_file()
{
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

} // namespace

output_file::output_file(const std::string& path) : name_(path == "-" ? "standard output" : path)
{
    if (path == "-") {
        descriptor_ = STDOUT_FILENO;
        return;
    }
    struct stat status {};
    const bool exists = ::stat(path.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        throw failure(name_, {}, {"is a directory; name a file in it"});
    if (exists && !S_ISREG(status.st_mode)) {
        descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        if (descriptor_ < 0)
            throw system_failure(name_, "cannot be written", errno);
        return;
    }
    // Renaming over a file asks for no permission on the file itself, but its owner took it away on purpose.
    if (exists && ::access(path.c_str(), W_OK) != 0)
        throw system_failure(name_, "cannot be written", errno);

    target_ = resolved(path);
    temporary_ = target_ + ".XXXXXX";
    descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
    if (descriptor_ < 0) {
        const int reason = errno;
        temporary_.clear();
        throw system_failure(name_, "cannot be written", reason);
    }
    listed_.emplace(temporary_);
    if (!exists) {
        ::fchmod(descriptor_, permissions_of_new_file());
        return;
    }
    // What takes the place of a file belongs to the file's owner and group, as far as the user may give it to them; the
    // bits that lend their rights go with them. A change of owner clears those, so it comes first.
    const bool same_owner = ::fchown(descriptor_, status.st_uid, status.st_gid) == 0;
    const bool same_group = same_owner || ::fchown(descriptor_, static_cast<uid_t>(-1), status.st_gid) == 0;
    const mode_t lent = (same_owner ? S_ISUID : 0U) | (same_group ? S_ISGID : 0U) | S_ISVTX;
    ::fchmod(descriptor_, status.st_mode & (0777U | lent));
}

output_file::~output_file()
{
    if (descriptor_ > STDOUT_FILENO)
        ::close(descriptor_);
    if (!temporary_.empty())
        ::unlink(temporary_.c_str());
}

void output_file::write(std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            throw system_failure(name_, "cannot be written", errno);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void output_file::overwrite_front(std::string_view bytes)
{
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), 0);
    if (written != static_cast<ssize_t>(bytes.size()))
        throw system_failure(name_, "cannot be written", errno);
}

void output_file::commit()
{
    if (descriptor_ == STDOUT_FILENO)
        return;
    const int descriptor = descriptor_;
    descriptor_ = -1;
    if (::close(descriptor) != 0)
        throw system_failure(name_, "cannot be written", errno);
    if (temporary_.empty())
        return;
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0)
        throw system_failure(name_, "cannot be written", errno);
    listed_.reset();
    temporary_.clear();
}

} // namespace upsweep::files
