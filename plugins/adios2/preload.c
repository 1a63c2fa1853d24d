/*
 * For LD_PRELOAD, in any process: makes the engine type Stepstore known when a program declares its first IO.
 * It needs no library but C's, and does nothing in a process without ADIOS2.
 *
 * It stands in front of one function of ADIOS2's core, ADIOS::DeclareIO, and calls that.
 */
#define _GNU_SOURCE
#include "stepstore/export.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE_IO                                                                                           \
    "_ZN6adios24core5ADIOS9DeclareIOENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"                   \
    "NS_13ArrayOrderingE"

/* A reference is returned; the name is an object of C++, so its address is handed over. */
typedef void* (*declare_io_function)(void* adios, void* name, int order);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static declare_io_function next_declare_io;

static void complain(const char* what, const char* why)
{
    fprintf(stderr, "stepstore: there is no engine type Stepstore: %s%s\n", what, why != NULL ? why : "");
}

static int find_core(struct dl_phdr_info* info, size_t size, void* to)
{
    (void)size;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, "/libadios2_core.so") == NULL) return 0;
    *(const char**)to = info->dlpi_name;
    return 1;
}

/* Python loads ADIOS2 for itself alone: then it is not among what comes after this library. */
static void find_declare_io(void)
{
    void* found = dlsym(RTLD_NEXT, DECLARE_IO);
    const char* path = NULL;
    if (found == NULL && dl_iterate_phdr(find_core, &path) != 0) {
        void* core = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        if (core != NULL) found = dlsym(core, DECLARE_IO);
    }
    memcpy(&next_declare_io, &found, sizeof found);
}

static void load_engine(void)
{
    static const char here = 0;
    int (*make_known)(void) = NULL;
    const char* (*last_error)(void) = NULL;
    void* symbols[2] = {NULL, NULL};
    char path[4096] = "";
    const char* slash = NULL;
    Dl_info self;
    void* library = NULL;

    find_declare_io();
    if (dladdr(&here, &self) == 0 || (slash = strrchr(self.dli_fname, '/')) == NULL ||
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname,
                 STEPSTORE_ADIOS2_FILE) >= (int)sizeof path)
        return complain("its library cannot be found", NULL);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) return complain(dlerror(), NULL);
    symbols[0] = dlsym(library, "stepstore_adios2_register");
    symbols[1] = dlsym(library, "stepstore_adios2_last_error");
    if (symbols[0] == NULL || symbols[1] == NULL) return complain(path, " is of another version");
    memcpy(&make_known, &symbols[0], sizeof make_known);
    memcpy(&last_error, &symbols[1], sizeof last_error);
    if (make_known() != 0) complain(last_error(), NULL);
}

STEPSTORE_API void* stepstore_declare_io(void* adios, void* name, int order) __asm__(DECLARE_IO);
void* stepstore_declare_io(void* adios, void* name, int order)
{
    pthread_once(&once, load_engine);
    if (next_declare_io == NULL) {
        fprintf(stderr, "stepstore: this program's ADIOS2 is another one than Stepstore was built for: take "
                        "libstepstore_adios2_preload.so out of LD_PRELOAD\n");
        abort();
    }
    return next_declare_io(adios, name, order);
}
