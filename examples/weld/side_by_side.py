"""Runs a program with Fulgurite and with pandas and NumPy, and prints both answers."""

import argparse
import time

import pandas as pd


def run(doc, data, ours, theirs, rows=100_000):
    """Makes tables of so many rows, and prints what both functions make of them.

    `data` takes a number of rows and gives the arguments of `ours` and `theirs` by name.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=rows)
    chosen = parser.parse_args()
    compare(data(chosen.rows), ours, theirs)


def compare(tables, ours, theirs):
    for name, function in [("fulgurite", ours), ("pandas and NumPy", theirs)]:
        started = time.perf_counter()
        answer = function(**tables)
        took = time.perf_counter() - started
        print(f"{name}:")
        print(text(answer))
        print(f"in {took:.3f} s")


def text(answer):
    """The first rows of a table, or the cells of an array."""
    if isinstance(answer, pd.DataFrame):
        shown = answer.head(10).to_string(index=False, float_format="%.6g")
        return shown + (f"\n... {len(answer)} rows" if len(answer) > 10 else "")
    return " ".join(f"{cell:.6g}" for cell in answer)
