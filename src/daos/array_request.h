// The ranges and memory of an array read or write, checked and in the store's terms.
// Threads: that of the call, and then the worker that carries it out. Errors: DER_INVAL.
#pragma once

#include "daos/caller_bytes.h"
#include "daos/resources.h"

#include <span>
#include <vector>

namespace stepstore::daos {

// What a request lists: mostly one thing, which then takes no allocation.
template <class T>
class Listed {
public:
    explicit Listed(std::size_t size = 0) : size_(size)
    {
        if (size > 1) many_.resize(size);
    }
    T& operator[](std::size_t index) { return size_ > 1 ? many_[index] : one_; }
    std::span<const T> all() const { return {size_ > 1 ? many_.data() : &one_, size_}; }
    std::size_t size() const { return size_; }

private:
    std::size_t size_;
    T one_{};
    std::vector<T> many_;
};

// DER_INVAL: two of them overlap. unit: what they count, for the message.
void require_disjoint(std::span<const store::Range> ranges, const char* unit);

// The bytes of a piece of memory that the caller uses. DER_INVAL: it says that it holds more than there is of
// it, or is NULL.
MutableBytes used_memory(const d_sg_list_t& sgl, std::uint32_t piece);

// DER_INVAL: NULL where there should be pieces of memory. How many there are.
std::uint32_t pieces_of(const d_sg_list_t* sgl);

// DER_INVAL: NULL where there should be ranges, or two that overlap.
Listed<store::Range> request_ranges(const daos_array_iod_t* iod);

// Memory: Bytes for a write, MutableBytes for a read. DER_INVAL: NULL, ranges and memory of different size,
// or a piece of memory that is said to hold more than there is of it.
template <class Memory>
struct ArrayRequest {
    ArrayRequest(const ArrayResource& array, const daos_array_iod_t* iod, const d_sg_list_t* sgl);

    Listed<store::Range> ranges;
    Listed<Memory> memory;
    std::uint64_t cells = 0;
    std::uint64_t bytes = 0;
};

using ReadRequest = ArrayRequest<MutableBytes>;

struct WriteRequest : ArrayRequest<Bytes> {
    // runs_later: the caller may use its memory for something else meanwhile, where DAOS would have taken it.
    WriteRequest(const ArrayResource& array, const daos_array_iod_t* iod, const d_sg_list_t* sgl,
                 bool runs_later);

private:
    std::vector<CallerBytes> taken_;
};

} // namespace stepstore::daos
