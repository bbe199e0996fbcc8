"""Snippets of "Use this data" do what they say: each is run, for paths that quoting gets wrong."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from support.browser.snippet_programs import snippet_environment

WEB = Path(__file__).parents[2] / "web"
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
PYTHON = ("pandas", "polars", "duckdb", "boto3")
SHELL = ("anabranch", "curl")
LOAD = """
import { createServer } from "vite";
import { text } from "node:stream/consumers";
const server = await createServer({
  configFile: false,
  logLevel: "error",
  optimizeDeps: { noDiscovery: true },
  server: { middlewareMode: true, ws: false },
});
const { TOOLS } = await server.ssrLoadModule("/src/snippets/snippets.ts");
const { pythonString, shellWord } = await server.ssrLoadModule("/src/snippets/quoting.ts");
const { sources, texts } = JSON.parse(await text(process.stdin));
const write = (source) => Object.fromEntries(TOOLS.map(({ id, write }) => [id, write(source)]));
const literals = texts.map((each) => [pythonString(each), shellWord(each)]);
console.log(JSON.stringify({ snippets: sources.map(write), literals }));
await server.close();
"""


def ask_the_page(**questions):
    """Returns what the functions of the page return, which run in Node."""
    if shutil.which("node") is None or not (WEB / "node_modules/vite").exists():
        pytest.skip("Node.js and the packages of web/ are needed: `make web` installs them")
    ran = subprocess.run(
        ["node", "--input-type=module", "-e", LOAD],
        cwd=WEB,
        input=json.dumps({"sources": [], "texts": [], **questions}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


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


@pytest.fixture
def environment(site, tmp_path):
    """Variables of the programs."""
    return snippet_environment(site, tmp_path)


def source(site, repository, path, ref="main"):
    return {"server": site.url, "repository": repository.name, "ref": ref, "path": path}


def run_python(snippets, environment, cwd):
    """Runs snippets one after another in one process, which imports are made in once."""
    program = (
        "import json, sys, traceback\n"
        "for name, text in json.load(sys.stdin):\n"
        "    print('==', name)\n"
        "    try: exec(compile(text, name, 'exec'), {})\n"
        "    except BaseException: traceback.print_exc(file=sys.stdout)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error::SyntaxWarning", "-c", program],
        input=json.dumps(snippets),
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    outputs = ran.stdout.split("== ")[1:]
    return {name: outputs[index] for index, (name, _) in enumerate(snippets)}


@pytest.mark.sample(1)
@pytest.mark.parametrize("suffix", FORMATS)
def test_programs_read_the_object_at_every_path(
    site, files_repository, environment, tmp_path, suffix
):
    paths = [path + suffix for path in NASTY]
    answer = ask_the_page(sources=[source(site, files_repository, path) for path in paths])
    snippets = [
        (f"{tool} {index}", each[tool])
        for index, each in enumerate(answer["snippets"])
        for tool in PYTHON
        if each[tool]
    ]
    assert len(snippets) >= len(PYTHON) * len(NASTY) - 1  # DuckDB reads no `..`, but of Parquet
    outputs = run_python(snippets, environment, tmp_path)
    for name, output in outputs.items():
        if name.startswith("boto3"):
            assert output.split()[2] == str(len(files_repository.get(paths[0]))), (name, output)
        else:
            assert "10935" in output, (name, output)
            assert "Tonga" in output, (name, output)


@pytest.mark.parametrize("tool", SHELL)
def test_commands_download_the_object_at_every_path(
    site, files_repository, environment, tmp_path, tool
):
    paths = [f"{path}.csv" for path in NASTY]
    answer = ask_the_page(sources=[source(site, files_repository, path) for path in paths])
    for index, each in enumerate(answer["snippets"]):
        folder = tmp_path / str(index)
        folder.mkdir()
        ran = subprocess.run(
            ["bash", "--norc", "-euc", each[tool]],
            env=environment,
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


def test_folders_are_read_whole_or_not_offered(site, files_repository, environment, tmp_path):
    folders = [f"folder of {path}/" for path in NASTY]
    files_repository.branch("folders")
    answer = ask_the_page(
        sources=[source(site, files_repository, path, "folders") for path in folders]
    )
    offered = {tool: sum(bool(each[tool]) for each in answer["snippets"]) for tool in PYTHON}
    assert offered == {"pandas": 10, "polars": 7, "duckdb": 9, "boto3": 13}
    snippets = [
        (f"{tool} {index}", each[tool])
        for index, each in enumerate(answer["snippets"])
        for tool in PYTHON
        if each[tool]
    ]
    # of each folder, the Parquet file alone
    for path in folders:
        for suffix in (".csv", ".jsonl"):
            files_repository.delete(f"{path}part{suffix}", "folders")
    for name, output in run_python(snippets, environment, tmp_path).items():
        if name.startswith("boto3"):
            assert "part.parquet" in output, (name, output)
        else:
            assert "10935" in output, (name, output)
    for index, each in enumerate(answer["snippets"]):
        folder = tmp_path / f"folder {index}"
        folder.mkdir()
        ran = subprocess.run(
            ["bash", "--norc", "-euc", each["curl"]],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert [item["path"] for item in json.loads(ran.stdout)["results"]] == [
            f"{folders[index]}part.parquet"
        ]


def test_a_pinned_snippet_reads_the_commit(site, files_repository, environment, tmp_path):
    commit = files_repository.head()["id"]
    files_repository.branch("moving")
    files_repository.put("plain.csv", b"depth,name\n1,Changed\n", "moving")
    answer = ask_the_page(
        sources=[source(site, files_repository, "plain.csv", ref) for ref in ("moving", commit)]
    )
    snippets = [
        (f"{tool} {index}", each[tool])
        for index, each in enumerate(answer["snippets"])
        for tool in ("pandas", "polars", "duckdb")
    ]
    for name, output in run_python(snippets, environment, tmp_path).items():
        assert ("Changed" in output) == name.endswith(" 0"), (name, output)
        assert ("10935" in output) == name.endswith(" 1"), (name, output)


def test_python_and_shells_read_literals_as_they_are_meant():
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
    literals = ask_the_page(texts=texts)["literals"]
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
