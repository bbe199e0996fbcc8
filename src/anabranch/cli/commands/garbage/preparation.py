"""`gc prepare-async` and `gc check-async`: the lists of commits that lakeFS's collector reads."""

from __future__ import annotations

from anabranch.cli.commands.garbage.rules import REPOSITORY
from anabranch.cli.errors import Failure
from anabranch.cli.framework.command import Argument, Command
from anabranch.cli.framework.context import CommandContext

__all__ = ["PREPARATION"]


def _prepare(context: CommandContext) -> None:
    """Starts the preparation, and prints the task's id."""
    repository = context.arguments.repository.repository
    task = context.connection.send("POST", *_segments(repository), "async")
    context.output.done(task["id"], task)


def _check(context: CommandContext) -> None:
    """Shows the state of a preparation."""
    repository = context.arguments.repository.repository
    status = context.connection.get(*_segments(repository), "status", id=context.arguments.task)
    if status.get("error"):
        message = (
            status["error"]["message"] if isinstance(status["error"], dict) else status["error"]
        )
        raise Failure(f"the preparation failed: {message}", kind="preparation_failed")
    result = status.get("result") or {}
    details = [
        ("Task", status["task_id"], "id"),
        ("Completed", "yes" if status["completed"] else "no", ""),
        ("Updated", status["update_time"], ""),
        ("Run", result.get("run_id", ""), ""),
        ("Commits", result.get("gc_commits_location", ""), ""),
        ("Addresses", result.get("gc_addresses_location", ""), ""),
    ]
    context.output.details([each for each in details if each[1]], status)


def _segments(repository: str) -> tuple[str, ...]:
    return ("repositories", repository, "gc", "prepare_commits")


PREPARATION = (
    Command(
        "prepare-async",
        "Begin to write the list of commits that lakeFS's own collector reads",
        _prepare,
        arguments=(REPOSITORY,),
        details="Prints the id of the task. The repository needs retention rules "
        "(`gc set-config`). `gc` itself does not need it.",
        examples=("gc prepare-async lakefs://flights",),
    ),
    Command(
        "check-async",
        "Show whether that list is complete, and where it is",
        _check,
        arguments=(REPOSITORY, Argument("TASK", "The id that `gc prepare-async` has printed")),
        examples=("gc check-async lakefs://flights GPBMhT3HQ2vQ",),
    ),
)
