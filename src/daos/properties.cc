#include "daos/properties.h"

#include "base/wire.h"
#include "daos/acl.h"
#include "daos/failure.h"
#include "daos/object_class.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <set>
#include <span>

namespace stepstore::daos {
namespace {

// Record: version (4 bytes, little-endian), then type (4) and value (8) of each number.
constexpr std::uint32_t record_version = 1;
constexpr std::size_t header_size = 4;
constexpr std::size_t entry_size = 12;
// The roots are numbers too: lo and hi of each, with types that are no properties.
constexpr std::uint32_t first_of_roots = 0x10000;
constexpr std::size_t numbers_of_roots = 2 * std::size(daos_prop_co_roots{}.cr_oids);

// A property that is a number: what a query tells when nobody set it, and what it may be set to.
struct NumberRule {
    std::uint32_t type;
    std::uint64_t unset;
    bool (*allows)(std::uint64_t value);
};

template <std::uint64_t least, std::uint64_t most>
bool within(std::uint64_t value)
{
    return value >= least && value <= most;
}

bool anything(std::uint64_t)
{
    return true;
}

bool is_cell_size(std::uint64_t bytes)
{
    return within<1 << 10, 1 << 30>(bytes) && bytes % 32 == 0;
}

// the levels of a pool map that libdaos takes as performance domains
constexpr std::uint64_t group_domain = 3;
constexpr std::uint64_t root_domain = 255;

bool is_performance_domain(std::uint64_t level)
{
    return level == group_domain || level == root_domain;
}

constexpr std::array number_rules = {
    NumberRule{DAOS_PROP_CO_LAYOUT_TYPE, DAOS_PROP_CO_LAYOUT_UNKNOWN, within<0, DAOS_PROP_CO_LAYOUT_MAX - 1>},
    NumberRule{DAOS_PROP_CO_LAYOUT_VER, 1, anything},
    NumberRule{DAOS_PROP_CO_CSUM, 0, within<0, DAOS_PROP_CO_CSUM_ADLER32>},
    NumberRule{DAOS_PROP_CO_CSUM_CHUNK_SIZE, 32 << 10, within<0, UINT32_MAX>},
    NumberRule{DAOS_PROP_CO_CSUM_SERVER_VERIFY, DAOS_PROP_CO_CSUM_SV_OFF, within<0, DAOS_PROP_CO_CSUM_SV_ON>},
    NumberRule{DAOS_PROP_CO_REDUN_FAC, DAOS_PROP_CO_REDUN_RF0, within<0, DAOS_PROP_CO_REDUN_RF4>},
    NumberRule{DAOS_PROP_CO_REDUN_LVL, DAOS_PROP_CO_REDUN_DEFAULT,
               within<DAOS_PROP_CO_REDUN_MIN, DAOS_PROP_CO_REDUN_MAX>},
    NumberRule{DAOS_PROP_CO_SNAPSHOT_MAX, 0, anything},
    NumberRule{DAOS_PROP_CO_COMPRESS, 0, within<0, DAOS_PROP_CO_COMPRESS_DEFLATE4>},
    NumberRule{DAOS_PROP_CO_ENCRYPT, 0, within<0, DAOS_PROP_CO_ENCRYPT_AES_GCM256>},
    NumberRule{DAOS_PROP_CO_DEDUP, 0, within<0, DAOS_PROP_CO_DEDUP_HASH>},
    NumberRule{DAOS_PROP_CO_DEDUP_THRESHOLD, 4 << 10, within<4 << 10, UINT32_MAX>},
    NumberRule{DAOS_PROP_CO_EC_CELL_SZ, 64 << 10, is_cell_size},
    NumberRule{DAOS_PROP_CO_EC_PDA, 1, anything},
    NumberRule{DAOS_PROP_CO_RP_PDA, UINT32_MAX, anything},
    NumberRule{DAOS_PROP_CO_SCRUBBER_DISABLED, 0, anything},
    NumberRule{DAOS_PROP_CO_OBJ_VERSION, 0, anything},
    NumberRule{DAOS_PROP_CO_PERF_DOMAIN, root_domain, is_performance_domain},
};

const NumberRule* rule_of(std::uint32_t type)
{
    const auto found = std::ranges::find(number_rules, type, &NumberRule::type);
    return found == number_rules.end() ? nullptr : found;
}

bool is_of_container(std::uint32_t type)
{
    return type > DAOS_PROP_CO_MIN && type < DAOS_PROP_CO_MAX;
}

// What DAOS tells and never takes.
bool is_only_told(std::uint32_t type)
{
    return type == DAOS_PROP_CO_STATUS || type == DAOS_PROP_CO_GLOBAL_VERSION;
}

// What only a new container takes, on DAOS.
bool is_fixed(std::uint32_t type)
{
    constexpr std::uint32_t fixed[] = {DAOS_PROP_CO_ALLOCED_OID, DAOS_PROP_CO_EC_CELL_SZ, DAOS_PROP_CO_EC_PDA,
                                       DAOS_PROP_CO_RP_PDA, DAOS_PROP_CO_PERF_DOMAIN};
    return std::ranges::find(fixed, type) != std::end(fixed);
}

} // namespace

char* copy_text(const std::string& text)
{
    auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (!copy) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

void require_query(const daos_prop_t* properties, std::uint32_t above, std::uint32_t below, const char* whose)
{
    if (!properties || properties->dpp_nr == 0) return;
    require(properties->dpp_entries, "the list of properties");
    for (const daos_prop_entry& entry : std::span(properties->dpp_entries, properties->dpp_nr))
        if (entry.dpe_type <= above || entry.dpe_type >= below)
            invalid("property " + std::to_string(entry.dpe_type) + " is not one of a " + whose);
}

Properties Properties::from(const daos_prop_t* properties)
{
    return taken(properties, [](const daos_prop_entry&) { return false; });
}

Properties Properties::changes(const daos_prop_t* properties)
{
    return taken(properties, [](const daos_prop_entry& entry) {
        if (is_fixed(entry.dpe_type))
            throw Error(-DER_NO_PERM, "property " + std::to_string(entry.dpe_type) +
                                          " is set when a container is made: make a new one");
        if (entry.dpe_type == DAOS_PROP_CO_OBJ_VERSION)
            invalid("property " + std::to_string(entry.dpe_type) +
                    " of a container cannot be set: only the store sets it");
        if (entry.dpe_type != DAOS_PROP_CO_STATUS) return false;
        daos_co_status status;
        daos_prop_val_2_co_status(entry.dpe_val, &status);
        if (status.dcs_status != DAOS_PROP_CO_HEALTHY)
            invalid("the status of a container can be set to DAOS_PROP_CO_HEALTHY alone");
        return true; // it always is
    });
}

void Properties::change(const Properties& changes)
{
    for (const auto& [type, value] : changes.numbers_) {
        if (type == DAOS_PROP_CO_REDUN_FAC && value != redundancy_factor())
            throw Error(-DER_NOTSUPPORTED,
                        "redundancy factor " + std::to_string(value) + ": the container has " +
                            std::to_string(redundancy_factor()) +
                            ", and its objects have as many copies as they were made with: copy it to a "
                            "new container with the other factor");
        numbers_[type] = value;
    }
}

Properties Properties::taken(const daos_prop_t* properties,
                             FunctionRef<bool(const daos_prop_entry& entry)> passes_over)
{
    Properties result;
    if (!properties) return result;
    if (properties->dpp_nr > DAOS_PROP_ENTRIES_MAX_NR)
        invalid("a list of " + std::to_string(properties->dpp_nr) + " properties is too long");
    if (properties->dpp_nr > 0) require(properties->dpp_entries, "the list of properties");
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < properties->dpp_nr; ++i) {
        const daos_prop_entry& entry = properties->dpp_entries[i];
        if (!is_of_container(entry.dpe_type))
            invalid("property " + std::to_string(entry.dpe_type) + " is not one of a container");
        if (!seen.insert(entry.dpe_type).second)
            invalid("property " + std::to_string(entry.dpe_type) + " is in the list twice: give it once");
        if (is_of_access(entry.dpe_type)) continue; // require_access() has compared them
        if (passes_over(entry)) continue;
        if (entry.dpe_type == DAOS_PROP_CO_LABEL)
            result.set_label(entry.dpe_str);
        else if (entry.dpe_type == DAOS_PROP_CO_ROOTS)
            result.set_roots(static_cast<const daos_prop_co_roots*>(entry.dpe_val_ptr));
        else
            result.set_number(entry.dpe_type, entry.dpe_val);
    }
    return result;
}

void Properties::set_label(const char* label)
{
    require(label, "the label");
    if (!daos_label_is_valid(label) || std::strcmp(label, DAOS_PROP_CO_LABEL_DEFAULT) == 0)
        invalid(std::string("'") + label +
                "' is not a label: use 1 to 127 characters of A-Z a-z 0-9 . _ : - that do not form a UUID, "
                "and not '" DAOS_PROP_CO_LABEL_DEFAULT "', which stands for no label");
    label_ = label;
}

void Properties::set_number(std::uint32_t type, std::uint64_t value)
{
    const std::string what = "property " + std::to_string(type) + " of a container";
    if (is_only_told(type)) invalid(what + " cannot be set: only the store sets it");
    const NumberRule* rule = rule_of(type);
    if (!rule) throw Error(-DER_NOTSUPPORTED, what + " cannot be set here: leave out allocated ids");
    if (!rule->allows(value)) invalid(what + " cannot be " + std::to_string(value));
    if (type == DAOS_PROP_CO_REDUN_FAC && value > DAOS_PROP_CO_REDUN_RF1)
        throw Error(-DER_NOTSUPPORTED, "redundancy factor " + std::to_string(value) +
                                           ": give 0 or 1 (two copies), the most that is supported");
    if (type == DAOS_PROP_CO_ENCRYPT && value != 0)
        throw Error(-DER_NOTSUPPORTED,
                    "containers are not encrypted: leave out DAOS_PROP_CO_ENCRYPT; to protect the data "
                    "encrypt the file system");
    numbers_[type] = value;
}

void Properties::set_roots(const daos_prop_co_roots* roots)
{
    require(roots, "dpe_val_ptr of DAOS_PROP_CO_ROOTS");
    std::uint32_t type = first_of_roots;
    for (const daos_obj_id_t& oid : roots->cr_oids) {
        numbers_[type++] = oid.lo;
        numbers_[type++] = oid.hi;
    }
}

void Properties::set_default_root(unsigned targets)
{
    if (numbers_.contains(first_of_roots)) return;
    const auto factor = redundancy_factor();
    const auto oclass = default_class(DAOS_OT_MULTI_HASHED, 0, factor, targets);
    const daos_prop_co_roots roots = {{complete_oid({}, DAOS_OT_MULTI_HASHED, oclass, factor, targets)}};
    set_roots(&roots);
}

daos_prop_co_roots* Properties::copy_roots() const
{
    auto at = numbers_.find(first_of_roots);
    if (at == numbers_.end() || std::distance(at, numbers_.end()) < std::ptrdiff_t{numbers_of_roots})
        return nullptr;
    auto* copy = static_cast<daos_prop_co_roots*>(std::malloc(sizeof(daos_prop_co_roots)));
    if (!copy) throw std::bad_alloc();
    for (daos_obj_id_t& oid : copy->cr_oids) {
        oid.lo = (at++)->second;
        oid.hi = (at++)->second;
    }
    return copy;
}

Properties Properties::decode(Bytes record)
{
    Properties result;
    if (record.empty()) return result;
    if (record.size() < header_size || load_little<std::uint32_t>(record.data()) != record_version ||
        (record.size() - header_size) % entry_size != 0)
        throw Error(-DER_DF_INCOMPT,
                    "the container's properties are of a newer format: use a newer Stepstore");
    for (std::size_t at = header_size; at < record.size(); at += entry_size)
        result.numbers_[load_little<std::uint32_t>(&record[at])] =
            load_little<std::uint64_t>(&record[at + 4]);
    return result;
}

std::vector<std::byte> Properties::encode() const
{
    std::vector<std::byte> record;
    WireWriter to(record);
    to.fixed(record_version);
    for (const auto& [type, value] : numbers_) {
        to.fixed(type);
        to.fixed(value);
    }
    return record;
}

std::uint32_t Properties::redundancy_factor() const
{
    const auto found = numbers_.find(DAOS_PROP_CO_REDUN_FAC);
    return found == numbers_.end()
               ? 0
               : static_cast<std::uint32_t>(std::min<std::uint64_t>(found->second, UINT32_MAX));
}

std::optional<std::uint64_t> Properties::number(std::uint32_t type) const
{
    if (const auto found = numbers_.find(type); found != numbers_.end()) return found->second;
    const NumberRule* rule = rule_of(type);
    return rule ? std::optional(rule->unset) : std::nullopt;
}

void Properties::fill(daos_prop_t& properties) const
{
    if (properties.dpp_nr == 0) {
        constexpr std::uint32_t others[] = {DAOS_PROP_CO_LABEL, DAOS_PROP_CO_ACL, DAOS_PROP_CO_OWNER,
                                            DAOS_PROP_CO_OWNER_GROUP, DAOS_PROP_CO_ROOTS};
        const auto count = std::size(others) + number_rules.size();
        properties.dpp_entries = static_cast<daos_prop_entry*>(std::calloc(count, sizeof(daos_prop_entry)));
        if (!properties.dpp_entries) throw std::bad_alloc();
        properties.dpp_nr = static_cast<std::uint32_t>(count);
        for (std::size_t i = 0; i < count; ++i)
            properties.dpp_entries[i].dpe_type =
                i < std::size(others) ? others[i] : number_rules[i - std::size(others)].type;
    }
    const std::span entries(properties.dpp_entries, properties.dpp_nr);
    for (daos_prop_entry& entry : entries) {
        entry.dpe_flags = 0;
        if (entry.dpe_type == DAOS_PROP_CO_LABEL && !label_.empty()) {
            entry.dpe_str = copy_text(label_);
        } else if (auto* roots = entry.dpe_type == DAOS_PROP_CO_ROOTS ? copy_roots() : nullptr) {
            entry.dpe_val_ptr = roots;
        } else if (const auto value = number(entry.dpe_type)) {
            entry.dpe_val = *value;
        } else {
            entry.dpe_val = 0;
            entry.dpe_flags = DAOS_PROP_ENTRY_NOT_SET;
        }
    }
}

} // namespace stepstore::daos
