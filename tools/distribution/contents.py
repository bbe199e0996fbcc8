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
# e_machine of the ELF header, by the processor in the wheel's name: System V ABI, AMD64 and AArch64
_ELF_MACHINES = {"x86_64": 62, "aarch64": 183}
_NAME = re.compile(r"anabranch-[\d.]+-cp311-abi3-(manylinux|macosx|win)\w[\w.]*\.whl")


def problems_of_wheel(wheel: Path) -> Iterator[str]:
    """Yields what is wrong with a wheel."""
    if not _NAME.fullmatch(wheel.name):
        yield f"{wheel.name}: not for every Python from 3.11 on, or for one Linux only"
    folders = _local_folders()
    with zipfile.ZipFile(wheel) as archive:
        yield from _missing(wheel.name, archive.namelist(), _WHEEL)
        for name in archive.namelist():
            content = archive.read(name)
            yield from _local_names(wheel.name, name, content, folders)
            if name.endswith(".so") and "linux" in wheel.name:
                yield from _machine(wheel, name, content)


def problems_of_sdist(sdist: Path) -> Iterator[str]:
    """Yields what is wrong with a source distribution."""
    folders = _local_folders()
    with tarfile.open(sdist) as archive:
        yield from _missing(sdist.name, archive.getnames(), _SDIST)
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                yield from _local_names(sdist.name, member.name, file.read(), folders)


def _machine(wheel: Path, name: str, library: bytes) -> Iterator[str]:
    """Yields a problem if a library is not for the processor that the wheel's name ends in."""
    processor = next((each for each in _ELF_MACHINES if wheel.stem.endswith(each)), "")
    is_elf = library[:4] == b"\x7fELF"
    machine = int.from_bytes(library[18:20], "little") if is_elf else None
    if machine != _ELF_MACHINES.get(processor):
        yield f"{wheel.name}: {name} is not for {processor or 'a processor that is known'}"


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
