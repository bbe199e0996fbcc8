"""What a Delta table requires of its readers.

Source: the Delta transaction log protocol, sections "Protocol Evolution" and "Table Features".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.tables.live_rows.refusals import unreadable

__all__ = ["READER_FEATURES", "require_readable"]

_READER_VERSION = 3
_WITH_FEATURES = 3
READER_FEATURES = frozenset(
    (
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding-preview",  # a column of this type is refused on its own
        "variantType",
        "variantType-preview",
    )
)
"""Features of readers that are known here."""


def require_readable(protocol: Mapping[str, Any]) -> None:
    """Raises Invalid, with the name of a feature, for a table that needs what is unknown here."""
    version = protocol.get("minReaderVersion")
    if not isinstance(version, int):
        raise unreadable("the table's protocol has no version for readers")
    if version > _READER_VERSION:
        raise unreadable(f"the table needs a reader of version {version} of the Delta protocol")
    if version < _WITH_FEATURES:
        return
    unknown = sorted(set(map(str, protocol.get("readerFeatures") or ())) - READER_FEATURES)
    if unknown:
        raise unreadable(f"the table has the feature {unknown[0]}, which is not read")
