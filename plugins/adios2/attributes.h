// Which attributes of an IO are new or changed since the last look.
#pragma once

#include "core_api.h"
#include "steps/types.h"

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <typeinfo>
#include <vector>

namespace stepstore::adios {

class AttributeWatch {
public:
    // core_fits: see misfit() in core_engine.h.
    AttributeWatch(adios2::IO io, bool core_fits) : io_(io), core_fits_(core_fits) {}

    // Calls changed(attribute) for each that is new, or has another value or type than when this was called
    // last. Costs a comparison per attribute. -DER_NOTSUPPORTED: a type that cannot be stored.
    void look(const std::function<void(const steps::Attribute&)>& changed);
    // From now on only attributes that changed(name) tells of are looked at, and those that are there now: of
    // all others nothing is compared. Only where the core fits.
    void listen();
    void changed(std::string name) { told_.insert(std::move(name)); }

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
    void look_at_told(const std::function<void(const steps::Attribute&)>& changed);
    steps::Attribute read(const std::string& name, const adios2::core::AttributeBase& attribute);
    std::optional<steps::Attribute> read_by_interface(const std::string& name);

    adios2::IO io_;
    bool core_fits_;
    std::vector<Known> known_; // in the order of the names
    bool listening_ = false;
    std::set<std::string> told_;
};

} // namespace stepstore::adios
