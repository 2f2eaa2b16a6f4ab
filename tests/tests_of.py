"""Prints the test files of a file of the package: `python tests/tests_of.py FILE`, see Makefile.

Those of keras_transformer/A/b.py are tests/A/test_b*.py; of a command, tests/scripts/test_b*.py; of
a folder, tests/test_A.py. A module without any is tested by those of the modules that import it,
the three nearest, or else by all of its folder.
"""

import ast
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent / "keras_transformer"
MOST = 3


def tests_of(path):
    """Returns the paths of the test files of a file of the package."""
    modules = {x: imports_of(x) for x in sorted(PACKAGE.rglob("*.py")) if x.name != "__init__.py"}
    near, found = [PACKAGE.parent / path], []
    for module in near:  # grows
        tests = [x for x in own_tests(module) if x not in found]
        if tests and module == near[0]:
            return tests
        found += tests
        importers = [x for x, names in modules.items() if name_of(module) in names]
        importers.sort(key=lambda x: x.parent != module.parent)
        near += [x for x in importers if x not in near]
    folder = TESTS / path.parent.name
    return found[:MOST] or [folder if folder.exists() else TESTS]


def own_tests(module):
    folder, name = module.parent.relative_to(PACKAGE), module.stem.lstrip("_")
    places = [TESTS / folder, *([TESTS / "scripts"] if folder.name == "cli" else [])]
    own = [x for place in places for x in sorted(place.glob(f"test_{name}*.py"))]
    return own or sorted(TESTS.glob(f"test_{folder.name}.py"))


def name_of(module):
    return ".".join(module.relative_to(PACKAGE.parent).with_suffix("").parts)


def imports_of(module):
    """Returns the names of the modules that a module imports."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{x.name}" for x in node.names)}
    return names


if __name__ == "__main__":
    print(*tests_of(Path(sys.argv[1])))
