// Races that the thread sanitizer reports, and that are none.
//
// Several threads rethrow one exception, such as the error of a whole group (group_commit.h). The last one to
// let go of it frees it. The count of those that have it is atomic, but is kept in libstdc++, which the
// sanitizer does not see.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();

const char* __tsan_default_suppressions()
{
    return "race:stepstore::Error::code\n";
}
