"""SystemDS builtins: frames and strings, lists and functions by name, networks."""

import numpy as np

import data
from case import Frame, builtin

NAMES = ["london", "paris", "berlin", "vienna", "graz"]
generator = data.rng(91)
words = [NAMES[i] for i in generator.randint(0, 5, 60)]
typos = list(words)
typos[7], typos[21], typos[40] = "lonodn", "pariss", "berlun"
cities = Frame({"city": typos})
numbers = [int(n) for n in generator.randint(1, 9, 60)]

typo = "[Y, f, d, D, dict] = correctTypos(strings=F, frequency_threshold=0.05, distance_threshold=2)"
# The distances depend on the order of the dictionary, which is that of a hash table in SystemDS.
builtin("correctTypos", typo, "Y:frame, f:scalar, d:scalar", F=cities, note="without D, whose cells depend on the order of a hash table")
builtin("correctTyposApply", typo + "\nZ = correctTyposApply(strings=G, frequency_threshold=f, distance_threshold=d, distance_matrix=D, dict=dict)", "Z:frame", F=cities, G=Frame({"city": ["lonodn", "graz", "pariss", "paris"]}))
builtin("dmv", 'Y = dmv(X=F, threshold=0.8, replace="NA")', "Y:frame", F=Frame({"a": [f"{w[:3]}-{n}" for w, n in zip(words, numbers, strict=True)][:29] + ["?"], "b": [str(n * 11) for n in numbers[:30]]}))
builtin("dmv", "Y = dmv(X=F)", "Y:frame", name="dmv-defaults", F=Frame({"a": ["2019", "2020", "2021", "1999", "unknown", "1987"] * 4}))
builtin("frameSort", "Y = frameSort(F=F, mask=m, orderDesc=TRUE)", "Y:frame", F=Frame({"n": [float(n) + i / 100 for i, n in enumerate(numbers[:20])], "w": words[:20]}), m=[[0.0, 1.0]])
builtin("frameSort", "Y = frameSort(F=F, mask=m, orderDesc=FALSE)", "Y:frame", name="frameSort-ascending", F=Frame({"n": [float(n) + i / 100 for i, n in enumerate(numbers[:20])], "w": words[:20]}), m=[[0.0, 1.0]])
swapped = Frame({"id": [f"{1000 + i}" for i in range(30)], "name": [f"person number {i:02d}" for i in range(30)], "zip": [f"{80 + i:05d}" for i in range(30)]})
swapped.columns["id"][4], swapped.columns["name"][4] = "person number 04", "1004"
swapped.columns["name"][9] = "a name which is much longer than the names of all the others in the table"
lengths = "[Y, M, a, b] = fixInvalidLengths(F1=F, mask=m, ql=0.05, qu=0.9)"
builtin("fixInvalidLengths", lengths, "Y:frame, M, a, b", F=swapped, m=[[1.0, 1, 1]])
builtin("fixInvalidLengthsApply", lengths + "\nZ = fixInvalidLengthsApply(X=F, mask=m, qLow=a, qUp=b)", "Z:frame", F=swapped, m=[[1.0, 1, 1]])
people = Frame(
    {
        "name": ["john smith", "jon smith", "mary jones", "mary jones", "peter pan", "anna bell"],
        "city": ["london", "london", "paris", "paris", "graz", "graz"],
        "zip": ["1010", "1010", "2020", "2020", "3030", "4040"],
    }
)
builtin("mdedup", "M = mdedup(X=F, LHSfeatures=a, LHSthreshold=b, RHSfeatures=c, RHSthreshold=d, verbose=FALSE)", "M", F=people, a=[[1.0, 2]], b=[[0.9, 0.95]], c=[[3.0]], d=[[1.0]])
vocabulary = ["john", "jon", "smith", "mary", "jones", "peter", "pan", "anna", "bell", "london", "paris", "graz", "1010", "2020", "3030", "4040"]
builtin("dedup", 'U, D = dedup(X=F, gloveMatrix=G, vocab=V, similarityMeasure="cosine", threshold=0.95)'.replace("U, D", "[U, D]"), "U:frame, D:frame", F=people, G=data.uniform(16, 6, 92), V=Frame({"word": vocabulary}))
builtin("wer", "W = wer(R=R, H=H)", "W", R=Frame({"s": ["the cat sat on the mat", "hello world", "a b c d", "one"]}), H=Frame({"s": ["the cat sat on mat", "hello there world", "a x c", "one"]}))
series = [str(v) for v in np.round(data.series(40)[:, 0] + 5, 4)]
for i in (6, 7, 20, 33):
    series[i] = "NaN"
