"""The last stage of a Dockerfile, and its steps in a folder with the files of its base image."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Image", "build_last_stage"]

# what a container has of its host: how names are resolved, and here whom to trust as well
_OF_THE_HOST = ("etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt")
_KEPT = re.compile(r"PIP_(?!FIND_LINKS)|https?_proxy$|no_proxy$", re.IGNORECASE)
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Image:
    """Files, and how a container of them runs."""

    root: Path
    base: str
    user: str
    environment: Mapping[str, str]
    volumes: tuple[str, ...]
    command: tuple[str, ...]
    health_check: tuple[str, ...]


def build_last_stage(file: Path, context: Path, stages: Mapping[str, Path], root: Path) -> Image:
    """Executes the steps of the last stage in `root`, which has the files of its base image.
    `stages` are folders with what the other stages have made. Raises CalledProcessError if a step
    fails, and ValueError for an instruction that is not known.
    """
    base, user = "", "root"
    health_check: tuple[str, ...] = ()
    environment = {"PATH": _PATH}
    volumes: list[str] = []
    words = {"ENTRYPOINT": "[]", "CMD": "[]"}
    for instruction, rest in _last_stage(file.read_text("utf-8")):
        match instruction:
            case "FROM":
                base = rest
            case "COPY":
                _copy(rest, context, stages, root)
            case "RUN":
                _run(rest, root, environment)
            case "USER":
                user = rest
            case "ENV":
                environment |= dict(each.split("=", 1) for each in shlex.split(rest))
            case "VOLUME":
                volumes.append(rest)
            case "HEALTHCHECK":
                health_check = tuple(json.loads(rest[rest.index("CMD") + 3 :]))
            case "ENTRYPOINT" | "CMD" | "EXPOSE":
                words[instruction] = rest
            case _:
                raise ValueError(f"{file.name}: {instruction} is not known here")
    command = (*json.loads(words["ENTRYPOINT"]), *json.loads(words["CMD"]))
    return Image(root, base, user, environment, tuple(volumes), command, health_check)


def _last_stage(text: str) -> list[tuple[str, str]]:
    """Returns the instructions from the last FROM on, a pair for each."""
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    lines = [line.strip().split(maxsplit=1) for line in joined.splitlines() if line.strip()]
    pairs = [(word, rest) for word, rest in lines]
    start = max(index for index, (word, _) in enumerate(pairs) if word == "FROM")
    return pairs[start:]


def _copy(rest: str, context: Path, stages: Mapping[str, Path], root: Path) -> None:
    *options, source, target = rest.split()
    origin = context
    for option in options:
        origin = stages[option.removeprefix("--from=")]
    found, place = origin / source.lstrip("/"), root / target.lstrip("/")
    if found.is_dir():
        shutil.copytree(found, place, dirs_exist_ok=True)
    else:
        shutil.copy2(found, place / found.name if target.endswith("/") else place)


def _run(script: str, root: Path, environment: Mapping[str, str]) -> None:
    for name in _OF_THE_HOST:
        if Path("/", name).exists():
            shutil.copyfile(Path("/", name), root / name)
    kept = {name: value for name, value in os.environ.items() if _KEPT.match(name)}
    mounts = 'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc"'
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c"]
    command += [f'{mounts} && exec chroot "$0" /bin/sh -c "$1"', str(root), script]
    subprocess.run(
        command,
        env={**kept, **environment},
        stdin=subprocess.DEVNULL,
        check=True,
    )
