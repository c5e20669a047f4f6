#!/usr/bin/env python3
"""json_against_python.py [SEED [COUNT]]: random and damaged documents, parsed by json_parse and by Python; both must take and
refuse the same and read the same.  Python is made as strict: no field twice, no NUL, no half surrogates, no NaN, no mark."""
import json, os, random, re, struct, subprocess, sys

seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
count = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
rnd = random.Random(seed)

NUMBERS = ["0", "-0", "1", "-12", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1.5", "1e5",
           "-2.5E-3", "1e999", "0.1", "123456789012345678901", "4.9e-324", "1.7976931348623159e308"]
PIECES = ["a", "b", "c", "d", "e", "f", "é", "€", "😀", "\\u0061", "\\u00e9", "\\ud83d\\ude00", "\\n", "\\\"", "\\\\", "\\/", "/", "~",
          "xyz", "\\u0000", "\\ud800", "\\udc00"]


def space():
    return rnd.choice(["", "", "", " ", "\n", "\t", "\r "])


def string():
    return '"' + "".join(rnd.choice(PIECES) if rnd.random() < 0.97 else rnd.choice(["\\", "\x00", "\x01", "\\x", "\t"])
                         for _ in range(rnd.choice([0, 1, 1, 2, 3, 8]))) + '"'


def value(depth=0):
    kind = rnd.random()
    if depth > 4 or kind < 0.5:
        return rnd.choice([lambda: rnd.choice(["null", "true", "false"]), lambda: rnd.choice(NUMBERS), string, string])()
    comma = space() + "," + space()
    if kind < 0.75:
        return "[" + space() + comma.join(value(depth + 1) for _ in range(rnd.randrange(5))) + space() + "]"
    fields = (string() + space() + ":" + space() + value(depth + 1) for _ in range(rnd.choice([0, 1, 2, 3, 4, 20])))
    return "{" + space() + comma.join(fields) + space() + "}"


def damage(text):
    text = bytearray(text)
    for _ in range(rnd.choice([0, 0, 0, 1, 1, 2, 4])):
        if not text:
            break
        at, how = rnd.randrange(len(text)), rnd.randrange(4)
        if how == 0:
            del text[at]
        elif how == 1:
            text.insert(at, rnd.choice(b'{}[]",:\\ue0123456789+-.tfn \n\x00\x0c\x80\xc3\xed\xf4\xef/'))
        elif how == 2:
            text[at] = rnd.choice([rnd.randrange(256), ord(rnd.choice('{}[]",:\\u01-.e'))])
        else:
            del text[at:]
    return bytes(text)


class Duplicate(Exception):
    pass


class Refused(Exception):
    pass


def fields_of(pairs):
    if len({name for name, _ in pairs}) != len(pairs):
        raise Duplicate
    return ("object", pairs)


def refuse(_):
    raise Refused


def hexadecimal(text):
    if "\0" in text:
        raise Refused
    return text.encode("utf-8").hex()  # raises for half a surrogate pair


def number(text):
    whole = not any(c in text for c in ".eE")
    if whole and -2**63 <= int(text) < 2**63:
        return f"3:i{int(text)}"
    return ("3:r" if whole else "4:r") + repr(float(text))


def walk(node, key, out):
    end = "" if key is None else "k" + hexadecimal(key)
    if node is None:
        out.append("1:" + end)
    elif isinstance(node, bool):
        out.append("2:" + ("t" if node else "f") + end)
    elif isinstance(node, str):
        out.append("5:" + hexadecimal(node) + end)
    elif isinstance(node, list):
        out.append("7:" + end)
        for item in node:
            walk(item, None, out)
    elif node[0] == "object":
        out.append("6:" + end)
        for name, item in node[1]:
            walk(item, name, out)
    else:
        out.append(number(node[1]) + end)


def by_python(text):
    try:
        decoded = text.decode("utf-8")
        if not decoded or decoded.startswith("\ufeff"):
            return "malformed"
        tree = json.loads(decoded, object_pairs_hook=fields_of, parse_int=lambda t: ("number", t),
                          parse_float=lambda t: ("number", t), parse_constant=refuse)
        out = ["ok"]
        walk(tree, None, out)
        return " ".join(out)
    except Duplicate:
        return "duplicate_key"
    except (Refused, ValueError):
        return "malformed"


def plain(line):
    return re.sub(r"(?<=:r)[^k ]*", lambda real: repr(float(real.group())), line)


def same(ours, pythons):
    # Which of two mistakes in one text is met first may differ.
    return ours == pythons or {ours, pythons} == {"malformed", "duplicate_key"}


texts = [damage(value().encode("utf-8")) for _ in range(count)]
program = os.path.join(os.getcwd(), "tests/fuzz/print_json")
done = subprocess.run([program], input=b"".join(struct.pack("=I", len(t)) + t for t in texts), stdout=subprocess.PIPE, check=True)
lines = [plain(line) for line in done.stdout.decode("ascii").splitlines()]
wrong = [(t, ours) for t, ours in zip(texts, lines, strict=True) if not same(ours, by_python(t))]
for text, ours in wrong[:10]:
    print(f"{text!r}\n  python: {by_python(text)}\n  ours:   {ours}")
taken = sum(line.startswith("ok") for line in lines)
print(f"seed {seed}: {len(texts)} documents, {taken} taken, {len(wrong)} read differently")
sys.exit(1 if wrong or not 0.1 < taken / len(texts) < 0.9 else 0)
