"""SystemML 1.2's algorithm scripts, its generators of data and its utilities, run as they are."""

import numpy as np

import data
from case import exclude, scripts

ALGORITHMS, DATAGEN, UTILS = "SystemML algorithms", "SystemML datagen", "SystemML utils"


def algorithm(name, arguments, out, *, after="", train=None, variant="", **options):
    """`train` is (script, arguments) to run first; `after` is DML that runs last."""
    steps = [(f"scripts/algorithms/{script}.dml", words) for script, words in ([train] if train else []) + [(name, arguments)]]
    if after:
        options["files"] = {"after.dml": after}
        steps.append(("after.dml", None))
    scripts(ALGORITHMS, name, steps, out, name=name + variant, **options)


def files(names):
    """Arguments that name the files of inputs (`in/X`) and outputs (`out/B`)."""
    return dict(pair.split("=") if "=" in pair else (pair, f"in/{pair}") for pair in names.split())


X, y = data.regression(100, 4, 301)
yes = (X[:, :1] + data.normal(100, 1, 302) > 0) + 1.0
X3, y3 = data.classes(120, 4, 3, 303)
R = data.sparse(30, 20, 304, 0.4)

for name, more in {"LinearRegDS": " icpt=1 reg=0.001", "LinearRegCG": " icpt=2 reg=0.001 tol=1e-10 maxi=30"}.items():
    algorithm(name, files("X Y B=out/B O=out/O fmt=csv" + more), "B, O:frame", X=X, Y=y, tolerance=1e-6)
