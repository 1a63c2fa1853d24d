// The properties of a container, as the store keeps them: an opaque record beside its label.
// Threads: a Properties is its caller's. Errors: DER_INVAL, DER_NOTSUPPORTED, DER_DF_INCOMPT, std::bad_alloc.
#pragma once

#include "base/bytes.h"
#include "base/function_ref.h"
#include "daos/api.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::daos {

// DER_INVAL: the list asks for what is no property of `whose`, whose types lie between these two.
void require_query(const daos_prop_t* properties, std::uint32_t above, std::uint32_t below,
                   const char* whose);
char* copy_text(const std::string& text); // for the caller to free

class Properties {
public:
    // Of a caller; null is empty. DER_INVAL: unknown, twice or senseless; DER_NOTSUPPORTED: one that cannot
    // be kept.
    static Properties from(const daos_prop_t* properties);
    // The same of a container that there is. DER_NO_PERM, DER_INVAL: one that only a new one takes.
    static Properties changes(const daos_prop_t* properties);
    // DER_NOTSUPPORTED: another redundancy factor.
    void change(const Properties& changes);
    static Properties decode(Bytes record); // DER_DF_INCOMPT
    std::vector<std::byte> encode() const;

    const std::string& label() const { return label_; }
    void set_label(const char* label); // DER_INVAL
    void restore_label(std::string label) { label_ = std::move(label); }
    std::uint32_t redundancy_factor() const;
    // As libdaos gives each container one root: the id of an object of type 0 and of the default class, which
    // a program may use. Nothing if the maker of the container has set others.
    void set_default_root(unsigned targets);

    // Fills the caller's entries except those of access control (acl.h), or makes entries of all there are
    // where it has none. Texts are the caller's to free.
    void fill(daos_prop_t& properties) const;

private:
    static Properties taken(const daos_prop_t* properties,
                            FunctionRef<bool(const daos_prop_entry& entry)> passes_over);
    void set_roots(const daos_prop_co_roots* roots);
    void set_number(std::uint32_t type, std::uint64_t value);
    daos_prop_co_roots* copy_roots() const;                        // for the caller to free; null: never set
    std::optional<std::uint64_t> number(std::uint32_t type) const; // nothing: not kept here

    std::string label_;
    std::map<std::uint32_t, std::uint64_t> numbers_;
};

} // namespace stepstore::daos
