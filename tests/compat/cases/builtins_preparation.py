"""SystemDS builtins: scaling, outliers, missing values, sampling, measures, sets."""

import numpy as np

import data
from case import builtin, exclude

X = data.normal(60, 4, 61, 3, 2)
spiked = X.copy()
spiked[5, 0], spiked[17, 2], spiked[30, 3] = 60, -45, 99
gaps = data.missing(X, 62, 0.12)
codes = data.integers(60, 3, 63, 1, 4)
holes = data.missing(codes, 64, 0.1)
holes[0] = 4

builtin("scale", "[Y, m, s] = scale(X=X, center=TRUE, scale=TRUE)", "Y, m, s", X=X)
builtin("scale", "[Y, m, s] = scale(X=X, center=FALSE, scale=TRUE)", "Y, s", name="scale-only", X=X)
builtin("scale", "[Y, m, s] = scale(X=X, center=TRUE, scale=FALSE)", "Y, m", name="scale-center", X=X)
builtin("scaleApply", "Y = scaleApply(X=X, Centering=m, ScaleFactor=s)", "Y", X=X, m=data.normal(1, 4, 65), s=data.uniform(1, 4, 66, 1, 3))
builtin("scaleMinMax", "Y = scaleMinMax(X)", "Y", X=X)
builtin("scaleRobust", "[Y, m, a, b] = scaleRobust(X)", "Y, m, a, b", X=X)
builtin("scaleRobustApply", "Y = scaleRobustApply(X, m, a, b)", "Y", X=X, m=data.normal(1, 4, 65), a=data.uniform(1, 4, 66), b=data.uniform(1, 4, 67, 2, 3))
builtin("normalize", "[Y, a, b] = normalize(X=X)", "Y, a, b", X=X)
builtin("normalizeApply", "Y = normalizeApply(X=X, cmin=a, cmax=b)", "Y", X=X, a=data.uniform(1, 4, 66), b=data.uniform(1, 4, 67, 2, 3))
builtin("winsorize", "[Y, a, b] = winsorize(X=X, ql=0.1, qu=0.9, verbose=TRUE)", "Y, a, b", X=spiked)
builtin("winsorizeApply", "Y = winsorizeApply(X=X, qLower=a, qUpper=b)", "Y", X=spiked, a=data.uniform(1, 4, 66), b=data.uniform(1, 4, 67, 2, 3))
builtin("outlier", "Y = outlier(X=X, opposite=FALSE)", "Y", X=X)
builtin("outlier", "Y = outlier(X=X, opposite=TRUE)", "Y", name="outlier-opposite", X=X)
iqr = "[Y, a, b, i, k, r] = outlierByIQR(X=X, k=1.5, repairMethod={}, max_iterations={}, verbose=FALSE)"
sd = "[Y, m, s, k, r] = outlierBySd(X=X, k=3, repairMethod={}, max_iterations={}, verbose=FALSE)"
for method in (0, 1, 2):
    builtin("outlierByIQR", iqr.format(method, 1), "Y, a, b, i, k:scalar, r:scalar", name=f"outlierByIQR-{method}", X=spiked)
    builtin("outlierBySd", sd.format(method, 1), "Y, m, s", name=f"outlierBySd-{method}", X=spiked)
