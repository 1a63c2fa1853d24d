// Which attributes of an IO are new or changed since the last look.
#pragma once

#include "steps/types.h"

#include <adios2/cxx/IO.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeinfo>

// What this uses of ADIOS2's core: two exported functions. The public interface lists attributes only by printing every
// value into a string (IO::AvailableAttributes), which takes longer than all else of a step where there are thousands.
// As with selections (adios_types.h), the plugin is bound to the ADIOS2 release that it was built for.
namespace adios2::core {

class AttributeBase {
public:
    virtual ~AttributeBase();
    bool Equals(const void* values, const std::size_t elements) const noexcept;
};

class IO {
public:
    const std::map<std::string, std::unique_ptr<AttributeBase>>& GetAttributes() const noexcept;
};

} // namespace adios2::core

namespace stepstore::adios {

class AttributeWatch {
public:
    explicit AttributeWatch(adios2::IO io) : io_(io) {}

    // Calls changed(attribute) for each that is new, or has another value or type than when this was called last. Costs
    // a comparison per attribute. -DER_NOTSUPPORTED: a type that cannot be stored.
    void look(const std::function<void(const steps::Attribute&)>& changed);

private:
    struct Known {
        const adios2::core::AttributeBase* address = nullptr;
        const std::type_info* type = nullptr; // an address may come back for another attribute
        steps::Attribute value;
        bool same_as(const adios2::core::AttributeBase& now) const;
    };
    steps::Attribute read(const std::string& name);

    adios2::IO io_;
    std::map<std::string, Known> known_;
};

} // namespace stepstore::adios
