"""The tables of docs/errors.md: classes of errors, and the kinds that the code raises.

Kinds are read from the source: what the classes declare, and what calls give as `kind=`: a text, a
constant, or a text with values in it, which the page shows as `…`. Statuses of HTTP and codes of S3
come from the tables that the gateways use.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import anabranch
from anabranch import errors
from anabranch.errors import AnabranchError
from anabranch.errors.hints import HINTS
from anabranch.rest.protocol.errors import status_for
from anabranch.s3.protocol.error_responses import error_code
from reference_pages.marked_tables import markdown_table

PACKAGE = Path(anabranch.__file__).parent

_CLASSES = ("Class", "Kind", "HTTP", "S3", "What it means")
_KINDS = ("Kind", "Class", "HTTP", "Hint")


def classes(base: type[AnabranchError] = AnabranchError) -> Iterator[type[AnabranchError]]:
    """Yields the public classes of errors, each base before its special cases."""
    yield base
    for cls in base.__subclasses__():
        if cls.__module__ == errors.__name__:
            yield from classes(cls)


@cache
def raised_kinds() -> dict[str, set[type[AnabranchError]]]:
    """Returns the kinds that calls in the package give, with the classes of the errors."""
    found: dict[str, set[type[AnabranchError]]] = defaultdict(set)
    # parsing the files that have neither a kind nor its constant would take most of the time
    sources = [path.read_bytes() for path in sorted(PACKAGE.rglob("*.py"))]
    relevant = re.compile(rb"\bkind=")
    trees = [ast.parse(source) for source in sources if relevant.search(source)]
    calls = [call for tree in trees for call in _calls(tree)]
    names = {value.id.encode() for _, value in calls if isinstance(value, ast.Name)}
    defined = re.compile(rb"^(?:%s) = [\"'].*$" % b"|".join(sorted(names)), re.MULTILINE)
    lines = [line for source in sources for line in defined.findall(source)]
    constants = dict(_constants(ast.parse(b"\n".join(lines))))
    for name, value in calls:
        if kind := _text(value, constants):
            found[kind].add(getattr(errors, name))
    return found


def tables(project: Path) -> dict[str, str]:  # noqa: ARG001  the errors are those of the code
    """Returns the tables by the names of their marks, in Markdown."""
    return {
        "classes": markdown_table(_CLASSES, _class_rows()),
        "kinds": markdown_table(_KINDS, _kind_rows()),
    }


def _class_rows() -> Iterator[tuple[str, ...]]:
    for cls in classes():
        error = _sample(cls, cls.kind)
        depth = "&nbsp;&nbsp;" * (len(cls.__mro__) - len(AnabranchError.__mro__))
        cells = [f"{depth}`{cls.__name__}`", f"`{cls.kind}`", str(int(status_for(error)))]
        yield *cells, f"`{error_code(error)}`", _meaning(cls)


def _kind_rows() -> Iterator[tuple[str, ...]]:
    for kind, found in sorted(raised_kinds().items()):
        ordered = sorted(found, key=lambda cls: cls.__name__)
        samples = [_sample(cls, kind) for cls in ordered]
        statuses = sorted({str(int(status_for(error))) for error in samples})
        hint = HINTS.get(kind) or next((error.hint for error in samples if error.hint), "")
        names = ", ".join(f"`{cls.__name__}`" for cls in ordered)
        yield f"`{kind}`", names, ", ".join(statuses), hint


def _calls(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yields the class and the kind of each call of a public class with a kind."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in errors.__all__:
            yield from ((name, word.value) for word in node.keywords if word.arg == "kind")


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yields the names and values of a module's constants that are texts."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                yield name, text


def _text(value: ast.expr, constants: dict[str, str]) -> str:
    """Returns the kind that an expression gives, or "" for one that passes on another's kind."""
    if isinstance(value, ast.JoinedStr):
        parts = value.values
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)
    if isinstance(value, ast.Name):
        return constants.get(value.id, "")
    return str(value.value) if isinstance(value, ast.Constant) else ""


def _sample(cls: type[AnabranchError], kind: str) -> AnabranchError:
    """Returns an error of a class as far as statuses and hints depend on it."""
    error = cls.__new__(cls)
    AnabranchError.__init__(error, "", kind=None if kind == cls.kind else kind)
    return error


def _meaning(cls: type[AnabranchError]) -> str:
    """Returns the first sentence of a class's docstring."""
    text = " ".join(inspect.cleandoc(cls.__doc__ or "").split())
    return re.split(r"(?<=\.) |; `kind` ", text)[0].rstrip(".").replace("|", "\\|")
