{}
%%MatrixMarket matrix coordinate integer symmetric
3 3 2
1 1 2
3 1 4
