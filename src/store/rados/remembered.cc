#include "store/rados/remembered.h"

#include "base/clock.h"

#include <algorithm>
#include <functional>

namespace stepstore::store::rados {

namespace {

constexpr std::size_t most_bytes = 4 << 20, most_cells = 8192, most_scopes = 2048;
constexpr std::size_t most_of_scope = 64;    // entries
constexpr std::uint8_t looks = 64;           // before it is guessed again
constexpr std::size_t object_beginning = 22; // bytes of a record's key that name object and kind

} // namespace

std::atomic<Epoch> Clock::last_{0};

Epoch Clock::next(Epoch at_least)
{
    Epoch last = last_.load();
    for (;;) {
        const Epoch epoch = std::max({nanoseconds(CLOCK_REALTIME), last + 1, at_least});
        if (last_.compare_exchange_weak(last, epoch)) return epoch;
    }
}

void Clock::saw(Epoch epoch)
{
    Epoch last = last_.load();
    while (last < epoch && !last_.compare_exchange_weak(last, epoch)) {
    }
}

Epoch Clock::now()
{
    return std::max(nanoseconds(CLOCK_REALTIME), last_.load() + 1);
}

bool Remembered::recall(const std::string& key, Raw& raw)
{
    const std::lock_guard lock(guard_);
    const auto found = cells_.find(key);
    if (found == cells_.end()) return false;
    raw = found->second;
    return true;
}

void Remembered::remember(const std::string& key, const Raw& raw)
{
    const std::size_t size = key.size() + (raw ? raw->size() : 0);
    const std::lock_guard lock(guard_);
    if (bytes_ + size > most_bytes || cells_.size() >= most_cells) {
        cells_.clear();
        scopes_.clear();
        bytes_ = 0;
    }
    bytes_ += size;
    cells_[key] = raw;
}

bool Remembered::recall_scope(const std::string& scope, Scope& found)
{
    const std::lock_guard lock(guard_);
    const auto at = scopes_.find(scope);
    if (at == scopes_.end()) return false;
    found = at->second;
    return true;
}

void Remembered::remember_scope(const std::string& scope, Scope known)
{
    if (known.entries.size() > most_of_scope) return forget_scope(scope);
    const std::lock_guard lock(guard_);
    for (const auto& [key, raw] : known.entries)
        bytes_ += key.size() + (raw ? raw->size() : 0);
    if (bytes_ > most_bytes || scopes_.size() >= most_scopes) {
        cells_.clear();
        scopes_.clear();
        bytes_ = 0;
    }
    scopes_[scope] = std::move(known);
}

void Remembered::forget_scope(const std::string& scope)
{
    const std::lock_guard lock(guard_);
    scopes_.erase(scope);
}

std::atomic<std::uint8_t>& Remembered::score(const std::string& key)
{
    const auto hash = std::hash<std::string_view>()(std::string_view(key).substr(0, object_beginning));
    return scores_[hash % scores_.size()];
}

bool Remembered::may_guess(const std::string& key)
{
    std::atomic<std::uint8_t>& left = score(key);
    const std::uint8_t now = left.load(std::memory_order_relaxed);
    if (now == 0) return true;
    left.store(static_cast<std::uint8_t>(now - 1), std::memory_order_relaxed);
    return false;
}

void Remembered::guessed_wrong(const std::string& key)
{
    score(key).store(looks, std::memory_order_relaxed);
}

} // namespace stepstore::store::rados
