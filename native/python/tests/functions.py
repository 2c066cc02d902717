"""Random Python functions of columns, from a grammar, and rows for them."""

from __future__ import annotations

import linecache
import math
import random

import numpy as np

# What a column of a type may hold; None where it may be missing.
VALUES = {
    "int64": [0, 1, -1, 2, 3, -7, 10, 100, 2**31, 2**53 + 1, -(2**53) - 3, 2**62, 2**63 - 1, -(2**63)],
    "int8": [0, 1, -1, 5, 127, -128],
    "uint64": [0, 1, 7, 2**63 - 1, 2**63, 2**64 - 1],
    "float64": [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -3.5, 0.1, 0.375, 2.675, 1.005, 1e-320, -5e-324, 7.0, 1e16, 2.0**53]
    + [1e300, -1e300, 9.3e18, -9.3e18, math.nan, math.inf, -math.inf, 709.9, 0.49999999999999994],
    "float32": [0.0, -0.0, 1.5, float(np.float32(0.1)), math.nan, math.inf],
    "boolean": [True, False],
    "string": ["", "a", "b", "abc", " Ab c\t", "\x1cx\x1f", "ab-ab", "12", "-7", "1.5", " 3", "+4", "1_0"]
    + ["straße", "ΑΣ", "日本語", "e\u0301", "İ", "x\ny", "0012", "abcdefgh", "éab"],
}
TYPES = tuple(VALUES)
_OF_MATH = (
    "sqrt exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh fabs floor ceil trunc".split()
)
# Those whose last digit is the same in all libraries.
_OF_NUMPY = "sqrt floor ceil trunc rint sign square abs fabs".split()

OFFSET = 3
SCALE = 0.25
NAMES = ("a", "abc", "12")
TABLE = {"a": 1, "b": 2, "abc": 3}


def helper_sum(x, y=2):
    return x + y


def helper_branches(x):
    if x > 1:
        return x
    elif x == 1:
        return 0
    return -x


def helper_text(s, n=2):
    if s is None:
        return "none"
    return s[:n].strip()


# Here, for pytest rewrites the assertions of tests.
def raises_at_zero(x, y):
    if x == 0:
        raise KeyError("zero")
    assert y != 1, "one"
    return x


