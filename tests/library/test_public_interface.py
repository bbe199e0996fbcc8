"""The public interface is what docs/python.md names; defaults of arguments."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import anabranch
from anabranch import library
from anabranch.errors import Invalid
from anabranch.testing.lake import Clock, lake_in

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")


def names_in(section):
    """Returns the names in the first column of the tables of a section."""
    text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert text, section
    cells = re.findall(r"^\| (`[^|]*) \|", text[1], re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([\w.]+)", cell)}


def test_all_is_what_the_page_documents():
    assert {f"anabranch.{name}" for name in anabranch.__all__} == names_in("The package")


def test_public_names_exist_and_complete_before_they_are_used():
    probe = "import anabranch, sys; print(*dir(anabranch)); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    listed, modules = (line.split() for line in ran.stdout.splitlines())
    assert set(anabranch.__all__) <= set(listed)
    assert "anabranch.library" not in modules
    assert "import_module" not in listed
    assert all(hasattr(anabranch, name) for name in anabranch.__all__)


OF_SERVERS = {"spark"}
"""Parts of a lake on a server alone."""


def test_each_part_of_a_lake_is_named_stable_provisional_or_internal(tmp_path):
    with anabranch.open(tmp_path) as lake:
        parts = {name for name in dir(lake) if not name.startswith("_")} | OF_SERVERS
    assert all(hasattr(anabranch.RemoteLake, name) for name in OF_SERVERS)
    stable, provisional = names_in("Stable"), names_in("Provisional")
    internal = names_in("Internal")
    named = [f"lake.{part}" for part in parts]
    states = [[name in group for group in (stable, provisional, internal)] for name in named]
    wrong = [name for name, state in zip(named, states, strict=True) if sum(state) != 1]
    assert not wrong
    documented = {n for n in stable | provisional | internal if n.startswith("lake.")}
    assert {name for name in documented if name.split(".")[1] not in parts} == set()


def test_methods_that_the_page_names_exist(tmp_path):
    with anabranch.open(tmp_path) as lake:
        for name in re.findall(r"`lake\.([\w.]+)", PAGE):
            value = anabranch.RemoteLake if name.split(".")[0] in OF_SERVERS else lake
            for part in name.split("."):
                value = getattr(value, part)


def test_commits_are_by_the_lakes_committer_unless_another_is_named(tmp_path):
    with anabranch.open(tmp_path, committer="ada") as lake:
        lake.repositories.create("sea")
        lake.branches.create("sea", "dev", "main")
        lake.objects.upload("sea", "dev", "a", [b"1"])
        assert lake.commits.commit("sea", "dev", message="m").committer == "ada"
        merged = lake.refs.merge("sea", "dev", "main")
        assert lake.commits.get("sea", merged).committer == "ada"
        (undone,) = lake.branches.revert("sea", "dev", "dev")
        assert undone.committer == "ada"
        picked = lake.branches.cherry_pick("sea", "dev", "dev~1")
        assert picked.committer == "ada"
        assert lake.rebase.rebase("sea", "dev", "main").head is not None
        named = lake.commits.commit("sea", "main", message="m", committer="bob", allow_empty=True)
        assert named.committer == "bob"


def test_the_default_committer_is_the_user(tmp_path, monkeypatch):
    monkeypatch.setattr(library.getpass, "getuser", lambda: "jane")
    with anabranch.open(tmp_path) as lake:
        lake.repositories.create("sea")
        assert lake.commits.commit("sea", "main", message="m", allow_empty=True).committer == "jane"


@pytest.mark.parametrize("error", [KeyError, OSError])
def test_a_commit_by_an_unknown_user_is_refused_and_changes_nothing(tmp_path, monkeypatch, error):
    def unknown():
        raise error("uid not found")

    monkeypatch.setattr(library.getpass, "getuser", unknown)
    with anabranch.open(tmp_path) as lake:
        lake.repositories.create("sea")
        lake.objects.upload("sea", "main", "a", [b"1"])
        with pytest.raises(Invalid) as refused:
            lake.commits.commit("sea", "main", message="m")
        assert refused.value.kind == "committer_missing"
        assert len(lake.commits.log("sea", "main", amount=10).items) == 1
        assert lake.refs.diff("sea", "main", "main$", two_dot=True, amount=10).items


def test_a_servers_lake_requires_a_committer(tmp_path):
    with lake_in(tmp_path, Clock()) as lake:
        lake.repositories.create("sea")
        with pytest.raises(Invalid, match="no committer"):
            lake.commits.commit("sea", "main", message="m", allow_empty=True)


def test_a_repositorys_default_namespace_has_its_name(tmp_path):
    with anabranch.open(tmp_path) as lake:
        assert lake.repositories.create("sea").storage_namespace == "local://data/sea"
        lake.repositories.delete("sea")
        with pytest.raises(Invalid):
            lake.repositories.create("Not a name")


def test_an_import_of_a_listing_is_by_the_lakes_committer(tmp_path):
    with anabranch.open(tmp_path, committer="ada") as lake:
        lake.repositories.create("sea")
        lake.blocks.put("local://raw/a", [b"1"])
        rows = [
            {
                "path": "a",
                "physical_address": "local://raw/a",
                "size": 1,
                "checksum": "c",
                "mtime": 1,
            }
        ]
        lake.import_listing("sea", "main", pa.Table.from_pylist(rows), verify="none")
        assert lake.commits.get("sea", "main").committer == "ada"
