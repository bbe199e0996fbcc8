"""The lakes example: a short history in a repository with sample data, by REST requests alone.

It needs no package beside Anabranch; the flights example (`flights.py`) does more, with pandas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from anabranch.client.rest_client import Request, RestClient
from anabranch.errors import AnabranchError, Conflict

__all__ = ["REPOSITORY", "LakesExample"]

REPOSITORY = "quickstart"
RIVERS_PATH = "data/rivers.csv"
MEASURED = {"Amazon,6400": "Amazon,6575"}
ROUNDED = {"Amazon,6400": "Amazon,6500", "Yenisei,5539": "Yenisei,5500"}


class LakesExample:
    """The steps of the example on the server that `client` reaches."""

    def __init__(self, client: RestClient) -> None:
        self._client = client

    def steps(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Yields the title of each step and the method that runs it and returns its outcome."""
        yield "Create the repository with sample data", self.create_repository
        yield "Correct a river on a branch and merge it", self.correct_river
        yield "Provoke a conflict", self.provoke_conflict
        yield "Resolve it with a merge strategy", self.resolve_conflict
        yield "Tag the result", self.tag

    def exists(self) -> bool:
        """Returns whether the repository exists."""
        listed = self._client.pages("repositories", prefix=REPOSITORY)
        return any(each["id"] == REPOSITORY for each in listed)

    def create_repository(self) -> str:
        """Creates the repository, with a README that leads through it."""
        body = {
            "name": REPOSITORY,
            "storage_namespace": f"local://{REPOSITORY}",
            "sample_data": True,
        }
        self._client.send("POST", "repositories", body=body)
        return f"lakefs://{REPOSITORY}/main"

    def correct_river(self) -> str:
        """Changes a row on a branch, which is merged into main."""
        self._branch("measure-amazon", MEASURED, "The Amazon, measured again")
        # made now, of main before the merge: it changes the same row
        self._branch("round-lengths", ROUNDED, "Lengths in hundreds")
        self._merge("measure-amazon")
        return f"{RIVERS_PATH} on main has the new length"

    def provoke_conflict(self) -> str:
        """Merges a branch that has changed the same object: main stays as it is."""
        try:
            self._merge("round-lengths")
        except Conflict:
            return f"conflict: {RIVERS_PATH}, main is unchanged"
        raise AnabranchError("the second merge should have had a conflict")

    def resolve_conflict(self) -> str:
        """Merges again, with a strategy that prefers the source."""
        self._merge("round-lengths", strategy="source-wins")
        return "source-wins: main has the rounded lengths"

    def tag(self) -> str:
        """Creates a tag, a name that does not move."""
        made = self._send("POST", "tags", body={"id": "v1", "ref": "main"})
        return f"v1 is {made['commit_id'][:12]}"

    def _branch(self, name: str, changes: Mapping[str, str], message: str) -> None:
        """Creates a branch of main and commits changed rows to it."""
        self._send("POST", "branches", body={"name": name, "source": "main"})
        source = ("repositories", REPOSITORY, "refs", "main", "objects")
        with self._client.download(*source, path=RIVERS_PATH) as content:
            rivers = b"".join(content.chunks).decode()
        for before, after in changes.items():
            rivers = rivers.replace(before, after)
        segments = ("repositories", REPOSITORY, "branches", name, "objects")
        headers = {"Content-Type": "text/csv"}
        self._client.request_json(
            Request("POST", segments, {"path": RIVERS_PATH}, headers, rivers.encode())
        )
        self._send("POST", "branches", name, "commits", body={"message": message})

    def _merge(self, branch: str, **options: str) -> None:
        self._send("POST", "refs", branch, "merge", "main", body=options)

    def _send(self, method: str, *segments: str, body: dict[str, str]) -> dict[str, str]:
        sent: dict[str, str] = self._client.send(
            method, "repositories", REPOSITORY, *segments, body=body
        )
        return sent
