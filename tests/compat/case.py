"""A case: generated inputs, a script that runs on them, and how its outputs are compared.

The script of a case is the same text on every system. It stands in a folder with its inputs in `in/` and leaves its outputs in
`out/`, so nothing in it depends on where the folder is.
"""

import dataclasses
import json
import re

import numpy as np

# Tables of cases by family, in the order of STATUS.md. Filled by the modules of `cases`.
FAMILIES = {}

SYSTEMS = ("systemds", "systemml")


@dataclasses.dataclass(frozen=True)
class Frame:
    """A table of typed columns: `columns` maps a name to its cells, `None` for a missing one."""

    columns: dict
    header: bool = False
    # Whether the file's metadata have the sizes.
    sized: bool = True

    def types(self):
        kinds = {bool: "BOOLEAN", int: "INT64", float: "FP64", str: "STRING"}
        return [kinds[next((type(cell) for cell in cells if cell is not None), str)] for cells in self.columns.values()]

    def rows(self):
        return list(zip(*self.columns.values(), strict=True))


@dataclasses.dataclass(frozen=True)
class Output:
    """A variable that the script ends with; `kind` is matrix, scalar, text or frame."""

    name: str
    kind: str = "matrix"

    @staticmethod
    def parse(text):
        return [Output(*word.strip().split(":")) for word in text.split(",") if word.strip()]


@dataclasses.dataclass
class Case:
    """`covers` are the scripts of the reference that the case stands for, each a row of STATUS.md."""

    family: str
    name: str
    covers: list
    script: str
    outputs: list
    inputs: dict = dataclasses.field(default_factory=dict)
    # Relative to the largest cell of the output, as well as to the cell itself where `cellwise`.
    tolerance: float = 1e-8
    system: str = "systemds"
    # Why the numbers of two systems differ by more than rounding; the script then writes what they have in common.
    note: str = ""
    # Where scripts are run as they are, instead of a driver: (path, arguments), one after the other. Arguments are a dictionary of
    # names or a list.
    steps: list = dataclasses.field(default_factory=list)
    # Other files of the case's folder: path to text.
    files: dict = dataclasses.field(default_factory=dict)
    # Words that must not be printed: the suites of nn report their failures so.
    forbidden: tuple = ()

    def driver(self):
        """The DML that reads the inputs, runs the script and writes the outputs."""
        lines = []
        # The language wants its `source` statements first.
        sources = re.findall(r"^source\(.*$", self.script, re.M)
        body = re.sub(r"^source\(.*\n?", "", self.script, flags=re.M)
        lines += sources
        lines += [f'{name} = read("in/{name}")' for name in self.inputs]
        lines += [line.rstrip() for line in body.strip().splitlines()]
        for output in self.outputs:
            form = ', format="csv"' if output.kind in ("matrix", "frame") else ""
            lines.append(f'write({output.name}, "out/{output.name}"{form})')
        return "\n".join(lines) + "\n"


@dataclasses.dataclass(frozen=True)
class Excluded:
    family: str
    script: str
    reason: str


EXCLUDED = []


def add(case):
    cases = FAMILIES.setdefault(case.family, [])
    if any(other.name == case.name for other in cases):
        raise ValueError(f"two cases are named {case.name}")
    cases.append(case)
    return case


def builtin(covers, script, out, *, name=None, family=None, **options):
    """A case of SystemDS's builtin scripts. `covers` has several names where one case calls several."""
    names = covers.split()
    inputs = {key: options.pop(key) for key in list(options) if key not in CASE_OPTIONS}
    family = family or "SystemDS builtins"
    return add(Case(family, name or names[0], names, script, Output.parse(out), inputs, **options))


CASE_OPTIONS = {field.name for field in dataclasses.fields(Case)} - {"script", "outputs", "inputs", "covers", "name", "family"}


def scripts(family, covers, steps, out, *, name=None, **options):
    """A case of SystemML's scripts, which read and write files that their arguments name. The family is a folder of its scripts."""
    names = covers.split()
    inputs = {key: options.pop(key) for key in list(options) if key not in CASE_OPTIONS}
    options.setdefault("system", "systemml")
    return add(Case(family, name or names[0], names, "", Output.parse(out), inputs, steps=steps, **options))


def exclude(names, reason, family="SystemDS builtins"):
    EXCLUDED.extend(Excluded(family, name, reason) for name in names.split())


