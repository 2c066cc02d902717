{}
%%MatrixMarket matrix array real general
2 2
1
2
3
4
