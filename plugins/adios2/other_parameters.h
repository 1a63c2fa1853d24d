// The parameters that ADIOS2's BP and SST engines have and this one does not: an adios2.xml that is switched
// over often has some.
#pragma once

#include <string_view>

namespace stepstore::adios {

enum class OtherParameter {
    no, // not one of theirs
    // how they buffer, aggregate, send or write files: without meaning here, and harmless, so it is passed
    // over
    tuning,
    refused, // changes what is stored or read, or where: passing it over would be silently different
};
OtherParameter other_parameter(std::string_view name); // without regard to case

} // namespace stepstore::adios
