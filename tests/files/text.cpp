// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "plain_run.hpp"
#include "scratch.hpp"
#include "text.hpp"

// Numbers written out: text and CSV.
namespace upsweep::files::test {

namespace {

class text : public scratch {};
class csv : public scratch {};

read_options column(const std::string& name, std::optional<upsweep_dtype> dtype = std::nullopt)
{
    read_options options;
    options.format = file_format::csv;
    options.dtype = dtype;
    options.csv.column = name;
    return options;
}

std::string with_carriage_returns(std::string_view text)
{
    std::string result;
    for (const char c : text) {
        if (c == '\n')
            result += '\r';
        result += c;
    }
    return result;
}

// A number as programs write them: of few digits and of many, with zeros before and behind, and the middle between two floats or
// doubles, which rounding twice gets wrong.
template <class T>
std::string random_number(std::mt19937_64& random)
{
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const std::uint64_t integer = random() >> below(64);
    if constexpr (std::is_integral_v<T>)
        return fmt::format("{:0{}}", static_cast<T>(integer), below(4) == 0 ? below(24) : 0);
    const double unit = std::uniform_real_distribution<double>(-1, 1)(random);
    const double power = std::pow(2.0, below(52));
    const auto between = static_cast<float>(unit * power);
    switch (below(9)) {
    case 0: return fmt::format("{}", unit * power);
    case 1: return fmt::format("{:.17g}", unit);
    case 2: return fmt::format("{:.{}f}", unit * power, below(24));
    case 3: return fmt::format("{:.{}f}", 1 / power, below(22));
    case 4: return fmt::format("{:.17g}", (double{between} + double{std::nextafter(between, 0.0F)}) / 2);
    case 5: return fmt::format("{:.{}f}", (power * 4 + 1) * 0.5L * std::nextafter(1.0L + unit, 4.0L), below(12));
    case 6: return fmt::format("{}.{}", integer, random() >> below(64));
    case 7: return fmt::format("{}{}", below(2) == 0 ? "." : "-0.", integer);
    default: return fmt::format("{:.{}e}", unit, below(18));
    }
}

// What a parser of vectors makes of many numbers, beside what the parser of one number does.
template <class T, class Parse>
void expect_numbers(const Parse& parse)
{
    const auto seed = std::random_device()();
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    std::vector<std::string> words;
    std::vector<T> expected;
    std::string content;
    while (content.size() < 200'000) {
        const std::string word = random_number<T>(random);
        T value{};
        if (parse_number(word, value) != number_error::none)
            continue;
        words.push_back(word);
        expected.push_back(value);
        content += word + (random() % 4 == 0 ? " \t\n" : "\n");
    }
    std::vector<T> values(expected.size());
    T* out = values.data();
    const char* const rest = parse(content.data(), content.data() + content.size(), out);
    const auto parsed = static_cast<std::size_t>(out - values.data());
    ASSERT_LE(content.data() + content.size() - rest, 256) << words[parsed];
    ASSERT_LE(parsed, values.size());
    for (std::size_t i = 0; i < parsed; ++i)
        ASSERT_EQ(std::memcmp(&values[i], &expected[i], sizeof(T)), 0) << words[i] << " as " << values[i]; // NOLINT
}

// What a file and a pipe give, which is the same.
template <class T>
std::vector<T> read_both_ways(const std::string& file, const std::string& content, const read_options& options)
{
    std::vector<T> from_file = elements_of<T>(file, options);
    for (const std::size_t drop : {1021UL, 65536UL}) {
        pipe_of pipe(content, drop);
        EXPECT_EQ(elements_of<T>(pipe.path(), options), from_file);
    }
    return from_file;
}

} // namespace

// On a machine with the widest vectors, files show nothing of the others.
TEST_F(text, of_every_length_by_every_kind_of_vectors)
{
#if defined(__x86_64__)
    const auto each_type = [](auto parse) {
        expect_numbers<double>(parse);
        expect_numbers<float>(parse);
        expect_numbers<std::int64_t>(parse);
        expect_numbers<std::uint64_t>(parse);
        expect_numbers<std::int32_t>(parse);
        expect_numbers<std::uint16_t>(parse);
        expect_numbers<std::int8_t>(parse);
    };
    if (sse41::is_supported())
        each_type([](const char* p, const char* end, auto*& out) { return sse41::parse_run(p, end, out); });
    if (avx512::is_supported())
        each_type([](const char* p, const char* end, auto*& out) { return avx512::parse_run(p, end, out); });
#endif
}

// An error is found wherever among the words that are converted at once it stands, and all before it are there.
TEST_F(text, with_an_error_among_words)
{
    for (const std::string wrong : {"1,5", "--1", "1.2.3", "-", ".", "1-2", "12345678901234567,0", "+-1", "0x"})
        for (std::size_t at = 0; at < 40; ++at) {
            std::string content;
            for (std::size_t k = 0; k < 80; ++k)
                content += k == at ? wrong + "\n" : fmt::format("-{}.5\n", k);
            std::vector<double> values(most_numbers(content.size()));
            const parse_result result = parse_text(std::string_view(content), values.data());
            ASSERT_NE(result.error, number_error::none);
            EXPECT_EQ(result.token, wrong);
            EXPECT_EQ(result.count, at);
            EXPECT_EQ(result.new_lines, at);
            for (std::size_t k = 0; k < at; ++k)
                ASSERT_EQ(values[k], -static_cast<double>(k) - 0.5);
        }
}

TEST_F(text, of_no_numbers_and_of_one)
{
    for (const std::string empty : {"", "\n", " \t\r\n\n"})
        EXPECT_TRUE(elements_of<double>(write("a.txt", empty)).empty());
    for (const std::string one : {"1.5", " 1.5\n",
                                  "\xef\xbb\xbf"
                                  "1.5"})
        EXPECT_EQ(elements_of<double>(write("a.txt", one)), std::vector{1.5});
}

TEST_F(text, of_many_chunks)
{
    // Words and line ends of several lengths, so that chunks are cut in different places.
    std::string content;
    std::vector<std::int64_t> expected;
    for (std::int64_t i = 0; content.size() < 3'000'000; ++i) {
        expected.push_back(i % 3 == 0 ? -i * i : i);
        content += std::to_string(expected.back()) + (i % 7 == 0 ? "\r\n" : i % 5 == 0 ? " \n\n  " : " ");
    }
    read_options options;
    options.format = file_format::text;
    options.dtype = UPSWEEP_I64;
    for (const int threads : {1, 3}) {
        options.threads = threads;
        EXPECT_EQ(read_both_ways<std::int64_t>(write("a.txt", content), content, options), expected);
    }
    const auto in = open(path("a.txt"), options);
    EXPECT_EQ(in->count(), std::nullopt);
    EXPECT_EQ(in->bytes(), content.size());
    std::uint64_t bytes = 0;
    elements_of<std::int64_t>(*in, &bytes);
    EXPECT_EQ(bytes, content.size());
}

TEST_F(text, that_is_malformed_tells_the_line)
{
    std::string content;
    for (int line = 1; line < 300'000; ++line)
        content += "0.25\n";
    const std::uint64_t length = content.size();
    for (const std::uint64_t line : {1UL, 104'857UL, 104'858UL, 299'999UL}) {
        std::string spoiled = content;
        spoiled.replace((line - 1) * 5, 4, "0,25");
        const failure of_file = failure_of([&] { return elements_of<double>(write("a.txt", spoiled)); });
        EXPECT_EQ(of_file.where().line, line);
        EXPECT_EQ(of_file.reason(), "'0,25' is not a number");
        EXPECT_EQ(of_file.help(), remedy::drop_separators);
        pipe_of pipe(spoiled);
        EXPECT_EQ(failure_of([&] { return elements_of<double>(pipe.path()); }).where().line, line);
    }
    EXPECT_EQ(content.size(), length);

    const auto help = [&](const std::string& number, upsweep_dtype dtype) {
        read_options options;
        options.dtype = dtype;
        return failure_of([&] { return elements_of<double>(write("a.txt", number), options); }).help();
    };
    EXPECT_EQ(help("x", UPSWEEP_F64), remedy::give_column);
    EXPECT_EQ(help("300", UPSWEEP_U8), remedy::widen_dtype);
    EXPECT_EQ(help("1.5", UPSWEEP_I32), remedy::floating_dtype);
    EXPECT_EQ(help("1e400", UPSWEEP_F64), remedy::none);
}

TEST_F(csv, with_quotes_and_line_ends_across_chunks)
{
    // Quoted fields of lines, delimiters and doubled quotes, of lengths that let chunks of 512 KiB begin everywhere.
    std::string table = "id,\"a \"\"note\"\"\non it\",value\n";
    std::vector<double> expected;
    for (std::size_t i = 0; table.size() < 3'000'000; ++i) {
        expected.push_back(static_cast<double>(i) / 8);
        table.append(std::to_string(i)).append(",");
        if (i % 3 == 0)
            table.append("plain");
        else
            table.append("\"1,2\"\"\n").append(i % 4001, 'x').append("\"\",\n\"");
        table.append(",").append(value_text(UPSWEEP_F64, &expected.back())).append(i % 11 == 0 ? "\n\n" : "\n");
    }
    const auto line = static_cast<std::uint64_t>(std::count(table.begin(), table.end(), '\n')) + 1;
    for (const std::string& content : {table, with_carriage_returns(table)}) {
        const std::string file = write("t.csv", content);
        EXPECT_EQ(read_both_ways<double>(file, content, column("value")), expected);
        EXPECT_EQ(elements_of<double>(file, column("3")), expected);

        // The last line is wrong: all line ends before it, in quotes or not, are counted.
        const std::string spoiled = content + "1,2,x";
        const failure error = failure_of([&] { return elements_of<double>(write("t.csv", spoiled), column("value")); });
        EXPECT_EQ(error.where().line, line);
        EXPECT_EQ(error.reason(), "'x' is not a number");
        pipe_of pipe(spoiled);
        EXPECT_EQ(failure_of([&] { return elements_of<double>(pipe.path(), column("value")); }).where().line, line);
    }
}

TEST_F(csv, of_nothing)
{
    EXPECT_TRUE(elements_of<double>(write("t.csv", "")).empty());
    EXPECT_TRUE(elements_of<double>(write("t.csv", "a,b\n"), column("b")).empty());
    EXPECT_EQ(elements_of<double>(write("t.csv", "1")), std::vector{1.0});
    EXPECT_TRUE(elements_of<double>(write("t.csv", "NA\n\"\"\n")).empty());
}

TEST_F(csv, types_are_found)
{
    const auto found = [&](const std::string& content) {
        const upsweep_dtype from_file = open(write("t.csv", content))->dtype();
        pipe_of pipe(content);
        read_options csv;
        csv.format = file_format::csv;
        EXPECT_EQ(open(pipe.path(), csv)->dtype(), from_file) << content;
        return from_file;
    };
    EXPECT_EQ(found("x\n1\n-2\nNA\n9007199254740993\n"), UPSWEEP_I64);
    EXPECT_EQ(found("x\n1\n18446744073709551615\n"), UPSWEEP_U64);
    EXPECT_EQ(found("x\n1\n18446744073709551615\n0.5\n"), UPSWEEP_F64);
    EXPECT_EQ(found("x\n1\n1e3\n"), UPSWEEP_F64);
    const failure both =
        failure_of([&] { return elements_of<std::int64_t>(write("t.csv", "x\n-1\n2\n18446744073709551615\n")); });
    EXPECT_EQ(both.where().line, 4U);
    EXPECT_EQ(both.help(), remedy::floating_dtype);

    // A fraction in the last of many chunks.
    std::string content;
    while (content.size() < 2'000'000)
        content += "123456\n";
    EXPECT_EQ(open(write("a.txt", content))->dtype(), UPSWEEP_I64);
    EXPECT_EQ(open(write("a.txt", content + "0.5\n"))->dtype(), UPSWEEP_F64);
    pipe_of pipe(content + "0.5\n");
    const failure late = failure_of([&] { return elements_of<std::int64_t>(pipe.path()); });
    EXPECT_EQ(late.reason(), "'0.5' is not an integer");
    EXPECT_EQ(late.help(), remedy::floating_dtype);
}

TEST_F(csv, delimiters_follow_the_extension)
{
    read_options b;
    b.csv.column = "b";
    EXPECT_EQ(elements_of<double>(write("t.tsv", "a\tb\n1\t2\n"), b), std::vector{2.0});
    EXPECT_EQ(elements_of<double>(write("t.csv", "a,b\n1,2\n"), b), std::vector{2.0});
    b.csv.delimiter = ';';
    EXPECT_EQ(elements_of<double>(write("t.tsv", "a;b\n1;2\n"), b), std::vector{2.0});
}

TEST_F(csv, that_is_wrong_tells_the_remedy)
{
    const auto error = [&](const std::string& content, const read_options& options = {}) {
        return failure_of([&] { return elements_of<double>(write("t.csv", content), options); });
    };
    EXPECT_EQ(error("\na,b\n1,2\n").help(), remedy::choose_column);
    EXPECT_EQ(error("\na,b\n1,2\n").where().line, 2U);
    EXPECT_EQ(error("a,b\n1,2\n", column("c")).reason(), "has no column 'c'; its 2 columns are 'a', 'b'");
    EXPECT_EQ(error("a,b\n1,\n2,x\n", column("b")).where().line, 3U);
    read_options b = column("b");
    b.csv.missing.reset();
    EXPECT_EQ(error("a,b\n1,\n", b).help(), remedy::tell_missing);
    EXPECT_EQ(error("a,2000\nb,5\n", column("2")).help(), remedy::tell_header);
    EXPECT_NE(error("a,b,a\n1,2,3\n", column("a")).reason().find("1 and 3"), std::string::npos);
    EXPECT_NE(error("", column("a")).reason().find("no records"), std::string::npos);
    EXPECT_EQ(error("a,b\n1,2\n3\n", column("a")).help(), remedy::change_delimiter);
    EXPECT_EQ(error("a,b\n1,2\n3\n", column("a")).where().line, 3U);
    EXPECT_EQ(error("a,b\n1,\"2\n", column("b")).where().line, 2U);
}

} // namespace upsweep::files::test
