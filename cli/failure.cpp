// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "failure.hpp"

namespace upsweep::cli {

namespace {

// The end of a message, if there is something to add.
std::string remedy_text(const files::problem& problem)
{
    switch (problem.help) {
    case files::remedy::none: break;
    case files::remedy::give_format: return "; give --format text, csv or raw";
    case files::remedy::give_csv_format: return "; give --format csv if it is one";
    case files::remedy::give_dtype: return "; give --dtype for raw elements";
    case files::remedy::check_dtype: return "; check --dtype";
    case files::remedy::leave_out_dtype: return "; leave out --dtype, or convert with a.astype(...)";
    case files::remedy::distrust_extension: return "; leave out --dtype, or give --format raw if the name is wrong";
    case files::remedy::widen_dtype: return "; choose a wider type with --dtype";
    case files::remedy::floating_dtype: return "; read it with --dtype f64";
    case files::remedy::choose_column: return "; choose one with --column";
    case files::remedy::give_column:
        return "; correct it, or give --column for a table, where missing values are passed over";
    case files::remedy::mark_missing: return "; correct it, or give --missing if it stands for no value";
    case files::remedy::give_decimal: return "; give --decimal , if the comma is the decimal point";
    case files::remedy::join_digits: return "; remove thousands separators";
    case files::remedy::find_table:
        return "; give --skip-lines or --comment if the table begins later, or its --delimiter";
    case files::remedy::drop_separators: return "; remove thousands separators, or give --column for a table";
    case files::remedy::tell_missing: return "; fill it, or leave out --missing none";
    case files::remedy::tell_header: return "; give --header yes or no";
    case files::remedy::change_delimiter: return "; correct the line, or give another --delimiter";
    case files::remedy::change_written_dtype: return "; give --out-dtype f32, or name a .raw file";
    case files::remedy::write_promised_dtype: return ", or give --out-dtype " + problem.value;
    case files::remedy::avoid_second_reading: return "; give --range LO:HI, or a folder with room in TMPDIR";
    }
    return {};
}

} // namespace

std::string message_of(const files::failure& error) { return error.what() + remedy_text(error.what_is_wrong()); }
std::string message_of(const files::problem& problem) { return problem.reason + remedy_text(problem); }

} // namespace upsweep::cli
