"""Range boundaries: turns the ranges that several tasks wrote into those of a single writer.

lakeFS ends a range after certain keys, which are selected by their hashes, and when the range is
too large. A task that begins in the middle of a range writes the correct boundaries from the first
such key on. Only the records up to that key are rewritten, together with the last range of the
previous task. Which ranges these are depends on their last keys alone, so all can be rewritten
concurrently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from anabranch import _kernel as kernel
from anabranch.spark.planning.partition_planning import Range, Ranges

__all__ = ["Rewrite", "join_ranges", "plan_runs"]

Rewrite = Callable[[Sequence[Ranges]], Iterable[Ranges]]
"""Returns for each run the ranges that a single writer would write for its records."""


def join_ranges(tasks: Iterable[Ranges], rewrite: Rewrite) -> list[Range]:
    """Returns the ranges of one tree, from the ranges of each task, in order."""
    runs = plan_runs(tasks)
    rewritten = iter(rewrite([run for run in runs if len(run) > 1]))
    return [each for run in runs for each in (next(rewritten) if len(run) > 1 else run)]


def plan_runs(tasks: Iterable[Ranges]) -> list[list[Range]]:
    """Returns the ranges of all tasks in runs. Each run of several ranges must be rewritten, and
    its records end where a range ends.
    """
    runs: list[list[Range]] = []
    is_open = False
    for written in tasks:
        for item in written:
            if is_open:
                runs[-1].append(item)
                is_open = not kernel.ends_range(item.max_key)
            else:
                runs.append([item])
        if runs and not is_open:
            is_open = not kernel.ends_range(runs[-1][-1].max_key)
    return runs
