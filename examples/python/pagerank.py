"""Ranks the nodes of a graph by PageRank; the graph is a sparse matrix of SciPy.

    python pagerank.py                      a random graph of 100,000 nodes
    python pagerank.py --nodes 1000000      a larger one
    python pagerank.py --library scipy      the same code with NumPy and SciPy
"""

import argparse
import importlib
import time

import numpy as np
import scipy.sparse


def pagerank(xp, links, steps=20, damping=0.85):
    """Ranks that sum to 1.

    `links` has in row `i` and column `j` the share of j's links that lead to i; columns of nodes without links are empty.
    """
    nodes = links.shape[0]
    ranks = xp.ones(nodes) / nodes
    for _ in range(steps):
        ranks = damping * (links @ ranks)
        # What nodes without links and the damping lose is shared out.
        ranks = ranks + (1 - xp.sum(ranks)) / nodes
    return ranks


def graph(nodes, links=10, seed=7):
    """A random graph in CSR, in which some nodes have far more links to them than others."""
    random = np.random.default_rng(seed)
    count = nodes * links
    sources = random.integers(nodes, size=count)
    targets = (nodes * random.random(count) ** 2).astype(np.int64)
    adjacency = scipy.sparse.csr_array((np.ones(count), (targets, sources)), (nodes, nodes))
    out = np.asarray(adjacency.sum(axis=0))
    return scipy.sparse.csr_array(adjacency @ scipy.sparse.diags_array(1 / np.maximum(out, 1)))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--library", default="fulgurite", help="fulgurite or scipy")
    chosen = parser.parse_args(arguments)
    links = graph(chosen.nodes)
    if chosen.library == "scipy":
        xp = np
    else:
        xp = importlib.import_module(chosen.library)
        links = xp.asarray(links)
    started = time.perf_counter()
    ranks = np.asarray(pagerank(xp, links))
    best = np.argsort(-ranks)[:5]
    print("highest: " + ", ".join(f"node {node} {ranks[node]:.3e}" for node in best))
    print(f"{chosen.nodes} nodes in {time.perf_counter() - started:.3f} s")


if __name__ == "__main__":
    main()
