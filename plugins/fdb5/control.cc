#include "control.h"

#include "failure.h"

namespace stepstore::fdb_plugin {
namespace {

const char* name_of(fdb5::ControlIdentifier identifier)
{
    switch (identifier) {
    case fdb5::ControlIdentifier::List: return "disabled.list";
    case fdb5::ControlIdentifier::Retrieve: return "disabled.retrieve";
    case fdb5::ControlIdentifier::Archive: return "disabled.archive";
    case fdb5::ControlIdentifier::Wipe: return "disabled.wipe";
    case fdb5::ControlIdentifier::UniqueRoot: return "disabled.uniqueroot";
    case fdb5::ControlIdentifier::None: break;
    }
    refuse("there is no control identifier with the number " +
           std::to_string(static_cast<unsigned>(identifier)));
}

} // namespace

bool is_enabled(const fields::Dataset& dataset, fdb5::ControlIdentifier identifier)
{
    return !dataset.has_attribute(name_of(identifier));
}

void set_enabled(fields::Dataset& dataset, const fdb5::ControlIdentifiers& identifiers, bool enabled)
{
    for (const auto identifier : fdb5::ControlIdentifierList) {
        if (identifiers.enabled(identifier)) // FDB's word for "not in the set"
            continue;
        if (enabled)
            dataset.remove_attribute(name_of(identifier));
        else
            dataset.set_attribute(name_of(identifier), "1");
    }
}

} // namespace stepstore::fdb_plugin
