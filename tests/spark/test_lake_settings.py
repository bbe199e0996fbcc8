"""`lake.spark` makes the settings of `anabranch.spark.configure` with what the lake knows."""

from __future__ import annotations

import pickle

import pytest
from pyspark.sql import SparkSession

import anabranch
import anabranch.spark
from anabranch.errors import Invalid

URL, KEYS = "http://somewhere:8000", ("AKID", "secret")


@pytest.fixture
def lake():
    with anabranch.connect(URL, *KEYS) as lake:
        yield lake


def options(builder):
    return dict(builder._options)


def test_settings_are_those_of_configure(lake):
    """Also as a dictionary, and in a copy of the lake."""
    catalogs = {"lake": "sea/main", "night": "lakefs://sea/night"}
    expected = SparkSession.Builder()
    anabranch.spark.configure(expected, URL, KEYS, catalogs=catalogs, repositories=["sea"])
    builder = SparkSession.Builder()
    assert lake.spark.configure(builder, catalogs, repositories=["sea"]) is builder
    assert options(builder) == options(expected)
    assert lake.spark.settings(catalogs, repositories=["sea"]) == options(expected)
    copy = pickle.loads(pickle.dumps(lake))  # noqa: S301  the test has written it
    assert copy.spark.settings(catalogs, repositories=["sea"]) == options(expected)
    plain = SparkSession.Builder()
    anabranch.spark.configure(plain, URL, KEYS)
    assert lake.spark.settings() == options(plain)
    assert KEYS[1] not in repr(lake) + repr(lake.spark)


def test_catalogs_are_named_after_their_branches(lake):
    made = lake.spark.settings(["sea/main", "lakefs://sea/ada-1", "sea/2026", "air/main~1"])
    warehouses = {
        key.split(".")[3]: value for key, value in made.items() if key.endswith(".warehouse")
    }
    names = {name: each.strip("/") for name, each in warehouses.items()}
    assert {name: each.removeprefix("lakefs://") for name, each in names.items()} == {
        "main": "sea/main",
        "ada_1": "sea/ada-1",
        "_2026": "sea/2026",
        "main_1": "air/main~1",
    }
    assert lake.spark.settings("sea/main") == lake.spark.settings({"main": "sea/main"})
    with pytest.raises(Invalid, match="both called main"):
        lake.spark.settings(["sea/main", "air/main"])


@pytest.mark.parametrize("catalogs", [["sea"], ["sea/main/x"], {"a-b": "sea/main"}, [""]])
def test_what_makes_no_catalog_is_refused(lake, catalogs):
    with pytest.raises(Invalid):
        lake.spark.settings(catalogs)


def test_a_lake_without_an_access_key_says_so():
    with anabranch.connect(URL, token="x.y.z") as lake, pytest.raises(Invalid) as refused:
        lake.spark.settings()
    assert refused.value.kind == "no_access_key"
