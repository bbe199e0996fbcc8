"""Which files of tests use which fixtures of a conftest, and which modules these fixtures use.

A conftest imports much, and all tests below it have it; yet a test depends on a module only through
the fixtures that it names. So fixtures are nodes of the graph, and conftests are not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from support.selection.source_files import Project

__all__ = ["fixture_edges"]

_PARAMETERS = re.compile(r"def \w+\(([^)]*)\)")
_NAMED = re.compile(r"(?:usefixtures|getfixturevalue)\(([^)]*)\)")
_WORD = re.compile(r"\w+")
_FIXTURE = re.compile(r"\bfixture\b")


class _Fixture(NamedTuple):
    node: str
    folder: str
    name: str
    uses: frozenset[str]
    automatic: bool


def fixture_edges(project: Project) -> Iterator[tuple[str, str]]:
    """Yields pairs of a file or fixture, and the fixture or file of tests that uses it."""
    fixtures = [found for path in project.texts for found in _declared(project, path)]
    by_name: dict[str, list[_Fixture]] = {}
    for fixture in fixtures:
        by_name.setdefault(fixture.name, []).append(fixture)
    for fixture in fixtures:
        for name in fixture.uses:
            if name in project.modules:
                yield project.modules[name], fixture.node
            for other in by_name.get(name, ()):
                if other is not fixture and _is_visible(other, fixture.folder):
                    yield other.node, fixture.node
    automatic = [fixture for fixture in fixtures if fixture.automatic]
    for path in project.test_files():
        named = [one for word in _wanted(project.texts[path]) for one in by_name.get(word, ())]
        for fixture in (*named, *automatic):
            if _is_visible(fixture, str(PurePosixPath(path).parent)):
                yield fixture.node, path


def _is_visible(fixture: _Fixture, folder: str) -> bool:
    return f"{folder}/".startswith(f"{fixture.folder}/")


def _wanted(text: str) -> set[str]:
    spans = (*_PARAMETERS.findall(text), *_NAMED.findall(text))
    return {word for span in spans for word in _WORD.findall(span)}


def _declared(project: Project, path: str) -> Iterator[_Fixture]:
    """The fixtures of a conftest, or of a module that declares some for conftests to import."""
    text = project.texts[path]
    is_conftest = PurePosixPath(path).name == "conftest.py"
    if not path.startswith("tests/") or not _FIXTURE.search(text):
        return
    if not is_conftest and not path.startswith("tests/support/"):
        return
    folder = str(PurePosixPath(path).parent) if is_conftest else "tests"
    tree = ast.parse(text)
    imported = _imported(tree, project)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for function in functions.values():
        for decorator in function.decorator_list:
            if not _FIXTURE.search(ast.unparse(decorator)):
                continue
            options = _options(decorator)
            name = str(options.get("name", function.name))
            uses = frozenset(_used(function, functions, imported))
            automatic = bool(options.get("autouse"))
            yield _Fixture(f"{path}::{name}", folder, name, uses, automatic)


def _options(decorator: ast.expr) -> dict[str, object]:
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    return {
        word.arg: word.value.value
        for word in keywords
        if word.arg and isinstance(word.value, ast.Constant)
    }


def _imported(tree: ast.AST, project: Project) -> dict[str, set[str]]:
    """Returns the modules of the project that each imported name stands for."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names = {node.module, f"{node.module}.{alias.name}"} & project.modules.keys()
                found.setdefault(alias.asname or alias.name, set()).update(names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                names = {alias.name} & project.modules.keys()
                found.setdefault(alias.asname or alias.name.split(".")[0], set()).update(names)
    return found


def _used(
    function: ast.FunctionDef,
    functions: dict[str, ast.FunctionDef],
    imported: dict[str, set[str]],
) -> set[str]:
    """Returns modules and parameters that a function uses, also through functions beside it."""
    seen, waiting, found = {function.name}, [function], set[str]()
    while waiting:
        current = waiting.pop()
        parameters = {argument.arg for argument in current.args.args}
        found |= parameters
        words = {node.id for node in ast.walk(current) if isinstance(node, ast.Name)} - parameters
        for word in words:
            found |= imported.get(word, set())
        # `getfixturevalue` may have a name, or an f-string that ends like some
        endings = {
            node.value
            for node in ast.walk(current)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        named = {
            name for name in functions if name in words or name.endswith(tuple(endings - {""}))
        }
        for name in named - seen:
            seen.add(name)
            waiting.append(functions[name])
    return found
