// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Stop watches, under the names by which the CUDA samples call them. Times are in milliseconds.
#pragma once

#include <chrono>

class StopWatchInterface {
public:
    virtual ~StopWatchInterface() = default;
    virtual void start()
    {
        began_ = clock::now();
        running_ = true;
    }
    virtual void stop()
    {
        total_ += since_start();
        running_ = false;
        ++sessions_;
    }
    // Sets the time to 0. A watch that runs goes on from here.
    virtual void reset()
    {
        total_ = 0;
        sessions_ = 0;
        if (running_)
            began_ = clock::now();
    }
    virtual float getTime() { return running_ ? total_ + since_start() : total_; }
    virtual float getAverageTime() { return sessions_ > 0 ? total_ / static_cast<float>(sessions_) : 0.0f; }

private:
    using clock = std::chrono::steady_clock;
    float since_start() const { return std::chrono::duration<float, std::milli>(clock::now() - began_).count(); }

    clock::time_point began_{};
    float total_ = 0;
    int sessions_ = 0;
    bool running_ = false;
};
using StopWatchLinux = StopWatchInterface;

inline bool sdkCreateTimer(StopWatchInterface** timer)
{
    *timer = new StopWatchInterface;
    return true;
}
inline bool sdkDeleteTimer(StopWatchInterface** timer)
{
    delete *timer;
    *timer = nullptr;
    return true;
}
inline bool sdkStartTimer(StopWatchInterface** timer)
{
    if (*timer != nullptr)
        (*timer)->start();
    return true;
}
inline bool sdkStopTimer(StopWatchInterface** timer)
{
    if (*timer != nullptr)
        (*timer)->stop();
    return true;
}
inline bool sdkResetTimer(StopWatchInterface** timer)
{
    if (*timer != nullptr)
        (*timer)->reset();
    return true;
}
inline float sdkGetAverageTimerValue(StopWatchInterface** timer)
{
    return *timer != nullptr ? (*timer)->getAverageTime() : 0.0f;
}
inline float sdkGetTimerValue(StopWatchInterface** timer) { return *timer != nullptr ? (*timer)->getTime() : -1.0f; }