algorithm("StepLinearRegDS", files("X Y B=out/B S=out/S O=out/O fmt=csv icpt=1 thr=0.001"), "B, S, O:frame", X=X, Y=y, tolerance=1e-6)
glm = "X Y B=out/B O=out/O fmt=csv "
algorithm("GLM", files(glm + "dfam=2 link=2 yneg=1 icpt=1"), "B, O:frame", variant="-logit", X=X, Y=yes, tolerance=1e-4)
algorithm("GLM", files(glm + "dfam=1 vpow=1 icpt=2 reg=0.1"), "B, O:frame", variant="-poisson", X=X, Y=np.round(np.exp(X[:, :1] / 2 + 1)), tolerance=1e-4)
algorithm("GLM", files(glm + "dfam=2 link=3 yneg=1"), "B, O:frame", variant="-probit", X=X, Y=yes, tolerance=1e-4)
algorithm("GLM-predict", files("X B Y M=out/M O=out/O fmt=csv dfam=2 link=2"), "M, O:frame", X=X, B=data.normal(4, 1, 305), Y=yes, tolerance=1e-6)
algorithm("StepGLM", files("X Y B=out/B S=out/S O=out/O fmt=csv icpt=1 thr=0.01 yneg=1"), "B, S, O:frame", X=X, Y=yes, tolerance=1e-4)
algorithm("MultiLogReg", files("X Y B=out/B fmt=csv icpt=1 reg=0.1 moi=50"), "B", X=X3, Y=y3, tolerance=1e-4)
algorithm("l2-svm", files("X Y model=out/w Log=out/log fmt=csv icpt=1 tol=1e-6"), "w", X=X, Y=yes, tolerance=1e-5)
algorithm("m-svm", files("X Y model=out/w Log=out/log fmt=csv icpt=0 tol=1e-6"), "w", X=X3, Y=y3, tolerance=1e-5)
scored = "X Y model=out/w scores=out/s accuracy=out/a confusion=out/c fmt=csv"
algorithm("l2-svm-predict", files(scored), "s, c", train=("l2-svm", files("X Y model=out/w Log=out/log fmt=csv tol=1e-6")), X=X, Y=yes, tolerance=1e-5)
algorithm("m-svm-predict", files(scored), "s, c", train=("m-svm", files("X Y model=out/w Log=out/log fmt=csv tol=1e-6")), X=X3, Y=y3, tolerance=1e-5)
counts = data.integers(80, 5, 306, 0, 6)
bayes = files("X Y prior=out/p conditionals=out/c accuracy=out/a fmt=csv laplace=1")
algorithm("naive-bayes", bayes, "p, c", X=counts, Y=data.integers(80, 1, 307, 1, 3))
algorithm("naive-bayes-predict", files("X Y prior=out/p conditionals=out/c probabilities=out/q confusion=out/m fmt=csv"), "q, m", train=("naive-bayes", bayes), X=counts, Y=data.integers(80, 1, 307, 1, 3))
K, _ = data.clusters(90, 3, 3, 308)
algorithm("Kmeans", files("X k=3 C=out/C Y=out/Y isY=TRUE runs=4 fmt=csv"), "S, Y", after='C = read("out/C")\nS = order(target=C, by=1)\nwrite(S, "out/S", format="csv")\nY = read("out/Y")\nX = read("in/X")\nE = X - table(seq(1, nrow(X)), Y) %*% C\nS = as.matrix(sum(E^2))\nY = as.matrix(max(Y))\nwrite(S, "out/S", format="csv")\nwrite(Y, "out/Y", format="csv")', X=K, tolerance=1e-5, note="starts without a seed: the sum of squares of the best of four runs")
algorithm("Kmeans-predict", files("X C prY=out/P O=out/O fmt=csv"), "P", X=K, C=data.uniform(3, 3, 309, 0, 12))
algorithm("Kmeans-predict", files("X C spY=in/L prY=out/P O=out/O fmt=csv"), "P, O:frame", variant="-labels", X=K, C=data.uniform(3, 3, 309, 0, 12), L=data.clusters(90, 3, 3, 308)[1], tolerance=1e-6)
pca = {"INPUT": "in/X", "K": 2, "OFMT": "csv", "PROJDATA": 1, "CENTER": 1, "SCALE": 1, "OUTPUT": "out"}
algorithm("PCA", pca, "dominant.eigen.standard.deviations, dominant.eigen.values, V, P", after='V = abs(read("out/dominant.eigen.vectors"))\nP = abs(read("out/projected.data"))\nwrite(V, "out/V", format="csv")\nwrite(P, "out/P", format="csv")', X=X @ np.diag([4, 3, 2, 1]), tolerance=1e-6, note="signs of components are open")
algorithm("ALS-CG", files("X U=out/U V=out/V rank=3 reg=L2 lambda=0.1 maxi=15 fmt=csv"), "E", after='X = read("in/X")\nU = read("out/U")\nV = read("out/V")\nif (ncol(U) != nrow(V)) { V = t(V) }\nE = as.matrix(sum((X != 0) * (X - U %*% V)^2) < 0.3 * sum(X^2))\nwrite(E, "out/E", format="csv")', X=R, note="starts without a seed: whether the fit is good")
algorithm("ALS-DS", {"V": "in/X", "L": "out/U", "R": "out/V", "rank": 3, "lambda": 0.1, "maxi": 15, "fmt": "csv"}, "E", after='X = read("in/X")\nU = read("out/U")\nV = read("out/V")\nif (ncol(U) != nrow(V)) { V = t(V) }\nE = as.matrix(sum((X != 0) * (X - U %*% V)^2) < 0.3 * sum(X^2))\nwrite(E, "out/E", format="csv")', X=R, note="starts without a seed: whether the fit is good")
factors = {"L": data.uniform(30, 3, 310), "R": data.uniform(3, 20, 311)}
algorithm("ALS_predict", files("X L R Y=out/Y Vrows=30 Vcols=20 fmt=csv"), "Y", X=[[1.0, 2], [3, 4], [30, 20]], L=factors["L"], R=factors["R"])
algorithm("ALS_topk_predict", files("X L R V Y=out/Y K=4 fmt=csv"), "Y, Y.ratings", X=[[2.0], [7], [30]], V=R, **factors)
S = data.survival(90, 312)
TE = [[1.0], [2.0]]
algorithm("KM", files("X TE GI SI O=out/O M=out/M T=out/T ttype=log-rank fmt=csv"), "O, M, T, T.groups.oe", X=S, TE=TE, GI=[[3.0]], SI=[[4.0]], tolerance=1e-6)
algorithm("KM", files("X TE GI O=out/O M=out/M etype=peto ctype=plain alpha=0.1 fmt=csv"), "O, M", variant="-peto", X=S, TE=TE, GI=[[3.0]], tolerance=1e-6)
cox = files("X TE F M=out/M S=out/S T=out/T RT=out/RT COV=out/COV MF=out/MF XO=out/XO fmt=csv")
algorithm("Cox", cox, "M, S, T, RT, COV, MF, XO", X=S, TE=TE, F=[[3.0], [5.0]], tolerance=1e-4)
algorithm("Cox-predict", {"X": "out/XO", "RT": "out/RT", "M": "out/M", "Y": "in/Y", "COV": "out/COV", "MF": "out/MF", "P": "out/P", "fmt": "csv"}, "P", train=("Cox", cox), X=S, TE=TE, F=[[3.0], [5.0]], Y=S[:20], tolerance=1e-4)
knots = np.linspace(0, 4, 9)[:, None]
for name in ("CsplineDS", "CsplineCG"):
    algorithm(name, files("X Y K=out/K O=out/O inp_x=1.3 fmt=csv" + (" tol=1e-12" if name.endswith("CG") else "")), "O" if name.endswith("CG") else "K, O", X=knots, Y=np.round(np.sin(knots), 4), tolerance=1e-6)
