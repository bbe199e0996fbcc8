"""Twenty tasks that a program completes with nothing but what the server says about its tools.

The program knows a task in words, and facts by name. Of the tools whose required arguments are
facts, it chooses the one whose name, title and description share the most telling words with the
task, fills in the arguments of its schema that are facts, and keeps what results say as further
facts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import jsonschema
import pytest

import anabranch
from anabranch.testing.server import running_server


class Task(NamedTuple):
    """A task: `adds` are facts that it comes with, `learns` those that its result has, by the names
    that they get; `shown` is what the result must contain.
    """

    words: str
    shown: str
    adds: Mapping[str, Any] = MappingProxyType({})
    learns: Mapping[str, str] = MappingProxyType({})


SQL = "SELECT place FROM 'lakefs://sea/main/tables/depth.csv' WHERE metres > 10900"
TASKS = (
    Task("Which repositories are in the lake?", '"sea"'),
    Task("List the branches.", '"fix"'),
    Task("Which tags are there? List them.", '"v1"', {"kind": "tags"}),
    Task("List the objects and folders at the top of main.", '"tables/"'),
    Task("List the paths below tables.", "depth.csv", {"prefix": "tables/", "recursive": True}),
    Task("Read the bytes of the object with notes.", "by sonar", {"path": "notes.txt"}),
    Task(
        "Show the columns, their types and the first rows of the CSV file.",
        '"metres"',
        {"path": "tables/depth.csv"},
    ),
    Task("Run a query in SQL: which places are deep?", '[["Mariana"]]', {"sql": SQL}),
    Task(
        "Which objects were added, changed or removed on fix since it left main?",
        '"change":"changed"',
        {"left": "main", "right": "fix"},
    ),
    Task("Which rows of the table differ between main and fix?", "10920"),
    Task(
        "List the commits of fix, with messages and committers.",
        "Measured again",
        {"reference": "fix", "path": "tables/depth.csv"},
    ),
    Task("What was the last commit that changed each object?", "Measured again"),
    Task("Which operations have changed branches, and who made them?", '"before"'),
    Task("List the runs of checks.", '"results"'),
    Task(
        "Create a workspace, in which tables can be changed.",
        '"source":"main"',
        {"writable": ["tables/**"], "purpose": "correct a depth", "reference": "main"},
        {"workspace": "id"},
    ),
    Task(
        "Write the whole new object.",
        '"size_bytes"',
        {"path": "tables/depth.csv", "content": "place,metres\nMariana,10925\n"},
    ),
    Task("Write another object.", '"size_bytes"', {"path": "tables/draft", "content": "?"}),
    Task("Delete the object that was a draft.", '"deleted":true'),
    Task(
        "Which objects were added, changed or removed in the workspace since it left main?",
        '"tables/depth.csv"',
        {"left": "main"},
    ),
    Task(
        "Commit what the workspace has written, under a label.",
        '"commit_id"',
        {"label": "corrected"},
    ),
    Task(
        "Move the workspace back to its checkpoint; what was written since is dropped.",
        '"label":"corrected"',
        {"checkpoint": "corrected"},
    ),
    Task(
        "Open a pull request of the workspace, which people decide on.",
        '"pull_request"',
        {"title": "Correct the depth"},
        {"id": "pull_request"},
    ),
    Task("Show the pull request with its reviews and comments.", "Correct the depth"),
    Task("Delete the workspace with all that it has written.", '"discarded":true'),
)


class Program:
    """Completes tasks by the tools of a session."""

    def __init__(self, session, facts):
        self._session = session
        self._tools = session.ask("list_tools").tools
        self._words = {tool.name: words(told(tool)) for tool in self._tools}
        self._facts = dict(facts)

    def complete(self, task):
        """Returns the name of the tool that it has chosen, and what that has returned."""
        self._facts |= task.adds
        asked = words(task.words)
        possible = [each for each in self._tools if self._can_fill(each)]
        tool = max(possible, key=lambda each: self._score(each, asked))
        properties = tool.input_schema["properties"]
        arguments = {name: self._facts[name] for name in properties if name in self._facts}
        jsonschema.validate(arguments, tool.input_schema)
        called = self._session.call(tool.name, **arguments)
        for fact, field in task.learns.items():
            self._facts[fact] = called.data[field]
            if fact == "workspace":
                self._facts["right"] = f"{called.data[field]}$"
        return tool.name, called

    def _can_fill(self, tool):
        return self._facts.keys() >= set(tool.input_schema.get("required", ()))

    def _score(self, tool, asked):
        all_words, title = self._words[tool.name], words(f"{tool.name} {tool.title}")
        shared = [self._weight(word) for word in asked & all_words]
        named = [self._weight(word) for word in asked & title]
        return (sum(shared) + sum(named)) / math.sqrt(len(all_words))

    def _weight(self, word):
        holders = sum(word in each for each in self._words.values())
        return math.log(1 + len(self._tools) / holders)


def told(tool):
    return f"{tool.name} {tool.title} {tool.description}"


def words(text):
    """Returns the words of a text, without endings of plurals and without the shortest."""
    found = re.findall(r"[a-z]+", text.lower().replace("_", " "))
    return {word.removesuffix("s") for word in found if len(word) > 2}


@pytest.fixture(scope="module")
def session(connect, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    with running_server(folder, env={"ANABRANCH_MCP_WRITE": "true"}) as server:
        with anabranch.connect(server.url, *server.auth) as lake:
            lake.repositories.create("sea")
            main = lake.repository("sea").branch("main")
            with main.transaction("The deepest places") as tx:
                tx.write("tables/depth.csv", "place,metres\nMariana,10935\nTonga,10800\n")
                tx.write("notes.txt", "by sonar")
            lake.branches.create("sea", "fix", "main")
            lake.tags.create("sea", "v1", "main")
            with lake.repository("sea").branch("fix").transaction("Measured again") as tx:
                tx.write("tables/depth.csv", "place,metres\nMariana,10920\nTonga,10800\n")
        with connect["http"](server, server.auth) as opened:
            yield opened


@pytest.mark.slow
def test_the_tools_describe_themselves_well_enough_for_twenty_tasks(session):
    assert len(TASKS) >= 20
    program = Program(session, {"repository": "sea"})
    used, failed = set(), []
    for task in TASKS:
        name, called = program.complete(task)
        used.add(name)
        if called.is_error or task.shown not in called.whole:
            failed.append((task.words, name, called.whole))
    assert not failed
    assert len(used) == 20
