// Which attributes of an IO are new or changed since the last look.
#pragma once

#include "core_api.h"
#include "steps/types.h"

#include <array>
#include <functional>
#include <string>
#include <typeinfo>
#include <vector>

namespace stepstore::adios {

class AttributeWatch {
public:
    explicit AttributeWatch(adios2::IO io) : io_(io) {}

    // Calls changed(attribute) for each that is new, or has another value or type than when this was called
    // last. Costs a comparison per attribute. -DER_NOTSUPPORTED: a type that cannot be stored.
    void look(const std::function<void(const steps::Attribute&)>& changed);

private:
    struct Known {
        std::string name;
        const adios2::core::AttributeBase* address = nullptr;
        const std::type_info* type = nullptr; // an address may come back for another attribute
        std::uint64_t count = 0;
        std::array<std::byte, 16> small{}; // the value, where it fits
        std::vector<std::byte> data;
        std::vector<std::string> strings;
        Known(const std::string& name, const adios2::core::AttributeBase& attribute, steps::Attribute value);
        bool same_as(const adios2::core::AttributeBase& now) const;
    };
    bool unchanged() const;
    steps::Attribute read(const std::string& name);

    adios2::IO io_;
    std::vector<Known> known_; // in the order of the names
};

} // namespace stepstore::adios
