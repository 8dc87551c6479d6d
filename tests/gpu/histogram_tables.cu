// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms on a GPU with tables of every size, of samples of every size.
#include <array>
#include <cstddef>
#include <cstdint>

#include "histogram_cases.cuh"

namespace up = upsweep;

namespace upsweep::test {

// Tables that fit the shared memory of a block, and tables that are shared out: at the last bin that fits, and beyond. Of so few
// samples that one block counts them, and of more.
TEST(gpu_histogram, tables_of_every_size)
{
    auto random = generator();
    for (const std::size_t bins : {31, 32, 33, 4093, 4094, 16384, 32768, 58000, 58100, 65536, 110000}) {
        for (const std::size_t count : {300, 20011}) {
            host_array<std::uint32_t> samples(count);
            for (std::uint32_t& sample : samples)
                sample = static_cast<std::uint32_t>(random() % 64 == 0 ? random() : random() % (bins + 5));
            const up::integer_bins integers{3, bins};
            ASSERT_EQ((counted_on_gpu(samples, integers, bins)), (counted_on_cpu(samples, integers, bins)))
                << count << " samples, " << bins << " bins";
        }
    }
}

// Samples of any size, whose bin indices two blocks send one another.
template <std::size_t Bytes>
struct record {
    std::array<std::uint8_t, Bytes> bytes;
};
struct number_of_record {
    template <std::size_t Bytes>
    UPSWEEP_HOST_DEVICE int operator()(const record<Bytes>& sample) const
    {
        return sample.bytes[0] + 256 * sample.bytes[Bytes - 1] + 100;
    }
};
template <std::size_t Bytes>
void expect_same_counts_of_records()
{
    auto random = generator();
    host_array<record<Bytes>> samples(33333);
    for (record<Bytes>& sample : samples)
        for (std::uint8_t& byte : sample.bytes)
            byte = static_cast<std::uint8_t>(random());
    const up::bins_by bins(number_of_record{}, 65536);
    EXPECT_EQ((counted_on_gpu(samples, bins, 65536)), (counted_on_cpu(samples, bins, 65536))) << Bytes << " bytes";
}
TEST(gpu_histogram, tables_for_two_blocks_of_samples_of_any_size)
{
    expect_same_counts_of_records<1>();
    expect_same_counts_of_records<2>();
    expect_same_counts_of_records<3>();
    expect_same_counts_of_records<8>();
    expect_same_counts_of_records<16>();
    expect_same_counts_of_records<24>();
}

} // namespace upsweep::test
