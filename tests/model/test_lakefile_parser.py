"""Parsing of Lakefiles, and errors that show the position."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import Invalid
from anabranch.model.lakefile.instructions import MAX_BYTES, Add, Arg, From, Lakefile
from anabranch.model.lakefile.parser import parse_lakefile
from anabranch.model.uri import LakeUri

PROPOSAL = """
# base layer: a whole reference
FROM lakefs://repo1/tag1

ADD "lakefs://repo2/commit123/path/to/collection/"                 "path/to/collection/"
ADD "lakefs://repo4/tag123/pictures/cats/"                         "pictures/animals/cats/"
ADD "s3://my-bucket/some-path/"                                    "external/some-path/"

LABEL "author=oz.katz"
LABEL "notebook_url=https://dbc-123.cloud.databricks.com/?o=12345#notebook/45678"
LABEL "spark_version=3.3.2"
"""


def test_example_of_proposal_is_parsed():
    assert parse_lakefile(PROPOSAL) == Lakefile(
        base=From(source=LakeUri("repo1", "tag1"), line=3),
        layers=(
            Add(
                source=LakeUri("repo2", "commit123", "path/to/collection/"),
                destination="path/to/collection/",
                line=5,
            ),
            Add(
                source=LakeUri("repo4", "tag123", "pictures/cats/"),
                destination="pictures/animals/cats/",
                line=6,
            ),
            Add(source="s3://my-bucket/some-path/", destination="external/some-path/", line=7),
        ),
        labels={
            "author": "oz.katz",
            "notebook_url": "https://dbc-123.cloud.databricks.com/?o=12345#notebook/45678",
            "spark_version": "3.3.2",
        },
    )


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("", None),
        ("FROM scratch", None),
        ("from lakefs://sea/main~2", LakeUri("sea", "main~2")),
        ("FROM lakefs://sea/main/", LakeUri("sea", "main")),
        ("FROM lakefs://image:v122", LakeUri("image", "v122")),
        ("FROM lakefs://image/v122", LakeUri("image", "v122")),
        ("\N{ZERO WIDTH NO-BREAK SPACE}  From\t'lakefs://sea/v1'\r\n", LakeUri("sea", "v1")),
    ],
)
def test_base_is_parsed(text, source):
    assert parse_lakefile(text).base.source == source


@pytest.mark.parametrize(
    ("written", "destination"),
    [
        ("lakefs://sea/main/a/ b/", "b/"),
        ("lakefs://sea/main/a/ b", "b/"),
        ("lakefs://sea/main/a/ /", ""),
        ("lakefs://sea/main b", "b/"),
        ("lakefs://sea/main/a/x.csv b", "b"),
        ("lakefs://sea/main/a/x.csv b/", "b/x.csv"),
        ("lakefs://sea/main/a/x.csv .", "x.csv"),
        ("s3://bucket/a/x.csv ''", "x.csv"),
        ("gs://bucket/ 'a b'", "a b/"),
        ("https://account.blob.core.windows.net/container/x c\\d", "c\\d"),
        (r'local:///data/raw/ "a \"b\" \\ \$"', 'a "b" \\ $/'),
        ("local:///data/raw/ a#b", "a#b/"),
        ("--exclude=*.tmp lakefs://sea/main/a/ b", "b/"),
    ],
)
def test_destination_is_parsed(written, destination):
    (layer,) = parse_lakefile(f"ADD {written}").layers
    assert layer.destination == destination


def test_continuation_skips_comments():
    lakefile = parse_lakefile(
        "ADD \\\n  lakefs://sea/v1/a/ \\ \n# why\n  to/\\\nhere\nlabel a=1 b=2"
    )
    (layer,) = lakefile.layers
    assert (layer.destination, layer.line) == ("to/here/", 1)
    assert lakefile.labels == {"a": "1", "b": "2"}


def test_later_of_equal_labels_wins():
    text = "LABEL a='1 # x' b=\"Jane \"Doe\nLABEL a==2"
    assert list(parse_lakefile(text).labels.items()) == [("b", "Jane Doe"), ("a", "=2")]


def test_build_arguments_are_substituted():
    text = (
        "ARG DATE\nARG WHERE=raw/${DATE}\nFROM lakefs://sea/v${DATE}\n"
        "ADD lakefs://sea/v1/${WHERE}/ '${DATE}'\nLABEL \"on=${DATE} \\${DATE} $DATE\""
    )
    lakefile = parse_lakefile(text, {"DATE": "7"})
    assert lakefile.base.source == LakeUri("sea", "v7")
    assert lakefile.layers[0].source == LakeUri("sea", "v1", "raw/7/")
    assert lakefile.layers[0].destination == "${DATE}/"
    assert lakefile.labels == {"on": "7 ${DATE} $DATE"}
    assert lakefile.arguments == (Arg("DATE", "7"), Arg("WHERE", "raw/7"))


def test_undeclared_build_argument_is_rejected():
    with pytest.raises(Invalid, match="no ARG OTHER") as caught:
        parse_lakefile("ARG DATE=1", {"OTHER": "2"})
    assert caught.value.kind == "unknown_argument"


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("RUN x", "1:1", "expected FROM, ADD, LABEL or ARG, found 'RUN'"),
        ("\n\tFROM", "2:6", "expected a reference, an image or scratch"),
        ("FROM sea", "1:6", "expected lakefs://repository/reference or scratch, found 'sea'"),
        ("FROM lakefs://sea", "1:6", "expected a branch, tag or commit behind"),
        ("FROM lakefs://sea/main/a/", "1:6", "expected a whole reference"),
        ("FROM lakefs://sea/main$", "1:6", "expected a reference without [$]"),
        ("FROM lakefs://sea/main~x", "1:6", "'x' is not a number"),
        ("FROM lakefs://SEA/main", "1:6", "'SEA' cannot name a repository"),
        ("FROM lakefs://image:", "1:6", "'image:' cannot name a repository"),
        ("FROM scratch AS base", "1:14", "expected the end of the instruction, found 'AS'"),
        ("FROM scratch\nFROM scratch", "2:1", "expected only one FROM"),
        ("LABEL a=1\nFROM scratch", "2:1", "expected FROM before every ADD and LABEL"),
        ("ADD", "1:4", "expected an address to add"),
        ("ADD s3://bucket/a/  ", "1:19", "expected a path in the image"),
        ("ADD s3://bucket a", "1:5", "expected lakefs://repository/reference/path, s3://"),
        ("ADD ftp://bucket/a b", "1:5", "found 'ftp://bucket/a'"),
        ("ADD local://data/a b", "1:5", "expected lakefs://repository"),
        ("ADD s3://b/a /b", "1:14", "expected a path in the image, such as path/to/, found '/b'"),
        ("ADD s3://b/a ../b", "1:14", "found '../b'"),
        (f"ADD s3://b/a {'b' * 1025}", "1:14", "at most 1,024 bytes, found 1,025"),
        ("ADD s3://b/a/ b # why", "1:17", "found '#'"),
        ("ADD --chown=1 s3://b/a/ b", "1:5", "expected --exclude=PATTERN, found '--chown=1'"),
        ("ADD --exclude=[ s3://b/a/ b", "1:5", "the pattern '\\[' ends too early"),
        ("ADD --exclude=* s3://b/a b", "1:17", "expected a folder's address"),
        ("ADD 's3://b/a/ b", "1:5", "expected a closing ' for this one"),
        ('ADD s3://b/a/ x"b', "1:16", 'expected a closing " for this one'),
        ("LABEL", "1:6", "expected key=value"),
        ("LABEL a=1 b", "1:11", "expected key=value, found 'b'"),
        ("LABEL =1", "1:7", "expected key=value"),
        ("LABEL .lakefs.x=1", "1:7", "expected a key that begins with none of"),
        ("ARG 1", "1:5", "expected a name of letters"),
        ("ARG A", "1:5", "expected a value for the build argument A"),
        ("ARG A=1\nARG A=2", "2:5", "A is declared already"),
        ("LABEL a=${B}", "1:9", "expected an argument that is declared above"),
        ("LABEL a=${B:-1}", "1:9", "expected [$]{NAME}"),
        ("LABEL \\\n  a=1 \\\n\tb", "3:2", "expected key=value, found 'b'"),
        ("LABEL a=\x00", "1:9", "found the control character"),
        (b"LABEL \xc3\xbc=1 b=\xff", "1:13", "expected UTF-8, found the byte 0xff"),
        ("LABEL a=1\n" * 10_001, "10001:1", "expected at most 10,000 instructions"),
        (b"#" * (MAX_BYTES + 1), "1:1", "expected at most 1,048,576 bytes, found 1,048,577"),
    ],
)
@pytest.mark.sample(20)
def test_error_shows_position(text, place, expected):
    with pytest.raises(Invalid, match=expected) as caught:
        parse_lakefile(text, file="jobs/Lakefile")
    assert caught.value.message.startswith(f"jobs/Lakefile:{place}: ")
    assert caught.value.kind == "invalid_lakefile"


def test_caret_marks_column():
    with pytest.raises(Invalid) as caught:
        parse_lakefile("ADD\ts3://b/a/ \t/b")
    assert caught.value.message.splitlines()[1:] == [
        "  ADD\ts3://b/a/ \t/b",
        "     \t          \t^",
    ]


def test_long_lines_are_shortened_around_column():
    with pytest.raises(Invalid) as caught:
        parse_lakefile(f"LABEL {'a=1 ' * 1000}b {'c=1 ' * 1000}")
    _, shown, caret = caught.value.message.splitlines()
    assert shown[caret.index("^")] == "b"
    assert len(shown) < 110


def test_argument_with_line_break_is_rejected():
    with pytest.raises(Invalid, match="1:5: expected a value on one line"):
        parse_lakefile("ARG A", {"A": "1\nADD"})


SOME = "FROM add LABEL ARG lakefs://sea/main/a/ s3://b/c scratch a=b ${A} --exclude= [ ${"
WORDS = st.sampled_from([*SOME.split(), *"'\"\\#$ü\n\r\t "])


@given(st.binary() | st.text() | st.lists(WORDS).map("".join) | st.lists(WORDS).map(" ".join))
def test_any_bytes_parse_or_raise_error_with_position(data):
    try:
        lakefile = parse_lakefile(data)
    except Invalid as error:
        place = re.match(r"Lakefile:(\d+):(\d+): .", error.message)
        assert place is not None
        raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
        lines = raw.split(b"\n")
        assert 1 <= int(place[1]) <= len(lines)
        assert 1 <= int(place[2]) <= len(lines[int(place[1]) - 1]) + 1
    else:
        assert_round_trip(lakefile)


TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=8)
ADDRESSES = (
    st.builds(LakeUri, st.just("sea"), st.sampled_from(["main", "v1~2"]), TEXT)
    | TEXT.map("s3://bucket/".__add__)
    | TEXT.map("local:///a".__add__)
)
PATTERNS = st.lists(TEXT.map(lambda text: re.sub(r"[\[\]{}\\]", "?", text)), max_size=2)


@st.composite
def layers(draw):
    source = draw(ADDRESSES)
    layer = Add(source=source, destination="")
    path = draw(TEXT).strip("/.") or "x"
    if not layer.is_prefix:
        return Add(source=source, destination=path)
    destination = draw(st.sampled_from(["", f"{path}/"]))
    return Add(source=source, destination=destination, exclude=tuple(draw(PATTERNS)))


@given(
    st.builds(
        Lakefile,
        base=st.sampled_from([From(), From(source=LakeUri("sea", "v1"))]),
        layers=st.lists(layers(), max_size=3).map(tuple),
        labels=st.dictionaries(TEXT.map(lambda text: f"k{text.replace('=', '-')}"), TEXT),
        arguments=TEXT.map(lambda text: (Arg("DATE", text),)),
    )
)
def test_written_lakefile_parses_to_equal_one(lakefile):
    assert_round_trip(lakefile)


def assert_round_trip(lakefile):
    again = parse_lakefile(str(lakefile))
    assert unplaced(again) == unplaced(lakefile)


def unplaced(lakefile):
    """Returns a Lakefile without the numbers of its lines."""
    base = From(source=lakefile.base.source)
    layers = [
        Add(source=each.source, destination=each.destination, exclude=each.exclude)
        for each in lakefile.layers
    ]
    return (base, layers, list(lakefile.labels.items()), lakefile.arguments)


def chain(count):
    """A Lakefile in which each argument holds the one before four times."""
    lines = ["ARG B1=xxxxxxxx", *(f"ARG B{i + 1}={f'${{B{i}}}' * 4}" for i in range(1, count))]
    return "\n".join([*lines, "ADD lakefs://sea/main/t/ x/"])


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        (chain(12), "8:18", "at most 65,536 characters in one word, ${B7} exceeds it"),
        (f"ARG A={'x' * 40_000}\nLABEL a=${{A}}${{A}}", "2:13", "${A} exceeds it"),
        (f'ARG A={"x" * 40_000}\nLABEL \'a\'="${{A}}""${{A}}"', "2:18", "in one word"),
        (
            f"ARG A={'x' * 32_768}\n" + "LABEL a=${A}\n" * 3000,
            "34:9",
            "at most 1,048,576 characters in the file, ${A} exceeds it",
        ),
        (f"ARG A={'x' * 60_000}\nARG B=${{A}}\n" + "LABEL ${B} \n" * 100, "19:7", "the file"),
    ],
)
def test_values_that_expand_too_far_raise_invalid_with_the_position(text, position, reason):
    with pytest.raises(Invalid) as caught:
        parse_lakefile(text.replace("LABEL ${B}", "LABEL ${B}=1"))
    first = caught.value.message.splitlines()[0]
    assert first.startswith(f"Lakefile:{position}: ")
    assert reason in first


def test_given_values_count_where_they_are_used():
    given = {"A": "x" * 40_000}
    assert parse_lakefile("ARG A\nLABEL a=${A}", given).labels == {"a": given["A"]}
    with pytest.raises(Invalid, match="in one word"):
        parse_lakefile("ARG A\nLABEL a=${A}${A}", given)


def test_values_up_to_the_limits_are_accepted():
    text = f"ARG A={'x' * 65_536}\n" + "".join(f"LABEL a{i}=${{A}}\n" for i in range(16))
    assert len(parse_lakefile(text).labels) == 16
