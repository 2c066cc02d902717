"""SystemDS builtins: regression, classification by linear models, survival, tests."""

import numpy as np

import data
from case import builtin

X, y = data.regression()
wide, wide_y = data.regression(60, 12, 2)

builtin("lm", "B = lm(X=X, y=y, icpt=1, reg=1e-3, verbose=FALSE)", "B", X=X, y=y)
builtin("lm", "B = lm(X=X, y=y, icpt=2, verbose=TRUE)", "B", name="lm-icpt2", X=X, y=y)
builtin("lmDS", "B = lmDS(X=X, y=y, icpt=2, reg=1e-4, verbose=FALSE)", "B", X=X, y=y)
builtin("lmDS", "B = lmDS(X=X, y=y)", "B", name="lmDS-defaults", X=wide, y=wide_y)
builtin("lmCG", "B = lmCG(X=X, y=y, icpt=1, reg=1e-4, tol=1e-9, maxi=30, verbose=FALSE)", "B", X=X, y=y, tolerance=1e-6)
builtin("lmPredict", "B = lmDS(X=X, y=y, icpt=1, verbose=FALSE)\nP = lmPredict(X=X, B=B, ytest=y, icpt=1, verbose=TRUE)", "P", X=X, y=y)
builtin("lmPredictStats", "R = lmPredictStats(P, y, TRUE)", "R", X=X, y=y, P=np.round(y + data.normal(120, 1, 4, 0, 0.3), 4))
builtin("cvlm", "[P, B] = cvlm(X=X, y=y, k=4, icpt=0, reg=1e-4)", "P, B", X=X, y=y)
builtin("steplm", "[B, S] = steplm(X=X, y=y, icpt=1, verbose=FALSE)", "B, S", X=X, y=y)
builtin("lasso", "w = lasso(X=X, y=y, tau=0.5, verbose=FALSE)", "w", X=X, y=y, tolerance=1e-6)

counts = np.round(np.exp(0.4 * X[:, :1] + 0.8)) + 0.0
positive = np.round(np.exp(0.3 * X[:, 1:2] + 1.0), 4)
yes = (X[:, :1] + data.normal(120, 1, 6) > 0) * 1.0
glm = "B = glm(X=X, Y=Y, {}, verbose=FALSE)"
builtin("glm", glm.format("dfam=1, vpow=0.0, icpt=1"), "B", name="glm-gaussian", X=X, Y=y, tolerance=1e-6)
builtin("glm", glm.format("dfam=1, vpow=1.0, icpt=1"), "B", name="glm-poisson", X=X, Y=counts, tolerance=1e-5)
builtin("glm", glm.format("dfam=1, vpow=2.0, link=1, lpow=0.0, icpt=2"), "B", name="glm-gamma", X=X, Y=positive, tolerance=1e-5)
builtin("glm", glm.format("dfam=2, link=2, icpt=1, yneg=0.0, reg=0.01"), "B", name="glm-logit", X=X, Y=yes, tolerance=1e-5)
builtin("glm", glm.format("dfam=2, link=3, icpt=1, yneg=0.0"), "B", name="glm-probit", X=X, Y=yes, tolerance=1e-5)
builtin("glm", glm.format("dfam=2, link=4, icpt=0, yneg=0.0"), "B", name="glm-cloglog", X=X, Y=yes, tolerance=1e-5)
builtin("glm", glm.format("dfam=2, link=5, icpt=0, yneg=0.0"), "B", name="glm-cauchit", X=X, Y=yes, tolerance=1e-5)
predict = "M = glmPredict(X=X, B=B, ytest=Y, {}, verbose=TRUE)"
beta = np.array([[0.5], [-0.2], [0.1], [0.3], [-0.1]])
builtin("glmPredict", predict.format("dfam=1, vpow=1.0, link=1, lpow=0.0"), "M", name="glmPredict-poisson", X=X, B=beta, Y=counts)
builtin("glmPredict", predict.format("dfam=2, link=2"), "M", name="glmPredict-logit", X=X, B=beta, Y=np.hstack([yes, 1 - yes]))

