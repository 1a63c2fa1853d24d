// A dataset: a container with its dataset key-value (object 0.0), index objects and array objects of fields.
// Threads: any. Errors: session.h; what a wipe explains becomes -DER_STALE (guarded()).
#pragma once

#include "base/own_state.h"
#include "fields/key.h"
#include "fields/options.h"
#include "stepstore/client.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::fields {

class Session;
class Writer;
class IndexRow;

inline constexpr std::uint32_t fields_format = 1;

// What the dataset key-value says about the dataset itself.
struct DatasetRecord {
    Key key;
    DatasetOptions options;
    std::string schema;
    std::uint64_t created = 0; // seconds since 1970
    std::string host;          // who made it
    std::uint64_t process = 0;
    std::uint64_t user = 0; // its number on that host
};

// What can be switched off for everybody (control flags); all are on in a new dataset.
enum class Control : std::uint8_t { retrieve, list, archive, wipe };
std::string_view name_of(Control control);

class Dataset {
public:
    const Key& key() const { return record_.key; }
    const std::string& key_text() const { return text_; }
    const DatasetRecord& record() const { return record_; }
    const std::string& schema() const { return record_.schema; }
    const DatasetOptions& options() const { return record_.options; }
    const std::string& container_label() const { return container_.label(); }
    Session& session() const { return *session_; }
    std::string name() const; // "dataset class=od,... of pool P": for messages

    // The collocation keys under which something was archived, in the order of their texts; until `each`
    // returns false. One whose fields were all removed may still be among them.
    void collocations(const std::function<bool(const Key&)>& each) const;

    // Control flags: stored, for all processes, from the next operation on. archive and wipe are refused by
    // CatalogueWriter::flush(), wipe() and purge() with -DER_NO_PERM; retrieve and list by CatalogueReader's
    // calls.
    void set_enabled(Control control, bool enabled);
    bool enabled(Control control) const; // one request
    void require_enabled(Control control) const;

    // Small named values of the caller's own, stored with the dataset; a name is not empty.
    std::optional<std::string> attribute(const std::string& name) const;
    bool has_attribute(const std::string& name) const; // with a value that is not empty
    void set_attribute(const std::string& name, std::string_view value);
    void remove_attribute(const std::string& name);
    std::vector<std::string> attributes() const;

    // Throws -DER_STALE when the dataset was wiped (or wiped and made again) since it was opened. One
    // request.
    void require_there() const;
    bool is_there() const;

    // ---- for the parts of this library
    const Container& container() const { return container_; }
    KeyValue& key_value() const { return key_value_; }
    ObjectId index_id(std::uint64_t number) const;
    bool index_in_one_place()
        const; // all keys of an index object lie together, so that syncing one syncs those before
    KeyValue open_key_value(const ObjectId& id) const; // asks nothing of the store
    Array data_array(std::uint64_t object) const;      // opens with attributes; asks nothing of the store
    Array data_array(std::uint64_t object, Verify verify) const; // whatever the dataset's options say
    std::uint64_t allocate_numbers(std::uint64_t count);
    std::vector<std::string>
    keys_with(std::string_view prefix) const; // of the dataset key-value, without the prefix
    std::shared_ptr<IndexRow> row(const std::string& collocation); // cached
    // This process's number as a writer, registered in the dataset at the first call, with a range of object
    // numbers.
    Writer& writer();
    // Runs `body`; an error that the dataset's wipe explains becomes -DER_STALE "... was wiped".
    template <class Body>
    auto guarded(Body body) const -> decltype(body())
    {
        try {
            return body();
        } catch (const Error& error) {
            explain(error);
        }
    }

    Dataset(std::shared_ptr<Session> session, std::string text, Container container, DatasetRecord record);
    ~Dataset();
    Dataset(const Dataset&) = delete;
    Dataset& operator=(const Dataset&) = delete;

private:
    [[noreturn]] void explain(const Error& error) const;

    std::shared_ptr<Session> session_;
    std::string text_;
    Container container_;
    mutable KeyValue key_value_;
    DatasetRecord record_;
    ObjectId index_id_; // with the lower id 0: of index objects,
    ObjectId data_id_;  // and fields
    struct Own;
    PerProcess<OwnState::field_dataset, Own> own_;
};

} // namespace stepstore::fields
