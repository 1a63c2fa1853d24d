// Leaks that the address sanitizer finds in libraries of others and that nobody here can close.
//
// LMDB 0.9 forgets a list of 1 MiB when a transaction is aborted that had written pages early (mt_spill_pgs).
// That happens when a transaction that changes hundreds of megabytes finds the map full.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();

const char* __lsan_default_suppressions()
{
    return "leak:mdb_midl_alloc\n";
}
