// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "foreign.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <upsweep/files.hpp>

#include "text.hpp"

namespace upsweep::files {

namespace {

struct foreign_format {
    std::string_view magic;
    std::size_t offset;
    std::string_view reason; // FILE stands for the name
};

using std::literals::operator""sv;

constexpr std::string_view hdf5 =
    "is an HDF5 file; save an array of it with Python: numpy.save('x.npy', h5py.File('FILE')['NAME'])";
constexpr std::string_view feather = "is an Arrow or Feather file; save a column with Python: numpy.save('x.npy', "
                                     "pandas.read_feather('FILE')['COLUMN'])";
constexpr std::string_view twice = "is compressed twice; decompress it once";

constexpr foreign_format formats[] = {
    {"PAR1"sv, 0,
     "is a Parquet file; save a column with Python: numpy.save('x.npy', pandas.read_parquet('FILE')['COLUMN'])"},
    {"ARROW1\0"sv, 0, feather},
    {"FEA1"sv, 0, feather},
    {"\x89HDF\r\n\x1a\n"sv, 0, hdf5},
    {"CDF\x01"sv, 0,
     "is a netCDF file; save an array of it with Python: numpy.save('x.npy', xarray.open_dataset('FILE')['NAME'])"},
    {"CDF\x02"sv, 0,
     "is a netCDF file; save an array of it with Python: numpy.save('x.npy', xarray.open_dataset('FILE')['NAME'])"},
    {"MATLAB 5.0 MAT-file"sv, 0,
     "is a MATLAB file; save an array of it with Python: numpy.save('x.npy', scipy.io.loadmat('FILE')['NAME'])"},
    {"SQLite format 3\0"sv, 0,
     "is an SQLite database; export a column: sqlite3 -csv 'FILE' 'SELECT column FROM table' > x.csv"},
    {"%PDF-"sv, 0, "is a PDF document; extract its text, pdftotext -layout 'FILE', and keep the numbers"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, 0,
     "is a document of an older Excel or Word; save the sheet as CSV, or with Python: "
     "pandas.read_excel('FILE').to_csv('x.csv', index=False)"},
    {"ustar"sv, 257, "is a tar archive; extract it, tar -xf 'FILE', and name the files"},
    {"\x04\x22\x4d\x18"sv, 0, "is compressed with lz4; decompress it: lz4 -dc 'FILE'"},
    {"7z\xbc\xaf\x27\x1c"sv, 0, "is a 7-Zip archive; extract it: 7z x 'FILE'"},
    {"PK\x03\x04"sv, 0, "holds a zip archive; extract it, and name the archive or a file in it"},
    {"\x1f\x8b\x08"sv, 0, twice},
    {"\x28\xb5\x2f\xfd"sv, 0, twice},
    {"\xfd\x37zXZ\0"sv, 0, twice},
};

bool has_control_characters(std::string_view text)
{
    return std::any_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 && !is_space(c); });
}

} // namespace

void refuse_foreign(byte_input& input)
{
    constexpr std::size_t enough = 4096;
    const std::string_view front = input.peek(enough);
    for (const foreign_format& format : formats) {
        // A table may have a column of the name PAR1. Of a document, the first page may be text.
        const bool is_document = format.magic.front() == '%';
        if (front.size() < format.offset || front.substr(format.offset, format.magic.size()) != format.magic ||
            !(is_document || has_control_characters(front)))
            continue;
        // The name of an archive's member, or of a stream, is not one that another program could open.
        const std::string& name = input.is_decoded() || input.name() == "standard input" ? "FILE" : input.name();
        std::string reason(format.reason);
        if (const std::size_t at = reason.find("FILE"); at != reason.npos)
            reason.replace(at, std::string_view("FILE").size(), name);
        throw failure(input.name(), {}, {reason});
    }
}

} // namespace upsweep::files
