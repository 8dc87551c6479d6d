// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "build.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "folder.h"
#include "lab_settings.h"
#include "process.h"
#include "translate.h"
#include "upsweep/simulator/simulator.h"

namespace lab::program {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> words_of(const std::string& text)
{
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string w; in >> w;)
        words.push_back(w);
    return words;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more)
{
    to.insert(to.end(), more.begin(), more.end());
}

struct library {
    std::string_view header, name; // the header's name begins so
};
constexpr std::array<library, 27> libraries{{{"cublas", "cuBLAS"},
                                             {"curand", "cuRAND"},
                                             {"cufft", "cuFFT"},
                                             {"cusparse", "cuSPARSE"},
                                             {"cusolver", "cuSOLVER"},
                                             {"cudnn", "cuDNN"},
                                             {"cutensor", "cuTENSOR"},
                                             {"cutlass", "CUTLASS"},
                                             {"cute/", "CUTLASS"},
                                             {"thrust/", "Thrust"},
                                             {"cub/", "CUB"},
                                             {"npp", "NPP"},
                                             {"nvjpeg", "nvJPEG"},
                                             {"nvrtc", "run-time compilation (NVRTC)"},
                                             {"nccl", "NCCL"},
                                             {"nvml", "NVML"},
                                             {"cupti", "CUPTI"},
                                             {"mma.h", "tensor cores (wmma)"},
                                             {"crt/mma", "tensor cores (wmma)"},
                                             {"cuda_gl_interop", "OpenGL"},
                                             {"cudaGL", "OpenGL"},
                                             {"cuda_texture_types", "textures"},
                                             {"texture_fetch_functions", "textures"},
                                             {"surface_functions", "surfaces"},
                                             {"optix", "OptiX"},
                                             {"cufile", "cuFile"},
                                             {"nvshmem", "NVSHMEM"}}};

std::string about_library(const std::string& place, const std::string& header)
{
    for (const library& l : libraries)
        if (header.starts_with(l.header))
            return fmt::format(
                "{}: #include <{}>: {} is not simulated; the laboratory runs the program's own kernels. Leave out what "
                "uses it with #ifndef __CUDACC_SIMULATED__ ... #endif, or run the program on a GPU",
                place, header, l.name);
    return {};
}

