"""Comparing references, and merging with choices for conflicts."""

from __future__ import annotations

import random
import re
import subprocess

import pytest
from playwright.sync_api import expect


@pytest.fixture
def diverged(repository):
    """A branch that adds, changes and removes, and conflicts with main in one path."""
    repository.put("a.txt", b"one\ntwo\nthree\n")
    repository.put("gone.txt")
    repository.put("config.json", b'{"retries": 3, "region": "eu"}\n')
    repository.commit("First")
    repository.branch("dev")
    repository.put("a.txt", b"one\n2\nthree\n", branch="dev")
    repository.put("new/b.txt", branch="dev")
    repository.delete("gone.txt", branch="dev")
    repository.put("config.json", b'{"retries": 5, "region": "eu"}\n', branch="dev")
    repository.commit("Second", branch="dev")
    repository.put("config.json", b'{"retries": 3, "region": "us"}\n')
    repository.commit("Third")
    return repository


def compare_url(repository, *, left="main", right="dev", more=""):
    return f"/repositories/{repository.name}/compare?ref={left}&compare={right}{more}"


def test_differences_are_a_tree_with_what_happened_to_each_path(page, diverged):
    page.goto(compare_url(diverged))
    tree = page.get_by_role("treegrid", name="Differences")
    for name in ["a.txt, changed", "b.txt, added", "gone.txt, removed", "config.json, conflict"]:
        expect(tree.get_by_role("link", name=name)).to_be_visible()


def test_a_chosen_text_is_compared_with_the_merge_base_side_by_side(page, diverged):
    diverged.put("a.txt", b"one\ntwo\nthree, on main\n")
    diverged.commit("Fourth")
    page.goto(compare_url(diverged))
    page.get_by_role("link", name="a.txt, conflict").click()
    lines = page.get_by_role("table", name="Lines that differ").get_by_role("row")
    expect(lines.nth(1)).to_have_text(re.compile(r"2\s*removed:\s*two\s*2\s*added:\s*2\s*"))
    expect(lines).to_have_count(3)
    expect(page).to_have_url(re.compile("open=a.txt"))
    page.reload()
    expect(lines).to_have_count(3)


def test_swap_exchanges_the_references(page, diverged):
    page.goto(compare_url(diverged))
    page.get_by_role("button", name="Swap the references").click()
    expect(page).to_have_url(re.compile("ref=dev&compare=main$"))
    expect(page.get_by_role("link", name="config.json, conflict")).to_be_visible()
    expect(page.get_by_role("link", name="b.txt, added")).to_have_count(0)


def test_all_differences_include_what_the_left_side_changed(page, repository):
    repository.put("a.txt")
    repository.commit()
    repository.branch("dev")
    repository.put("only-main.txt")
    repository.commit()
    page.goto(compare_url(repository))
    expect(page.get_by_text("main has everything that dev changed")).to_be_visible()
    page.get_by_label("What is compared").select_option("two_dot")
    expect(page.get_by_role("link", name="only-main.txt, removed")).to_be_visible()


def test_merge_with_a_conflict_and_no_choice_is_refused_and_changes_nothing(page, diverged):
    before = diverged.head()["id"]
    page.goto(compare_url(diverged, more="&merge=1"))
    panel = page.get_by_role("region", name="Merge dev into main")
    expect(panel.get_by_text("1 conflict open")).to_be_visible()
    panel.get_by_role("button", name="Merge into main").click()
    expect(panel.get_by_role("alert")).to_contain_text("Nothing was merged")
    expect(panel.get_by_role("list", name="Conflicts").get_by_role("listitem")).to_have_count(1)
    expect(panel.get_by_text("1 conflict open")).to_be_visible()
    assert diverged.head()["id"] == before


