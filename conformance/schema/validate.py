"""As much of JSON Schema as the schemas here use, by Python's standard library alone."""

import re

KNOWN = {"$schema", "$defs", "$ref", "title", "type", "const", "enum", "oneOf", "required", "properties", "additionalProperties", "items", "minItems", "pattern"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}


def faults(value, schema, root=None, at="$"):
    """A line for each place where `value` is not as `schema` says."""
    root = root or schema
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, at)
    if not set(schema) <= KNOWN:
        raise ValueError("the schema uses %s, which nobody checks" % (set(schema) - KNOWN))
    found = []
    if "type" in schema and (not isinstance(value, TYPES[schema["type"]]) or (isinstance(value, bool) and schema["type"] != "boolean")):
        return ["%s is no %s" % (at, schema["type"])]
    if "const" in schema and (value != schema["const"] or type(value) is not type(schema["const"])):
        found.append("%s must be %r" % (at, schema["const"]))
    if "enum" in schema and value not in schema["enum"]:
        found.append("%s is %r, must be one of %s" % (at, value, schema["enum"]))
    if "oneOf" in schema:
        fitting = sum(not faults(value, one, root, at) for one in schema["oneOf"])
        if fitting != 1:
            found.append("%s fits %d of %d forms, must fit one" % (at, fitting, len(schema["oneOf"])))
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append("%s is %r, must match %s" % (at, value, schema["pattern"]))
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value:
                found.append("%s has no %s" % (at, name))
        for name, inner in value.items():
            if name in schema.get("properties", {}):
                found += faults(inner, schema["properties"][name], root, at + "." + name)
            elif schema.get("additionalProperties") is False:
                found.append("%s has an unknown field %s" % (at, name))
            elif isinstance(schema.get("additionalProperties"), dict):
                found += faults(inner, schema["additionalProperties"], root, at + "." + name)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            found.append("%s has %d entries, must have %d" % (at, len(value), schema["minItems"]))
        for number, inner in enumerate(value):
            found += faults(inner, schema.get("items", {}), root, "%s[%d]" % (at, number))
    return found
