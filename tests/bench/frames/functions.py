"""Functions of Python that are called for each row."""

import numpy as np
import score_rows
from bench_frames_programs import Program
from bench_work_rows import Later

kernels, polars = map(Later, ["frame_kernels", "polars"])

COLUMNS = ["age", "income", "claims", "years"]
COMPILED = {}


def with_polars(customers):
    """Written anew as expressions: Polars calls a function of Python for each row, as `python` does."""
    age, income, claims, years = map(polars.col, COLUMNS)
    risk = 0.03 * age + 0.2 * claims - 0.00001 * income - 1.5
    risk = polars.when(years > 5).then(risk - 0.05 * (years - 5)).otherwise(risk)
    return customers.lazy().select(score=polars.when(risk > 0).then(risk).otherwise(0.0).mean()).collect(engine="streaming")


def with_duckdb(db):
    return db.sql(
        "with risks as (select 0.03::double * age + 0.2::double * claims - 0.00001::double * income - 1.5::double - "
        "case when years > 5 then 0.05::double * (years - 5) else 0 end as risk from customers) select avg(case when risk > 0 then risk else 0 end) as score from risks"
    ).to_arrow_table()


def with_numpy(customers):
    age, income, claims, years = (customers[name].to_numpy() for name in COLUMNS)
    risk = 0.03 * age + 0.2 * claims - 0.00001 * income - 1.5
    risk = np.where(years > 5, risk - 0.05 * (years - 5), risk)
    return np.array([np.mean(np.where(risk > 0, risk, 0.0))])


def with_numba(customers):
    if not COMPILED:
        COMPILED["mean"] = kernels.mean_of(score_rows.score)
    return np.array([COMPILED["mean"](*(customers[name].to_numpy() for name in COLUMNS))])


PROGRAMS = [
    Program(
        "score-rows",
        what="the mean of a linear model with a kink, a function of Python",
        sizes={"n": 5_000_000},
        inputs=lambda n: score_rows.data(n),
        forms={
            "fulgurite": score_rows.with_fulgurite,
            "python": score_rows.with_pandas,
            "pandas": with_numpy,
            "polars": with_polars,
            "duckdb": with_duckdb,
            "numba": with_numba,
        },
        reach=100,
        against=("python",),
    ),
]
