// Finds out whether this process runs MPI, without being linked to any MPI, and loads the MPI module where it
// does.
//
// MPI may be in the process in three ways: linked by the program, loaded globally, or loaded privately
// (Python's mpi4py: RTLD_LOCAL, where dlsym(RTLD_DEFAULT) sees nothing). All three show in the list of loaded
// objects, so that list is what is asked.
#include "base/checksum.h"
#include "base/module.h"
#include "comm/mpi_module.h"
#include "daos_errno.h"
#include "stepstore/error.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <mutex>
#include <optional>
#include <string_view>

namespace stepstore {
namespace {

struct LoadedMpi {
    std::string path;   // empty where only its symbols are visible (linked statically)
    std::string soname; // the name under which programs are linked to it
    int (*initialized)(int*) = nullptr;
    int (*finalized)(int*) = nullptr;
};

// libmpi.so.40, libmpich.so.12, libmpi_cray.so.12, libmpi_intel...: an MPI library's C interface, not its
// Fortran or C++ companions.
bool names_mpi_library(std::string_view file)
{
    if (!file.starts_with("libmpi")) return false;
    auto stem = file.substr(0, file.find(".so"));
    if (stem.size() == file.size()) return false;
    for (auto name : {"libmpi", "libmpich", "libmpi_cray", "libmpi_gnu", "libmpi_intel", "libmpi_amd"})
        if (stem == name || (stem.starts_with(name) && std::string_view(name).starts_with("libmpi_")))
            return true;
    return false;
}

// The name by which programs ask for a loaded library, such as "libmpi.so.40": it may have been opened by
// another.
std::string soname_of(void* library, const std::string& path)
{
    link_map* map = nullptr;
    const char* strings = nullptr;
    std::optional<std::size_t> offset;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) {
        for (const auto* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
            if (entry->d_tag == DT_SONAME) offset = entry->d_un.d_val;
            if (entry->d_tag != DT_STRTAB) continue;
            // An address, which the loader has relocated on most machines.
            auto at = entry->d_un.d_ptr;
            strings = reinterpret_cast<const char*>(at < map->l_addr ? at + map->l_addr : at);
        }
    }
    if (strings != nullptr && offset) return strings + *offset;
    return std::filesystem::path(path).filename().string();
}

bool take_symbols(void* library, LoadedMpi& mpi)
{
    mpi.initialized = reinterpret_cast<int (*)(int*)>(dlsym(library, "MPI_Initialized"));
    mpi.finalized = reinterpret_cast<int (*)(int*)>(dlsym(library, "MPI_Finalized"));
    return mpi.initialized != nullptr && mpi.finalized != nullptr;
}

std::vector<std::string> loaded_mpi_libraries()
{
    std::vector<std::string> paths;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
            if (info->dlpi_name != nullptr && *info->dlpi_name != '\0') {
                std::string_view path = info->dlpi_name;
                if (names_mpi_library(path.substr(path.rfind('/') + 1)))
                    static_cast<std::vector<std::string>*>(to)->emplace_back(path);
            }
            return 0;
        },
        &paths);
    return paths;
}

bool is_running(const LoadedMpi& mpi)
{
    int initialized = 0;
    int finalized = 0;
    if (mpi.initialized(&initialized) != 0 || initialized == 0) return false;
    return mpi.finalized(&finalized) == 0 && finalized == 0;
}

// The MPI that this process has initialised and not finalised.
std::optional<LoadedMpi> find_running_mpi()
{
    for (const auto& path : loaded_mpi_libraries()) {
        LoadedMpi mpi;
        mpi.path = path;
        void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr) continue;
        mpi.soname = soname_of(library, path);
        bool found = take_symbols(library, mpi) && is_running(mpi);
        dlclose(library); // gives back this look's reference only: the process holds its own
        if (found) return mpi;
    }
    LoadedMpi mpi;
    if (take_symbols(RTLD_DEFAULT, mpi) && is_running(mpi)) return mpi;
    return std::nullopt;
}