@pytest.mark.slow  # as a chosen text with its merge base
def test_versions_of_a_conflict_are_shown(page, diverged):
    page.goto(compare_url(diverged, more="&merge=1"))
    page.get_by_role("button", name="Show the versions of config.json").click()
    for side in ["Base", "dev", "main"]:
        expect(page.get_by_role("link", name=f"Open config.json at {side}")).to_be_visible()
    page.get_by_label("Compared versions").select_option("What main changed")
    lines = page.get_by_role("table", name="Lines that differ")
    expect(lines).to_contain_text('"region": "us"')
    expect(lines).not_to_contain_text('"retries": 5')


def test_dry_run_says_that_a_choice_settles_the_conflict_and_changes_nothing(page, diverged):
    before = diverged.head()["id"]
    page.goto(compare_url(diverged, more="&merge=1"))
    page.get_by_label("Choice for config.json").select_option("json")
    expect(page.get_by_text("choices have changed since")).to_be_visible()
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_text("1 conflict settled")).to_be_visible()
    expect(page.get_by_text("settled by json")).to_be_visible()
    assert diverged.head()["id"] == before


@pytest.mark.parametrize(
    ("choice", "content"),
    [
        ("source-wins", b'{"retries": 5, "region": "eu"}\n'),
        ("dest-wins", b'{"retries": 3, "region": "us"}\n'),
        ("json", b'{"retries": 5, "region": "us"}\n'),
    ],
)
@pytest.mark.sample(1)
def test_merge_follows_the_choice_for_a_path(page, diverged, choice, content):
    page.goto(compare_url(diverged))
    page.get_by_role("button", name="Merge…").click()
    page.get_by_label("Message").fill("Settled here")
    page.get_by_label("Choice for config.json").select_option(choice)
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_role("status").filter(has_text="Merged into main as")).to_be_visible()
    assert diverged.get("config.json") == content
    assert sorted(diverged.paths()) == ["a.txt", "config.json", "new/b.txt"]
    head = diverged.head()
    assert head["message"] == "Settled here"
    assert len(head["parents"]) == 2


@pytest.mark.slow  # web/tests/merge/choices.test.ts
def test_merge_follows_a_rule_for_a_pattern(page, diverged):
    page.goto(compare_url(diverged, more="&merge=1"))
    page.get_by_role("button", name="Add a rule").click()
    page.get_by_label("Pattern 1", exact=True).fill("*.json")
    page.get_by_label("Choice for pattern 1").select_option("base")
    page.get_by_label("Squash").check()
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_role("status").filter(has_text="Merged into main as")).to_be_visible()
    assert diverged.get("config.json") == b'{"retries": 3, "region": "eu"}\n'
    assert len(diverged.head()["parents"]) == 1