builtin("outlierByIQR", iqr.format(1, 0), "Y", name="outlierByIQR-iterative", X=spiked)
builtin("outlierBySd", sd.format(1, 0), "Y", name="outlierBySd-iterative", X=spiked)
builtin("outlierByIQRApply", "Y = outlierByIQRApply(X=X, Q1=a, Q3=b, IQR=i, k=1.5, repairMethod=1)", "Y", X=spiked, a=data.uniform(1, 4, 66), b=data.uniform(1, 4, 67, 4, 5), i=data.uniform(1, 4, 68, 3, 4))
builtin("outlierBySdApply", "Y = outlierBySdApply(X=X, colMean=m, colSD=s, k=2, repairMethod=2)", "Y", X=spiked, m=data.uniform(1, 4, 66, 2, 4), s=data.uniform(1, 4, 67, 1, 2))
builtin("outlierByArima", "Y = outlierByArima(X=X, k=2, repairMethod=1, p=2)", "Y", X=np.vstack([data.series(40), [[30.0]], data.series(20, 24)]), tolerance=1e-4)
mask = [[0.0, 0, 1, 0]]
mixed = np.column_stack([gaps[:, :2], holes[:, 0], gaps[:, 3]])
builtin("imputeByMean", "[Y, v] = imputeByMean(X=X, mask=m)", "Y, v", X=mixed, m=mask)
builtin("imputeByMeanApply", "Y = imputeByMeanApply(X=X, imputedVec=v)", "Y", X=mixed, v=[[1.0, 2, 3, 4]])
builtin("imputeByMedian", "[Y, v] = imputeByMedian(X=X, mask=m)", "Y, v", X=mixed, m=mask)
builtin("imputeByMedianApply", "Y = imputeByMedianApply(X=X, imputedVec=v)", "Y", X=mixed, v=[[1.0, 2, 3, 4]])
builtin("imputeByMode", "[Y, v] = imputeByMode(X=X)", "Y, v", X=holes)
builtin("imputeByModeApply", "Y = imputeByModeApply(X=X, imputedVec=v)", "Y", X=holes, v=[[1.0, 2, 3]])
for method in ("dist", "dist_missing", "dist_sample"):
    builtin("imputeByKNN", f'Y = imputeByKNN(X=X, method="{method}", seed=5, sample_frac=0.9)', "Y", name=f"imputeByKNN-{method}", X=data.missing(X, 69, 0.05, [1]))
functional = np.column_stack([codes[:, 0], codes[:, 0] % 3 + 1])
broken = functional.copy()
broken[[4, 19], 1] = np.nan
broken[[9], 1] = 3
builtin("imputeByFD", "[Y, v] = imputeByFD(X=X, Y=T, threshold=0.6)", "Y, v", X=codes[:, :1], T=broken[:, 1:])
builtin("imputeByFDApply", "Y = imputeByFDApply(X=X, Y_imp=v)", "Y", X=codes[:, :1], v=[[2.0], [3.0], [1.0], [2.0]])
builtin("discoverFD", "F = discoverFD(X=X, Mask=m, threshold=0.8)", "F", X=np.hstack([functional, codes[:, 1:]]), m=[[1.0, 1, 1, 1]])
mice = "[Y, meta, t, dM, L] = mice(X=X, cMask=m, iter=2, threshold={})"
builtin("mice", mice.format(0.6), "Y, meta, t:scalar", name="mice-mixed", X=mixed, m=mask, tolerance=1e-4)
builtin("mice", mice.format(0.8), "Y", name="mice-numbers", X=gaps, m=np.zeros((1, 4)), tolerance=1e-4)
builtin("miceApply", mice.format(0.6) + "\nZ = miceApply(X=X, meta=meta, threshold=t, dM=dM, betaList=L)", "Z", X=mixed, m=mask, tolerance=1e-4)
builtin("na_locf", 'Y = na_locf(X=X, option="locf")', "Y", X=gaps)
builtin("na_locf", 'Y = na_locf(X=X, option="nocb", verbose=TRUE)', "Y", name="na_locf-backward", X=gaps)
builtin("statsNA", "s = statsNA(X=X, bins=4, verbose=TRUE)", "s", X=data.missing(data.series(40), 70, 0.25))
builtin("WoE", "[F, E] = WoE(X=X, Y=Y, mask=m)", "F, E", X=codes, Y=data.integers(60, 1, 71, 1, 2), m=[[1.0, 0, 1]])
builtin("WoEApply", "[F, E] = WoE(X=X, Y=Y, mask=m)\nF = WoEApply(X=Z, Y=Y, entropyMatrix=E)", "F", X=codes, Z=codes[::-1], Y=data.integers(60, 1, 71, 1, 2), m=[[1.0, 0, 1]])
builtin("frequencyEncode", "[Y, f] = frequencyEncode(X=X, mask=m)", "Y, f", X=codes, m=[[1.0, 0, 1]])
builtin("frequencyEncodeApply", "[Y, f] = frequencyEncode(X=X, mask=m)\nY = frequencyEncodeApply(X=Z, freqCount=f)", "Y", X=codes, Z=codes[::-1], m=[[1.0, 0, 1]])
builtin("toOneHot", "Y = toOneHot(X, 5)", "Y", X=codes[:, :1])
builtin("selectByVarThresh", "[Y, I] = selectByVarThresh(X=X, thresh=3.5)", "Y, I", X=X)
for method in ("entropy", "gini"):
    builtin("impurityMeasures", f'I = impurityMeasures(X=X, Y=Y, R=R, n_bins=5, method="{method}")', "I", name=f"impurityMeasures-{method}", X=np.hstack([codes, X[:, :1]]), Y=(X[:, 1:2] > 3) * 1.0, R=[[2.0, 2, 2, 1]])

