"""Applies that expect the same, made as one.

Sixteen writers of a branch expect the same of its record and write sixteen keys. One apply that
expects it once and makes all their writes is made or not made as each of them would be, one after
another: unless one writes what another expects, so those stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from anabranch.errors import AnabranchError, Invalid
from anabranch.keyvalue.contract import Expect, Write

__all__ = ["Apply", "Outcome", "apply_all", "made"]

Outcome: TypeAlias = bool | BaseException
"""Whether the writes were made, or why that is not so."""


class Apply(NamedTuple):
    """What `KeyValueStore.apply` is given."""

    writes: Sequence[Write]
    expect: Sequence[Expect]


def made(outcome: Outcome) -> bool:
    """Returns whether the writes were made, or raises why not."""
    if isinstance(outcome, bool):
        return outcome
    raise outcome


def apply_all(
    applies: Sequence[Apply], run: Callable[[Sequence[Apply]], Sequence[Outcome]]
) -> Sequence[Outcome]:
    """Returns the outcome of each apply. `run` makes some, merged ones among them; when one of
    these is refused for what it writes, those that it was made of are made by themselves.
    """
    if len(applies) == 1:
        return run(applies)
    groups = _groups(applies)
    outcomes: list[Outcome] = [False] * len(applies)
    for group, outcome in zip(
        groups, run([_merged(applies, group) for group in groups]), strict=True
    ):
        alone = isinstance(outcome, Invalid) and len(group) > 1
        for number in group:
            outcomes[number] = run([applies[number]])[0] if alone else _own(outcome)
    return outcomes


def _groups(applies: Sequence[Apply]) -> list[list[int]]:
    """Returns the numbers of the applies that can be one, for each such."""
    alike: dict[tuple[Expect, ...], list[int]] = {}
    groups: list[list[int]] = []
    for number, (writes, expect) in enumerate(applies):
        expected = {(partition, key) for partition, key, _ in expect}
        if expected.isdisjoint([(partition, key) for partition, key, _ in writes]):
            alike.setdefault(tuple(expect), []).append(number)
        else:
            groups.append([number])
    return [*alike.values(), *groups]


def _merged(applies: Sequence[Apply], group: Sequence[int]) -> Apply:
    if len(group) == 1:
        return applies[group[0]]
    writes = [write for number in group for write in applies[number].writes]
    return Apply(writes, applies[group[0]].expect)


def _own(outcome: Outcome) -> Outcome:
    """Returns an outcome for one of several whose it is: an error is raised by each."""
    if isinstance(outcome, AnabranchError):
        return type(outcome)(outcome.message, kind=outcome.kind, hint=outcome.hint)
    return outcome
