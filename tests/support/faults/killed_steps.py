"""Processes that `kill -9` ends at steps of an action, in `make test-all` at each: before and after
each of its writes to the key-value store, which is SQLite or PostgreSQL.

    python -m support.faults.killed_repositories FOLDER DATABASE ACTION…

A scenario's module prints a line of JSON for each action: what is there before the action and after
it, and for each step what a later process has found, and what was there once that one had acted,
too.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import psycopg

from anabranch.errors import AnabranchError
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.keyvalue.postgres.store import PostgresStore
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.testing.stores import FaultyStore
from support.services.postgres import clear
from support.session.sizes import sized

__all__ = ["Scenario", "main"]


class Scenario(Protocol):
    """What is there, and what is done. Each opens the stores by itself, and closes them."""

    def prepare(self, folder: Path, store: KeyValueStore) -> None:
        """Makes what all actions begin with."""

    def act(self, folder: Path, store: KeyValueStore, action: str) -> None:
        """Does an action. Raises an AnabranchError if there is nothing to be done."""

    def state(self, folder: Path, store: KeyValueStore, action: str) -> object:
        """Returns what is there as users see it, as a JSON document, at the time of an action."""


class _KilledStore(FaultyStore):
    """Kills the process before or after a change: at the step of a number, at none for 0."""

    def __init__(self, store: KeyValueStore, number: int) -> None:
        super().__init__(store, lambda *_: None)
        self.number, self.steps = number, 0

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self.number:
            os.kill(os.getpid(), signal.SIGKILL)

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        """Makes the writes, between two steps."""
        self._step()
        done = super().apply(writes, expect)
        self._step()
        return done

    def drop(self, partition: str) -> None:
        """Drops a partition, between two steps."""
        self._step()
        super().drop(partition)
        self._step()


class _Copies:
    """Copies of a folder with its database: an SQLite file in it, or a PostgreSQL database, which
    is filled again for each copy.
    """

    def __init__(self, folder: Path, database: str) -> None:
        self._folder, self._database = folder, database
        self._rows: list[tuple[bytes, bytes, bytes]] = []
        self.template = folder / "template"
        self.template.mkdir()

    def open(self, folder: Path) -> KeyValueStore:
        """Opens the store of the template or of a copy."""
        if self._database:
            return PostgresStore(self._database, max_open_connections=2)
        return SQLiteStore(folder / "db")

    def keep(self) -> None:
        """Keeps what the template's store has, from which copies are made."""
        if self._database:
            with psycopg.connect(self._database) as connection:
                self._rows = connection.execute(
                    "SELECT partition_key, key, value FROM kv"
                    " WHERE partition_key <> 'kv-internal-metadata'"
                ).fetchall()

    def make(self) -> Path:
        """Makes the copy, the only one at a time; returns its folder."""
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.template, copy)
        if self._database:
            clear(self._database)
            with psycopg.connect(self._database) as connection:
                connection.cursor().executemany("INSERT INTO kv VALUES (%s, %s, %s)", self._rows)
        return copy


def _in_child(work: Callable[[], None]) -> int:
    """Runs work in a process of its own; returns its exit code, negative for a signal."""
    pid = os.fork()
    if not pid:
        try:
            work()
        except BaseException:  # noqa: BLE001  the process ends here
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _tried(scenario: Scenario, copies: _Copies, action: str, number: int) -> tuple[int, object]:
    """Kills an action at a step; returns the exit code, what a later process finds, and what is
    there once it has acted. Without a step, nothing is done before that.
    """
    copy = copies.make()
    told = copy.with_name("told")

    def act() -> None:
        scenario.act(copy, _KilledStore(copies.open(copy), number), action)

    def examine() -> None:
        found = scenario.state(copy, copies.open(copy), action)
        with suppress(AnabranchError):
            scenario.act(copy, copies.open(copy), action)
        final = scenario.state(copy, copies.open(copy), action)
        told.write_text(json.dumps([found, final]))

    code = _in_child(act) if number else 0
    assert _in_child(examine) == 0
    return code, json.loads(told.read_text())


def main(scenario: Scenario, folder: str, database: str, *actions: str) -> None:
    """Tries steps of each action, and prints what has become of it. The database is that of
    PostgreSQL, empty for SQLite.
    """
    copies = _Copies(Path(folder), database)
    assert _in_child(lambda: scenario.prepare(copies.template, copies.open(copies.template))) == 0
    copies.keep()
    for action in actions:
        _, states = _tried(scenario, copies, action, 0)
        steps: list[object] = []
        number = 1
        while True:
            code, found = _tried(scenario, copies, action, number)
            if code == 0:
                break
            assert code == -signal.SIGKILL, code
            steps.append(found)
            # the first steps and every so many after them
            number += 1 if number < 3 else sized(40, weekly=1)
        print(json.dumps({"action": action, "states": states, "steps": steps}), flush=True)
