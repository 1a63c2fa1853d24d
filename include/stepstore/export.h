/* What a shared library of Stepstore exports; everything else is hidden. */
#ifndef STEPSTORE_EXPORT_H
#define STEPSTORE_EXPORT_H
#define STEPSTORE_API __attribute__((visibility("default")))
#endif
