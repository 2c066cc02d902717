//! What writers of R and Python type, and how it is said in DML.

/// A function of theirs that DML has under another name or not at all.
pub(crate) fn function(name: &str) -> Option<&'static str> {
    Some(match name {
        "c" | "array" | "vector" => {
            "write a column vector as matrix(\"1 2 3\", rows=3, cols=1), or join matrices with rbind() and cbind()"
        }
        "sort" | "sorted" => "order(target=X, by=1) sorts the rows of X by their first column",
        "len" | "size" => "nrow(X), ncol(X) and length(X) give sizes",
        "dim" | "shape" => "nrow(X) and ncol(X) give the two sizes",
        "paste" | "paste0" | "str" | "format" => {
            "+ joins strings and numbers; toString(X) makes a string of a matrix"
        }
        "cat" | "println" | "printf" => {
            "print(\"x = \" + x) prints a line; print(\"%d of %f\", n, x) one with a format"
        }
        "rep" | "zeros" | "ones" | "full" => "matrix(value, rows=n, cols=m) repeats a value",
        "numeric" => "matrix(0, rows=n, cols=1) gives zeros",
        "eye" | "identity" => "diag(matrix(1, rows=n, cols=1)) gives the identity matrix",
        "runif" => "rand(rows=n, cols=1, min=0, max=1) gives uniform numbers",
        "rnorm" | "randn" => "rand(rows=n, cols=1, pdf=\"normal\") gives normal numbers",
        "range" | "arange" | "linspace" => {
            "seq(from, to, increment) gives a column vector; loops run over from:to"
        }
        "apply" | "sapply" | "lapply" | "vapply" | "map" => {
            "operators work on whole matrices; a for or parfor loop calls a function for each row"
        }
        "colnames" | "rownames" | "names" => "matrices have no names of rows and columns",
        "isnan" | "is_nan" => {
            "is.nan(X) is 1 where X is NaN; replace(target=X, pattern=NaN, replacement=0) replaces them"
        }
        "which" => {
            "removeEmpty(target=seq(1, nrow(x)) * (x != 0), margin=\"rows\") gives the rows where x is not 0"
        }
        "dot" | "matmul" | "crossprod" => "write X %*% Y; t(X) %*% Y for crossprod",
        "transpose" => "t(X) transposes",
        "concat" | "concatenate" | "hstack" | "vstack" | "append_rows" => {
            "cbind(A, B) puts matrices side by side, rbind(A, B) on top of each other"
        }
        "power" | "pow" => "write x ^ y",
        "int" => "as.integer(x) converts a scalar",
        "float" | "double" => "as.double(x) converts a scalar",
        "bool" => "as.logical(x) converts a scalar",
        "not" => "write !x for not x",
        "as.numeric" => "as.double(x) converts a scalar",
        "which.max" => "rowIndexMax(t(x)) gives the place of the largest value of a column",
        "which.min" => "rowIndexMin(t(x)) gives the place of the smallest value of a column",
        "read.csv" | "read.table" => "write read(\"X.csv\", format=\"csv\", header=TRUE)",
        "write.csv" | "write.table" => "write write(X, \"X.csv\", format=\"csv\")",
        "data.frame" => "matrices hold numbers; encode the data first",
        "stopifnot" => "write assert(condition)",
        "library" | "require" => "source(\"file.dml\") as name loads functions of another script",
        "return" => "results are declared: f = function(double x) return (double y) { y = x }",
        _ => return None,
    })
}

/// A name that is a constant or an operator there.
pub(crate) fn variable(name: &str) -> Option<&'static str> {
    Some(match name {
        "True" | "true" | "T" => "write TRUE",
        "False" | "false" | "F" => "write FALSE",
        "None" | "NULL" | "null" | "NA" => "there is no missing value; NaN is not a number",
        "nan" | "NAN" => "write NaN",
        "inf" | "INF" | "Infinity" => "write Inf",
        "PI" => "write pi",
        "not" => "write !x for not x",
        "lambda" => "functions have names: f = function(double x) return (double y) { y = x ^ 2 }",
        _ => return None,
    })
}

/// A name that stands where a statement begins.
pub(super) fn statement(name: &str) -> Option<&'static str> {
    Some(match name {
        "break" => {
            "there is no break: let the condition of a while loop hold a variable, as in while (going & i <= n)"
        }
        "next" | "continue" => "there is no next or continue: put the rest of the body into an if",
        "pass" => "a block may be empty: { }",
        "return" => "results are declared: f = function(double x) return (double y) { y = x }",
        "def" => "functions are assigned: f = function(double x) return (double y) { y = x ^ 2 }",
        "print" => "write print(...), with parentheses",
        "import" | "from" | "library" | "require" => {
            "source(\"file.dml\") as name loads functions of another script"
        }
        "elif" => "write else if (...)",
        "repeat" | "do" => "write while (condition) { ... }",
        "del" | "rm" => "a variable lives until the script ends; leave the line out",
        _ => return None,
    })
}

/// A word between two operands.
pub(super) fn operator(word: &str) -> Option<&'static str> {
    Some(match word {
        "and" => "write & for and",
        "or" => "write | for or",
        "not" => "write !x for not x",
        "xor" => "write xor(x, y)",
        "mod" => "write x %% y",
        "div" => "write x %/% y",
        "is" => "compare with ==",
        _ => return None,
    })
}
