{}
%%MatrixMarket matrix coordinate real general
  % indented
1 1 1
1 1 3
