{}
%%MatrixMarket matrix coordinate real skew-symmetric
3 3 1
3 1 4