def number(value):
    """Digits that give the same double again, in what every system reads."""
    value = float(value)
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def write_matrix(path, matrix, sparse):
    matrix = np.atleast_2d(np.asarray(matrix, dtype=float))
    rows, cols = matrix.shape
    if sparse:
        # NaN is no zero: what is stored is what differs from 0.
        cells = [f"{i + 1} {j + 1} {number(matrix[i, j])}" for i, j in zip(*np.nonzero(matrix), strict=True)]
        path.write_text("\n".join(cells or ["1 1 0"]) + "\n")
        about = {"format": "text", "nnz": max(len(cells), 0)}
    else:
        path.write_text("".join(",".join(map(number, row)) + "\n" for row in matrix))
        about = {"format": "csv", "header": False, "sep": ",", "nnz": int(np.count_nonzero(matrix))}
    about = {"data_type": "matrix", "value_type": "double", "rows": rows, "cols": cols, **about}
    path.with_name(path.name + ".mtd").write_text(json.dumps(about))


def write_frame(path, frame):
    def cell(value):
        if value is None:
            return ""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, float):
            return number(value)
        text = str(value)
        return '"' + text.replace('"', '""') + '"' if re.search('[,"\n]', text) else text

    lines = [",".join(frame.columns)] if frame.header else []
    rows = frame.rows()
    lines += [",".join(map(cell, row)) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    about = {"data_type": "frame", "format": "csv", "header": frame.header, "sep": ","}
    if frame.sized:
        about |= {"rows": len(rows), "cols": len(frame.columns)}
    about["schema"] = ",".join(frame.types())
    path.with_name(path.name + ".mtd").write_text(json.dumps(about))


def write_scalar(path, value):
    kind = "boolean" if isinstance(value, bool) else "int" if isinstance(value, int) else "double" if isinstance(value, float) else "string"
    path.write_text(str(value))
    path.with_name(path.name + ".mtd").write_text(json.dumps({"data_type": "scalar", "value_type": kind}))


def write_folder(case, folder, sparse=False):
    """Lays out the folder that the case runs in."""
    (folder / "in").mkdir(parents=True)
    (folder / "out").mkdir()
    for name, value in case.inputs.items():
        path = folder / "in" / name
        if isinstance(value, Frame):
            write_frame(path, value)
        elif isinstance(value, (bool, int, float, str)):
            write_scalar(path, value)
        else:
            write_matrix(path, value, sparse)
    for name, text in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    if not case.steps:
        (folder / "driver.dml").write_text(case.driver())


def forbidden_line(case, printed):
    return next((line.strip() for line in printed.splitlines() if any(word in line for word in case.forbidden)), None)


# ---- What a system wrote, and what is recorded of it ----


def parts(path):
    """The text of a file, or of a folder of part files, in the order of their numbers."""
    if path.is_dir():
        files = [file for file in path.iterdir() if not file.name.startswith((".", "_")) and not file.name.endswith((".crc", ".mtd"))]
        files.sort(key=lambda file: int(re.search(r"\d+", file.name)[0]))
        return "".join(part(file.read_text()) for file in files)
    return path.read_text()


def part(text):
    return text if text.endswith("\n") or not text else text + "\n"


def read_output(folder, output):
    path = folder / "out" / output.name
    about = path.with_name(path.name + ".mtd")
    text = parts(path)
    if output.kind == "matrix":
        known = json.loads(about.read_text()) if about.exists() else {}
        lines = [line for line in text.splitlines() if line.strip()]
        if known.get("format", "csv") == "csv":
            return [[float(cell) if cell.strip() else 0.0 for cell in line.split(",")] for line in lines]
        matrix = [[0.0] * int(known["cols"]) for _ in range(int(known["rows"]))]
        for line in lines:
            i, j, value = line.split()
            if int(i) > 0:
                matrix[int(i) - 1][int(j) - 1] = float(value)
        return matrix
    if output.kind == "scalar":
        word = text.strip()
        return {"true": 1.0, "false": 0.0}.get(word.lower()) if word.lower() in ("true", "false") else float(word)
    if output.kind == "frame":
        return [line.rstrip() for line in text.splitlines()]
    return text.rstrip("\n")


def dump(case, values):
    """The recorded form: for each output a line `= name kind lines` and its lines."""
    lines = []
    for output in case.outputs:
        value = values[output.name]
        if output.kind == "matrix":
            body = [",".join(map(number, row)) for row in value]
        elif output.kind == "scalar":
            body = [number(value)]
        elif output.kind == "frame":
            body = list(value)
        else:
            body = value.split("\n")
        lines += [f"= {output.name} {output.kind} {len(body)}", *body]
    return "\n".join(lines) + "\n"


def load(text):
    """Name to (kind, value) of a recording."""
    lines = text.split("\n")
    found, at = {}, 0
    while at < len(lines) and lines[at].startswith("= "):
        _, name, kind, count = lines[at].split(" ")
        body = lines[at + 1 : at + 1 + int(count)]
        at += 1 + int(count)
        if kind == "matrix":
            value = [[float(cell) for cell in line.split(",")] for line in body]
        elif kind == "scalar":
            value = float(body[0])
        else:
            value = body if kind == "frame" else "\n".join(body)
        found[name] = (kind, value)
    return found
