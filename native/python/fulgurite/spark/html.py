"""HTML for notebooks: styles that reach nothing else on the page, and ids that occur once."""

import html
import itertools
import re
import uuid

_numbers = itertools.count(1)

_STYLE = """
table {border-collapse: collapse; font-size: 13px}
caption {text-align: left; font-weight: bold; padding: .3rem 0}
th, td {text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #8884}
pre {font: 12px/1.4 ui-monospace, monospace; white-space: pre; overflow-x: auto; margin: 0}
"""


def table(caption, rows):
    """Rows of texts below a caption; the first text of a row is its heading."""
    lines = "".join(
        f'<tr><th scope="row">{html.escape(str(row[0]))}</th>' + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row[1:]) + "</tr>"
        for row in rows)
    return _scoped(f"<table><caption>{html.escape(caption)}</caption><tbody>{lines}</tbody></table>")


def text(lines):
    return _scoped(f"<pre>{html.escape(lines)}</pre>")


def page(document):
    """A picture, or what is in the body of an HTML page, with its styles and ids made its own."""
    number = _id()
    styles = re.findall(r"<style>(.*?)</style>", document, re.DOTALL)
    body = re.search(r"<body[^>]*>(.*)</body>", document, re.DOTALL)
    content = re.sub(r"<style>.*?</style>", "", body[1] if body else document, flags=re.DOTALL)
    content = re.sub(r'\b(id|aria-labelledby)="([^"]+)"', rf'\1="{number}-\2"', content)
    content = re.sub(r'\bhref="#([^"]+)"', rf'href="#{number}-\1"', content)
    style = "".join(_within(f"#{number}", one) for one in styles)
    return f'<div id="{number}"><style>{style}</style>{content}</div>'


def _scoped(content):
    number = _id()
    return f'<div id="{number}"><style>{_within(f"#{number}", _STYLE)}</style>{content}</div>'


def _id():
    # Several kernels may have written what one page shows.
    return f"fulgurite-{next(_numbers)}-{uuid.uuid4().hex[:8]}"


def _within(scope, style):
    """The rules of a style sheet, for what is inside an element. Rules of conditions (``@media``) keep these around them."""

    def rule(match):
        selectors = match[1].strip()
        if selectors.startswith("@"):
            return match[0]
        inside = (scope if one.strip() in ("body", ":root", "html") else f"{scope} {one.strip()}" for one in selectors.split(","))
        return ",".join(inside) + "{"

    # What stands before a brace that opens.
    return re.sub(r"([^{}]+)\{", rule, style)
