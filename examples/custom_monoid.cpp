// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// A linear recurrence by a scan. Each month a balance becomes rate * balance + payment. Such steps compose into steps of
// the same kind, which makes them a monoid, and an ordered one: it matters which of two steps comes first.
#include <cstdio>
#include <vector>

#include <upsweep/upsweep.hpp>

namespace up = upsweep;

struct step {
    double rate = 1;
    double payment = 0;

    double apply(double balance) const { return rate * balance + payment; }
};

int main()
{
    const up::monoid then{[](const step& first, const step& second) {
                              return step{second.rate * first.rate, second.rate * first.payment + second.payment};
                          },
                          step{}, up::ordered};

    std::vector<step> months(24, step{1.01, 50}); // one per cent and 50 a month
    months[11].payment = -300;                    // but a withdrawal in December

    std::vector<step> since_start(months.size());
    up::inclusive_scan(up::cpu{}, months, since_start, then);

    for (const std::size_t month : {0, 10, 11, 23})
        std::printf("after %2zu months: %.2f\n", month + 1, since_start[month].apply(1000));
    const step whole = up::reduce(up::cpu{}, months, then);
    std::printf("the two years in one step: times %.4f, plus %.2f\n", whole.rate, whole.payment);
}

// Prints:
// after  1 months: 1060.00
// after 11 months: 1694.01
// after 12 months: 1410.95
// after 24 months: 2224.02
// the two years in one step: times 1.2697, plus 954.28
