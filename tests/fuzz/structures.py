"""Mutations of structures: JSON, YAML and XML as one kind of tree.

A tree is a text, a number, a truth, None, a `list`, or `Members`: pairs of names and trees, in
which a name may occur twice. `Nested` is a tree within many others.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Members", "Nested", "Tree", "mutate_tree"]

Tree: TypeAlias = Any


class Members(list[tuple[str, Any]]):
    """The members of an object, or the children of an element."""


class Nested(NamedTuple):
    """A tree within `depth` lists, or objects of one member."""

    depth: int
    inner: Tree
    in_objects: bool


class _Place(NamedTuple):
    """A tree inside of another: of a list, or the value of a member."""

    holder: list[Any]
    at: int

    def get(self) -> Tree:
        value = self.holder[self.at]
        return value[1] if isinstance(self.holder, Members) else value

    def put(self, tree: Tree) -> None:
        if isinstance(self.holder, Members):
            self.holder[self.at] = (self.holder[self.at][0], tree)
        else:
            self.holder[self.at] = tree


def mutate_tree(source: random.Random, tree: Tree, words: Sequence[str]) -> Tree:
    """Returns a tree with one change; `words` may become texts and names."""
    root = [copy.deepcopy(tree)]
    places = list(_places(root))
    place = source.choice(places)
    value = place.get()
    match source.randrange(8):
        case 0 if len(places) > 1:
            inner = source.choice(places[1:])
            del inner.holder[inner.at]
        case 1:
            place.holder.insert(place.at, copy.deepcopy(place.holder[place.at]))
        case 2:
            other = source.choice(places)
            place.put(copy.deepcopy(other.get()))  # one of them may be inside of the other
            if not _contains(value, other.holder) and other.at < len(other.holder):
                other.put(value)
        case 3:
            depth = source.choice((1, 2, 15, 16, 17, 50, 100, 1000, 20_000))
            place.put(Nested(depth, value, source.random() < 0.5))
        case 4:
            place.holder.extend(
                [copy.deepcopy(place.holder[place.at])] * source.choice((2, 20, 200))
            )
        case 5 if isinstance(place.holder, Members):
            name, _ = place.holder[place.at]
            named = [each.holder[each.at][0] for each in places if isinstance(each.holder, Members)]
            other_name = source.choice([*named, source.choice(words), name + "s", name.upper()])
            place.holder[place.at] = (other_name, value)
        case 6 if isinstance(value, str):
            place.put(_other_text(source, value, words))
        case _:
            place.put(_any_value(source, words))
    return root[0] if root else None


def _places(holder: list[Any]) -> Iterator[_Place]:
    for at in range(len(holder)):
        place = _Place(holder, at)
        yield place
        value = place.get()
        if isinstance(value, list):
            yield from _places(value)


def _contains(tree: Tree, holder: list[Any]) -> bool:
    if tree is holder:
        return True
    values = [each[1] for each in tree] if isinstance(tree, Members) else tree
    return isinstance(tree, list) and any(_contains(each, holder) for each in values)


def _other_text(source: random.Random, text: str, words: Sequence[str]) -> str:
    at, word = source.randrange(len(text) + 1), source.choice(words)
    return source.choice(
        (text[:at], text[at:], text[:at] + word + text[at:], word, text * 3, text.swapcase(), "")
    )


def _any_value(source: random.Random, words: Sequence[str]) -> Tree:
    return source.choice(
        (
            *(None, True, False, 0, -1, 1, 2.5, -0.0, 2**31, 2**53 + 1, 2**63, -(2**63), 2**64),
            *(10**400, float("nan"), float("inf"), 1e308, 5e-324),
            *("", "\ud800", "\udfff\ud800", "\0", "\x7f", "é", "\u2028", "a" * 5000, "..", "/"),
            *([], Members(), [None], Members([("", "")]), Members([("a", 1), ("a", 2)])),
            *(source.choice(words), [source.choice(words)], source.randrange(-200, 200)),
        )
    )
