"""Counts of words, which are a sparse matrix."""

from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline

texts = [
    "the cat sat on the mat",
    "a dog and a cat",
    "the dog barked at the cat",
    "stocks fell as rates rose",
    "the bank raised rates again",
    "markets and stocks rose",
] * 3
labels = ["pets", "pets", "pets", "money", "money", "money"] * 3
bayes = Pipeline([("counts", CountVectorizer()), ("model", MultinomialNB())]).fit(texts, labels)
logistic = Pipeline(
    [
        ("counts", CountVectorizer()),
        ("tfidf", TfidfTransformer()),
        ("model", LogisticRegression(tol=1e-8)),
    ]
).fit(texts, labels)
topics = NMF(2, init="nndsvd", max_iter=1000, tol=1e-6)
counts = CountVectorizer().fit_transform(texts)
weights = topics.fit_transform(counts)
new = ["the cat and the bank", "rates rose"]
results = {
    "bayes": bayes.predict_proba(new),
    "logistic": logistic.predict_proba(new),
    "classes": list(logistic.classes_),
    "error": topics.reconstruction_err_,
    "topics": weights.argmax(axis=1),
}
