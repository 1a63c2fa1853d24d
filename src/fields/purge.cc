// Reclaiming space. What must not happen is that an object goes that a field has, or will have.
//
// 1. The marks of the writers are read first, and those of dead processes chosen (client/unpublished.h).
// 2. Each row is read to its end. The newest entries of the pages that count name the live objects. All other
//    entries name masked ones, also those of pages that a base covers and nobody has dropped yet. Where pages
//    can be merged a base is published (index_row.h). A number is used for one object, by one process, before
//    its flush: a masked entry's object cannot come to life again, whatever is published meanwhile.
// 3. When all bases are on the medium, the objects go that masked entries name and no live one does,
// 4. and of dead writers those that no entry names: they died before their flush. A living writer's are left
//    alone.
// 5. Then the covered pages go, and parts of pages that dead writers never published. Last the dead writers'
//    records.
//
// A process that dies in between leaves the covered pages, so the next purge finds the same again. Of pages
// that were dropped only in part the objects are gone already.
#include "fields/maintenance.h"
#include "fields/merge.h"
#include "fields/record.h"
#include "fields/session.h"
#include "fields/writer.h"

#include "base/checksum.h"

#include <daos_errno.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <unordered_set>

namespace stepstore::fields {

namespace {

class Purge {
public:
    Purge(const std::shared_ptr<Dataset>& dataset, const PurgeOptions& options)
        : dataset_(*dataset), options_(options)
    {
    }
    PurgeReport run();

private:
    struct Row {
        std::string collocation;
        std::uint64_t covers = 0; // the pages before it can go
    };
    struct Scan {
        std::vector<Unneeded> unneeded;
        std::vector<std::string> foreign;
        std::vector<std::uint64_t> live;
        std::vector<std::uint64_t> live_foreign; // checksums
        bool removals = false;
    };
    using Pages = std::vector<std::shared_ptr<RowPage>>;

    void look_at_writers();
    void read_row(const std::string& collocation);
    Pages covered_pages(IndexRow& row, const Pages& counting);
    Scan scan(IndexRow& row, const Pages& covered, const Pages& counting);
    void note(Scan&& scan);
    void destroy_masked();
    void destroy_unflushed();
    void destroy_unflushed(const WriterRecord& writer, std::uint64_t end);
    bool destroy(std::uint64_t object);
    void drop_pages();
    void sweep(KeyValue& object, const std::set<std::string>& named);
    void sweep_parts();

