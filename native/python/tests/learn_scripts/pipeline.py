"""A pipeline of a scaler, components and a classifier."""

from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
pipe = make_pipeline(StandardScaler(), PCA(n_components=10), LogisticRegression(tol=1e-8))
pipe.fit(X_train, y_train)
results = {
    "score": pipe.score(X_test, y_test),
    "probabilities": pipe.predict_proba(X_test),
    "variances": pipe.named_steps["pca"].explained_variance_,
}
