/* A real-time clock that is ahead of the host's by STEPSTORE_OTHER_CLOCK seconds, for programs that have this
 * library in LD_PRELOAD: the kernel has no such clocks of namespaces. Readings are moved. A wait until a time
 * of that clock is moved back. Times of files are the file system's, and stay. */
#define _GNU_SOURCE /* dlvsym */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

/* A deadline beyond this is one of the real-time clock; the clocks since boot are years behind it. */
static const time_t LEAST_REAL_TIME = 1000000000;

static time_t offset;

__attribute__((constructor)) static void read_offset(void)
{
    const char* told = getenv("STEPSTORE_OTHER_CLOCK");
    offset = told ? (time_t)strtol(told, NULL, 10) : 0;
}

static int is_real_time(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

static struct timespec moved_back(const struct timespec* until)
{
    struct timespec moved = *until;
    if (moved.tv_sec > LEAST_REAL_TIME) moved.tv_sec -= offset;
    return moved;
}

VISIBLE int clock_gettime(clockid_t clock, struct timespec* now)
{
    if (syscall(SYS_clock_gettime, clock, now) != 0) return -1;
    if (is_real_time(clock)) now->tv_sec += offset;
    return 0;
}

VISIBLE int gettimeofday(struct timeval* restrict now, void* restrict zone)
{
    (void)zone;
    struct timespec read;
    if (clock_gettime(CLOCK_REALTIME, &read) != 0) return -1;
    now->tv_sec = read.tv_sec;
    now->tv_usec = read.tv_nsec / 1000;
    return 0;
}

VISIBLE time_t time(time_t* to)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (to) *to = now.tv_sec;
    return now.tv_sec;
}

VISIBLE int timespec_get(struct timespec* now, int base)
{
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0;
}

VISIBLE int clock_nanosleep(clockid_t clock, int flags, const struct timespec* until, struct timespec* left)
{
    const struct timespec moved = is_real_time(clock) && flags & TIMER_ABSTIME ? moved_back(until) : *until;
    return syscall(SYS_clock_nanosleep, clock, flags, &moved, left) == 0 ? 0 : errno;
}

VISIBLE int pthread_cond_timedwait(pthread_cond_t* restrict condition, pthread_mutex_t* restrict mutex,
                                   const struct timespec* restrict until)
{
    const struct timespec moved = moved_back(until);
    int (*next)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
    *(void**)&next = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!next) *(void**)&next = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    return next(condition, mutex, &moved);
}

VISIBLE int pthread_mutex_timedlock(pthread_mutex_t* restrict mutex, const struct timespec* restrict until)
{
    const struct timespec moved = moved_back(until);
    int (*next)(pthread_mutex_t*, const struct timespec*);
    *(void**)&next = dlsym(RTLD_NEXT, "pthread_mutex_timedlock");
    return next(mutex, &moved);
}

VISIBLE int sem_timedwait(sem_t* restrict semaphore, const struct timespec* restrict until)
{
    const struct timespec moved = moved_back(until);
    int (*next)(sem_t*, const struct timespec*);
    *(void**)&next = dlsym(RTLD_NEXT, "sem_timedwait");
    return next(semaphore, &moved);
}
