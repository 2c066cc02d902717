"""The reference in docs/ says what the docstrings say. UPDATE_DOCS=1 writes it anew."""

import inspect
import os
import pathlib

import fulgurite as fg
import fulgurite.linalg

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "python-reference.md"

HEAD = """# Reference of the Python package

What `import fulgurite as fg` has, with the signature and what it does. [Arrays in
Python](python.md) is the guide. A test writes this page from the docstrings.
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


def methods():
    names = [
        name
        for name, value in vars(fg.Array).items()
        if not name.startswith("_") and (callable(value) or isinstance(value, property))
    ]
    rows = []
    for name in sorted(names):
        value = vars(fg.Array)[name]
        if isinstance(value, property):
            rows.append(entry(name, value.fget).replace("(self)", "", 1))
        else:
            rows.append(entry(name, value).replace("(self, ", "(", 1).replace("(self)", "()", 1))
    return "\n## Arrays\n\n| | |\n|---|---|\n" + "\n".join(rows) + "\n"


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
        + methods()
        + table("Classes", fg, classes)
    )


def test_the_reference_says_what_docstrings_say():
    text = reference()
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "UPDATE_DOCS=1 writes it anew"
