"""Scripts, their inputs and outputs."""

from pathlib import Path

from .errors import error, failed


class Script:
    """A script's text, its inputs, and the names of its outputs. Calls can be chained.

    Names that begin with ``$`` are arguments of the script; all others are variables.
    """

    def __init__(self, text, name="script.dml"):
        self.text = text
        self.name = name
        self.inputs = {}
        self.outputs = []

    def input(self, *pair, **named):
        """``input("X", df)``, ``input(X=df, y=ydf)`` or ``input({"$k": 3})``."""
        if len(pair) == 1 and isinstance(pair[0], dict):
            values = pair[0]
        elif len(pair) == 2:
            values = {pair[0]: pair[1]}
        elif not pair:
            values = {}
        else:
            raise failed("argument", "input takes a name and a value, keywords, or a dictionary")
        self.inputs.update(values)
        self.inputs.update(named)
        return self

    def output(self, *names):
        """``output("a", "b")`` or ``output(["a", "b"])``."""
        for name in flat(names):
            if name not in self.outputs:
                self.outputs.append(name)
        return self

    def __repr__(self):
        return f"Script({self.name}, inputs: {', '.join(self.inputs) or 'none'}, outputs: {', '.join(self.outputs) or 'none'})"


def flat(names):
    """Names, some of which come in lists or tuples."""
    for name in names:
        if isinstance(name, (list, tuple)):
            yield from flat(name)
        elif isinstance(name, str):
            yield name
        else:
            raise error("argument", f"{name!r} is no name of an output", "names are strings; several are given one by one, or as a list or tuple")


def script_of(script):
    """A script, of what an execution is given."""
    if isinstance(script, Script):
        return script
    if isinstance(script, str):
        return dml(script)
    if isinstance(script, Path):
        return dmlFromFile(script)
    raise error("argument", f"a {type(script).__name__} is no script", "give what dml or dmlFromFile made, the script's text, or the path of a file")


def dml(text):
    """A script from its text, or from the file if the text is a path that ends in ``.dml``."""
    return dmlFromFile(text) if text.endswith(".dml") and "\n" not in text else Script(text)


def dmlFromFile(path):
    try:
        return Script(Path(path).read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise failed("io", f"cannot read the script '{path}': {error.strerror}") from None
