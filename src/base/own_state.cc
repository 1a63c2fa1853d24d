#include "base/own_state.h"

#include "stepstore/error.h"

#include <daos_errno.h>

#include <string>
#include <unistd.h>

namespace stepstore {

void refuse_parents(OwnState kind)
{
    const char* what = "this";
    switch (kind) {
    case OwnState::array_location: what = "this location of arrays was opened"; break;
    case OwnState::array_request: what = "this request of arrays was begun"; break;
    case OwnState::stream_writer: what = "this writer of a stream was opened"; break;
    case OwnState::lease: what = "this lease was taken"; break;
    case OwnState::stream_reader: what = "this reader of a stream was opened"; break;
    case OwnState::blob_writer: what = "this writer of a blob was opened"; break;
    case OwnState::leases_let_go:
    case OwnState::field_sessions:
    case OwnState::field_session:
    case OwnState::field_dataset:
    case OwnState::field_store:
    case OwnState::field_index:
    case OwnState::field_finder:
    case OwnState::fdb_client:
    case OwnState::blob_numbers:
    case OwnState::file_numbers:
    case OwnState::file_connections:
    case OwnState::count: break;
    }
    throw Error(-DER_NO_HDL, std::string(what) + " by the process that this process (" +
                                 std::to_string(::getpid()) +
                                 ") was forked from, and belongs to it: open it again in this process");
}

} // namespace stepstore