X2, y2 = data.binary()
X3, y3 = data.classes()
builtin("l2svm", "W = l2svm(X=X, Y=Y, intercept=TRUE, epsilon=1e-6, reg=1, verbose=FALSE)", "W", X=X2, Y=y2, tolerance=1e-5)
builtin("l2svm", "W = l2svm(X=X, Y=Y, verbose=TRUE)", "W", name="l2svm-one-two", X=X2, Y=(y2 + 3) / 2, tolerance=1e-5)
builtin("l2svmPredict", "[R, P] = l2svmPredict(X=X, W=W, verbose=TRUE)", "R, P", X=X2, W=data.normal(5, 1, 8))
builtin("msvm", "W = msvm(X=X, Y=Y, intercept=TRUE, epsilon=1e-5)", "W", X=X3, Y=y3, tolerance=1e-5)
builtin("msvmPredict", "[R, P] = msvmPredict(X=X, W=W)", "R, P", X=X3, W=data.normal(5, 3, 9))
builtin("multiLogReg", "B = multiLogReg(X=X, Y=Y, icpt=2, reg=0.1, maxi=50, verbose=FALSE)", "B", X=X3, Y=y3, tolerance=1e-4)
builtin("multiLogReg", "B = multiLogReg(X=X, Y=Y, icpt=0, tol=1e-9, reg=1, maxi=30, verbose=TRUE)", "B", name="multiLogReg-icpt0", X=X3, Y=y3, tolerance=1e-4)
builtin("multiLogRegPredict", "[M, P, a] = multiLogRegPredict(X=X, B=B, Y=Y, verbose=TRUE)", "M, P, a:scalar", X=X3, Y=y3, B=data.normal(5, 2, 10))
builtin("naiveBayes", "[p, C] = naiveBayes(D=X, C=Y, laplace=1, verbose=TRUE)", "p, C", X=data.integers(90, 5, 12, 0, 6), Y=data.integers(90, 1, 13, 1, 3))
builtin(
    "naiveBayesPredict",
    "[p, C] = naiveBayes(D=X, C=Y, verbose=FALSE)\n[R, P] = naiveBayesPredict(X=X, P=p, C=C)",
    "R, P",
    X=data.integers(90, 5, 12, 0, 6),
    Y=data.integers(90, 1, 13, 1, 3),
)
builtin(
    "gaussianClassifier",
    "[p, m, L, d] = gaussianClassifier(D=X, C=Y, varSmoothing=1e-9, verbose=FALSE)\nL1 = as.matrix(L[1])\nL3 = as.matrix(L[3])",
    "p, m, d, L1, L3",
    X=X3,
    Y=y3,
    tolerance=1e-7,
)

S = data.survival()
TE = np.array([[1.0], [2.0]])
builtin("km", "[O, M, T, E] = km(X=X, TE=TE, GI=GI, SI=SI)", "O, M", X=S, TE=TE, GI=[[3.0]], SI=[[4.0]])
builtin(
    "km",
    'z = matrix(0, 0, 0)\n[O, M, T, E] = km(X=X, TE=TE, GI=GI, SI=z, alpha=0.1, err_type="peto", conf_type="log-log", test_type="log-rank")',
    "O, M, T, E",
    name="km-log-rank",
    X=S,
    TE=TE,
    GI=[[3.0]],
)
builtin("cox", "R = matrix(0, 0, 0)\n[M, S, T, COV, RT, XO] = cox(X=X, TE=TE, F=F, R=R)", "M, S, T, COV, RT, XO", X=S, TE=TE, F=[[3.0], [5.0]], tolerance=1e-5)
builtin("cox", "[M, S, T, COV, RT, XO] = cox(X=X, TE=TE, F=F, R=R)", "M, S, T", name="cox-factors", X=np.hstack([S, 3 - S[:, 2:3]]), TE=TE, F=[[3.0], [5.0]], R=[[3.0, 3.0]], tolerance=1e-5)

knots = np.linspace(0, 4, 9)[:, None]
values = np.round(np.sin(knots), 4)
builtin("cspline", 'x = 1.3\n[P, K] = cspline(X=X, Y=Y, inp_x=x, mode="DS")', "P, K", X=knots, Y=values)
builtin("cspline", '[P, K] = cspline(X=X, Y=Y, inp_x=2.2, mode="CG", tol=1e-10, maxi=50)', "P, K", name="cspline-CG", X=knots, Y=values, tolerance=1e-6)
builtin("csplineDS", "[P, K] = csplineDS(X=X, Y=Y, inp_x=0.7)", "P, K", X=knots, Y=values)
builtin("csplineCG", "[P, K] = csplineCG(X=X, Y=Y, inp_x=0.7, tol=1e-12, maxi=100)", "P, K", X=knots, Y=values, tolerance=1e-6)

T = data.series()
for name, options in {"arima": "p=2, d=0, q=0", "arima-d1": "p=1, d=1, q=0, include_mean=TRUE", "arima-q1": 'p=1, d=0, q=1, solver="cg"'}.items():
    builtin("arima", f"b = arima(X=X, max_func_invoc=60, {options})", "b", name=name, X=T, tolerance=1e-4)
builtin("ses", "f = ses(x=X, h=3, alpha=0.3)", "f", X=T)
builtin("matrixProfile", "[p, i] = matrixProfile(ts=X, window_size=6)", "p, i", X=T, tolerance=1e-6)

strat = np.column_stack([data.normal(80, 3, 30), data.integers(80, 1, 31, 1, 4)])
builtin("stratstats", "M = stratstats(X=X, Y=Y, S=S, Xcid=Xc, Ycid=Yc, Scid=1)", "M", X=strat, Y=data.missing(data.normal(80, 4, 32), 33), S=strat[:, 3:], Xc=[[1.0, 2.0, 3.0]], Yc=[[1.0, 2.0]])
mixed = np.column_stack([data.normal(100, 2, 34), data.integers(100, 2, 35, 1, 4)])
builtin("univar", "S = univar(X=X, types=t)", "S", X=mixed, t=[[1.0, 1.0, 2.0, 3.0]])
builtin(
    "bivar",
    "[A, B, C, D] = bivar(X=X, S1=S1, S2=S2, T1=T1, T2=T2, verbose=FALSE)",
    "A, B, C, D",
    X=mixed[:, [0, 2, 3, 1]],
    S1=[[1.0, 2.0, 3.0]],
    S2=[[4.0, 2.0, 3.0]],
    T1=[[1.0, 2.0, 3.0]],
    T2=[[1.0, 2.0, 3.0]],
)
