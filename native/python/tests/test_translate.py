"""Python functions as expressions: translated and computed row by row, against called.

Random functions are 1,000; ``FULGURITE_FUNCTIONS=10000`` makes them more, and ``FULGURITE_FUNCTIONS_FROM`` starts elsewhere.
"""

import datetime
import json
import math
import os
import warnings

import functions
import numpy as np
import pytest
import rows
from fulgurite._translate import Untranslatable, translate

_COUNT = int(os.environ.get("FULGURITE_FUNCTIONS", "1000"))
_FROM = int(os.environ.get("FULGURITE_FUNCTIONS_FROM", "0"))
_ROWS = 20


def computed(translation, row):
    """Whether Python has to run for the row, and the value."""
    row = dict(row)
    for name, expression in translation.columns:
        row[name] = rows.evaluate(expression, row)
    memo = {}
    guard = translation.guard_json is not None and rows.evaluate(translation.guard_json, row, memo)
    return guard, rows.evaluate(translation.value_json, row, memo)


def called(function, row):
    try:
        return function(**row), None
    except Exception as error:
        return None, error


def is_same(got, want, kind):
    if got is None or want is None:
        return got is want
    if kind == "float64":
        return type(got) is float and repr(got) == repr(float(want))
    if isinstance(want, np.bool_):
        want = bool(want)
    return type(got) is type(want) and got == want


def check(function, schema, nullable, values, *, source=""):
    """Compares all rows; gives how many ran in Python though they raise nothing."""
    translation = translate(function, schema, nullable)
    needless = 0
    for row in values:
        want, error = called(function, row)
        guard, got = computed(translation, row)
        assert guard is True or guard is False, (source, row)
        if guard:
            needless += error is None
            continue
        assert error is None, f"{error!r} is not guarded: {row}\n{source}"
        assert is_same(got, want, translation.type), f"{got!r} is not {want!r}: {row}\n{source}"
        assert want is not None or translation.nullable
    return needless


def test_random_functions():
    """What has a translation computes what Python does, and guards all that raises."""
    translated = compared = needless = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(_FROM, _FROM + _COUNT):
            function, schema, nullable, source = functions.random_function(seed)
            values = functions.random_rows(seed, schema, nullable, _ROWS)
            try:
                needless += check(function, schema, nullable, values, source=source)
            except Untranslatable:
                continue
            translated += 1
            compared += len(values)
    # A translator that refuses all, or guards all, passes no test.
    assert translated > 0.6 * _COUNT
    assert needless < 0.2 * compared


INTS = [0, 1, -1, 2, -7, 8, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1]
FLOATS = functions.VALUES["float64"]
TEXTS = functions.VALUES["string"]
OF_TYPE = {
    "int64": INTS,
    "float64": FLOATS,
    "string": TEXTS,
    "boolean": [True, False],
    "int8": [0, 1, -1, 127, -128],
    "uint64": [0, 5, 2**63 - 1, 2**63, 2**64 - 1],
}


def every_row(schema, nullable):
    found = [{}]
    for name, kind in schema.items():
        values = [*OF_TYPE[kind], *([None] if nullable else [])]
        found = [{**row, name: value} for row in found for value in values]
    return found


def loop_with_breaks(x, y):
    total = 0
    for i in range(4):
        if x == i:
            continue
        if total > y:
            break
        total += i * y
    else:
        total = -1
    return total


def early_returns(x, y):
    if x is None:
        return None
    if y is None or y == 0:
        return 0
    elif x > y:
        z = x - y
    else:
        z = y - x
        if z > 100:
            return 100
    return z


def perhaps_unbound(x, y):
    if x > 0:
        z = 1
    return z + 0 * y


def tuples(x, y):
    a, b = x, y
    a, (b, c) = b, (a, 3)
    for i, each in enumerate((a, b)):
        c = c + i if each is not None and each > 0 else c
    return c


def counted_down(x, y):
    n, total = 5, 0
    while n:
        total = total + (x if n % 2 else y) % 7
        n -= 1
    return total


def mixed(x, y):
    z = 1 if x > y else 2.5
    z = z * 2
    return z if x > 0 else float(z)


