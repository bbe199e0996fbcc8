"""Addresses as the collected storage namespace has them: relative to it, or none of its business.

A reader of a repository finds addresses that are relative to that repository's namespace, and
full ones, which may lie anywhere, in the collected namespace too. A local store has full addresses
in two forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.contract import BlockStore
from anabranch.model.entry import AddressType
from anabranch.model.repository import Repository

__all__ = ["Namespace", "Reading", "to_namespace"]


class Namespace(NamedTuple):
    """A storage namespace that is collected: the beginnings of its full addresses, each with a
    slash at its end.
    """

    stems: tuple[str, ...]

    @property
    def stem(self) -> str:
        """The beginning of addresses as they are kept."""
        return self.stems[0]

    def reading(self, repository: Repository) -> Reading:
        """Returns how the addresses of a repository's objects are read."""
        root = f"{repository.storage_namespace.rstrip('/')}/"
        within = root.removeprefix(self.stem) if root.startswith(self.stem) else None
        around = self.stem.removeprefix(root) if self.stem.startswith(root) else ""
        return Reading(self.stems, within, around)

    def relative(self, address: str) -> str | None:
        """Returns a full address relative to the namespace, None for one elsewhere."""
        for stem in self.stems:
            if address.startswith(stem):
                return address.removeprefix(stem)
        return None


class Reading(NamedTuple):
    """How the addresses of one repository become relative to the collected namespace. `within` is
    where that repository is in it, the empty string for its own, None for one elsewhere. `around`
    is where the collected namespace is in that of the repository, the empty string where it is not.
    """

    stems: tuple[str, ...]
    within: str | None
    around: str = ""

    def relative(self, addresses: pa.StringArray, kinds: pa.Int32Array) -> list[pa.StringArray]:
        """Returns those addresses that are in the namespace, relative to it."""
        return [found for _, found in self.located(addresses, kinds)]

    def located(
        self, addresses: pa.StringArray, kinds: pa.Int32Array
    ) -> list[tuple[pa.Int64Array, pa.StringArray]]:
        """Returns the same, each with the rows that they are in."""
        rows = pa.array(np.arange(len(addresses)))
        if self.within == "" and pc.all(pc.equal(kinds, int(AddressType.RELATIVE))).as_py():
            return [(rows, addresses)]  # as almost always
        texts = pc.match_substring(addresses, "://")
        oldest = pc.equal(kinds, int(AddressType.BY_PREFIX))
        full = pc.or_(pc.equal(kinds, int(AddressType.FULL)), pc.and_(oldest, texts))
        found = []
        if self.within is not None:
            relative = addresses.filter(pc.invert(full))
            if self.within:
                relative = pc.binary_join_element_wise(self.within, relative, "")
            found.append((rows.filter(pc.invert(full)), relative))
        elif self.around:
            inside = pc.and_(pc.invert(full), pc.starts_with(addresses, self.around))
            relative = pc.utf8_slice_codeunits(addresses.filter(inside), len(self.around))
            found.append((rows.filter(inside), relative))
        if pc.any(full).as_py():
            for stem in self.stems:
                inside = pc.and_(full, pc.starts_with(addresses, stem))
                there = addresses.filter(inside)
                found.append((rows.filter(inside), pc.utf8_slice_codeunits(there, len(stem))))
        return found

    def rows(self, batch: pa.RecordBatch) -> Iterator[tuple[pa.StringArray, pa.StringArray]]:
        """Yields the paths and relative addresses of those entries of a batch, as the kernel reads
        them, whose addresses are in the namespace.
        """
        columns = (batch.column("physical_address"), batch.column("address_type"))
        for places, addresses in self.located(*columns):
            yield batch.column("path").take(places), addresses

    @property
    def name(self) -> str:
        """What tells this way of reading from others."""
        where = "elsewhere" if self.within is None else f"in {self.within}"
        return "\n".join((*self.stems, f"around {self.around}" if self.around else where))


def to_namespace(repository: Repository, blocks: BlockStore) -> Namespace:
    """Returns a repository's namespace, to be collected."""
    root = repository.storage_namespace.rstrip("/")
    return Namespace(tuple(dict.fromkeys((f"{root}/", f"{blocks.qualify(root)}/"))))
