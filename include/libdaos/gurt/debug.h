/*
 * Messages and assertions of programs written for DAOS.
 *
 * A message goes to the standard error if it is at least as severe as D_LOG_MASK says: FATAL, CRIT, ERR,
 * WARN, NOTE, INFO or DEBUG; ERR if it is not set. Other values, as DAOS has them for its parts, count as
 * ERR. Threads: any. Errors: a message that cannot be written is dropped.
 */
#ifndef STEPSTORE_LIBDAOS_GURT_DEBUG_H
#define STEPSTORE_LIBDAOS_GURT_DEBUG_H

#include <daos_errno.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#ifdef __cplusplus
extern "C" {
#endif

enum d_log_severity { D_LOG_FATAL, D_LOG_CRIT, D_LOG_ERR, D_LOG_WARN, D_LOG_NOTE, D_LOG_INFO, D_LOG_DEBUG };

/* severity: enum d_log_severity. Part of the program: DAOS's library has no such function. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
static inline void
d_log_message(int severity, const char* file, int line, const char* function, const char* format, ...)
{
    static const char* const names[] = {"FATAL", "CRIT", "ERR", "WARN", "NOTE", "INFO", "DEBUG"};
    const char* const mask = getenv("D_LOG_MASK");
    int shown = D_LOG_ERR;
    for (int i = D_LOG_FATAL; mask && i <= D_LOG_DEBUG; ++i)
        if (strcasecmp(mask, names[i]) == 0) shown = i;
    if (severity > shown || severity < D_LOG_FATAL || severity > D_LOG_DEBUG) return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const size_t length = strlen(text);
    const char* const end = length > 0 && text[length - 1] == '\n' ? "" : "\n";
    fprintf(stderr, "%s %s:%d %s() %s%s", names[severity], file, line, function, text, end);
}

#define D_LOG_AT(severity, ...) d_log_message(severity, __FILE__, __LINE__, __func__, __VA_ARGS__)
#define D_FATAL(...) D_LOG_AT(D_LOG_FATAL, __VA_ARGS__)
#define D_CRIT(...) D_LOG_AT(D_LOG_CRIT, __VA_ARGS__)
#define D_ERROR(...) D_LOG_AT(D_LOG_ERR, __VA_ARGS__)
#define D_WARN(...) D_LOG_AT(D_LOG_WARN, __VA_ARGS__)
#define D_NOTE(...) D_LOG_AT(D_LOG_NOTE, __VA_ARGS__)
#define D_INFO(...) D_LOG_AT(D_LOG_INFO, __VA_ARGS__)
/* A message and the code after it. */
#define DL_ERROR(code, format, ...) D_ERROR(format ": " DF_RC "\n", ##__VA_ARGS__, DP_RC(code))
#define DL_WARN(code, format, ...) D_WARN(format ": " DF_RC "\n", ##__VA_ARGS__, DP_RC(code))
#define DL_INFO(code, format, ...) D_INFO(format ": " DF_RC "\n", ##__VA_ARGS__, DP_RC(code))
/* mask: the part of DAOS that a message is of; not looked at. */
#define D_DEBUG(mask, ...) D_LOG_AT(D_LOG_DEBUG, __VA_ARGS__)
#define D_PRINT(...) (fprintf(stdout, __VA_ARGS__), fflush(stdout))
#define D_PRINT_ERR(...) (fprintf(stderr, __VA_ARGS__), fflush(stderr))

/* They end the program, also in release builds. */
#define D_ASSERT(condition)                                                                                  \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            D_FATAL("assertion '%s' failed\n", #condition);                                                  \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)
#define D_ASSERTF(condition, ...)                                                                            \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            D_FATAL("assertion '%s' failed\n", #condition);                                                  \
            D_FATAL(__VA_ARGS__);                                                                            \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)
#ifdef __cplusplus
#define D_CASSERT(condition, ...) static_assert(condition, #condition)
#else
#define D_CASSERT(condition, ...) _Static_assert(condition, #condition)
#endif

#ifdef __cplusplus
}
#endif
#endif
