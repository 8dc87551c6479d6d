// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "inline_ptx.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace lab::program {

namespace {

// `with` is C++ in which $0 is the target and $1, $2, ... are the sources, as the instruction lists them. An opcode that
// ends in a dot stands for all instructions that begin so.
struct instruction {
    std::string_view opcode, with;
};

constexpr std::string_view nothing = "(void)0";

constexpr std::array<instruction, 67> instructions{{
    {"add.", "$0 = $1 + $2"},
    {"sub.", "$0 = $1 - $2"},
    {"mul.lo.", "$0 = $1 * $2"},
    {"mul.rn.", "$0 = $1 * $2"},
    {"mul.f", "$0 = $1 * $2"},
    {"mul24.lo.", "$0 = __mul24($1, $2)"},
    {"mul.hi.u32", "$0 = __umulhi($1, $2)"},
    {"mul.hi.s32", "$0 = __mulhi($1, $2)"},
    {"mul.wide.u32", "$0 = (unsigned long long)(unsigned)($1) * (unsigned)($2)"},
    {"mul.wide.s32", "$0 = (long long)(int)($1) * (int)($2)"},
    {"mad.lo.", "$0 = $1 * $2 + $3"},
    {"mad.wide.u32", "$0 = (unsigned long long)(unsigned)($1) * (unsigned)($2) + $3"},
    {"fma.rn.f32", "$0 = fmaf($1, $2, $3)"},
    {"fma.rn.f64", "$0 = fma($1, $2, $3)"},
    {"div.", "$0 = $1 / $2"},
    {"rem.", "$0 = $1 % $2"},
    {"min.", "$0 = ($1) < ($2) ? ($1) : ($2)"},
    {"max.", "$0 = ($1) > ($2) ? ($1) : ($2)"},
    {"neg.", "$0 = -($1)"},
    {"abs.", "$0 = ($1) < 0 ? -($1) : ($1)"},
    {"and.b", "$0 = $1 & $2"},
    {"or.b", "$0 = $1 | $2"},
    {"xor.b", "$0 = $1 ^ $2"},
    {"not.b", "$0 = ~($1)"},
    {"shl.b", "$0 = $1 << $2"},
    {"shr.u", "$0 = $1 >> $2"},
    {"shr.s", "$0 = $1 >> $2"},
    {"popc.b32", "$0 = __popc($1)"},
    {"popc.b64", "$0 = __popcll($1)"},
    {"clz.b32", "$0 = __clz($1)"},
    {"clz.b64", "$0 = __clzll($1)"},
    {"brev.b32", "$0 = __brev($1)"},
    {"prmt.b32", "$0 = __byte_perm($1, $2, $3)"},
    {"shf.l.wrap.b32", "$0 = __funnelshift_l($1, $2, $3)"},
    {"shf.r.wrap.b32", "$0 = __funnelshift_r($1, $2, $3)"},
    {"bfe.u32", "$0 = ::upsweep::simulator::cuda::bit_field($1, $2, $3)"},
    {"bfi.b32", "$0 = ::upsweep::simulator::cuda::with_bit_field($1, $2, $3, $4)"},
    {"rcp.", "$0 = 1 / ($1)"},
    {"sqrt.", "$0 = sqrt($1)"},
    {"rsqrt.", "$0 = 1 / sqrt($1)"},
    {"sin.approx.", "$0 = sinf($1)"},
    {"cos.approx.", "$0 = cosf($1)"},
    {"ex2.approx.", "$0 = exp2f($1)"},
    {"lg2.approx.", "$0 = log2f($1)"},
    {"tanh.approx.", "$0 = tanhf($1)"},
    {"mov.u32", "$0 = $1"},
    {"mov.s32", "$0 = $1"},
    {"mov.b32", "$0 = $1"},
    {"mov.f32", "$0 = $1"},
    {"mov.u64", "$0 = $1"},
    {"mov.b64", "$0 = $1"},
    {"mov.f64", "$0 = $1"},
    {"membar.cta", "__threadfence_block()"},
    {"membar.gl", "__threadfence()"},
    {"membar.sys", "__threadfence_system()"},
    {"fence.acq_rel.cta", "__threadfence_block()"},
    {"fence.acq_rel.gpu", "__threadfence()"},
    {"fence.acq_rel.sys", "__threadfence_system()"},
    {"bar.sync", "__syncthreads()"},
    {"barrier.sync", "__syncthreads()"},
    {"bar.warp.sync", "__syncwarp($0)"},
    {"nanosleep.u32", "__nanosleep($0)"},
    {"trap", "__trap()"},
    {"exit", "return"},
    {"brkpt", nothing},
    {"prefetch.", nothing},
    {"pmevent", nothing},
}};

// ld.global.nc.f32 $0, [$1] and st.global.cg.u32 [$0], $1: the type is the last word, and hints for the cache say nothing.
struct memory_type {
    std::string_view ending, type;
};
constexpr std::array<memory_type, 12> memory_types{{{".u8", "unsigned char"},
                                                    {".s8", "signed char"},
                                                    {".u16", "unsigned short"},
                                                    {".s16", "short"},
                                                    {".u32", "unsigned"},
                                                    {".b32", "unsigned"},
                                                    {".s32", "int"},
                                                    {".f32", "float"},
                                                    {".u64", "unsigned long long"},
                                                    {".b64", "unsigned long long"},
                                                    {".s64", "long long"},
                                                    {".f64", "double"}}};

struct special_register {
    std::string_view name, value;
};
constexpr std::array<special_register, 26> special_registers{
    {{"%laneid", "::upsweep::simulator::device::lane_index()"},
     {"%warpid", "::upsweep::simulator::cuda::warp_of_block()"},
     {"%nwarpid", "::upsweep::simulator::cuda::warps_of_block()"},
     {"%smid", "::upsweep::simulator::cuda::multiprocessor()"},
     {"%nsmid", "::upsweep::simulator::cuda::multiprocessors()"},
     {"%clock", "(unsigned)clock64()"},
     {"%clock_hi", "(unsigned)(clock64() >> 32)"},
     {"%clock64", "clock64()"},
     {"%globaltimer", "clock64()"},
     {"%globaltimer_lo", "(unsigned)clock64()"},
     {"%lanemask_eq", "(1u << ::upsweep::simulator::device::lane_index())"},
     {"%lanemask_lt", "((1u << ::upsweep::simulator::device::lane_index()) - 1u)"},
     {"%lanemask_le", "((2u << ::upsweep::simulator::device::lane_index()) - 1u)"},
     {"%lanemask_gt", "~((2u << ::upsweep::simulator::device::lane_index()) - 1u)"},
     {"%lanemask_ge", "~((1u << ::upsweep::simulator::device::lane_index()) - 1u)"},
     {"%dynamic_smem_size", "(unsigned)::upsweep::simulator::device::dynamic_shared_bytes()"},
     {"%tid.x", "threadIdx.x"},
     {"%tid.y", "threadIdx.y"},
     {"%tid.z", "threadIdx.z"},
     {"%ntid.x", "blockDim.x"},
     {"%ntid.y", "blockDim.y"},
     {"%ntid.z", "blockDim.z"},
     {"%ctaid.x", "blockIdx.x"},
     {"%ctaid.y", "blockIdx.y"},
     {"%nctaid.x", "gridDim.x"},
     {"%nctaid.y", "gridDim.y"}}};

struct asm_statement {
    std::string text;                  // the string literals, joined
    std::vector<std::string> operands; // %0, %1, ...
};

std::string unquoted(std::string_view literal)
{
    std::string out;
    for (std::size_t i = 1; i + 1 < literal.size(); ++i) {
        if (literal[i] != '\\') {
            out += literal[i];
            continue;
        }
        ++i;
        out += literal[i] == 'n' || literal[i] == 't' || literal[i] == 'r' ? ' ' : literal[i];
    }
    return out;
}

asm_statement read(const std::vector<token>& tokens, span statement)
{
    asm_statement out;
    std::size_t i = statement.begin;
    for (; i < statement.end && tokens[i].kind == token_kind::text; ++i)
        out.text += unquoted(tokens[i].spelling);
    for (unsigned part = 0; i < statement.end; ++i) {
        part += tokens[i].is(":") ? 1 : tokens[i].is("::") ? 2 : 0;
        if (part > 2 || !tokens[i].is("("))
            continue;
        const auto close =
            static_cast<std::size_t>(closing(tokens.begin() + static_cast<long>(i), tokens.end()) - tokens.begin());
        std::string operand;
        for (std::size_t j = i; j <= close; ++j)
            operand.append(j == i ? "" : tokens[j].gap).append(tokens[j].spelling);
        out.operands.push_back(std::move(operand));
        i = close;
    }
    return out;
}

std::string trimmed(std::string_view text)
{
    while (!text.empty() && (std::isspace(static_cast<unsigned char>(text.front())) || text.front() == ';'))
        text.remove_prefix(1);
    while (!text.empty() && (std::isspace(static_cast<unsigned char>(text.back())) || text.back() == ';'))
        text.remove_suffix(1);
    return std::string(text);
}

// The C++ of one operand: %n, a special register (%% in the text where there are operands), or a number; empty for others.
std::string operand(std::string text, const asm_statement& of)
{
    text = trimmed(text);
    if (text.size() > 2 && text.front() == '[' && text.back() == ']')
        text = trimmed(std::string_view(text).substr(1, text.size() - 2));
    if (text.starts_with("%%"))
        text.erase(0, 1);
    if (text.size() > 1 && text[0] == '%' && std::isdigit(static_cast<unsigned char>(text[1]))) {
        const auto number = std::stoul(text.substr(1));
        return number < of.operands.size() ? of.operands[number] : std::string();
    }
    for (const auto& r : special_registers)
        if (text == r.name)
            return std::string(r.value);
    const bool is_number = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '.' || c == '-';
    }) && (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-');
    return is_number ? text : std::string();
}

