"""Python functions among the expressions of frames."""

import datetime
import functools
import linecache
import math
import re
import warnings
from pathlib import Path

import fulgurite as fg
import functions
import numpy as np
import pytest
from fulgurite._row_functions import apply, column_of
from fulgurite._translate import Untranslatable, translate

_FUNCTIONS = 150


def collected(frame):
    return frame.collect().to_dict()


def total(price, count):
    return price * count if count > 0 else 0.0


def inverse(x):
    return None if x is None else 10 // x


def reversed_text(s):
    return "".join(reversed(s))


def test_map():
    frame = fg.frame({"price": [1.5, 2.0], "count": [2, 0]})
    assert collected(frame.map(total)) == {"price": [1.5, 2.0], "count": [2, 0], "total": [3.0, 0.0]}
    assert collected(frame.map(total, name="t").select("t")) == {"t": [3.0, 0.0]}
    assert frame.map(total).schema["total"] == "float64"
    with pytest.raises(fg.ColumnError):
        frame.select("price").map(total).collect()


def test_defaults_and_constants():
    @fg.udf
    def start(s, n=2):
        return s[:n]

    frame = fg.frame({"s": ["abc", "d"]})
    made = frame.select(two=start("s"), one=start(fg.col("s"), 1), three=start("s", n=3))
    assert collected(made) == {"two": ["ab", "d"], "one": ["a", "d"], "three": ["abc", "d"]}
    assert collected(frame.map(start.function)) == {"s": ["abc", "d"], "start": ["ab", "d"]}
    assert repr(start("s", n=1)) == "start(s=col('s'), n=1)"
    with pytest.raises(TypeError, match="start: "):
        start("s", 1, 2)
    with pytest.raises(TypeError, match="gets a column at least"):
        start(1)


def test_expressions_around_functions():
    double = fg.udf(lambda x: x * 2)
    frame = fg.frame({"x": [3, 1, 2]})
    assert collected(frame.filter(double("x") > 2)) == {"x": [3, 2]}
    assert collected(frame.sort(-double("x"))) == {"x": [3, 2, 1]}
    assert collected(frame.select(y=double(fg.col("x") + 1) + 1)) == {"y": [9, 5, 7]}
    assert collected(frame.select(double("x").sum().alias("s"))) == {"s": [12]}
    groups = frame.group_by(fg.col("x") % 2).agg(s=double("x").sum()).sort("x")
    assert collected(groups) == {"x": [0, 1], "s": [4, 8]}


def test_an_exception_has_the_row():
    frame = fg.frame({"x": [1, 3, None, 0]}).map(inverse)
    with pytest.raises(ZeroDivisionError) as raised:
        frame.collect()
    assert raised.value.__notes__ == ["in row 3 (counted from 0): x=0"]
    # A filter below keeps the row away.
    safe = fg.frame({"x": [1, 3, None, 0]}).filter(fg.col("x").fill_null(1) != 0).map(inverse)
    assert collected(safe) == {"x": [1, 3, None], "inverse": [10, 3, None]}


