"""Records with a part removed, replaced or added: what a program of tomorrow may write."""

import copy
import json

ODD = [None, True, -1, 0.5, 10**400, "", "x", "a\0b", "\ud800", [], {}, [1], {"a": 1}, [{}], [[]]]


def places(value, path=()):
    """Every place in nested lists and objects."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        yield (*path, key)
        if isinstance(part, dict | list):
            yield from places(part, (*path, key))


def mutate(content, lines, rng):
    """Return a file's text with one part of another kind, or without it."""
    records = [json.loads(line) for line in content.splitlines()] if lines else json.loads(content)
    found = list(places(records))
    *path, last = found[rng.integers(len(found))]
    inside = records
    for key in path:
        inside = inside[key]
    if isinstance(inside, dict) and rng.random() < 0.3:
        del inside[last]
    else:
        inside[last] = copy.deepcopy(ODD[rng.integers(len(ODD))])
    if lines:
        return "\n".join(map(json.dumps, records))
    return json.dumps(records)
