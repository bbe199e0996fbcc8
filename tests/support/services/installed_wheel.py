"""A wheel of the installed checkout, without compiling its kernel again."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import anabranch

__all__ = ["write_wheel"]

_METADATA = ("METADATA", "WHEEL", "entry_points.txt")


def write_wheel(folder: Path) -> Path:
    """Writes the wheel to a folder and returns its path. It has the Python files and the kernel of
    the checkout, and the metadata with which it was installed.
    """
    found = distribution("anabranch")
    texts = {name: found.read_text(name) or "" for name in _METADATA}
    (tag,) = (line[5:] for line in texts["WHEEL"].splitlines() if line.startswith("Tag: "))
    name = f"anabranch-{found.version}"
    package = Path(anabranch.__file__).parent
    content = {
        f"anabranch/{path.relative_to(package)}": path.read_bytes()
        for path in sorted(package.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    content |= {f"{name}.dist-info/{file}": text.encode() for file, text in texts.items()}
    record = f"{name}.dist-info/RECORD"
    lines = [f"{path},{_digest(data)},{len(data)}\n" for path, data in content.items()]
    content[record] = "".join([*lines, f"{record},,\n"]).encode()
    wheel = folder / f"{name}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in content.items():
            archive.writestr(path, data)
    return wheel


def _digest(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return f"sha256={digest.decode().rstrip('=')}"