def test_as_few_lines_differ_as_git_finds(page, repository, tmp_path):
    source = random.Random(7)
    old = [source.choice("abcdef") for _ in range(300)]
    new = [line for line in old if source.random() > 0.2]
    for _ in range(60):
        new.insert(source.randrange(len(new)), source.choice("abcdef"))
    texts = {"old": "\n".join(old) + "\n", "new": "\n".join(new) + "\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    arguments = ["git", "diff", "--no-index", "--minimal", "--numstat", "old", "new"]
    found = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    added, removed = found.stdout.split()[:2]
    repository.put("lines.txt", texts["old"].encode())
    repository.commit()
    repository.branch("dev")
    repository.put("lines.txt", texts["new"].encode(), branch="dev")
    repository.commit(branch="dev")
    page.goto(compare_url(repository, more="&open=lines.txt"))
    expect(page.get_by_text(f"{removed} lines removed, {added} lines added")).to_be_visible()


def test_names_and_texts_of_users_run_no_script(page, repository):
    name = "<img src=x onerror=alert(1)>.txt"
    repository.put(name, b"<script>alert(1)</script>\n")
    repository.commit()
    repository.branch("dev")
    repository.put(name, b"<img src=x onerror=alert(2)>\n", branch="dev")
    repository.commit("<script>alert(3)</script>", branch="dev")
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(compare_url(repository))
    page.get_by_role("link", name=f"{name}, changed").click()
    expect(page.get_by_text("<script>alert(1)</script>")).to_be_visible()
    assert dialogs == []


def test_rows_of_a_table_are_compared(page, repository):
    repository.put("t.csv", b"id,name,depth\n1,a,10\n2,b,20\n3,c,30\n")
    repository.commit()
    repository.branch("dev")
    repository.put("t.csv", b"id,name,depth\n1,a,10\n2,b,25\n4,d,40\n", branch="dev")
    repository.commit(branch="dev")
    page.goto(compare_url(repository, more="&open=t.csv"))
    rows = page.get_by_role("region", name="Rows that differ").locator("tbody tr")
    expect(rows).to_have_count(3)
    assert [row.split() for row in rows.all_inner_texts()] == [
        ["±", "changed", "2", "20", "25", "b"],
        ["\u2212", "removed", "3", "30", "c"],
        ["+", "added", "4", "40", "d"],
    ]


def test_second_of_two_browsers_is_told_that_the_branch_has_moved_on(open_page, site, diverged):
    first, second = open_page(site), open_page(site)
    for page in [first, second]:
        page.goto(compare_url(diverged, more="&merge=1"))
        page.get_by_label("Conflicts that no choice settles").select_option("source-wins")
    first.get_by_role("button", name="Merge into main").click()
    merged = first.get_by_role("status").filter(has_text="Merged into main as")
    expect(merged).to_be_visible()
    head = diverged.head()["id"]
    second.get_by_role("button", name="Merge into main").click()
    expect(second.get_by_role("alert")).to_contain_text("Nothing was merged")
    second.reload()
    expect(second.get_by_text("main has everything that dev changed")).to_be_visible()
    assert diverged.head()["id"] == head


@pytest.mark.slow  # a merge reports the same, above
def test_dry_run_finds_conflicts_that_have_come_up_since(page, diverged):
    page.goto(compare_url(diverged, more="&merge=1"))
    page.get_by_label("Choice for config.json").select_option("json")
    diverged.put("a.txt", b"one\nzwei\nthree\n")
    diverged.commit("Fourth")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_label("Choice for a.txt")).to_be_visible()
    expect(page.get_by_label("Choice for config.json")).to_have_value("json")
    expect(page.get_by_text("1 conflict open")).to_be_visible()


@pytest.mark.slow  # web/tests/merge/choices.test.ts
def test_strategies_and_their_options_are_sent_as_they_are_chosen(page, diverged):
    page.goto(compare_url(diverged, more="&merge=1"))
    page.get_by_label("Choice for config.json").select_option("rows")
    page.get_by_label("Key columns for config.json").fill("id, name")
    rules = [
        ("tables/**", "delta", None, None),
        ("ice/**", "iceberg", "Location of the table", "s3a://sea/main/ice"),
        ("odd/**", "other", "Name of the strategy", "longest"),
    ]
    for number, (pattern, strategy, label, text) in enumerate(rules, 1):
        page.get_by_role("button", name="Add a rule").click()
        page.get_by_label(f"Pattern {number}", exact=True).fill(pattern)
        page.get_by_label(f"Choice for pattern {number}").select_option(strategy)
        if label:
            page.get_by_label(f"{label} for pattern {number}").fill(text)
    page.get_by_label("Snapshot isolation").check()
    with page.expect_request("**/refs/dev/merge/main") as sent:
        page.get_by_role("button", name="Dry run").click()
    assert sent.value.post_data_json["resolutions"] == [
        {"path": "config.json", "strategy": "rows", "key": ["id", "name"]},
        {"path": "tables/**", "strategy": "delta", "isolation": "snapshot"},
        {"path": "ice/**", "strategy": "iceberg", "location": "s3a://sea/main/ice"},
        {"path": "odd/**", "strategy": "longest"},
    ]


