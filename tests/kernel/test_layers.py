"""Layers laid over each other, against dictionaries: the tree is the one that staging the same
entries and committing them gives.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import _kernel as kernel
from anabranch.model.objects.entry import physical_address
from anabranch.testing.tree_strategies import CUTS, KEYS, changes, records

from .conftest import EMPTY, patient

FULL = 2
LONGEST = 12


def entry(key: bytes, noise: bytes) -> kernel.Value:
    """Returns the value of an object of which not much can be compressed."""
    digest = hashlib.sha256(key + noise).hexdigest()
    address = f"{'s3://other/' if digest[0] < '4' else ''}data/{digest * (len(key) % 5 * 5)}"
    metadata = {"b": "1", "a": "2"} if digest[1] < "4" else {}
    number = int(digest[:4], 16)
    return kernel.encode_entry(address, number % 3, 17, 0, number, digest, metadata, "")


def entries(chosen) -> list:
    """Returns records or changes of a strategy's with entries for their values."""
    return [(key, value and entry(key, value[0])) for key, value in chosen]


class Drawn(NamedTuple):
    """A layer, as a call of the kernel's and as its model."""

    tree: kernel.Tree
    held: dict[bytes, kernel.Value]
    prefix: bytes
    target: bytes
    single: bool
    namespace: str | None
    skipped: bytes | None

    def leaves_out(self, name: bytes) -> bool:
        return self.skipped is not None and name.endswith(self.skipped)

    @property
    def is_kept(self) -> bool:
        changed = self.single or self.prefix != self.target
        return not changed and self.namespace is None and self.skipped is None

    def layer(self) -> kernel.Layer:
        return kernel.Layer(
            self.tree,
            prefix=self.prefix,
            target=self.target,
            single=self.single,
            namespace=self.namespace,
            leave_out=None if self.skipped is None else self.leaves_out,
        )

    def moved(self, value: kernel.Value) -> kernel.Value:
        address, kind, *others = kernel.decode_entry(value[1])
        if self.namespace is None or kind == FULL:
            return value
        return kernel.encode_entry(physical_address(self.namespace, address, kind), FULL, *others)


@st.composite
def drawn_layers(draw: st.DrawFn, lake) -> list[Drawn]:
    layers = []
    for _ in range(draw(st.integers(0, 4))):
        first = dict(entries(draw(records()).items()))
        history = [entries(some) for some in draw(st.lists(changes(8), max_size=2))]
        tree, held = lake.commit(first, *history)
        prefix = draw(st.sampled_from([b"", b"a/", b"b", b"c/7", b"zz", CUTS[2], *KEYS[:3]]))
        target = draw(st.sampled_from([prefix, b"", b"a/", b"b/", b"a-long-one/"]))
        layers.append(
            Drawn(
                tree,
                held,
                prefix,
                target,
                draw(st.sampled_from([False, False, False, True])),
                draw(st.sampled_from([None, "s3://bucket/repository/"])),
                draw(st.sampled_from([None, None, None, b"0", b"x"])),
            )
        )
    return layers


def size_of(value: kernel.Value) -> int:
    return kernel.decode_entry(value[1])[4]


