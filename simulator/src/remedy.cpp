// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "remedy.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "sites.h"

namespace upsweep::simulator {

namespace {

std::string number(std::size_t n) { return std::to_string(n); }

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string at_line(const location& where)
{
    return where.file.empty() ? "here" : "at line " + std::to_string(where.line);
}

std::string full_place(const location& where) { return file_name(where.file) + ":" + std::to_string(where.line); }

bool same_line(const location& a, const location& b) { return a.file == b.file && a.line == b.line; }

// The two accesses of a race. `first` and `second` are in the order in which they happened.
struct pair_of_accesses {
    const party &second, &first;
    explicit pair_of_accesses(const finding& f) : second(f.parties[0]), first(f.parties[1]) {}
};

// Where the race's barrier belongs follows from the order in which one thread comes to the two lines. That is mostly the
// order of the lines, but after a barrier in a loop a thread comes first to the lines behind it, and then to those before it.
// The lines are those of the innermost function that both accesses are in, itself or by its calls.
class barrier_place {
public:
    barrier_place(const noted_finding& f, const remedy_context& context) : accesses_(f.what), context_(context)
    {
        const auto one = call_levels(accesses_.first.pc), other = call_levels(accesses_.second.pc);
        const auto since = f.facts.since == 0 ? std::vector<call_level>{} : call_levels(f.facts.since);
        const auto same_copy = [&](const std::vector<call_level>& levels, std::size_t depth) {
            return depth < levels.size() && depth < one.size() && levels[depth].copy == one[depth].copy;
        };
        for (std::size_t depth = 0; same_copy(other, depth); ++depth) {
            loop_has_a_barrier_ = false;
            shared_function_ = true;
            first_ = one[depth].where.line;
            second_ = other[depth].where.line;
            has_barrier_ = same_copy(since, depth);
            since_ = has_barrier_ ? since[depth].where.line : 0;
            // The next barrier behind the line belongs to its loop, if threads come to it again and again, too.
            int next = 0;
            for (const auto pc : context.barriers) {
                const auto barrier = call_levels(pc);
                if (!same_copy(barrier, depth) || barrier[depth].where.line < first_ ||
                    (next != 0 && barrier[depth].where.line >= next))
                    continue;
                next = barrier[depth].where.line;
                loop_has_a_barrier_ = context.repeated.contains(pc);
            }
        }
    }

    std::string sentence(const char* barrier, data_hazard hazard, bool also_read_after_write) const
    {
        const std::string put = std::string("put ") + barrier;
        if (!shared_function_)
            return put + " between the accesses at " + full_place(accesses_.first.where) + " and " +
                   full_place(accesses_.second.where);
        if (first_ == second_) {
            if (loop_has_a_barrier_ || (hazard == data_hazard::write_after_read && !also_read_after_write))
                return "split line " + std::to_string(first_) + ": first read into a local variable, then " + barrier +
                       ", then write";
            return put + " at the end of the loop, after line " + std::to_string(first_) +
                   " and before that line comes again";
        }
        const bool first_comes_first = turn(first_, accesses_.first) < turn(second_, accesses_.second);
        const int before = first_comes_first ? first_ : second_, after = first_comes_first ? second_ : first_;
        // Without any barrier yet, only a thread that comes to a line again can have been at the later line before.
        const bool comes_again =
            !has_barrier_ && !first_comes_first && repeats(accesses_.second) && repeats(accesses_.first);
        if (before > after || comes_again)
            return put + " at the end of the loop, after line " + std::to_string(std::max(before, after)) +
                   " and before line " + std::to_string(std::min(before, after)) + " comes again";
        return put + " between lines " + std::to_string(before) + " and " + std::to_string(after);
    }

private:
    bool repeats(const party& p) const { return context_.repeated.contains(p.pc); }

    // When a thread comes to the line of an access in this interval between barriers.
    int turn(int line, const party& access) const
    {
        constexpr int a_round = 100'000'000;
        return has_barrier_ && line < since_ && repeats(access) ? line + a_round : line;
    }

