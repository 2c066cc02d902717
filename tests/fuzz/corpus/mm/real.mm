{}
%%MatrixMarket matrix coordinate real general
%c
3 2 2
1 1 2.5
3 2 -1