mixed = np.column_stack([data.normal(90, 2, 313), data.integers(90, 2, 314, 1, 4)])
algorithm("Univar-Stats", {"X": "in/X", "TYPES": "in/T", "STATS": "out/S"}, "S", X=mixed, T=[[1.0, 1, 2, 3]])
pairs = {"index1": [[1.0, 3, 4]], "index2": [[2.0, 3, 4]], "types1": [[1.0, 2, 3]], "types2": [[1.0, 2, 3]]}
scripts("SystemDS algorithms", "Univar-Stats", [("scripts/algorithms/Univar-Stats.dml", {"X": "in/X", "TYPES": "in/T", "STATS": "out/S"})], "S", system="systemds", X=mixed, T=[[1.0, 1, 2, 3]])
scripts("SystemDS algorithms", "StepGLM", [("scripts/algorithms/StepGLM.dml", files("X Y B=out/B S=out/S O=out/O fmt=csv icpt=1 thr=0.01 yneg=1"))], "B, S, O:frame", system="systemds", X=X, Y=yes, tolerance=1e-4)
fit = 'X = read("in/X")\nTE = read("in/TE")\nF = read("in/F")\nR = matrix(0, 0, 0)\n[M, S, T, COV, RT, XO] = cox(X=X, TE=TE, F=F, R=R)\nMF = rbind(TE, F)\n' + "".join(f'write({name}, "out/{name}", format="csv")\n' for name in ("M", "COV", "RT", "XO", "MF"))
scripts("SystemDS algorithms", "Cox-predict", [("fit.dml", None), ("scripts/algorithms/Cox-predict.dml", {"X": "out/XO", "RT": "out/RT", "M": "out/M", "Y": "in/Y", "COV": "out/COV", "MF": "out/MF", "P": "out/P", "fmt": "csv"})], "P", system="systemds", files={"fit.dml": fit}, X=S, TE=TE, F=[[3.0], [5.0]], Y=S[:20], tolerance=1e-4)
kinds = ", ".join(f"bivar.{kind}.stats" for kind in ("scale.scale", "nominal.scale", "nominal.nominal", "ordinal.ordinal"))
algorithm("bivar-stats", files("X index1 index2 types1 types2 OUTDIR=out"), kinds, X=mixed, **pairs, tolerance=1e-7)
strat = np.column_stack([data.normal(80, 3, 30), data.integers(80, 1, 31, 1, 4)])
algorithm("stratstats", files("X Y S=in/X Xcid Ycid Scid=4 O=out/O fmt=csv"), "O", X=data.missing(strat, 33, 0.05, [0, 1]), Y=data.missing(data.normal(80, 4, 32), 34), Xcid=[[1.0, 2, 3]], Ycid=[[1.0, 2]], tolerance=1e-7)

