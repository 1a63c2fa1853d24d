#include "fields/row_record.h"

#include "fields/record.h"

#include <algorithm>

namespace stepstore::fields {

namespace {

constexpr int flag_base = 1;
constexpr int flag_mixed = 2;

} // namespace

bool may_match(const RowRecord& record, const Request& request, const Key& collocation)
{
    if (record.summary.mixed) return true; // there may be keys without the keyword, which match
    return std::ranges::all_of(request.wanted(), [&](const auto& one) {
        if (collocation.find(one.first) != nullptr) return true;
        const auto axis = record.summary.axes.find(one.first);
        if (axis == record.summary.axes.end()) return true;
        return std::ranges::any_of(one.second,
                                   [&](const std::string& value) { return axis->second.contains(value); });
    });
}

std::vector<std::byte> encode_row(const RowRecord& record)
{
    std::vector<std::byte> bytes = framed();
    WireWriter to(bytes);
    to.fixed(static_cast<std::uint8_t>((record.is_base ? flag_base : 0) |
                                       (record.summary.mixed ? flag_mixed : 0)));
    to.varint(record.covers);
    to.varint(record.writer);
    to.varint(record.page);
    to.varint(record.summary.entries);
    to.varint(record.summary.removals);
    to.varint(record.summary.newest);
    to.varint(record.summary.axes.size());
    for (const auto& [keyword, values] : record.summary.axes) {
        to.text(keyword);
        to.varint(values.size());
        for (const std::string& value : values)
            to.text(value);
    }
    to.fixed(static_cast<std::uint8_t>(record.where));
    to.varint(record.firsts.size());
    for (const std::string& first : record.firsts)
        to.text(first);
    to.bytes(record.inside);
    seal(bytes, Magic::row);
    return bytes;
}

RowRecord decode_row(Bytes bytes, const std::string& what)
{
    WireReader from(unseal(bytes, Magic::row, what), what);
    RowRecord record;
    const auto flags = from.fixed<std::uint8_t>();
    if ((flags & ~(flag_base | flag_mixed)) != 0) from.fail("has flags that this library does not know");
    record.is_base = (flags & flag_base) != 0;
    record.summary.mixed = (flags & flag_mixed) != 0;
    record.covers = from.varint();
    record.writer = from.varint();
    record.page = from.varint();
    record.summary.entries = from.varint();
    record.summary.removals = from.varint();
    record.summary.newest = from.varint();
    for (std::uint64_t left = from.counted(2); left > 0; --left) {
        auto& values = record.summary.axes[std::string(from.text())];
        for (std::uint64_t more = from.counted(1); more > 0; --more)
            values.emplace_hint(values.end(), from.text());
    }
    record.where = static_cast<PagesAt>(from.fixed<std::uint8_t>());
    if (record.where < PagesAt::inside || record.where > PagesAt::index_object)
        from.fail("has its page in an unknown place");
    record.firsts.resize(from.counted(1));
    if (record.where == PagesAt::inside && record.firsts.size() > 1)
        from.fail("says that it holds several parts");
    for (std::string& first : record.firsts)
        first = from.text();
    const Bytes inside = from.bytes(from.left());
    record.inside.assign(inside.begin(), inside.end());
    return record;
}

std::string part_key(std::uint64_t writer, std::uint64_t page, std::size_t part)
{
    return part_prefix + std::to_string(writer) + '.' + std::to_string(page) + '/' + std::to_string(part);
}

} // namespace stepstore::fields
