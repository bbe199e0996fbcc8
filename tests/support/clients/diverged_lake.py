"""A client of a server, for merges of two branches that have gone apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2

Changes = Mapping[str, str | bytes | None]


class DivergedLake:
    """A repository with a branch dev."""

    def __init__(self, api: httpx2.Client, repository: str) -> None:
        self.api = api
        self.path = f"/repositories/{repository}"

    def commit(self, branch: str, changes: Changes) -> str:
        """Commits changes of paths, None for a removal; returns the id of the commit."""
        for path, content in changes.items():
            at = f"{self.path}/branches/{branch}/objects"
            if content is None:
                sent = self.api.delete(at, params={"path": path})
            else:
                sent = self.api.post(at, params={"path": path}, content=content)
            assert sent.status_code in (201, 204), sent.text
        made = self.api.post(f"{self.path}/branches/{branch}/commits", json={"message": branch})
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    def diverge(self, base: Changes, source: Changes, destination: Changes) -> None:
        """Commits a base to main, and then changes to dev and main."""
        self.commit("main", {"other": "o", **base})
        body = {"name": "dev", "source": "main"}
        assert self.api.post(f"{self.path}/branches", json=body).status_code == 201
        self.commit("dev", {"of dev": "d", **source})
        self.commit("main", {"of main": "m", **destination})

    def merge(self, *resolutions: Mapping[str, Any], **body: Any) -> httpx2.Response:
        """Merges dev into main."""
        if resolutions:
            body["resolutions"] = list(resolutions)
        return self.api.post(f"{self.path}/refs/dev/merge/main", json=body)

    def conflicts(self, **params: Any) -> httpx2.Response:
        """Lists the conflicts."""
        return self.api.get(f"{self.path}/refs/dev/merge/main/conflicts", params=params)

    def head(self, branch: str = "main") -> str:
        """Returns the id of a branch's commit."""
        return str(self.api.get(f"{self.path}/branches/{branch}").json()["commit_id"])

    def read(self, path: str, ref: str = "main") -> str | None:
        """Returns the content of an object, None if there is none."""
        found = self.api.get(f"{self.path}/refs/{ref}/objects", params={"path": path})
        return found.text if found.status_code == 200 else None