    pair_of_accesses accesses_;
    const remedy_context& context_;
    bool shared_function_ = false, has_barrier_ = false, loop_has_a_barrier_ = false;
    int first_ = 0, second_ = 0, since_ = 0; // the lines of the accesses and of the barrier before them
};

class remedy_writer {
public:
    remedy_writer(std::vector<noted_finding>& findings, const remedy_context& context)
        : findings_(findings), context_(context)
    {
        for (const auto& f : findings) {
            if (f.what.kind != finding_kind::race || f.what.parties.size() < 2)
                continue;
            const pair_of_accesses pair(f.what);
            seen_.insert({f.variable_without_index, key(pair.first.where), key(pair.second.where), f.facts.between,
                          f.facts.hazard});
        }
        for (const auto& [read, write] : context.updates) {
            const location &from = locate(read), &to = locate(write);
            updated_lines_.insert({key(from), key(to)});
        }
    }

    void write_all()
    {
        for (auto& f : findings_)
            f.what.benign = is_benign(f);
        for (auto& f : findings_)
            f.what.remedy = sentence(f);
    }

private:
    using line_key = std::pair<std::string, int>;
    static line_key key(const location& where) { return {where.file, where.line}; }

    bool saw(const noted_finding& like, const location& first, const location& second, relation between,
             data_hazard hazard) const
    {
        return seen_.contains({like.variable_without_index, key(first), key(second), between, hazard});
    }

    // Two threads each read a word and then write what they made of it, so that one of the two updates is lost. A barrier
    // does not help.
    bool loses_updates(const noted_finding& f) const
    {
        const pair_of_accesses pair(f.what);
        const auto one = key(pair.first.where), other = key(pair.second.where);
        for (const auto& [read, write] : updated_lines_) {
            const bool is_part = (one == read || one == write) && (other == read || other == write);
            if (!is_part)
                continue;
            for (auto between : {relation::one_warp, relation::one_block, relation::two_blocks})
                if (seen_.contains({f.variable_without_index, write, write, between, data_hazard::write_after_write}))
                    return true;
        }
        return false;
    }

    bool is_benign(const noted_finding& f) const
    {
        return f.what.kind == finding_kind::race && f.facts.hazard == data_hazard::write_after_write &&
               f.facts.same_value && f.what.parties.size() == 2 && !loses_updates(f);
    }

    std::string race(const noted_finding& f) const
    {
        if (f.facts.between == relation::copy)
            return "wait for the end of the asynchronous copy between its issue " + at_line(f.what.parties[1].where) +
                   " and the access " + at_line(f.what.parties[0].where);
        const pair_of_accesses pair(f.what);
        const std::string line = std::to_string(pair.second.where.line);
        if (f.what.benign)
            return "nothing has to be mended, because all threads write the same value; to write it once, put `if "
                   "(threadIdx.x == 0)` before line " +
                   line;
        if (loses_updates(f))
            return "use atomicAdd or another atomic " + at_line(pair.second.where) +
                   ", or give each thread a table of its own, for a barrier does not help where two threads update one "
                   "word";
        if (f.facts.between == relation::two_blocks)
            return between_blocks(f);
        if (f.facts.hazard == data_hazard::write_after_write && same_line(pair.first.where, pair.second.where))
            return "let only one thread write this word at line " + line + ", or give each thread a word of its own";
        const auto saw_here = [&](relation between, data_hazard hazard) {
            return saw(f, pair.first.where, pair.second.where, between, hazard);
        };
        const bool also_read_after_write = saw_here(relation::one_block, data_hazard::read_after_write) ||
                                           saw_here(relation::one_warp, data_hazard::read_after_write);
        // The barrier that other threads need there orders the lanes of a warp, too.
        const bool of_warp = f.facts.between == relation::one_warp && !saw_here(relation::one_block, f.facts.hazard);
        const bool others_come =
            context_.several_warps.contains(pair.first.pc) || context_.several_warps.contains(pair.second.pc);
        const barrier_place place(f, context_);
        const char* const barrier = of_warp && !others_come ? "`__syncwarp()`" : "`__syncthreads()`";
        return place.sentence(barrier, f.facts.hazard, also_read_after_write) +
               (of_warp && others_come ? "; `__syncwarp()` is enough if no other warp uses the same words" : "");
    }

