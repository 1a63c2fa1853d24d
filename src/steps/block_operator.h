// Blocks that the program itself has changed on their way into the stream: by an operator of ADIOS2, which
// may lose digits. Stepstore keeps what the operator made, and which one it was. Who reads brings the
// operator again. Without it, decompress() (compression.h) gives back what blosc and null made, and names the
// others.
// Threads: one at a time, as a Writer or Reader. Errors: apply() and the undoing throw a stepstore::Error;
// -DER_ENOENT for data that were left out.
#pragma once

#include "steps/compression.h"
#include "steps/types.h"

#include <functional>
#include <memory>

namespace stepstore::steps {

// Applied by a Writer to the blocks of a variable (Writer::operate).
class BlockOperator {
public:
    virtual ~BlockOperator() = default;
    virtual Codec codec() const = 0; // operator_codec() of its number
    // False: the memory of a block is not looked at, so it has no minimum and maximum either.
    virtual bool looks() const { return true; }
    // What is to be stored of a block, valid until the next call. nullopt: the block as it is. start is empty
    // for local and joined arrays. Both in the writer's order.
    virtual std::optional<Bytes> apply(Bytes raw, Type type, DimsView start, DimsView count) = 0;
};

// Stores nothing of a block but its place in the array, minimum and maximum. -DER_ENOENT: what a Reader's get
// of such a block gives.
std::shared_ptr<BlockOperator> leaving_data_out();

// The same without minimum and maximum. The data of such a put may be any address but null, unless the block
// has one element, which lies in the metadata.
std::shared_ptr<BlockOperator> leaving_all_out();

// Gives back exactly raw.size() bytes of a block of the variable, or throws an Error that begins with `what`.
using UndoOperator = std::function<void(VariableId variable, Codec codec, Bytes stored, MutableBytes raw,
                                        const std::string& what)>;

} // namespace stepstore::steps
