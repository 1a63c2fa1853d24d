// FDB's client for archives in our pools: `type: stepstore` instead of `type: local`. It writes and does all
// else as FDB's own client in the process does; finding fields and listing them goes past FDB's visitors and
// queues.
#pragma once

#include "inspection.h"

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
    std::mutex making_;
    std::unique_ptr<Inspection> inspection_;
};

} // namespace stepstore::fdb_plugin
