"""Snippets of "Use this data" do what they say: each is run, for paths that quoting gets wrong."""

from __future__ import annotations

import io
import json
import subprocess

import pandas as pd
import pytest
from support.session.sizes import sized

NASTY = (
    "plain",
    'a b/it\'s "quoted" `id` $HOME $(id)',
    "ünï/海 🌊",
    "p%20%/h#h?q&=+;@",
    "st*ar[1]{a,b}~!|<>",
    "back\\slash\\n",
    "new\nline\ttab",
    "\u202ebidi\u00a0space",
    "a//b",
    "up/../down/.",
    "-rf",
    " lead/trail ",
    "n=1/x==2:y",
)
FORMATS = {
    ".parquet": lambda frame, file: frame.to_parquet(file),
    ".csv": lambda frame, file: frame.to_csv(file, index=False),
    ".jsonl": lambda frame, file: frame.to_json(file, orient="records", lines=True),
}
SOME = NASTY[1 :: sized(5, weekly=1)]
"""Paths with quotes, a new line and a blank; in `make test-all`, all but the plain one."""
PYTHON = ("pandas", "polars", "duckdb", "boto3")
SHELL = ("anabranch", "curl")


@pytest.fixture(scope="module")
def files_repository(shared_repository):
    """A repository with an object of each format at every nasty path, and in a folder of it."""
    frame = pd.DataFrame({"depth": [10935, 10820], "name": ["Mariana", "Tonga"]})
    for suffix, write in FORMATS.items():
        file = io.BytesIO()
        write(frame, file)
        for path in NASTY:
            shared_repository.put(path + suffix, file.getvalue())
            shared_repository.put(f"folder of {path}/part{suffix}", file.getvalue())
    shared_repository.commit()
    return shared_repository


def source(site, repository, path, ref="main"):
    return {"server": site.url, "repository": repository.name, "ref": ref, "path": path}


def run_python(interpreter, snippets):
    """Returns what each named snippet prints."""
    outputs = interpreter.outputs_of([text for _, text in snippets])
    return dict(zip([name for name, _ in snippets], outputs, strict=True))


@pytest.mark.sample(1)
@pytest.mark.parametrize("suffix", FORMATS)
def test_programs_read_the_object_at_every_path(
    site, files_repository, page_functions, interpreter, suffix
):
    paths = [path + suffix for path in NASTY]
    answer = page_functions.snippets([source(site, files_repository, path) for path in paths])
    snippets = [
        (f"{tool} {index}", each[tool])
        for index, each in enumerate(answer)
        for tool in PYTHON
        if each[tool]
    ]
    assert len(snippets) >= len(PYTHON) * len(NASTY) - 1  # DuckDB reads no `..`, but of Parquet
    outputs = run_python(interpreter, snippets)
    for name, output in outputs.items():
        if name.startswith("boto3"):
            assert output.split()[0] == str(len(files_repository.get(paths[0]))), (name, output)
        else:
            assert "10935" in output, (name, output)
            assert "Tonga" in output, (name, output)


@pytest.mark.parametrize("tool", SHELL)
def test_commands_download_the_object_at_every_path(
    site, files_repository, page_functions, snippet_variables, tmp_path, tool
):
    paths = [f"{path}.csv" for path in NASTY]
    answer = page_functions.snippets([source(site, files_repository, path) for path in paths])
    for index, each in enumerate(answer):
        folder = tmp_path / str(index)
        folder.mkdir()
        ran = subprocess.run(
            ["bash", "--norc", "-euc", each[tool]],
            env=snippet_variables,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, (paths[index], ran.stderr)
        (file,) = folder.iterdir()
        assert file.name == paths[index].rpartition("/")[2]
        assert file.read_bytes() == files_repository.get(paths[index])


def test_folders_are_read_whole_or_not_offered(
    site, files_repository, page_functions, interpreter, snippet_variables, tmp_path
):
    folders = [f"folder of {path}/" for path in NASTY]
    files_repository.branch("folders")
    answer = page_functions.snippets(
        [source(site, files_repository, path, "folders") for path in folders]
    )
    offered = {tool: sum(bool(each[tool]) for each in answer) for tool in PYTHON}
    assert offered == {"pandas": 10, "polars": 7, "duckdb": 9, "boto3": 13}
    tried = [(NASTY.index(path), answer[NASTY.index(path)]) for path in SOME]
    snippets = [
        (f"{tool} {index}", each[tool]) for index, each in tried for tool in PYTHON if each[tool]
    ]
    # of each folder, the Parquet file alone
    for path in folders:
        for suffix in (".csv", ".jsonl"):
            files_repository.delete(f"{path}part{suffix}", "folders")
    for name, output in run_python(interpreter, snippets).items():
        if name.startswith("boto3"):
            assert "part.parquet" in output, (name, output)
        else:
            assert "10935" in output, (name, output)
    for index, each in tried:
        folder = tmp_path / f"folder {index}"
        folder.mkdir()
        ran = subprocess.run(
            ["bash", "--norc", "-euc", each["curl"]],
            env=snippet_variables,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert [item["path"] for item in json.loads(ran.stdout)["results"]] == [
            f"{folders[index]}part.parquet"
        ]


def test_a_pinned_snippet_reads_the_commit(site, files_repository, page_functions, interpreter):
    commit = files_repository.head()["id"]
    files_repository.branch("moving")
    files_repository.put("plain.csv", b"depth,name\n1,Changed\n", "moving")
    answer = page_functions.snippets(
        [source(site, files_repository, "plain.csv", ref) for ref in ("moving", commit)]
    )
    snippets = [
        (f"{tool} {index}", each[tool])
        for index, each in enumerate(answer)
        for tool in ("pandas", "polars", "duckdb")
    ]
    for name, output in run_python(interpreter, snippets).items():
        assert ("Changed" in output) == name.endswith(" 0"), (name, output)
        assert ("10935" in output) == name.endswith(" 1"), (name, output)


def test_python_and_shells_read_literals_as_they_are_meant(page_functions):
    texts = [
        *NASTY,
        "",
        "-",
        "'\n'",
        "\\n\\'\n",
        "é\u0301\u2028\u2029\ufeff\u0001\u007f\u0085",
        *map(chr, range(1, 0x300)),
        *(f"a{chr(code)}0" for code in (*range(1, 0x100), 0x200B, 0xE0001, 0x1F30A)),
    ]
    literals = page_functions.literals(texts)
    assert [eval(python) for python, _ in literals] == texts  # noqa: S307  what is tested
    words = [word for _, word in literals]
    for shell, known in (("bash", words), ("sh", [each for each in words if each[:1] != "$"])):
        ran = subprocess.run(
            [shell, "-c", f"printf '%s\\0' {' '.join(known)}"],
            env={"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        meant = [text for text, word in zip(texts, words, strict=True) if word in set(known)]
        assert ran.stdout.decode().split("\0")[:-1] == meant
