"""The rules of the house that no linter knows: who imports whom, how long, what a table lists."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from jaxtyping import TypeCheckError

from attention.cli import COMMANDS
from attention.families import FAMILIES
from attention.implementations import IMPLEMENTATIONS
from attention.layouts import LAYOUTS
from attention.rotary import Rotary
from attention.scores import HEAD_METRICS
from components.views import VIEWS

ROOT = Path(__file__).parents[1]
PACKAGES = [ROOT / "attention", ROOT / "components"]
SOURCES = [ROOT / "app.py", *sorted(path for root in PACKAGES for path in root.rglob("*.py"))]
TESTS = sorted((ROOT / "tests").rglob("*.py"))
APP_LINES = 60
MODULE_LINES = 300

IMPORT = """
import importlib, json, pkgutil, sys
depth, *roots = sys.argv[1:]
for root in roots:
    package = importlib.import_module(root)
    if depth == "whole":
        for module in pkgutil.walk_packages(package.__path__, f"{root}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def packages_after_import(*roots, depth="whole"):
    """The top-level packages in a fresh interpreter that has imported these."""
    command = [sys.executable, "-c", IMPORT, depth, *roots]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def name_of(path):
    return str(path.relative_to(ROOT))


def test_attention_imports_nothing_of_the_page():
    found = packages_after_import("attention")
    assert "torch" in found, "every module was imported"
    assert not found & {"streamlit", "plotly", "components", "app"}


FIGURES = sorted((ROOT / "components" / "figures").glob("*.py"))


@pytest.mark.parametrize("path", FIGURES, ids=name_of)
def test_figure_does_not_draw_on_the_page_itself(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not [node for node in imports if "streamlit" in ast.unparse(node)]


def test_first_import_of_attention_does_not_wait_for_torch():
    assert not packages_after_import("attention", depth="top") & {"torch", "numpy"}


def test_command_line_lists_its_commands_without_torch():
    assert "torch" not in packages_after_import("attention.cli", depth="top")


def test_transformers_is_for_the_tests_only():
    assert "transformers" not in packages_after_import("attention", "components")


def imported_packages():
    """The third-party packages that the sources import anywhere, functions included."""
    found = set()
    for path in [ROOT / "app.py", *(p for package in PACKAGES for p in package.rglob("*.py"))]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    return found - sys.stdlib_module_names - {package.name for package in PACKAGES}


def test_every_package_that_is_imported_is_in_the_requirements():
    # `regex` once came only through a test dependency: a plain install could not start.
    written = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    listed = {line.partition("==")[0] for line in written.splitlines() if "==" in line}
    assert imported_packages() <= listed


PEERS = {"bertviz", "circuitsvis", "transformer_lens"}


def test_what_we_are_compared_with_is_in_an_environment_of_its_own():
    for name in ("requirements.txt", "requirements-dev.txt"):
        written = (ROOT / name).read_text(encoding="utf-8").replace("-", "_")
        assert not [peer for peer in PEERS if peer in written], name
    listed = (ROOT / "requirements-peers.txt").read_text(encoding="utf-8").replace("-", "_")
    assert {peer for peer in PEERS if f"{peer}==" in listed} == PEERS


def test_peers_are_imported_by_their_bench_alone():
    bench = ROOT / "tests" / "bench" / "peers"
    importing = [
        name_of(path)
        for path in [*SOURCES, *TESTS]
        if bench not in path.parents
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and any(f" {peer}" in ast.unparse(node) for peer in PEERS)
    ]
    assert importing == []


def test_app_is_short():
    assert len((ROOT / "app.py").read_text(encoding="utf-8").splitlines()) <= APP_LINES


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=name_of)
def test_module_is_not_too_long(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MODULE_LINES


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_module_says_what_it_is_for(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)


def test_every_folder_of_sources_is_a_package():
    # Without an __init__.py the shape checker, mypy and the walks above pass a folder over.
    folders = {path.parent for path in SOURCES} - {ROOT}
    assert [name_of(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


TABLES = {
    "IMPLEMENTATIONS": (IMPLEMENTATIONS, "implementations"),
    "LAYOUTS": (LAYOUTS, "."),
    "HEAD_METRICS": (HEAD_METRICS, "scores"),
    "FAMILIES": (FAMILIES, "families"),
}
ENTRIES = [(table, name) for table, (entries, _) in TABLES.items() for name in entries]


@pytest.mark.parametrize(("table", "name"), ENTRIES)
def test_entry_is_listed_under_its_own_name(table, name):
    assert TABLES[table][0][name].name == name


@pytest.mark.parametrize("table", ["IMPLEMENTATIONS", "LAYOUTS", "HEAD_METRICS"])
def test_entries_are_described_each_in_its_own_words(table):
    summaries = [entry.summary for entry in TABLES[table][0].values()]
    assert all(summary.endswith(".") for summary in summaries)
    assert len(set(summaries)) == len(summaries)


@pytest.mark.parametrize(("table", "name"), ENTRIES)
def test_entry_has_tests(table, name):
    """A file of its own, or a test that goes through the whole table."""
    folder = ROOT / "tests" / TABLES[table][1]
    own = folder / f"test_{name}.py"
    whole_table = [
        path for path in folder.glob("test_*.py") if table in path.read_text(encoding="utf-8")
    ]
    assert own.exists() or set(whole_table) - {Path(__file__)}


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_implementation_is_described_where_it_is_written(name):
    module = IMPLEMENTATIONS[name].module
    assert module.__module__ == f"attention.implementations.{name}"
    assert module.__doc__


def test_no_implementation_is_forgotten():
    """Regression guard: a file that no line of the table names is never run."""
    files = {path.stem for path in (ROOT / "attention" / "implementations").glob("*.py")}
    assert files - {"__init__", "base"} == set(IMPLEMENTATIONS)


def test_no_view_is_forgotten_and_each_has_its_own_name():
    files = {path.stem for path in (ROOT / "components" / "views").glob("[a-z]*.py")}
    modules = [view.render.__module__.rpartition(".")[2] for view in VIEWS]
    assert sorted(modules) == sorted(files)
    assert len({view.key for view in VIEWS}) == len(VIEWS)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_described_and_has_a_file(name):
    entry = COMMANDS[name]
    assert entry.summary.endswith(".")
    assert (ROOT / "attention" / "cli" / f"{entry.module}.py").exists()


def test_canary_a_wrong_shape_raises():
    """The shape checker is on: without it every annotation would be decoration."""
    rotary = Rotary(6, 11)
    torch.testing.assert_close(rotary(torch.ones(1, 6)), torch.ones(1, 6))
    with pytest.raises(TypeCheckError):
        rotary(torch.ones(6))


def test_canary_a_wrong_dtype_raises():
    with pytest.raises(TypeCheckError):
        Rotary(6, 11)(torch.ones(2, 6, dtype=torch.int64))
