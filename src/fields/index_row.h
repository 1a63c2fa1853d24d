// The row of a collocation key: what was published under it, in the one order that all processes see.
//
// The row lies in the collocation key's index object, key "r/<number>" for each place, numbered from 0
// without gaps. The one primitive is a put that fails when the key is there.
//
// 1. A writer puts its page's parts, if they do not fit into the record, where nobody refers to them yet.
// 2. It puts the record at the first free place on the condition that there is none. Of several that try, one
//    succeeds; the others try the next place. That put makes the page visible, whole. Records never change
//    afterwards.
// 3. A reader walks the row to the first place that is not there. Of two entries of one field, the one at the
//    later place counts. A look whether there is more is one request.
//
// So that rows do not grow for ever, a *base* takes the place of many pages (purge). Its record says that it
// covers all places before c. Its entries are the merged entries of these places.
//
// 4. A process that merges reads the row to its end, c, puts the merged page's parts, and puts the base at
//    the first free place as in 2. What others published since lies at c or after it. It still counts,
//    wherever the base itself lies. Of several bases the one that covers most counts: it contains the others.
// 5. Then the key "from" is set to c: where readers that find the first place gone go on. It is a hint: any
//    older value is right too.
// 6. Then the parts of the records before c are removed, and the records become empty ("gone"). A reader that
//    walks over a gone place passes it: the base that covers it lies after. One that wants a part which is
//    not there any more begins again (BeginAgain). Places stay, so that a place which is not there always is
//    the end of the row.
//
// A process that dies between any two steps leaves parts that nobody refers to, or places and parts that a
// base covers: the next purge removes both.
//
// Threads: several may use a row at once, under its lock; a RowPage's parts are read under it too.
#pragma once

#include "base/found_twice.h"
#include "client/numbered_log.h"
#include "fields/dataset.h"
#include "fields/row_record.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stepstore::fields {

// A part is not there: the pages were merged meanwhile, or it is lost (BeginAgain).
struct PartGone {
    std::uint64_t place = 0; // of the page
    std::size_t part = 0;
};

// A page of the row, as read.
struct RowPage {
    std::uint64_t place = 0;
    RowRecord record;
    // The axis with the fewest values, which tells soonest that a field is not in here; nullptr: there is
    // none.
    const Axes::value_type* narrowest = nullptr;
    std::vector<std::shared_ptr<const Part>> parts; // those that were read; guarded by the row
};

class IndexRow {
public:
    IndexRow(Dataset& dataset, std::string collocation,
             std::shared_ptr<std::atomic<std::size_t>> cached_bytes =
                 std::make_shared<std::atomic<std::size_t>>(0));
    ~IndexRow();
    IndexRow(const IndexRow&) = delete;
    IndexRow& operator=(const IndexRow&) = delete;

    const std::string& collocation() const { return collocation_; }
    // Reads what is new. False: nothing was ever published under this key.
    bool refresh();
    // After refresh(): the newest entry; a removal counts as none. May read parts. Begins again by itself.
    std::optional<PageEntry> find(std::string_view text);
    // After refresh(): the pages that count, oldest first.
    std::vector<std::shared_ptr<RowPage>> pages();
    std::uint64_t end(); // after refresh(): the first place that is not there
    // After refresh(): what the pages that count say together; the same object until there is a new page.
    std::shared_ptr<const PageSummary> summary();
    // A part of a page. Throws PartGone. keep: in the cache.
    std::shared_ptr<const Part> part(RowPage& page, std::size_t index, bool keep);
    void reset();                                     // forgets all that was read
    std::string what(const std::string& thing) const; // for messages

    // Publishes a page whose parts are stored. With covers_itself the record becomes a base that covers all
    // before it.
    std::uint64_t append(RowRecord& record, bool covers_itself = false);
    void put_part(const RowRecord& record, std::size_t index, Bytes bytes);

    // ---- for purge
    std::vector<std::shared_ptr<RowPage>> covered(std::uint64_t covers); // all records before it, bases too
    void begin_at(std::uint64_t place);
    void drop(const RowPage& page); // its record becomes empty, its parts go
    KeyValue* index_object();       // nullptr: none yet

private:
    bool open_index();
    void make_index();
    bool refresh_locked();
    std::optional<PageEntry> find_locked(std::string_view text, const Key& key);
    std::shared_ptr<const Part> part_locked(RowPage& page, std::size_t index, bool keep);
    void add(std::uint64_t place, RowRecord record);
    std::uint64_t read_from();
    std::uint64_t free_place();
    void account(std::size_t bytes);

    Dataset& dataset_;
    std::string collocation_;
    std::shared_ptr<std::atomic<std::size_t>> cached_bytes_;
    std::mutex mutex_; // of OwnState::field_dataset: guards all below
    std::size_t accounted_ = 0;
    std::optional<NumberedLog> index_;            // the row, and the object that it lies in
    std::uint64_t next_ = 0;                      // to read
    std::uint64_t tail_ = 0;                      // no place before it is free
    bool knows_tail_ = false;                     // it was the end of the row at some time
    std::vector<std::shared_ptr<RowPage>> pages_; // oldest first; a base is the first
    std::shared_ptr<const PageSummary> summary_;  // of the first summed_ of them; nullptr: of none
    std::size_t summed_ = 0;
};

// For one caller of what throws PartGone. A purge publishes the base first, and only then takes the parts
// that it covers. So a row that was read after a part was missed has either the base, or a page whose part is
// lost. That is damage, however many purges there were (base/found_twice.h).
class BeginAgain {
public:
    explicit BeginAgain(IndexRow& row) : row_(row) {}
    // Resets the row: refresh() and look again. Throws -DER_IO: the part is lost. -DER_AGAIN: other processes
    // purge faster than this one reads.
    void operator()(const PartGone& gone);

private:
    IndexRow& row_;
    FoundTwice<std::pair<std::uint64_t, std::size_t>> found_twice_;
    int rounds_ = 0;
};

// Builds a page of what `entries` adds, stores its parts and appends it to the row; with base_covers as a
// base. Returns its place.
std::uint64_t publish(IndexRow& row, Dataset& dataset, const std::function<void(PageBuilder&)>& entries,
                      const std::optional<std::uint64_t>& base_covers = std::nullopt);

} // namespace stepstore::fields
