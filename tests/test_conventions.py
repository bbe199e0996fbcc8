"""Conventions of the whole project: file sizes and names, no paths of a machine, valid links,
decoders that are made at import.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

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
        for path in tracked("src/*.py", "tests/*.py", "kernel/src/*.rs")
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


def test_links_between_documents_are_valid():
    link = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")
    broken = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in tracked("*.md")
        for target in link.findall(path.read_text(encoding="utf-8"))
        if not (path.parent / target).exists()
    ]
    assert broken == []


MAKE_DECODERS = ("src/anabranch/converter.py", "src/anabranch/rest/protocol/decoding.py")
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
            if ast.unparse(node) == "msgspec.convert" and not makes_decoders:
                yield node.lineno
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            has_type = len(node.args) > 1 or any(word.arg == "type" for word in node.keywords)
            late = id(node) in in_functions and not makes_decoders
            if (has_type and re.fullmatch(r"msgspec\.\w+\.decode", name)) or (
                late and re.fullmatch(r"Converter|msgspec\.\w+\.Decoder", name)
            ):
                yield node.lineno


def test_decoders_are_made_at_import():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in tracked("src/anabranch/*.py")
        for line in first_uses(
            ast.parse(path.read_text(encoding="utf-8")),
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
