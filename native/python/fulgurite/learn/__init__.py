"""Estimators with scikit-learn's interface whose fits are scripts of DML: one program each.

They need scikit-learn, whose classes they extend: parameters, tags, checks of input and attributes are its own. `_base`
runs the scripts, which are in `scripts`; the other modules have the classes.
"""

try:
    import sklearn as _sklearn
except ImportError:
    raise ImportError(
        "fulgurite.learn needs scikit-learn 1.9 or newer: pip install 'fulgurite[learn]'"
    ) from None

if tuple(int(part) for part in _sklearn.__version__.split(".")[:2]) < (1, 9):
    raise ImportError(
        f"fulgurite.learn needs scikit-learn 1.9 or newer, and this is {_sklearn.__version__}: pip install 'scikit-learn>=1.9'"
    )

from ._als import ALS
from ._base import Fitted as _Fitted
from ._base import UnsupportedError
from ._bayes import GaussianNB, MultinomialNB
from ._cluster import KMeans
from ._decomposition import NMF, PCA, TruncatedSVD
from ._glm import GammaRegressor, PoissonRegressor, TweedieRegressor
from ._linear import ElasticNet, Lasso, LinearRegression, Ridge
from ._logistic import LogisticRegression
from ._minibatch import MiniBatchKMeans
from ._mixture import GaussianMixture
from ._saved import load
from ._scaler import StandardScaler
from ._svm import LinearSVC

__all__ = [
    "ALS",
    "NMF",
    "PCA",
    "ElasticNet",
    "GammaRegressor",
    "GaussianMixture",
    "GaussianNB",
    "KMeans",
    "Lasso",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "MiniBatchKMeans",
    "MultinomialNB",
    "PoissonRegressor",
    "Ridge",
    "StandardScaler",
    "TruncatedSVD",
    "TweedieRegressor",
    "UnsupportedError",
    "load",
]

# Those that `load` may make.
_MODELS = {
    name: kind
    for name, kind in globals().items()
    if name in __all__ and isinstance(kind, type) and issubclass(kind, _Fitted)
}
