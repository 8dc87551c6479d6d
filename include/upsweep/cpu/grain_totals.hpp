// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <upsweep/cpu/parallel.hpp>

namespace upsweep::cpu_engine {

// The totals of the grains of an array, which threads tell one another. Nobody waits long for a thread that does not run: where
// the operating system has given its core to another program, the thread that needs a total folds the grain itself, and both
// find the same bits.
template <class Acc>
class grain_totals {
public:
    explicit grain_totals(std::size_t count) : count_(count), grains_(std::make_unique<grain[]>(count)) {}

    // The grain that no thread has taken yet, if there is one.
    std::optional<std::size_t> take()
    {
        const std::size_t k = next_.fetch_add(1, std::memory_order_relaxed);
        return k < count_ ? std::optional(k) : std::nullopt;
    }

    // The first to tell a total is heard.
    void tell(std::size_t k, Acc total)
    {
        grain& g = grains_[k];
        if (auto expected = stage::unknown; g.now.compare_exchange_strong(expected, stage::being_told)) {
            g.total = std::move(total);
            g.now.store(stage::known);
        }
        pause_until([&] { return is_known(k); });
    }

    bool is_known(std::size_t k) const { return grains_[k].now.load() == stage::known; }
    const Acc& operator[](std::size_t k) const { return grains_[k].total; } // which is known

    // Gives the grain's thread the time that it needs if it runs: twenty to forty microseconds.
    bool is_known_soon(std::size_t k) const
    {
        constexpr int patience = 1024;
        for (int spin = 0; spin < patience; ++spin) {
            if (is_known(k))
                return true;
            pause();
        }
        return is_known(k);
    }

    // While it lives, the grain is read by another thread than the one that scans it, perhaps in place.
    class reading {
    public:
        explicit reading(std::atomic<int>& readers) : readers_(readers) { ++readers_; }
        ~reading() { --readers_; }
        reading(const reading&) = delete;
        reading& operator=(const reading&) = delete;

    private:
        std::atomic<int>& readers_;
    };
    reading read_grain(std::size_t k) { return reading(grains_[k].readers); }

    // Returns when no other thread reads the grain, nor will: its total is known.
    void wait_for_readers(std::size_t k) const
    {
        pause_until([&] { return grains_[k].readers.load() == 0; });
    }

    // The total of a grain, for which this thread does not wait long: where the grain's thread is late, it computes total_of(k) itself.
    template <class TotalOf>
    const Acc& learn(std::size_t k, TotalOf total_of)
    {
        if (!is_known_soon(k)) {
            const auto reading_it = read_grain(k);
            if (!is_known(k))
                tell(k, total_of(k));
        }
        return grains_[k].total;
    }

private:
    enum class stage : std::uint8_t { unknown, being_told, known };
    struct grain {
        std::atomic<stage> now{stage::unknown};
        std::atomic<int> readers{0};
        Acc total;
    };

    std::size_t count_;
    std::unique_ptr<grain[]> grains_;
    std::atomic<std::size_t> next_{0};
};

} // namespace upsweep::cpu_engine
