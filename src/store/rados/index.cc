#include "store/rados/index.h"

#include "store/rados/errors.h"

#include <daos_errno.h>

#include <algorithm>

namespace stepstore::store::rados {

std::string behind(std::string_view prefix)
{
    std::string key(prefix);
    while (!key.empty() && key.back() == '\xff')
        key.pop_back();
    if (key.empty()) return behind_all();
    key.back() = static_cast<char>(static_cast<unsigned char>(key.back()) + 1);
    return key;
}

std::string encode(const ExtentRef& extent)
{
    return big(extent.file, 8) + big(extent.offset, 8) + big(extent.length, 8);
}

ExtentRef decode_extent(std::string_view text)
{
    if (text.size() != 24)
        throw Error(-DER_CSUM, "a place of an extent in the index has " + std::to_string(text.size()) +
                                   " bytes instead of 24: the index is damaged");
    return {from_big(text.substr(0, 8)), from_big(text.substr(8, 8)), from_big(text.substr(16, 8))};
}

ExtentRef spilled_extent(const Raw& raw)
{
    if (!is_spilled(raw) || raw->size() != header_size + encode(ExtentRef{}).size()) return {};
    const ExtentRef extent = decode_extent(std::string_view(*raw).substr(header_size));
    return extent.length <= largest_value ? extent : ExtentRef{};
}

std::uint64_t Index::fetch(Fetch& what)
{
    librados::ObjectReadOperation operation;
    operation.assert_exists(); // no keys and no object look alike else
    operation.omap_get_vals_by_keys(what.keys, &what.got, &what.code);
    for (Fetch::Scan& scan : what.scans) {
        const std::string start = std::string(1, record_space) + scan.from;
        operation.omap_get_vals2(start, std::string(1, record_space) + scan.prefix, scan.most, &scan.got,
                                 &scan.more, &scan.code);
    }
    const Io::Result result = io.read(object, operation);
    int code = result.code < 0 ? result.code : what.code;
    for (const Fetch::Scan& scan : what.scans)
        code = code < 0 ? code : scan.code;
    if (code < 0) failed(code, "cannot read the index");
    return result.version;
}

void Index::failed(int code, const std::string& tried) const
{
    fail(code, where, tried);
}

void Cover::add(std::string from, std::string to)
{
    if (from >= to) return;
    auto next = spans_.upper_bound(from);
    if (next != spans_.begin() && std::prev(next)->second >= from) {
        --next;
        from = next->first;
    }
    while (next != spans_.end() && next->first <= to) {
        to = std::max(to, next->second);
        next = spans_.erase(next);
    }
    spans_.emplace(std::move(from), std::move(to));
}

const std::string* Cover::end_at(const std::string& key) const
{
    auto next = spans_.upper_bound(key);
    if (next == spans_.begin()) return nullptr;
    --next;
    return key < next->second ? &next->second : nullptr;
}

const std::string* Cover::begin_before(const std::string& key) const
{
    auto next = spans_.lower_bound(key);
    if (next == spans_.begin()) return nullptr;
    --next;
    return key <= next->second ? &next->first : nullptr;
}

} // namespace stepstore::store::rados
