"""SystemDS builtins: clustering, factorization, neighbours, graphs, trees."""

import numpy as np

import data
from case import builtin

X, label = data.clusters()
X4, y4 = data.classes()

builtin("kmeans", "[C, Y] = kmeans(X=X, k=3, runs=3, seed=7)", "C, Y", X=X)
builtin("kmeans", "[C, Y] = kmeans(X=X, k=2, runs=10, max_iter=30, eps=1e-8, is_verbose=TRUE, seed=11)", "C, Y", name="kmeans-verbose", X=X)
builtin("kmeansPredict", "Y = kmeansPredict(X=X, C=C)", "Y", X=X, C=data.uniform(4, 3, 2, 0, 12))
builtin("quantizeByCluster", "[C, K, R] = quantizeByCluster(X=X, M=2, k=3, runs=2, seed=5)", "C, K", X=data.clusters(80, 4, 3, 4)[0])
builtin("dbscan", "[M, C] = dbscan(X=X, eps=1.2, minPts=4)", "M, C", X=X)
builtin("dbscanApply", "[M, C] = dbscan(X=X, eps=1.2, minPts=4)\n[K, O] = dbscanApply(X=Z, clusterModel=C, eps=1.2)", "K, O", X=X, Z=data.clusters(20, 3, 3, 3, 1.5)[0])
gmm = '[L, P, df, bic, mu, prec, w] = gmm(X=X, n_components=3, model="{}", init_params="{}", iter=40, seed=9)'
for model in ("VVV", "EEE", "VVI", "VII"):
    builtin("gmm", gmm.format(model, "kmeans"), "L, df:scalar, bic:scalar, mu, w", name=f"gmm-{model}", X=X, tolerance=1e-5)
builtin("gmm", gmm.format("VVV", "random"), "mu, w", name="gmm-random", X=X, tolerance=1e-4)
builtin("gmmPredict", gmm.format("VVV", "kmeans") + "\n[Z, Q] = gmmPredict(X=X, weight=w, mu=mu, precisions_cholesky=prec)", "Z, Q", X=X, tolerance=1e-5)
builtin("tSNE", "Y = tSNE(X=X, perplexity=10, max_iter=20, seed=3)", "Y", X=X[:40], tolerance=1e-4, note="20 steps: the method magnifies rounding")
builtin("knn", "[N, C, F] = knn(Train=X, Test=T, CL=Y, CL_T=2, k_value=5)", "N, C", X=X4, T=data.classes(20, 4, 3, 5, 2)[0], Y=y4)
builtin("knn", "[N, C, F] = knn(Train=X, Test=T, CL=Y, CL_T=1, k_value=3, predict_con_tg=1, trans_continuous=1)", "N, C", name="knn-continuous", X=X4, T=data.classes(20, 4, 3, 6, 2)[0], Y=data.normal(150, 1, 3))
builtin("knnbf", "N = knnbf(X=X, T=T, k_value=4)", "N", X=X4, T=data.classes(20, 4, 3, 7, 2)[0])
builtin("knnGraph", "G = knnGraph(X, 3)", "G", X=X4[:40])
builtin("dist", "D = dist(X)", "D", X=X4[:40], tolerance=1e-6)

R = data.sparse(40, 30, 41, 0.3)
als = "[U, V] = {}(X=X, rank=4, {}maxi=12, verbose=FALSE)\nP = U %*% V\nL = as.matrix(sum((X != 0) * (P - X)^2))"
builtin("als", als.format("als", "reg=0.1, check=TRUE, "), "L", X=R, tolerance=1e-4)
builtin("alsCG", als.format("alsCG", 'regType="wL2", reg=0.1, check=TRUE, '), "P, L", X=R, tolerance=1e-4)
builtin("alsDS", als.format("alsDS", "reg=0.1, check=TRUE, "), "P, L", X=R, tolerance=1e-5)
top = {"ids": [[3.0], [7.0], [1.0]], "I": np.eye(40), "L": data.uniform(40, 4, 42), "R": data.uniform(4, 30, 43)}
builtin("alsPredict", "Y = alsPredict(userIDs=ids, I=I, L=L, R=R)", "Y", **{**top, "I": (R != 0) * 1.0})
builtin("alsTopkPredict", "[I1, V] = alsTopkPredict(userIDs=ids, I=I, L=L, R=R, K=4)", "I1, V", **{**top, "I": (R != 0) * 1.0})
builtin("gnmf", "[W, H] = gnmf(X=X, rnk=3, maxi=8)\nP = W %*% H", "P", X=data.uniform(30, 12, 44), tolerance=1e-6)
builtin("pnmf", "[W, H] = pnmf(X=X, rnk=3, maxi=8, verbose=TRUE, seed=5)", "W, H", X=data.integers(30, 12, 45, 1, 9), tolerance=1e-6)

