// Stores steps in one place, and keeps each by a snapshot. The protocol is that of
// layouts/reference/step_snapshots.h.
// Threads: one at a time for each rank. Errors: -DER_CANCELED on the ranks that did not fail themselves.
#pragma once

#include "steps/layouts/layout.h"
#include "steps/layouts/size_exchange.h"
#include "steps/profile/profile.h"
#include "steps/write/group_watch.h"

namespace stepstore::steps {

// Around the writer of any layout. Whatever fails on one rank, all ranks throw in that step.
class SnapshotWriter final : public LayoutWriter {
public:
    // watch: nullptr where there is one rank.
    SnapshotWriter(std::unique_ptr<LayoutWriter> places, Container& container, const LayoutContext& context,
                   Communicator& communicator, GroupWatch* watch, Profile& profile);
    bool collective() const override { return true; }
    void store(std::uint64_t step, Bytes metadata) override;
    void abandon(std::uint64_t step) override;
    void finish() override { exchange_.finish(); }

private:
    void store_metadata(std::uint64_t step, Bytes metadata);
    void keep(std::uint64_t step);
    void tell_failure(std::uint64_t step, const std::string& why) noexcept;

    std::unique_ptr<LayoutWriter> places_;
    Container& container_;
    const Pool& pool_;
    const StreamRecord& record_;
    KeyValue side_;
    SizeExchange exchange_;
    GroupWatch* watch_;
    Profile& profile_;
};

} // namespace stepstore::steps
