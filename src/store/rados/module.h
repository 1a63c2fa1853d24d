// How the library asks its RADOS module for the back end. The module is loaded at the first use of a location
// rados://, so that other programs do without librados and what that needs.
// Threads: any. Errors: DER_NOSYS if the module is not there or of another version.
#pragma once

#include "store/backend.h"
#include "store/rados/host.h"

namespace stepstore::store::rados {

inline constexpr unsigned module_version = 5; // of this header and of backend.h
inline constexpr char module_symbol[] = "stepstore_rados_backend";
inline constexpr char trips_symbol[] = "stepstore_rados_trips"; // void(Trips&), for tests

// Round trips of this process to the cluster so far. What goes out together counts once.
struct Trips {
    std::uint64_t reads = 0, writes = 0;
};

struct Module {
    std::unique_ptr<Storage> (*create)(const std::string& path, const NewPool& options);
    std::unique_ptr<Storage> (*open)(const std::string& path);
    void (*destroy)(const std::string& path);
    Found (*look)(const std::string& path);
};
// nullptr: another version.
using ModuleFactory = const Module* (*)(unsigned version, const Host& host);

Trips trips();

} // namespace stepstore::store::rados