    static std::string between_blocks(const noted_finding& f)
    {
        const pair_of_accesses pair(f.what);
        const std::string first = at_line(pair.first.where), second = at_line(pair.second.where);
        switch (f.facts.hazard) {
        case data_hazard::write_after_write:
            return "let only one block write this element " + second +
                   ", or use an atomic, for __syncthreads() does not order blocks";
        case data_hazard::write_after_read:
            return "write to another array " + second +
                   ", or in a second kernel, because other blocks still read the old value " + first;
        default:
            return "do what follows the write " + first +
                   " in a second kernel, or order the blocks by an atomic or a flag with __threadfence() on both "
                   "sides, or by "
                   "grid.sync() in a cooperative launch";
        }
    }

    static std::string past_the_end(const noted_finding& f)
    {
        const auto& what = f.facts.what;
        const std::string line = at_line(f.what.parties.at(0).where);
        const auto needed = number(what.offset + what.size);
        if (what.space == memory_space::dynamic_shared)
            return "give the launch at least " + needed +
                   " bytes of dynamic shared memory, its third argument in <<<>>>, or "
                   "keep the index " +
                   line + " below " + number(what.size == 0 ? 0 : what.extent / what.size);
        const auto elements = what.size == 0 ? 0 : what.extent / what.size;
        const std::string bound = number(elements) + (elements == 1 ? " element" : " elements") + " of " +
                                  number(what.size) + (what.size == 1 ? " byte" : " bytes");
        if (what.space == memory_space::shared)
            return "keep the index " + line + " inside the variable, which has " + bound + ", or declare it larger";
        return "guard the access " + line + ", for instance by `if (i < n)` with the n of the array, which has " +
               bound;
    }

    std::string out_of_bounds(const noted_finding& f) const
    {
        const std::string line = f.what.parties.empty() ? "here" : at_line(f.what.parties[0].where);
        switch (f.facts.why) {
        case cause::past_the_end: return past_the_end(f);
        case cause::before_the_beginning:
            return "guard the access " + line +
                   ", whose index is below 0, for instance by `if (i >= k)` where it is i - k";
        case cause::freed: return "call cudaFree only after the last kernel that uses this memory";
        case cause::not_device_memory:
            return "pass the kernel memory from cudaMalloc or cudaMallocManaged, and check the index " + line +
                   ", for a kernel cannot reach this address";
        case cause::ended_block:
            return "let the blocks of the cluster meet at cluster.sync() before any of them returns";
        default: return general_remedy(f.what);
        }
    }

    std::string sentence(const noted_finding& f) const
    {
        const auto& parties = f.what.parties;
        const auto line = [&](std::size_t which) {
            return which < parties.size() ? at_line(parties[which].where) : std::string("here");
        };
        switch (f.what.kind) {
        case finding_kind::race: return parties.size() < 2 ? general_remedy(f.what) : race(f);
        case finding_kind::out_of_bounds: return out_of_bounds(f);
        case finding_kind::uninitialised_read:
            if (f.facts.what.space == memory_space::global)
                return "fill the memory before the launch, with cudaMemset or cudaMemcpy";
            return "write all elements that are read " + line(0) +
                   ", and put `__syncthreads()` between the writes and line " +
                   std::to_string(parties.empty() ? 0 : parties[0].where.line);
        case finding_kind::barrier_divergence:
            if (f.facts.why == cause::exited)
                return "let no thread return before the barrier " + line(0) +
                       ": put what only some threads do into an if that ends before the barrier";
            if (parties.size() > 1)
                return "put one barrier behind the branch, where all threads of the block pass, in place of those " +
                       line(1) + " and " + line(0);
            return general_remedy(f.what);
        case finding_kind::missing_lane:
            switch (f.facts.why) {
            case cause::exited:
                return "let no lane return before line " + std::to_string(parties.empty() ? 0 : parties[0].where.line) +
                       ", or take the mask from `__ballot_sync` before the branch";
            case cause::diverged:
                return "call the intrinsic " + line(0) +
                       " outside the branch, or with the mask that `__ballot_sync` of the branch's condition gives";
            case cause::not_in_own_mask: return "let the mask " + line(0) + " name each lane that makes the call";
            case cause::source_takes_no_part:
                return "read " + line(0) + " only from lanes that the mask names and that make the same call";
            default: return general_remedy(f.what);
            }
        case finding_kind::failed_launch:
            switch (f.facts.why) {
            case cause::too_much_shared:
                return "declare less shared memory " + line(0) + ", or let more blocks share the work";
            case cause::too_much_static_shared:
                return "declare the array " + line(0) +
                       " as `extern __shared__`, give its size as the third argument of the launch, and allow it by "
                       "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)";
            default: return general_remedy(f.what);
            }
        default: return general_remedy(f.what);
        }
    }

