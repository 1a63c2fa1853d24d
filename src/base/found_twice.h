// When what cannot be read is damaged.
//
// A reader finds a reference, and then reads what it refers to. If that is not there, or fails its checksum,
// it may be damaged. Or a writer has replaced it in between, and its room was given back. So the reader looks
// the reference up again. If it finds the same version, nobody had replaced it when it was read, since a
// version that was replaced never comes back. Only then it is damaged. Otherwise the reader reads the newer
// version, and judges that one by the same rule.
//
// All code that says damage after such a read asks this class: reads of extents (store/bulk.h), the check,
// and back ends whose own values lie in extents.
//
// Threads: that of the reader; nothing is shared.
#pragma once

#include <algorithm>
#include <vector>

namespace stepstore {

// For the reads of one caller. Version: what a reference names, which no other version has ever named.
template <class Version>
class FoundTwice {
public:
    // Called after each read that failed, with the version that the look-up just before it has found. True:
    // it was found and not readable before, so it is damaged. False: look it up again.
    bool operator()(const Version& version)
    {
        if (std::ranges::find(failed_, version) != failed_.end()) return true;
        failed_.push_back(version);
        return false;
    }

private:
    std::vector<Version> failed_;
};

// So many replaced versions in a row say that the value is replaced faster than it can be read.
inline constexpr int most_replaced = 256;

} // namespace stepstore
