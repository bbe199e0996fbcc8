"""Benchmarks PyTorch's DataLoader on small objects of a commit, beside a dataset of lakefs-spec.

    make examples-torch
    PYTHONPATH=src:tests ~/.cache/anabranch/examples-torch/bin/python benchmarks/compare_loaders.py

Each loader reads shuffled batches with the same workers from the same server over SQLite and a
folder on this machine. lakefs-spec reads `--fewer` of the objects: its rate does not depend on how
many there are.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lakefs_spec import LakeFSFileSystem
from torch.utils.data import DataLoader, Dataset

import anabranch
from anabranch.examples.torch_files import Files
from anabranch.examples.torch_stream import FileStream
from anabranch.testing.server import Server, running_server

SIZE = 512
BATCH = 500


class OfSpec(Dataset):
    """What a user of lakefs-spec writes; each worker opens the file system itself."""

    def __init__(self, server: Server, paths: list[str]) -> None:
        self.options = {"host": server.url, "username": server.auth[0], "password": server.auth[1]}
        self.paths = paths
        self.fs = None

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, number: int) -> bytes:
        if self.fs is None:
            self.fs = LakeFSFileSystem(**self.options)
        return self.fs.cat_file(self.paths[number])


def fill(folder: Path, objects: int) -> None:
    with anabranch.open(folder, committer="bench") as lake:
        lake.repositories.create("small")
        main = lake.repository("small").branch("main")
        paths = (f"data/{number // 1000:03}/{number:07}.jpg" for number in range(objects))
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda path: main.write(path, os.urandom(SIZE)), paths))
        main.commit("objects")


def rate(batches: Iterable[list[bytes]]) -> float:
    """Returns objects per second."""
    begin = time.perf_counter()
    found = 0
    for batch in batches:
        assert all(len(content) == SIZE for content in batch)
        found += len(batch)
    return found / (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--fewer", type=int, default=4_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    options = {"batch_size": BATCH, "num_workers": given.workers, "collate_fn": list}
    with tempfile.TemporaryDirectory() as name:
        fill(Path(name, "lake"), given.objects)
        with (
            running_server(Path(name, "lake")) as server,
            anabranch.connect(server.url, *server.auth, cache_folder=Path(name, "cache")) as lake,
        ):
            snapshot = lake.snapshot("small", "main")
            files = Files(snapshot)
            some = [f"small/{snapshot.commit_id}/{path}" for path in files.paths[: given.fewer]]
            loaders = {
                "Files, shuffled": lambda: DataLoader(files, shuffle=True, **options),
                "FileStream": lambda: DataLoader(FileStream(snapshot, seed=1), **options),
                "lakefs-spec, shuffled": lambda: DataLoader(
                    OfSpec(server, some), shuffle=True, **options
                ),
            }
            found = {label: [] for label in loaders}
            for _ in range(given.rounds):
                for label, make in loaders.items():
                    found[label].append(rate(make()))
            for label, rates in found.items():
                median = sorted(rates)[len(rates) // 2]
                print(f"{label:24} {median:10,.0f} objects/s")


if __name__ == "__main__":
    main()
