"""The package as it is installed: what it loads, what it says where something is missing, and its files."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fulgurite

SPARKS = ["MLContext", "MLResults", "Matrix", "Script", "attach", "configure", "dml", "dmlFromFile", "jar"]


def python(code, **environment):
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_version_is_that_of_the_wheel():
    assert fulgurite.__version__ == importlib.metadata.version("fulgurite")


def test_importing_loads_nothing_that_it_does_not_need():
    code = "import sys; import fulgurite; print(*(name for name in ('pyspark', 'py4j', 'pandas', 'scipy', 'fulgurite.spark', 'fulgurite_spark') if name in sys.modules))"
    assert python(code) == "\n"


def test_it_is_imported_without_java():
    assert python("import fulgurite; print(fulgurite.__version__)", PATH="", JAVA_HOME="") == fulgurite.__version__ + "\n"


WITHOUT_PYSPARK = """
import sys
for name in ("pyspark", "py4j"):
    sys.modules[name] = None
import fulgurite
try:
    {uses}
except ModuleNotFoundError as missing:
    print(missing.name, missing)
"""


@pytest.mark.parametrize("uses", [f"fulgurite.{name}" for name in SPARKS] + ["from fulgurite import MLContext", "import fulgurite.spark"])
def test_without_pyspark_the_extra_is_named(uses):
    assert python(WITHOUT_PYSPARK.format(uses=uses)).startswith("pyspark fulgurite.spark needs pyspark: pip install 'fulgurite[spark]'; ")


def test_names_that_there_are_not_are_missing_attributes():
    assert not hasattr(fulgurite, "no_such_name")
    with pytest.raises(ImportError):
        from fulgurite import no_such_name  # noqa: F401


def test_star_imports_nothing_of_spark():
    assert not set(SPARKS) & set(fulgurite.__all__)


def test_the_wheel_has_its_licence_and_types():
    files = {str(path) for path in importlib.metadata.files("fulgurite")}
    assert "fulgurite/py.typed" in files
    for name in ("LICENSE", "NOTICE"):
        assert any(path.endswith(f".dist-info/licenses/{name}") for path in files)


def test_the_extension_serves_each_python_since_3_10():
    wheel = importlib.metadata.distribution("fulgurite").read_text("WHEEL")
    assert "Tag: cp310-abi3-" in wheel


@pytest.fixture
def copy(tmp_path):
    """The package in a folder of its own, without the extension."""
    folder = tmp_path / "fulgurite"
    shutil.copytree(Path(fulgurite.__file__).parent, folder, ignore=shutil.ignore_patterns("_native*.so", "__pycache__"))
    return folder


def refusal(copy):
    code = "try:\n    import fulgurite\nexcept ImportError as reason:\n    print(reason)"
    return python(code, PYTHONPATH=str(copy.parent))


def test_an_unsupported_processor_is_refused_in_a_sentence(copy):
    extension = next(Path(fulgurite.__file__).parent.glob("_native*.so"))
    content = bytearray(extension.read_bytes())
    # The number of its architecture, in the header.
    content[18:20] = (243).to_bytes(2, "little")
    (copy / extension.name).write_bytes(content)
    assert refusal(copy) == f"this fulgurite was built for processors of type riscv64, and this machine's processor is of type {os.uname().machine}\n"


def test_an_extension_that_does_not_load_says_why(copy):
    extension = next(Path(fulgurite.__file__).parent.glob("_native*.so"))
    (copy / extension.name).write_bytes(extension.read_bytes()[:20])
    assert refusal(copy).startswith("fulgurite's extension does not load: ")


def test_sources_without_the_extension_say_what_to_do(copy):
    assert "install the wheel" in refusal(copy)
