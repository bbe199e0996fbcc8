"""An installation: all repositories that share a store, and their references to objects, in a
key-value store that this process has opened, or as a server shows them. Both have the same methods,
which may return cached results if their docstring does not say that the result is uncached.
"""

from __future__ import annotations

from typing import TypeAlias

from anabranch.pipelines.garbage.installations.served import ServedInstallation
from anabranch.pipelines.garbage.installations.stored import StoredInstallation

__all__ = ["Installation"]

Installation: TypeAlias = StoredInstallation | ServedInstallation
