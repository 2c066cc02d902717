"""What iterations of the algorithms move on a cluster: formulas, and what they predict for the large data sets of Boehm et al., "On Optimizing
Operator Fusion Plans for Large-Scale Machine Learning in SystemML" (PVLDB 2018, Section 5.5). `ci/scaling` prints the tables of
docs/scaling.md; `ci/scaling check` compares the formulas with a measured cluster."""

from dataclasses import dataclass, fields

# Partial results of more partitions are combined in two steps: jvm/spark/.../primitives/Aggregate.scala.
MOST_PARTIALS_ON_DRIVER = 32


@dataclass(frozen=True)
class Moves:
    """What moves; bytes are of matrices, each counted once, as reports count them."""

    # How often all of X is read from Spark's storage.
    scans: float = 0
    # Sent whole to every worker.
    broadcast: float = 0
    # Sent from the driver, each worker getting its rows.
    spread: float = 0
    # Between workers.
    shuffled: float = 0
    # From the workers to the driver.
    collected: float = 0
    jobs: float = 0

    def __add__(self, other):
        return Moves(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Moves)))

    def __mul__(self, times):
        return Moves(*(getattr(self, field.name) * times for field in fields(Moves)))

    def __sub__(self, other):
        return self + other * -1


@dataclass(frozen=True)
class Matrix:
    rows: int
    cols: int
    density: float = 1.0
    partitions: int = 1

    @property
    def bytes(self):
        dense = 8 * self.rows * self.cols
        # CSR: 8 bytes a value, 4 an index, 8 a row.
        sparse = 12 * self.rows * self.cols * self.density + 8 * (self.rows + 1)
        return min(dense, sparse)


def dense(rows, cols):
    return 8 * rows * cols


@dataclass(frozen=True)
class Side:
    """How a matrix with a row for each row of X gets from the driver to the rows of X."""

    # fulgurite.memory.broadcast, as it is set for what is predicted; by itself it follows the executors' memory.
    limit: float = 2**30

    def __call__(self, size):
        return Moves(broadcast=size) if size <= self.limit else Moves(spread=size, shuffled=size)


def aggregate(x, size):
    """A result that partitions have parts of: to the driver, of many partitions by way of a shuffle."""
    by_shuffle = size * x.partitions if x.partitions > MOST_PARTIALS_ON_DRIVER else 0
    return Moves(scans=1, collected=size, shuffled=by_shuffle, jobs=1)


def rows_to_driver(size):
    """A result with a row for each row of X."""
    return Moves(scans=1, collected=size, jobs=1)


# What each loop moves, once round. `x` is X; `side` says how matrices with a row for each row of X travel. These are at the driver: what is
# done with them there fits fulgurite.memory.local.


def linreg_cg(x, side):
    weights = dense(x.cols, 1)
    return {"iteration": Moves(broadcast=weights) + aggregate(x, weights)}


def l2svm(x, side):
    vector, weights = dense(x.rows, 1), dense(x.cols, 1)
    # The line search works on vectors at the driver.
    return {"iteration": Moves(broadcast=weights) + rows_to_driver(vector) + side(vector) + aggregate(x, weights)}


def mlogreg(x, side, classes=2):
    probabilities, weights = dense(x.rows, classes - 1), dense(x.cols, classes - 1)
    inner = Moves(broadcast=weights) + aggregate(x, weights)
    # Those of the inner loop are sent once, before it.
    outer = side(probabilities) + Moves(broadcast=weights) + rows_to_driver(probabilities) + side(probabilities) + aggregate(x, weights)
    return {"iteration": outer, "inner iteration": inner}


def glm(x, side):
    vector, weights = dense(x.rows, 1), dense(x.cols, 1)
    inner = Moves(broadcast=weights) + aggregate(x, weights)
    outer = side(vector) + aggregate(x, weights) + side(vector) + Moves(broadcast=weights) + rows_to_driver(vector)
    return {"iteration": outer, "inner iteration": inner}


