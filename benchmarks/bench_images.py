"""Benchmarks image builds from a repository's objects, with unchanged and with new paths.

    python benchmarks/bench_images.py                      100,000 objects, seconds
    python benchmarks/bench_images.py --objects 1000000

Objects have no bytes: the kernel writes the repository's tree. For each image: wall time, processor
time of the process, objects per second of it, and the peak memory so far.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from support.faults.image_builds import build_image

from anabranch import _kernel as kernel
from anabranch.library import Lake, open_lake

IMAGES = (
    ("FROM a reference", "FROM lakefs://sea/main"),
    ("ADD under another path", "ADD lakefs://sea/main/data/ elsewhere/"),
    ("both", "FROM lakefs://sea/main\nADD lakefs://sea/main/data/ elsewhere/"),
    ("FROM an image, and an object", "FROM lakefs://image:v0\nADD lakefs://sea/main/{first} x"),
    ("ADD --exclude=*7.parquet", "ADD --exclude=*7.parquet lakefs://sea/main/data/ data/"),
)


def path(number: int) -> bytes:
    """Returns the path of an object."""
    return b"data/part-%09d.parquet" % number


def records(objects: int) -> Iterator[tuple[bytes, kernel.Value]]:
    """Yields the records of a tree."""
    for number in range(objects):
        address = f"data/gqb0000000000000000g/c{number:019d}"
        checksum = f"{number:032x}"
        entry = kernel.encode_entry(address, 1, 1_700_000_000, 0, number % 999, checksum, {}, "")
        yield path(number), entry


def fill(lake: Lake, objects: int) -> None:
    """Commits the objects to a new repository."""
    lake.repositories.create("sea", "local://sea")
    folder = lake.core.trees.write_folder(lake.core.repositories.get("sea"))
    written = kernel.write_tree(records(objects), folder)
    lake.commits.commit(
        "sea", "main", committer="b", message="all", source_metarange=written.metarange_id
    )


def cpu_and_memory() -> tuple[float, int]:
    """Returns the processor time that was used, in seconds, and the most memory, in bytes."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main() -> None:
    """Builds the images and prints a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--objects", type=int, default=100_000)
    objects = parser.parse_args().objects
    with tempfile.TemporaryDirectory() as folder, open_lake(Path(folder)) as lake:
        fill(lake, objects)
        for number, (name, text) in enumerate(IMAGES):
            before, began = cpu_and_memory()[0], time.monotonic()
            image = build_image(lake, f"v{number}", text.format(first=path(0).decode()))
            wall = time.monotonic() - began
            cpu, memory = cpu_and_memory()
            rate = image.plan.objects / (cpu - before)
            print(
                f"{name:30} {image.plan.objects:>10,} objects {wall:6.2f} s, "
                f"CPU {cpu - before:6.2f} s, {rate:>12,.0f} objects/s, {memory >> 20:>4} MiB"
            )


if __name__ == "__main__":
    main()