minority, _ = data.clusters(30, 3, 2, 72)
builtin("smote", "Y = smote(X=X, mask=m, s=200, k=2)", "Y", X=minority, m=[[0.0, 0, 0]])
Xb, yb = data.binary(80)
unequal = np.vstack([Xb, Xb[:30] + 5])
labels = np.vstack([np.ones((80, 1)), np.full((30, 1), 2.0)])
builtin("adasyn", "[A, B] = adasyn(X=X, Y=Y, k=3, beta=1.0, dth=0.9, seed=5)", "A, B", X=unequal, Y=labels)
builtin("tomeklink", "[A, b, d] = tomeklink(X=X, y=y)", "A, b, d", X=Xb, y=(yb + 3) / 2)
builtin("underSampling", "[A, B] = underSampling(X, Y, 0.3)", "A, B", X=unequal, Y=labels)
builtin("abstain", "[A, B] = abstain(X=X, Y=Y, threshold=0.6)", "A, B", X=Xb, Y=(yb + 3) / 2)
builtin("split", "[A, B, C, D] = split(X=X, Y=Y, f=0.7, cont=TRUE)", "A, B, C, D", X=Xb, Y=yb)
builtin("split", "[A, B, C, D] = split(X=X, Y=Y, f=0.6, cont=FALSE, seed=7)", "A, B, C, D", name="split-sampled", X=Xb, Y=yb)
builtin("splitBalanced", "[A, b, C, d] = splitBalanced(X=X, Y=Y, splitRatio=0.7)", "A, b, C, d", X=unequal, Y=labels)
builtin("ampute", 'Y = ampute(X=X, prop=0.4, mech="MAR", seed=11)', "Y", X=X)
builtin("ampute", 'Y = ampute(X=X, prop=0.5, patterns=P, freq=f, mech="MNAR", seed=3)\nM = is.na(Y)', "M", name="ampute-patterns", X=X, P=[[0.0, 1, 1, 1], [1, 1, 0, 0]], f=[[0.6], [0.4]])

