// Index pages. A page holds the entries of one flush under one collocation key, sorted by the texts of their
// element keys. It has parts of about 32 KiB, so pages can be merged without being whole in memory.
// Threads: a PageBuilder and a Cursor are for one; a Part does not change, and may be shared. Errors:
// -DER_CSUM, -DER_DF_INVAL for damage.
#pragma once

#include "fields/key.h"
#include "fields/location.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::fields {

struct PageEntry {
    bool removed = false; // there is no such field from this page on
    Location location;
    std::uint64_t timestamp = 0;
};

inline constexpr std::size_t part_size = 32 << 10;

// What a page says about its entries.
struct PageSummary {
    std::uint64_t entries = 0; // removals included
    std::uint64_t removals = 0;
    std::uint64_t newest = 0;
    bool mixed = false; // not all element keys have the same keywords
    Axes axes;
};

struct BuiltPart {
    std::string first; // the text of its first entry
    std::vector<std::byte> bytes;
};

class PageBuilder {
public:
    explicit PageBuilder(std::function<void(BuiltPart&&)> finished) : finished_(std::move(finished)) {}
    // In strictly rising order of `text`.
    void add(std::string_view text, const PageEntry& entry);
    PageSummary finish(); // gives the last part

private:
    void note_axes(std::string_view text);
    void finish_part();

    std::function<void(BuiltPart&&)> finished_;
    BuiltPart part_;
    std::uint64_t count_ = 0; // in the part
    std::uint64_t base_time_ = 0;
    std::vector<std::uint32_t> restarts_;
    std::string last_;
    std::vector<std::string_view> last_pairs_; // of last_
    std::set<std::string, std::less<>> pairs_; // "keyword=value", escaped
    PageSummary summary_;
};

// One part as it was read.
class Part {
public:
    // -DER_CSUM, -DER_DF_INVAL: damaged. what: for messages.
    Part(std::vector<std::byte> bytes, std::string what);
    std::optional<PageEntry> find(std::string_view text) const;
    std::size_t size() const { return bytes_.size(); }

    class Cursor {
    public:
        explicit Cursor(std::shared_ptr<const Part> part) : part_(std::move(part)), at_(part_->begin_) {}
        bool next(); // to the first entry, or the one after; false: no more
        const std::string& text() const { return text_; }
        PageEntry entry() const;

    private:
        friend class Part;
        Cursor(const Part* part, std::size_t at);

        std::shared_ptr<const Part> part_;
        std::size_t at_;
        std::size_t entry_at_ = 0;
        std::string text_;
    };

private:
    friend class Cursor;
    Bytes entries() const { return Bytes(bytes_).first(end_); }
    std::size_t restart(std::size_t index) const;

    std::vector<std::byte> bytes_;
    std::string what_;
    std::uint64_t base_time_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0; // of the entries
    std::size_t restarts_ = 0;
};

} // namespace stepstore::fields
