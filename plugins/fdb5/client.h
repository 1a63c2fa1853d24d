// FDB's client for archives in our pools: `type: stepstore` instead of `type: local`. It writes and does all
// else as FDB's own client in the process does; finding fields and listing them goes past FDB's visitors and
// queues.
// Threads: several may inspect and list at once; a forked child begins anew. Errors: FDB's (failure.h).
#pragma once

#include "inspection.h"

#include "base/own_state.h"

#include "fdb5/api/LocalFDB.h"

#include <memory>
#include <mutex>
#include <string>

namespace stepstore::fdb_plugin {

class Client final : public fdb5::LocalFDB {
public:
    // A UserError when the configuration's engine is another one.
    Client(const fdb5::Config& config, const std::string& name);
    fdb5::ListIterator inspect(const metkit::mars::MarsRequest& request) override;
    fdb5::ListIterator list(const fdb5::FDBToolRequest& request, int level) override;

private:
    struct Own {
        std::mutex making; // of OwnState::fdb_client: guards inspection while it is made
        std::unique_ptr<Inspection> inspection;
    };
    PerProcess<OwnState::fdb_client, Own> own_{[] { return std::make_unique<Own>(); }};
};

} // namespace stepstore::fdb_plugin
