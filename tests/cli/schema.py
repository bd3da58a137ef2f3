"""Validates JSON documents by a schema: schema.py SCHEMA DOCUMENT…

Knows the keywords that dtrain's schemas use, and fails for others. So it needs no package.
"""

import json
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
NOTES = {"$schema", "title", "description"}
KNOWN = NOTES | {"type", "properties", "required", "additionalProperties", "items"}


def has_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults(value, schema, place):
    unknown = set(schema) - KNOWN
    assert not unknown, f"{place}: unknown keywords {unknown}"
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(has_type(value, name) for name in names):
        yield f"{place}: {json.dumps(value)} is none of {names}"
    elif isinstance(value, dict):
        properties, other = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name in schema.get("required", []):
            if name not in value:
                yield f"{place}: no member {name}"
        for name, member in value.items():
            of_member = properties.get(name, other)
            if of_member is False:
                yield f"{place}: unknown member {name}"
            elif of_member is not True:
                yield from faults(member, of_member, f"{place}.{name}")
    elif isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from faults(item, schema["items"], f"{place}[{number}]")


def undescribed(schema, place):
    for name, member in schema.get("properties", {}).items():
        if not member.get("description"):
            yield f"{place}.{name}: no description"
        yield from undescribed(member, f"{place}.{name}")
        yield from undescribed(member.get("items", {}), f"{place}.{name}[]")


def main():
    schema = json.load(open(sys.argv[1]))
    found = list(undescribed(schema, "schema"))
    for path in sys.argv[2:]:
        found += faults(json.load(open(path)), schema, path)
    sys.exit("\n".join(found) or 0)


main()
