// A write as rank 0 plans it: what all ranks ask for, where each block goes, and what is published.
// Threads: that of the Store. Errors: -DER_INVAL, -DER_MISMATCH, -DER_OVERFLOW, -DER_BUSY, -DER_STALE, as
// each function says.
#pragma once

#include "arrays/session.h"

namespace stepstore::arrays {

// What a rank asks for, row-major.
struct WriteWish : Elements {
    Extents shape{};
    Box box;
    Placement placement = Placement::one_object;
    std::optional<unsigned> along;
    DataLayout layout;
};
// Of a call, with the memory of its block. -DER_INVAL, -DER_OVERFLOW.
WriteWish wish_of(const WriteCall& call, Order order, Memory& memory);
std::vector<std::byte> encode(const WriteWish& wish);

// Where one rank's block goes.
struct BlockAddress {
    std::uint64_t object = 0;
    std::uint64_t offset = 0;
};

// Rank 0's plan of a write.
struct Plan {
    WriteWish wish; // of rank 0
    std::shared_ptr<Head> head;
    std::optional<Header> before; // what is appended to
    DataLayout layout;
    ObjectRange fresh;                // objects that this write makes; count 0: none
    std::vector<BlockAddress> places; // of each rank; one without a block has none
    std::uint64_t object = 0;         // the first that this write fills; of one_object the only one
    std::vector<StoredBlock> blocks;
    std::uint64_t end = 0; // of the object, where it is one
    bool published = false;
    bool in_doubt = false; // whether it is published
};

// From what all ranks ask for. Looks whether their blocks make up the array, and marks the objects that will
// be filled. -DER_MISMATCH, -DER_INVAL, -DER_BUSY.
Plan make_plan(Store::Session& session, const std::string& name, std::span<const Bytes> wishes);
std::vector<std::byte> encode(const Plan& plan);
// What this rank needs of the plan.
BlockAddress address_of(Bytes plan, int rank, DataLayout& layout);

// When all data are stored (head.h, from step 2 on). -DER_STALE, -DER_BUSY.
void publish(Store::Session& session, Plan& plan);
// When not: destroys them, unless the publication is in doubt.
void abandon(Store::Session& session, const Plan& plan) noexcept;

} // namespace stepstore::arrays
