"""Bisection of a history: which commit to test next, as `git bisect` chooses it.

The candidates are the commits that the bad commit has in its history and no good commit has. The
commit to test is the one that halves them best: of N candidates, W of which are the commit itself
and its ancestors, the one with the largest min(W, N - W). A good commit removes itself and its
ancestors from the candidates; a bad one leaves only itself and its ancestors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

__all__ = ["Bisection"]


class Bisection(msgspec.Struct, frozen=True, kw_only=True):
    """A search in a repository. `parents` has the candidates with their parents, and `bad`, the
    earliest commit known to be bad, is one of them. `skipped` commits cannot be tested. `messages`
    has the first line of each candidate's message; `log` has the marks, in order.
    """

    repository: str
    bad: str
    parents: Mapping[str, Sequence[str]]
    messages: Mapping[str, str]
    skipped: frozenset[str] = frozenset()
    log: tuple[tuple[str, str], ...] = ()

    def mark(self, verdict: str, commit_id: str) -> Bisection:
        """Returns the search after a candidate was found to be `good`, `bad` or `skip`."""
        below = self._ancestors(commit_id)
        kept, bad, skipped = set(self.parents), self.bad, self.skipped
        if verdict == "good":
            kept -= below
        elif verdict == "bad":
            kept, bad = below, commit_id
        else:
            skipped |= {commit_id}
        return msgspec.structs.replace(
            self,
            bad=bad,
            parents={key: value for key, value in self.parents.items() if key in kept},
            messages={key: value for key, value in self.messages.items() if key in kept},
            skipped=frozenset(skipped & kept),
            log=(*self.log, (verdict, commit_id)),
        )

    @property
    def first_bad(self) -> Sequence[str]:
        """The candidates for the first bad commit if no other commit can be tested: one, or several
        if some were skipped; empty as long as there are commits to test.
        """
        if self.untested():
            return ()
        return [self.bad, *sorted(self.skipped - {self.bad})]

    def untested(self) -> list[str]:
        """Returns the candidates that can be tested."""
        return [key for key in self.parents if key != self.bad and key not in self.skipped]

    def next(self) -> str:
        """Returns the commit to test next. There must be one."""
        weights = self._weights()
        total = len(self.parents)
        return max(self.untested(), key=lambda key: min(weights[key], total - weights[key]))

    def _ancestors(self, commit_id: str) -> set[str]:
        """Returns a candidate and its ancestors among the candidates."""
        found, stack = {commit_id}, [commit_id]
        while stack:
            for parent in self.parents[stack.pop()]:
                if parent in self.parents and parent not in found:
                    found.add(parent)
                    stack.append(parent)
        return found

    def _weights(self) -> dict[str, int]:
        """Returns how many candidates are each candidate or its ancestors."""
        weights: dict[str, int] = {}
        for key in _parents_first(self.parents):
            parents = {parent for parent in self.parents[key] if parent in self.parents}
            if len(parents) > 1:
                weights[key] = len(self._ancestors(key))
            else:
                weights[key] = 1 + sum(weights[parent] for parent in parents)
        return weights


def _parents_first(parents: Mapping[str, Sequence[str]]) -> Iterable[str]:
    """Yields commits, each after its parents."""
    done: set[str] = set()
    for start in parents:
        stack = [start]
        while stack:
            key = stack[-1]
            waiting = [each for each in parents[key] if each in parents and each not in done]
            if waiting and key not in done:
                stack += waiting
                continue
            stack.pop()
            if key not in done:
                done.add(key)
                yield key
