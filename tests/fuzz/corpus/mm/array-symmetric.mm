{}
%%MatrixMarket matrix array real symmetric
2 2
1
2
3
