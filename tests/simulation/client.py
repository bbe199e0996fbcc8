"""A client of a simulated world: it does what its random numbers say, and checks what it reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

from simulation.actions import OTHERS, actions_of
from simulation.imports import QUAY
from simulation.moves import Versions
from simulation.registers import Registers
from simulation.world import Killed, Server, World

from anabranch.errors import (
    AlreadyExists,
    AnabranchError,
    Busy,
    Conflict,
    NotFound,
    OutcomeUnknown,
    PreconditionFailed,
)

__all__ = ["LASTING", "SHARED", "Client"]

REPOSITORY = "sea"
SHARED = ("main", "dev")
"""Branches of all clients, which are never reset or deleted."""
LASTING = (*SHARED, QUAY)
"""Branches that objects of the clients' own are written to."""


def require(condition: bool, about: object) -> None:
    """Raises AssertionError unless a condition holds."""
    if not condition:
        raise AssertionError(about)


class Client:
    """A client. Objects below its name are written by it alone, on the branch that is the first
    part of their path; so merges never change them on that branch. It has the server of the client
    that it is `beside`, if there is one.
    """

    strides = (1,)

    def __init__(
        self, world: World, number: int, actions: int, beside: Client | None = None
    ) -> None:
        self.world = world
        self.name = f"c{number}"
        self._beside = beside
        self._server = world.server() if beside is None else beside.server
        self.registers = Registers()
        self.commits: list[tuple[str, str]] = []
        """Branches and acknowledged commits on them."""
        self.branches: dict[str, str] = {}
        """Branches of its own, and whether they exist: yes, no, or maybe."""
        self.tags: dict[str, str] = {}
        """Tags that it alone creates, and their commits; empty where that is unknown."""
        self.claims: set[str] = set()
        """Names and objects that only one client can have created, and that this one has."""
        self.perhaps: set[str] = set()
        """Those that it may have created."""
        self.peers: Sequence[Client] = ()
        """All clients."""
        self.keyed: dict[str, str] = {}
        """The keys of acknowledged requests, and the commits that these have made."""
        self.discarded_keys: list[str] = []
        """The access keys of workspaces that are discarded."""
        self.stowed: dict[str, Versions] = {}
        """The versions of its objects in boxes that everyone moves."""
        self.imported = {0}
        """The crates that may have been imported last, 0 for none."""
        self.images: dict[str, str] = {}
        """The tags of acknowledged images, and their commits."""
        self._existed: set[str] = set()
        self._actions = actions
        self._writes = 0

    @property
    def server(self) -> Server:
        return self._server if self._beside is None else self._beside.server

    @server.setter
    def server(self, server: Server) -> None:
        self._beside, self._server = None, server

    def restart(self, skew: float | None = None) -> None:
        """Starts another server in place of one that was killed."""
        if self._beside is not None:
            self._beside.restart(skew)
        elif not self._server.alive:
            self._server = self.world.server(skew)

    @property
    def lake(self) -> Any:
        return self.server.lake

    def run(self) -> None:
        """Acts until it has acted often enough."""
        names = actions_of(self.world)
        for _ in range(self._actions):
            name = self.world.random.choice(names)
            try:
                if name in OTHERS:
                    OTHERS[name](self)
                else:
                    getattr(self, f"_{name}")()
            except Killed:
                self.restart()

    def _checkpoint(self) -> None:
        """Does what a server does in the background."""
        with suppress(Busy):
            self.server.blocks.checkpoint()

    def _clean(self) -> None:
        """Drops staging areas that are not needed any more, as a server does each minute."""
        with suppress(Busy, OutcomeUnknown):
            self.lake.core.cleaner.clean()

    def _key(self) -> tuple[str, str]:
        branch = self.world.random.choice(SHARED)
        return branch, f"{branch}/{self.name}/{self.world.random.randrange(4)}"

    def _put(self) -> None:
        self.put(self._key())

    def put(self, key: tuple[str, str]) -> None:
        """Uploads an object that this client alone writes."""
        self._writes += 1
        value = f"{self.name} {self._writes}".encode()
        self.write(key, value, lambda: self.lake.objects.upload(REPOSITORY, *key, [value]))

    def _delete(self) -> None:
        key = self._key()
        self.write(key, None, lambda: self.lake.objects.delete(REPOSITORY, *key))

    def write(
        self,
        key: tuple[str, str],
        value: bytes | None,
        write: Callable[[], object],
        refusals: Collection[str] = (),
    ) -> None:
        """Writes an object that this client alone writes, None for none. It may be refused with
        errors of these kinds.
        """
        before = self.registers.possible(key)
        self.registers.maybe_written(key, value)
        self.world.uploads += 1
        try:
            write()
        except OutcomeUnknown:
            with suppress(Busy):  # whatever it is, it is final
                self.registers.read(key, self.value(*key))
        except AnabranchError as error:
            require(isinstance(error, Busy) or error.kind in refusals, error)
            self.registers.not_written(key, before)
        else:
            self.registers.written(key, value)
        finally:
            self.world.uploads -= 1

    def _read(self) -> None:
        key = self._key()
        with suppress(Busy):
            self.registers.read(key, self.value(*key))

    def _peek(self) -> None:
        """Reads what another client writes: never what was there before its last acknowledged
        write.
        """
        other = self.world.random.choice(self.peers)
        keys = other.registers.written_keys()
        if not keys:
            return
        key = self.world.random.choice(keys)
        end_read = other.registers.begin_read(key)
        if key[0] in LASTING:
            with suppress(Busy):
                end_read(self.value(*key))

    def value(self, reference: str, path: str) -> bytes | None:
        """Returns the content of an object; None where there is none."""
        try:
            opened = self.lake.objects.open(REPOSITORY, reference, path)
        except NotFound as error:
            require(error.kind != "data_missing", f"{reference}/{path}: {error}")
            return None
        return b"".join(opened.chunks())

    def _commit(self) -> None:
        branch = self.world.random.choice(SHARED)
        known = {key: value for key, value in self.registers.settled().items() if key[0] == branch}
        try:
            commit = self.lake.commits.commit(
                REPOSITORY, branch, message=self.name, committer=self.name
            )
        except OutcomeUnknown:
            return
        except AnabranchError as error:
            require(isinstance(error, Busy) or error.kind == "no_changes", error)
            return
        self.commits.append((branch, commit.id))
        for (_, path), value in known.items():
            try:
                found = self.value(commit.id, path)
            except Busy:
                continue
            assert found == value, f"{path} is {found!r} in the commit, and was {value!r}"

    def _merge(self) -> None:
        source, destination = self.world.random.sample(SHARED, 2)
        try:
            commit_id = self.lake.refs.merge(
                REPOSITORY, source, destination, committer=self.name, message=self.name
            )
        except AnabranchError as error:
            expected = {"no_changes", "dirty_branch"}
            require(isinstance(error, Busy | OutcomeUnknown) or error.kind in expected, error)
            return
        self.commits.append((destination, commit_id))

    def _branch(self) -> None:
        """Creates, changes, deletes and restores a branch of its own."""
        random = self.world.random
        name = f"{self.name}-{random.randrange(2)}"
        exists = self.branches.get(name, "no")
        key = name, f"{name}/{self.name}"
        if exists == "yes" and random.random() < 0.5:
            value = f"{self.name} {random.randrange(1000)}".encode()
            self.write(key, value, lambda: self.lake.objects.upload(REPOSITORY, *key, [value]))
            return
        if exists == "maybe":
            self._look(name)
            return
        known = name in self.branches
        self.branches[name] = "maybe"
        try:
            if exists == "yes":
                self.lake.branches.delete(REPOSITORY, name)
            elif name in self._existed:
                self.lake.operations.restore_branch(REPOSITORY, name)
            else:
                self.lake.branches.create(REPOSITORY, name, "main")
        except OutcomeUnknown:
            pass
        except AnabranchError as error:
            require(isinstance(error, Busy), (name, exists, error))
            self.branches[name] = exists
            if not known:
                del self.branches[name]
        else:
            self.branches[name] = "no" if exists == "yes" else "yes"
            self._existed.add(name)

    def _look(self, name: str) -> None:
        try:
            self.lake.branches.get(REPOSITORY, name)
        except NotFound:
            self.branches[name] = "no"
        except Busy:
            pass
        else:
            self.branches[name] = "yes"
            self._existed.add(name)

    def _tag(self) -> None:
        name = f"t-{self.name}-{len(self.tags)}"
        self.tags[name] = ""
        try:
            tag = self.lake.tags.create(REPOSITORY, name, "main")
        except OutcomeUnknown:
            pass
        except AnabranchError as error:
            require(isinstance(error, Busy), error)
        else:
            self.tags[name] = tag.commit_id

    def _name(self) -> None:
        """Creates a tag whose name others want, too."""
        name = f"wanted-{self.world.random.randrange(3)}"
        was_unknown = name in self.perhaps
        self.perhaps.add(name)
        try:
            self.lake.tags.create(REPOSITORY, name, "main")
        except AnabranchError as error:
            require(isinstance(error, Busy | AlreadyExists | Conflict), error)
            if not isinstance(error, OutcomeUnknown) and not was_unknown:
                self.perhaps.discard(name)
        else:
            self.claims.add(name)

    def _claim(self) -> None:
        """Creates an object that others want, too."""
        path = f"main/wanted-{self.world.random.randrange(3)}"
        body = [self.name.encode()]
        self.world.uploads += 1
        try:
            self.lake.objects.upload(REPOSITORY, "main", path, body, if_absent=True)
        except AnabranchError as error:
            require(isinstance(error, Busy | PreconditionFailed), error)
        else:
            self.claims.add(path)
        finally:
            self.world.uploads -= 1