A, B = codes[:, :1], data.integers(60, 1, 73, 1, 4)
builtin("confusionMatrix", "[s, a] = confusionMatrix(P=P, Y=Y)", "s, a", P=A, Y=B)
builtin("f1Score", "s = f1Score(P=P, Y=Y)", "s:scalar", P=data.integers(60, 1, 74, 1, 2), Y=data.integers(60, 1, 75, 1, 2))
builtin("fdr", "F = fdr(P=P, Y=Y)", "F", P=A, Y=B)
builtin("getAccuracy", "a = getAccuracy(y=y, yhat=p)\nb = getAccuracy(y=y, yhat=p, isWeighted=TRUE)", "a:scalar, b:scalar", y=B, p=A)
builtin("mcc", "m = mcc(predictions=p, labels=l)", "m:scalar", p=data.integers(60, 1, 76, 0, 1), l=data.integers(60, 1, 77, 0, 1))
builtin("auc", "a = auc(Y=Y, P=P)", "a:scalar", Y=data.integers(60, 1, 76, 0, 1), P=np.round(data.uniform(60, 1, 78), 2))
builtin("auc", "a = auc(Y=Y, P=P)", "a:scalar", name="auc-signs", Y=2 * data.integers(60, 1, 76, 0, 1) - 1, P=data.uniform(60, 1, 78))
near = np.round(X + data.normal(60, 4, 79, 0, 0.3), 4)
for name in ("mae", "mape", "mse", "msmape", "nrmse", "rmse", "smape"):
    if name == "msmape":
        # Of its two outputs SystemDS declares one.
        builtin(name, f"Z = {name}(X=X, Y=Y, P=P)", "Z", X=X, Y=near, P=[[0.25], [0.5], [0.9]])
    else:
        builtin(name, f"[Z, Q] = {name}(X=X, Y=Y, P=P)", "Z, Q", X=X, Y=near, P=[[0.25], [0.5], [0.9]])
builtin("flattenQuantile", "Q = flattenQuantile(X, P)", "Q", X=X, P=[[0.1], [0.5], [0.75], [1.0]])
builtin("psnr", "Z = psnr(X, Y)", "Z", X=X, Y=near)
builtin("differenceStatistics", "differenceStatistics(X, Y)\ndone = 1", "done:scalar", X=X, Y=near, note="prints only")
builtin("skewness", "s = skewness(X)", "s", X=X)
builtin("cor", "C = cor(X=X)", "C", X=X)
for margin in ("rows", "cols", "none"):
    builtin("logSumExp", f'L = logSumExp(M=X, margin="{margin}")', "L", name=f"logSumExp-{margin}", X=X)
builtin("sigmoid", "Y = sigmoid(X)", "Y", X=X)
builtin("softmax", "Y = softmax(S=X)", "Y", X=X)
builtin("sqrtMatrix", 'B = sqrtMatrix(A=A, S="DML")\nC = sqrtMatrix(A=A, S="COMMON")', "B, C", A=[[4.0, 1, 0], [1, 5, 2], [0, 2, 6]], tolerance=1e-6)
sets = {"X": [[1.0], [3], [7], [2], [9], [3]], "Y": [[3.0], [9], [4], [11]]}
for name in ("union", "intersect", "setdiff", "symmetricDifference"):
    builtin(name, f"R = {name}(X, Y)\nR = order(target=R, by=1)", "R", **sets)
builtin("vectorToCsv", "s = vectorToCsv(m)", "s:text", m=[[1.0, 0, 1, 1, 0]])

table = np.column_stack([data.integers(25, 1, 80, 1, 5), data.uniform(25, 2, 81)])
other = np.column_stack([data.integers(15, 1, 82, 1, 7), data.uniform(15, 1, 83)])
for method in ("nested-loop", "permutation-matrix"):
    builtin("raGroupby", f'Y = raGroupby(X=X, col=1, method="{method}")', "Y", name=f"raGroupby-{method}", X=table)
for method in ("nested-loop", "sort-merge", "hash", "hash2"):
    script = f'Y = raJoin(A=A, colA=1, B=B, colB=1, method="{method}")\nfor (j in ncol(Y):1) {{ Y = order(target=Y, by=j) }}'
    # Of a hash join the left keys are unique.
    left = np.hstack([np.arange(1.0, 8)[:, None], table[:7, 1:]]) if "hash" in method else table
    builtin("raJoin", script, "Y", name=f"raJoin-{method}", A=left, B=other, note="rows in sorted order")
for op in ("==", "!=", "<", ">", "<=", ">="):
    builtin("raSelection", f'Y = raSelection(X=X, col=1, op="{op}", val=3)', "Y", name=f"raSelection-{ {'==': 'eq', '!=': 'ne', '<': 'lt', '>': 'gt', '<=': 'le', '>=': 'ge'}[op]}", X=table)
exclude("xdummy1 xdummy2", "files that lack the function of their name, on purpose: SystemDS tests its error with them")
