"""Lists each file of the code with the sentence that it begins with, to find a feature by its noun.

    make modules | grep -i 'pull request'

Each line has the path of the file and, after a tab, the sentence.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parent.parent

_FILES = ("src/anabranch/**/*.py", "kernel/*/src/**/*.rs", "web/src/**/*.ts", "web/src/**/*.svelte")
_DOCSTRING = re.compile(r'""".*?"""', re.DOTALL)
_GENERATED = re.compile(r"_pb2\.py$|/schema\.ts$")
_NEXT_SENTENCE = re.compile(r"\.\s+(?=[A-Z`\"_])")
_SVELTE = re.compile(r"<!--(.*?)-->", re.DOTALL)
_SLASHES = re.compile(r"(?://!?.*\n)+")


def sentences(project: Path = PROJECT) -> Iterator[tuple[str, str]]:
    """Yields the path of each file and its first sentence, "" if it has none."""
    for pattern in _FILES:
        for path in sorted(project.glob(pattern)):
            name = path.relative_to(project).as_posix()
            if not _GENERATED.search(name):
                paragraph = " ".join(_opening_comment(path).strip().partition("\n\n")[0].split())
                yield name, _NEXT_SENTENCE.split(paragraph)[0].rstrip(".:")


def _opening_comment(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        # to parse whole files takes seconds
        literal = found[0] if (found := _DOCSTRING.match(text)) else text
        return ast.get_docstring(ast.parse(literal)) or ""
    if path.suffix == ".svelte":
        return found[1] if (found := _SVELTE.match(text)) else ""
    slashes = found[0] if (found := _SLASHES.match(text)) else ""
    return re.sub(r"^//!? ?", "", slashes, flags=re.MULTILINE)


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}\t{sentence}\n" for name, sentence in sentences())
