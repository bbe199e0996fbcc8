"""Functions of the page that write snippets, which run in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["PageFunctions", "can_run_page_functions", "running_page_functions"]

_WEB = Path(__file__).parents[3] / "web"
_PROGRAM = """
import { createServer } from "vite";
import { createInterface } from "node:readline";
const server = await createServer({
  configFile: false,
  logLevel: "error",
  optimizeDeps: { noDiscovery: true },
  server: { middlewareMode: true, ws: false },
});
const { TOOLS } = await server.ssrLoadModule("/src/snippets/snippets.ts");
const { pythonString, shellWord } = await server.ssrLoadModule("/src/snippets/quoting.ts");
const { tableTools } = await server.ssrLoadModule("/src/tables/snippets.ts");
const written = (tools, source) =>
  Object.fromEntries(tools.map(({ id, write }) => [id, write(source)]));
const functions = {
  snippets: ({ sources }) => sources.map((source) => written(TOOLS, source)),
  tables: ({ sources, format }) =>
    sources.map((source) => written(tableTools(source, format), source)),
  literals: ({ texts }) => texts.map((each) => [pythonString(each), shellWord(each)]),
};
for await (const line of createInterface({ input: process.stdin })) {
  const [name, given] = JSON.parse(line);
  console.log(JSON.stringify(functions[name](given)));
}
await server.close();
"""

Source = dict[str, str]
"""Where a snippet reads: the server's URL, the repository, the reference and the path."""


class PageFunctions:
    """A process of Node that answers each line."""

    def __init__(self, asked: IO[str], answered: IO[str]) -> None:
        self._asked = asked
        self._answered = answered

    def snippets(self, sources: list[Source]) -> list[dict[str, str]]:
        """Returns the snippets for each object or folder, by the tool; "" where there is none."""
        found: list[dict[str, str]] = self._ask("snippets", sources=sources)
        return found

    def tables(self, sources: list[Source], table_format: str) -> list[dict[str, str]]:
        """Returns the snippets for each table of a format, by the tool, where there is one."""
        found: list[dict[str, str]] = self._ask("tables", sources=sources, format=table_format)
        return found

    def literals(self, texts: list[str]) -> list[tuple[str, str]]:
        """Returns each text as a literal of Python and as a word of a shell."""
        return [(python, word) for python, word in self._ask("literals", texts=texts)]

    def _ask(self, name: str, **given: Any) -> Any:
        self._asked.write(json.dumps([name, given]) + "\n")
        self._asked.flush()
        answer = self._answered.readline()
        assert answer, "Node has ended: its error is among the output"
        return json.loads(answer)


def can_run_page_functions() -> bool:
    """Returns whether Node and the packages of the page are there."""
    return shutil.which("node") is not None and (_WEB / "node_modules/vite").exists()


@contextmanager
def running_page_functions() -> Iterator[PageFunctions]:
    """Runs the process."""
    command = ["node", "--input-type=module", "-e", _PROGRAM]
    with subprocess.Popen(
        command,
        cwd=_WEB,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        yield PageFunctions(node.stdin, node.stdout)
        node.stdin.close()