class Model:
    """Layers laid over each other in dictionaries."""

    def __init__(self, layers: list[Drawn], longest: int) -> None:
        self.counts = [
            dict.fromkeys(("found", "skipped", "shadowed", "invalid", "size", "shadowed_size"), 0)
            for _ in layers
        ]
        self.invalid_keys: list[list[bytes]] = [[] for _ in layers]
        self.shadowed_keys: list[list[bytes]] = [[] for _ in layers]
        laid: dict[bytes, tuple[kernel.Value, int]] = {}
        for number, layer in enumerate(layers):
            counts = self.counts[number]
            for key, value in sorted(layer.held.items()):
                name = key.removeprefix(layer.prefix)
                if not key.startswith(layer.prefix) or (layer.single and name):
                    continue
                new_key = layer.target + name
                if layer.leaves_out(name):
                    counts["skipped"] += 1
                elif not new_key or (len(new_key) > longest and not layer.is_kept):
                    counts["invalid"] += 1
                    self.invalid_keys[number].append(key)
                else:
                    counts["found"] += 1
                    counts["size"] += 0 if layer.is_kept else size_of(value)
                    if new_key in laid:
                        self._shadow(new_key, *laid[new_key])
                    laid[new_key] = layer.moved(value), number
        self.records = {key: value for key, (value, _) in sorted(laid.items())}

    def _shadow(self, key: bytes, value: kernel.Value, number: int) -> None:
        self.counts[number]["shadowed"] += 1
        self.counts[number]["shadowed_size"] += size_of(value)
        self.shadowed_keys[number].append(key)


@patient
@given(st.data())
def test_layers_are_those_of_dictionaries(lake, data):
    layers = data.draw(drawn_layers(lake))
    model = Model(layers, LONGEST)
    looks: list[int] = []
    written, counts = kernel.write_layers(
        [layer.layer() for layer in layers],
        str(lake.folder),
        longest_key=LONGEST,
        look=looks.append,
    )
    assert written.metarange_id == lake.write(model.records).metarange_id
    assert (written.count, written.added) == (len(model.records), len(model.records))
    for seen, expected in zip(counts, model.counts, strict=True):
        assert {name: getattr(seen, name) for name in expected} == expected
    assert [seen.invalid_keys for seen in counts] == [keys[:10] for keys in model.invalid_keys]
    assert [seen.shadowed_keys for seen in counts] == [
        sorted(keys)[:10] for keys in model.shadowed_keys
    ]
    assert sum(looks) == sum(counts["found"] for counts in model.counts)


def test_a_tree_that_is_taken_as_it_is_is_not_read(own_lake):
    tree = own_lake.write({key: entry(key, b"") for key in KEYS})
    for info in tree.ranges():
        (own_lake.folder / info.id).write_bytes(b"")
    kept = kernel.Layer(tree)
    written, _ = kernel.write_layers([kept], str(own_lake.folder))
    assert (written.metarange_id, written.tables) == (tree.metarange_id, [])


def test_tables_of_layers_that_are_not_kept_are_written(own_lake, tmp_path):
    """A repository gets what it needs, though the source has a table of the same name."""
    value = kernel.encode_entry("s3://b/a", FULL, 1, 0, 1, "e", {}, "")
    tree = own_lake.write({b"a": value})
    folder = tmp_path / "other"
    folder.mkdir()
    layer = kernel.Layer(tree, namespace="s3://c")
    written, _ = kernel.write_layers([layer], str(folder))
    assert written.metarange_id == tree.metarange_id
    assert {path.name for path in folder.iterdir()} == set(written.tables)


def test_an_error_of_who_looks_ends_the_work(own_lake):
    tree = own_lake.write({b"a": entry(b"a", b"")})

    def look(_: int) -> None:
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        kernel.write_layers([kernel.Layer(tree)], str(own_lake.folder), look=look)
    layer = kernel.Layer(tree, leave_out=lambda _: look(1))
    with pytest.raises(InterruptedError, match="enough"):
        kernel.write_layers([layer], str(own_lake.folder))


def test_what_is_no_entry_is_refused(own_lake):
    tree = own_lake.write({b"a": (b"i", b"\x00")})
    with pytest.raises(kernel.KernelError):
        kernel.write_layers([kernel.Layer(tree, namespace="s3://b")], str(own_lake.folder))


def test_no_layers_make_the_empty_tree(own_lake):
    written, counts = kernel.write_layers([], str(own_lake.folder))
    assert (written.metarange_id, written.count, counts) == (EMPTY, 0, [])
    with pytest.raises(ValueError, match="at least one byte"):
        kernel.write_layers([], str(own_lake.folder), longest_key=0)
