"""Times whole algorithms under each fusion policy, interleaved in one process, and says where `cost` is not the fastest. Called by
`ci/bench algorithms`."""

import argparse
import datetime
import json
import operator
import statistics
import subprocess
from pathlib import Path

from machine import machine

POLICIES = ["cost", "fuse-all", "fuse-no-redundancy", "none"]
# Shares of processor time that the host of a virtual machine gave to others: rounds with more don't count, unless fewer are left than this.
CALM = 0.03
FEWEST_ROUNDS = 3


def main():
    parser = argparse.ArgumentParser(prog="ci/bench algorithms", description=__doc__)
    parser.add_argument("algorithms", nargs="*", help="names of algorithms; all where none is named")
    parser.add_argument("--rounds", type=int, default=17, help="runs under each policy at most; the first one does not count")
    parser.add_argument("--seconds", type=float, default=45, help="after this long there are no more rounds for a shape, once there were three")
    parser.add_argument("--keep", action="store_true", help="write tests/bench/PLANS.md, which belongs to a whole run")
    parser.add_argument("--bench", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    scripts = {path.stem: path for path in sorted((options.folder / "algorithms").glob("*.dml"))}
    if unknown := [name for name in options.algorithms if name not in scripts]:
        parser.error(f"there is no algorithm {unknown[0]}; there are {', '.join(scripts)}")
    lines = [
        "# Plan quality",
        "",
        f"Made by `ci/bench algorithms` on {datetime.date.today().isoformat()}, {machine()}: milliseconds of a whole run, medians, two threads; the ratio is the median over rounds, in which the policies take turns; rounds that count are those in which the machine's host gave at most {CALM:.0%} of its processor time to others, or the {FEWEST_ROUNDS} calmest ones (stolen: the most of a round that counts); planning and compiling are those of the first "
        "run under `cost`, which finds no compiled operator.",
        "",
        "| algorithm | shape | " + " | ".join(POLICIES) + " | cost / best other | planning | compiling | operators compiled | rounds | stolen |",
        "|---|---|" + "---:|" * 10,
    ]
    print("\n".join(lines[4:]))
    beaten = dict.fromkeys(POLICIES[1:], 0)
    for name in options.algorithms or scripts:
        done = subprocess.run([options.bench, "algorithm", scripts[name], "--rounds", str(options.rounds), "--seconds", str(options.seconds)], text=True, stdout=subprocess.PIPE)
        if done.returncode != 0:
            raise SystemExit(f"{name} failed")
        for line in done.stdout.splitlines():
            seen = json.loads(line)
            runs = seen["policies"]
            by_calm = sorted(range(len(seen["stolen"])), key=lambda round: seen["stolen"][round])
            rounds = [round for place, round in enumerate(by_calm) if place < FEWEST_ROUNDS or seen["stolen"][round] <= CALM]
            counted = {policy: [runs[policy]["runs"][round] for round in rounds] for policy in POLICIES}
            times = {policy: statistics.median(counted[policy]) for policy in POLICIES}
            # What disturbs the machine for a while disturbs all runs of a round.
            ratios = {policy: statistics.median(map(operator.truediv, counted["cost"], counted[policy])) for policy in POLICIES[1:]}
            stolen = max(seen["stolen"][round] for round in rounds)
            ratio = max(ratios.values())
            for policy in beaten:
                beaten[policy] += ratios[policy] < 1 / 1.05
            cost = runs["cost"]
            cells = [f"{times[policy]:.1f}" for policy in POLICIES] + [f"{ratio:.2f}", f"{cost['planningMilliseconds']:.1f}", f"{cost['compileMilliseconds']:.1f}"]
            lines.append(f"| {name} | {seen['shape']} | " + " | ".join(cells) + f" | {cost['compiledOperators']} | {len(rounds)} | {stolen:.0%} |")
            print(lines[-1], flush=True)
    lines += ["", "`cost` is faster by more than 5 % than " + ", ".join(f"`{policy}` in {count}" for policy, count in beaten.items()) + " of these rows."]
    print(lines[-1])
    if options.keep:
        (options.folder / "PLANS.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
