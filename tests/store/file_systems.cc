// Which file systems several machines may share, by what statfs() tells, and what follows for a pool on one.
#include "store/lmdb/sharing/machine.h"
#include "support/processes.h"
#include "support/store_fixture.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <linux/magic.h>
#include <memory>

namespace stepstore::testing {
namespace {

namespace fs = std::filesystem;
using store::lmdb::MachineClaim;
using store::lmdb::shared_file_system;

struct FileSystem {
    const char* name; // as the user is told; empty: only one machine can have it
    std::uint64_t type;
};

// Those that linux/magic.h does not name have their number in their own sources or in statfs(2).
constexpr FileSystem local[] = {
    {"", EXT4_SUPER_MAGIC},
    {"", 0x58465342}, // XFS
    {"", BTRFS_SUPER_MAGIC},
    {"", TMPFS_MAGIC},
    {"", RAMFS_MAGIC},
    {"", F2FS_SUPER_MAGIC},
    {"", OVERLAYFS_SUPER_MAGIC},
    {"", REISERFS_SUPER_MAGIC},
    {"", NILFS_SUPER_MAGIC},
    {"", MSDOS_SUPER_MAGIC},
    {"", 0x2011BAB0}, // exFAT
    {"", 0x2FC12FC1}, // ZFS
    {"", 0xCA451A4E}, // bcachefs
    {"", 0x3153464A}, // JFS
    {"", 0x7366746E}, // NTFS of the kernel (ntfs3)
};
constexpr FileSystem shared[] = {
    {"NFS", NFS_SUPER_MAGIC}, {"SMB", SMB_SUPER_MAGIC}, {"SMB (CIFS)", 0xFF534D42},
    {"SMB", 0xFE534D42},      {"Lustre", 0x0BD00BD0}, // lustre_user.h: LL_SUPER_MAGIC
    {"GPFS", 0x47504653},                             // statfs(2), coreutils: "GPFS"
    {"BeeGFS", 0x19830326},                           // its client's BEEGFS_MAGIC
    {"CephFS", 0x00C36400},   {"FUSE", 0x65735546},     {"9P", V9FS_MAGIC},
    {"GFS2", 0x01161970},     {"OCFS2", 0x7461636F},
};

std::uint64_t with_its_sign(std::uint64_t type)
{
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(type)));
}

TEST(FileSystems, AreKnownByTheirNumbers)
{
    for (const FileSystem& one : local) {
        EXPECT_EQ(shared_file_system(one.type), "") << std::hex << one.type;
        EXPECT_EQ(shared_file_system(with_its_sign(one.type)), "") << std::hex << one.type;
    }
    for (const FileSystem& one : shared) {
        EXPECT_EQ(shared_file_system(one.type), one.name) << std::hex << one.type;
        EXPECT_EQ(shared_file_system(with_its_sign(one.type)), one.name) << std::hex << one.type;
    }
    for (const std::uint64_t unknown : {0x12345678U, 0x5346414FU /* AFS */, 0x0U})
        EXPECT_NE(shared_file_system(unknown).find("unknown type"), std::string::npos) << unknown;
}

// 0 where two machines may write the pool at once, else the error of the second; 100 more where it may not
// even look.
int second_writer(const std::string& directory, const std::string& file_system)
{
    const auto claim_of = [&](const char* machine) {
        setenv("STEPSTORE_TEST_MACHINE", machine, 1);
        return std::make_unique<MachineClaim>(RootedPath::directory(directory), file_system);
    };
    return run_in_child([&] {
        const auto first = claim_of("alpha");
        first->claim();
        if (first->claimed() != fs::exists(directory + "/machine")) return 50;
        const auto second = claim_of("beta");
        const int looks = der_of([&] { second->require_no_other(); });
        const int claims = der_of([&] { second->claim(); });
        setenv("STEPSTORE_TEST_MACHINE", "alpha", 1);
        const auto again = claim_of("alpha"); // of the machine that has it
        if (der_of([&] { again->claim(); }) != 0) return 51;
        first->give_back();
        if (fs::exists(directory + "/machine")) return 52;
        setenv("STEPSTORE_TEST_MACHINE", "beta", 1);
        if (der_of([&] { second->require_no_other(); }) != 0) return 53; // nobody writes it now
        return looks == 0 && claims == 0 ? 0 : looks == DER_BUSY && claims == DER_BUSY ? 1 : 54;
    });
}

TEST(FileSystems, ThatAreSharedHaveOneMachineThatWritesAndOthersNeedNone)
{
    for (const FileSystem& one : local) {
        const TemporaryDirectory directory;
        EXPECT_EQ(second_writer(directory.path().string(), shared_file_system(one.type)), 0)
            << std::hex << one.type;
    }
    for (const FileSystem& one : shared) {
        const TemporaryDirectory directory;
        EXPECT_EQ(second_writer(directory.path().string(), shared_file_system(one.type)), 1) << one.name;
    }
    const TemporaryDirectory directory;
    EXPECT_EQ(second_writer(directory.path().string(), shared_file_system(0x12345678)), 1);
}

} // namespace
} // namespace stepstore::testing