C, c = data.recoded(150, (3, 4), 315)
scale = data.normal(150, 2, 316)
T = np.hstack([scale, np.eye(3)[C[:, 0].astype(int) - 1], np.eye(4)[C[:, 1].astype(int) - 1]])
label = np.eye(2)[((scale[:, 0] > 0.2) & (C[:, 0] > 1)).astype(int)]
trees = {"X": T, "Y": label, "R": [[1.0, 1, 1], [2, 2, 2], [3, 3, 5], [4, 6, 9]]}
tree = files("X Y R M=out/M bins=10 depth=4 num_leaf=5 num_samples=50 fmt=csv")
algorithm("decision-tree", tree, "M", **trees)
algorithm("decision-tree", {**tree, "impurity": "entropy"}, "M", variant="-entropy", **trees)
algorithm("decision-tree-predict", files("X Y R M=out/M P=out/P A=out/A CM=out/C fmt=csv"), "P, C", train=("decision-tree", tree), **trees)
forest = files("X Y R M=out/M C=out/C bins=10 depth=4 num_leaf=5 num_samples=50 num_trees=3 fmt=csv")
good = 'P = read("out/P")\nY = read("in/Y")\nok = as.matrix(sum(rowMaxs(P) == rowIndexMax(Y)) > 0.6 * nrow(Y))\nwrite(ok, "out/ok", format="csv")'
algorithm("random-forest", forest, "s", after='M = read("out/M")\ns = as.matrix(nrow(M) >= 7)\nwrite(s, "out/s", format="csv")', **trees, note="draws without a seed: that there is a model")
algorithm("random-forest-predict", files("X Y R M=out/M C=out/C P=out/P A=out/A CM=out/CM fmt=csv"), "ok", train=("random-forest", forest), after=good, **trees, note="draws without a seed: whether predictions are right")
for name in ("transform", "apply-transform"):
    exclude(name, "SystemML 1.2 itself cannot run it: the function `transform` was removed there", ALGORITHMS)


def datagen(name, arguments, sizes, note="draws without a seed: sizes"):
    """The files that a generator leaves, whatever their format, are measured: their sizes, and what does not depend on chance."""
    lines = []
    for i, path in enumerate(sizes):
        lines.append(f'X{i} = read("out/{path}")\nR{i} = cbind(as.matrix(nrow(X{i})), as.matrix(ncol(X{i})))')
        lines.append(f"S = R{i}" if i == 0 else f"S = rbind(S, R{i})")
    lines.append('write(S, "out/S", format="csv")')
    scripts(DATAGEN, name, [(f"scripts/datagen/{name}.dml", arguments), ("after.dml", None)], "S", files={"after.dml": "\n".join(lines)}, note=note)


datagen("genRandData4ALS", {"X": "out/X", "U": "out/U", "V": "out/V", "rows": 30, "cols": 20, "rank": 3, "nnz": 200}, ["X", "U", "V"])
datagen("genRandData4ChisquaredTest", [200, 3, 4, "out/s", "out/X"], ["X"])
datagen("genRandData4DecisionTree1", {"XCat": "out/X", "Y": "out/Y", "num_records": 50, "num_cat": 4, "num_class": 3, "num_distinct": 4, "sp": 1.0, "fmt": "csv"}, ["X", "Y"])
described = {"R": 60, "C": 6, "NC": 3, "MAXDOMAIN": 4, "DATA": "out/X", "SETSIZE": 4, "LABELSETSIZE": 4, "TYPES": "out/T", "TYPES1": "out/T1", "TYPES2": "out/T2", "INDEX1": "out/I1", "INDEX2": "out/I2", "FMT": "csv"}
datagen("genRandData4DescriptiveStats", described, ["X", "T", "T1", "T2", "I1", "I2"])
datagen("genRandData4FTest", [4, 3, 200, 1.0, 0.5, "out/f", "out/X"], ["X"])
datagen("genRandData4Kmeans", {"nr": 60, "nf": 3, "nc": 3, "dc": 1.0, "dr": 1.0, "fbf": 1.0, "cbf": 1.0, "X": "out/X", "C": "out/C", "Y": "out/Y", "YbyC": "out/YbyC"}, ["X", "C", "Y", "YbyC"])
lt = {"N": 50, "Nt": 20, "nf": 4, "nc": 3, "iceptmin": 1, "iceptmax": 2, "Xmin": 0, "Xmax": 1, "avgLTmin": 0.5, "avgLTmax": 1, "spars": 0.9, "stdLT": 0.2, "B": "out/B", "X": "out/X", "Y": "out/Y", "Xt": "out/Xt", "Yt": "out/Yt", "fmt": "csv"}
for name in ("genRandData4LinearReg_LTstats", "genRandData4LogReg_LTstats"):
    datagen(name, lt, ["B", "X", "Y", "Xt", "Yt"])
