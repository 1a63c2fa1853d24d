// Removing datasets and fields: the root entry goes first, or a base without the fields is published, and the
// space is given back after it.
#include "fields/index_row.h"
#include "fields/listing.h"
#include "fields/maintenance.h"
#include "fields/record.h"
#include "fields/writer.h"

#include <daos_errno.h>

namespace stepstore::fields {

namespace {

// Whether the request says something about keywords of the element keys.
bool chooses_elements(const Request& request, const std::vector<std::shared_ptr<RowPage>>& pages)
{
    for (const auto& page : pages)
        for (const auto& axis : page->record.summary.axes)
            if (request.wanted().contains(axis.first)) return true;
    return false;
}

void count(WipeReport& report, const ListedField& field)
{
    ++report.fields;
    if (const auto* own = std::get_if<FieldLocation>(&field.entry.location))
        report.bytes += own->length;
    else
        report.foreign.push_back(std::get<std::string>(field.entry.location));
}

void publish_clear(IndexRow& row, Dataset& dataset)
{
    RowRecord record;
    const Writer::Page page = dataset.writer().page_number();
    record.writer = page.writer;
    record.page = page.page;
    row.append(record, true);
}

} // namespace

bool wipe(Session& session, const Key& dataset)
{
    const std::string text = dataset.text();
    const auto label = session.root_entry(text);
    if (!label) return false;
    try {
        if (const auto there = session.find(dataset)) there->require_enabled(Control::wipe);
    } catch (const Error& error) { // a damaged record: this is how one gets rid of it
        if (error.code() != -DER_CSUM && error.code() != -DER_DF_INVAL) throw;
    }
    session.forget(text);
    if (!session.remove_root_entry(text, *label)) return false; // another process was faster
    destroy_container(session.pool(), *label);
    session.pool().sync();
    return true;
}

bool clear(const std::shared_ptr<Dataset>& dataset, const Key& collocation)
{
    dataset->require_enabled(Control::wipe);
    const auto row = dataset->row(collocation.text());
    if (!row->refresh()) return false;
    bool any = false;
    for (const auto& page : row->pages())
        any = any || page->record.summary.entries > page->record.summary.removals;
    if (!any) return false;
    publish_clear(*row, *dataset);
    dataset->session().pool().sync();
    return true;
}

WipeReport wipe(const std::shared_ptr<Dataset>& dataset, const Request& request, bool dry_run)
{
    dataset->require_enabled(Control::wipe);
    WipeReport report;
    std::vector<Key> collocations;
    dataset->collocations([&](const Key& key) {
        if (request.matches(key)) collocations.push_back(key);
        return true;
    });
    for (const Key& collocation : collocations) {
        const auto row = dataset->row(collocation.text());
        if (!row->refresh()) continue;
        const bool whole = !chooses_elements(request, row->pages());
        const std::uint64_t before = report.fields;
        const auto each_match = [&](auto&& then) {
            Listing listing(dataset, collocation, request, {.masked = false, .even_if_locked = true});
            for (ListedField field; listing.next(field);)
                then(field);
        };
        if (whole || dry_run) each_match([&](const ListedField& field) { count(report, field); });
        if (whole && report.fields > before) ++report.collocations;
        if (dry_run) continue;
        if (whole) {
            if (report.fields > before) publish_clear(*row, *dataset);
            continue;
        }
        bool any = false;
        each_match([&](const ListedField&) { any = true; });
        if (!any) continue;
        publish(*row, *dataset, [&](PageBuilder& builder) {
            each_match([&](const ListedField& field) {
                count(report, field);
                builder.add(field.element.text(), {true, {}, 0});
            });
        });
    }
    if (!dry_run) purge(dataset);
    return report;
}

namespace {

// Of a dataset that was wiped while it was open.
bool has_writers(Session& session, const std::string& label)
{
    const auto dataset = session.open_labelled(label, label);
    if (!dataset) return false;
    const auto may_live = [](const WriterRecord& writer) { return life_of(writer.process) != Life::dead; };
    return !writers_of(*dataset).left(may_live).empty();
}

} // namespace

std::vector<std::string> purge_pool(Session& session, bool dry_run)
{
    // In this order: what was made after the first step is not looked at.
    const auto containers = session.pool().containers();
    std::set<std::string> named;
    session.datasets({}, [&](const DatasetEntry& entry) {
        named.insert(entry.container);
        return true;
    });
    std::vector<std::string> left;
    for (const ContainerEntry& container : containers) {
        if (!container.label.starts_with(dataset_container_prefix) || named.contains(container.label))
            continue;
        if (dry_run) {
            if (!session.is_claimed(container.label) && !has_writers(session, container.label))
                left.push_back(container.label);
            continue;
        }
        Lease claim = session.claim(container.label);
        // One that is being copied into is claimed, and was named before its claim was taken back.
        if (claim.take() || session.lists(container.label) || has_writers(session, container.label)) continue;
        left.push_back(container.label);
        destroy_container(session.pool(), container.label);
    }
    return left;
}

} // namespace stepstore::fields
