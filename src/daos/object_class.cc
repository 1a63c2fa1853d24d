#include "daos/object_class.h"

#include "daos/failure.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

namespace stepstore::daos {
namespace {

// A redundancy, and the first part of its classes' names.
struct Family {
    daos_obj_redun redundancy;
    std::string_view prefix;
    // Whether libdaos has a name for so many of named_groups.
    bool names(std::uint32_t groups) const { return groups != 6 || !prefix.starts_with("EC"); }
};

// The order of daos_oclass_names_list().
constexpr std::array families = {
    Family{OR_RP_1, "S"},           Family{OR_RP_2, "RP_2G"},       Family{OR_RP_3, "RP_3G"},
    Family{OR_RP_4, "RP_4G"},       Family{OR_RP_5, "RP_5G"},       Family{OR_RP_6, "RP_6G"},
    Family{OR_RS_2P1, "EC_2P1G"},   Family{OR_RS_2P2, "EC_2P2G"},   Family{OR_RS_4P1, "EC_4P1G"},
    Family{OR_RS_4P2, "EC_4P2G"},   Family{OR_RS_4P3, "EC_4P3G"},   Family{OR_RS_8P1, "EC_8P1G"},
    Family{OR_RS_8P2, "EC_8P2G"},   Family{OR_RS_8P3, "EC_8P3G"},   Family{OR_RS_16P1, "EC_16P1G"},
    Family{OR_RS_16P2, "EC_16P2G"}, Family{OR_RS_16P3, "EC_16P3G"},
};

constexpr std::array<std::uint32_t, 8> named_groups = {1, 2, 4, 6, 8, 12, 16, 32};

daos_oclass_id_t make_class(daos_obj_redun redundancy, std::uint32_t groups)
{
    return static_cast<std::uint32_t>(redundancy) << OC_REDUN_SHIFT | groups;
}

daos_obj_redun redundancy_of(daos_oclass_id_t oclass)
{
    return static_cast<daos_obj_redun>(oclass >> OC_REDUN_SHIFT);
}
std::uint32_t groups_of(daos_oclass_id_t oclass)
{
    return oclass & ((1U << OC_REDUN_SHIFT) - 1);
}

unsigned copies(daos_obj_redun redundancy)
{
    return redundancy == OR_RP_1 ? 1 : redundancy == OR_RP_2 ? 2 : 0; // 0: not stored here
}

// Key-value and array objects: spread over all targets unless told otherwise.
bool is_spread_type(unsigned type)
{
    return type >= DAOS_OT_KV_HASHED && type <= DAOS_OT_ARRAY_BYTE;
}

std::string groups_text(std::uint32_t groups)
{
    return groups == MAX_NUM_GROUPS ? "X" : std::to_string(groups);
}

void require_copies(daos_oclass_id_t oclass, unsigned targets)
{
    const std::string name = class_name(oclass);
    if (name.empty())
        invalid("object class " + std::to_string(oclass) + " is unknown: use one of daos_obj_class.h");
    const unsigned needed = copies(redundancy_of(oclass));
    if (needed == 0)
        invalid("objects of class " + name +
                " are not stored here: use a class with one copy (S1 ... SX) or two (RP_2G1 ... RP_2GX)");
    if (needed > targets)
        invalid("class " + name + " needs " + std::to_string(needed) + " targets, and the pool has " +
                std::to_string(targets));
}

} // namespace

std::string class_name(daos_oclass_id_t oclass)
{
    const std::uint32_t groups = groups_of(oclass);
    if (groups == 0 || groups > MAX_NUM_GROUPS) return {};
    for (const Family& family : families)
        if (family.redundancy == redundancy_of(oclass))
            return std::string(family.prefix) + groups_text(groups);
    return {};
}

daos_oclass_id_t default_class(unsigned type, daos_oclass_hints_t hints, std::uint32_t redundancy_factor,
                               unsigned targets)
{
    const unsigned redundancy = hints & DAOS_OCH_RDD_MASK;
    const unsigned spread = hints & DAOS_OCH_SHD_MASK;
    const bool two = redundancy_factor > 0 || (redundancy == DAOS_OCH_RDD_RP && targets >= 2);
    std::uint32_t groups = 0;
    switch (spread) {
    case 0:
    case DAOS_OCH_SHD_DEF: groups = is_spread_type(type) ? MAX_NUM_GROUPS : 1; break;
    case DAOS_OCH_SHD_TINY: groups = 1; break;
    case DAOS_OCH_SHD_REG: groups = std::max(128U, targets * 25 / 100); break;
    case DAOS_OCH_SHD_HI: groups = std::max(256U, targets * 50 / 100); break;
    case DAOS_OCH_SHD_EXT: groups = std::max(1024U, targets * 70 / 100); break;
    case DAOS_OCH_SHD_MAX: groups = MAX_NUM_GROUPS; break;
    default: invalid("hints " + std::to_string(hints) + ": give one of DAOS_OCH_SHD_...");
    }
    return make_class(two ? OR_RP_2 : OR_RP_1, std::min(groups, std::max(1U, targets / (two ? 2 : 1))));
}

daos_obj_id_t complete_oid(daos_obj_id_t oid, unsigned type, daos_oclass_id_t oclass,
                           std::uint32_t redundancy_factor, unsigned targets)
{
    if (type > DAOS_OT_MAX) invalid("object type " + std::to_string(type) + " is not known");
    require_copies(oclass, targets);
    const unsigned per_group = copies(redundancy_of(oclass));
    if (redundancy_factor > 0 && per_group < 2)
        invalid("class " + class_name(oclass) +
                " keeps one copy, and the container asks for redundancy factor 1: use RP_2G1 ... RP_2GX");
    const std::uint32_t most = targets / per_group;
    const std::uint32_t groups = groups_of(oclass) == MAX_NUM_GROUPS ? most : groups_of(oclass);
    if (groups > most)
        invalid("class " + class_name(oclass) + " needs " + std::to_string(groups * per_group) +
                " targets, and the pool has " + std::to_string(targets) + ": use " +
                class_name(make_class(redundancy_of(oclass), MAX_NUM_GROUPS)) +
                ", which takes all targets of the pool");
    oid.hi &= (1ULL << OID_FMT_INTR_BITS) - 1;
    oid.hi |= static_cast<std::uint64_t>(type) << OID_FMT_TYPE_SHIFT;
    oid.hi |= static_cast<std::uint64_t>(redundancy_of(oclass)) << OID_FMT_CLASS_SHIFT;
    oid.hi |= static_cast<std::uint64_t>(groups) << OID_FMT_META_SHIFT;
    return oid;
}

void require_stored_class(daos_obj_id_t oid, unsigned targets)
{
    if (daos_obj_id2ord(oid) == OC_UNKNOWN || daos_obj_id2grp_nr(oid) == 0)
        invalid("the object id has no object class: make it with daos_obj_generate_oid()");
    require_copies(daos_obj_id2class(oid), targets);
}

} // namespace stepstore::daos