class Grammar:
    """One function; `rng` decides everything."""

    def __init__(self, rng):
        self.rng = rng
        self.schema = {}
        # Names by what they hold: numbers, strings, truth values.
        self.names = {"num": [], "str": [], "bool": []}
        self.locals = 0
        # Within products all fits: a string times a large number is large.
        self.fitting = 0

    def function(self):
        rng = self.rng
        for name in "xyz"[: rng.randint(1, 3)]:
            kind = rng.choice((*TYPES, "int64", "float64", "string"))
            self.schema[name] = kind
            sort = {"string": "str", "boolean": "bool"}.get(kind, "num")
            self.names[sort].append(name)
        nullable = {name: rng.random() < 0.5 for name in self.schema}
        lines = [f"def f({', '.join(self.schema)}):"]
        sort = rng.choice(("num", "num", "num", "str", "bool"))
        if rng.random() < 0.5:
            for name in nullable:
                if nullable[name] and rng.random() < 0.7:
                    how = rng.choice((f"return {self.expression(sort, 0)}", "return None"))
                    lines += [f"    if {name} is None:", f"        {how}"]
        lines += self.block(sort, 1, rng.randint(0, 4), False)
        if rng.random() < 0.95:
            lines.append(f"    return {self.expression(sort, 3)}")
        return "\n".join(lines) + "\n", nullable

    def block(self, sort, indent, count, in_loop):
        rng, pad = self.rng, "    " * indent
        lines = []
        for _ in range(count):
            what = rng.random()
            if what < 0.45 or indent > 3:
                lines.append(pad + self.assignment())
            elif what < 0.7:
                before = {key: list(names) for key, names in self.names.items()}
                lines.append(f"{pad}if {self.expression('bool', 2)}:")
                lines += self.block(sort, indent + 1, rng.randint(1, 2), in_loop)
                if rng.random() < 0.5:
                    if rng.random() < 0.9:
                        self.names = {key: list(names) for key, names in before.items()}
                    lines.append(f"{pad}elif {self.expression('bool', 1)}:" if rng.random() < 0.4 else f"{pad}else:")
                    lines += self.block(sort, indent + 1, rng.randint(1, 2), in_loop)
                if rng.random() < 0.9:
                    self.names = before
            elif what < 0.8:
                lines.append(f"{pad}return {self.expression(sort, 2)}")
                return lines
            elif what < 0.93 and indent < 3:
                name = f"v{self.locals}"
                self.locals += 1
                items = rng.choice(
                    ("range(3)", "range(1, 6, 2)", "(1, 2.5, 4)", "(0, 1)", "reversed(range(2))")
                )
                lines.append(f"{pad}for {name} in {items}:")
                self.names["num"].append(name)
                lines += self.block(sort, indent + 1, rng.randint(1, 2), True)
            elif what < 0.96 and in_loop:
                lines.append(f"{pad}if {self.expression('bool', 1)}:")
                lines.append(f"{pad}    {rng.choice(('break', 'continue'))}")
            elif what < 0.98:
                lines.append(f"{pad}assert {self.expression('bool', 1)}")
            else:
                lines.append(f"{pad}if {self.expression('bool', 1)}:")
                lines.append(f"{pad}    raise KeyError('no')")
        return lines or [pad + "pass"]

    def assignment(self):
        self.fitting += 1
        text = self._assigned()
        self.fitting -= 1
        return text

    def _assigned(self):
        rng = self.rng
        sort = rng.choice(("num", "num", "str", "bool"))
        known = [name for name in self.names[sort] if name.startswith("v")]
        if known and rng.random() < 0.5:
            name = rng.choice(known)
            if sort == "num" and rng.random() < 0.5:
                return f"{name} {rng.choice(('+=', '-=', '*='))} {self.expression('num', 1)}"
            return f"{name} = {self.expression(sort, 2)}"
        text = self.expression(sort, 2)
        name = f"v{self.locals}"
        self.locals += 1
        self.names[sort].append(name)
        return f"{name} = {text}"

    def expression(self, sort, depth):
        if not self.fitting and self.rng.random() < 0.02:
            # Of a type that does not fit.
            sort = self.rng.choice(("num", "str", "bool"))
        if depth <= 0 or self.rng.random() < 0.15:
            text = self.leaf(sort)
            return f"({text})" if text[0] in "-0123456789" else text
        return getattr(self, f"_{sort}")(depth - 1)

    def leaf(self, sort):
        rng = self.rng
        if self.names[sort] and rng.random() < 0.75:
            return rng.choice(self.names[sort])
        if sort == "num":
            return rng.choice(
                ("0", "1", "2", "-1", "3", "7", "0.5", "2.0", "-0.0", "1e3", "OFFSET", "SCALE", "math.pi")
                + ("2**40", "(2**53 + 1)", "True")
            )
        if sort == "bool":
            return rng.choice(("True", "False"))
        return rng.choice(('""', '"a"', '"ab"', '"é"', '"12"'))

    def _num(self, depth):
        rng = self.rng
        a = lambda: self.expression("num", depth)  # noqa: E731
        s = lambda: self.expression("str", depth)  # noqa: E731
        what = rng.randrange(20)
        if what < 7:
            op = rng.choice("+ - * / // %".split())
            self.fitting += op == "*"
            text = f"({a()} {op} {a()})"
            self.fitting -= op == "*"
            return text
        if what == 7:
            return rng.choice((f"({a()} ** {rng.choice((0, 1, 2, 3, -1, 0.5, -2.0))})", f"(float({a()}) ** {a()})", f"({a()} ** ({a()} % 4))", f"(2 ** ({a()} % 70))"))
        if what == 8:
            return f"{rng.choice(('-', '+', '~', '-'))}{a()}"
        if what == 9:
            return f"({a()} if {self.expression('bool', depth)} else {a()})"
        if what == 10:
            return f"({a()} {rng.choice(('and', 'or'))} {a()})"
        if what == 11:
            return f"{rng.choice(('min', 'max'))}({', '.join(a() for _ in range(rng.randint(2, 3)))})"
        if what == 12:
            return rng.choice((f"abs({a()})", f"round({a()})", f"round({a()}, {rng.randint(0, 3)})", f"int({a()})", f"float({a()})", f"bool({a()})"))
        if what < 15:
            return f"math.{rng.choice(_OF_MATH)}({a()})"
        if what == 15:
            return rng.choice((f"math.log({a()}, {a()})", f"math.pow({a()}, {a()})", f"math.fmod({a()}, {a()})", f"math.copysign({a()}, {a()})", f"math.radians({a()})"))
        if what == 16:
            return rng.choice((f"np.{rng.choice(_OF_NUMPY)}(float({a()}))", f"np.sqrt({a()})", f"np.maximum({a()}, float({a()}))", f"np.minimum({a()}, 1.0)"))
        if what == 17:
            return rng.choice((f"helper_sum({a()})", f"helper_sum({a()}, y={a()})", f"helper_branches({a()})", f"divmod({a()}, {a()})[{rng.randint(0, 1)}]", f"sum((int({a()}), 1, 2))"))
        if what == 18:
            part = rng.choice(('"b"', '"ab"', '"é"', '""'))
            return rng.choice((f"len({s()})", f"{s()}.find({part})", f"{s()}.count({part})", f"{s()}.index({part})", f"int({s()})", f"float({s()})", f"TABLE.get({s()}, 0)", f"TABLE[{s()}]"))
        return f"({a()} {rng.choice(('&', '|', '^', '>>', '<<'))} {rng.choice((1, 3, 7))})"

    def _bool(self, depth):
        rng = self.rng
        a = lambda: self.expression("num", depth)  # noqa: E731
        s = lambda: self.expression("str", depth)  # noqa: E731
        b = lambda: self.expression("bool", depth)  # noqa: E731
        op = lambda: rng.choice("== != < <= > >=".split())  # noqa: E731
        what = rng.randrange(14)
        if what < 4:
            return f"({a()} {op()} {a()})"
        if what == 4:
            return f"({a()} {op()} {a()} {op()} {a()})"
        if what == 5:
            return f"({s()} {op()} {s()})"
        if what == 6:
            return f"({b()} {rng.choice(('and', 'or'))} {b()})"
        if what == 7:
            return f"(not {rng.choice((a, b, s))()})"
        if what == 8:
            return f"({rng.choice((a, s, b))()} is {rng.choice(('', 'not '))}None)"
        if what == 9:
            return rng.choice((f"({rng.choice((chr(34) + 'a' + chr(34), chr(34) * 2))} in {s()})", f"({s()} in NAMES)", f"({a()} in (1, 2.5, True))", f"({s()} not in ('', 'b'))"))
        if what == 10:
            method = rng.choice(("startswith", "endswith"))
            return f"{s()}.{method}({rng.choice((chr(34) + 'a' + chr(34), '(' + repr('ab') + ', ' + repr('c') + ')'))})"
        if what == 11:
            return f"math.{rng.choice(('isnan', 'isinf', 'isfinite'))}({a()})"
        if what == 12:
            return f"{s()}.{rng.choice(('isdigit', 'isalpha', 'isalnum', 'isspace'))}()"
        return rng.choice((f"bool({a()})", f"({b()} {rng.choice('&|^')} {b()})", f"({b()} == {b()})", f"any(({b()}, {a()}))", f"np.isnan(float({a()}))"))

    def _str(self, depth):
        rng = self.rng
        s = lambda: self.expression("str", depth)  # noqa: E731
        what = rng.randrange(12)
        if what < 3:
            method = rng.choice(("lower", "upper", "strip", "lstrip", "rstrip", "capitalize"))
            return f"{s()}.{method}()"
        if what == 3:
            return f"{s()}.{rng.choice(('strip', 'lstrip', 'rstrip'))}({rng.choice((repr('a'), repr('ab '), repr('')))})"
        if what == 4:
            return f"({s()} + {s()})"
        if what == 5:
            bounds = rng.choice(("1:", ":2", "1:3", "-2:", ":-1", "1:-1", "-3:-1", ":", "2:1", "-1:5"))
            return f"{s()}[{bounds}]"
        if what == 6:
            return f"{s()}[{rng.choice((0, 1, -1, -2))}]"
        if what == 7:
            return f"{s()}.replace({rng.choice((repr('a'), repr('ab'), repr('é')))}, {rng.choice((repr(''), repr('$1'), repr('aa')))}{rng.choice(('', ', 1'))})"
        if what == 8:
            return rng.choice((f"str(int({self.expression('num', depth)}))", f"f'{{{self.leaf('num')}}}-{{{self.leaf('str')}}}'"))
        if what == 9:
            return f"({s()} if {self.expression('bool', depth)} else {s()})"
        if what == 10:
            return rng.choice((f"({s()} or {s()})", f"helper_text({s()})", f"helper_text({s()}, n=1)", f"({s()} * 2)"))
        return rng.choice((f"{s()}.removeprefix('a')", f"{s()}.removesuffix('b')", f"{s()}.zfill(4)"))


def make(text, number, names=None):
    """The function of a source."""
    file = f"<function {number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"math": math, "np": np, "OFFSET": OFFSET, "SCALE": SCALE, "NAMES": NAMES, "TABLE": TABLE}
    scope |= {each.__name__: each for each in (helper_sum, helper_branches, helper_text)}
    scope |= names or {}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


def random_function(seed):
    """A function, its schema, which parameters may be None, and its source."""
    rng = random.Random(seed)
    grammar = Grammar(rng)
    text, nullable = grammar.function()
    return make(text, seed), grammar.schema, nullable, text


def random_rows(seed, schema, nullable, count):
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        row = {}
        for name, kind in schema.items():
            value = rng.choice(VALUES[kind])
            if kind == "int64" and rng.random() < 0.3:
                value = rng.randint(-20, 20)
            if kind == "float64" and rng.random() < 0.3:
                value = rng.uniform(-10, 10)
            row[name] = None if nullable[name] and rng.random() < 0.15 else value
        rows.append(row)
    return rows
