// d_rank_list_ and daos_rank_list_parse: lists of ranks in the caller's memory.
#include "daos/rank_list.h"

#include <gurt/common.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

std::span<d_rank_t> ranks_in(const d_rank_list_t* list)
{
    return list && list->rl_ranks ? std::span(list->rl_ranks, list->rl_nr) : std::span<d_rank_t>();
}

// Puts other ranks into a list.
int replace(d_rank_list_t& list, std::span<const d_rank_t> ranks)
{
    d_rank_t* memory = nullptr;
    if (!ranks.empty()) {
        memory = static_cast<d_rank_t*>(std::calloc(ranks.size(), sizeof(d_rank_t)));
        if (!memory) return -DER_NOMEM;
        std::ranges::copy(ranks, memory);
    }
    std::free(std::exchange(list.rl_ranks, memory));
    list.rl_nr = static_cast<std::uint32_t>(ranks.size());
    return 0;
}

template <class Body>
auto with_memory(decltype(std::declval<Body>()()) otherwise, Body body) noexcept
{
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return otherwise;
    }
}

std::vector<d_rank_t> copied(const d_rank_list_t* list)
{
    const auto ranks = ranks_in(list);
    return {ranks.begin(), ranks.end()};
}

d_rank_list_t* made(const char* text, const char* separators)
{
    std::vector<d_rank_t> ranks;
    for (std::string_view rest(text); !rest.empty();) {
        const auto begin = rest.find_first_not_of(separators);
        if (begin == std::string_view::npos) break;
        rest.remove_prefix(begin);
        const auto part = rest.substr(0, rest.find_first_of(separators));
        d_rank_t rank = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), rank);
        if (error != std::errc() || end != part.data() + part.size()) return nullptr;
        ranks.push_back(rank);
        rest.remove_prefix(part.size());
    }
    return ranks.empty() ? nullptr : stepstore::daos::rank_list(ranks);
}

} // namespace

namespace stepstore::daos {

d_rank_list_t* rank_list(std::span<const d_rank_t> ranks)
{
    auto* list = static_cast<d_rank_list_t*>(std::calloc(1, sizeof(d_rank_list_t)));
    if (list && replace(*list, ranks) == 0) return list;
    std::free(list);
    throw std::bad_alloc();
}

} // namespace stepstore::daos

using stepstore::daos::rank_list;

extern "C" {

d_rank_list_t* daos_rank_list_parse(const char* str, const char* sep)
{
    if (!str || !sep) return nullptr;
    return with_memory(static_cast<d_rank_list_t*>(nullptr), [&] { return made(str, sep); });
}

void d_rank_list_free(d_rank_list_t* list)
{
    if (!list) return;
    std::free(list->rl_ranks);
    std::free(list);
}

d_rank_list_t* d_rank_list_alloc(uint32_t size)
{
    return with_memory(static_cast<d_rank_list_t*>(nullptr), [&] {
        std::vector<d_rank_t> ranks(size);
        for (std::uint32_t i = 0; i < size; ++i)
            ranks[i] = i;
        return rank_list(ranks);
    });
}

int d_rank_list_resize(d_rank_list_t* list, uint32_t size)
{
    if (!list) return -DER_INVAL;
    return with_memory(-DER_NOMEM, [&] {
        auto ranks = copied(list);
        ranks.resize(size);
        return replace(*list, ranks);
    });
}

int d_rank_list_dup(d_rank_list_t** dst, const d_rank_list_t* src)
{
    if (!dst) return -DER_INVAL;
    return with_memory(-DER_NOMEM, [&] {
        *dst = src ? rank_list(ranks_in(src)) : nullptr;
        return 0;
    });
}

int d_rank_list_dup_sort_uniq(d_rank_list_t** dst, const d_rank_list_t* src)
{
    if (!dst) return -DER_INVAL;
    return with_memory(-DER_NOMEM, [&] {
        auto ranks = copied(src);
        std::ranges::sort(ranks);
        ranks.erase(std::ranges::unique(ranks).begin(), ranks.end());
        *dst = src ? rank_list(ranks) : nullptr;
        return 0;
    });
}

int d_rank_list_copy(d_rank_list_t* dst, d_rank_list_t* src)
{
    if (!dst || !src) return -DER_INVAL;
    return dst == src ? 0 : replace(*dst, ranks_in(src));
}

int d_rank_list_append(d_rank_list_t* list, d_rank_t rank)
{
    if (!list) return -DER_INVAL;
    return with_memory(-DER_NOMEM, [&] {
        auto ranks = copied(list);
        ranks.push_back(rank);
        return replace(*list, ranks);
    });
}

int d_rank_list_del(d_rank_list_t* list, d_rank_t rank)
{
    if (!list) return -DER_INVAL;
    const auto ranks = ranks_in(list);
    const auto found = std::ranges::find(ranks, rank);
    if (found == ranks.end()) return 0;
    std::copy(found + 1, ranks.end(), found);
    --list->rl_nr;
    return 0;
}

int d_rank_list_merge(d_rank_list_t* src_set, d_rank_list_t* merge_set)
{
    if (!src_set) return -DER_INVAL;
    return with_memory(-DER_NOMEM, [&] {
        auto ranks = copied(src_set);
        for (const d_rank_t rank : ranks_in(merge_set))
            if (!d_rank_in_rank_list(src_set, rank)) ranks.push_back(rank);
        return replace(*src_set, ranks);
    });
}

void d_rank_list_sort(d_rank_list_t* list)
{
    std::ranges::sort(ranks_in(list));
}

bool d_rank_list_find(d_rank_list_t* list, d_rank_t rank, int* idx)
{
    const auto ranks = ranks_in(list);
    const auto found = std::ranges::find(ranks, rank);
    if (found == ranks.end()) return false;
    if (idx) *idx = static_cast<int>(found - ranks.begin());
    return true;
}

bool d_rank_in_rank_list(d_rank_list_t* list, d_rank_t rank)
{
    return d_rank_list_find(list, rank, nullptr);
}

bool d_rank_list_identical(d_rank_list_t* one, d_rank_list_t* other)
{
    if (one == other) return true;
    if (!one || !other || one->rl_nr != other->rl_nr) return false;
    d_rank_list_sort(one);
    return std::ranges::is_permutation(ranks_in(one), ranks_in(other));
}

} // extern "C"
