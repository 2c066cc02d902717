"""Where the reference systems are, and how they are started. Nothing of them is in the repository."""

import os
import pathlib
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORACLES = pathlib.Path(os.environ.get("FULGURITE_ORACLES", ROOT / ".cache" / "oracles"))
SYSTEMDS = ORACLES / "systemds-3.4.0"
SYSTEMML = ORACLES / "systemml-1.2.0"

PACKAGES = ["java.nio", "java.io", "java.util", "java.lang", "java.lang.ref", "java.util.concurrent", "sun.nio.ch"]

SCRIPTS = {"systemds": SYSTEMDS / "scripts", "systemml": SYSTEMML / "scripts"}


def need_scripts():
    """Stops with what to do where the scripts are not there."""
    missing = [str(folder) for folder in SCRIPTS.values() if not folder.is_dir()]
    if missing:
        sys.exit(f"The scripts of the reference systems are not in {' and '.join(missing)}: run ci/fetch-oracles --jars")


def command(system, script, arguments):
    """The command line that runs a script in the working folder."""
    if system == "systemds":
        home, main = SYSTEMDS, "org.apache.sysds.api.DMLScript"
        options = ["--add-modules=jdk.incubator.vector"]
    else:
        home, main, options = SYSTEMML, "org.apache.sysml.api.DMLScript", []
    line = ["java", "-Xmx3g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *options]
    line += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in PACKAGES]
    archive = home / "classes.jsa"
    line.append(f"-XX:{'SharedArchiveFile' if archive.exists() else 'ArchiveClassesAtExit'}={archive}")
    # An archive of classes halves what a start takes; it needs the jars one by one.
    jars = ":".join(sorted(map(str, (home / "jars").glob("*.jar"))))
    line += ["-cp", jars, main, "-f", str(script), "-exec", "singlenode", *arguments]
    return line


def execute(line, folder, limit, environment=None):
    """Exit code (None: the time limit) and both outputs of a command in a process group of its own, which is ended with it."""
    process = subprocess.Popen(
        line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True, env=environment
    )
    try:
        output, errors = process.communicate(timeout=limit)
        return process.returncode, output, errors
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, errors = process.communicate()
        return None, output, errors
    except BaseException:
        os.killpg(process.pid, 9)
        raise


def extract(jar, folder):
    """The scripts in a jar."""
    with zipfile.ZipFile(jar) as content:
        content.extractall(folder, [name for name in content.namelist() if name.startswith("scripts/")])
