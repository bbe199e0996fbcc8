"""What must be in a wheel and in a source distribution, and what must not."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from distribution.kernel_layout import source_folders

__all__ = ["problems_of_sdist", "problems_of_wheel"]

_PAGE = r"anabranch/web/static/"
_WHEEL = (
    r"anabranch/_kernel\.abi3\.so|anabranch/_kernel\.pyd",
    r"anabranch/py\.typed",
    _PAGE + r"index\.html",
    _PAGE + r"packages\.json",
    _PAGE + r"assets/.*\.js\.br",
    r"[^/]*\.dist-info/licenses/LICENSE",
    r"[^/]*\.dist-info/licenses/licenses/kernel\.txt",
    r"[^/]*\.dist-info/licenses/licenses/page\.txt",
    r"[^/]*\.dist-info/sboms/.*kernel.*\.json",
    r"[^/]*\.dist-info/sboms/page\.cyclonedx\.json",
)
_SDIST = (
    r"[^/]*/PKG-INFO",
    r"[^/]*/LICENSE",
    r"[^/]*/licenses/kernel\.txt",
    r"[^/]*/licenses/page\.txt",
    r"[^/]*/licenses/page\.cyclonedx\.json",
    r"[^/]*/src/" + _PAGE + r"index\.html",
    r"[^/]*/Cargo\.lock|[^/]*/kernel/Cargo\.lock",
)
_NAME = re.compile(r"anabranch-[\d.]+-cp311-abi3-(manylinux|macosx|win)\w[\w.]*\.whl")


def problems_of_wheel(wheel: Path) -> Iterator[str]:
    """Yields what is wrong with a wheel."""
    if not _NAME.fullmatch(wheel.name):
        yield f"{wheel.name}: not for every Python from 3.11 on, or for one Linux only"
    folders = _local_folders()
    with zipfile.ZipFile(wheel) as archive:
        yield from _missing(wheel.name, archive.namelist(), _WHEEL)
        for name in archive.namelist():
            yield from _local_names(wheel.name, name, archive.read(name), folders)


def problems_of_sdist(sdist: Path) -> Iterator[str]:
    """Yields what is wrong with a source distribution."""
    folders = _local_folders()
    with tarfile.open(sdist) as archive:
        yield from _missing(sdist.name, archive.getnames(), _SDIST)
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                yield from _local_names(sdist.name, member.name, file.read(), folders)


def _missing(distribution: str, names: Iterable[str], patterns: Iterable[str]) -> Iterator[str]:
    names = list(names)
    for pattern in patterns:
        if not any(re.fullmatch(pattern, name) for name in names):
            yield f"{distribution} has no {pattern}"


def _local_folders() -> list[bytes]:
    return [str(folder).encode() for folder in (*source_folders(), Path.cwd())]


def _local_names(
    distribution: str, name: str, content: bytes, folders: Iterable[bytes]
) -> Iterator[str]:
    """Yields a problem if a file names a folder of this machine or of its registry."""
    for folder in folders:
        if folder in content:
            yield f"{distribution}: {name} names a folder of this machine"