P = data.normal(60, 5, 46) @ np.diag([3, 2, 1, 0.6, 0.3])
pca = "[R, C, m, s] = pca(X=X, K=3{})"
builtin("pca", pca.format("") + "\nR = abs(R)\nC = abs(C)", "R, C, m, s", X=P, tolerance=1e-7, note="signs of components are open")
builtin("pca", pca.format(", center=TRUE, scale=FALSE") + "\nR = abs(R)\nC = abs(C)", "R, C, m", name="pca-centered", X=P, tolerance=1e-7, note="signs of components are open")
builtin("pcaTransform", "Y = pcaTransform(X=X, Clusters=C, Centering=m, ScaleFactor=s)", "Y", X=P, C=data.normal(5, 2, 47), m=data.normal(1, 5, 48), s=data.uniform(1, 5, 49, 1, 2))
builtin("pcaInverse", "X = pcaInverse(Y=Y, Clusters=C, Centering=m, ScaleFactor=s)", "X", Y=data.normal(20, 2, 50), C=data.normal(5, 2, 47), m=data.normal(1, 5, 48), s=data.uniform(1, 5, 49, 1, 2))
builtin("ppca", "[X1, M] = ppca(X=X, K=2, maxi=5, verbose=FALSE)", "X1, M", X=P, tolerance=1e-5)

builtin("components", "C = components(G=G, verbose=FALSE)", "C", G=data.graph(24, groups=3))
builtin("pageRank", "p = pageRank(G=G, p=p, e=e, u=u, alpha=0.85, max_iter=15)", "p", G=data.graph(20), p=np.full((20, 1), 0.05), e=np.ones((20, 1)), u=np.full((1, 20), 0.05))
builtin("pageRank", "p = pageRank(G=G, seed=4)", "p", name="pageRank-defaults", G=data.graph(20))
builtin("shortestPath", "C = shortestPath(G=G, sourceNode=2)", "C", G=data.graph(20, weighted=True, groups=2))
builtin("stableMarriage", "M = stableMarriage(P=P, A=A, ordered=TRUE)", "M", P=[[2.0, 1, 3], [1, 2, 3], [1, 3, 2]], A=[[3.0, 1, 2], [2, 1, 3], [3, 2, 1]])
builtin("stableMarriage", "M = stableMarriage(P=P, A=A, ordered=FALSE)", "M", name="stableMarriage-values", P=[[2.0, 1, 3], [1, 2, 3], [1, 3, 2]], A=[[3.0, 1, 2], [2, 1, 3], [3, 2, 1]])
builtin(
    "hospitalResidencyMatch",
    "[A, B] = hospitalResidencyMatch(R=R, H=H, capacity=c)",
    "A, B",
    R=[[2.0, 1, 3], [1, 2, 3], [1, 3, 2]],
    H=[[2.0, 1, 3], [1, 2, 3], [3, 1, 2]],
    c=[[1.0], [1], [1]],
)
builtin("deepWalk", "P = deepWalk(G, 2, 4, 2, 5)", "P", G=data.graph(12))

