// A module of another version, which refuses to be used (src/store/rados/module.h).
extern "C" __attribute__((visibility("default"))) const void* stepstore_rados_backend(unsigned, const void*)
{
    return nullptr;
}
