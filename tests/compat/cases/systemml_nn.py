"""SystemML 1.2's own tests of its neural network library, one case a test function.

Most draw random inputs without seeds, and all report what is wrong as text, so nothing is recorded but that they pass.
"""

import re

import oracles
from case import Case, add

FOLDER = oracles.SCRIPTS["systemml"] / "nn" / "test"

for file in ("grad_check", "test"):
    text = (FOLDER / f"{file}.dml").read_text() if FOLDER.is_dir() else ""
    for name in re.findall(r"^(\w+) = function\(\)", text, re.M):
        add(
            Case(
                family="SystemML nn tests",
                name=f"{file}-{name}",
                covers=[f"{file}::{name}"],
                script=f'source("nn/test/{file}.dml") as suite\nsuite::{name}()\n',
                outputs=[],
                system="systemml",
                forbidden=("ERROR",),
            )
        )
