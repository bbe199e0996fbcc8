"""Merges applies that have equal expectations into one.

Sixteen writers of a branch expect the same value of its record and write sixteen keys. One apply
with that expectation and all their writes has the result that the sixteen have one after another,
provided that none writes a key that another expects; such applies are not merged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from anabranch.errors import AnabranchError, Invalid
from anabranch.keyvalue.contract import Expect, Write

__all__ = ["Apply", "ApplyResult", "apply_all", "unwrap"]

ApplyResult: TypeAlias = bool | BaseException
"""Whether the writes were made, or the error that prevented them."""


class Apply(NamedTuple):
    """The arguments of a `KeyValueStore.apply`, and whether it is durable when it returns."""

    writes: Sequence[Write]
    expect: Sequence[Expect]
    durable: bool = True


def unwrap(result: ApplyResult) -> bool:
    """Returns whether the writes were made, or raises the error."""
    if isinstance(result, bool):
        return result
    raise result


def apply_all(
    applies: Sequence[Apply], run: Callable[[Sequence[Apply]], Sequence[ApplyResult]]
) -> Sequence[ApplyResult]:
    """Returns the result of each apply. `run` performs applies, merged or not; when it rejects a
    merged one as invalid, its members are performed one by one.
    """
    if len(applies) == 1:
        return run(applies)
    groups = _groups(applies)
    results: list[ApplyResult] = [False] * len(applies)
    for group, result in zip(
        groups, run([_merge(applies, group) for group in groups]), strict=True
    ):
        split = isinstance(result, Invalid) and len(group) > 1
        for number in group:
            results[number] = run([applies[number]])[0] if split else _copy_error(result)
    return results


def _groups(applies: Sequence[Apply]) -> list[list[int]]:
    """Returns groups of applies that can be merged, each as indexes into `applies`."""
    mergeable: dict[tuple[Expect, ...], list[int]] = {}
    groups: list[list[int]] = []
    for number, (writes, expect, _) in enumerate(applies):
        expected = {(partition, key) for partition, key, _ in expect}
        if expected.isdisjoint([(partition, key) for partition, key, _ in writes]):
            mergeable.setdefault(tuple(expect), []).append(number)
        else:
            groups.append([number])
    return [*mergeable.values(), *groups]


def _merge(applies: Sequence[Apply], group: Sequence[int]) -> Apply:
    if len(group) == 1:
        return applies[group[0]]
    writes = [write for number in group for write in applies[number].writes]
    durable = any(applies[number].durable for number in group)
    return Apply(writes, applies[group[0]].expect, durable)


def _copy_error(result: ApplyResult) -> ApplyResult:
    """Returns the result, an error as a copy: several threads raise it, and raising changes it."""
    if isinstance(result, AnabranchError):
        return type(result)(result.message, kind=result.kind, hint=result.hint)
    return result
