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
    with open(RULES, encoding="utf-8") as file:
        named = set(re.findall(r"\(`(\w+)`\)", file.read()))
    patches = {path.rsplit("/", 1)[1].removesuffix(".patch") for path in glob.glob("tests/mutants/*.patch")}
    for name in sorted(named ^ patches):
        yield f"{RULES}: " + (f"there is no mutant {name}" if name in named else f"does not say which rule {name} switches off")


if __name__ == "__main__":
    bad = list(mistakes())
    print("\n".join(bad) or "every test that is named is there")
    sys.exit(1 if bad else 0)