std::vector<std::string> split(std::string_view list)
{
    std::vector<std::string> out;
    for (std::size_t begin = 0; begin < list.size();) {
        const auto end = std::min(list.find(',', begin), list.size());
        out.push_back(trimmed(list.substr(begin, end - begin)));
        begin = end + 1;
    }
    return out;
}

// The C++ for an opcode, or nothing.
std::string meaning_of(const std::string& opcode)
{
    for (const auto& known : instructions)
        if (opcode == known.opcode ||
            (known.opcode.find('.') != known.opcode.npos && opcode.starts_with(known.opcode) &&
             opcode.find(".cc") == opcode.npos && opcode.find(".sat") == opcode.npos))
            return std::string(known.with);
    const bool loads = opcode.starts_with("ld."), stores = opcode.starts_with("st.");
    if ((!loads && !stores) || opcode.find(".v") != opcode.npos || opcode.find(".param") != opcode.npos)
        return {};
    for (const auto& known : memory_types)
        if (opcode.ends_with(known.ending)) {
            const bool is_flag = opcode.find(".volatile") != opcode.npos || opcode.find(".relaxed") != opcode.npos;
            if (opcode.find(".acquire") != opcode.npos || opcode.find(".release") != opcode.npos ||
                opcode.find("shared") != opcode.npos) // whose addresses are numbers
                return {};
            const std::string place = fmt::format("*({}{}*)", is_flag ? "volatile " : "", known.type);
            return loads ? "$0 = " + place + "($1)" : place + "($0) = $1";
        }
    return {};
}

} // namespace

