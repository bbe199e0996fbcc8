"""`merge`: merge a branch, tag or commit into a branch."""

from __future__ import annotations

from typing import Any

from anabranch.cli.commands.commits.merge_preview import conflict_lines, show_preview
from anabranch.cli.commands.commits.row_choices import chosen_resolutions, show_row_conflicts
from anabranch.cli.errors import Failure, Usage
from anabranch.cli.framework.address import address, ref_address, ref_or_name, same_repository
from anabranch.cli.framework.command import Argument, Command, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.metadata import META, pairs
from anabranch.model.uri import LakeUri

__all__ = [
    "COMMAND",
    "MERGE_OPTIONS",
    "SETTLING_OPTIONS",
    "merge_body",
    "merge_failure",
    "send_merge",
    "settling",
]

_CONFLICT = 409


def _merge(context: CommandContext) -> None:
    source: LakeUri = context.arguments.source
    destination = same_repository(source.repository, context.arguments.destination)
    path = ("repositories", source.repository, "refs", source.ref, "merge", destination)
    if context.arguments.rows:
        if not context.arguments.dry_run:
            raise Usage("--rows lists rows in conflict, and does not merge", hint="Add --dry-run.")
        show_row_conflicts(context, path, context.arguments.rows, context.arguments.key)
        return
    send_merge(context, "POST", path, merge_body(context), source=source, destination=destination)


def merge_body(context: CommandContext) -> dict[str, Any]:
    """Returns the body of a request to merge, from MERGE_OPTIONS."""
    options = context.arguments
    body: dict[str, Any] = {
        "metadata": pairs(options.meta),
        "allow_empty": options.allow_empty,
        "squash_merge": options.squash,
        "force": options.force,
    }
    if options.message:
        body["message"] = options.message
    body |= settling(context)
    if options.dry_run:
        body["dry_run"] = True
    return body


def settling(context: CommandContext) -> dict[str, Any]:
    """Returns how a request settles conflicts, from SETTLING_OPTIONS."""
    options = context.arguments
    body: dict[str, Any] = {}
    if options.strategy:
        body["strategy"] = options.strategy
    resolutions = chosen_resolutions(getattr(options, "choices", ()))
    resolutions += [
        {"path": pattern, "strategy": strategy} for pattern, strategy in options.resolve
    ]
    if resolutions:
        body["resolutions"] = resolutions
    return body


def _resolution(text: str) -> tuple[str, str]:
    pattern, separator, strategy = text.rpartition("=")
    if not separator or not pattern or not strategy:
        raise Usage(
            f"{text!r} is not PATTERN=STRATEGY", hint="Write it like --resolve 'tables/**=text'"
        )
    return pattern, strategy


def send_merge(
    context: CommandContext,
    method: str,
    path: tuple[str, ...],
    body: dict[str, Any],
    *,
    source: LakeUri,
    destination: str,
) -> None:
    """Sends a request to merge, or for a dry run, and prints the result. Raises Failure, with the
    paths that conflict.
    """
    try:
        result = context.connection.send(method, *path, body=body)
    except Failure as failure:
        conflict = merge_failure(context, source, destination, failure)
        if conflict is not None:
            raise conflict from failure
        if failure.kind == "no_changes":
            failure.hint = "Add --allow-empty to create a merge commit anyway."
        raise
    if "summary" in result:
        show_preview(context, result)
        return
    commit = context.output.paint(result["reference"], "id")
    context.output.done(
        f"Merged {address(source.repository, source.ref)} into "
        f"{address(source.repository, destination)} at {commit}",
        result,
    )


def merge_failure(
    context: CommandContext, source: LakeUri, destination: str, refused: Failure
) -> Failure | None:
    """Returns the failure that lists the conflicts of a refused merge, None if there are none."""
    if refused.status == _CONFLICT and _is_merge_result(refused.answer):
        return _conflict(context, source, destination, refused)
    return None


