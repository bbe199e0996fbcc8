"""The page of a report: one HTML file without scripts and without external resources.

It has the content of the summary. Each number is in a `data` element, whose value is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from anabranch.pipelines.garbage.marking.missing import format_missing, format_needs
from anabranch.pipelines.garbage.reports.plots import Bar, bars, columns, escape, format_size
from anabranch.pipelines.garbage.reports.summary import Summary
from anabranch.pipelines.garbage.totals import ObjectTotals

__all__ = ["render_page"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --bar: #2a78a8; --line: #8885; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: .15rem .6rem; border-bottom: 1px solid var(--line) }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere }
svg { width: 100%; height: auto } svg rect { fill: var(--bar) }
svg text { font: 12px system-ui, sans-serif; fill: currentColor }
.note { opacity: .75 }
"""

_NO_BRANCH = "branches that are gone"
_NO_FOLDER = "in no folder"


def render_page(summary: Summary) -> bytes:
    """Returns the HTML page of a summary, in UTF-8."""
    title = f"Garbage of {summary.repository}"
    parts = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *_about(summary),
        *_missing(summary),
        *_section("How much", "", _amounts(summary), bars),
        *_section("By age", "By the month in which they were stored.", _months(summary), columns),
        *_section(
            "By branch",
            "What commits that are kept no longer name, by the branch that has left it behind.",
            _branches(summary),
            bars,
        ),
        *_section(
            "By folder",
            "The same by the first folder of the path; the largest are named.",
            _folders(summary),
            bars,
        ),
        "</body></html>\n",
    ]
    return "".join(parts).encode()


def _about(summary: Summary) -> Iterator[str]:
    rules = "no rules: every commit is kept"
    if summary.default_retention_days is not None:
        days = {"all others": summary.default_retention_days}
        named = {**dict(sorted(summary.branch_retention_days.items())), **days}
        rules = ", ".join(f"{name}: {number} days" for name, number in named.items())
    statistics = summary.found
    rows = [
        ("Storage namespace", summary.storage_namespace),
        ("Run", f"{summary.run_id}, {summary.state}, engine {summary.engine}"),
        ("Begun", _time(summary.started_at)),
        ("Rules", rules),
        ("Commits", f"{statistics.active_commits:,} of {statistics.commits:,} are active"),
        ("Left alone", f"{summary.young:,} young, {summary.unknown:,} unknown"),
        ("Uploads in parts", _uploads(summary)),
        ("More may be removed from", _time(summary.next_due_at) if summary.next_due_at else "—"),
        *([("Files of tables", _tables(summary))] if _tables(summary) else []),
        ("Candidates", summary.candidates_location),
        ("Missing", format_missing(summary.missing)),
    ]
    yield "<table>"
    for name, text in rows:
        yield f"<tr><th>{escape(name)}</th><td><bdi>{escape(text)}</bdi></td></tr>"
    yield "</table>"


def _tables(summary: Summary) -> str:
    """Returns what was found of files of tables, "" without any."""
    tables = summary.tables
    if not tables.collected:
        return f"not collected: {tables.reason}" if tables.reason else ""
    text = f"{tables.dead.objects:,} of {tables.files.objects:,} dead, {tables.young:,} young"
    kept = [f"; keeps {each.area or 'all areas'}: {each.reason}" for each in tables.kept_areas]
    return text + "".join(kept)


def _missing(summary: Summary) -> Iterator[str]:
    """Yields the references to missing objects, if there are any."""
    if not summary.missing.objects:
        return
    yield "<section><h2>Missing</h2>"
    yield (
        f'<p class="note">Referred to, and not in the store; '
        f"all references are in {escape(summary.missing.location)}.</p>"
    )
    yield "<table><tr><th>Object</th><th>Repository</th><th>Path</th><th>Needed by</th>"
    yield "<th>In quarantine of run</th></tr>"
    for reference in summary.missing.shown:
        run = summary.missing.quarantine.get(reference.address, "")
        texts = (
            reference.address,
            reference.repository,
            reference.path,
            format_needs(reference),
            run,
        )
        cells = "".join(f"<td><bdi>{escape(text)}</bdi></td>" for text in texts)
        yield f"<tr>{cells}</tr>"
    yield "</table></section>"


def _amounts(summary: Summary) -> Iterator[Bar]:
    yield Bar("listed", summary.listed)
    yield Bar("dead", summary.candidates)
    yield Bar("may be removed", summary.due)
    if summary.state == "swept":
        has_quarantine = summary.quarantine_seconds is not None
        yield Bar("removed", summary.swept)
        if has_quarantine:
            yield Bar("put into quarantine", summary.quarantined)
        if has_quarantine or summary.purged.objects:
            yield Bar("purged from quarantine", summary.purged)


def _months(summary: Summary) -> Iterator[Bar]:
    return (Bar(month, amount) for month, amount in sorted(summary.by_month.items()))


def _branches(summary: Summary) -> Iterator[Bar]:
    origins = summary.origins
    yield from _largest_first(origins.by_branch, _NO_BRANCH)
    yield Bar("never committed", origins.never_committed)
    if origins.not_traced.objects:
        yield Bar("not traced", origins.not_traced)


def _folders(summary: Summary) -> Iterator[Bar]:
    yield from _largest_first(summary.origins.by_folder, _NO_FOLDER)
    if summary.origins.other_folders.objects:
        yield Bar("other folders", summary.origins.other_folders)


def _largest_first(amounts: dict[str, ObjectTotals], nameless: str) -> Iterator[Bar]:
    for name in sorted(amounts, key=lambda name: (-amounts[name].bytes, name)):
        yield Bar(name or nameless, amounts[name])


def _section(
    title: str, note: str, items: Iterable[Bar], plot: Callable[[str, Sequence[Bar]], str]
) -> Iterator[str]:
    rows = list(items)
    yield f"<section><h2>{title}</h2>"
    if note:
        yield f'<p class="note">{note}</p>'
    if not rows:
        yield "<p>Nothing.</p>"
    else:
        yield plot(title, rows)
        yield from _table(rows)
    yield "</section>"


def _table(rows: Sequence[Bar]) -> Iterator[str]:
    yield "<table><tr><th></th><th>Objects</th><th>Size</th></tr>"
    for name, amount in rows:
        yield (
            f"<tr><td><bdi>{escape(name)}</bdi></td>"
            f'<td><data value="{amount.objects}">{amount.objects:,}</data></td>'
            f'<td><data value="{amount.bytes}">{format_size(amount.bytes)}</data></td></tr>'
        )
    yield "</table>"


def _uploads(summary: Summary) -> str:
    days = summary.uploads_seconds / 86_400
    text = f"{summary.old_uploads:,} began {days:g} days ago or earlier and have not ended"
    return f"{text}; {summary.ended_uploads:,} were ended" if summary.ended_uploads else text


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
