"""A configuration file from plain dictionaries."""
import json


def _value(value, depth):
    indent = "  " * depth
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}L" if abs(value) > 2**31 - 1 else str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{\n" + settings(value, depth + 1) + indent + "}"
    inner = ", ".join(_value(item, depth + 1) for item in value)
    return f"({inner})" if value and isinstance(value[0], dict) else f"[{inner}]"


def settings(values, depth=0):
    indent = "  " * depth
    return "".join(f"{indent}{name} = {_value(value, depth)};\n" for name, value in values.items() if value is not None)


def merge(base, over):
    """A copy of base with the settings of over laid on it, group by group; None takes a setting away."""
    merged = dict(base)
    for name, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = merge(merged[name], value) if both else value
    return merged
