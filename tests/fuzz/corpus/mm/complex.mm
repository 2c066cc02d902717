{}
%%MatrixMarket matrix coordinate complex hermitian
1 1 1
1 1 3 0
