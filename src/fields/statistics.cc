// Counts what a dataset holds, and shows it as text, by a walk over its rows.
#include "fields/maintenance.h"
#include "fields/merge.h"
#include "fields/record.h"

#include "stepstore/printable.h"

#include <daos_errno.h>

namespace stepstore::fields {

namespace {

void count(Statistics& statistics, const PageEntry& entry, bool masked, const LengthElsewhere& elsewhere)
{
    const auto* own = std::get_if<FieldLocation>(&entry.location);
    const std::uint64_t bytes = own != nullptr ? own->length : 0;
    if (own == nullptr && elsewhere)
        statistics.foreign_bytes += elsewhere(std::get<std::string>(entry.location));
    ++(masked ? statistics.masked_fields : statistics.fields);
    (masked ? statistics.masked_bytes : statistics.bytes) += bytes;
    if (!masked && own == nullptr) ++statistics.foreign_fields;
}

Statistics of_row(IndexRow& row, const Request& request, const LengthElsewhere& elsewhere)
{
    Statistics found;
    const auto pages = row.pages();
    for (const auto& page : pages) {
        ++found.pages;
        found.index_bytes += encode_row(page->record).size();
        for (std::size_t i = 0; i < page->parts.size(); ++i)
            found.index_bytes += row.part(*page, i, false)->size();
    }
    Merge merge(row, pages, std::nullopt);
    while (merge.next()) {
        if (!request.matches(Key::parse(merge.text()))) continue;
        bool masked = false;
        for (const PageEntry& entry : merge.entries()) {
            if (!entry.removed) count(found, entry, masked, elsewhere);
            masked = true;
        }
    }
    found.collocations = found.fields > 0 ? 1 : 0;
    return found;
}

void add(Statistics& to, const Statistics& one)
{
    to.fields += one.fields;
    to.bytes += one.bytes;
    to.masked_fields += one.masked_fields;
    to.masked_bytes += one.masked_bytes;
    to.foreign_fields += one.foreign_fields;
    to.foreign_bytes += one.foreign_bytes;
    to.collocations += one.collocations;
    to.pages += one.pages;
    to.index_bytes += one.index_bytes;
}

// Runs `body` with the row as it is, again when a purge took what it was reading.
template <class Body>
void with_row(Dataset& dataset, const std::string& collocation, Body body)
{
    IndexRow row(dataset, collocation);
    for (BeginAgain again(row);;) {
        if (!row.refresh()) return;
        try {
            return body(row);
        } catch (const PartGone& gone) {
            again(gone);
        }
    }
}

std::string shown(const Location& location)
{
    const auto* own = std::get_if<FieldLocation>(&location);
    return own != nullptr ? own->text() : "elsewhere: " + std::get<std::string>(location);
}

void dump_row(IndexRow& row, bool entries, const std::function<void(std::string_view)>& line)
{
    const auto pages = row.pages();
    for (const auto& page : pages) {
        const RowRecord& record = page->record;
        std::string text = "  page " + std::to_string(page->place) + (record.is_base ? " base" : "") +
                           ": writer " + std::to_string(record.writer) + "." + std::to_string(record.page) +
                           ", " + std::to_string(record.summary.entries) + " entries (" +
                           std::to_string(record.summary.removals) + " removals), " +
                           std::to_string(record.firsts.size()) + " parts; axes";
        for (const auto& [keyword, values] : record.summary.axes) {
            text += " " + keyword + "=";
            bool first = true;
            for (const std::string& value : values) {
                text += (first ? "" : "/") + value;
                first = false;
            }
        }
        line(text);
    }
    if (!entries) return;
    Merge merge(row, pages, std::nullopt);
    while (merge.next()) {
        bool masked = false;
        for (const PageEntry& entry : merge.entries()) {
            line("  " + merge.text() + ": " +
                 (entry.removed ? "removed"
                                : shown(entry.location) + " time " + std::to_string(entry.timestamp)) +
                 (masked ? " (masked)" : ""));
            masked = true;
        }
    }
}

} // namespace

Statistics statistics(const std::shared_ptr<Dataset>& dataset, const Request& request,
                      const LengthElsewhere& elsewhere)
{
    Statistics all;
    for (const std::string& collocation : dataset->keys_with(collocation_prefix)) {
        if (!request.matches(Key::parse(collocation))) continue;
        Statistics one;
        with_row(*dataset, collocation, [&](IndexRow& row) { one = of_row(row, request, elsewhere); });
        add(all, one);
    }
    all.writers = dataset->keys_with(writer_prefix).size();
    return all;
}

void dump(const std::shared_ptr<Dataset>& dataset, bool entries,
          const std::function<void(std::string_view)>& print)
{
    const auto line = [&](std::string_view text) { print(printable(text)); };
    const DatasetRecord& record = dataset->record();
    const DatasetOptions& options = record.options;
    line("dataset " + dataset->key_text());
    line("container " + dataset->container_label() + ", made by process " + std::to_string(record.process) +
         " on " + record.host + " at " + std::to_string(record.created));
    line("index class " + options.index_class + ", data class " + options.data_class + ", chunk " +
         std::to_string(options.chunk_size) + ", packed below " + std::to_string(options.pack_below) +
         " into " + std::to_string(options.pack_size) + (options.verify ? "" : ", not verified when read"));
    line("schema of " + std::to_string(record.schema.size()) + " bytes");
    for (const Control control : {Control::retrieve, Control::list, Control::archive, Control::wipe})
        if (!dataset->enabled(control)) line("locked: " + std::string(name_of(control)));
    for (const std::string& name : dataset->attributes())
        line("attribute " + name + ": " + dataset->attribute(name).value_or(""));
    for (const auto& [key, writer] : writers_of(*dataset).all())
        line("writer " + std::to_string(writer.first) + ": " + writer.process.text() + ", " +
             std::to_string(writer.count) + " numbers");
    for (const std::string& collocation : dataset->keys_with(collocation_prefix)) {
        line("collocation " + collocation);
        with_row(*dataset, collocation, [&](IndexRow& row) { dump_row(row, entries, line); });
    }
}

} // namespace stepstore::fields
