#!/usr/bin/python3
"""Rules of the house that no compiler checks: lengths, parameters, banned functions, folders without a README."""
import json
import os
import re
import subprocess
import sys

FUNCTION_LONG, FUNCTION_MISTAKE, FILE_MISTAKE = 60, 100, 800
PARAMETERS = 6  # of core/; on_request has the shape libmicrohttpd wants
BANNED = re.compile(r"(?<![\w.>])(strcpy|strcat|sprintf|strtok|atoi|alloca|system|popen|setjmp)\s*\(")
GETENV = re.compile(r"(?<![\w.>])(secure_)?getenv\s*\(")
ASSERT_H = re.compile(r"#\s*include\s*<assert\.h>")
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])+'", re.S)


def tracked(*patterns):
    return subprocess.run(["git", "ls-files", *patterns], check=True, capture_output=True, text=True).stdout.split()


def code_of(path):
    """The text with comments and literals blanked, line numbers kept; #include lines survive."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def banned(path):
    for number, line in enumerate(code_of(path).split("\n"), 1):
        for match in BANNED.finditer(line):
            yield f"{path}:{number}: {match[1]} is banned"
        if path.startswith("core/") and ASSERT_H.search(line):
            yield f"{path}:{number}: assert.h is not for core/: use ASSERT of core/base/assert.h"
        if path.startswith("core/") and GETENV.search(line) and not path.startswith(("core/main/", "core/config/")):
            yield f"{path}:{number}: getenv belongs to core/main and core/config"


def functions(files):
    out = subprocess.run(["ctags", "-L", "-", "-f", "-", "--languages=C,C++", "--kinds-C=f", "--kinds-C++=f", "--fields=+neS",
                          "--output-format=json"], input="\n".join(files), check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        tag = json.loads(line)
        if "end" in tag:
            yield tag["end"] - tag["line"] + 1, f"{tag['path']}:{tag['line']}: {tag['name']}", tag.get("signature", "()")


def parameters(signature):
    inner = signature[1:-1]
    while "(" in inner:  # a pointer to a function is one
        inner = re.sub(r"\([^()]*\)", "", inner)
    return inner.count(",") + 1


def readmes():
    folders = {os.path.dirname(path) for path in tracked("core/*.c", "plugins/*.c")}
    folders |= {"sql", "sdk", "tests", "tests/e2e", "bench"} & {path.split("/")[0] for path in tracked()} | {"tests/e2e"}
    for folder in sorted(folders):
        if not os.path.exists(os.path.join(folder, "README.md")):
            yield f"{folder}: has no README.md (purpose, way in, process and thread, may include)"


def main():
    files = tracked("*.c", "*.h", "*.cc", "*.hpp")
    product = [path for path in files if not path.startswith("tests/abi/contract")]
    mistakes = [mistake for path in product for mistake in banned(path)]
    for path in product:
        with open(path, encoding="utf-8") as file:
            lines = sum(1 for _ in file)
        if lines > FILE_MISTAKE:
            mistakes.append(f"{path}: {lines} lines: over {FILE_MISTAKE} is two modules in one")
    lengths = sorted(functions([path for path in product if path.endswith((".c", ".cc"))]), reverse=True)
    for length, where, signature in lengths:
        if where.startswith("core/") and parameters(signature) > PARAMETERS and not where.endswith(": on_request"):
            mistakes.append(f"{where}: {parameters(signature)} parameters: over {PARAMETERS} is a struct")
        if length > FUNCTION_MISTAKE:
            mistakes.append(f"{where}: {length} lines: over {FUNCTION_MISTAKE} is a mistake")
        elif length > FUNCTION_LONG:
            print(f"long: {where}: {length} lines")
    mistakes += readmes()
    print("\n".join(mistakes) or f"{len(product)} files, {len(lengths)} functions, median {median(lengths)} lines")
    return 1 if mistakes else 0


def median(lengths):
    return lengths[len(lengths) // 2][0] if lengths else 0


if __name__ == "__main__":
    sys.exit(main())
