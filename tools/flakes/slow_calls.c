/* Preloaded library (LD_PRELOAD) that makes a disk slow and responses late.

   FLAKES_DISK_MS limits the pause before fsync, fdatasync and rename. FLAKES_LATE_MS limits the
   pause after the first bytes that a client receives since it sent some: the client's thread waits,
   the server does not, as with a slow network. Most pauses are short and few are long: a fifth of
   the limit on average. Statically linked programs are not affected. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name) \
    static __typeof__(&name) next; \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

enum { UNKNOWN, CONNECTED, AWAITING };
#define MAX_DESCRIPTORS 65536

static double disk_ms, late_ms;
static uint64_t seed;
static atomic_uchar sockets[MAX_DESCRIPTORS]; /* which descriptors are those of clients */

static double from_environment(const char *name) {
    const char *value = getenv(name);
    return value ? atof(value) : 0;
}

__attribute__((constructor)) static void configure(void) {
    disk_ms = from_environment("FLAKES_DISK_MS");
    late_ms = from_environment("FLAKES_LATE_MS");
    seed = (uint64_t)from_environment("FLAKES_SEED");
}

static void pause_up_to(double limit_ms) {
    static __thread uint64_t state;
    if (limit_ms <= 0) return;
    if (!state) state = (seed + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)syscall(SYS_gettid) << 17;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    double part = (double)(state >> 11) / (double)(1ull << 53);
    double nanoseconds = limit_ms * 1e6 * part * part * part * part;
    struct timespec duration = {
        (time_t)(nanoseconds / 1e9), (long)nanoseconds % 1000000000};
    int saved = errno;
    nanosleep(&duration, NULL);
    errno = saved;
}

static void mark(int descriptor, unsigned char state) {
    if (descriptor >= 0 && descriptor < MAX_DESCRIPTORS) sockets[descriptor] = state;
}

static ssize_t sent(int descriptor, ssize_t size) {
    if (size > 0 && descriptor < MAX_DESCRIPTORS && sockets[descriptor] == CONNECTED)
        sockets[descriptor] = AWAITING;
    return size;
}

static ssize_t received(int descriptor, ssize_t size) {
    if (size > 0 && descriptor < MAX_DESCRIPTORS && sockets[descriptor] == AWAITING) {
        sockets[descriptor] = CONNECTED;
        pause_up_to(late_ms);
    }
    return size;
}

/* the disk */

int fsync(int descriptor) {
    NEXT(fsync);
    pause_up_to(disk_ms);
    return next(descriptor);
}

int fdatasync(int descriptor) {
    NEXT(fdatasync);
    pause_up_to(disk_ms);
    return next(descriptor);
}

int rename(const char *from, const char *to) {
    NEXT(rename);
    pause_up_to(disk_ms);
    return next(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    NEXT(renameat);
    pause_up_to(disk_ms);
    return next(from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    NEXT(renameat2);
    pause_up_to(disk_ms);
    return next(from_folder, from, to_folder, to, flags);
}

/* connections */

int connect(int descriptor, const struct sockaddr *address, socklen_t size) {
    NEXT(connect);
    if (address && (address->sa_family == AF_INET || address->sa_family == AF_INET6))
        mark(descriptor, CONNECTED);
    return next(descriptor, address, size);
}

int close(int descriptor) {
    NEXT(close);
    mark(descriptor, UNKNOWN);
    return next(descriptor);
}

ssize_t send(int descriptor, const void *data, size_t size, int flags) {
    NEXT(send);
    return sent(descriptor, next(descriptor, data, size, flags));
}

ssize_t sendto(int descriptor, const void *data, size_t size, int flags,
               const struct sockaddr *address, socklen_t address_size) {
    NEXT(sendto);
    return sent(descriptor, next(descriptor, data, size, flags, address, address_size));
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    NEXT(sendmsg);
    return sent(descriptor, next(descriptor, message, flags));
}

ssize_t write(int descriptor, const void *data, size_t size) {
    NEXT(write);
    return sent(descriptor, next(descriptor, data, size));
}

ssize_t writev(int descriptor, const struct iovec *pieces, int count) {
    NEXT(writev);
    return sent(descriptor, next(descriptor, pieces, count));
}

ssize_t recv(int descriptor, void *data, size_t size, int flags) {
    NEXT(recv);
    return received(descriptor, next(descriptor, data, size, flags));
}

ssize_t recvfrom(int descriptor, void *data, size_t size, int flags, struct sockaddr *address,
                 socklen_t *address_size) {
    NEXT(recvfrom);
    return received(descriptor, next(descriptor, data, size, flags, address, address_size));
}

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags) {
    NEXT(recvmsg);
    return received(descriptor, next(descriptor, message, flags));
}

ssize_t read(int descriptor, void *data, size_t size) {
    NEXT(read);
    return received(descriptor, next(descriptor, data, size));
}

ssize_t readv(int descriptor, const struct iovec *pieces, int count) {
    NEXT(readv);
    return received(descriptor, next(descriptor, pieces, count));
}
