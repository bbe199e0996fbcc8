"""The process of a user-defined strategy: see `user_defined`."""

from __future__ import annotations

from importlib.metadata import entry_points

from anabranch.child_process.parent import Parent
from anabranch.errors import AnabranchError
from anabranch.versioning.strategies.called_conflict import CalledConflict, CalledOutput
from anabranch.versioning.strategies.contract import StrategyFactory

__all__ = ["main"]

_GROUP = "anabranch.merge_strategies"


def main() -> None:
    """Answers one request, and ends."""
    parent = Parent()
    request, _ = parent.receive()
    try:
        (point,) = entry_points(group=_GROUP, name=request["name"])
        factory: StrategyFactory = point.load()
        strategy = factory(request["options"])
        conflict = CalledConflict(
            parent,
            path=request["path"],
            repository=request["repository"],
            commits=request["commits"],
            work_folder=request["work_folder"],
        )
        output = CalledOutput(parent, request["work_folder"])
        conflicts = list(strategy.merge(conflict, output))
        parent.send({"conflicts": conflicts})
    except AnabranchError as error:
        parent.send({"error": error.message})
    except Exception as error:  # noqa: BLE001  whatever it is, it is the reason
        parent.send({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