def test_whole_numbers_beyond_64_bits():
    frame = fg.frame({"x": [1, 2**40, 7]})
    assert collected(frame.select(y=fg.udf(lambda x: x * x // 2**40)("x"))) == {"y": [0, 2**40, 0]}
    with pytest.raises(OverflowError, match=r"in row 1 .* needs more than 64 bits"):
        frame.select(y=fg.udf(lambda x: x * x)("x")).collect()


def test_functions_without_translation():
    fg.fallbacks(reset=True)
    frame = fg.frame({"s": ["ab", "c", "def"]})
    assert collected(frame.map(reversed_text))["reversed_text"] == ["ba", "c", "fed"]
    (found,) = fg.fallbacks()
    assert found.function == "reversed_text"
    line = reversed_text.__code__.co_firstlineno + 1
    assert f'a call of reversed() (line {line}: `return "".join(reversed(s))`)' in found.reason
    assert "reversed_text: runs in Python for each row" in frame.map(reversed_text, returns=str).explain()
    assert "translated" in fg.frame({"x": [1.0]}).map(inverse).explain()
    with fg.config(fallback="error"), pytest.raises(fg.FallbackError, match="reversed"):
        frame.map(reversed_text)


def test_types_of_functions_without_translation():
    def annotated(s) -> str:
        return "".join(reversed(s))

    def wrong(s):
        return len(s) if s != "c" else "".join(reversed(s))

    frame = fg.frame({"s": ["ab", "c"]})
    assert frame.map(annotated).schema["annotated"] == "string"
    assert frame.map(reversed_text, returns=str).schema["reversed_text"] == "string"
    assert frame.map(reversed_text).schema["reversed_text"] == "string"
    with pytest.raises(TypeError, match=r"wrong gave 'c' in row 1 .* str is not that of the column, int64"):
        frame.map(wrong).collect()


def test_values_are_those_of_python():
    moment = datetime.datetime(1969, 5, 6, 7, 8, 9, 10)
    made = fg.frame({"d": [datetime.date(2000, 1, 2), None], "t": [moment, None], "u": np.array([2**64 - 1, 1], dtype="u8")})
    seen = []

    def look(d, t, u):
        seen.append((d, t, u))
        return hash(u) >= 0

    assert made.map(look, name="r").select("r").collect().to_dict() == {"r": [True, True]}
    assert seen == [(datetime.date(2000, 1, 2), moment, 2**64 - 1), (None, None, 1)]


def test_what_can_be_called():
    class Scale:
        def __call__(self, x):
            return x * 2 if id(self) else x

    made = fg.frame({"x": [4.0, 9.0], "t": ["a", "bc"]})
    results = made.select(
        root=fg.udf(math.sqrt)("x"),
        length=fg.udf(len)("t"),
        upper=fg.udf(str.upper)("t"),
        power=fg.udf(functools.partial(pow, exp=2))("x"),
        twice=fg.udf(Scale())("x"),
    )
    assert results.collect().to_dict() == {
        "root": [2.0, 3.0],
        "length": [1, 2],
        "upper": ["A", "BC"],
        "power": [16.0, 81.0],
        "twice": [8.0, 18.0],
    }


def test_no_row_for_a_function_that_runs_in_python():
    none = fg.frame({"a": [1]}).filter(fg.col("a") > 9)
    assert none.map(lambda a: hash(a), name="r", returns=int).schema == {"a": "int64", "r": "int64"}
    assert none.map(lambda a: hash(a), name="r", returns=int).collect().to_dict() == {"a": [], "r": []}
    assert none.map(lambda a: hash(a), name="r").collect().to_dict() == {"a": [], "r": []}


def test_texts_that_are_not_ascii():
    frame = fg.frame({"s": ["AB", "ÀB", "ΑΣ", None]})
    lower = fg.udf(lambda s: None if s is None else s.lower())
    assert collected(frame.select(t=lower("s"))) == {"t": ["ab", "àb", "ας", None]}


def test_large_functions():
    def newton(x):
        y = x
        for _ in range(12):
            y = y - (y * y - x) / (2.0 * y)
        return y

    values = [2.0, 9.0, 0.5]
    made = fg.frame({"x": values}).map(newton)
    assert collected(made)["newton"] == [newton(x) for x in values]
    assert made.columns == ["x", "newton"]


def test_functions_call_each_other():
    @fg.udf
    def half(x):
        return x / 2

    def quarter(x):
        return half(half(x))

    def text_of_half(x):
        return repr(half(x))

    frame = fg.frame({"x": [1, 2]})
    assert collected(frame.map(quarter)) == {"x": [1, 2], "quarter": [0.25, 0.5]}
    assert collected(frame.map(text_of_half)) == {"x": [1, 2], "text_of_half": ["0.5", "1.0"]}


def test_what_a_function_does_not_get():
    f = fg.udf(lambda x: x + 1)
    with pytest.raises(ValueError, match="is an aggregate"):
        f(fg.col("x").max())
    with pytest.raises(ValueError, match="several columns"):
        f(fg.col("x", "y"))
    with pytest.raises(TypeError, match="made by with_columns"):
        fg.frame({"x": [1]}).select(f(f("x")))


def test_apply_notes_rows():
    assert apply(total, {"price": [1.0], "count": [2]}) == [2.0]
    with pytest.raises(ZeroDivisionError) as raised:
        apply(lambda x, y: x // y, {"x": [1, 2]}, {"y": 0}, rows=[5, 9])
    assert raised.value.__notes__ == ["in row 5 (counted from 0): x=1"]


def test_columns_of_results():
    assert column_of("f", [1, None, 2]) == ("int64", [1, None, 2])
    assert column_of("f", [1, 2.5]) == ("float64", [1.0, 2.5])
    assert column_of("f", [None]) == ("null", [None])
    assert column_of("f", [np.float64(1.5), np.bool_(True).item() + 0.0]) == ("float64", [1.5, 1.0])
    assert column_of("f", [datetime.date(2020, 1, 1)])[0] == "date"
    for values, error in (
        ([True, 1], TypeError),
        (["a", 1], TypeError),
        ([[1]], TypeError),
        ([2**63], OverflowError),
        ([2**53 + 1, 0.5], OverflowError),
    ):
        with pytest.raises(error, match=r"f gave .* in row"):
            column_of("f", values)


def test_random_functions():
    """Frames give what calls give, and the first exception."""
    checked = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(_FUNCTIONS):
            function, schema, nullable, source = functions.random_function(seed)
            try:
                kind = translate(function, schema, nullable).type
            except Untranslatable:
                continue
            if "uint64" in schema.values():
                # Lists of Python have whole numbers of 64 bits with a sign.
                continue
            rows = functions.random_rows(seed, schema, nullable, 12)
            columns = {name: [row[name] for row in rows] for name in schema}
            frame = fg.frame({name: [row[name] for row in rows] for name in schema})
            frame = frame.cast(schema)
            try:
                _, want = column_of("f", apply(function, columns), kind)
            except Exception as error:
                with pytest.raises(type(error)):
                    frame.map(function).collect()
            else:
                assert _alike(collected(frame.map(function))["f"], want), source
            checked += 1
    assert checked > 0.3 * _FUNCTIONS


def test_the_page_runs(capsys):
    page = (Path(__file__).parents[3] / "docs" / "python-functions.md").read_text()
    blocks = re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL)
    code = "".join(text for kind, text in blocks if kind == "python")
    linecache.cache["<page>"] = (len(code), None, code.splitlines(keepends=True), "<page>")
    exec(compile(code, "<page>", "exec"), {})
    assert capsys.readouterr().out == "".join(text for kind, text in blocks if kind == "text")


def _alike(got, want):
    def same(one, other):
        if isinstance(one, float) and isinstance(other, float):
            # Elementary functions may differ in the last place.
            return one == other or (one != one and other != other) or np.isclose(one, other, rtol=1e-13)
        return one == other

    return len(got) == len(want) and all(map(same, got, want))
