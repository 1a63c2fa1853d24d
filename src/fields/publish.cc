// Builds a page, stores its parts, and appends its record to the row: step 1 and 2 of index_row.h.
#include "fields/index_row.h"
#include "fields/writer.h"

namespace stepstore::fields {

namespace {

// A single part of up to so many bytes goes into the record: one put, and one request for a reader. Larger
// ones do not: a walk of the row reads all records.
constexpr std::size_t most_inside = 3072;

} // namespace

std::uint64_t publish(IndexRow& row, Dataset& dataset, const std::function<void(PageBuilder&)>& entries,
                      const std::optional<std::uint64_t>& base_covers)
{
    RowRecord record;
    const Writer::Page page = dataset.writer().page_number();
    record.writer = page.writer;
    record.page = page.page;
    record.where = PagesAt::index_object;
    std::vector<std::byte> last; // the part before is stored when another one comes
    PageBuilder builder([&](BuiltPart&& part) {
        if (!record.firsts.empty()) row.put_part(record, record.firsts.size() - 1, last);
        record.firsts.push_back(std::move(part.first));
        last = std::move(part.bytes);
    });
    entries(builder);
    record.summary = builder.finish();
    if (record.firsts.size() == 1 && last.size() <= most_inside) {
        record.where = PagesAt::inside;
        record.inside = std::move(last);
    } else if (!record.firsts.empty()) {
        row.put_part(record, record.firsts.size() - 1, last);
    }
    if (base_covers) {
        record.is_base = true;
        record.covers = *base_covers;
    }
    return row.append(record);
}

} // namespace stepstore::fields
