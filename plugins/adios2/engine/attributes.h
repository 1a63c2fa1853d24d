// Which attributes of an IO are new or changed since the last look.
// Threads: that of the IO. Errors: -DER_NOTSUPPORTED.
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
    // core_fits: see misfit() in core_engine.h.
    AttributeWatch(adios2::IO io, bool core_fits) : io_(io), core_fits_(core_fits) {}

    // Calls changed(attribute) for each that is new, or has another value or type than when this was called
    // last. Costs a comparison per attribute. -DER_NOTSUPPORTED: a type that cannot be stored.
    void look(const std::function<void(const steps::Attribute&)>& changed);
    // From now on only attributes that changed(name) tells of are looked at, and those that are there now.
    // Only where the core fits. A look may then call with an attribute that is as it was.
    void listen();
    void changed(std::string name);

private:
    struct Known {
        std::string name;
        const adios2::core::AttributeBase* address = nullptr;
        const std::type_info* type = nullptr; // an address may come back for another attribute
        std::uint64_t count = 0;
        std::array<std::byte, 16> small{}; // the value, where it fits
        std::vector<std::byte> data;
        std::vector<std::string> strings;
        Known(const std::string& name, const adios2::core::AttributeBase& attribute,
              const steps::Attribute& value);
        bool same_as(const adios2::core::AttributeBase& now) const;
    };
    bool unchanged() const;
    void look_at_told(const std::function<void(const steps::Attribute&)>& changed);
    // Valid until the next one.
    const steps::Attribute& read(const std::string& name, const adios2::core::AttributeBase& attribute);
    bool read_by_interface(const std::string& name);

    adios2::IO io_;
    bool core_fits_;
    std::vector<Known> known_; // in the order of the names
    bool listening_ = false;
    bool all_ = false; // all are to be looked at
    std::vector<std::string> told_;
    steps::Attribute read_;
};

} // namespace stepstore::adios
