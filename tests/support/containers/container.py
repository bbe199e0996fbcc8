"""A container of an image in namespaces of Linux, as Docker and Kubernetes confine one: its own
processes and network, files that it cannot change but for /tmp and volumes, a user without
privileges. Needs root.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.containers.dockerfile import Image
from support.eventually import eventually

__all__ = ["Container", "may_confine", "running_container"]

_NAMESPACES = ("--mount", "--pid", "--net", "--ipc", "--uts")
# $0: the image's files, $1: the folder of volumes, then their paths, --, and the command
_CONFINE = """
root=$0 kept=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
while [ "$1" != -- ]; do mount --bind "$kept$1" "$root$1"; shift; done; shift
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
mount -o remount,bind,ro "$root"
exec chroot "$root" "$@"
"""
_LOOPBACK = (
    "import fcntl, socket, struct;"
    "fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh', b'lo', 0x41))"  # SIOCSIFFLAGS: up
)


def may_confine() -> bool:
    """Returns whether this user and this kernel permit the namespaces."""
    tried = ["unshare", *_NAMESPACES, "--fork", "mount", "-t", "tmpfs", "tmpfs", "/tmp"]
    try:
        return subprocess.run(tried, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


class Container:
    """A container that runs: its first process, as the host sees it, and programs beside that."""

    def __init__(self, image: Image, unshare: subprocess.Popen[bytes]) -> None:
        self._image = image
        self._unshare = unshare

    @property
    def process_id(self) -> int:
        """The number of the first process, outside of its namespace; 0 before there is one."""
        number = self._unshare.pid
        children = Path(f"/proc/{number}/task/{number}/children").read_text("ascii")
        return int(next(iter(children.split()), 0))

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a program in the container as its user, as `docker exec` does."""
        enter = ["nsenter", "--target", str(self.process_id), *_NAMESPACES]
        enter += ["chroot", str(self._image.root), *_as_user(self._image), *command]
        return subprocess.run(
            enter, env=dict(self._image.environment), capture_output=True, text=True, check=False
        )

    def is_healthy(self) -> bool:
        """Runs the image's health check."""
        return self.execute(*self._image.health_check).returncode == 0

    def stop(self, timeout_seconds: float = 60) -> int:
        """Ends it as `docker stop` does, and returns its exit status."""
        subprocess.run(["kill", "-TERM", str(self.process_id)], check=True)
        return self._unshare.wait(timeout_seconds)


@contextmanager
def running_container(
    image: Image, volumes: Path, settings: Mapping[str, str], log: Path
) -> Iterator[Container]:
    """Starts an image's command; waits until its health check passes. `volumes` is a folder, which
    is filled from the image as Docker fills new volumes.
    """
    for volume in image.volumes:
        if not (volumes / volume.lstrip("/")).exists():
            volumes.mkdir(exist_ok=True)
            copied = [str(image.root / volume.lstrip("/")), str(volumes)]
            subprocess.run(["cp", "--archive", *copied], check=True)
    loopback = ["/usr/local/bin/python", "-c", _LOOPBACK]
    inner = ["/bin/sh", "-euc", '"$1" "$2" "$3"; shift 3; exec "$@"', "sh", *loopback]
    inner += [*_as_user(image), *image.command]
    command = ["unshare", *_NAMESPACES, "--fork", "--kill-child", "/bin/sh", "-euc", _CONFINE]
    command += [str(image.root), str(volumes), *image.volumes, "--", *inner]
    with log.open("ab") as written:
        unshare = subprocess.Popen(
            command,
            env={**image.environment, **settings},
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
        )
    container = Container(image, unshare)
    try:
        eventually(lambda: _passes(container, unshare, log), timeout_seconds=120)
        yield container
    finally:
        unshare.kill()
        unshare.wait()


def _passes(container: Container, unshare: subprocess.Popen[bytes], log: Path) -> bool:
    if unshare.poll() is not None:
        raise RuntimeError(log.read_text("utf-8"))
    return container.process_id != 0 and container.is_healthy()


def _as_user(image: Image) -> Sequence[str]:
    words = ["setpriv", f"--reuid={image.user}", f"--regid={image.user}", "--init-groups"]
    return [*words, "--no-new-privs", "--bounding-set=-all"]
