/* Preloaded library (LD_PRELOAD) with which programs do not wait until a disk has what they wrote.

Tests kill processes, not machines: whatever was written is there for the next process. Waiting for
disks is half of the time that tests take on a machine of two cores. `make test-all` waits for them,
and tools/flakes makes them slower.
*/

int fsync(int descriptor) { (void)descriptor; return 0; }
int fdatasync(int descriptor) { (void)descriptor; return 0; }
int syncfs(int descriptor) { (void)descriptor; return 0; }
int msync(void *address, unsigned long length, int flags) {
    (void)address; (void)length; (void)flags;
    return 0;
}
