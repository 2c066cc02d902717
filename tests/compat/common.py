"""What recording and running share: the folder that a case runs in, and where recordings are."""

import contextlib
import hashlib
import importlib
import pathlib
import pkgutil
import tempfile

import case as cases
import oracles

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE / "recorded"
FAILED = "! "
VARIES = "~ varies"


def load_cases():
    """All families, from the modules of `cases`."""
    package = HERE / "cases"
    for module in sorted(module.name for module in pkgutil.iter_modules([str(package)])):
        importlib.import_module(f"cases.{module}")
    return cases.FAMILIES


@contextlib.contextmanager
def folder_of(case, sparse=False):
    """A temporary folder with the case's files, where `source` finds the reference's scripts by the paths that its scripts use."""
    with tempfile.TemporaryDirectory(prefix="compat-") as name:
        folder = pathlib.Path(name)
        cases.write_folder(case, folder, sparse)
        scripts = oracles.SCRIPTS[case.system]
        (folder / "scripts").symlink_to(scripts)
        (folder / "nn").symlink_to(scripts / "nn")
        yield folder


def steps_of(case):
    """The files to run one after the other, relative to the case's folder, each with its arguments as words."""
    for script, arguments in case.steps or [("driver.dml", None)]:
        if isinstance(arguments, dict):
            yield script, ["-nvargs", *(f"{key}={value}" for key, value in arguments.items())]
        else:
            yield script, ["-args", *map(str, arguments)] if arguments else []


def fingerprint(case):
    """Of all that the outputs depend on: a recording with another one is stale."""
    digest = hashlib.sha256()
    with folder_of(case) as folder:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.relative_to(folder).parts[0] not in ("scripts", "nn"):
                digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(repr((case.system, list(steps_of(case)) if case.steps else None)).encode())
    return digest.hexdigest()[:16]


def recording(case):
    return RECORDED / case.family.lower().replace(" ", "-") / f"{case.name}.txt"


def read_recording(case):
    """Fingerprint, verdict (`""`, the reference's error, or that it varies) and outputs; `None` where nothing is recorded."""
    path = recording(case)
    if not path.exists():
        return None
    first, _, rest = path.read_text().partition("\n")
    verdict = ""
    if rest.startswith((FAILED, VARIES)):
        verdict, _, rest = rest.partition("\n")
    return first.split()[-1], verdict, cases.load(rest)


def run_outputs(case, folder):
    """The outputs that a run left, by name."""
    return {output.name: cases.read_output(folder, output) for output in case.outputs}


def select(families, words):
    """The cases of which a family, a name or a covered script is among the words; all without words."""
    chosen = [case for group in families.values() for case in group]
    if words:
        chosen = [case for case in chosen if any(word in (case.family, case.name, *case.covers) for word in words)]
    return chosen
