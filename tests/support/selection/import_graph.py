"""Which files import which: from a changed file to the files of tests that reach it.

Imports are read as text, in under a second for the whole project and without a cache. Three
kinds of imports that a parser does not see are edges, too: modules that are named in strings, as
those that run as processes are; modules that a registry imports by name; and fixtures.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping

from support.selection.fixtures import fixture_edges
from support.selection.source_files import Project, imported_names

__all__ = ["distances", "importers"]

_DOTTED = re.compile(r"""["'](\w+(?:\.\w+)+)[:"']""")
_PROCESS = re.compile(r"""["']-m["'],\s*["']([\w.]+)["']""")
_REGISTRY = "import_module("


def importers(project: Project) -> dict[str, set[str]]:
    """Returns, for each path and fixture, those that import it directly."""
    found: dict[str, set[str]] = defaultdict(set)
    names = project.names()
    for path in project.texts:
        for target in _targets(project, path, names[path]):
            found[target].add(path)
    for target, origin in fixture_edges(project):
        found[target].add(origin)
    for target, origin in _registered(project, found):
        found[target].add(origin)
    for paths in found.values():
        paths.discard("")
    return found


def _targets(project: Project, path: str, name: str) -> Iterator[str]:
    package = name if path.endswith("__init__.py") else _parent(name)
    text = project.texts[path]
    # `monkeypatch.setattr("anabranch.store.get", …)` names what is in a module
    strings = {name for dotted in _DOTTED.findall(text) for name in (dotted, _parent(dotted))}
    processes = {f"{name}.__main__" for name in (*strings, *_PROCESS.findall(text))}
    for wanted in {*imported_names(text, package), *strings, *processes}:
        target = project.modules.get(wanted)
        if target is not None and target != path:
            yield target


def _parent(name: str) -> str:
    return name.rpartition(".")[0]


def _registered(project: Project, found: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Modules that no module imports are imported by the nearest registry above them."""
    registries = {
        path.rpartition("/")[0]: path
        for path, text in project.texts.items()
        if path.startswith("src/") and _REGISTRY in text
    }
    for path in project.texts:
        sources = [origin for origin in found.get(path, ()) if origin.startswith("src/")]
        if not path.startswith("src/") or path.endswith("__init__.py") or sources:
            continue
        folder = path.rpartition("/")[0]
        while folder:
            if (registry := registries.get(folder)) and registry != path:
                yield path, registry
                break
            folder = folder.rpartition("/")[0]


def distances(changed: Iterable[str], graph: Mapping[str, set[str]]) -> dict[str, int]:
    """Returns the number of imports from each file that reaches a changed one to the nearest."""
    reached = dict.fromkeys(changed, 0)
    queue = deque(reached)
    while queue:
        current = queue.popleft()
        for importer in graph.get(current, ()):
            if importer not in reached:
                reached[importer] = reached[current] + 1
                queue.append(importer)
    return reached
