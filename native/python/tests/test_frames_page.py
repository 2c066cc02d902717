"""The examples of docs/frames.md print what the page shows."""

import doctest
import pathlib
import re


PAGE = pathlib.Path(__file__).parents[3] / "docs" / "frames.md"


def test_the_page_shows_what_is_printed():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    found = doctest.DocTestRunner().run(test)
    assert found.failed == 0 and found.attempted >= 15


def test_sentences_are_short_and_lines_wrap():
    text = PAGE.read_text()
    for line in text.splitlines():
        assert len(line) <= 100 or line.startswith(("|", ">>>", "{", "...")), line
    prose = re.sub(r"```.*?```|^\|.*?$|^#.*?$|^- ", "", text, flags=re.DOTALL | re.MULTILINE)
    for sentence in re.split(r"(?<=[.:;])\s+", prose):
        assert len(sentence.split()) <= 35, sentence
