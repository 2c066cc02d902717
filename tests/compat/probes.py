"""Asks both reference systems what small expressions give, and writes where they differ, or surprise, to dialects.md.

    python tests/compat/probes.py

By hand, as record.py.
"""

import pathlib
import re
import tempfile

import common
import oracles
import record

# What is asked, and a script that prints the answer.
PROBES = [
    ("`%%` of a negative scalar", 'a = -7.5\nprint((a %% 2) + " " + (-7 %% 3) + " " + (7 %% -3))'),
    ("`%/%` of a negative scalar", 'a = -7.5\nprint((a %/% 2) + " " + (-7 %/% 3) + " " + (7 %/% -3))'),
    ("`%%` and `%/%` by zero", 'a = 7.0\nprint((a %% 0) + " " + (a %/% 0))'),
    ("`%%` of a matrix", 'M = matrix("-7 7 -7.5 7.5", rows=4, cols=1)\nX = M %% 3\nprint(toString(X))'),
    ("`%/%` of a matrix", 'M = matrix("-7 7 -7.5 7.5", rows=4, cols=1)\nX = M %/% 3\nprint(toString(X))'),
    ("type of `%%` and `%/%` of integers", 'print((7 %% 3) + " " + (7 %/% 3))'),
    ("`round` of halves", 'print(round(2.5) + " " + round(-2.5) + " " + round(0.5))'),
    ("`as.integer` of fractions", 'print(as.integer(2.7) + " " + as.integer(-2.7))'),
    ("powers", 'a = -8\nprint(2^3 + " " + a^(1/3) + " " + 2^-1)'),
    ("`-2^2`", "a = 2\nprint(-a^2)"),
    ("`/` of integers", 'print(7/2 + " " + 6/2)'),
    ("numbers as text", 'print(1.0 + " " + 1e10 + " " + 1e-5 + " " + 123456789.0 + " " + 1/3 + " " + 100000000)'),
    ("a double that is whole as text", "a = 3.0\nb = sum(matrix(1, 2, 2))\nprint(a + \" \" + b)"),
    ("logical values as text", 'print(TRUE + " " + (1 < 2) + " " + (1 == 1.0))'),
    ("arithmetic with logical values", "print(TRUE + 1)"),
    ("comparison of text with a number", 'a = "1"\nprint(a == 1)'),
    ("comparison of texts", 'print("a" < "b")'),
    ("`quantile` between two values", 'V = matrix("1 2 3 4", rows=4, cols=1)\nprint(quantile(V, 0.25) + " " + quantile(V, 0.5) + " " + quantile(V, 0.3) + " " + quantile(V, 0.9))'),
    ("`quantile` of 0 and 1", 'V = matrix("1 2 3 4", rows=4, cols=1)\nprint(quantile(V, 0) + " " + quantile(V, 1))'),
    ("`quantile` for several probabilities", 'V = matrix("5 1 3 9 2 8 7", rows=7, cols=1)\nP = matrix("0.1 0.25 0.5 0.75 0.9", rows=5, cols=1)\nQ = quantile(V, P)\nprint(toString(Q))'),
    ("`median`", 'V = matrix("1 2 3 4", rows=4, cols=1)\nW = matrix("5 1 3", rows=3, cols=1)\nprint(median(V) + " " + median(W))'),
    ("`toString` of a matrix", 'X = matrix("1.23456789 -0.0001 10000000000 0", rows=2, cols=2)\nprint(toString(X))'),
    ("`toString` with `decimal`", 'X = matrix("1.5 2.125 1234.5 0", rows=2, cols=2)\nprint(toString(X, decimal=1))'),
    ("`toString` sparse", 'X = matrix("0 2.125 0 0", rows=2, cols=2)\nprint(toString(X, sparse=TRUE))'),
    ("`toString` of NaN and infinity", 'X = matrix("NaN Infinity -Infinity 1", rows=2, cols=2)\nprint(toString(X))'),
    ("`sum` `min` `max` with NaN", 'X = matrix("1 NaN 0 2", rows=2, cols=2)\nprint(sum(X) + " " + min(X) + " " + max(X))'),
    ("`min` and `max` of scalars with NaN", 'a = 0/0\nprint(min(a, 1) + " " + max(1, a))'),
    ("`rowIndexMax` with equal values and NaN", 'X = matrix("1 3 3 NaN 2 1", rows=2, cols=3)\nR = rowIndexMax(X)\nprint(toString(R))'),
    ("`rowIndexMin` with equal values", 'X = matrix("3 1 1 2 2 5", rows=2, cols=3)\nR = rowIndexMin(X)\nprint(toString(R))'),
    ("`rand` with a seed", "R = rand(rows=2, cols=2, seed=7)\nprint(toString(R, decimal=6))"),
    ("normal `rand` with a seed", 'R = rand(rows=2, cols=2, seed=7, pdf="normal")\nprint(toString(R, decimal=6))'),
    ("sparse `rand` with a seed", "R = rand(rows=2, cols=5, seed=7, sparsity=0.4)\nprint(toString(R, decimal=6))"),
    ("`sample` with a seed", "S = sample(10, 4, 7)\nprint(toString(t(S)))"),
    ("`sample` with repetition", "S = sample(5, 6, TRUE, 7)\nprint(toString(t(S)))"),
    ("`for (i in 3:1)`", "x = 0\nfor (i in 3:1) { x = x * 10 + i }\nprint(x)"),
    ("`for (i in 1:0)`", "x = 0\nn = 0\nfor (i in 1:n) { x = x + 1 }\nprint(x)"),
    ("`for` over `seq` with a step", "x = 0\nfor (i in seq(1, 10, 4)) { x = x * 100 + i }\nprint(x)"),
    ("the loop variable after a loop", "for (i in 1:3) { x = i }\nprint(i)"),
    ("`seq` downwards without a step", 'S = seq(5, 3)\nprint(nrow(S) + " " + as.scalar(S[2,1]))'),
    ("`seq` whose last step rounds", "n = 13\nprint(nrow(seq(1, n, 3)))"),
    ("`seq` with a fraction", "print(nrow(seq(0, 1, 0.1)))"),
    ("`removeEmpty` of zeros", 'X = removeEmpty(target=matrix(0, 2, 3), margin="rows")\nprint(nrow(X) + " " + ncol(X))'),
    ("`order` with NaN", 'X = matrix("2 NaN 1", rows=3, cols=1)\nY = order(target=X, by=1)\nprint(toString(t(Y)))'),
    ("`table` with a weight and sizes", "A = matrix(\"1 2 3\", rows=3, cols=1)\nT = table(A, A, 2, 2)\nprint(toString(T))"),
    ("`table` of fractions", "A = matrix(\"1.5 2.9\", rows=2, cols=1)\nT = table(A, 1)\nprint(toString(t(T)))"),
    ("`table` of zero", "A = matrix(\"0 1\", rows=2, cols=1)\nT = table(A, 1)\nprint(toString(t(T)))"),
    ("`cumsum` of a row", "X = cumsum(matrix(1, 1, 3))\nprint(toString(X))"),
    ("`ifelse` with NaN", "a = ifelse(0/0 == 0/0, 1, 2)\nprint(a)"),
    ("`!` of a number", "X = !matrix(\"0 2 NaN\", rows=1, cols=3)\nprint(toString(X))"),
    ("`&` of numbers", 'X = matrix("0 2 NaN", rows=1, cols=3) & matrix(1, 1, 3)\nprint(toString(X))'),
    ("`xor`", "print(xor(TRUE, FALSE))"),
    ("`&&` and `||`", "print((TRUE && FALSE) + \" \" + (TRUE || FALSE))"),
    ("`log` with a base", 'print(log(8, 2) + " " + log(0) + " " + log(-1))'),
    ("`is.na`", 'X = is.na(matrix("1 NaN", rows=1, cols=2))\nprint(toString(X))'),
    ("`moment` and `var`", 'V = matrix("1 2 3 4", rows=4, cols=1)\na = moment(V, 2)\nb = var(V)\nprint(a + " " + b)'),
    ("`aggregate` variance", 'V = matrix("1 2 3 4", rows=4, cols=1)\nG = matrix("1 1 2 3", rows=4, cols=1)\nA = aggregate(target=V, groups=G, fn="variance")\nprint(toString(t(A)))'),
    ("`matrix` from text by rows", 'X = matrix("1 2 3 4 5 6", rows=2, cols=3)\nprint(toString(X))'),
    ("`matrix` reshaped by columns", "X = matrix(seq(1, 6), rows=2, cols=3, byrow=FALSE)\nprint(toString(X))"),
    ("`matrix(0, 0, 3)`", 'X = matrix(0, rows=0, cols=3)\nprint(nrow(X) + " " + ncol(X) + " " + sum(X))'),
    ("`rbind` with an empty matrix", "X = rbind(matrix(0, rows=0, cols=2), matrix(1, 1, 2))\nprint(nrow(X))"),
    ("`mean` of an empty matrix", "print(mean(matrix(0, rows=0, cols=2)))"),
    ("`nrow` in `+`", 'X = matrix(1, 2, 3)\nprint("size " + nrow(X) + ncol(X))'),
    ("`as.scalar` of a list's element", 'L = list(1, "a")\nprint(as.scalar(L[1]) + " " + as.scalar(L[2]))'),
    ("order of a list with names", "L = list(W1=1, b1=2, W2=3, b2=4, activation=5)\nprint(as.scalar(L[1]) + \" \" + as.scalar(L[2]) + \" \" + as.scalar(L[3]))"),
    ("`toString` of a list", "L = list(1, matrix(2, 1, 2))\nprint(toString(L))"),
    ("`X[1]` of a matrix", "X = matrix(seq(1, 6), rows=2, cols=3)\nprint(toString(X[2]))"),
    ("`X[i, ]` beyond the end", "X = matrix(seq(1, 6), rows=2, cols=3)\nn = 3\nprint(toString(X[n, ]))"),
    ("a matrix of one cell in a condition", "X = matrix(1, 1, 1)\nif (as.scalar(X) == 1) { print(\"yes\") }"),
    ("a function's call within an expression", "f = function(double a) return (double b) { b = a * 2 }\nprint(f(3) + 1)"),
    ("`print` of a matrix", "X = matrix(1, 1, 1)\nprint(X)"),
    ("`sum` of a comparison as text", 'X = matrix("1 2", rows=1, cols=2)\nprint("n " + sum(X > 1))'),
    ("`1:n+1`", "n = 2\nx = 0\nfor (i in 1:n+1) { x = x * 10 + i }\nprint(x)"),
    ("`as.logical` of a number", "print(as.logical(2))"),
    ("text with escapes", 'print("a\\tb\\"c")'),
    ("text in single quotes", "print('a b')"),
    ("`cdf` upper tail", 'p = cdf(target=10, dist="normal", lower.tail=FALSE)\nprint(p)'),
    ("`interQuartileMean`", 'V = matrix("1 2 3 5 7 9", rows=6, cols=1)\nprint(interQuartileMean(V))'),
    ("`outer` with text", 'X = outer(seq(1, 2), t(seq(1, 2)), "-")\nprint(toString(X))'),
    ("`diag` of a row", "X = diag(matrix(1, 1, 1))\nprint(nrow(X))"),
    ("`countDistinct` and `unique`", 'X = matrix("3 1 3 2", rows=4, cols=1)\nU = unique(X)\nprint(countDistinct(X) + " " + toString(t(U)))'),
    ("`typeof`", 'print(typeof(matrix(1, 1, 1)) + " " + typeof(1) + " " + typeof("a"))'),
    ("`nchar`-like `length` of a matrix", "print(length(matrix(1, 2, 3)))"),
]


