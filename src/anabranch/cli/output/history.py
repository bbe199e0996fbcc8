"""Descriptions of commits, and the order and edges of a history that is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from anabranch.cli.output.graph import Node

__all__ = ["commit_details", "commit_lines", "in_drawing_order", "simplify"]


def commit_details(item: dict[str, Any]) -> list[tuple[str, Any, str]]:
    """Returns a commit as an output's details."""
    details: list[tuple[str, Any, str]] = [
        ("Commit", item["id"], "id"),
        ("Message", item["message"], ""),
        ("Committer", item["committer"], ""),
        ("Date", item["creation_date"], "time"),
        ("Parents", " ".join(item["parents"]), ""),
    ]
    details += [(f"Meta {key}", value, "") for key, value in _metadata(item)]
    return details


def commit_lines(item: dict[str, Any], date: str) -> list[str]:
    """Returns a commit as `log` shows it: its header without the id, then the message."""
    lines = []
    if len(item["parents"]) > 1:
        lines.append("Merge:     " + " ".join(parent[:12] for parent in item["parents"]))
    lines += [f"Committer: {item['committer']}", f"Date:      {date}", ""]
    lines += [f"    {line}" for line in item["message"].splitlines()]
    metadata = _metadata(item)
    if metadata:
        lines += ["", *(f"    {key} = {value}" for key, value in metadata)]
    return lines


def _metadata(item: dict[str, Any]) -> list[tuple[str, str]]:
    return sorted((item.get("metadata") or {}).items())


def in_drawing_order(nodes: Sequence[Node]) -> list[Node]:
    """Returns the nodes so that no parent comes before its children and lines of history are not
    mixed more than needed. Of a merge's parents the last one's history comes first, as git's
    `--graph` has it (git-log, "Commit Ordering").
    """
    by_id = {node.id: node for node in nodes}
    children = dict.fromkeys(by_id, 0)
    for node in nodes:
        for parent in set(node.parents) & by_id.keys():
            children[parent] += 1
    stack = [node for node in reversed(nodes) if not children[node.id]]
    ordered = []
    while stack:
        node = stack.pop()
        ordered.append(node)
        for parent in dict.fromkeys(node.parents):
            if parent in by_id:
                children[parent] -= 1
                if not children[parent]:
                    stack.append(by_id[parent])
    return ordered


def simplify(nodes: Iterable[Node], kept: set[str]) -> list[Node]:
    """Returns only the kept nodes, each with its nearest kept ancestors as parents."""
    ordered = in_drawing_order(list(nodes))
    nearest: dict[str, tuple[str, ...]] = {}
    result = []
    for node in reversed(ordered):
        parents = tuple(
            dict.fromkeys(up for parent in node.parents for up in nearest.get(parent, ()))
        )
        if node.id in kept:
            result.append(Node(node.id, parents))
            parents = (node.id,)
        nearest[node.id] = parents
    return result[::-1]