linear = [50, 4, 5, 5, "out/w", "out/X", "out/Y", 1, 0, 0.8]
datagen("genRandData4LinearRegression", [*linear, "csv", "perc"], ["w", "X", "Y"])
datagen("genRandData4LogisticRegression", [*linear, "csv", 1], ["w", "X", "Y"])
datagen("genRandData4MultiClassSVM", [*linear, 3], ["w", "X", "Y"])
datagen("genRandData4Multinomial", [50, 4, 0.8, 3, 1, "out/X", "out/Y", "csv"], ["X", "Y"])
datagen("genRandData4NMF", [10, 12, 3, 20, "out/D", "out/T", "out/X"], ["D", "T", "X"])
datagen("genRandData4NMFBlockwise", [10, 12, 3, 20, "out/D", "out/T", "out/X", 4], ["D", "T", "X"])
datagen("genRandData4PCA", {"R": 50, "C": 20, "OUT": "out/X"}, ["X"])
datagen("genRandData4StratStats", {"nr": 80, "nf": 3, "smin": 1, "smax": 4, "D": "out/X", "Xcid": "out/Y", "Ycid": "out/Z", "A": "out/A", "fmt": "csv"}, ["X", "Y", "Z"])
datagen("genRandData4SurvAnalysis", {"type": "kaplan-meier", "n": 50, "g": 2, "s": 2, "O": "out/O", "B": "out/B", "TE": "out/TE", "F": "out/F", "fmt": "csv"}, ["O", "TE"])
datagen("genRandData4Transform", {"rows": 40, "cols": 6, "out_X": "out/X", "out_categorical": "out/C", "out_missing": "out/M"}, ["X"])
datagen("genRandData4Univariate", [60, 2, 1, 0.5, 1, 0.2, 0.1, "out/X"], ["X"])
exclude("genRandData4DecisionTree2", "SystemML 1.2 itself cannot run it: the function `transform` was removed there", DATAGEN)


def utility(name, arguments, out, after="", **options):
    """Both systems ship these scripts."""
    steps = [(f"scripts/utils/{name}.dml", arguments)]
    if after:
        steps.append(("after.dml", None))
        options["files"] = {"after.dml": after}
    scripts(UTILS, name, steps, out, **options)
    scripts("SystemDS utils", name, steps, out, system="systemds", **options)


M = data.normal(30, 5, 320)
copy = 'Y = read("out/B")\nwrite(Y, "out/Y", format="csv")'
utility("csv2bin", {"csv": "in/X", "bin": "out/B"}, "Y", after=copy, X=M)
utility("generateData", {"R": 20, "C": 4, "S": 1.0, "Path": "out/B"}, "S", after='Y = read("out/B")\nS = cbind(as.matrix(nrow(Y)), as.matrix(ncol(Y)))\nwrite(S, "out/S", format="csv")', note="draws without a seed: sizes")
utility("head", {"x": "in/X", "n": 7, "o": "out/Y"}, "Y", X=M)
utility("project", {"X": "in/X", "P": "in/P", "o": "out/B"}, "Y", after=copy, X=M, P=[[4.0], [1], [3]])
utility("rowIndexMax", {"I": "in/X", "O": "out/Y"}, "Y", X=M)
utility("sample", {"X": "in/X", "sv": "in/p", "O": "out"}, "s", after='A = read("out/1")\nB = read("out/2")\ns = as.matrix(nrow(A) + nrow(B))\nwrite(s, "out/s", format="csv")', X=M, p=[[0.6], [0.4]], note="draws without a seed: that rows are split")
utility("shuffle", {"x": "in/X", "o": "out/B"}, "Y", after='Y = read("out/B")\nY = order(target=Y, by=1)\nwrite(Y, "out/Y", format="csv")', X=M, note="draws without a seed: rows in sorted order")
both = 'A = read("out/A")\nB = read("out/B")\nwrite(A, "out/X", format="csv")\nwrite(B, "out/Y", format="csv")'
utility("splitXY", {"X": "in/X", "y": 4, "OX": "out/A", "OY": "out/B"}, "X, Y", after=both, X=M)
utility("splitXY-dummy", {"X": "in/X", "N": 2, "OX": "out/A", "OY": "out/B"}, "X, Y", after=both, X=M)
utility("write", {"I": "in/X", "O": "out/Y", "ofmt": "csv"}, "Y", X=M)
for name in ("dataprep", "image_utils", "metrics"):
    exclude(name, "a library of functions, without a program of its own", UTILS)
    exclude(name, "a library of functions, without a program of its own", "SystemDS utils")
