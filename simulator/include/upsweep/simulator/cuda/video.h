// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The video instructions: one operation on the two halves or the four bytes of a word. Their names end in the number of parts.
#pragma once

#include <limits>
#include <type_traits>

#include "upsweep/simulator/cuda/types.h"

namespace upsweep::simulator::video {

// Applies an operation on ints to the parts of a and b, each a number of type T. The lowest bits of each result are kept.
template <class T, class F>
inline unsigned each_part(unsigned a, unsigned b, F operation)
{
    constexpr unsigned width = 8 * sizeof(T);
    unsigned result = 0;
    for (unsigned i = 0; i < 32; i += width) {
        const int value = operation(static_cast<int>(static_cast<T>(a >> i)), static_cast<int>(static_cast<T>(b >> i)));
        result |= static_cast<unsigned>(static_cast<std::make_unsigned_t<T>>(value)) << i;
    }
    return result;
}

template <class T>
inline int saturated(int value)
{
    constexpr int low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    return value < low ? low : value > high ? high : value;
}

template <class T>
inline unsigned sum_of_differences(unsigned a, unsigned b)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 32; i += 8 * sizeof(T)) {
        const int x = static_cast<T>(a >> i), y = static_cast<T>(b >> i);
        sum += static_cast<unsigned>(x < y ? y - x : x - y);
    }
    return sum;
}

} // namespace upsweep::simulator::video

// An operation on parts x and y of signed (s) or unsigned (u) numbers, for halves and for bytes.
#define UPSWEEP_VIDEO(name, half, byte, ...)                                                                           \
    inline unsigned name##2(unsigned a, unsigned b)                                                                    \
    {                                                                                                                  \
        using part [[maybe_unused]] = half;                                                                            \
        return upsweep::simulator::video::each_part<half>(                                                             \
            a, b, []([[maybe_unused]] int x, [[maybe_unused]] int y) { return __VA_ARGS__; });                         \
    }                                                                                                                  \
    inline unsigned name##4(unsigned a, unsigned b)                                                                    \
    {                                                                                                                  \
        using part [[maybe_unused]] = byte;                                                                            \
        return upsweep::simulator::video::each_part<byte>(                                                             \
            a, b, []([[maybe_unused]] int x, [[maybe_unused]] int y) { return __VA_ARGS__; });                         \
    }
#define UPSWEEP_VIDEO_SIGNED(name, ...) UPSWEEP_VIDEO(name, short, signed char, __VA_ARGS__)
#define UPSWEEP_VIDEO_UNSIGNED(name, ...) UPSWEEP_VIDEO(name, unsigned short, unsigned char, __VA_ARGS__)
UPSWEEP_VIDEO_UNSIGNED(__vadd, x + y)
UPSWEEP_VIDEO_SIGNED(__vaddss, upsweep::simulator::video::saturated<part>(x + y))
UPSWEEP_VIDEO_UNSIGNED(__vaddus, upsweep::simulator::video::saturated<part>(x + y))
UPSWEEP_VIDEO_UNSIGNED(__vsub, x - y)
UPSWEEP_VIDEO_SIGNED(__vsubss, upsweep::simulator::video::saturated<part>(x - y))
UPSWEEP_VIDEO_UNSIGNED(__vsubus, upsweep::simulator::video::saturated<part>(x - y))
UPSWEEP_VIDEO_SIGNED(__vavgs, (x + y + (x + y >= 0)) >> 1)
UPSWEEP_VIDEO_UNSIGNED(__vavgu, (x + y + 1) >> 1)
UPSWEEP_VIDEO_UNSIGNED(__vhaddu, (x + y) >> 1)
UPSWEEP_VIDEO_SIGNED(__vabsdiffs, x < y ? y - x : x - y)
UPSWEEP_VIDEO_UNSIGNED(__vabsdiffu, x < y ? y - x : x - y)
UPSWEEP_VIDEO_SIGNED(__vmins, x < y ? x : y)
UPSWEEP_VIDEO_SIGNED(__vmaxs, x < y ? y : x)
UPSWEEP_VIDEO_UNSIGNED(__vminu, x < y ? x : y)
UPSWEEP_VIDEO_UNSIGNED(__vmaxu, x < y ? y : x)
UPSWEEP_VIDEO_UNSIGNED(__vcmpeq, -(x == y))
UPSWEEP_VIDEO_UNSIGNED(__vcmpne, -(x != y))
UPSWEEP_VIDEO_SIGNED(__vcmpges, -(x >= y))
UPSWEEP_VIDEO_SIGNED(__vcmpgts, -(x > y))
UPSWEEP_VIDEO_SIGNED(__vcmples, -(x <= y))
UPSWEEP_VIDEO_SIGNED(__vcmplts, -(x < y))
UPSWEEP_VIDEO_UNSIGNED(__vcmpgeu, -(x >= y))
UPSWEEP_VIDEO_UNSIGNED(__vcmpgtu, -(x > y))
UPSWEEP_VIDEO_UNSIGNED(__vcmpleu, -(x <= y))
UPSWEEP_VIDEO_UNSIGNED(__vcmpltu, -(x < y))
UPSWEEP_VIDEO_UNSIGNED(__vseteq, x == y)
UPSWEEP_VIDEO_UNSIGNED(__vsetne, x != y)
UPSWEEP_VIDEO_SIGNED(__vsetges, x >= y)
UPSWEEP_VIDEO_SIGNED(__vsetgts, x > y)
UPSWEEP_VIDEO_SIGNED(__vsetles, x <= y)
UPSWEEP_VIDEO_SIGNED(__vsetlts, x < y)
UPSWEEP_VIDEO_UNSIGNED(__vsetgeu, x >= y)
UPSWEEP_VIDEO_UNSIGNED(__vsetgtu, x > y)
UPSWEEP_VIDEO_UNSIGNED(__vsetleu, x <= y)
UPSWEEP_VIDEO_UNSIGNED(__vsetltu, x < y)
#undef UPSWEEP_VIDEO_SIGNED
#undef UPSWEEP_VIDEO_UNSIGNED
#undef UPSWEEP_VIDEO
inline unsigned __vneg2(unsigned a) { return __vsub2(0, a); }
inline unsigned __vneg4(unsigned a) { return __vsub4(0, a); }
inline unsigned __vnegss2(unsigned a) { return __vsubss2(0, a); }
inline unsigned __vnegss4(unsigned a) { return __vsubss4(0, a); }
inline unsigned __vabs2(unsigned a) { return __vabsdiffs2(a, 0); }
inline unsigned __vabs4(unsigned a) { return __vabsdiffs4(a, 0); }
inline unsigned __vabsss2(unsigned a) { return __vmaxs2(a, __vnegss2(a)); }
inline unsigned __vabsss4(unsigned a) { return __vmaxs4(a, __vnegss4(a)); }
inline unsigned __vsads2(unsigned a, unsigned b) { return upsweep::simulator::video::sum_of_differences<short>(a, b); }
inline unsigned __vsads4(unsigned a, unsigned b)
{
    return upsweep::simulator::video::sum_of_differences<signed char>(a, b);
}
inline unsigned __vsadu2(unsigned a, unsigned b)
{
    return upsweep::simulator::video::sum_of_differences<unsigned short>(a, b);
}
inline unsigned __vsadu4(unsigned a, unsigned b)
{
    return upsweep::simulator::video::sum_of_differences<unsigned char>(a, b);
}
