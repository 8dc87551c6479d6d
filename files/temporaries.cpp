// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "temporaries.hpp"

#include <atomic>

#include <unistd.h>
#include <upsweep/files.hpp>

namespace upsweep::files {

// A signal handler may touch little else than lock-free atomics, and may find the list in any state. So entries are
// added at the front, used again, and never freed; who owns the path of one is told by its state.
struct listed_temporary::entry {
    enum class state : int { unused, being_written, listed, being_removed };

    std::string path;
    std::atomic<state> now{state::being_written};
    entry* next = nullptr;
};

namespace {

using entry = listed_temporary::entry;
using state = entry::state;
static_assert(std::atomic<state>::is_always_lock_free && std::atomic<entry*>::is_always_lock_free);

std::atomic<entry*> front{nullptr};

// Whether the entry went from one state to the other: false where another thread, or a signal handler, came first.
bool pass(entry& of, state from, state to) { return of.now.compare_exchange_strong(from, to); }

entry* unused_entry()
{
    for (entry* e = front; e != nullptr; e = e->next)
        if (pass(*e, state::unused, state::being_written))
            return e;
    auto* const added = new entry;
    added->next = front;
    while (!front.compare_exchange_weak(added->next, added)) {
    }
    return added;
}

} // namespace

listed_temporary::listed_temporary(const std::string& path) : entry_(unused_entry())
{
    entry_->path = path;
    entry_->now = state::listed;
}

// Where a signal handler removes the file at this moment, the entry is its own, and the process ends.
listed_temporary::~listed_temporary() { pass(*entry_, state::listed, state::unused); }

void remove_temporaries() noexcept
{
    for (entry* e = front; e != nullptr; e = e->next)
        if (pass(*e, state::listed, state::being_removed))
            ::unlink(e->path.c_str());
}

} // namespace upsweep::files
