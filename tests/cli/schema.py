"""Validates JSON documents by a schema: schema.py SCHEMA DOCUMENT…

Knows the keywords of dtrain's schemas and of those of Kubernetes' custom kinds, and fails for others. So it needs no
package. kubernetes/kubernetes_schema.py judges manifests by it.
"""

import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def has_type(value, name):
    if name in ("integer", "number"):
        numbers = int if name == "integer" else (int, float)
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


# Each keyword's fault of a value; a keyword for other types of values finds none.
RULES = {
    "type": lambda v, s: not any(has_type(v, one) for one in ([s] if isinstance(s, str) else s)),
    "const": lambda v, s: v != s,
    "enum": lambda v, s: v not in s,
    "pattern": lambda v, s: isinstance(v, str) and not re.search(s, v),
    "minimum": lambda v, s: has_type(v, "number") and v < s,
    "maxItems": lambda v, s: isinstance(v, list) and len(v) > s,
    "minItems": lambda v, s: isinstance(v, list) and len(v) < s,
    "maxLength": lambda v, s: isinstance(v, str) and len(v) > s,
    "minLength": lambda v, s: isinstance(v, str) and len(v) < s,
    "minProperties": lambda v, s: isinstance(v, dict) and len(v) < s,
    "required": lambda v, s: isinstance(v, dict) and any(name not in v for name in s),
}
OTHERS = {"$schema", "title", "description", "default", "format", "properties", "additionalProperties", "items"}


def faults(value, schema, place):
    """What of a value does not fit a schema."""
    for keyword, wanted in schema.items():
        assert keyword in RULES or keyword in OTHERS, f"{place}: unknown keyword {keyword}"
        if keyword in RULES and RULES[keyword](value, wanted):
            yield f"{place}: {keyword} {wanted}: {json.dumps(value)[:200]}"
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name, member in value.items():
            of_member = properties.get(name, others)
            if of_member is False:
                yield f"{place}: unknown member {name}"
            elif of_member is not True:
                yield from faults(member, of_member, f"{place}.{name}")
    if isinstance(value, list) and "items" in schema:
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


if __name__ == "__main__":
    main()
