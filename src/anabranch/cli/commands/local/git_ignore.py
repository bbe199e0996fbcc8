"""The section of `.gitignore` that keeps linked folders out of Git, as lakectl writes it."""

from __future__ import annotations

from pathlib import Path

from anabranch.cli.commands.local.link import LINK_FILE

__all__ = ["ignore_in_git"]

_MARKER = "# ignored by lakectl local:"


def ignore_in_git(folder: Path) -> Path | None:
    """Adds the content of a folder, except for its link, to the `.gitignore` of the Git work tree
    around it. Returns the file, None outside of a work tree or if nothing had to be added.
    """
    folder = folder.resolve()
    root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    if root is None:
        return None
    inside = folder.relative_to(root)
    entries = [str(inside / "*"), f"!{inside / LINK_FILE}"]
    file = root / ".gitignore"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    if _MARKER not in lines:
        lines.append(_MARKER)
    start = lines.index(_MARKER) + 1
    end = next((n for n in range(start, len(lines)) if not lines[n].strip()), len(lines))
    missing = [entry for entry in entries if entry not in lines[start:end]]
    if not missing:
        return None
    lines[end:end] = missing
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file
