/* Marks the symbols that a shared library of Stepstore exports; all others are hidden. */
#ifndef STEPSTORE_EXPORT_H
#define STEPSTORE_EXPORT_H
#define STEPSTORE_API __attribute__((visibility("default")))
#endif
