// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "learner.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "folder.h"
#include "lab_settings.h"
#include "process.h"
#include "rewrite.h"

namespace lab {

namespace fs = std::filesystem;

namespace {

std::string contents_of(const fs::path& file)
{
    std::ifstream in(file);
    if (!in)
        throw std::runtime_error("cannot read " + file.string());
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

void write_rewritten(const fs::path& name, const std::string& text, const fs::path& to)
{
    std::ofstream(to) << "#line 1 " << name << "\n" << rewrite_launches(text);
}

std::vector<std::string> words_of(const std::string& text)
{
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string w; in >> w;)
        words.push_back(w);
    return words;
}

} // namespace

int run_file(const std::string& file, const settings& how, bool json, const std::vector<std::string>& arguments)
{
    const std::string text = contents_of(file);
    scratch_folder scratch;
    const auto source = scratch.path / "upsweep_lab_program.cu", object = scratch.path / "program.o",
               program = scratch.path / "program";
    const auto absolute = fs::absolute(file);
    write_rewritten(absolute, text, source);
    // Files beside the program, which it includes, may launch kernels, too.
    for (const auto& entry : fs::directory_iterator(absolute.parent_path())) {
        const auto kind = entry.path().extension();
        if (entry.path() == absolute ||
            (kind != ".cuh" && kind != ".cu" && kind != ".h" && kind != ".hpp" && kind != ".inl"))
            continue;
        const std::string beside = contents_of(entry.path());
        if (beside.find("<<<") != beside.npos)
            write_rewritten(entry.path(), beside, scratch.path / entry.path().filename());
    }

    const auto beside = folder();
    if (!fs::exists(beside / "include"))
        throw std::runtime_error("the simulator's headers are not in " + beside.string() +
                                 ": install the laboratory with the command");
    std::vector<std::string> compile{learner_compiler, "-I" + (beside / "include").string(),
                                     "-B" + (beside / "assembler").string()};
    for (const auto& w : words_of(learner_flags))
        compile.push_back(w);
    compile.insert(compile.end(),
                   {"-I" + absolute.parent_path().string(), "-x", "c++", "-c", source.string(), "-o", object.string()});
    if (run_program(compile) != 0)
        throw std::runtime_error(file + " does not compile");
    std::vector<std::string> link{learner_compiler,
                                  object.string(),
                                  "-Wl,--whole-archive",
                                  (beside / "libupsweep_lab_learner.a").string(),
                                  "-Wl,--no-whole-archive",
                                  (beside / "libupsweep_lab_report.a").string(),
                                  (beside / "libupsweep_simulator.a").string()};
    for (const auto& w : words_of(learner_libraries))
        link.push_back(w);
    link.insert(link.end(), {"-o", program.string()});
    if (run_program(link) != 0)
        throw std::runtime_error(file + " does not link");

    setenv("UPSWEEP_LAB_GEOMETRY", how.geometry.c_str(), 1);
    setenv("UPSWEEP_LAB_SEED", std::to_string(how.seed).c_str(), 1);
    setenv("UPSWEEP_LAB_SOURCE", absolute.c_str(), 1);
    setenv("UPSWEEP_LAB_JSON", json ? "1" : "0", 1);
    int status = 0;
    for (unsigned i = 0; i < how.schedules && status == 0; ++i) {
        setenv("UPSWEEP_LAB_SCHEDULE", std::to_string(i).c_str(), 1);
        std::vector<std::string> command{program.string()};
        command.insert(command.end(), arguments.begin(), arguments.end());
        status = run_program(command);
    }
    return status;
}

} // namespace lab
