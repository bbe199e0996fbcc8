"""What the references of a query name, for as long as it runs.

The files of a table are read one after another, and a branch may move meanwhile. So a reference is
resolved once. The staging areas of a branch are dropped a minute after they were committed; so a
branch with staged changes is resolved again before that.
"""

from __future__ import annotations

import time

from anabranch.catalog.catalog import Catalog
from anabranch.versioning.references.references import Resolved

__all__ = ["ReferenceViews"]

_MAX_AGE_SECONDS = 40.0
"""Staging areas of a completed commit are kept for 60 seconds."""


class ReferenceViews:
    """The references of a query by repository, as they were when they were first read."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._views: dict[tuple[str, str], tuple[float, Resolved]] = {}

    def resolve(self, repository: str, reference: str) -> Resolved:
        """Returns what a reference names. Raises NotFound, and Invalid for a malformed one."""
        now = time.monotonic()
        began, view = self._views.get((repository, reference), (now, None))
        if view is None or (view.branch is not None and now - began > _MAX_AGE_SECONDS):
            began, view = now, self._catalog.objects.resolve(repository, reference)
            self._views[repository, reference] = began, view
        return view
