"""Full addresses of entries, as clients see them."""

from __future__ import annotations

from typing import NamedTuple

from anabranch.model.objects.entry import Entry, physical_address

__all__ = ["FullAddresses"]

_LOCAL = "local://"


class FullAddresses(NamedTuple):
    """`namespace` is the full storage namespace of a repository, `local_root` what stands for the
    scheme of addresses in a local store; empty if that is the scheme itself.
    """

    namespace: str
    local_root: str = ""

    def of(self, entry: Entry) -> str:
        """Returns the full address of an entry's bytes."""
        full = physical_address(self.namespace, entry.address, entry.address_type)
        if self.local_root and full.startswith(_LOCAL) and full == entry.address:
            return self.local_root + full.removeprefix(_LOCAL)
        return full
