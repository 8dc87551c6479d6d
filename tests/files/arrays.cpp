// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "scratch.hpp"

// Elements stored as bytes: .npy and raw.
namespace upsweep::files::test {

namespace {

class arrays : public scratch {};

// A .npy file of version 1.0, as NumPy pads it.
std::string npy(const std::string& descr, bool fortran_order, const std::string& shape, std::string_view data)
{
    std::string header = "{'descr': '" + descr + "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                         ", 'shape': " + shape + ", }";
    header.resize(117, ' ');
    header += '\n';
    std::string file("\x93NUMPY\x01\x00", 8);
    file += static_cast<char>(header.size());
    file += '\0';
    return file + header + std::string(data);
}

template <class T>
std::string bytes_of(const std::vector<T>& values)
{
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::string swapped_bytes_of(const std::vector<T>& values)
{
    std::string bytes = bytes_of(values);
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(T))
        std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                     bytes.begin() + static_cast<std::ptrdiff_t>(i + sizeof(T)));
    return bytes;
}

template <class T>
std::vector<T> numbers(std::size_t count)
{
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<T>(i * 2654435761U);
    return values;
}

} // namespace

TEST_F(arrays, tell_what_they_hold)
{
    const auto in = open(write("a.npy", npy("<f4", false, "(2, 3)", bytes_of(numbers<float>(6)))));
    EXPECT_EQ(in->name(), path("a.npy"));
    EXPECT_EQ(in->dtype(), UPSWEEP_F32);
    EXPECT_EQ(in->shape(), (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(in->count(), 6U);
    EXPECT_EQ(in->bytes(), 24U);
    EXPECT_TRUE(in->rereadable());
    EXPECT_FALSE(in->keeps_cores_busy());
    EXPECT_EQ(elements_of<float>(*in), numbers<float>(6));
    EXPECT_EQ(elements_of<float>(*in), numbers<float>(6)); // again
}

TEST_F(arrays, of_no_elements_and_of_one)
{
    for (const std::string shape : {"(0,)", "(0, 3)", "(3, 0)"}) {
        const auto in = open(write("a.npy", npy("<f8", shape == "(3, 0)", shape, "")));
        EXPECT_EQ(in->count(), 0U);
        EXPECT_TRUE(elements_of<double>(*in).empty());
    }
    EXPECT_EQ(open(path("a.npy"))->shape(), (std::vector<std::uint64_t>{3, 0}));
    const std::vector<double> one = {2.5};
    EXPECT_EQ(elements_of<double>(write("a.npy", npy("<f8", false, "()", bytes_of(one)))), one);

    EXPECT_TRUE(elements_of<double>(write("empty.f64", "")).empty());
    EXPECT_EQ(elements_of<double>(write("one.f64", bytes_of(one))), one);
    pipe_of nothing("");
    EXPECT_TRUE(elements_of<double>(nothing.path(), {.format = file_format::raw, .dtype = UPSWEEP_F64}).empty());
}

TEST_F(arrays, of_the_other_byte_order)
{
    const auto check = [&]<class T>(const std::string& code, const std::vector<T>& values) {
        const std::string file = npy(code, false, "(300001,)", swapped_bytes_of(values));
        const auto in = open(write("a.npy", file));
        EXPECT_TRUE(in->keeps_cores_busy());
        EXPECT_EQ(elements_of<T>(*in), values);
        pipe_of pipe(file, 65521);
        EXPECT_EQ(elements_of<T>(pipe.path()), values);
    };
    check(">u2", numbers<std::uint16_t>(300001));
    check(">i4", numbers<std::int32_t>(300001));
    check(">f8", numbers<double>(300001));
}

TEST_F(arrays, of_fortran_order_come_in_c_order)
{
    // Every shape has more than one chunk of 1 MiB.
    for (const auto& [rows, columns] : {std::pair{3UL, 70001UL}, {70001UL, 3UL}, {500UL, 600UL}}) {
        const std::vector<std::int64_t> c_order = numbers<std::int64_t>(rows * columns);
        std::vector<std::int64_t> stored(c_order.size());
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < columns; ++c)
                stored[c * rows + r] = c_order[r * columns + c];
        const std::string shape = "(" + std::to_string(rows) + ", " + std::to_string(columns) + ")";
        for (const bool swapped : {false, true}) {
            const std::string file =
                npy(swapped ? ">i8" : "<i8", true, shape, swapped ? swapped_bytes_of(stored) : bytes_of(stored));
            EXPECT_EQ(elements_of<std::int64_t>(write("f.npy", file)), c_order);
            pipe_of pipe(file);
            const failure refused = failure_of([&] { return open(pipe.path()); });
            EXPECT_NE(refused.reason().find("cannot be read from a pipe"), std::string::npos) << refused.reason();
        }
    }
}

TEST_F(arrays, come_from_a_pipe_in_drops)
{
    const std::vector<float> values = numbers<float>(700001);
    for (const std::size_t drop : {1021UL, 65536UL}) {
        pipe_of pipe(npy("<f4", false, "(700001,)", bytes_of(values)), drop);
        const auto in = open(pipe.path());
        EXPECT_EQ(in->count(), values.size());
        EXPECT_FALSE(in->rereadable());
        std::uint64_t bytes = 0;
        EXPECT_EQ(elements_of<float>(*in, &bytes), values);
        EXPECT_EQ(bytes, values.size() * sizeof(float));
    }
    pipe_of pipe(bytes_of(values), 7);
    const auto in = open(pipe.path(), {.format = file_format::raw, .dtype = UPSWEEP_F32});
    EXPECT_EQ(in->count(), std::nullopt);
    EXPECT_EQ(in->shape(), std::nullopt);
    EXPECT_EQ(elements_of<float>(*in), values);
}

TEST_F(arrays, that_are_cut_off_tell_the_byte)
{
    const std::string whole = npy("<f4", false, "(1000,)", bytes_of(numbers<float>(1000)));
    for (const std::size_t length : {7UL, 60UL, 128UL, 129UL, whole.size() - 1}) {
        const std::string part = whole.substr(0, length);
        const failure of_file = failure_of([&] { return open(write("a.npy", part)); });
        EXPECT_EQ(of_file.file(), path("a.npy"));
        EXPECT_EQ(of_file.where().byte, length) << of_file.what();
        EXPECT_EQ(std::string(of_file.what()),
                  path("a.npy") + ": byte " + std::to_string(length) + ": " + of_file.reason());
        pipe_of pipe(part);
        const failure of_pipe =
            failure_of([&] { return elements_of<float>(pipe.path(), {.format = file_format::npy}); });
        EXPECT_EQ(of_pipe.where().byte, length) << of_pipe.what();
    }
    const failure follows = failure_of([&] { return open(write("a.npy", whole + "x")); });
    EXPECT_EQ(follows.where().byte, whole.size());

    const failure inside = failure_of([&] { return open(write("a.f32", std::string(1001, 'x'))); });
    EXPECT_EQ(inside.where().byte, 1001U);
    EXPECT_EQ(inside.help(), remedy::check_dtype);
}

TEST_F(arrays, that_are_something_else_tell_the_remedy)
{
    const auto help = [&](const std::string& name, const std::string& content, const read_options& options = {}) {
        return failure_of([&] { return open(write(name, content), options); }).help();
    };
    EXPECT_EQ(help("a.npy", "1 2 3"), remedy::give_format);
    EXPECT_EQ(help("a", std::string(8, '\0')), remedy::give_dtype);
    read_options other;
    other.dtype = UPSWEEP_F64;
    EXPECT_EQ(help("a.npy", npy("<f4", false, "(0,)", ""), other), remedy::leave_out_dtype);
    EXPECT_EQ(help("a.F32", std::string(8, '\0'), other), remedy::distrust_extension);
    other.format = file_format::raw;
    EXPECT_EQ(open(path("a.F32"), other)->count(), 1U);
    read_options column;
    column.csv.column = "x";
    EXPECT_EQ(help("a.npy", npy("<f4", false, "(0,)", ""), column), remedy::give_csv_format);

    const failure missing = failure_of([&] { return open(path("missing.npy")); });
    EXPECT_EQ(missing.reason(), "cannot be opened: No such file or directory");
    EXPECT_EQ(missing.where().byte, std::nullopt);
}

TEST_F(arrays, of_bool_hold_nothing_but_0_and_1)
{
    const std::vector<char> expected = {1, 0, 1, 1};
    EXPECT_EQ(elements_of<char>(write("a.npy", npy("|b1", false, "(4,)", std::string("\x01\x00\x02\xff", 4)))),
              expected);
}

TEST_F(arrays, end_with_what_the_taker_throws)
{
    struct enough {};
    const auto in =
        open(write("a.npy", npy(">i4", false, "(1000000,)", swapped_bytes_of(numbers<std::int32_t>(1000000)))));
    int chunks = 0;
    EXPECT_THROW(in->read([&](const chunk&) {
        if (++chunks == 2)
            throw enough();
    }),
                 enough);
    EXPECT_EQ(chunks, 2);
    EXPECT_EQ(elements_of<std::int32_t>(*in), numbers<std::int32_t>(1000000));
}

} // namespace upsweep::files::test
