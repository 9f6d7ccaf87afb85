"""Reading the vectors, for check, make, page and the runners: Python's standard library alone."""

import hashlib
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def canonical(vector, fields):
    return json.dumps({field: vector[field] for field in fields}, sort_keys=True, separators=(",", ":"))


def digest(vector):
    """What an id stands for, tags aside: these may be added."""
    return hashlib.sha256(canonical(vector, ("id", "event", "surety", "adjacency", "question", "answer", "known")).encode()).hexdigest()[:32]


def files(folder=None):
    return sorted((folder or HERE / "vectors").glob("*.json"))


def everything(folder=None):
    """All vectors, in the order of families and ids, each with its family."""
    return [dict(vector, family=json_file["family"]) for json_file in (json.loads(path.read_text()) for path in files(folder)) for vector in json_file["vectors"]]