std::string simulated_ptx(const std::vector<token>& tokens, span statement)
{
    const asm_statement given = read(tokens, statement);
    std::string text = trimmed(given.text);
    if (text.size() > 1 && text.front() == '{' && text.back() == '}')
        text = trimmed(std::string_view(text).substr(1, text.size() - 2));
    if (text.empty()) // a barrier for the compiler
        return std::string(nothing);
    const std::string opcode = text.substr(0, text.find_first_of(" \t"));
    std::string out = text.find_first_of(";{") == text.npos ? meaning_of(opcode) : std::string();
    if (!out.empty()) {
        const auto operands = split(std::string_view(text).substr(opcode.size()));
        for (std::size_t i = 0; i < 5; ++i) {
            const std::string place = "$" + std::to_string(i);
            for (auto at = out.find(place); at != out.npos; at = out.find(place)) {
                const std::string value = i < operands.size() ? operand(operands[i], given) : std::string();
                if (value.empty()) {
                    out.clear();
                    break;
                }
                out.replace(at, 2, value);
            }
        }
    }
    if (!out.empty())
        return out;
    std::string shown;
    for (const char c : text) {
        if (c == '"' || c == '\\')
            shown += '\\';
        shown += c;
    }
    return "::upsweep::simulator::cuda::refuse_ptx(\"inline PTX that is not simulated: " + shown + "\")";
}

} // namespace lab::program
