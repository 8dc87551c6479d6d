// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <random>

#include "../../runtime/element_type.hpp"
#include "scratch.hpp"

namespace upsweep::files::test {

namespace {

class writers : public scratch {};

constexpr upsweep_dtype all_dtypes[] = {UPSWEEP_BOOL, UPSWEEP_I8,  UPSWEEP_I16, UPSWEEP_I32, UPSWEEP_I64,
                                        UPSWEEP_U8,   UPSWEEP_U16, UPSWEEP_U32, UPSWEEP_U64, UPSWEEP_F16,
                                        UPSWEEP_BF16, UPSWEEP_F32, UPSWEEP_F64};

// Elements of any bits that a file can give back: a bool is 0 or 1, and the text of a NaN tells nothing of its bits.
template <class T>
std::string random_elements(std::size_t count)
{
    std::mt19937_64 random(count + sizeof(T));
    std::string bytes;
    while (bytes.size() < count * sizeof(T)) {
        const std::uint64_t drawn = std::is_same_v<T, bool> ? random() % 2 : random();
        T value{};
        std::memcpy(static_cast<void*>(&value), &drawn, sizeof value);
        if constexpr (!std::is_integral_v<T>)
            if (std::isnan(static_cast<float>(value)))
                continue;
        bytes.append(reinterpret_cast<const char*>(&drawn), sizeof value);
    }
    return bytes;
}

std::string bytes_read(const std::string& path, upsweep_dtype dtype, std::size_t element_bytes)
{
    read_options options;
    options.dtype = dtype;
    const auto in = open(path, options);
    EXPECT_EQ(in->dtype(), dtype);
    std::string bytes;
    in->read([&](const chunk& c) { bytes.append(static_cast<const char*>(c.elements), c.count * element_bytes); });
    return bytes;
}

void write_double(const std::string& path, const std::vector<double>& values)
{
    const auto out = create(path, UPSWEEP_F64);
    out->append(values.data(), values.size());
    out->finish();
}

} // namespace

TEST_F(writers, and_readers_agree_on_every_type)
{
    for (const upsweep_dtype dtype : all_dtypes)
        runtime::with_type(dtype, [&]<class T>(std::type_identity<T>) {
            constexpr std::size_t count = 30'011;
            const std::string elements = random_elements<T>(count);
            for (const std::string name : {"a.npy", "a.raw", "a.bin", "a.txt"}) {
                if (dtype == UPSWEEP_BF16 && name == "a.npy")
                    continue;
                SCOPED_TRACE(name + " of dtype " + std::to_string(dtype));
                const auto out = create(path(name), dtype);
                // Pieces of odd sizes, on both sides of the slices in which text is formatted.
                std::size_t done = 0;
                for (const std::size_t piece :
                     {std::size_t{0}, std::size_t{1}, std::size_t{8193}, std::size_t{7}, count}) {
                    const std::size_t part = std::min(piece, count - done);
                    out->append(elements.data() + done * sizeof(T), part);
                    done += part;
                }
                out->finish();
                EXPECT_EQ(bytes_read(path(name), dtype, sizeof(T)), elements);
            }
        });
}

TEST_F(writers, keep_what_an_extension_promises)
{
    const std::vector<float> values = {0.5, 1, 1e10};
    for (const std::string name : {"a.f32", "a.F32", "a.float32", "a.NPY"}) {
        const auto out = create(path(name), UPSWEEP_F32);
        out->append(values.data(), values.size());
        out->finish();
        EXPECT_EQ(elements_of<float>(path(name)), values) << name;
    }
    const failure other = failure_of([&] { return create(path("a.u8"), UPSWEEP_F32); });
    EXPECT_EQ(other.help(), remedy::write_promised_dtype);
    EXPECT_EQ(other.reason(), "the name promises u8, the values are f32; name it .f32");
    for (const std::string name : {"b.npz", "b.gz", "b.npy.zst", "b.f32.XZ", "b.parquet"})
        EXPECT_EQ(failure_of([&] { return create(path(name), UPSWEEP_F32); }).help(), remedy::none) << name;
    EXPECT_EQ(failure_of([&] { return create(path("b.npy.gz"), UPSWEEP_F32); }).reason(),
              "compressed files are not written; write " + path("b.npy") + " and compress it");
    EXPECT_EQ(names_in_folder(), (std::vector<std::string>{"a.F32", "a.NPY", "a.f32", "a.float32"}));
}

TEST_F(writers, escape_names_for_messages)
{
    EXPECT_EQ(escaped("a\x1b[2J\n\x7f"), "a\\x1b[2J\\x0a\\x7f");
    EXPECT_EQ(escaped("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    EXPECT_EQ(escaped("\xc2\x9b\xff\x80\xc3"), "\\xc2\\x9b\\xff\\x80\\xc3");
    // The cut after 40 bytes would be inside of the last character.
    EXPECT_EQ(in_quotes(std::string(39, 'x') + "\xc3\xa9y"), "'" + std::string(39, 'x') + "...'");
    EXPECT_EQ(in_quotes(std::string(38, 'x') + "\xc3\xa9y"), "'" + std::string(38, 'x') + "\xc3\xa9...'");
}

TEST_F(writers, of_text_lose_no_float_of_16_bits)
{
    const auto check = [&]<class T>(std::type_identity<T>, upsweep_dtype dtype) {
        std::vector<T> values;
        for (unsigned bits = 0; bits < 0x10000; ++bits) {
            T value{};
            value.bits = static_cast<std::uint16_t>(bits);
            if (!std::isnan(static_cast<float>(value)))
                values.push_back(value);
        }
        const auto out = create(path("a.txt"), dtype);
        out->append(values.data(), values.size());
        out->finish();
        const std::string expected(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
        EXPECT_EQ(bytes_read(path("a.txt"), dtype, sizeof(T)), expected);
    };
    check(std::type_identity<f16>{}, UPSWEEP_F16);
    check(std::type_identity<bf16>{}, UPSWEEP_BF16);
}

TEST_F(writers, write_special_values_as_words)
{
    constexpr double infinity = std::numeric_limits<double>::infinity();
    write_double(path("a.txt"), {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), -0.0, 0.1});
    EXPECT_EQ(content("a.txt"), "inf\n-inf\nnan\n-0\n0.1\n");
    const auto out = create(path("b.txt"), UPSWEEP_BOOL);
    const bool values[] = {true, false};
    out->append(values, 2);
    out->finish();
    EXPECT_EQ(content("b.txt"), "true\nfalse\n");
}

TEST_F(writers, of_nothing)
{
    for (const std::string name : {"a.npy", "a.raw", "a.txt"}) {
        write_double(path(name), {});
        EXPECT_EQ(bytes_read(path(name), UPSWEEP_F64, sizeof(double)), "");
    }
    EXPECT_EQ(open(path("a.npy"))->shape(), std::vector<std::uint64_t>{0});
}

TEST_F(writers, of_npy_correct_the_count)
{
    for (const std::optional<std::uint64_t> announced : {std::optional<std::uint64_t>(), {3}, {1'000'000'000}}) {
        const auto out = create(path("a.npy"), UPSWEEP_I32, announced);
        const std::int32_t values[] = {1, 2, 3};
        out->append(values, 3);
        out->finish();
        EXPECT_EQ(open(path("a.npy"))->shape(), std::vector<std::uint64_t>{3});
        EXPECT_EQ(elements_of<std::int32_t>(path("a.npy")), (std::vector<std::int32_t>{1, 2, 3}));
    }
}

TEST_F(writers, that_do_not_finish_leave_the_old_file)
{
    const std::vector<double> many(100'000, 1.5);
    for (const std::string name : {"old.npy", "old.raw", "old.txt"}) {
        write(name, "what was there");
        {
            const auto out = create(path(name), UPSWEEP_F64);
            out->append(many.data(), many.size());
            EXPECT_EQ(content(name), "what was there");
        }
        EXPECT_EQ(content(name), "what was there");
        {
            const auto out = create(path("new" + name), UPSWEEP_F64);
        }
    }
    EXPECT_EQ(names_in_folder(), (std::vector<std::string>{"old.npy", "old.raw", "old.txt"}));
}

TEST_F(writers, may_replace_the_file_that_is_read)
{
    const std::vector<double> values(3'000'001, 0.25);
    write_double(path("a.raw"), values);
    read_options options;
    options.dtype = UPSWEEP_F64;
    const auto in = open(path("a.raw"), options);
    const auto out = create(path("a.raw"), in->dtype());
    in->read([&](const chunk& c) { out->append(c.elements, c.count); });
    out->append(values.data(), 1);
    out->finish();
    EXPECT_EQ(elements_of<double>(path("a.raw"), options), std::vector<double>(3'000'002, 0.25));
    EXPECT_EQ(names_in_folder(), std::vector<std::string>{"a.raw"});
}

TEST_F(writers, temporaries_can_be_removed_all_at_once)
{
    write("old.npy", "what was there");
    write_double(path("done.npy"), {1, 2});
    const std::vector<std::string> kept = {"done.npy", "old.npy"};
    {
        const auto first = create(path("old.npy"), UPSWEEP_F64);
        const auto second = create(path("new.txt"), UPSWEEP_F64);
        {
            const auto closed = create(path("closed.raw"), UPSWEEP_F64);
        }
        const auto third = create(path("third.raw"), UPSWEEP_F64);
        EXPECT_EQ(names_in_folder().size(), kept.size() + 3);
        remove_temporaries();
        EXPECT_EQ(names_in_folder(), kept);
        EXPECT_THROW(first->finish(), failure);
    }
    EXPECT_EQ(content("old.npy"), "what was there");
    remove_temporaries();
    EXPECT_EQ(names_in_folder(), kept);
}

TEST_F(writers, that_cannot_write_tell_why)
{
    const failure folder = failure_of([&] { return create(path("nowhere/a.npy"), UPSWEEP_F64); });
    EXPECT_EQ(folder.reason(), "cannot be written: No such file or directory");
    const failure half = failure_of([&] { return create(path("a.npy"), UPSWEEP_BF16); });
    EXPECT_EQ(half.help(), remedy::change_written_dtype);
    const failure full = failure_of([&] {
        const std::vector<double> values(100'000);
        const auto out = create("/dev/full", UPSWEEP_F64);
        out->append(values.data(), values.size());
    });
    EXPECT_EQ(std::string(full.what()), "/dev/full: cannot be written: No space left on device");
    EXPECT_TRUE(names_in_folder().empty());
}

} // namespace upsweep::files::test