def ask(system):
    """The answers of a system. All probes run as one script; one that fails is taken out, and the rest runs again."""
    answers, left = {}, list(range(len(PROBES)))
    while left:
        lines, owner = [], []
        for index in left:
            # A loop ends a block of statements, within which the systems order them as they like.
            body = [f'for (probe in 1:1) {{ print("#{index}#") }}', *PROBES[index][1].split("\n")]
            lines += body
            owner += [index] * len(body)
        with tempfile.TemporaryDirectory(prefix="compat-") as name:
            folder = pathlib.Path(name)
            (folder / "probe.dml").write_text("\n".join(lines) + "\n")
            code, output, errors = oracles.execute(oracles.command(system, "probe.dml", []), folder, 120)
        printed = re.split(r"#(\d+)#\n", re.split("System(?:DS|ML) Statistics|An Error Occurred", output)[0])
        found = {int(printed[i]): " / ".join(word.strip() for word in printed[i + 1].splitlines() if word.strip()) for i in range(1, len(printed), 2)}
        if code == 0 and "An Error Occurred" not in output + errors:
            answers.update(found)
            break
        message = record.reason(output, errors)
        place = re.search(r"\[[Ll]ine (\d+)", message) or re.search(r"probe\.dml \[[Ll]ine (\d+)", output + errors)
        failed = owner[int(place[1]) - 1] if place and not found else max(found, default=left[0], key=left.index)
        answers[failed] = "an error"
        left.remove(failed)
        print(system, "cannot", PROBES[failed][0], "|", message[:90], flush=True)
    return answers


def cell(text):
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`" if text else ""


def main():
    oracles.need_scripts()
    systems = [ask(system) for system in ("systemml", "systemds")]
    different, same = [], []
    for index, (title, script) in enumerate(PROBES):
        answers = [system.get(index, "") for system in systems]
        row = f"| {title} | {cell(script.replace(chr(10), '; '))} | {' | '.join(map(cell, answers))} |\n"
        (same if answers[0] == answers[1] else different).append(row)
    head = "| What | Probe | SystemML 1.2 | SystemDS 3.4 |\n|---|---|---|---|\n"
    page = "# Where the two dialects differ\n\n`tests/compat/probes.py` wrote this page: each row is what the systems themselves printed. A `/` stands for a new line.\n\n"
    page += "## Different\n\n" + head + "".join(different) + "\n## The same in both\n\n" + head + "".join(same)
    (common.HERE / "dialects.md").write_text(page)


if __name__ == "__main__":
    main()
