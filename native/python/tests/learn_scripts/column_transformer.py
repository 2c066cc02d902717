"""Columns of several kinds in a pandas DataFrame, with DataFrames as output."""

import numpy as np
import pandas as pd
from sklearn import config_context
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

rng = np.random.default_rng(0)
frame = pd.DataFrame(
    {
        "age": rng.integers(18, 90, 300).astype(float),
        "fare": rng.gamma(2.0, 20.0, 300),
        "class": rng.choice(["first", "second", "third"], 300),
        "port": rng.choice(["C", "Q", "S"], 300),
    }
)
survived = (frame["fare"] > 30) ^ (rng.random(300) < 0.1)
with config_context(transform_output="pandas"):
    preprocess = ColumnTransformer(
        [
            ("numbers", StandardScaler(), make_column_selector(dtype_include=float)),
            ("names", OneHotEncoder(sparse_output=False), ["class", "port"]),
        ]
    )
    pipe = make_pipeline(preprocess, LogisticRegression(tol=1e-8)).fit(frame, survived)
    seen = preprocess.fit_transform(frame)
    reduced = make_pipeline(preprocess, TruncatedSVD(3, algorithm="arpack")).fit_transform(frame)
results = {
    "columns": list(seen.columns),
    "cells": seen.to_numpy(),
    "names": list(pipe.named_steps["logisticregression"].feature_names_in_),
    "reduced columns": list(reduced.columns),
    "reduced": np.abs(reduced.to_numpy()),
    "probabilities": pipe.predict_proba(frame),
}
