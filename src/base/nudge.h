// Calls into a shared file system that wait for its server to write its journal.
//
// The metadata server of CephFS writes its journal every five seconds, or when a client asks for it. A call
// that touches what another client has just changed may wait for that. A client asks for it by a sync of a
// file that it has changed. So while a call of this process takes long, a Nudger changes and syncs a file of
// the same file system, from a thread of its own.
//
// Threads: any. Fork: a child has no Nudger of its parent's; it leaves that alone without destroying it.
// Errors: none. A file that this user may not change is never nudged.
#pragma once

#include "base/not_copied.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace stepstore {

// A call that may wait, as long as it lives. Cheap: a few loads if this process has no Nudger.
class FileCallRuns : NotCopied {
public:
    FileCallRuns() noexcept;
    ~FileCallRuns();

private:
    std::atomic<std::int64_t>* since_ = nullptr;
};

class Nudger : NotCopied {
public:
    // The file, or directory, whose time of change is set. It need not be there yet.
    explicit Nudger(std::string file);
    ~Nudger();

    // Whether nudges may help there: CephFS, by the kernel or by FUSE. Any other FUSE counts as that, too.
    static bool may_help(int fd);

private:
    std::jthread thread_;
};

} // namespace stepstore
