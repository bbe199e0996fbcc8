"""`import`: bring objects of the store onto a branch without copying them, and wait for that."""

from __future__ import annotations

from typing import Any

from anabranch.cli.address import address, prefix_address
from anabranch.cli.call import Call
from anabranch.cli.command import Command, Option
from anabranch.cli.engines import MASTER, Chosen, announce, engine_option
from anabranch.cli.failure import Usage
from anabranch.cli.history import commit_details
from anabranch.cli.metadata import META
from anabranch.cli.summary import SUMMARY, summarised
from anabranch.model.uri import LakeUri

__all__ = ["COMMAND"]

_SOURCES = ("from", "listing", "inventory")


def _import(call: Call) -> None:
    given = call.arguments
    sources = [name for name in _SOURCES if given.__dict__[name]]
    if len(sources) != 1:
        raise Usage(
            "import takes one of --from, --listing and --inventory",
            hint="Objects by prefix, rows that name them, or an S3 Inventory.",
        )
    source = sources[0]
    if given.object and source != "from":
        raise Usage("--object is for --from alone")
    if given.prefix and source != "inventory":
        raise Usage("--prefix is for --inventory alone", hint="--from takes a prefix by itself.")
    chosen = _chosen(call, source)
    announce(call, chosen)
    with summarised(call, "import", chosen) as summary:
        told = _run(call, source, chosen.engine)
        summary.result = told["result"]
    if not summary.printed:
        _show(call, told)


def _chosen(call: Call, source: str) -> Chosen:
    """Returns the engine that was asked for, or the one that suits the source."""
    engine = call.arguments.engine
    if engine == "server" and source != "from":
        raise Usage(
            f"a server does not read what --{source} names",
            hint="--engine local does, beside the server or without one.",
        )
    if engine == "spark" and call.arguments.object:
        raise Usage("one object is nothing for Spark", hint="Choose another --engine.")
    if engine != "auto":
        return Chosen(engine, "as asked for")
    if source == "from":
        return Chosen("server", "which lists its store itself")
    from anabranch.cli.listed_import import engine_for  # noqa: PLC0415  slow to import

    return engine_for(call, source)


def _run(call: Call, source: str, engine: str) -> dict[str, Any]:
    if engine != "server":
        from anabranch.cli.listed_import import listed_import  # noqa: PLC0415  slow to import

        return listed_import(call, source, engine)
    from anabranch.cli.served_import import served_import  # noqa: PLC0415  so as above

    status = served_import(call)
    told = {
        "commit": status["commit"]["id"],
        "metarange_id": status["commit"]["meta_range_id"],
        "objects": status["ingested_objects"],
        "skipped": {},
        "shown": [],
    }
    return {"result": {**_place(call), **told}, "commit": status["commit"], "document": status}


def _place(call: Call) -> dict[str, str]:
    given = call.arguments
    to: LakeUri = given.to
    source = next(given.__dict__[name] for name in _SOURCES if given.__dict__[name])
    return {
        "repository": to.repository,
        "branch": to.ref,
        "source": source if isinstance(source, str) else " ".join(source),
        "destination": to.key,
    }


def _show(call: Call, told: dict[str, Any]) -> None:
    result = told["result"]
    to: LakeUri = call.arguments.to
    if not call.output.json:
        number = result["objects"]
        where = address(to.repository, to.ref, to.key)
        call.output.line(f"Imported {number} object{'' if number == 1 else 's'} to {where}")
        for reason, left in sorted(result["skipped"].items()):
            call.output.note(f"left out: {left} with {reason}")
    call.output.details(commit_details(told["commit"]), told["document"])


COMMAND = Command(
    "import",
    "Bring objects that lie in the store already onto a branch",
    _import,
    options=(
        Option(
            "--from",
            "Where they lie: all that begins so (a folder's address ends with a slash)",
            "ADDRESS",
        ),
        Option(
            "--listing",
            "A file or a folder of rows that name them: Parquet, ORC or CSV",
            "PLACE",
            repeat=True,
        ),
        Option("--inventory", "An S3 Inventory: its manifest.json, or its folder", "PLACE"),
        Option("--prefix", "Of an inventory, only the keys that begin so", "PREFIX", default=""),
        Option(
            "--to",
            "Where they come: lakefs://REPOSITORY/BRANCH, or a folder on it, which is replaced",
            "PLACE",
            parse=prefix_address,
            required=True,
        ),
        Option("--object", "Import a single object, to exactly this place"),
        Option("-m, --message", "The message of the commit", "TEXT", default=""),
        META,
        Option("--committer", "Who commits, where no server knows [default: you]", "NAME"),
        Option(
            "--unfit",
            "What becomes of rows that can be no objects",
            "HOW",
            choices=("fail", "skip"),
            default="fail",
        ),
        Option("--left-out", "Write all those rows to this file, Parquet or CSV", "FILE"),
        engine_option("server", "local", "spark"),
        MASTER,
        Option("--data", "The server's data folder, for local and spark", "DIR"),
        Option("--settings", "The server's settings, for local and spark", "FILE"),
        SUMMARY,
        Option("--no-progress", "Do not show how far it is"),
        Option("--force", "Import into a read-only repository"),
    ),
    details=(
        "Nothing is copied: the paths point to where the objects lie. What is under the place is "
        "replaced, by one commit. The engine server goes on in the server; Ctrl-C cancels it, and "
        "then the branch is as it was. The engines local and spark work with the server's own "
        "stores, by its settings, and need `pip install 'anabranch[local]'` or "
        "`'anabranch[spark]'`. Listings and inventories are for these; docs/listings.md says what "
        "they are."
    ),
    examples=(
        "import --from s3://archive/2024/ --to lakefs://flights/main/raw/2024 -m 'Bring in 2024'",
        "import --object --from local:///raw/airports.csv --to lakefs://flights/main/airports.csv",
        "import --listing objects.parquet --to lakefs://flights/main/raw --unfit skip",
        "import --inventory s3://kept/lake/all/2024-05-06T00-00Z/ --to lakefs://flights/main/raw",
    ),
)
