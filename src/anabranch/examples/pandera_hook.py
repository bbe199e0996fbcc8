"""A hook, of a server or a lake in a folder: rows are merged if they satisfy a Pandera schema."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pandera.pandas as pa

from anabranch.actions.hooks.contract import HookContext
from anabranch.errors import HookFailed, NotFound

__all__ = ["Delays"]
SCHEMA = pa.DataFrameSchema(
    {"id": pa.Column(int, unique=True), "delay": pa.Column(int, pa.Check.in_range(-60, 1440))},
    strict=True,
)


class Delays:
    """The table at the argument `path`."""

    def __init__(self, args: dict[str, Any]) -> None:
        self.path = args["path"]

    def run(self, context: HookContext) -> None:
        """Raises HookFailed for the first wrong row; the output of the hook has all of them."""
        try:
            with context.lake.read(context.reference, self.path) as file:
                SCHEMA.validate(pd.read_csv(file), lazy=True)
        except NotFound:
            return
        except pa.errors.SchemaErrors as error:
            cases = [f"{case.column}: {case.check}" for case in error.failure_cases.itertuples()]
            print(*cases, sep="\n")
            raise HookFailed(f"{self.path}: {cases[0]}, and {len(cases) - 1} more") from error