    std::vector<noted_finding>& findings_;
    const remedy_context& context_;
    std::set<std::tuple<std::string, line_key, line_key, relation, data_hazard>> seen_; // the first access, the second
    std::set<std::pair<line_key, line_key>> updated_lines_;
};

} // namespace

void add_remedies(std::vector<noted_finding>& findings, const remedy_context& context)
{
    remedy_writer(findings, context).write_all();
}

std::string general_remedy(const finding& of)
{
    const std::string line = of.parties.empty() ? std::string("here") : at_line(of.parties[0].where);
    switch (of.kind) {
    case finding_kind::race: return "order the two accesses by a barrier, or use atomics";
    case finding_kind::scope_too_narrow:
        return "use thread_scope_device, or __threadfence() in place of __threadfence_block(), because threads of "
               "several "
               "blocks take part";
    case finding_kind::uninitialised_read: return "write the memory before it is read " + line;
    case finding_kind::out_of_bounds: return "keep the access " + line + " inside its array";
    case finding_kind::misaligned:
        return "access " + line + " only addresses that are multiples of the size of the type";
    case finding_kind::barrier_divergence:
        return "put the barrier " + line +
               " where every thread of the block comes, outside branches and before any return";
    case finding_kind::missing_lane: return "let the mask " + line + " name exactly the lanes that make the call";
    case finding_kind::deadlock:
        return "let all threads of the block come to the same barriers, and let nobody wait at a barrier for a thread "
               "that "
               "waits for him";
    case finding_kind::livelock:
        return "make sure that the value which is polled " + line +
               " will be written by a thread that can run, and that does not wait for this one";
    case finding_kind::leak: return "call cudaFree for the memory that was allocated " + line;
    case finding_kind::failed_launch: return "mend what stops the kernel " + line;
    case finding_kind::unchecked_launch:
        return "stay within the limit that is named here, and ask cudaGetLastError() after each launch";
    case finding_kind::invalid_free: return "call cudaFree once for each pointer that cudaMalloc returned " + line;
    case finding_kind::stack_overflow:
        return "make the local arrays smaller or the recursion shallower, or allocate the memory by cudaMalloc";
    case finding_kind::assertion: return "mend what makes the asserted condition " + line + " false";
    case finding_kind::missing_proxy_fence:
        return "put a proxy fence (fence.proxy.async) between the ordinary write and the bulk copy " + line;
    case finding_kind::unfinished_copy:
        return "wait for the copy that was issued " + line + " before the thread returns";
    case finding_kind::mbarrier_misuse:
        return "initialise the mbarrier once, before its first use, with the number of threads that arrive at it";
    case finding_kind::host_access:
        return "copy the memory with cudaMemcpy before the host uses it " + line +
               ", or allocate it by cudaMallocManaged";
    case finding_kind::unsynchronised_access:
        return "call cudaDeviceSynchronize() between the launch and line " +
               std::to_string(of.parties.empty() ? 0 : of.parties[0].where.line);
    case finding_kind::wrong_direction:
        return "give the direction " + line + " that fits the pointers: the target comes first and the source second";
    case finding_kind::endless_loop:
        return "let the loop " + line +
               " end, and read what another thread is to change through volatile or an atomic, so that it is read each "
               "time";
    case finding_kind::lanes_wait: return "let only one lane of a warp take the lock, or require a GPU from sm_70 on";
    case finding_kind::launch_in_kernel:
        return "launch the kernel from the host, or call a __device__ function in its place";
    }
    return {};
}

} // namespace upsweep::simulator
