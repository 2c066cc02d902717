{}
%%MatrixMarket matrix array real general
4294967296 4294967296
1
