// What a Reader has and does, behind its public face.
// Threads and errors: reader.h.
#pragma once

#include "comm/collective.h"
#include "steps/profile/profile_record.h"
#include "steps/read/availability.h"
#include "steps/read/data_reads.h"
#include "steps/read/hyperslab.h"
#include "steps/read/reader.h"
#include "steps/read/step_metadata.h"
#include "steps/read/step_source.h"
#include "steps/stream/step_selection.h"

namespace stepstore::steps {

class Reader::Impl {
public:
    Impl(const std::string& location, const ReaderOptions& options,
         std::shared_ptr<Communicator> communicator);
    ~Impl();
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    StepStatus begin_step(double timeout_seconds);
    void end_step();
    std::shared_ptr<const InstalledStep> step(std::uint64_t number); // -DER_INVAL, -DER_NONEXIST
    std::shared_ptr<const InstalledStep> step_with(VariableId id, std::uint64_t number);
    const Variable& variable(VariableId id) const;
    void get(VariableId id, DimsView start, DimsView count, void* memory, std::uint64_t number);
    void get_block(VariableId id, std::uint64_t block, DimsView start, DimsView count, void* memory,
                   std::uint64_t number);
    PlacedBlock placed(const InstalledStep& step, VariableId id, std::uint64_t block) const;
    // Adds reads into this memory. After an Error none of them waits: the memory is the caller's.
    template <class Add>
    void adding(std::byte* memory, std::uint64_t bytes, Add&& add)
    {
        try {
            add();
        } catch (...) {
            reads->forget({memory, bytes});
            throw;
        }
    }
    [[noreturn]] void refuse_left_out(const InstalledStep& step, VariableId id,
                                      const PlacedBlock& block) const;
    // `wanted` of a block that covers `extent`, into packed memory.
    void add_read(const InstalledStep& step, VariableId id, const PlacedBlock& block, BoxView extent,
                  BoxView wanted, std::byte* to);
    void perform_gets();
    void perform_gets(DataReads& queue, Lock& held);
    void account(const DataReads& performed);
    std::string where(VariableId id, const InstalledStep& step) const;
    bool random_access() const { return options.mode == ReadMode::random_access; }
    void require_open() const;
    void require_step() const;
    void find_definitions();
    void keep_profile();
    const Availability& availability_of(VariableId id); // of all steps there are now
    void add_available(std::uint64_t step);
    std::uint64_t count_steps(); // that are shown

    ReaderOptions options;
    std::shared_ptr<Communicator> communicator;
    Profile profile;
    std::optional<ProfileRecord> profile_record; // on rank 0
    std::unique_ptr<OpenStream> stream;
    std::unique_ptr<StepSource> source;
    std::unique_ptr<StreamDataReader> data;
    std::vector<std::unique_ptr<StreamDataReader>> idle; // of queues: those that no thread reads with now
    GetQueue reads;
    std::recursive_mutex mutex; // OwnState::stream_reader: of callers, over all that is here (Reader::lock)
    std::shared_ptr<const InstalledStep> current; // stream mode
    GeometryWatch geometry;
    StepSelection selection;
    // random access: steps known to be whole; of all, not of the selected ones
    std::uint64_t first_missing = 0;
    std::uint64_t variables_step = no_step;
    std::vector<VariableId> present;
    Availability availability; // random access
    bool closed = false;

private:
    OpenedStream wait_for_stream(const std::string& location) const;
    void get_values(const InstalledStep& step, VariableId id, DimsView start, DimsView count,
                    std::byte* memory) const;
};

} // namespace stepstore::steps
