// The parameters that ADIOS2's BP and SST engines have and this one does not: an adios2.xml that is switched
// over often has some. Those engines pass over what they do not know, and so does this one.
// Threads: any; pure.
#pragma once

#include <string_view>

namespace stepstore::adios {

struct OtherParameter {
    std::string_view name;
    // What holds here in its place. Empty: it only tunes their files, buffers, threads or messages, and
    // changes nothing of what is stored or read.
    std::string_view instead;
};
const OtherParameter*
other_parameter(std::string_view name); // without regard to case; null: not one of theirs

} // namespace stepstore::adios