BINARY = {
    f"x {op} y": f"def f(x, y):\n    return x {op} y\n"
    for op in "+ - * / // % == != < <= > >= and or".split()
}


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("kinds", [("int64", "int64"), ("float64", "float64"), ("int64", "float64"), ("float64", "int64")])
@pytest.mark.parametrize("case", BINARY)
def test_operators_of_numbers(case, kinds, nullable):
    schema = dict(zip("xy", kinds))
    function = functions.make(BINARY[case], f"{case} {kinds}")
    check(function, schema, dict.fromkeys("xy", nullable), every_row(schema, nullable))


@pytest.mark.parametrize(
    "body",
    [
        "True + x + y",
        "-x - -y",
        "x ** 2 + y",
        "x ** 0.5",
        "x ** -1",
        "x // 3 + x % -3",
        "x // -1",
        "x % 2.0 + y // 0.1",
        "x % 1.0",
        "x // 1.0 + x // 4.0",
        "x % 2.0**60",
        "x % -2.0",
        "x << 3",
        "x >> 2",
        "x & 7",
        "~x",
        "abs(x)",
        "min(x, y)",
        "max(x, y, 3)",
        "round(x)",
        "round(x, 2)",
        "int(x)",
        "float(x)",
        "bool(x)",
        "0 < x <= y",
        "x if x else y",
        "not x",
        "x == 2**53",
        "x != 0.5",
        "x is None",
        "x is not None and y is not None and x > y",
        "x in (1, 2.5, None)",
        "math.floor(x) + math.ceil(y)",
        "math.sqrt(x)",
        "math.log(x, y)",
        "math.log1p(x)",
        "math.exp(x)",
        "math.pow(x, y)",
        "math.fmod(x, y)",
        "math.copysign(x, y)",
        "math.isnan(x) or math.isinf(y)",
        "math.asin(x) + math.acos(y)",
        "math.sinh(x)",
        "np.sqrt(x) / y",
        "np.sqrt(x) // y",
        "np.log(x) % y",
        "np.sign(np.sqrt(x) - y)",
        "np.rint(np.float64(x))",
        "np.maximum(np.float64(x), np.float64(y))",
        "np.isnan(np.float64(x)) & np.isfinite(np.float64(y))",
        "divmod(x, y)[0]",
        "pow(x, 3)",
        "sum((x, y))",
        "any((x, y)) and all((x, 1))",
        "{1: 2, 3: 4}",
    ],
)
@pytest.mark.parametrize("kinds", [("int64", "int64"), ("float64", "float64"), ("int8", "float64"), ("uint64", "int8"), ("boolean", "boolean")])
def test_expressions_of_numbers(body, kinds):
    schema = dict(zip("xy", kinds))
    function = functions.make(f"def f(x, y):\n    return {body}\n", f"{body} {kinds}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check(function, schema, {}, every_row(schema, True))
        except Untranslatable as error:
            # What is refused is refused on its line.
            if "raises on every row" in error.reason:
                assert all(called(function, row)[1] for row in every_row(schema, True))
                return
            assert error.line == 2 and error.source_line == f"return {body}"
            assert any(part in body for part in ("np.", "sum", "{", "<<", "**", "round(x, 2)"))


@pytest.mark.parametrize(
    "body",
    [
        "x + y",
        "x * 2",
        "x < y",
        "x == y",
        "x or y",
        "len(x) + len(y)",
        "x[0]",
        "x[-2]",
        "x[1:3]",
        "x[-2:]",
        "x[:-1]",
        "x[1:-1]",
        "x[-3:-1]",
        "x[2:1]",
        "x.lower()",
        "x.upper()",
        "x.capitalize()",
        "x.strip()",
        "x.strip('a')",
        "x.lstrip() + x.rstrip('b')",
        "x.startswith('a')",
        "x.startswith(('b', ''))",
        "x.endswith('b')",
        "x.replace('a', '$1')",
        "x.replace('ab', '', 1)",
        "x.find('b')",
        "x.index('b')",
        "x.count('a')",
        "x.zfill(4)",
        "x.removeprefix('a') + x.removesuffix('b')",
        "x.isdigit()",
        "x.isalpha() or x.isspace() or x.isalnum()",
        "'a' in x",
        "'' in x",
        "x in ('a', 'abc')",
        "x in {'a', ''}",
        "f'{x}-{len(y)}!'",
        "str(len(x)) + str(x == y)",
        "int(x)",
        "float(x)",
        "NAMES[0] + x",
        "TABLE[x]",
        "TABLE.get(x)",
        "TABLE.get(x, -1)",
        "x + 1",
        "x == 1",
        "x is None",
        "helper_text(x)",
        "min(x, y)",
        "x[:5] if len(x) > 5 else x",
    ],
)
def test_expressions_of_texts(body):
    schema = {"x": "string", "y": "string"}
    function = functions.make(f"def f(x, y):\n    return {body}\n", f"{body} of texts")
    try:
        check(function, schema, {}, every_row(schema, True))
    except Untranslatable as error:
        assert body == "x + 1" and "raises on every row" in str(error)


@pytest.mark.parametrize("kind", ["int64", "float64"])
@pytest.mark.parametrize(
    "function",
    [loop_with_breaks, early_returns, perhaps_unbound, tuples, functions.raises_at_zero, counted_down, mixed],
)
def test_statements(function, kind):
    schema = {"x": kind, "y": kind}
    check(function, schema, {}, every_row(schema, True))


def test_dates():
    day = datetime.date(2020, 2, 29)
    deadline = datetime.datetime(2020, 3, 1, 12, 30)

    def of_day(d):
        return d.year * 10000 + d.month * 100 + d.day + d.weekday() + d.isoweekday()

    def of_time(d):
        return d.hour * 60 + d.minute if d.second else None

    days = [{"d": day}, {"d": datetime.date(1969, 12, 31)}, {"d": None}]
    check(of_day, {"d": "date"}, {}, days)
    times = [{"d": deadline}, {"d": datetime.datetime(2020, 1, 1, 0, 0, 7)}]
    check(of_time, {"d": "datetime"}, {"d": False}, times)

    def early(d):
        return d < deadline

    found = translate(early, {"d": "datetime"}, {"d": False})
    microseconds = (deadline - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    assert found.value_json == {
        "call": "lt",
        "args": [{"col": "d"}, {"lit": microseconds, "type": "datetime"}],
    }


def test_json_is_plain():
    found = translate(lambda x: x + 1, {"x": "int64"}, {"x": False})
    assert found.value_json == {"call": "add", "args": [{"col": "x"}, {"lit": 1, "type": "int"}]}
    assert found.guard_json == {
        "call": "gt",
        "args": [{"col": "x"}, {"lit": 2**63 - 2, "type": "int"}],
    }
    assert (found.type, found.nullable, found.columns) == ("int64", False, [])
    assert json.loads(found.to_json())["value"] == found.value_json


def test_bounds_spare_guards():
    def sums(x, y):
        return x * 1000 + y % 7 + len("abc")

    found = translate(sums, {"x": "int32", "y": "int8"}, {"x": False, "y": False})
    assert found.guard_json is None


def test_what_is_known_spares_guards():
    def divided(x, y):
        return 0 if x is None or y == 0 else x // y

    found = translate(divided, {"x": "int32", "y": "int32"}, {"y": False})
    assert found.guard_json is None


def test_none_is_a_value():
    def doubled(x):
        return None if x is None else x * 2.0

    found = translate(doubled, {"x": "float64"}, {})
    assert (found.type, found.nullable, found.guard_json) == ("float64", True, None)


def test_names_are_those_of_translation():
    scale = 3

    def scaled(x, add=scale):
        return x * scale + add + functions.OFFSET

    check(scaled, {"x": "int64"}, {}, [{"x": value} for value in (1, 2, None)])
    found = translate(scaled, {"x": "float64"}, {"x": False}, constants={"add": 0.5})
    assert rows.evaluate(found.value_json, {"x": 2.0}) == 9.5


def test_lambdas_of_one_line():
    one, other = (lambda x: x + 1, lambda x: x + 2)
    for function, want in ((one, 2), (other, 3)):
        found = translate(function, {"x": "int64"}, {"x": False})
        assert rows.evaluate(found.value_json, {"x": 1}) == want


def test_large_functions_have_columns():
    def newton(x):
        y = x
        for _ in range(12):
            y = y - (y * y - x) / (2.0 * y)
        return y

    found = translate(newton, {"x": "float64"}, {"x": False})
    assert found.columns and all(name.startswith("__") for name, _ in found.columns)
    check(newton, {"x": "float64"}, {"x": False}, [{"x": value} for value in FLOATS])


def refused_try(x):
    try:
        return 1 // x
    except ZeroDivisionError:
        return 0


def refused_loop(x):
    total = 0
    for i in range(x):
        total += i
    return total


def refused_while(x):
    while x > 1:
        x = x - 2
    return x


def refused_recursion(x):
    return 1 if x < 1 else x * refused_recursion(x - 1)


def refused_print(x):
    print(x)
    return x


def refused_isinstance(x):
    return isinstance(x, int)


def refused_types(x):
    return "many" if x > 1 else x


def refused_global(x):
    global _FROM
    _FROM = x
    return x


def refused_inner(x):
    def inner():
        return x

    return inner()


def refused_comprehension(x):
    return sum([x * i for i in range(3)])


def refused_format(x):
    return f"{x:>10}"


def refused_name(x):
    return x + not_there  # noqa: F821


def refused_power(x):
    return 2**x


def refused_text(x):
    return str(x / 2)


def refused_helper(x):
    return x + refused_print(x)


def refused_always(x):
    return x + "a"


def refused_big(x):
    return x + 2**70


def refused_generator(x):
    yield x


def refused_starred(*x):
    return x


@pytest.mark.parametrize(
    ("function", "reason", "line"),
    [
        (refused_try, "a `try` statement", 1),
        (refused_loop, "range() of what is not a constant", 2),
        (refused_while, "a loop whose condition depends on the row", 1),
        (refused_recursion, "refused_recursion calls itself", 1),
        (refused_print, "a call of print()", 1),
        (refused_isinstance, "a call of isinstance()", 1),
        (refused_types, "the result is int64 or string", 0),
        (refused_global, "a name of an outer scope is assigned", 1),
        (refused_inner, "a function within the function", 1),
        (refused_comprehension, "a comprehension", 1),
        (refused_format, "an f-string with a format", 1),
        (refused_name, "`not_there` is not defined", 1),
        (refused_power, "the sign of the exponent decides between int and float", 1),
        (refused_text, "the text of a float", 1),
        (refused_always, "it raises on every row", 0),
        (refused_big, "is beyond 64 bits", 1),
        (refused_generator, "is a generator or a coroutine", None),
        (refused_starred, "takes any number of arguments", None),
        (math.sqrt, "is not a Python function", None),
    ],
)
def test_refusals(function, reason, line):
    with pytest.raises(Untranslatable) as refused:
        translate(function, {"x": "int64"}, {"x": False})
    assert reason in refused.value.reason
    if line is None:
        return
    code = function.__code__
    assert refused.value.line == code.co_firstlineno + line
    with open(__file__) as file:
        assert refused.value.source_line == file.read().splitlines()[refused.value.line - 1].strip()


def test_a_helper_is_refused_on_its_own_line():
    with pytest.raises(Untranslatable) as refused:
        translate(refused_helper, {"x": "int64"}, {})
    assert refused.value.line == refused_print.__code__.co_firstlineno + 1
    assert refused.value.source_line == "print(x)"


def test_a_changed_source_is_refused():
    text = "def f(x):\n    return x + 1\n"
    function = functions.make(text, "changed")
    functions.linecache.cache["<function changed>"] = (0, None, ["def f(x):\n", "    return x + 2\n"], "")
    with pytest.raises(Untranslatable, match="is not what it was compiled from"):
        translate(function, {"x": "int64"}, {})


def test_a_wrapper_is_refused():
    import functools

    @functools.wraps(early_returns)
    def wrapper(*args):
        return early_returns(*args)

    with pytest.raises(Untranslatable):
        translate(wrapper, {"x": "int64", "y": "int64"}, {})