using namespace stepstore::daos;

extern "C" {

int daos_oclass_name2id(const char* name)
try {
    if (!name || strnlen(name, MAX_OBJ_CLASS_NAME_LEN + 1) > MAX_OBJ_CLASS_NAME_LEN) return OC_UNKNOWN;
    const std::string_view given(name);
    for (const Family& family : families) {
        if (!given.starts_with(family.prefix)) continue;
        const std::string_view groups = given.substr(family.prefix.size());
        if (groups == "X") return static_cast<int>(make_class(family.redundancy, MAX_NUM_GROUPS));
        for (const std::uint32_t count : named_groups)
            if (family.names(count) && groups == groups_text(count))
                return static_cast<int>(make_class(family.redundancy, count));
    }
    return OC_UNKNOWN;
} catch (...) {
    report(current_failure("daos_oclass_name2id"));
    return OC_UNKNOWN;
}

int daos_oclass_id2name(daos_oclass_id_t oc_id, char* name)
try {
    require(name, "name");
    const std::string text = class_name(oc_id);
    std::memcpy(name, text.empty() ? "UNKNOWN" : text.c_str(),
                text.empty() ? sizeof "UNKNOWN" : text.size() + 1);
    return text.empty() ? -1 : 0;
} catch (...) {
    return report(current_failure("daos_oclass_id2name"));
}

ssize_t daos_oclass_names_list(size_t size, char* str)
try {
    if (size == 0 || !str) invalid("no memory for the names was given");
    std::string list;
    for (const Family& family : families) {
        for (const std::uint32_t groups : named_groups)
            if (family.names(groups)) list += std::string(family.prefix) + groups_text(groups) + ", ";
        list += std::string(family.prefix) + "X, ";
    }
    *str = '\0';
    if (list.size() >= size)
        throw stepstore::Error(-DER_OVERFLOW, "the names need " + std::to_string(list.size() + 1) + " bytes");
    std::memcpy(str, list.c_str(), list.size() + 1);
    return static_cast<ssize_t>(list.size());
} catch (...) {
    return report(current_failure("daos_oclass_names_list"));
}

} // extern "C"
