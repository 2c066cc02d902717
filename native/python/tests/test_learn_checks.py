"""scikit-learn's own checks of estimators, and what every estimator of ours has."""

import pytest

pytest.importorskip("sklearn", minversion="1.9")

from sklearn.utils.estimator_checks import check_estimator

from fulgurite import learn

NAMES = [name for name in learn.__all__ if name != "UnsupportedError"]

# Checks that scikit-learn's own class fails, too.
FAIL_THERE = {
    "KMeans": {
        "check_sample_weight_equivalence_on_dense_data": "other rows draw other first centres",
        "check_sample_weight_equivalence_on_sparse_data": "other rows draw other first centres",
    },
    "Ridge": {
        "check_non_transformer_estimators_n_iter": "n_iter_ is None for methods without iterations",
    },
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_checks_of_scikit_learn(name):
    known = FAIL_THERE.get(name, {})
    results = check_estimator(
        getattr(learn, name)(), expected_failed_checks=known, on_fail=None, on_skip=None
    )
    failed = [each["check_name"] for each in results if each["status"] == "failed"]
    assert not failed
    # Checks of other array libraries need those.
    skipped = {each["check_name"] for each in results if each["status"] == "skipped"}
    assert all("array_api" in each for each in skipped)
