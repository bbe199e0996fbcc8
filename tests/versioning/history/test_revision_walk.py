import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.histories.git_mirror import GitMirror

from anabranch import _kernel as kernel
from anabranch.errors import Invalid, NotFound
from anabranch.model.references.expression import parse_expression
from anabranch.testing.histories import History, linear_history
from anabranch.testing.history_strategies import histories
from anabranch.versioning.history.revision_walk import ancestors, walk_revisions
from anabranch.versioning.records import references

# The example at the end of git's gitrevisions page, as it is printed there.
PARENTS = {
    "G": "",
    "H": "",
    "I": "",
    "J": "",
    "D": "GH",
    "E": "",
    "F": "IJ",
    "B": "DEF",
    "C": "F",
    "A": "BC",
}
IDENTITIES = """
A =      = A^0
B = A^   = A^1     = A~1
C =      = A^2
D = A^^  = A^1^1   = A~2
E = B^2  = A^^2
F = B^3  = A^^3
G = A^^^ = A^1^1^1 = A~3
H = D^2  = B^^2    = A^^^2  = A~2^2
I = F^   = B^3^    = A^^3^
J = F^2  = B^3^2   = A^^3^2
"""
EQUATIONS = [
    (terms[0], term)
    for line in IDENTITIES.strip().splitlines()
    for terms in [[term.strip() for term in line.split("=")]]
    for term in terms
    if term
]


@pytest.fixture(scope="module")
def example():
    history = History("gitrevisions")
    ids = {}
    for name, parents in PARENTS.items():
        ids[name] = history.add(*(ids[parent] for parent in parents))
    return history, ids


def follow(history, base, text):
    return walk_revisions(history.read, history[base], parse_expression(text).modifiers)


@pytest.mark.parametrize(("name", "text"), EQUATIONS)
def test_expressions_of_git_documentation_resolve_as_documented(example, name, text):
    history, ids = example
    assert follow(history, ids[text[0]], text).id == ids[name]


def test_git_resolves_its_documented_example_alike(example, tmp_path):
    history, ids = example
    mirror = GitMirror(tmp_path / "git", [history])
    answers = mirror.resolve([(ids[text[0]], text[1:]) for _, text in EQUATIONS])
    assert answers == [ids[name] for name, _ in EQUATIONS]
    assert len(EQUATIONS) == 35


@pytest.mark.parametrize("text", ["C^2", "B^4", "G^", "G^1", "A^0^3", "A~3^", "A^" + "9" * 20])
def test_absent_parent_raises_parent_out_of_range(example, text):
    history, ids = example
    with pytest.raises(Invalid) as caught:
        follow(history, ids[text[0]], text)
    assert caught.value.kind == "parent_out_of_range"
    assert caught.value.hint


@pytest.mark.parametrize("text", ["A~4", "G~", "A~2~2", "A~99999999999999999999999999"])
def test_tilde_beyond_initial_commit_raises_not_found(example, text):
    history, ids = example
    with pytest.raises(NotFound) as caught:
        follow(history, ids[text[0]], text)
    assert caught.value.kind == "commit_not_found"
    assert caught.value.hint


def test_zero_steps_read_no_commit():
    history = linear_history(2)
    assert follow(history, history.ids[-1], "x~0^0^00~000").id == history.ids[-1]
    assert history.reads == 0


def test_huge_number_reads_no_more_than_history():
    history = linear_history(100)
    with pytest.raises(NotFound):
        follow(history, history.ids[-1], "x~" + "9" * 5000)
    assert history.reads == 99


def test_long_chain_of_modifiers_does_not_recurse():
    history = linear_history(5000)
    assert follow(history, history.ids[-1], "x" + "^" * 4999).id == history.ids[0]


@given(histories(), st.data())
def test_a_walk_in_a_graph_selects_the_same_commit(history, data):
    graph = kernel.CommitGraph()
    graph.add([references.commit_bytes(history[commit_id]) for commit_id in history.ids])
    start = history[data.draw(st.sampled_from(history.ids))]
    text = "x" + data.draw(st.from_regex(r"(?:~[0-4]?|\^[0-3]?){1,6}", fullmatch=True))
    modifiers = parse_expression(text).modifiers
    assert outcome(history, start, modifiers, graph) == outcome(history, start, modifiers, None)


def outcome(history, start, modifiers, graph):
    try:
        return walk_revisions(history.read, start, modifiers, graph).id
    except (Invalid, NotFound) as error:
        return error.kind, error.message, error.hint


def test_a_walk_in_a_graph_reads_few_commits():
    history = linear_history(500)
    graph = kernel.CommitGraph()
    graph.add([references.commit_bytes(history[commit_id]) for commit_id in history.ids])
    start = history[history.ids[-1]]
    modifiers = parse_expression("x" + "~" * 50 + "~200^~99").modifiers
    reads = history.reads
    assert walk_revisions(history.read, start, modifiers, graph).id == history.ids[499 - 350]
    assert history.reads - reads == 3


def test_missing_parent_commit_raises_not_found():
    history = linear_history(3)
    broken = {commit_id: history[commit_id] for commit_id in history.ids[1:]}

    def read(commit_id):
        if commit_id not in broken:
            raise NotFound(f"commit {commit_id}: not found", kind="commit_not_found")
        return broken[commit_id]

    with pytest.raises(NotFound):
        walk_revisions(read, history[history.ids[-1]], parse_expression("x~2").modifiers)


def test_ancestors_include_commit_and_all_ancestors(example):
    history, ids = example
    assert set(ancestors(history.read, ids["A"])) == set(history.ids)
    assert set(ancestors(history.read, ids["D"])) == {ids[name] for name in "DGH"}