def _is_merge_result(answer: Any) -> bool:
    return isinstance(answer, dict) and "reference" in answer


def _conflict(
    context: CommandContext, source: LakeUri, destination: str, refused: Failure
) -> Failure:
    """Returns the failure that lists the conflicting paths. If the response does not name them,
    they are read from the diff of the two references.
    """
    paths = refused.answer.get("conflicts")
    if not isinstance(paths, list):
        parts = ("repositories", source.repository, "refs", destination, "diff", source.ref)
        changes = context.connection.pages(*parts, type="three_dot")
        paths = [change["path"] for change in changes if change["type"] == "conflict"]
    described = [conflict for conflict in paths if isinstance(conflict, dict)]
    if described:
        for conflict in described:
            context.output.note("\n".join(conflict_lines(conflict)))
        paths = [conflict["path"] for conflict in described]
    has_more = refused.answer.get("has_more") is True
    count = refused.answer.get("conflict_count", len(paths))
    number = f"{count} paths conflict" if count != 1 else "1 path conflicts"
    if has_more:
        # the response names no path if the caller may read none of the first conflicts
        number = f"more than {len(paths)} paths conflict" if paths else "some paths conflict"
    counted = " `--dry-run` counts the conflicts." if has_more else ""
    return Failure(
        f"both sides changed the same objects: {number}",
        kind="merge_conflict",
        hint="Choose a side with --strategy source-wins or dest-wins, or for single paths with "
        "--resolve PATTERN=STRATEGY, or make both sides equal. "
        f"`anabranch diff {address(source.repository, destination)} "
        f"{address(source.repository, source.ref)}` shows all changes.{counted}",
        where=refused.where,
        status=refused.status,
        paths=paths,
        has_more_paths=has_more,
    )


SETTLING_OPTIONS = (
    Option(
        "--strategy",
        "The side to take for objects that both changed",
        "SIDE",
        choices=("source-wins", "dest-wins"),
    ),
    Option(
        "--resolve",
        "How conflicts of paths are settled: source-wins, dest-wins, base, delete, rows, text, …",
        "PATTERN=STRATEGY",
        parse=_resolution,
        repeat=True,
    ),
)

MERGE_OPTIONS = (
    Option("-m, --message", "The message of the merge commit", "TEXT", default=""),
    META,
    *SETTLING_OPTIONS,
    Option(
        "--choices",
        "Choices for rows of tables that conflict: JSON, as --rows prints it with --json",
        "FILE",
        repeat=True,
    ),
    Option("--dry-run", "Print what would happen, and change nothing; exit with 1 for conflicts"),
    Option("--squash", "Make one commit without the source as a parent"),
    Option("--allow-empty", "Merge even if the source brings no changes"),
    Option("--force", "Merge into a read-only repository"),
)

COMMAND = Command(
    "merge",
    "Merge a branch, tag or commit into a branch",
    _merge,
    arguments=(
        Argument("SOURCE", "What to merge: lakefs://REPOSITORY/REF", parse=ref_address),
        Argument(
            "DESTINATION", "The branch to merge into, by address or bare name", parse=ref_or_name
        ),
    ),
    options=(
        *MERGE_OPTIONS,
        Option("--rows", "With --dry-run: print the rows in conflict of this table", "PATH"),
        Option("--key", "A column that identifies a row of --rows", "COLUMN", repeat=True),
    ),
    examples=(
        "merge lakefs://flights/fix-may lakefs://flights/main",
        "merge lakefs://flights/fix-may main --strategy source-wins -m 'Take the corrections'",
        "merge lakefs://flights/fix-may main --dry-run",
        "merge lakefs://flights/fix-may main --resolve 'docs/**=text' --resolve '**=source-wins'",
        "merge lakefs://flights/fix-may main --dry-run --rows tables/may.csv --json",
        "merge lakefs://flights/fix-may main --choices may.json",
    ),
)