@pytest.fixture
def tables(repository):
    """A branch dev that changed rows of a table which main changed, too."""
    repository.put("t.csv", b"id,a,b\n1,x,x\n2,x,x\n3,x,x\n")
    repository.commit("First")
    repository.branch("dev")
    repository.put("t.csv", b"id,a,b\n1,s,s\n2,s,x\n3,x,s\n", branch="dev")
    repository.commit("Second", branch="dev")
    repository.put("t.csv", b"id,a,b\n1,d,\n3,d,x\n")
    repository.commit("Third")
    return repository


def list_rows(page, repository):
    page.goto(compare_url(repository, more="&merge=1"))
    page.get_by_label("Choice for t.csv").select_option("rows")
    page.get_by_role("button", name="Choose for rows of t.csv").click()
    return page.get_by_role("region", name="Rows in conflict of t.csv")


def test_rows_in_conflict_are_chosen_by_row_and_cell(page, tables):
    rows = list_rows(page, tables)
    expect(page.get_by_text("2 rows in conflict, 0 decided; matched by id")).to_be_visible()
    rows.get_by_role("button", name="a of id 1 from dev: s").click()
    expect(page.get_by_text("2 rows in conflict, 0 decided")).to_be_visible()
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_text("1 conflict open")).to_be_visible()
    rows.get_by_role("button", name="b of id 1 from main: null").click()
    rows.get_by_label("Choice for row id 2").select_option("base")
    expect(page.get_by_text("2 rows in conflict, 2 decided")).to_be_visible()
    expect(rows.get_by_role("button", name="a of id 1 from dev: s")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_text("1 conflict settled")).to_be_visible()
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_role("status").filter(has_text="Merged into main as")).to_be_visible()
    assert tables.get("t.csv") == b"id,a,b\n1,s,\n3,d,s\n2,x,x\n"


@pytest.mark.slow  # web/tests/merge/row-choices.test.ts
def test_one_side_is_taken_for_all_rows_that_are_shown(page, tables):
    list_rows(page, tables)
    page.get_by_role("button", name="Take dev for the rows shown").click()
    expect(page.get_by_text("2 rows in conflict, 2 decided")).to_be_visible()
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_role("status").filter(has_text="Merged into main as")).to_be_visible()
    assert tables.get("t.csv") == b"id,a,b\n1,s,s\n3,d,s\n2,s,x\n"


@pytest.mark.slow  # web/tests/merge/row-choices.test.ts
def test_choices_for_rows_that_changed_since_are_refused_and_made_again(page, tables):
    rows = list_rows(page, tables)
    page.get_by_role("button", name="Keep main for them").click()
    tables.put("t.csv", b"id,a,b\n1,e,e\n2,x,x\n3,d,x\n")
    head = tables.commit("Fourth")["id"]
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_text("the choices for rows are outdated").first).to_be_visible()
    expect(page.get_by_text("1 row in conflict, 0 decided")).to_be_visible()
    assert tables.head()["id"] == head
    expect(rows.get_by_role("button", name="a of id 1 from main: e")).to_be_visible()
    rows.get_by_label("Choice for row id 1").select_option("delete")
    page.get_by_role("button", name="Merge into main").click()
    expect(page.get_by_role("status").filter(has_text="Merged into main as")).to_be_visible()
    assert tables.get("t.csv") == b"id,a,b\n2,s,x\n3,d,s\n"


@pytest.mark.slow  # an error of the API, as others
def test_what_is_no_table_has_no_rows_to_choose(page, diverged):
    page.goto(compare_url(diverged, more="&merge=1"))
    page.get_by_label("Choice for config.json").select_option("rows")
    page.get_by_role("button", name="Choose for rows of config.json").click()
    alert = page.get_by_role("alert").filter(has_text="The rows in conflict were not found out")
    expect(alert).to_be_visible()
