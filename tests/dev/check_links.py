#!/usr/bin/python3
"""What the pages point at is there: relative links and their headings, paths of this tree, steps of ./dev, functions."""
import os
import re
import subprocess
import sys

FENCE = re.compile(r"^(```.*?^```|    [^\n]*)$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
TREE = re.compile(r"`((?:core|sdk|plugins|sql|tests|bench|ops|doc)/[\w./-]+)`")
STEP = re.compile(r"\./dev ([a-z]+)\b(?! in)")
FUNCTION = re.compile(r"`([a-z_0-9]+)\(\)`")
MAPS = ("doc/ARCHITECTURE.md",)  # pages whose functions must be the host's


def tracked(*patterns):
    return subprocess.run(["git", "ls-files", *patterns], check=True, capture_output=True, text=True).stdout.split()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def anchors(path):
    """The names GitHub gives to the headings."""
    headings = re.findall(r"^#+ +(.+)$", FENCE.sub("", read(path)), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def bad_link(page, target):
    if re.match(r"[a-z]+:", target):
        return False
    path, _, anchor = target.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    return not os.path.exists(path) or (anchor and path.endswith(".md") and anchor not in anchors(path))


def made(path):
    """A program that is built from the source of its name, or something a step writes."""
    return os.path.exists(path + ".c") or subprocess.run(["git", "check-ignore", "-q", path], check=False).returncode == 0


def mistakes(page, text, host):
    for match in LINK.finditer(FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)):
        if bad_link(page, match[1]):
            yield match, f"the link {match[1]} leads nowhere"
    for match in TREE.finditer(text):
        if not os.path.exists(match[1]) and not made(match[1]):
            yield match, f"there is no {match[1]}"
    for match in STEP.finditer(text):
        if match[1] != "help" and not os.access(f"tests/dev/{match[1]}.sh", os.X_OK):
            yield match, f"./dev has no step {match[1]}"
    for match in FUNCTION.finditer(text) if page in MAPS else ():
        if not re.search(rf"^\w[^;\n]*\b{match[1]}\([^;]*?\)\n\{{", host, re.M):
            yield match, f"there is no function {match[1]}"


def main():
    host = "\n".join(map(read, tracked("core/*.c")))
    bad = [f"{page}:{text[:match.start()].count(chr(10)) + 1}: {what}"
           for page, text in ((page, read(page)) for page in tracked("*.md")) for match, what in mistakes(page, text, host)]
    print("\n".join(bad) or "everything the pages point at is there")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
