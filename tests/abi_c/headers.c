/* <daos.h> alone brings the system headers that programs written for DAOS get from it. */
#include <daos.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
    errno = 0;
    char* memory = malloc(64);
    struct timespec time;
    if (memory == NULL || pthread_mutex_lock(&mutex) != 0 || getpid() <= 0) return 1;
    if (DER_EVICTED != DER_EXCLUDED || bswap_32(1) != 0x01000000) return 2;
    if (daos_hlc2timespec(1500000000250000000, &time) != 0 || time.tv_sec != 1500000000) return 3;
    pthread_mutex_unlock(&mutex);
    free(memory);
    return errno;
}