for mode in ("single", "double", "triple"):
    builtin("ema", f'Y = ema(X=F, search_iterations=1, mode="{mode}", freq=4, alpha=0.4, beta=0.3, gamma=0.2)', "Y:frame", name=f"ema-{mode}", F=Frame({"v": series}))
texts = Frame({"t": ["The cat sat on the mat.", "A dog and a cat; one dog!", "The dog sat on a cat", "Cats and dogs sat"]})
window = "maxTokens=12, windowSize=3, distanceWeighting={}, symmetric={}"
builtin("cooccurrenceMatrix", f"[C, w] = cooccurrenceMatrix(input=F, {window.format('TRUE', 'TRUE')})", "C, w:frame", F=texts)
builtin("cooccurrenceMatrix", f"[C, w] = cooccurrenceMatrix(input=F, {window.format('FALSE', 'FALSE')})", "C", name="cooccurrenceMatrix-counts", F=texts)
builtin("glove", f"G = glove(input=F, seed=5, vector_size=3, alpha=0.75, eta=0.05, x_max=100, tol=1e-4, iterations=15, print_loss_it=5, {window.format('TRUE', 'TRUE')})", "G:frame", F=texts, tolerance=1e-6)
table = Frame(
    {
        "id": ["id", "1", "2", "3", "4", "5", "6"],
        "rank": ["rank", "Prof", "Prof", "AsstProf", "AssocProf", "Prof", "AsstProf"],
        "years": ["years", "20", "35", "3", "11", "40", "5"],
        "service": ["service", "18", "36", "3", "9", "30", "4"],
        "salary": ["salary", "100", "170", "80", "95", "150", "210"],
    }
)
columns = ["idx", "constraint.type", "group.by", "group.variable", "group.option", "variable1", "relation", "variable2"]
constraints = [
    ["1", "variableCompare", "FALSE", "", "", "years", "<", "service"],
    ["2", "instanceCompare", "TRUE", "rank", "Prof", "years", "><", "salary"],
    ["3", "valueCompare", "FALSE", "", "", "salary", ">", "200"],
    ["4", "variableCompare", "TRUE", "rank", "Prof", "years", ">", "service"],
]
builtin("denialConstraints", "W = denialConstraints(dataFrame=F, constraintsFrame=C)", "W", F=table, C=Frame({name: [name, *(row[i] for row in constraints)] for i, name in enumerate(columns)}))
categories = Frame({"city": words, "size": [("small", "large")[n % 2] for n in numbers]})
errors = np.where((np.array(words) == "paris") & (np.array(numbers) % 2 == 1), 1.0, 0.1)[:, None] + data.uniform(60, 1, 93, 0, 0.05)
builtin(
    "sliceLineDebug",
    'spec = "{ids:true, recode:[1, 2]}"\n[X, meta] = transformencode(target=F, spec=spec)\n[T, S, D] = sliceLine(X=X, e=e, k=3, minSup=3, alpha=0.9)\nR = sliceLineDebug(TK=T, TKC=S, tfmeta=meta, tfspec=spec)',
    "R, S",
    F=categories,
    e=np.round(errors, 4),
)

X, y = data.regression(80, 4)
norm = """
loss = function(Matrix[Double] X, Matrix[Double] y, Matrix[Double] B) return (Matrix[Double] L) {
  L = as.matrix(sum((y - X %*% B)^2))
}
"""
grid = '[B, opt] = gridSearch(X=X, y=y, train="lm", predict="loss", params=list("reg", "tol"), paramValues=list(10^seq(0,-3), 10^seq(-6,-8)){})'
builtin("gridSearch", norm + grid.format(", verbose=FALSE"), "B, opt:frame", X=X, y=y)
band = '[W, h] = hyperband(X_train=X, y_train=y, X_val=Z, y_val=z, params=list("reg"), paramRanges=r, R=9, eta=3, verbose=FALSE)\ngood = as.matrix(sum((z - Z %*% W)^2) < 0.5 * sum(z^2))'
builtin("hyperband", band, "good", X=X[:60], y=y[:60], Z=X[60:], z=y[60:], r=[[0.0, 20.0]], note="draws without a seed: whether the fit is good")
model = """
linear = function(Matrix[Double] X, Matrix[Double] w) return (Matrix[Double] P) {
  P = X %*% w + 2
}
"""
builtin("shapExplainer", model + '[P, e] = shapExplainer(model_function="linear", model_args=list(w=w), x_instances=x, X_bg=X, n_permutations=3, n_samples=20, seed=9)', "P, e:scalar", X=X, x=X[:5] + 1, w=data.normal(4, 1, 94), note="of a linear model, whose values no permutation changes")

