// The properties of a container that make it one of files. libdfs, ours and DAOS's, refuses to mount a
// container without them.
#include "base/text.h"
#include "client/state.h"

#include <array>
#include <cstdlib>

namespace stepstore {
namespace {

using Entries = std::array<daos_prop_entry, 2>;

// The layout, and the roots.
Entries entries_of_files()
{
    Entries entries{};
    entries[0].dpe_type = DAOS_PROP_CO_LAYOUT_TYPE;
    entries[0].dpe_val = DAOS_PROP_CO_LAYOUT_POSIX;
    entries[1].dpe_type = DAOS_PROP_CO_ROOTS;
    return entries;
}

daos_prop_t list_of(Entries& entries)
{
    daos_prop_t list{};
    list.dpp_nr = static_cast<std::uint32_t>(entries.size());
    list.dpp_entries = entries.data();
    return list;
}

ObjectId from_daos(const daos_obj_id_t& oid)
{
    return {oid.hi, oid.lo};
}

} // namespace

Container Pool::create_container(const std::string& label, const FileSystem& files) const
{
    daos_prop_co_roots roots{};
    roots.cr_oids[0] = to_daos(files.superblock);
    roots.cr_oids[1] = to_daos(files.root);
    Entries entries = entries_of_files();
    entries[1].dpe_val_ptr = &roots;
    daos_prop_t list = list_of(entries);
    const int rc = state_->library().cont_create_with_label(state_->handle, c_text(label, "container"), &list,
                                                            nullptr, nullptr);
    check(state_->library(), rc, [&] {
        return "create container " + stepstore::quoted(label) + " of files in pool " + state_->location;
    });
    return open_container(label);
}

std::optional<FileSystem> Container::file_system() const
{
    Entries entries = entries_of_files();
    entries[0].dpe_val = 0;
    daos_prop_t list = list_of(entries);
    const int rc = state_->library().cont_query(state_->handle, nullptr, &list, nullptr);
    const std::unique_ptr<void, decltype(&std::free)> owned(entries[1].dpe_val_ptr, &std::free);
    check(state_->library(), rc, [&] { return "query the properties of " + state_->name(); });
    if (entries[0].dpe_val != DAOS_PROP_CO_LAYOUT_POSIX || !owned) return std::nullopt;
    const auto& roots = *static_cast<const daos_prop_co_roots*>(owned.get());
    if (daos_obj_id_is_nil(roots.cr_oids[0]) || daos_obj_id_is_nil(roots.cr_oids[1])) return std::nullopt;
    return FileSystem{from_daos(roots.cr_oids[0]), from_daos(roots.cr_oids[1])};
}

} // namespace stepstore