C, c = data.recoded()
types = [[2.0, 2, 2, 2, 2]]
ordinal = [[1.0, 1, 1, 1, 2]]
tree = "M = decisionTree(X=X, y=y, ctypes=t, max_depth=4, min_leaf=5, min_split=10, max_features=1.0, {}seed=7)"
builtin("decisionTree", tree.format(""), "M", name="decisionTree-categories", X=C, y=c, t=types)
builtin("decisionTree", tree.format('impurity="entropy", '), "M", name="decisionTree-ordinal", X=C, y=c, t=ordinal)
builtin("decisionTree", tree.format('impurity="rss", '), "M", name="decisionTree-regression", X=C, y=np.round(C[:, :1] * 2 + C[:, 1:2] ** 2, 2), t=[[1.0, 1, 1, 1, 1]])
builtin("decisionTreePredict", tree.format("") + '\np = decisionTreePredict(X=X, y=y, ctypes=t, M=M, strategy="TT", verbose=TRUE)', "p", X=C, y=c, t=ordinal)
builtin("decisionTreePredict", tree.format("") + '\np = decisionTreePredict(X=X, ctypes=t, M=M, strategy="GEMM")', "p", name="decisionTreePredict-GEMM", X=C, y=c, t=ordinal)
forest = "M = randomForest(X=X, y=y, ctypes=t, num_trees=5, sample_frac=0.6, {}max_depth=4, min_leaf=3, min_split=6, max_features=1.0, seed=13)"
builtin("randomForest", forest.format(""), "M", X=C, y=c, t=ordinal)
builtin("randomForest", forest.format("feature_frac=0.6, "), "M", name="randomForest-features", X=C, y=c, t=types)
builtin("randomForestPredict", forest.format("") + "\np = randomForestPredict(X=X, y=y, ctypes=t, M=M, verbose=TRUE)", "p", X=C, y=c, t=ordinal)

B, b = data.regression(60, 3, 8)
D = np.hstack([np.round(B[:, :2], 2), (B[:, 2:] > 0) * 1.0, (B[:, 2:] <= 0) * 1.0])
kinds = [[1.0, 1, 2, 2]]
boost = "M = xgboost(X=X, y=y, R=r, sml_type={}, num_trees=3, learning_rate=0.3, max_depth=3, lambda=0.1)"
builtin("xgboost", boost.format(1), "M", name="xgboost-regression", X=D, y=b, r=kinds, tolerance=1e-6)
builtin("xgboost", boost.format(2), "M", name="xgboost-classification", X=D, y=(b > 1.5) * 1.0, r=kinds, tolerance=1e-6)
builtin("xgboostPredictRegression", boost.format(1) + "\nP = xgboostPredictRegression(X=X, M=M, learning_rate=0.3)", "P", X=D, y=b, r=kinds, tolerance=1e-6)
builtin("xgboostPredictClassification", boost.format(2) + "\nP = xgboostPredictClassification(X=X, M=M, learning_rate=0.3)", "P", X=D, y=(b > 1.5) * 1.0, r=kinds, tolerance=1e-6)

errors = np.round(np.where((C[:, :1] == 2) & (C[:, 1:2] == 3), 1.0, 0.1) + data.uniform(200, 1, 51, 0, 0.05), 4)
lines = "k=4, maxL=3, minSup=4, alpha=0.9{}"
for name in ("sliceLine", "slicefinder"):
    builtin(name, f"[T, S, D] = {name}(X=X, e=e, {lines.format('')})", "T, S", X=C, e=errors)
builtin("sliceLine", f"[T, S, D] = sliceLine(X=X, e=e, {lines.format(', tpEval=FALSE, selFeat=TRUE, verbose=TRUE')})", "T, S, D", name="sliceLine-data-parallel", X=C, e=errors)
builtin("sliceLineExtract", f"[T, S, D] = sliceLine(X=X, e=e, {lines.format('')})\n[A, B, I] = sliceLineExtract(X=X, e=e, TK=T, TKC=S, k2=2)", "A, B, I", X=C, e=errors)
builtin(
    "incSliceLine",
    f"[T, S, D, L, m, st, Xo, eo, fb, fe, pr] = incSliceLine(addedX=X, addedE=e, {lines.format('')})",
    "T, S, Xo, eo, fb, fe",
    X=C,
    e=errors,
)
