// A module that programs may find: tests/base/module.cc.
extern "C" __attribute__((visibility("default"))) int stepstore_test_module()
{
    return 0;
}
