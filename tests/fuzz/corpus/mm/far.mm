{}
%%MatrixMarket matrix coordinate real general
1000000000000 1 1
1000000000000 1 2.5
