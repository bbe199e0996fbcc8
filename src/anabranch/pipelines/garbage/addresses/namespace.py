"""Resolution of addresses to the collected storage namespace.

The entries of a repository have addresses relative to that repository's own namespace, and full
addresses, which can point anywhere, including into the collected namespace. A local store has two
forms of full addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.contract import BlockStore
from anabranch.model.objects.entry import AddressType
from anabranch.model.repositories.repository import Repository

__all__ = ["AddressResolver", "Namespace", "is_full", "to_namespace"]


class Namespace(NamedTuple):
    """A storage namespace that is collected: the prefixes of its full addresses, each ending with a
    slash.
    """

    prefixes: tuple[str, ...]

    @property
    def prefix(self) -> str:
        """The prefix of addresses in the store's form."""
        return self.prefixes[0]

    def resolver(self, repository: Repository) -> AddressResolver:
        """Returns the resolver of the addresses of a repository's entries."""
        root = f"{repository.storage_namespace.rstrip('/')}/"
        within = root.removeprefix(self.prefix) if root.startswith(self.prefix) else None
        around = self.prefix.removeprefix(root) if self.prefix.startswith(root) else ""
        return AddressResolver(self.prefixes, within, around)

    def relative(self, address: str) -> str | None:
        """Returns a full address relative to the namespace, or None if it is outside of it."""
        for prefix in self.prefixes:
            if address.startswith(prefix):
                return address.removeprefix(prefix)
        return None


class AddressResolver(NamedTuple):
    """Makes the addresses of one repository relative to the collected namespace. `within` is the
    path of the repository's namespace in the collected one: empty if they are equal, None if it is
    not inside. `around` is the path of the collected namespace in that of the repository, or empty
    if it is not inside.
    """

    prefixes: tuple[str, ...]
    within: str | None
    around: str = ""

    def resolve(
        self, addresses: pa.StringArray, kinds: pa.Int32Array
    ) -> list[tuple[pa.Int64Array, pa.StringArray]]:
        """Returns the addresses that are in the namespace, relative to it, with their rows."""
        rows = pa.array(np.arange(len(addresses)))
        if self.within == "" and pc.all(pc.equal(kinds, int(AddressType.RELATIVE))).as_py():
            return [(rows, addresses)]  # the common case
        full = is_full(addresses, kinds)
        resolved = []
        if self.within is not None:
            relative = addresses.filter(pc.invert(full))
            if self.within:
                relative = pc.binary_join_element_wise(self.within, relative, "")
            resolved.append((rows.filter(pc.invert(full)), relative))
        elif self.around:
            inside = pc.and_(pc.invert(full), pc.starts_with(addresses, self.around))
            relative = pc.utf8_slice_codeunits(addresses.filter(inside), len(self.around))
            resolved.append((rows.filter(inside), relative))
        if pc.any(full).as_py():
            for prefix in self.prefixes:
                inside = pc.and_(full, pc.starts_with(addresses, prefix))
                relative = pc.utf8_slice_codeunits(addresses.filter(inside), len(prefix))
                resolved.append((rows.filter(inside), relative))
        return resolved

    def resolve_batch(
        self, batch: pa.RecordBatch
    ) -> Iterator[tuple[pa.StringArray, pa.StringArray]]:
        """Yields the paths and relative addresses of the entries of a batch, in the kernel's
        columns, whose addresses are in the namespace.
        """
        columns = (batch.column("physical_address"), batch.column("address_type"))
        for rows, addresses in self.resolve(*columns):
            yield batch.column("path").take(rows), addresses

    @property
    def is_elsewhere(self) -> bool:
        """Whether the repository's namespace and the collected one are separate, so that only full
        addresses of the repository can be in the collected one.
        """
        return self.within is None and not self.around

    @property
    def cache_key(self) -> str:
        """A text that differs between resolvers that resolve addresses differently."""
        where = "elsewhere" if self.within is None else f"in {self.within}"
        return "\n".join((*self.prefixes, f"around {self.around}" if self.around else where))


def is_full(addresses: pa.StringArray, kinds: pa.Int32Array) -> pa.BooleanArray:
    """Returns for each address of an entry whether it is full."""
    has_scheme = pc.match_substring(addresses, "://")
    by_prefix = pc.equal(kinds, int(AddressType.BY_PREFIX))
    return pc.or_(pc.equal(kinds, int(AddressType.FULL)), pc.and_(by_prefix, has_scheme))


def to_namespace(repository: Repository, blocks: BlockStore) -> Namespace:
    """Returns a repository's namespace, in all forms of its full addresses."""
    root = repository.storage_namespace.rstrip("/")
    return Namespace(tuple(dict.fromkeys((f"{root}/", f"{blocks.qualify(root)}/"))))
