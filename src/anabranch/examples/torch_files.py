"""A PyTorch dataset of the objects of a commit by number, for loaders that shuffle."""

from __future__ import annotations

from torch.utils.data import Dataset

from anabranch.lake.snapshots.snapshot import Snapshot

__all__ = ["Files"]


class Files(Dataset[bytes]):  # type: ignore[misc]  # torch is not there when types are checked
    """The objects below a prefix. What a loader takes as one batch is read by one request, in each
    of its workers, whether they are forked or spawned.
    """

    def __init__(self, snapshot: Snapshot, prefix: str = "") -> None:
        self.snapshot = snapshot
        self.paths = [*snapshot.paths(prefix)]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, number: int) -> bytes:
        return self.snapshot.read(self.paths[number])

    def __getitems__(self, numbers: list[int]) -> list[bytes]:
        """Returns a batch."""
        return [*self.snapshot.read_many(self.paths[number] for number in numbers)]
