"""Zarr, Dask, Hugging Face Datasets and PyTorch on the file system and on snapshots.

They run in environments of their own, which `make examples` and `make examples-torch` install.
"""

from __future__ import annotations

import json
import subprocess

import pytest
from support.checkout import ROOT
from support.session.environments import environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

BEGIN = """
import json, sys
import fsspec
from anabranch.fsspec import AnabranchFileSystem
fsspec.register_implementation("anabranch", AnabranchFileSystem, clobber=True)
options, place = json.loads(sys.argv[1])
"""

ZARR = """
import numpy as np, zarr
values = np.arange(10_000).reshape(100, 100)
fs = AnabranchFileSystem(**options)
store = zarr.storage.FsspecStore.from_url(f"anabranch://{place}/main/z", storage_options=options)
array = zarr.create_array(store, shape=values.shape, chunks=(10, 10), dtype=values.dtype)
array[:] = values
repository = place
commit = fs.lake.commits.commit(repository, "main", message="An array").id
array[:10, :10] = 0
for reference, expected in (("main", 0), (commit, 909)):
    url = f"anabranch://{place}/{reference}/z"
    again = zarr.open_array(url, mode="r", storage_options=options)
    assert again.shape == (100, 100)
    assert again[9, 9] == expected, (reference, again[9, 9])
    assert (again[10:] == values[10:]).all()
"""

DASK = """
import dask, dask.bag, dask.dataframe as dd, pandas as pd


def main():
    fs = AnabranchFileSystem(**options)
    frame = pd.DataFrame({"n": range(1000), "part": [n % 7 for n in range(1000)]})
    sums = frame.groupby("part").n.sum().tolist()
    url = f"anabranch://{place}/main/d"
    dd.from_pandas(frame, npartitions=5).to_parquet(url, storage_options=options)
    commit = fs.lake.commits.commit(place, "main", message="A table").id
    for reference in ("main", commit):
        url = f"anabranch://{place}/{reference}/d"
        for scheduler in ("threads", "processes"):
            with dask.config.set(scheduler=scheduler):
                found = dd.read_parquet(url, storage_options=options)
                assert found.groupby("part").n.sum().compute().sort_index().tolist() == sums
    bag = dask.bag.from_sequence(["a", "b", "c"], npartitions=3)
    with dask.config.set(scheduler="threads"):
        bag.to_textfiles(f"anabranch://{place}/main/bag/*.txt", storage_options=options)
        read = dask.bag.read_text(f"anabranch://{place}/main/bag/*.txt", storage_options=options)
        assert sorted(line.strip() for line in read.compute()) == ["a", "b", "c"]


if __name__ == "__main__":
    main()
"""

DATASETS = """
import tempfile
from datasets import Dataset, load_dataset
from pathlib import Path
fs = AnabranchFileSystem(**options)
for part in range(3):
    lines = "".join(json.dumps({"n": n}) + "\\n" for n in range(part * 10, part * 10 + 10))
    fs.pipe_file(f"{place}/main/h/{part}.jsonl", lines.encode())
commit = fs.lake.commits.commit(place, "main", message="Lines").id
with tempfile.TemporaryDirectory() as cache:
    for reference in ("main", commit):
        files = f"anabranch://{place}/{reference}/h/*.jsonl"
        for streaming in (False, True):
            loaded = load_dataset(
                "json", data_files=files, split="train", streaming=streaming,
                storage_options=dict(options), cache_dir=cache,
            )
            assert sorted(row["n"] for row in loaded) == list(range(30)), streaming
    made = Dataset.from_dict({"n": [1, 2, 3]})
    made.save_to_disk(f"anabranch://{place}/main/saved", storage_options=options)
    again = Dataset.load_from_disk(f"anabranch://{place}/main/saved", storage_options=options)
    assert again["n"][:] == [1, 2, 3]
"""

TORCH = """
from torch.utils.data import DataLoader, Dataset
from anabranch.examples.torch_files import Files
from anabranch.examples.torch_stream import FileStream
fs = AnabranchFileSystem(**options)
with fs.transaction:
    for number in range(1000):
        fs.pipe_file(f"{place}/main/i/{number:04}", b"%04d" % number)
snapshot = fs.snapshot(f"{place}/main")
everything = sorted(b"%04d" % number for number in range(1000))
contexts = ["fork"] if "folder" in options else ["fork", "spawn"]


class OfFileSystem(Dataset):
    def __init__(self, fs, paths):
        self.fs, self.paths = fs, paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, number):
        return self.fs.cat_file(self.paths[number])


def all_of(loader):
    return [content for batch in loader for content in batch]


def main():
    for workers, context in ((0, None), *((2, name) for name in contexts)):
        common = {"batch_size": 50, "num_workers": workers, "multiprocessing_context": context}
        common["collate_fn"] = list
        shuffled = all_of(DataLoader(Files(snapshot), shuffle=True, **common))
        assert sorted(shuffled) == everything
        assert shuffled != everything
        paths = fs.find(f"{place}/{snapshot.commit_id}/i")
        assert all_of(DataLoader(OfFileSystem(fs, paths), **common)) == everything

        whole = all_of(DataLoader(FileStream(snapshot, seed=7, ahead=40), **common))
        assert sorted(whole) == everything
        assert whole != everything
        used = 50 * (workers or 1) * 2
        rest = all_of(DataLoader(FileStream(snapshot, seed=7, start=used, ahead=40), **common))
        assert whole[:used] + rest == whole, "it goes on where it stopped"
        other = all_of(DataLoader(FileStream(snapshot, seed=8), **common))
        assert other != whole


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("name", "program"),
    [("pipelines", ZARR), ("pipelines", DASK), ("pipelines", DATASETS), ("torch", TORCH)],
    ids=["zarr", "dask", "datasets", "torch"],
)
def test_engine(fs, sea, tmp_path, name, program):
    word = "examples-torch" if name == "torch" else "examples"
    python = environment(f"examples-{name}", word) / "bin/python"
    file = tmp_path / "program.py"
    file.write_text(BEGIN + program)
    given = {key: str(value) for key, value in fs.storage_options.items()}
    ran = subprocess.run(
        [python, "-P", file, json.dumps([given, sea])],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