    Dataset& dataset_;
    const PurgeOptions& options_;
    PurgeReport report_;
    std::map<std::uint64_t, Unpublished<WriterForm>::Stored> dead_; // writers, by their first number
    std::vector<Row> rows_;
    std::unordered_set<std::uint64_t> live_;
    std::unordered_set<std::uint64_t> live_foreign_;
    std::unordered_set<std::uint64_t> masked_;
    std::vector<std::string> masked_foreign_;
};

void Purge::look_at_writers()
{
    auto left = dataset_.guarded([&] {
        return writers_of(dataset_).left([&](const WriterRecord& writer) {
            const Life life = life_of(writer.process);
            if (life == Life::elsewhere && !options_.force) ++report_.unseen_writers;
            return life == Life::dead || (life == Life::elsewhere && options_.force);
        });
    });
    for (auto& one : left)
        dead_.emplace(one.mark.first, std::move(one));
}

// Those that are there and do not count any more, as far as they are whole.
Purge::Pages Purge::covered_pages(IndexRow& row, const Pages& counting)
{
    Pages covered = row.covered(row.end());
    std::erase_if(covered, [&](const auto& page) {
        if (std::ranges::any_of(counting, [&](const auto& one) { return one->place == page->place; }))
            return true;
        if (page->record.where == PagesAt::inside) { // as a page that was read has it
            if (!page->record.firsts.empty())
                page->parts = {
                    std::make_shared<const Part>(std::move(page->record.inside), "a covered index page")};
            return false;
        }
        page->parts.resize(page->record.firsts.size());
        try {
            for (std::size_t i = 0; i < page->parts.size(); ++i)
                row.part(*page, i, false);
        } catch (const PartGone&) {
            return true;
        }
        return false;
    });
    return covered;
}

Purge::Scan Purge::scan(IndexRow& row, const Pages& covered, const Pages& counting)
{
    Scan found;
    const Key collocation = Key::parse(row.collocation());
    Pages all = covered;
    all.insert(all.end(), counting.begin(), counting.end());
    Merge merge(row, all, std::nullopt);
    while (merge.next()) {
        const PageEntry* live = nullptr;
        if (merge.ranks().front() >= covered.size()) {
            if (merge.newest().removed)
                found.removals = true;
            else
                live = &merge.newest();
        }
        for (const PageEntry& entry : merge.entries()) {
            if (entry.removed) continue;
            const auto* own = std::get_if<FieldLocation>(&entry.location);
            if (&entry == live && own != nullptr) {
                found.live.push_back(own->object);
            } else if (&entry == live) {
                found.live_foreign.push_back(checksum(as_bytes(std::get<std::string>(entry.location))));
            } else if (live != nullptr && entry.location == live->location) {
                continue; // a base has it from here
            } else if (own != nullptr) {
                const auto reason = live == nullptr ? Unneeded::Reason::removed : Unneeded::Reason::replaced;
                found.unneeded.push_back({reason, *own, collocation, Key::parse(merge.text())});
            } else {
                found.foreign.push_back(std::get<std::string>(entry.location));
            }
        }
    }
    return found;
}

void Purge::note(Scan&& scan)
{
    report_.masked_fields += scan.unneeded.size() + scan.foreign.size();
    live_.insert(scan.live.begin(), scan.live.end());
    live_foreign_.insert(scan.live_foreign.begin(), scan.live_foreign.end());
    std::ranges::move(scan.foreign, std::back_inserter(masked_foreign_));
    for (const Unneeded& one : scan.unneeded) {
        if (one.location.length > 0) masked_.insert(one.location.object);
        if (options_.found) options_.found(one);
    }
}

void Purge::read_row(const std::string& collocation)
{
    const auto row = std::make_unique<IndexRow>(dataset_, collocation);
    for (BeginAgain again(*row);;) {
        try {
            if (!row->refresh()) return;
            const Pages counting = row->pages();
            const Pages covered = covered_pages(*row, counting);
            Scan found = scan(*row, covered, counting);
            Row result{collocation, 0};
            if (!counting.empty() && counting.front()->record.is_base)
                result.covers = counting.front()->record.covers;
            const bool to_merge = counting.size() > 1 || found.removals;
            if (to_merge && !options_.dry_run) {
                result.covers = row->end();
                publish(
                    *row, dataset_,
                    [&](PageBuilder& builder) {
                        Merge merge(*row, counting, std::nullopt);
                        while (merge.next())
                            if (!merge.newest().removed) builder.add(merge.text(), merge.newest());
                    },
                    result.covers);
            }
            note(std::move(found));
            rows_.push_back(std::move(result));
            return;
        } catch (const PartGone& gone) {
            again(gone);
        }
    }
}

// False: there is none.
bool Purge::destroy(std::uint64_t object)
{
    Array array = dataset_.data_array(object);
    const std::uint64_t size = array.size();
    if (size == 0) return false;
    ++report_.objects;
    report_.bytes += size;
    if (!options_.dry_run) array.destroy();
    return true;
}

void Purge::destroy_masked()
{
    for (const std::uint64_t object : masked_)
        if (!live_.contains(object)) destroy(object);
    for (std::string& location : masked_foreign_)
        if (!live_foreign_.contains(checksum(as_bytes(location))))
            report_.foreign.push_back(std::move(location));
}

void Purge::destroy_unflushed()
{
    std::map<std::uint64_t, std::uint64_t> ends; // of the numbers that are known to be used, by writer
    for (const auto& [first, writer] : dead_)
        ends[first] = first + 1;
    for (const auto* numbers : {&live_, &masked_}) {
        for (const std::uint64_t number : *numbers) {
            const auto behind = dead_.upper_bound(number);
            if (behind == dead_.begin()) continue;
            const WriterRecord& writer = std::prev(behind)->second.mark;
            if (number < writer.first + writer.count)
                ends[writer.first] = std::max(ends[writer.first], number + 1);
        }
    }
    for (const auto& [first, writer] : dead_)
        destroy_unflushed(writer.mark, ends[first]);
}

// Its objects were written in the order of their numbers, up to a window of those on their way.
void Purge::destroy_unflushed(const WriterRecord& writer, std::uint64_t end)
{
    const std::uint64_t last = writer.first + writer.count;
    for (std::uint64_t number = writer.first + 1; number < std::min(last, end + max_unwritten_numbers);
         ++number) {
        if (live_.contains(number) || masked_.contains(number)) continue;
        const std::uint64_t bytes = report_.bytes;
        if (!destroy(number)) continue;
        ++report_.unreferenced;
        end = std::max(end, number + 1);
        if (options_.found)
            options_.found({Unneeded::Reason::never_flushed, {number, 0, report_.bytes - bytes}, {}, {}});
    }
}

void Purge::drop_pages()
{
    for (const Row& one : rows_) {
        const auto row = std::make_unique<IndexRow>(dataset_, one.collocation);
        if (one.covers == 0 || row->index_object() == nullptr) continue;
        const Pages covered = row->covered(one.covers);
        if (covered.empty()) continue;
        row->begin_at(one.covers);
        for (const auto& page : covered) {
            row->drop(*page);
            ++report_.pages;
        }
    }
}

// The parts of dead writers' pages that were never published, or were left by a killed purge.
void Purge::sweep(KeyValue& object, const std::set<std::string>& named)
{
    std::vector<std::string> keys;
    object.list([&](std::string_view key) {
        if (!key.starts_with(part_prefix)) return true;
        const std::string_view page = key.substr(0, key.rfind('/'));
        std::uint64_t writer = 0;
        std::from_chars(key.data() + sizeof part_prefix - 1, key.data() + key.size(), writer);
        if (dead_.contains(writer) && !named.contains(std::string(page))) keys.emplace_back(key);
        return true;
    });
    for (const std::string& key : keys)
        object.remove(key);
}

void Purge::sweep_parts()
{
    if (dead_.empty()) return;
    std::set<std::string> named; // "p/WRITER.PAGE"
    for (const Row& one : rows_) {
        const auto row = std::make_unique<IndexRow>(dataset_, one.collocation);
        if (!row->refresh()) continue;
        for (const Pages& pages : {row->pages(), row->covered(row->end())}) {
            for (const auto& page : pages) {
                const std::string key = part_key(page->record.writer, page->record.page, 0);
                named.insert(key.substr(0, key.rfind('/')));
            }
        }
        sweep(*row->index_object(), named);
    }
}

PurgeReport Purge::run()
{
    dataset_.require_enabled(Control::wipe);
    look_at_writers();
    std::vector<std::string> collocations = dataset_.keys_with(collocation_prefix);
    for (const std::string& collocation : collocations)
        read_row(collocation);
    if (!options_.dry_run) dataset_.session().pool().sync();
    dataset_.guarded([&] {
        destroy_masked();
        const bool all_indexed = !dataset_.key_value().get_into(elsewhere_key, {}).has_value();
        if (all_indexed) destroy_unflushed();
        if (options_.dry_run) return;
        drop_pages();
        sweep_parts();
        if (all_indexed) {
            for (const auto& [first, writer] : dead_)
                writers_of(dataset_).remove(writer);
        }
        dataset_.session().pool().sync();
    });
    return std::move(report_);
}

} // namespace

PurgeReport purge(const std::shared_ptr<Dataset>& dataset, const PurgeOptions& options)
{
    return Purge(dataset, options).run();
}

} // namespace stepstore::fields
