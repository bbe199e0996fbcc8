"""Conventions of the whole project: file sizes and names, no paths of a machine, valid links,
decoders that are made at import, errors with hints.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from anabranch import errors
from anabranch.errors.hints import HINTS

ROOT = Path(__file__).parent.parent
MAX_LINES = 400
MAX_MODULES = 22
GENERATED = ("_pb2.py", "_pb2.pyi")


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).exists()]


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def syntax_tree(path: Path) -> ast.Module:
    """Returns the tree of a file. Parsing takes long: files that cannot matter are left out."""
    return ast.parse(text_of(path))


def sources() -> list[Path]:
    return [
        path
        for path in tracked(
            "*.py", "*.pyi", "*.rs", "*.go", "*.ts", "*.js", "*.mjs", "*.svelte", "*.css"
        )
        if not path.name.endswith(GENERATED)
    ]


def test_sources_are_found():
    assert len(sources()) > 50


def test_source_files_have_at_most_400_lines():
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in sources()
    }
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_packages_have_at_most_22_modules():
    sizes = Counter(
        str(path.parent.relative_to(ROOT))
        for path in tracked("src/*.py", "tests/*.py", "kernel/*.rs")
        if path.name not in {"__init__.py", "conftest.py"}
    )
    assert {name: size for name, size in sizes.items() if size > MAX_MODULES} == {}


def test_module_names_name_a_concept():
    nameless = re.compile(r"(utils?|helpers?|manager|common|misc)\.(py|rs|ts|svelte)$")
    assert [path.name for path in sources() if nameless.search(path.name)] == []


def test_no_file_names_a_registry_or_this_machine():
    # joined from parts, so that this file does not match itself
    index, links, resolved = (
        "--(extra-)?index" + "-url",
        "--find" + "-links",
        '"resolved": *"' + "http",
    )
    machine = "/(wor" + "k|roo" + "t)/[A-Za-z0-9_.]"
    pattern = re.compile(f"{index}|{links}|{resolved}|{machine}".encode())
    found = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.is_file() and pattern.search(path.read_bytes())
    ]
    assert found == []


def test_links_between_documents_lead_to_files_and_headings():
    assert [link for page in tracked("*.md") for link in broken_links(page)] == []


def broken_links(page: Path) -> Iterator[str]:
    """Yields the links of a page into the checkout whose file, or whose heading, is not there.
    Links to folders are among them: the site has no page for a folder.
    """
    for link in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", outside_fences(page)):
        target, _, anchor = link.partition("#")
        file = page.parent / target if target else page
        is_heading = not anchor or (file.suffix == ".md" and anchor in anchors(file))
        if not (file.is_file() and is_heading):
            yield f"{page.relative_to(ROOT)}: {link}"


def anchors(page: Path) -> set[str]:
    """Returns the anchors of a page's headings, as forges make them."""
    headings = re.findall(r"^#+ (.+)$", outside_fences(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


@cache
def outside_fences(page: Path) -> str:
    """Returns the text of a page without its blocks of code."""
    fenced = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
    return fenced.sub("", page.read_text(encoding="utf-8"))


MAKE_DECODERS = (
    "src/anabranch/converter.py",
    "src/anabranch/mcp/tool.py",
    "src/anabranch/rest/protocol/decoding.py",
)
"""The files whose classes make decoders when they are made themselves, at import."""


def first_uses(tree: ast.AST, *, makes_decoders: bool = False) -> Iterator[int]:
    """Yields the lines that let msgspec read the fields of a type after the import, which is not
    safe in threads: `msgspec.convert`, `decode` with a type, decoders made in functions.
    """
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    bodies = [each for each in ast.walk(tree) if isinstance(each, functions)]
    in_functions = {id(inner) for each in bodies for inner in ast.walk(each)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "msgspec":
            if {name.name for name in node.names} & {"convert", "decode", "json", "Decoder"}:
                yield node.lineno
        elif isinstance(node, ast.Attribute):
            # unparsing each of a million nodes would take seconds
            is_convert = node.attr == "convert" and ast.unparse(node) == "msgspec.convert"
            if is_convert and not makes_decoders:
                yield node.lineno
        elif isinstance(node, ast.Call):
            last = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if last not in {"decode", "Decoder", "Converter"}:
                continue
            name = ast.unparse(node.func)
            has_type = len(node.args) > 1 or any(word.arg == "type" for word in node.keywords)
            late = id(node) in in_functions and not makes_decoders
            if (has_type and re.fullmatch(r"msgspec\.\w+\.decode", name)) or (
                late and re.fullmatch(r"Converter|msgspec\.\w+\.Decoder", name)
            ):
                yield node.lineno


def test_decoders_are_made_at_import():
    # to parse all files that use msgspec takes seconds
    uses = re.compile(
        r"\bmsgspec\.(convert\b|\w+\.(decode|Decoder)\b)|\bConverter\b|from msgspec\b"
    )
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in tracked("src/anabranch/*.py")
        if uses.search(text_of(path))
        for line in first_uses(
            syntax_tree(path),
            makes_decoders=str(path.relative_to(ROOT)) in MAKE_DECODERS,
        )
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "msgspec.convert(a, B)",
        "use(msgspec.convert)",
        "msgspec.json.decode(a, type=B)",
        "msgspec.yaml.decode(a, type=B)",
        "from msgspec.json import decode",
        "from msgspec import json",
        "def f():\n    return msgspec.json.Decoder(B)",
        "f = lambda: Converter(B)",
    ],
)
def test_a_first_use_after_the_import_is_found(text):
    assert list(first_uses(ast.parse(text)))


def test_decoders_at_import_and_decoding_without_a_type_are_allowed():
    text = "d = msgspec.json.Decoder(B)\nd.decode(a)\nc = Converter(B)\nmsgspec.json.decode(a)"
    assert not list(first_uses(ast.parse(text)))


NO_HINT_NEEDED = {
    "AnabranchError",  # what a client or a job reports, as another process has worded it
    "Invalid",  # most messages name the value that is refused, and those that are allowed
}
NOTHING_TO_DO = {
    "already_carried_out",  # another response takes its place
    "client_gone",
    "default_branch_undeletable",
    "job_not_started",  # another error takes its place
    "not_implemented",
}
"""Kinds of errors about which a person can do nothing."""


def without_hint(tree: ast.AST) -> Iterator[str]:
    """Yields the errors that are made without a hint, by line: they have none of their own, and
    neither their kind nor their class has one.
    """
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        name = node.func.id
        cls = getattr(errors, name, None) if name in errors.__all__ else None
        words = {word.arg: word.value for word in node.keywords}
        if cls is None or cls.hint or name in NO_HINT_NEEDED or {"hint", None} & words.keys():
            continue
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            continue  # versioning.merging has a class Conflict of its own
        kind = words.get("kind")
        if not (isinstance(kind, ast.Constant) and kind.value in HINTS.keys() | NOTHING_TO_DO):
            yield f"{node.lineno}: {name}"


def test_errors_have_hints():
    found = [
        f"{path.relative_to(ROOT)}:{error}"
        for path in tracked("src/anabranch/*.py")
        if "anabranch.errors" in text_of(path) or "import errors" in text_of(path)
        for error in without_hint(syntax_tree(path))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("NotFound('no branch')", ["1: NotFound"]),
        ("raise Denied('no', kind='denied') from error", ["1: Denied"]),
        ("NotFound('no branch', kind='branch_not_found')", []),
        ("NotFound('no branch', hint='List them.')", []),
        ("Busy('wait')", []),
        ("Invalid('a name has a letter')", []),
    ],
)
def test_an_error_without_a_hint_is_found(text, missing):
    assert list(without_hint(ast.parse(text))) == missing


def test_hints_are_sentences_for_kinds_that_exist():
    raised = "".join(path.read_text(encoding="utf-8") for path in tracked("src/anabranch/*.py"))
    assert [kind for kind in HINTS if f'kind="{kind}"' not in raised] == []
    assert [hint for hint in HINTS.values() if not re.fullmatch(r"[A-Z`/].*[.?]", hint)] == []
