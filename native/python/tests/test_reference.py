"""The reference in docs/ says what the docstrings say. UPDATE_DOCS=1 writes it anew."""

import inspect
import os
import pathlib

import fulgurite as fg
import fulgurite.linalg
from fulgurite import _expression_texts, _lazyframe

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "python-reference.md"

HEAD = """# Reference of the Python package

What `import fulgurite as fg` has, with the signature and what it does. [Arrays in
Python](python.md) and [frames in Python](frames.md) are the guides. A test writes this page from the docstrings.
"""


def signature(value):
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""


def entry(name, value):
    doc = inspect.getdoc(value) or ""
    sentence = doc.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
    assert sentence, f"{name} has no docstring"
    return f"| `{name}{signature(value)}` | {sentence.replace('``', '`')} |"


def table(title, module, names):
    rows = [entry(name, getattr(module, name)) for name in sorted(set(names))]
    return f"\n## {title}\n\n| | |\n|---|---|\n" + "\n".join(rows) + "\n"


def methods(title, kind, prefix=""):
    names = [
        name
        for name, value in vars(kind).items()
        if not name.startswith("_") and name != "function" and (callable(value) or isinstance(value, property))
    ]
    rows = []
    for name in sorted(names):
        value = vars(kind)[name]
        name = prefix + name
        if isinstance(value, property):
            rows.append(entry(name, value.fget).replace("(self)", "", 1))
        else:
            rows.append(entry(name, value).replace("(self, ", "(", 1).replace("(self)", "()", 1))
    return f"\n## {title}\n\n| | |\n|---|---|\n" + "\n".join(rows) + "\n"


def reference():
    public = [name for name in dir(fg) if not name.startswith("_")]
    functions = [
        name
        for name in fg._api.__all__
        if inspect.isfunction(getattr(fg, name)) and not name.startswith("_")
    ]
    classes = [
        name
        for name in fg._api.__all__
        if inspect.isclass(getattr(fg, name)) and getattr(fg, name).__module__.startswith("fulgurite")
    ]
    assert set(functions) <= set(public)
    return (
        HEAD
        + table("Functions", fg, functions)
        + table("Linear algebra: `fg.linalg`", fulgurite.linalg, fulgurite.linalg.__all__)
        + methods("Arrays", fg.Array)
        + methods("Lazy frames", fg.LazyFrame)
        + methods("Groups of rows", _lazyframe.GroupBy)
        + methods("Expressions", fg.Expr)
        + methods("Expressions of texts", _expression_texts.Texts, "str.")
        + methods("Expressions of dates", _expression_texts.Dates, "dt.")
        + methods("Names of expressions", _expression_texts.Names, "name.")
        + table("Classes", fg, classes)
    )


def test_the_reference_says_what_docstrings_say():
    text = reference()
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "UPDATE_DOCS=1 writes it anew"
