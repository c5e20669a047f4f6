#!/usr/bin/python3
"""What doc/requirements.md and the mutants call a test is one, and doc/design/engine.md names each mutant."""
import glob
import re
import sys

RULES = "doc/design/engine.md"
NAME = re.compile(r"\btest_[a-z0-9_]+")


def known():
    found = {re.sub(r"\..*$", "", path.rsplit("/", 1)[1]) for path in glob.glob("tests/**/test_*", recursive=True)}
    for path in glob.glob("tests/**/*.py", recursive=True):
        with open(path, encoding="utf-8") as file:
            found.update(re.findall(r"^def (test_\w+)", file.read(), re.M))
    return found


def is_in(label, name):
    """Under `label:` stands a test of tests/e2e/test_label.py, or a program of tests/component or tests/unit."""
    if label in ("component", "unit"):
        return bool(glob.glob(f"tests/{label}/{name}.*"))
    try:
        with open(f"tests/e2e/test_{label}.py", encoding="utf-8") as file:
            return re.search(rf"^def {name}\(", file.read(), re.M) is not None
    except FileNotFoundError:
        return False


def misplaced(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            label = None
            for match in re.finditer(r"\b([a-z_]+): |`(test_\w+)", line):
                label = match[1] or label
                if match[2] and not is_in(label, match[2]):
                    yield f"{path}:{number}: {match[2]} is not in {label}"


def mistakes():
    tests = known()
    for path in ["doc/requirements.md", *sorted(glob.glob("tests/mutants/*.patch"))]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if path.endswith(".patch"):
            text = text.split("\n--- ")[0]
            if not re.match(r"Rule: .+\nTest: .+$", text):
                yield f"{path}: must begin with the lines Rule: and Test:"
        for name in NAME.findall(text):
            if name not in tests:
                yield f"{path}: there is no test {name}"
    yield from misplaced("doc/requirements.md")
    with open(RULES, encoding="utf-8") as file:
        named = set(re.findall(r"\(`(\w+)`\)", file.read()))
    patches = {path.rsplit("/", 1)[1].removesuffix(".patch") for path in glob.glob("tests/mutants/*.patch")}
    for name in sorted(named ^ patches):
        yield f"{RULES}: " + (f"there is no mutant {name}" if name in named else f"does not say which rule {name} switches off")


if __name__ == "__main__":
    bad = list(mistakes())
    print("\n".join(bad) or "every test that is named is there")
    sys.exit(1 if bad else 0)