// What to say of a header that is not there, by the compiler's message.
std::string about_missing_header(const std::string& messages)
{
    static const std::regex missing(
        R"(([^\n]*):(\d+):\d+: fatal error: ['"]?([^'"\n:]+)['"]?(?:: No such| file not found))");
    std::smatch found;
    if (!std::regex_search(messages, found, missing))
        return {};
    const std::string place = found[1].str() + ":" + found[2].str(), header = found[3];
    const std::string library = about_library(place, header);
    return !library.empty()
               ? library
               : fmt::format("{}: there is no header {}; -I FOLDER says where to look for it", place, header);
}

// One position in the output of the preprocessor.
struct marker {
    std::string file;
    int line = 0;
    bool is_system = false;
};

std::optional<marker> marker_in(std::string_view line)
{
    const auto open = line.find('"'), close = line.rfind('"');
    if (!line.starts_with("# ") || open == line.npos || close <= open)
        return {};
    return marker{std::string(line.substr(open + 1, close - open - 1)), std::atoi(line.data() + 2),
                  line.find(" 3", close) != line.npos};
}

// Calls f with each marker, and with the position before it.
template <class F>
void each_marker(std::string_view preprocessed, F f)
{
    marker before;
    for (std::size_t at = 0; at < preprocessed.size();) {
        const std::size_t end = std::min(preprocessed.find('\n', at), preprocessed.size());
        if (preprocessed[at] == '#') {
            if (auto next = marker_in(preprocessed.substr(at, end - at))) {
                f(*next, before);
                before = std::move(*next);
                before.line -= 1;
            }
        }
        ++before.line;
        at = end + 1;
    }
}

// The name by which a program includes a header of NVIDIA's toolkit, where that is installed and found; else nothing.
std::string name_in_toolkit(const fs::path& header, std::map<fs::path, bool>& known_folders)
{
    for (fs::path folder = header.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
        const auto [at, is_new] = known_folders.try_emplace(folder, false);
        std::error_code unknown;
        if (is_new)
            at->second = fs::exists(folder / "cuda_runtime_api.h", unknown);
        if (!at->second)
            continue;
        const std::string name = header.lexically_relative(folder).string();
        return name.starts_with("cccl/") ? name.substr(5) : name;
    }
    return {};
}

// One run of the laboratory's compiler over the files of a program.
class compilation {
public:
    compilation(const sources& what, const fs::path& scratch) : what_(what), scratch_(scratch), beside_(folder())
    {
        if (!fs::exists(beside_ / "include"))
            throw std::runtime_error("the simulator's headers are not in " + beside_.string() +
                                     ": install the laboratory with the command");
    }

    fs::path object_of(const fs::path& file)
    {
        const std::string number = std::to_string(count_++);
        fs::path object = scratch_ / (number + ".o");
        const bool is_cuda = file.extension() == ".cu";
        const auto preprocessed = preprocess(file, is_cuda, {});
        refuse_toolkit(preprocessed);
        note_own_files(preprocessed);
        std::string on_device = preprocessed;
        if (is_cuda && asks_for_architecture_)
            on_device = preprocess(file, is_cuda, {"-D__CUDA_ARCH__=" + std::to_string(architecture())});
        std::string source;
        try {
            source = translated(preprocessed, on_device);
        } catch (const syntax_error& problem) {
            throw std::runtime_error(problem.what());
        }
        const fs::path translated_file = scratch_ / (number + ".ii");
        std::ofstream(translated_file, std::ios::binary) << source;
        std::vector<std::string> compile{learner_compiler, "-B" + (beside_ / "assembler").string()};
        append(compile, words_of(learner_flags));
        append(compile, {"-x", "c++-cpp-output", "-c", translated_file.string(), "-o", object.string()});
        if (run_program(compile) != 0)
            throw std::runtime_error(file.string() + " does not compile");
        return object;
    }

    void link(const std::vector<fs::path>& objects, const fs::path& program)
    {
        std::vector<std::string> link{learner_compiler};
        for (const fs::path& o : objects)
            link.push_back(o.string());
        append(link, {"-Wl,--whole-archive", (beside_ / "libupsweep_lab_learner.a").string(), "-Wl,--no-whole-archive",
                      (beside_ / "libupsweep_lab_report.a").string(), (beside_ / "libupsweep_simulator.a").string()});
        append(link, words_of(learner_libraries));
        if (uses_openmp_) // for its clock, say; without -fopenmp, its pragmas are passed over, as by nvcc
            link.emplace_back("-lgomp");
        append(link, {"-o", program.string()});
        if (run_program(link) != 0)
            throw std::runtime_error(
                (what_.files.size() > 1 ? std::string("these files do") : what_.files[0].string() + " does") +
                " not link");
    }

    built result() const { return {{own_files_.begin(), own_files_.end()}, takes_times_}; }

private:
    std::string preprocess(const fs::path& file, bool is_cuda, const std::vector<std::string>& more)
    {
        const fs::path out = scratch_ / "preprocessed", messages = scratch_ / "messages";
        std::vector<std::string> command{learner_compiler, "-E", "-I" + (beside_ / "include").string()};
        append(command, words_of(learner_flags));
        if (is_cuda)
            append(command, {"-include", "cuda_runtime.h", "-DUPSWEEP_TRANSLATED", "-D__NVCC__",
                             "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0", "-D__CUDACC_VER_BUILD__=0"});
        else
            append(command, {"-DUPSWEEP_HOST_SOURCE"});
        for (const std::string& folder : what_.include_folders)
            command.push_back("-I" + fs::absolute(folder).string());
        for (const std::string& definition : what_.definitions)
            command.push_back("-D" + definition);
        append(command, more);
        append(command, {"-idirafter", (beside_ / "include" / "samples").string(), "-x", "c++",
                         fs::absolute(file).string(), "-o", out.string()});
        const int status = run_program(command, {.error = messages});
        const std::string said = contents_of(messages);
        if (status != 0) {
            const std::string about = about_missing_header(said.substr(0, 1 << 16));
            if (about.empty())
                fmt::print(stderr, "{}", said);
            throw std::runtime_error(about.empty() ? file.string() + " does not compile" : about);
        }
        return contents_of(out);
    }

    void note_own_files(const std::string& preprocessed)
    {
        each_marker(preprocessed, [&](const marker& at, const marker&) {
            std::error_code unknown;
            uses_openmp_ = uses_openmp_ || at.file.ends_with("/omp.h");
            if (at.is_system || at.file.starts_with("<") || is_of_simulator(at.file))
                return;
            if (!own_files_.insert(at.file).second || !fs::is_regular_file(at.file, unknown))
                return;
            const std::string text = contents_of(at.file);
            const auto has = [&](const char* word) { return text.find(word) != text.npos; };
            asks_for_architecture_ = asks_for_architecture_ || has("__CUDA_ARCH__");
            takes_times_ = takes_times_ || has("cudaEventElapsedTime") || has("clock64()");
        });
    }

    bool is_of_simulator(const std::string& file)
    {
        const auto [at, is_new] = of_simulator_.try_emplace(file, false);
        std::error_code unknown;
        if (is_new)
            at->second = fs::weakly_canonical(file, unknown).string().starts_with(simulator_);
        return at->second;
    }

    // NVIDIA's headers do not go together with the simulator's.
    void refuse_toolkit(const std::string& preprocessed)
    {
        std::map<fs::path, bool> folders;
        each_marker(preprocessed, [&](const marker& at, const marker& before) {
            if (at.line != 1 || before.file.empty() || !at.file.starts_with("/") || is_of_simulator(at.file))
                return;
            const std::string header = name_in_toolkit(at.file, folders);
            if (header.empty())
                return;
            const std::string place = fmt::format("{}:{}", before.file, before.line);
            const std::string library = about_library(place, header);
            throw std::runtime_error(
                !library.empty() ? library : fmt::format("{}: the simulator has no header {}", place, header));
        });
    }

    // Kernels of the time before atomics of doubles define these themselves, which the simulator always has.
    int architecture() const
    {
        constexpr int least = 600;
        const auto machine = upsweep::simulator::geometry::preset(what_.geometry);
        return std::max(least, 100 * machine.major + 10 * machine.minor);
    }

    const sources& what_;
    const fs::path& scratch_;
    const fs::path beside_;
    const std::string simulator_ = fs::weakly_canonical(beside_ / "include").string(); // with its headers
    std::map<std::string, bool> of_simulator_;
    std::set<std::string> own_files_;
    bool asks_for_architecture_ = false; // with the word __CUDA_ARCH__
    bool takes_times_ = false, uses_openmp_ = false;
    unsigned count_ = 0;
};

} // namespace

built build(const sources& what, const fs::path& scratch, const fs::path& program)
{
    compilation compiler(what, scratch);
    std::vector<fs::path> objects;
    for (const fs::path& file : what.files)
        objects.push_back(compiler.object_of(file));
    compiler.link(objects, program);
    return compiler.result();
}

} // namespace lab::program