void require_same_mpi(const LoadedMpi& mpi)
{
    const std::string built_with = STEPSTORE_MPI_SONAME;
    if (built_with.empty())
        throw Error(
            -DER_NOSYS,
            "this process runs MPI, but Stepstore was built without MPI: set the parameter Communicator=self "
            "if every rank opens a location of its own, or build Stepstore with -DSTEPSTORE_MPI=ON");
    if (mpi.soname == built_with) return;
    throw Error(
        -DER_NOSYS,
        "this process runs another MPI (" +
            (mpi.path.empty() ? "linked statically" : mpi.soname + ", " + mpi.path) +
            ") than Stepstore was built with (" + built_with +
            "): build Stepstore with the program's MPI (CMake: -DMPI_CXX_COMPILER=...), or set the parameter "
            "Communicator=self if every rank opens a location of its own");
}

MpiModule& load_module(const LoadedMpi& mpi)
{
    static std::mutex loading; // guards `module`
    static MpiModule* module = nullptr;
    std::lock_guard lock(loading);
    if (module != nullptr) return *module;
    require_same_mpi(mpi);
    std::string tried;
    if (void* factory = find_in_module(reinterpret_cast<const void*>(&self_communicator),
                                       STEPSTORE_MPI_MODULE_FILE, mpi_module_symbol, tried)) {
        module = reinterpret_cast<MpiModuleFactory>(factory)(mpi_module_version);
        if (module != nullptr) return *module;
        tried += " it was made for another version of Stepstore";
    }
    throw Error(
        -DER_NOSYS,
        std::string("this process runs MPI, but Stepstore's MPI module ") + STEPSTORE_MPI_MODULE_FILE +
            " cannot be loaded: install it beside this library, or set the parameter Communicator=self if "
            "every rank opens a location of its own. Tried:" +
            tried);
}

MpiModule& module_for_communicator()
{
    auto mpi = find_running_mpi();
    if (!mpi)
        throw Error(
            -DER_NOSYS,
            "a communicator was given, but MPI is not initialised in this process, or is finalised: call "
            "MPI_Init first");
    return load_module(*mpi);
}

MpiModule& module_for(const void* mpi_comm)
{
    if (mpi_comm == nullptr)
        throw Error(-DER_INVAL, "the communicator is a null pointer: give the address of an MPI_Comm");
    return module_for_communicator();
}

} // namespace

int launched_without_mpi()
{
    if (find_running_mpi()) return 0;
    for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
        const char* text = std::getenv(variable);
        int processes = 0;
        if (text == nullptr) continue;
        std::from_chars(text, text + std::strlen(text), processes);
        if (processes > 1) return processes;
    }
    return 0;
}

std::shared_ptr<Communicator> form_group(const std::string& key, GroupChoice choice, double timeout_seconds)
{
    if (choice == GroupChoice::self) return self_communicator();
    auto mpi = find_running_mpi();
    if (!mpi) {
        if (choice == GroupChoice::automatic) return self_communicator();
        throw Error(-DER_NOSYS,
                    "Communicator=world for " + key +
                        ", but this process runs no MPI: call MPI_Init before opening, or set the parameter "
                        "Communicator=self (or auto)");
    }
    return load_module(*mpi).form_group(key, checksum(as_bytes(key)), choice, timeout_seconds);
}

std::shared_ptr<Communicator> form_group_within(const void* mpi_comm, const std::string& key,
                                                double timeout_seconds)
{
    return module_for(mpi_comm).form_group_within(mpi_comm, key, checksum(as_bytes(key)), timeout_seconds);
}

std::shared_ptr<Communicator> form_group_within_fortran(int mpi_comm, const std::string& key,
                                                        double timeout_seconds)
{
    return module_for_communicator().form_group_within_fortran(mpi_comm, key, checksum(as_bytes(key)),
                                                               timeout_seconds);
}

std::shared_ptr<Communicator> mpi_communicator(const void* mpi_comm)
{
    return module_for(mpi_comm).duplicate(mpi_comm);
}

} // namespace stepstore
