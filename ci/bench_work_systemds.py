"""SystemDS as a peer of `ci/bench work`: a script times its executions itself, in one JVM for each turn, which compiles while it warms up."""

import shutil
import tempfile
import textwrap
from pathlib import Path

import bench_work_data
import numpy as np
import scipy.sparse
import systemds_command

# Executions of a turn that do not count, of long ones the first half, and all that there are.
WARM_UP = 12
MOST = 32
# Seconds after which a turn ends, with two executions at least.
SECONDS = 10


def substituted(text, values):
    """`$name` as a literal."""
    for name, value in sorted(values.items(), key=lambda item: -len(item[0])):
        text = text.replace(f"${name}", str(value) if isinstance(value, int | float) else f'"{value}"')
    return text


def script(body, inputs, outputs, folder):
    """Loops end blocks of statements, within which the system orders them as it likes."""
    reads = "".join(f'{name} = read("{folder}/{name}.csv", format="csv")\n' for name in inputs)
    body = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    writes = "".join(f'write({name}, "{folder}/out-{name}.csv", format="csv")\n' for name in outputs)
    return f"""{reads}
count = 0
spent = 0
while (count < {MOST} & (count < 2 | spent < {SECONDS}e9)) {{
  for (block in 1:1) {{ start = time() }}
  for (block in 1:1) {{
{body}
  }}
  for (block in 1:1) {{ taken = time() - start }}
  print("nanoseconds " + taken)
  spent = spent + taken
  count = count + 1
}}
{writes}"""


class SystemDs:
    def __init__(self, row, sizes, paths, inputs, threads):
        self.row, self.threads = row, threads
        self.folder = Path(tempfile.mkdtemp(prefix="work-systemds-"))
        self.body = substituted(row.systemds, sizes | paths)
        self.names = []
        for name, value in bench_work_data.read(inputs).items():
            value = value.toarray() if scipy.sparse.issparse(value) else value
            np.savetxt(self.folder / f"{name}.csv", value, delimiter=",", fmt="%.17g")
            self.names.append(name)

    def run(self, _seconds, _most):
        text = script(self.body, self.names, self.row.outputs, self.folder)
        file = self.folder / "script.dml"
        file.write_text(text)
        printed = systemds_command.run(self.folder, "systemds_base", file, [], self.threads)
        times = [float(line.split()[1]) / 1e6 for line in printed.splitlines() if line.startswith("nanoseconds ")]
        return {"milliseconds": times[min(WARM_UP, len(times) // 2) :], "peakBytes": 0}

    def results(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name in self.row.outputs:
            path = self.folder / f"out-{name}.csv"
            parts = sorted(path.iterdir()) if path.is_dir() else [path]
            cells = [np.loadtxt(part, delimiter=",", ndmin=2) for part in parts if not part.name.startswith(".")]
            bench_work_data.write(folder, name, np.vstack(cells))
        return {}

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)
