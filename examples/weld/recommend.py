"""Recommends movies: joins ratings with recent movies, makes a sparse matrix of them, and multiplies it.

    python recommend.py                         a hundred thousand ratings
    python recommend.py --rows 10000000         ten million

A user's score of a movie is what users with like ratings gave it. The best movie that the user has not rated is recommended.
"""

import numpy as np
import pandas as pd
import scipy.sparse
import side_by_side

import fulgurite as fg

# To whom movies are recommended.
USERS = 100


def data(rows, seed=7):
    """Ratings by users of movies; a few movies have most of the ratings."""
    random = np.random.default_rng(seed)
    users, movies = max(2 * USERS, rows // 100), max(100, int(rows**0.5) * 2)
    pairs = np.unique(random.integers(users, size=rows) * movies + (movies * random.random(rows) ** 3).astype(np.int64))
    random.shuffle(pairs)
    ratings = {"user": pairs // movies, "movie": pairs % movies, "rating": random.integers(1, 11, size=len(pairs)) / 2}
    released = {"movie": np.arange(movies), "title": [f"movie {place}" for place in range(movies)]}
    released["year"] = random.integers(1950, 2025, size=movies)
    return {"ratings": pd.DataFrame(ratings), "movies": pd.DataFrame(released)}


def matrix(user, movie, rating):
    """Users in rows, movies in columns."""
    user, movie = np.asarray(user, dtype=np.int64), np.asarray(movie, dtype=np.int64)
    return scipy.sparse.csr_array((np.asarray(rating), (user, movie)), shape=(user.max() + 1, movie.max() + 1))


def recommended(xp, R, known):
    """The column of the best movie for each row of `known`, which has ratings of some users."""
    scores = (known @ R.T) @ R
    return xp.argmax(xp.where(known > 0, -1.0, scores), axis=1)


def with_fulgurite(ratings, movies):
    recent = fg.frame(movies).filter(fg.col("year") >= 1990)
    rated = fg.frame(ratings).join(recent, on="movie")
    R = matrix(*(rated.to_array(name) for name in ["user", "movie", "rating"]))
    best = recommended(fg, fg.asarray(R), R[:USERS].toarray())
    return fg.frame({"user": np.arange(USERS)}).with_columns(movie=best).join(recent, on="movie").sort("user").to_pandas()


def with_pandas(ratings, movies):
    recent = movies[movies["year"] >= 1990]
    rated = ratings.merge(recent, on="movie")
    R = matrix(rated["user"], rated["movie"], rated["rating"])
    best = recommended(np, R, R[:USERS].toarray())
    return pd.DataFrame({"user": np.arange(USERS), "movie": best}).merge(recent, on="movie").sort_values("user", ignore_index=True)


if __name__ == "__main__":
    side_by_side.run(__doc__, data, with_fulgurite, with_pandas)
