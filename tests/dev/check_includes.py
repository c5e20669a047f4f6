#!/usr/bin/python3
"""Includes go downward only: a folder of core/ may include itself and the folders of a lower rank, never its equals."""
import re
import subprocess
import sys

RANKS = [["main"], ["supervisor"], ["pipeline", "outbox", "http", "admin"], ["plugin", "retry"], ["event"], ["db", "kafka"],
         ["config"], ["base"]]
RANK = {folder: rank for rank, folders in enumerate(RANKS) for folder in folders}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]core/([a-z_]+)/([^">]+)[">]')


def mistakes(path):
    folder = path.split("/")[1]
    if folder not in RANK:
        yield f"{path}: folder core/{folder} has no rank in tests/dev/check_includes.py"
        return
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match or match[1] == folder:
                continue
            if RANK.get(match[1], -1) <= RANK[folder]:
                yield f"{path}:{number}: {folder} may not include {match[1]}/{match[2]}: includes go downward only"


def main():
    files = subprocess.run(["git", "ls-files", "core/*.c", "core/*.h", "core/*.cc"], check=True, capture_output=True,
                           text=True).stdout.split()
    found = [mistake for path in files for mistake in mistakes(path)]
    print("\n".join(found) or f"{len(files)} files: every include goes downward")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
