// What a check of streams has found, for messages of tests.
#pragma once

#include "steps/check/check.h"

#include <ostream>

namespace stepstore::steps {

inline std::ostream& operator<<(std::ostream& to, const StreamReport& report)
{
    for (const StreamSummary& stream : report.streams)
        to << stream.name << ": " << stream.whole_steps << " whole, " << stream.half_steps << " half, "
           << stream.damaged_steps << " damaged steps\n";
    for (const Finding& finding : report.findings)
        to << name_of(finding.severity) << ": " << finding.where << ": " << finding.what << "\n";
    return to;
}

} // namespace stepstore::steps
