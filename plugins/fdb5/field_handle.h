// Reads fields, one after the other, as one stream of bytes. FDB merges the handles of the fields of one
// retrieve, so that they come here as a list and are read many at once.
// Threads: one at a time. Errors: FDB's (failure.h).
#pragma once

#include "fields/dataset.h"
#include "fields/location.h"
#include "fields/store_reader.h"

#include "eckit/io/DataHandle.h"

#include <memory>
#include <vector>

namespace stepstore::fdb_plugin {

class FieldHandle final : public eckit::DataHandle {
public:
    struct Part {
        std::shared_ptr<fields::Dataset> dataset;
        fields::FieldLocation location;
    };
    explicit FieldHandle(std::vector<Part> parts) : parts_(std::move(parts)) {}

    eckit::Length openForRead() override;
    long read(void* buffer, long length) override;
    void close() override {}
    void rewind() override { seek(0); }
    void skip(const eckit::Length& length) override { seek(position() + length); }
    eckit::Offset position() override { return static_cast<long long>(at_); }
    eckit::Offset seek(const eckit::Offset& offset) override;
    bool canSeek() const override { return true; }
    eckit::Length size() override { return estimate(); }
    eckit::Length estimate() override;
    bool merge(eckit::DataHandle* other) override; // takes over the parts of another FieldHandle
    bool compress(bool sorted) override;
    eckit::DataHandle* clone() const override { return new FieldHandle(parts_); }
    void print(std::ostream& out) const override;

private:
    std::size_t read_part(std::byte* to, std::size_t length);
    std::size_t read_whole_parts(std::byte* to, std::size_t length);

    std::vector<Part> parts_;
    std::uint64_t at_ = 0;     // bytes from the start of the first part
    std::size_t part_ = 0;     // the part that comes next
    std::uint64_t inside_ = 0; // bytes of it that were read
    // All of that part, verified, once its beginning was read as a piece; empty: it has no checksum, or no
    // piece was read. So no bytes are given that are wrong. Who begins within it gets bytes that are not
    // compared.
    std::vector<std::byte> whole_;
};

} // namespace stepstore::fdb_plugin
