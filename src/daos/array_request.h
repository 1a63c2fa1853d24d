// The ranges and memory of an array read or write, checked and in the store's terms.
#pragma once

#include "daos/resources.h"

#include <vector>

namespace stepstore::daos {

// DER_INVAL: NULL where there should be ranges.
std::vector<store::Range> request_ranges(const daos_array_iod_t* iod);

// Memory: Bytes for a write, MutableBytes for a read. DER_INVAL: NULL, or ranges and memory of different size.
template <class Memory>
struct ArrayRequest {
    ArrayRequest(const ArrayResource& array, const daos_array_iod_t* iod, const d_sg_list_t* sgl);

    std::vector<store::Range> ranges;
    std::vector<Memory> memory;
    std::uint64_t cells = 0;
};

using ReadRequest = ArrayRequest<MutableBytes>;
using WriteRequest = ArrayRequest<Bytes>;

} // namespace stepstore::daos