small = data.uniform(64, 6, 95)
weights = {"A": data.normal(4, 6, 1), "B": data.normal(2, 4, 2), "C": data.normal(4, 2, 3), "D": data.normal(6, 4, 4), "o": data.rng(5).permutation(64)[:, None] + 1.0}
builtin(
    "autoencoder_2layer",
    "[W1, b1, W2, b2, W3, b3, W4, b4, H] = autoencoder_2layer(X=X, num_hidden1=4, num_hidden2=2, max_epochs=3, full_obj=TRUE, batch_size=16, step=1e-3, W1_rand=A, W2_rand=B, W3_rand=C, W4_rand=D, order_rand=o)",
    "W1, b1, W2, b2, W3, b3, W4, b4, H",
    X=small,
    **weights,
)
kinds = data.integers(64, 1, 96, 1, 3)
hot = np.eye(3)[kinds[:, 0].astype(int) - 1]
ff = 'm = ffTrain(X=X, Y=Y, batch_size=16, epochs=3, learning_rate=0.01, out_activation="{}", loss_fcn="{}", shuffle={}, seed=42)\n'
builtin("ffTrain", ff.format("softmax", "cel", "FALSE") + "W = as.matrix(m[\"W1\"])\nb = as.matrix(m[\"b2\"])", "W, b", X=small, Y=hot, tolerance=1e-6)
builtin("ffTrain", ff.format("tanh", "l2", "TRUE") + "p = ffPredict(model=m, X=X, batch_size=64)", "p", name="ffTrain-l2", X=small, Y=small[:, :2], tolerance=1e-6)
builtin("ffPredict", ff.format("sigmoid", "log_loss", "FALSE") + "p = ffPredict(model=m, X=X, batch_size=10)", "p", X=small, Y=hot, tolerance=1e-6)
digits = data.image(32, 64, 97) / 255
le = "m = lenetTrain(X=X, Y=Y, X_val=X, Y_val=Y, C=1, Hin=8, Win=8, batch_size=16, epochs=1, seed=42)\n"
builtin("lenetTrain", le + "W1 = as.matrix(m[\"b1\"])\nb4 = as.matrix(m[\"b4\"])", "W1, b4", X=np.round(digits, 4), Y=hot[:32], tolerance=1e-6)
builtin("lenetPredict", le + "p = lenetPredict(model=m, X=X, C=1, Hin=8, Win=8, batch_size=16)", "p", X=np.round(digits, 4), Y=hot[:32], tolerance=1e-6)
garch = "[F, H, a, b, c] = garch(X=X, kmax=20, momentum=0.5, start_stepsize=0.25, end_stepsize=0.125, start_vicinity=0.5, end_vicinity=0.0, sim_seed=54, verbose=FALSE)"
builtin("garch", garch + "\nok = as.matrix(a > 0 & b > 0 & c > 0 & b + c <= 1)", "F, H, ok", X=data.series(60), note="draws without a seed: sizes and whether the process is feasible")

train = [f"{kind}{what}{layer}" for kind in "cwpsf" for layer in (1, 2, 3) for what in "Wb"]
sherlock = f"X = rand(rows=20, cols=1588, seed=3)\n[{', '.join(train)}] = sherlock(X, Y)\n"
sizes = "\n".join(f"S{'= ' if n == train[0] else '= rbind(S, '}as.matrix(length({n})){'' if n == train[0] else ')'}" for n in train)
builtin("sherlock", sherlock + sizes, "S", Y=hot[:20], note="draws without a seed: sizes of the weights")
builtin("sherlockPredict", sherlock + f"P = sherlockPredict(X, {', '.join(train)})\nr = rowSums(P)", "r", Y=hot[:20])
