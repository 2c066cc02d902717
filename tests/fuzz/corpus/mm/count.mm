{}
%%MatrixMarket matrix coordinate real general
2 2 18446744073709551615
1 1 1
