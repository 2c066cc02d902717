"""Programs that cross from tables into mathematics and back, most of them Weld's (Palkar et al., VLDB 2018)."""

import crime_index
import numpy as np
import recommend
import star_regression
import zip_codes
from bench_frames_programs import Program
from bench_work_rows import Later

kernels, pandas, polars = map(Later, ["frame_kernels", "pandas", "polars"])

WEIGHTS, INTERCEPTS, LEVELS = crime_index.WEIGHTS, crime_index.INTERCEPTS, crime_index.LEVELS
SCALES, LINEAR, FEATURES = crime_index.SCALES, crime_index.LINEAR, crime_index.FEATURES


def dot(columns, weights):
    first, *others = [column * weight for column, weight in zip(columns, weights, strict=True)]
    for other in others:
        first = first + other
    return first


def softmax_polars(cities):
    """All of it as expressions, which Polars runs on all threads: faster than NumPy between two queries. Its streaming engine is the
    faster one here and below, and the slower one for queries and counts."""
    features = [polars.col(name) / scale for name, scale in zip(FEATURES, SCALES, strict=True)]
    shares = [polars.col(f"score{k}").exp() for k in range(4)]
    return (
        cities.lazy()
        .filter(polars.col("population") > 500_000)
        .select("state", *((dot(features, WEIGHTS[:, k]) + INTERCEPTS[k]).alias(f"score{k}") for k in range(4)))
        .with_columns((polars.col(f"score{k}") - polars.max_horizontal(*(f"score{each}" for each in range(4)))) for k in range(4))
        .select("state", index=dot(shares, LEVELS) / polars.sum_horizontal(*shares))
        .group_by("state")
        .agg(polars.col("index").sum())
        .sort("state")
        .collect(engine="streaming")
    )


def softmax_duckdb(db):
    scores = ", ".join(
        f"{' + '.join(f'{name} / {scale!r} * ({weight!r})' for name, scale, weight in zip(FEATURES, map(float, SCALES), map(float, WEIGHTS[:, k]), strict=True))} + ({float(INTERCEPTS[k])!r}) as s{k}"
        for k in range(4)
    )
    weighed = " + ".join(f"{float(level)!r} * exp(s{k} - m)" for k, level in enumerate(LEVELS))
    total = " + ".join(f"exp(s{k} - m)" for k in range(4))
    return db.sql(
        f"with scores as (select state, {scores} from cities where population > 500000), largest as (select *, greatest(s0, s1, s2, s3) as m from scores) "
        f"select state, sum(({weighed}) / ({total})) as index from largest group by state order by state"
    ).to_arrow_table()


def softmax_numba(cities):
    index = kernels.softmax_index(*(cities[name].to_numpy() for name in FEATURES), WEIGHTS, INTERCEPTS, LEVELS, SCALES)
    return by_state(cities, index)


def by_state(cities, index):
    large = np.flatnonzero(index >= 0)
    return pandas.DataFrame({"state": cities["state"].array.take(large), "index": index[large]}).groupby("state", as_index=False)["index"].sum()


def linear_polars(cities):
    index = dot([polars.col(name) for name in FEATURES], LINEAR) / 1e5
    capped = polars.when(index >= 0.02).then(0.032).when(index < 0.01).then(0.005).otherwise(index)
    return cities.lazy().filter(polars.col("population") > 500_000).select("state", index=capped).group_by("state").agg(polars.col("index").sum()).sort("state").collect(engine="streaming")


def linear_duckdb(db):
    index = " + ".join(f"{name} * ({float(weight)!r}::double)" for name, weight in zip(FEATURES, LINEAR, strict=True))
    return db.sql(
        f"with scores as (select state, ({index}) / 1e5 as x from cities where population > 500000) "
        "select state, sum(case when x >= 0.02 then 0.032::double when x < 0.01 then 0.005::double else x end) as index from scores group by state order by state"
    ).to_arrow_table()


def linear_numba(cities):
    return by_state(cities, kernels.linear_index(*(cities[name].to_numpy() for name in FEATURES), LINEAR))


def zip_polars(requests):
    code = polars.col("zip")
    return requests.lazy().select(code.str.slice(0, 5)).filter(~code.is_in(zip_codes.NOTHING)).unique().sort("zip").collect(engine="streaming")


def zip_duckdb(db):
    nothing = ", ".join(f"'{text}'" for text in zip_codes.NOTHING)
    return db.sql(f"select distinct zip[1:5] as zip from requests where zip[1:5] not in ({nothing}) order by zip").to_arrow_table()


