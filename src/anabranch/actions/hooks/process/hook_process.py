"""The process of one run of a hook: see `isolated`."""

from __future__ import annotations

import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from typing import Any, TextIO, cast

from anabranch.actions.hooks.contract import HookContext, HookEvent, HookFactory, HookSettings
from anabranch.actions.hooks.process.remote_lake import RemoteLake, SentOutput
from anabranch.child_process.limits import Limits
from anabranch.child_process.parent import Parent
from anabranch.converter import Converter
from anabranch.errors import AnabranchError
from anabranch.errors.dependency_errors import reason_of
from anabranch.model.commits.commit import Commit

__all__ = ["main"]

_TO_COMMIT = Converter(Commit)

_TO_SETTINGS = Converter(HookSettings)

_TO_EVENT = Converter(HookEvent)

_TO_LIMITS = Converter(Limits)


def main() -> None:
    """Runs one hook, and ends. What it prints is its output."""
    parent = Parent()
    request, _ = parent.receive()
    deadline = time.monotonic() + request["seconds"]
    _TO_LIMITS.convert(request["limits"]).apply()
    output = SentOutput(parent, request["output_bytes"])
    answer: dict[str, Any] = {"done": True}
    stream = cast(TextIO, output)
    with redirect_stdout(stream), redirect_stderr(stream):
        try:
            module, _, name = request["factory"].partition(":")
            factory: HookFactory = getattr(import_module(module), name)
            hook = factory(request["properties"])
            hook.run(_context(request["context"], deadline, RemoteLake(parent), output))
        except AnabranchError as error:
            answer = {"failed": error.message, "hint": error.hint}
        except MemoryError:
            answer = {"failed": "it needs more memory than hooks may use"}
        except Exception as error:  # noqa: BLE001  whatever it is, it is the reason
            answer = {"failed": f"{type(error).__name__}: {reason_of(error)}"}
    parent.send(answer)
    sys.stderr.flush()


def _context(
    about: dict[str, Any], deadline: float, lake: RemoteLake, output: SentOutput
) -> HookContext:
    commit = about["commit"]
    return HookContext(
        **{
            **about,
            "event": _TO_EVENT.convert(about["event"]),
            "settings": _TO_SETTINGS.convert(about["settings"]),
            "commit": None if commit is None else _TO_COMMIT.convert(commit),
        },
        lake=lake,
        code=None,
        output=output,
        deadline=deadline,
    )


if __name__ == "__main__":
    main()
