#include "fields/index_row.h"
#include "fields/writer.h"

namespace stepstore::fields {

std::uint64_t publish(IndexRow& row, Dataset& dataset, const std::function<void(PageBuilder&)>& entries,
                      const std::optional<std::uint64_t>& base_covers)
{
    RowRecord record;
    const Writer::Page page = dataset.writer().page_number();
    record.writer = page.writer;
    record.page = page.page;
    // The first part waits: with Index::shared a single one goes into the record.
    std::vector<std::byte> first;
    const bool inside = row.pages_at() == PagesAt::index_object;
    record.where = row.pages_at();
    PageBuilder builder([&](BuiltPart&& part) {
        const std::size_t index = record.firsts.size();
        record.firsts.push_back(std::move(part.first));
        if (index == 0 && inside) {
            first = std::move(part.bytes);
            return;
        }
        if (index == 1 && inside) row.put_part(record, 0, first);
        row.put_part(record, index, part.bytes);
    });
    entries(builder);
    record.summary = builder.finish();
    if (record.firsts.size() == 1 && inside) {
        record.where = PagesAt::inside;
        record.inside = std::move(first);
    }
    if (base_covers) {
        record.is_base = true;
        record.covers = *base_covers;
    }
    return row.append(record);
}

} // namespace stepstore::fields
