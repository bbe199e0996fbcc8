"""The order of files of tests, and how many of them run."""

from __future__ import annotations

from support.selection.budget import COLLECTION_SECONDS, STARTUP_SECONDS, choose
from support.selection.import_graph import importers
from support.selection.ranking import Candidate, Nearness, rank
from support.selection.smoke import SMOKE, with_smoke

MERGER = "src/anabranch/versioning/merging/merger.py"
FILES = {
    MERGER: "",
    "src/anabranch/catalog/merges.py": "from anabranch.versioning.merging import merger",
    "tests/versioning/merging/test_merge.py": "from anabranch.versioning.merging import merger",
    "tests/versioning/merging/test_rules.py": "import anabranch.catalog.merges",
    "tests/versioning/test_branches.py": "import anabranch.catalog.merges",
    "tests/catalog/test_commits.py": "from anabranch.versioning.merging.merger import merge",
    "tests/catalog/test_merges.py": "import anabranch.catalog.merges",
    "tests/catalog/test_tags.py": "import anabranch.catalog.merges",
    "tests/catalog/test_pulls.py": "",
    **{f"tests/model/test_{name}.py": "" for name in "abcdefghijklmnopqrstu"},
}


def ranked(project, *changed, costs=()):
    known = dict.fromkeys(project.test_files(), 1.0) | dict(costs)
    found = rank(changed, project, importers(project), known)
    return [(candidate.path.removeprefix("tests/"), candidate.nearness) for candidate in found]


def test_tests_of_one_name_come_before_importers_and_these_before_the_rest(project):
    assert ranked(project(FILES), MERGER) == [
        ("versioning/merging/test_merge.py", Nearness.MIRRORS),
        ("catalog/test_commits.py", Nearness.IMPORTS),
        ("versioning/merging/test_rules.py", Nearness.FOLDER),
        ("catalog/test_merges.py", Nearness.SUBJECT),
        ("versioning/test_branches.py", Nearness.PACKAGE),
        ("catalog/test_tags.py", Nearness.REACHES),
    ]


def test_a_changed_test_comes_first(project):
    changed = "tests/catalog/test_tags.py"
    assert ranked(project(FILES), MERGER, changed)[0] == ("catalog/test_tags.py", Nearness.CHANGED)


def test_of_equals_the_quickest_comes_first(project):
    files = {
        MERGER: "",
        "tests/rest/test_a.py": "from anabranch.versioning.merging import merger",
        "tests/rest/test_b.py": "from anabranch.versioning.merging import merger",
    }
    found = ranked(project(files), MERGER, costs={"tests/rest/test_a.py": 2.0})
    assert [path for path, _ in found] == ["rest/test_b.py", "rest/test_a.py"]


def test_a_page_is_tested_by_the_tests_that_read_it(project):
    files = {
        "tests/spark/test_setup.py": 'PAGE = "spark-s3a.md"',
        "tests/docs/test_links.py": "",
        "tests/model/test_page.py": "",
        "tests/clients/test_spark_s3a.py": "",
    }
    assert ranked(project(files), "docs/spark-s3a.md") == [
        ("spark/test_setup.py", Nearness.NAMES),
        ("docs/test_links.py", Nearness.FOLDER),
    ]


def test_a_change_that_nothing_reaches_has_no_candidates(project):
    assert ranked(project(FILES), "src/anabranch/unused.py", "LICENSE") == []


def candidates(*costs, nearness=Nearness.IMPORTS):
    return [Candidate(nearness, 0, 1, cost, f"tests/test_{at}.py") for at, cost in enumerate(costs)]


def choice_of(found):
    return [[candidate.cost for candidate in part] for part in found[:3]]


def test_the_closest_run_until_the_budget_is_spent_and_the_rest_is_left_out():
    budget = STARTUP_SECONDS + 10 + 4 * COLLECTION_SECONDS
    found = choose(candidates(6, 7, 4, 3, 1), budget, 1)
    assert choice_of(found) == [[6, 4], [], [7, 3, 1]]
    assert STARTUP_SECONDS + 10 <= found.seconds <= budget


def test_each_worker_has_the_budget():
    budget = STARTUP_SECONDS + 10 + 4 * COLLECTION_SECONDS
    assert choice_of(choose(candidates(6, 7, 4, 3), budget, 2)) == [[6, 7, 4, 3], [], []]


def test_a_changed_file_runs_even_if_it_takes_longer():
    found = choose(candidates(100, nearness=Nearness.CHANGED), 25, 2)
    assert choice_of(found) == [[100], [], []]


def test_of_the_closest_files_one_that_takes_longer_has_a_worker_until_the_end():
    ranked = candidates(100, 200, nearness=Nearness.MIRRORS) + candidates(12, 12)
    assert choice_of(choose(ranked, 25, 2)) == [[12], [100], [200, 12]]


def test_the_smoke_tests_run_for_what_a_server_runs():
    far = [candidate._replace(nearness=Nearness.REACHES) for candidate in candidates(1, 1)]
    far.append(far[0]._replace(path=SMOKE[0]))
    paths = [candidate.path for candidate in with_smoke(far, ["src/anabranch/rest/table.py"])]
    assert paths[0] == SMOKE[0]
    assert with_smoke(far, ["src/anabranch/cli/main.py", "docs/web.md"]) == far