def kmeans(x, side, k=5):
    # Distances are computed anew for each of the three aggregates: the sum of the nearest, points and sums of points of each centroid.
    # Sums come with their rounding errors, products without.
    centroids, squares = dense(k, x.cols), dense(k, 1)
    return {"iteration": Moves(broadcast=centroids + squares) + aggregate(x, 2 * 8) + aggregate(x, 2 * squares) + aggregate(x, centroids)}


def pagerank(g, side):
    ranks = dense(g.rows, 1)
    return {"iteration": side(ranks) + aggregate(g, ranks)}


def linreg_ds(x, side):
    vector, weights, products = dense(x.rows, 1), dense(x.cols, 1), dense(x.cols, x.cols)
    return {"run": aggregate(x, products) + side(vector) + aggregate(x, weights) + Moves(broadcast=weights) + rows_to_driver(vector)}


FORMULAS = {formula.__name__: formula for formula in (linreg_cg, linreg_ds, l2svm, mlogreg, glm, kmeans, pagerank)}


@dataclass(frozen=True)
class Cluster:
    """Six nodes of two Intel E5-2440, 10 Gb Ethernet: the paper's."""

    nodes: int = 6
    cores: int = 12
    # GB/s that a node reads from memory, measured with STREAM in the paper.
    memory: float = 47.9
    # GB/s of a network link.
    link: float = 1.25
    # Nanoseconds for a non-zero and core, as tests/bench/RESULTS.md has them for t(X) %*% (X %*% v).
    sparse: float = 2.6
    # Seconds of a Spark job, and of the driver for each task.
    job: float = 0.04
    task: float = 0.001

    def seconds(self, x, moves):
        """For scanning, for the network, and for Spark's jobs and tasks."""
        by_memory = x.bytes / (self.nodes * self.memory * 1e9)
        by_cells = x.rows * x.cols * x.density * self.sparse * 1e-9 / (self.nodes * self.cores) if x.density < 1 else 0
        # A broadcast leaves the driver about once and reaches each node once; rows that are spread leave it once; a shuffle uses all links.
        bytes_of_link = 2 * moves.broadcast + moves.spread + moves.collected + moves.shuffled / self.nodes
        return moves.scans * max(by_memory, by_cells), bytes_of_link / (self.link * 1e9), moves.jobs * (self.job + x.partitions * self.task)


PARTITION = 128 * 2**20


def large(rows, cols, density=1.0):
    size = Matrix(rows, cols, density).bytes
    return Matrix(rows, cols, density, round(size / PARTITION))


DATA = {"D200m": large(200_000_000, 100), "S200m": large(200_000_000, 1000, 0.05), "Mnist80m": large(81_000_000, 784, 0.25)}


def amount(size):
    if not size:
        return "-"
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3), ("B", 0)):
        if size >= 10**power:
            return f"{size / 10**power:.3g} {unit}"


def tables():
    lines = ["| data | loop | scans | broadcast | spread | shuffled | collected | scan s | network s | jobs s | together s |", "|---|---|" + "---:|" * 9]
    cluster, side = Cluster(), Side()
    cases = [("linreg_cg", {}), ("linreg_ds", {}), ("l2svm", {}), ("mlogreg", {"classes": 2}), ("mlogreg", {"classes": 5}), ("glm", {}), ("kmeans", {})]
    for name, parameters in cases:
        named = name + (f", {parameters['classes']} classes" if parameters else "")
        for data, x in DATA.items():
            for loop, moves in FORMULAS[name](x, side, **parameters).items():
                seconds = cluster.seconds(x, moves)
                bytes_moved = (moves.broadcast, moves.spread, moves.shuffled, moves.collected)
                lines.append(f"| {data} | {named}: {loop} | {moves.scans:g} | " + " | ".join(map(amount, bytes_moved))
                             + " | " + " | ".join(f"{part:.2f}" for part in (*seconds, sum(seconds))) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(tables())
