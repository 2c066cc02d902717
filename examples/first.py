"""Five lines of Python with NumPy alone: a linear regression, planned as one program and compiled to machine code."""

import fulgurite as fg

X = fg.rand(100_000, 100, seed=1)
y = X @ fg.rand(100, seed=2) + 0.1 * fg.randn(100_000, seed=3)
X = (X - fg.mean(X, axis=0)) / fg.std(X, axis=0)
w = fg.linalg.solve(X.T @ X + fg.eye(100), X.T @ y)
print(w[:3])
