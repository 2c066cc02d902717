"""A plugin of pytest that runs the tests of Narwhals on lazy frames: `ci/narwhals` calls it.

A test that ends with `NotImplementedError`, or with our error for types of columns that we have not, is counted as lacking. All others have to pass, but for those that
`DIFFERENT` lists with the reason.
"""

import fulgurite as fg
import pyarrow as pa
import pytest

DIFFERENT = {}


def frame_of(data):
    return fg.frame(pa.table(data))


def pytest_generate_tests(metafunc):
    if "constructor" in metafunc.fixturenames:
        metafunc.parametrize("constructor", [frame_of], ids=["fulgurite"])
    for name in ("constructor_eager", "constructor_pandas_like"):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, [], ids=[])


def pytest_collection_modifyitems(items):
    for item in items:
        reason = DIFFERENT.get(item.nodeid.removeprefix("tests/").split("[")[0])
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=False))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    error = None if call.excinfo is None else call.excinfo.value
    if isinstance(error, NotImplementedError) or getattr(error, "kind", None) == "unsupported":
        report.outcome = "skipped"
        report.wasxfail = str(error).split("\n")[0]
    return report
