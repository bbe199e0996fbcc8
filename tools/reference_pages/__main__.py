"""Writes the pages that are made from the code, or their tables between two marks.

    make reference

The other text of a page stays as it is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from reference_pages.pages import PAGES, current

PROJECT = Path(__file__).parents[2]


def main(pages: Path = PROJECT) -> int:
    """Writes the pages in a folder that are not current; returns the exit code."""
    for name in PAGES:
        path = pages / name
        page = path.read_text(encoding="utf-8")
        wanted = current(name, page, PROJECT)
        if wanted != page:
            path.write_text(wanted, encoding="utf-8")
            print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
