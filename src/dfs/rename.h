// Removing and renaming entries, so that a process that dies, or another one that does the same, loses no
// file.
//
// There is no transaction over two names. Each step below is one update of one name, and atomic. A rename
// from S to T:
//   1. marks S with the place of T, if S has no mark yet;
//   2. writes T whole, with a mark of the place of S: as a new entry, or over the one that is there;
//   3. removes S, if it is there: from here on the rename is done;
//   4. clears the mark of T, and removes the object that T had before.
// A process that dies before 2 leaves S with a mark. Between 2 and 3 it leaves both names with one object,
// and after 3 T alone. So at no time is there neither. A process that removes or renames a name with a mark
// first finishes that rename: it removes S if T has its object, and clears the marks. A mark on S of which T
// shows nothing may be of a process between 1 and 2. It is waited for, and then cleared (settle.cc).
//
// Of several processes at S in 3 one succeeds. The others see that S is gone. If T has still their own mark,
// then somebody has removed S. They put back what T was, and fail with ENOENT. A process that finishes the
// rename of another one changes the mark of T before 3. So the other one knows that it was done.
//
// An exchange of A and B:
//   1. marks B with the place of A, and A with the name of a spare entry beside it;
//   2. writes the spare entry, with A's object and a mark of the place of B;
//   3. writes B's entry over A, and then A's over B;
//   4. removes the spare entry, and clears the marks.
// A process that dies in it leaves no file without a name. The next one that renames or removes A or B looks
// at the spare entry. If A shows its object, nothing was changed. Else the spare entry goes over B. Then come
// step 4's removals.
//
// A removal takes the entry out first, and then the object's data. A process that dies between them leaves
// data that no name shows. Data go only with an entry that has no mark.
//
// Not covered are an entry that is made in a directory while another process removes that directory, and two
// processes that move two directories each into the other one. The removal looks twice, and puts the
// directory back if it finds an entry the second time.
//
// Threads: any. Errors: calls fail with an errno (failure.h).
#pragma once

#include "dfs/file_system.h"

namespace stepstore::dfs {

// A name in a directory that is open.
struct Spot {
    std::shared_ptr<const Level> directory;
    daos_handle_t handle;
    std::string name;
    Place place() const { return {handle, name}; }
};

// Its entry with its mark, after a rename that it was in is finished. ENOENT: there is none.
Entry settled(const ::dfs& fs, const Spot& spot);

// The object of what was removed. ENOTEMPTY.
daos_obj_id_t remove(const ::dfs& fs, const Spot& spot, bool force);

// The object of a target that was replaced, or nil. EEXIST: there is a target, and not may_replace.
daos_obj_id_t move(const ::dfs& fs, const Spot& from, const Spot& to, bool may_replace = true);

// EINVAL: one of the two is not there. number: that no object has.
void exchange(const ::dfs& fs, const Spot& one, const Spot& other, daos_obj_id_t number);

} // namespace stepstore::dfs
