#include "daos/properties.h"

#include "daos/failure.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace stepstore::daos {
namespace {

// Record: version (4 bytes, little-endian), then type (4) and value (8) of each number.
constexpr std::uint32_t record_version = 1;
constexpr std::size_t header_size = 4;
constexpr std::size_t entry_size = 12;

bool is_told_by_store(std::uint32_t type)
{
    return type == DAOS_PROP_CO_OWNER || type == DAOS_PROP_CO_OWNER_GROUP || type == DAOS_PROP_CO_STATUS ||
           type == DAOS_PROP_CO_ALLOCED_OID || type == DAOS_PROP_CO_GLOBAL_VERSION;
}

bool is_pointer(std::uint32_t type)
{
    return type == DAOS_PROP_CO_ACL || type == DAOS_PROP_CO_ROOTS;
}

char* copy_text(const std::string& text)
{
    auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (!copy) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

} // namespace

Properties Properties::from(const daos_prop_t* properties)
{
    Properties result;
    if (!properties) return result;
    if (properties->dpp_nr > DAOS_PROP_ENTRIES_MAX_NR)
        invalid("a list of " + std::to_string(properties->dpp_nr) + " properties is too long");
    if (properties->dpp_nr > 0) require(properties->dpp_entries, "the list of properties");
    for (std::uint32_t i = 0; i < properties->dpp_nr; ++i) {
        const daos_prop_entry& entry = properties->dpp_entries[i];
        const std::string number = std::to_string(entry.dpe_type);
        if (entry.dpe_type <= DAOS_PROP_CO_MIN || entry.dpe_type >= DAOS_PROP_CO_MAX)
            invalid("property " + number + " is none of a container");
        if (is_pointer(entry.dpe_type) || is_told_by_store(entry.dpe_type))
            throw Error(-DER_NOTSUPPORTED,
                        "property " + number +
                            " of a container cannot be set here: leave out access control, owner, roots and status");
        if (entry.dpe_type == DAOS_PROP_CO_LABEL) {
            if (!daos_label_is_valid(entry.dpe_str))
                invalid(std::string("'") + (entry.dpe_str ? entry.dpe_str : "") +
                        "' is no label: use 1 to 127 characters of A-Z a-z 0-9 . _ : - that form no UUID");
            result.label_ = entry.dpe_str;
        } else {
            result.numbers_[entry.dpe_type] = entry.dpe_val;
        }
    }
    if (result.redundancy_factor() > DAOS_PROP_CO_REDUN_RF1)
        throw Error(-DER_NOTSUPPORTED, "redundancy factor " + std::to_string(result.redundancy_factor()) +
                                           ": at most 1 (two copies) is kept here");
    return result;
}

Properties Properties::decode(Bytes record)
{
    Properties result;
    if (record.empty()) return result;
    if (record.size() < header_size || load_little<std::uint32_t>(record.data()) != record_version ||
        (record.size() - header_size) % entry_size != 0)
        throw Error(-DER_DF_INCOMPT, "the container's properties are of a newer format: use a newer Stepstore");
    for (std::size_t at = header_size; at < record.size(); at += entry_size)
        result.numbers_[load_little<std::uint32_t>(&record[at])] = load_little<std::uint64_t>(&record[at + 4]);
    return result;
}

std::vector<std::byte> Properties::encode() const
{
    std::vector<std::byte> record(header_size + entry_size * numbers_.size());
    store_little(record.data(), record_version);
    std::size_t at = header_size;
    for (const auto& [type, value] : numbers_) {
        store_little(&record[at], type);
        store_little(&record[at + 4], value);
        at += entry_size;
    }
    return record;
}

std::uint32_t Properties::redundancy_factor() const
{
    const auto found = numbers_.find(DAOS_PROP_CO_REDUN_FAC);
    return found == numbers_.end() ? 0 : static_cast<std::uint32_t>(std::min<std::uint64_t>(found->second, UINT32_MAX));
}

void Properties::fill(daos_prop_t& properties) const
{
    if (properties.dpp_nr == 0) {
        const auto count = numbers_.size() + 1;
        properties.dpp_entries = static_cast<daos_prop_entry*>(std::calloc(count, sizeof(daos_prop_entry)));
        if (!properties.dpp_entries) throw std::bad_alloc();
        properties.dpp_nr = static_cast<std::uint32_t>(count);
        properties.dpp_entries[0].dpe_type = DAOS_PROP_CO_LABEL;
        std::size_t i = 1;
        for (const auto& number : numbers_)
            properties.dpp_entries[i++].dpe_type = number.first;
    }
    require(properties.dpp_entries, "the list of properties");
    for (std::uint32_t i = 0; i < properties.dpp_nr; ++i) {
        daos_prop_entry& entry = properties.dpp_entries[i];
        entry.dpe_flags = 0;
        if (entry.dpe_type == DAOS_PROP_CO_LABEL && !label_.empty()) {
            entry.dpe_str = copy_text(label_);
        } else if (const auto found = numbers_.find(entry.dpe_type); found != numbers_.end()) {
            entry.dpe_val = found->second;
        } else {
            entry.dpe_val = 0;
            entry.dpe_flags = DAOS_PROP_ENTRY_NOT_SET;
        }
    }
}

} // namespace stepstore::daos
