#include "keys.h"

namespace stepstore::fdb_plugin {

fields::Key to_fields(const fdb5::Key& key)
{
    fields::Key converted;
    for (const auto& name : key.names())
        converted.add(name, key.get(name));
    return converted;
}

fdb5::Key to_fdb(const fields::Key& key)
{
    fdb5::Key converted;
    for (const auto& [name, value] : key.pairs())
        converted.push(name, value);
    return converted;
}

fdb5::Key named_in(const fields::Key& element)
{
    fdb5::Key named;
    for (const auto& [name, value] : element.pairs())
        if (!value.empty()) named.push(name, value);
    return named;
}

std::string fingerprint(const fields::Key& key)
{
    std::string text;
    for (const auto& pair : key.pairs()) {
        if (&pair != &key.pairs().front()) text += ':';
        text += pair.second;
    }
    return text;
}

} // namespace stepstore::fdb_plugin