def recommend_polars(ratings, movies):
    recent = movies.lazy().filter(polars.col("year") >= 1990)
    rated = ratings.lazy().join(recent, on="movie").select("user", "movie", "rating").collect(engine="streaming")
    R = recommend.matrix(*(rated[name].to_numpy() for name in ["user", "movie", "rating"]))
    best = recommend.recommended(np, R, R[: recommend.USERS].toarray())
    found = polars.LazyFrame({"user": np.arange(recommend.USERS), "movie": best})
    return found.join(recent, on="movie").sort("user").collect(engine="streaming")


def recommend_duckdb(db):
    rated = db.sql("select user_ as user, movie, rating from (select ratings.\"user\" as user_, movie, rating from ratings join movies using (movie) where year >= 1990)").fetchnumpy()
    R = recommend.matrix(rated["user"], rated["movie"], rated["rating"])
    found = pandas.DataFrame({"user": np.arange(recommend.USERS), "movie": recommend.recommended(np, R, R[: recommend.USERS].toarray())})
    db.register("found", found)
    return db.sql('select f."user", f.movie, title, year from found f join movies using (movie) order by f."user"').to_arrow_table()


def regression_polars(sales, stores, items):
    """Sums of products in the query, so that no joined rows are kept: faster than NumPy after it."""
    c = polars.col
    columns = {name: c(name) for name in [*star_regression.FEATURES, "units"]} | {"one": polars.lit(1.0)}
    joined = sales.lazy().join(stores.lazy(), on="store").join(items.lazy(), on="item")
    sums = joined.select((columns[one] * columns[other]).sum().alias(f"{one} {other}") for one, other in pairs() if (one, other) != ("one", "one"))
    return solved([*sums.collect(engine="streaming").row(0), sales.height])


def regression_duckdb(db):
    sums = ", ".join(f"sum({one} * {other})" for one, other in pairs()).replace("one", "1.0::double")
    [found] = db.sql(f"select {sums} from sales join stores using (store) join items using (item)").fetchall()
    return solved(found)


def pairs():
    """Columns whose products the normal equations sum."""
    names = [*star_regression.FEATURES, "units", "one"]
    return [(one, other) for place, one in enumerate(names) for other in names[place:]]


def solved(sums):
    """The intercept and the coefficients from sums of products."""
    found = dict(zip(pairs(), sums, strict=True))
    names = ["one", *star_regression.FEATURES]
    gram = np.array([[found.get((one, other)) or found[other, one] for other in names] for one in names])
    return np.linalg.solve(gram, np.array([found.get((name, "units")) or found["units", name] for name in names]))


PROGRAMS = [
    Program(
        "crime-index-1",
        what="large cities, a softmax model of three columns, its total in each state",
        sizes={"n": 5_000_000},
        inputs=lambda n: crime_index.data(n),
        forms={
            "fulgurite": crime_index.softmax_with_fulgurite,
            "pandas": crime_index.softmax_with_pandas,
            "polars": softmax_polars,
            "duckdb": softmax_duckdb,
            "numba": softmax_numba,
        },
        reach=3,
    ),
    Program(
        "crime-index-2",
        what="large cities, a linear model of three columns with bounds, its total in each state",
        sizes={"n": 5_000_000},
        inputs=lambda n: crime_index.data(n),
        forms={
            "fulgurite": crime_index.linear_with_fulgurite,
            "pandas": crime_index.linear_with_pandas,
            "polars": linear_polars,
            "duckdb": linear_duckdb,
            "numba": linear_numba,
        },
        reach=3,
    ),
    Program(
        "zip-codes",
        what="five characters of each zip code, without bad ones, each once",
        sizes={"n": 10_000_000},
        inputs=lambda n: zip_codes.data(n),
        forms={"fulgurite": zip_codes.with_fulgurite, "pandas": zip_codes.with_pandas, "polars": zip_polars, "duckdb": zip_duckdb},
    ),
    Program(
        "recommend",
        what="ratings joined with recent movies, scores by two sparse products, the best movie of 100 users",
        sizes={"n": 5_000_000},
        inputs=lambda n: recommend.data(n),
        forms={"fulgurite": recommend.with_fulgurite, "pandas": recommend.with_pandas, "polars": recommend_polars, "duckdb": recommend_duckdb},
        reach=3,
    ),
    Program(
        "star-regression",
        what="sales joined with stores and items, least squares of seven columns by normal equations",
        sizes={"n": 5_000_000},
        inputs=lambda n: star_regression.data(n),
        forms={"fulgurite": star_regression.with_fulgurite, "pandas": star_regression.with_pandas, "polars": regression_polars, "duckdb": regression_duckdb},
        reach=3,
        tolerance=1e-8,
    ),
]
