// Extents. Does every reference name bytes that exist, that are intact, and that no other record refers to?
// Which bytes does nothing refer to?
#include "store/bulk.h"
#include "base/found_twice.h"
#include "store/check/check.h"
#include "store/failure.h"

#include <algorithm>

namespace stepstore::store {

namespace {

constexpr std::size_t records_at_once = 256; // records looked at per transaction

bool record_at(Target& target, Bytes key, BulkSource& source)
{
    bool bulk = false;
    target.read([&](ReadTransaction& transaction) {
        Bytes value;
        Record record;
        bulk = transaction.get(key, value) && parse_record(key, value, record) == nullptr &&
               record.type == RecordType::bulk;
        if (bulk) source = BulkSource(record);
    });
    return bulk;
}

bool intact(Target& target, const BulkSource& source)
{
    static constexpr std::uint64_t stride = std::uint64_t{1} << 20;
    std::vector<std::byte> buffer;
    for (std::uint64_t at = 0; at < source.extent.length;) {
        const std::uint64_t step = std::max(stride, std::uint64_t{1} << source.block_shift);
        const std::uint64_t end = std::min(source.extent.length, at + step);
        buffer.resize(end - at);
        const MutableBytes into = buffer;
        if (!source.read(target, at, end, Scattered({&into, 1}), 0)) return false;
        at = end;
    }
    return true;
}

// A record that is removed or replaced takes its extent with it. One that is replaced all the time is not
// damaged.
bool damaged_at(Target& target, Bytes key, BulkSource& source)
{
    FoundTwice<BulkSource::Version> found_twice;
    for (int round = 0; round < most_replaced; ++round) {
        if (!record_at(target, key, source) || intact(target, source)) return false;
        if (found_twice(source.version())) return true;
    }
    return false;
}

} // namespace

void Check::check_bulk_data(unsigned index)
{
    Target& target = storage_.target(index);
    std::vector<std::byte> from{static_cast<std::byte>(Space::live)};
    for (bool more = true; more;) {
        std::vector<std::vector<std::byte>> keys;
        std::vector<std::byte> next;
        target.read([&](ReadTransaction& transaction) {
            Entry entry;
            keys.clear();
            more = transaction.seek(from, entry);
            for (std::size_t count = 0; more && count < records_at_once;
                 ++count, more = transaction.next(entry)) {
                Record record;
                if (parse_record(entry.key, entry.value, record) == nullptr &&
                    record.type == RecordType::bulk) {
                    keys.emplace_back(entry.key.begin(), entry.key.end());
                }
            }
            if (more) next.assign(entry.key.begin(), entry.key.end());
        });
        from = std::move(next);
        for (const auto& key : keys) {
            BulkSource last;
            if (!damaged_at(target, key, last)) continue;
            find(Severity::damage, record_name(index, key),
                 "the checksum of its bulk extent (file " + std::to_string(last.extent.file) + ", offset " +
                     std::to_string(last.extent.offset) + ", " + std::to_string(last.extent.length) +
                     " bytes) does not match, or it was cut off",
                 "intact blocks of an array can still be read by ranges; write it again, or remove it");
        }
    }
}

void Check::check_extents(unsigned index, const std::vector<Target::ExtentFile>& before,
                          std::vector<ExtentRef>& references, const std::vector<ExtentRef>& replaced)
{
    const auto place = [](const ExtentRef& one) { return std::pair(one.file, one.offset); };
    std::ranges::sort(references, {}, place);
    const std::vector<Target::ExtentFile> now = storage_.target(index).extent_files();
    const auto file_of = [](const std::vector<Target::ExtentFile>& files, std::uint64_t number) {
        return std::ranges::find(files, number, &Target::ExtentFile::file);
    };
    for (std::size_t i = 0; i < references.size(); ++i) {
        const ExtentRef& one = references[i];
        const auto file = file_of(now, one.file);
        if (file == now.end())
            name_references(index, one, "refers to an extent file that is missing");
        else if (one.offset > file->length || one.length > file->length - one.offset) {
            name_references(index, one,
                            "refers to bytes after the end of its extent file, which was cut off");
        }
        if (i != 0 && references[i - 1].file == one.file &&
            references[i - 1].offset + references[i - 1].length > one.offset) {
            name_references(index, one, "refers to bytes that another record refers to as well");
        }
    }
    references.insert(references.end(), replaced.begin(), replaced.end()); // which nobody may give back
    std::ranges::sort(references, {}, place);
    for (const Target::ExtentFile& file : before) {
        const auto later = file_of(now, file.file);
        if (later == now.end()) continue; // given back meanwhile
        const auto first = std::ranges::lower_bound(references, file.file, {}, &ExtentRef::file);
        const auto last = std::ranges::upper_bound(references, file.file, {}, &ExtentRef::file);
        check_file(index, file, *later, {first, last});
    }
}

// Bytes that nothing refers to. A file that somebody appends to may hold some that are about to be referred
// to.
void Check::check_file(unsigned index, const Target::ExtentFile& before, const Target::ExtentFile& now,
                       std::span<const ExtentRef> references)
{
    std::vector<ExtentRef> gaps;
    std::uint64_t at = 0;
    std::uint64_t referenced = 0;
    const auto gap_until = [&](std::uint64_t end) {
        if (end > at) gaps.push_back({before.file, at, end - at});
    };
    for (const ExtentRef& one : references) {
        const ExtentRef reservation = reservation_of(one);
        gap_until(std::min(reservation.offset, before.length));
        at = std::max(at, reservation.offset + reservation.length);
        referenced += reservation.length;
    }
    gap_until(before.length);
    const std::uint64_t allocated = std::min(before.allocated, now.allocated);
    if (gaps.empty() || allocated <= referenced) return;
    Target& target = storage_.target(index);
    std::uint64_t in_gaps = 0;
    for (const ExtentRef& gap : gaps)
        in_gaps += target.allocated(reservation_of(gap));
    const std::uint64_t surplus = std::min(in_gaps, allocated - referenced);
    if (surplus == 0) return;
    const std::string where = target_name(index) + ", extent file " + std::to_string(before.file);
    if (before.in_use || now.in_use) {
        find(Severity::info, where,
             "a process appends to it; no record refers to " + std::to_string(surplus) + " of its bytes yet",
             "check again when no process writes");
        return;
    }
    report_.reclaimable_bytes += surplus;
    if (!options_.repair) {
        find(Severity::reclaimable, where,
             std::to_string(surplus) + " bytes belong to no record: a writer died",
             "nothing is lost; a check with repair frees the space");
        return;
    }
    for (const ExtentRef& gap : gaps)
        target.release(gap);
    const auto files = target.extent_files();
    const auto left = std::ranges::find(files, before.file, &Target::ExtentFile::file);
    const std::uint64_t remaining = left == files.end() ? 0 : left->allocated;
    const std::uint64_t reclaimed = now.allocated > remaining ? now.allocated - remaining : 0;
    report_.reclaimed_bytes += reclaimed;
    find(Severity::info, where, std::to_string(reclaimed) + " bytes that belonged to no record were freed",
         "");
}

// Reports the records that refer to these bytes, if any still does.
void Check::name_references(unsigned index, const ExtentRef& extent, const std::string& what)
{
    std::vector<std::vector<std::byte>> keys;
    storage_.target(index).read([&](ReadTransaction& transaction) {
        keys.clear();
        Entry entry;
        const std::byte first = static_cast<std::byte>(Space::live);
        for (bool more = transaction.seek({&first, 1}, entry); more; more = transaction.next(entry)) {
            Record record;
            const bool bulk = parse_record(entry.key, entry.value, record) == nullptr &&
                              record.type == RecordType::bulk && record.extent == extent;
            // One whose own value is lost was reported when it was walked over.
            if (bulk || (!entry.value.empty() && transaction.value_extent() == extent)) {
                keys.emplace_back(entry.key.begin(), entry.key.end());
            }
        }
    });
    for (const auto& key : keys) {
        find(Severity::damage, record_name(index, key), "the record " + what,
             "its value is lost, all others stay readable: write it again, or remove it");
    }
}

} // namespace stepstore::store
