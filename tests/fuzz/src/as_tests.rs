//! Empty. Beside the fuzzer, cargo builds it as an example, and gives dependencies the features that they have in tests: they need not be
//! built again.
