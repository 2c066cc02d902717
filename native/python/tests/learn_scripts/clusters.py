"""Clusters of blobs, by the class and through scikit-learn's own users of it."""

from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.preprocessing import KBinsDiscretizer

X, y = make_blobs(300, centers=4, cluster_std=0.6, random_state=0)
model = KMeans(n_clusters=4, n_init=3, random_state=0)
labels = model.fit_predict(X)
by_k = [KMeans(k, n_init=1, random_state=0).fit(X).inertia_ for k in (2, 3, 4, 5)]
mixture = GaussianMixture(4, random_state=0, tol=1e-8).fit(X)
bayesian = BayesianGaussianMixture(n_components=4, random_state=0, max_iter=500).fit(X)
spectral = SpectralClustering(4, random_state=0, assign_labels="kmeans").fit(X)
bins = KBinsDiscretizer(3, encode="ordinal", strategy="kmeans", random_state=0).fit_transform(X)
results = {
    "inertia": model.inertia_,
    "by k": by_k,
    "labels": labels,
    "distances": model.transform(X[:5]),
    "silhouette": silhouette_score(X, labels),
    "mixture": mixture.score(X),
    "bic": mixture.bic(X),
    "bayesian": bayesian.score(X),
    "spectral": adjusted_rand_score(y, spectral.labels_),
    "bins": bins,
}
