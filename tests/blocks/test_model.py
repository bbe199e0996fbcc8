"""Block stores compared with a plain dictionary, under random histories."""

from __future__ import annotations

import hashlib
import tempfile

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.memory_folder import MEMORY_FOLDER
from support.session.hypothesis_profiles import examples

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local.store import LocalBlocks
from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import AlreadyExists, Gone, Invalid

NAMES = st.sampled_from(["a", "a-", "a.b", "a0", "b", "é", "\U0001f600", "\uffff"])
KEYS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
CHUNKS = st.lists(st.binary(max_size=20), max_size=3)


def conflicts_with_folder(model: dict[str, bytes], address: str) -> bool:
    """Returns whether a block has the name of one of the address's folders, or the reverse."""
    return any(held.startswith(f"{address}/") or address.startswith(f"{held}/") for held in model)


class Histories(RuleBasedStateMachine):
    """A store, and the dictionary that it must agree with."""

    scheme = ""
    folders = False

    def __init__(self) -> None:
        super().__init__()
        self.store = self.open()
        self.model: dict[str, bytes] = {}

    def open(self) -> BlockStore:
        raise NotImplementedError

    def at(self, key: str) -> str:
        return f"{self.scheme}://{key}"

    def clashes(self, address: str) -> bool:
        if not self.folders:
            return False
        # a folder stays when its last block goes
        self.once = getattr(self, "once", set())
        return conflicts_with_folder(self.model, address) or address in self.once

    def remember(self, address: str) -> None:
        names = address.split("/")
        self.once = getattr(self, "once", set())
        self.once |= {"/".join(names[:depth]) for depth in range(3, len(names))}

    @rule(key=KEYS, chunks=CHUNKS, create=st.booleans())
    def put(self, key, chunks, create):
        address, body = self.at(key), b"".join(chunks)
        if create and address in self.model:
            with pytest.raises(AlreadyExists):
                self.store.put(address, chunks, if_absent=True)
            return
        if self.clashes(address):
            with pytest.raises((Invalid, AlreadyExists)):
                self.store.put(address, chunks, if_absent=create)
            return
        stored = self.store.put(address, iter(chunks), if_absent=create)
        assert stored.size == len(body)
        assert stored.checksum == hashlib.md5(body, usedforsecurity=False).hexdigest()
        self.model[address] = body
        self.remember(address)

    @rule(key=KEYS)
    def interrupted_put(self, key):
        def chunks():
            yield b"interrupted"
            raise ConnectionError

        with pytest.raises((ConnectionError, Invalid)):
            self.store.put(self.at(key), chunks())
        if not self.clashes(self.at(key)):
            self.remember(self.at(key))

    @rule(keys=st.lists(KEYS, max_size=4))
    def delete(self, keys):
        self.store.delete(map(self.at, keys))
        for key in keys:
            self.model.pop(self.at(key), None)

    @rule(key=KEYS, to=KEYS)
    def copy(self, key, to):
        source, destination = self.at(key), self.at(to)
        if source not in self.model:
            with pytest.raises(Gone):
                self.store.copy(source, destination)
        elif self.clashes(destination):
            with pytest.raises(Invalid):
                self.store.copy(source, destination)
        else:
            self.store.copy(source, destination)
            self.model[destination] = self.model[source]
            self.remember(destination)

    @rule(key=KEYS, start=st.integers(0, 30), length=st.none() | st.integers(0, 30))
    def get(self, key, start, length):
        body = self.model.get(self.at(key))
        end = start + length if length is not None else max(start, len(body or b""))
        if body is None or end > len(body):
            with pytest.raises(Gone):
                self.store.get(self.at(key), start, length)
            return
        assert b"".join(self.store.get(self.at(key), start, length)) == body[start:end]
        assert self.store.read(self.at(key), start, length) == body[start:end]

    @rule(prefix=st.just("") | KEYS | KEYS.map(lambda key: f"{key}/"), after=st.just("") | KEYS)
    def list(self, prefix, after):
        begin = self.at(prefix)
        start = self.at(after) if after else ""
        listed = [(info.address, info.size) for info in self.store.list(begin, after=start)]
        assert listed == [
            (address, len(self.model[address]))
            for address in sorted(self.model, key=str.encode)
            if address.startswith(begin) and address.encode() > start.encode()
        ]

    @invariant()
    def agrees(self):
        assert [info.address for info in self.store.list(self.at(""))] == sorted(self.model)


class MemoryHistories(Histories):
    scheme = "mem"

    def open(self) -> BlockStore:
        return MemoryBlocks()


class LocalHistories(Histories):
    scheme = "local"
    folders = True

    def open(self) -> BlockStore:
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY_FOLDER)
        return LocalBlocks(self.folder.name)

    @rule()
    def reopen(self):
        self.store = LocalBlocks(self.folder.name)
        assert self.store.clean_temporaries(-1) == 0

    def teardown(self) -> None:
        self.folder.cleanup()


MODEL = settings(
    max_examples=examples(40),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestMemory = MemoryHistories.TestCase
TestMemory.settings = MODEL
TestLocal = LocalHistories.TestCase
TestLocal.settings = MODEL
