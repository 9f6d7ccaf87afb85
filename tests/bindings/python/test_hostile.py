"""Whatever is passed to whatever function: an answer or an exception, never a crash. Run under the address sanitizer by scripts/python asan, and
for SURETY_FUZZ_SECONDS by scripts/python fuzz; here with a fixed seed. SURETY_HOSTILE_CALLS: how many (default: 2000)."""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import surety_dp as surety
from surety_dp import parts

SECONDS = float(os.environ.get("SURETY_FUZZ_SECONDS", "0"))
EXAMPLES = int(os.environ.get("SURETY_HOSTILE_CALLS", "2000"))
REFUSALS = (TypeError, ValueError, OverflowError, BufferError, surety.SuretyError)
ADJACENCIES = ["add-or-remove-one", "replace-one", "zero-out"]

folder = tempfile.TemporaryDirectory()
ledger = surety.Ledger.create(f"{folder.name}/run.db", adjacency="replace-one")
run = ledger.reserve("repeat(1000000, gaussian(40))")
small = surety.Ledger.create(f"{folder.name}/small.db", adjacency="replace-one")
small.reserve("gaussian(40)").settle()
noises: list[surety.Noise] = [
    surety.GaussianNoise(40, sensitivity=1, dimension=6, adjacency="replace-one"),
    surety.LaplaceNoise(1, sensitivity=1, dimension=6, adjacency="zero-out", step=2.0**-10),
    surety.DiscreteGaussianNoise(5, sensitivity=1, adjacency="replace-one"),
    surety.DiscreteLaplaceNoise(5, sensitivity=1, adjacency="replace-one"),
    surety.BinomialNoise(100, sensitivity=1, adjacency="replace-one"),
    surety.SkellamNoise(5, sensitivity=1, adjacency="replace-one"),
    surety.KNormNoise(5, norm="linf", sensitivity=1, dimension=6, adjacency="replace-one"),
    surety.GeneralizedGaussianNoise(5, r=3, sensitivity=1, dimension=6, adjacency="replace-one"),
    surety.TruncatedGeometricNoise(5, sensitivity=1, lowest=0, highest=9, adjacency="replace-one"),
]

numbers = st.one_of(
    st.integers(),
    st.floats(),
    st.sampled_from([0, 1, -1, 0.5, 1e-5, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**64, -(2**63) - 1, 10**400, 1e308, 5e-324, True]),
    st.sampled_from([np.float32(0.1), np.float64("nan"), np.int64(3), np.uint8(7), np.bool_(True), np.longdouble(1)]),
)
texts = st.one_of(
    st.text(),
    st.text(alphabet="(){}[],.0123456789e+-\"': abcdefghijklmnopqrstuvwxyz_", max_size=60),
    st.sampled_from(["", "\0", "\ud800", "(" * 10000, "gaussian(" * 200, "[" * 100000, "x" * 100000, *ADJACENCIES, "z", "renyi", "basic"]),
)
event_texts = st.one_of(
    texts,
    st.sampled_from(
        [
            "gaussian(2)",
            "gaussian(z)",
            "repeat(n, gaussian(30))",
            "laplace(3)",
            "compose(gaussian(3), laplace(2))",
            "repeat(9007199254740992, gaussian(1e-300))",
            "repeat(9007199254740993, gaussian(1))",
            "gaussian(1e309)",
            "gaussian(nan)",
            "poisson(0.01, gaussian(2))",
            "parallel(gaussian(2), gaussian(3))",
            "pure(1)",
            "approx(1, 1e-9)",
        ]
    ),
)
json_texts = st.one_of(
    texts,
    st.sampled_from(
        [
            '{"version":1,"adjacency":"zero-out","event":{"gaussian":{"noise_multiplier":2}}}',
            '{"version":1,"adjacency":"zero-out","event":{"gaussian":{"noise_multiplier":2,"noise_multiplier":3}}}',
            '{"version":2,"adjacency":"zero-out","event":{}}',
            '{"version":1,"adjacency":"zero-out","event":' * 70 + "}" * 70,
            '{"a":' * 50000,
            "[1e999999999]",
        ]
    ),
)
charged = st.just(surety.Event("gaussian(40)", "replace-one"))
events = st.one_of(charged, st.builds(surety.Event, st.sampled_from(["gaussian(2)", "laplace(3)", "pure(1)"]), st.sampled_from(ADJACENCIES)))


@st.composite
def arrays(draw: Any) -> Any:
    """Of every type and layout, some of them fit."""
    odd = [">f8", ">i8", "f2", "i4", "u8", "c16", "O", "U3", "S2", "M8[s]", "?", "f8,i4", "V7", "g"]
    dtype = draw(st.sampled_from(["f8"] * 10 + ["f4"] * 4 + ["i8"] * 10 + odd))
    size = draw(st.sampled_from([0, 1, 5, 6, 6, 6, 6, 6, 7, 1000]))
    values = np.zeros(size, dtype)
    if dtype in ("f8", "f4"):
        values[...] = draw(st.sampled_from([0.5, np.nan, np.inf, -np.inf, -0.0, 1e-310, 3e38]))
    elif dtype == "i8":
        values[...] = draw(st.sampled_from([0, 2**63 - 1, -(2**63)]))
    unfit = ["read-only", "strided", "reversed", "columns", "misaligned", "bytes", "shared", "view", "zero-d"]
    layout = draw(st.sampled_from(["plain"] * 9 + unfit))
    if layout == "read-only":
        values.flags.writeable = False
    elif layout == "strided":
        values = np.repeat(values, 2)[::2]
    elif layout == "reversed":
        values = values[::-1]
    elif layout == "columns":
        values = np.asfortranarray(np.tile(values, (3, 1)))
    elif layout == "misaligned" and dtype != "O":
        values = np.frombuffer(b"\0" * (values.nbytes + 1), np.uint8)[1:].copy()[: values.nbytes].view(dtype) if size else values
    elif layout == "bytes":
        return values.tobytes() if dtype != "O" else b""
    elif layout == "shared" and dtype != "O":
        return memoryview(bytearray(values.tobytes()))
    elif layout == "view" and dtype in ("f8", "f4", "i8"):
        buffer: Any = values
        return memoryview(buffer)
    elif layout == "zero-d":
        return np.array(values[0] if size else 0)
    return values


anything = st.one_of(
    numbers,
    texts,
    event_texts,
    events,
    arrays(),
    st.none(),
    st.binary(max_size=20),
    st.lists(numbers, max_size=4),
    st.dictionaries(texts, numbers, max_size=2),
    st.sampled_from([noises[0], ledger, run, surety, surety.Event, object(), print, surety.ErrorCode.MEMORY, np.dtype("f8"), folder]),
)


@st.composite
def either(draw: Any, fitting: Any) -> Any:
    """What fits, seven times in eight."""
    return draw(fitting) if draw(st.sampled_from([True] * 7 + [False])) else draw(anything)


fit = st.builds(np.zeros, st.just(6), st.sampled_from(["f8", "i8"]))
values = either(st.one_of(fit, arrays()))
doubles = either(st.builds(np.zeros, st.sampled_from([0, 3, 6, 6, 6, 7, 5000])))
delta = either(st.one_of(st.floats(0, 1), st.sampled_from([1e-5, 0.1])))
epsilon = either(st.one_of(st.floats(0, 10), st.sampled_from([0.5, 1])))
adjacency = either(st.sampled_from(ADJACENCIES))
event = either(st.one_of(events, either(event_texts)))
about = {"adjacency": either(st.none()), "width": either(st.sampled_from([None, None, None, 1e-2, 0, -1, np.nan])), "limit_seconds": either(st.none())}
points = either(st.one_of(arrays(), st.lists(epsilon, max_size=3)))
count = either(st.integers(-2, 10))
whole = either(st.integers(1, 1000))
scale = either(st.floats(0.1, 1000))


class Stream:
    """What hands over something else than a stream."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given


one_number = surety.release({"x": [1.0]}, [surety.count()], unit=None, epsilon=1, adjacency="add-or-remove-one", ledger=surety.Ledger.in_memory())
columns = st.one_of(
    arrays(),
    st.lists(st.one_of(numbers, texts, st.none(), st.booleans(), st.binary(max_size=3)), min_size=6, max_size=6),
    st.builds(np.broadcast_to, st.sampled_from([1.0, 7, True]), st.sampled_from([0, 6, 100_000])),
    st.builds(np.ma.MaskedArray, st.just(np.arange(6)), st.lists(st.booleans(), min_size=6, max_size=6)),
    st.builds(np.array, st.lists(st.sampled_from(["2017-06-01", "NaT", "9999-12-31"]), min_size=6, max_size=6), st.sampled_from(["M8[D]", "M8[ns]", "M8[W]", "M8[Y]", "U10", "S3"])),
)
tables = st.one_of(
    st.fixed_dictionaries({"x": columns}),
    st.fixed_dictionaries({"x": st.just(np.arange(6)), "g": columns}),
    st.dictionaries(st.one_of(st.sampled_from(["x", "g", ""]), texts, st.integers(), st.none()), columns, max_size=3),
    st.builds(np.zeros, st.integers(0, 9), st.sampled_from(["f8", [("x", "f8"), ("g", "U3")], [("x", ">i2"), ("g", "O")], [("x", "f8", (2,))]])),
    st.builds(Stream, st.one_of(anything, st.just(ValueError("secret")), st.builds(one_number.__arrow_c_stream__))),
    st.just(one_number),
    texts,
    anything,
)
pairs = either(st.tuples(epsilon, epsilon))
names = either(st.sampled_from(["x", "g", "value", "", "a)b", "x where x>1"]))
conditions = either(st.one_of(st.none(), st.sampled_from(["x > 1", "missing(g)", "g == a and not (x < 1)", "(" * 500, "x >= 2017-06-01"])))
shared = {"where": conditions, "weight": either(st.sampled_from([1, 1, 1, 4, 0, -1])), "types": either(st.sampled_from([None, None, {"x": "date"}, {"x": "x"}, {}]))}
groups = {"by": either(st.sampled_from([None, None, "g"])), "keys": either(st.sampled_from([None, None, ["a", "b"], ["a", "a"], []]))}
statistics = st.lists(
    st.one_of(
        st.tuples(st.just(surety.count), st.fixed_dictionaries({**shared, **groups})),
        st.tuples(st.sampled_from([surety.sum, surety.mean, surety.variance]), st.fixed_dictionaries({"column": names, "bounds": pairs, **shared, **groups})),
        st.tuples(st.just(surety.median), st.fixed_dictionaries({"column": names, "bounds": pairs, "candidates": either(st.sampled_from([None, 11])), **shared})),
        st.tuples(st.just(surety.quantile), st.fixed_dictionaries({"column": names, "fraction": epsilon, "bounds": pairs, "candidates": st.just(11), **shared})),
        st.tuples(st.just(surety.histogram), st.fixed_dictionaries({"column": names, "bounds": pairs, "bins": count, **shared, **groups})),
        st.tuples(st.just(surety.histogram), st.fixed_dictionaries({"column": names, "edges": either(st.lists(epsilon, max_size=4)), **shared})),
        st.tuples(st.just(surety.mode), st.fixed_dictionaries({"column": names, "categories": either(st.lists(texts, max_size=3)), "top": count, **shared, **groups})),
        st.tuples(st.just(surety.histogram), st.fixed_dictionaries({"column": names, "categories": either(st.lists(texts, max_size=3)), **shared})),
        st.tuples(st.just(surety.count_units), st.fixed_dictionaries({**shared, **groups})),
        st.tuples(st.sampled_from([surety.keys, surety.count_distinct]), st.fixed_dictionaries({"column": names, "most_keys": count, **shared})),
    ),
    max_size=3,
)
promises = {
    "unit": either(st.sampled_from([None, None, "g", "x"])),
    "most": either(st.sampled_from([None, None, 1, 3])),
    "epsilon": epsilon,
    "delta": either(st.sampled_from([0, 1e-6])),
    "adjacency": adjacency,
}


def try_release(data: Any, statistics: Any, ledger: Any, more: dict[str, Any], **promise: Any) -> None:
    """Nothing that is refused shows a cell: those of `Stream` are secret. What is no path of a table is a path of something else."""
    if isinstance(data, (str, bytes, os.PathLike)):
        data = os.path.join(folder.name, os.fsdecode(data))
    made = [make(**arguments) for make, arguments in statistics]
    surety.plan(made, **promise)
    try:
        released = surety.release(data, made, ledger=surety.Ledger.in_memory() if ledger is None else ledger, **promise, **more)
    except REFUSALS as error:
        assert "secret" not in str(error)
        raise
    repr(released), released._repr_html_(), released.table, released.json(), released.__arrow_c_stream__()


def try_table(data: Any, unit: str | None) -> None:
    """What nothing but its data can refuse."""
    made = [(surety.sum, {"column": "x", "bounds": (0, 10)}), (surety.count, {"where": "x > 1"})]
    more = {} if unit is None else {"empty_unit": "each"}
    try_release(data, made, None, more, unit=unit, most=unit and 2, epsilon=1, delta=0, adjacency="add-or-remove-one")


def try_parts(data: Any, owners: Any, number: Any, unit: str | None, changed: bytes) -> None:
    """One part of a ticket, a column of owners, and bytes that may be none of a partial."""
    if isinstance(data, (str, bytes, os.PathLike)):
        data = os.path.join(folder.name, os.fsdecode(data))
    ticket = tickets[unit]
    for action in (lambda: ticket.part_of(owners), lambda: parts.Ticket(changed), lambda: parts.merge([changed]), lambda: parts.partial(ticket, number, data)):
        try:
            made = action()
        except REFUSALS as error:
            assert "secret" not in str(error)
        else:
            assert not isinstance(made, bytes) or parts.merge([made, made]) == made


def ticket_of(unit: str | None) -> parts.Ticket:
    made = [surety.sum("x", bounds=(0, 10)), surety.count(where="x > 1")]
    return parts.assign(surety.plan(made, unit=unit, most=2 if unit else None, epsilon=1, adjacency="add-or-remove-one"), 3, ledger=surety.Ledger.in_memory())


tickets = {None: ticket_of(None), "g": ticket_of("g")}

wild_integers = st.lists(st.sampled_from([0, 1, 2, 3, 3, 4, 5, -1, 2**31, 2**62, 2**63 - 1]), max_size=7)
integers = either(st.builds(lambda all, dtype: np.array(all, np.int64).astype(dtype), wild_integers, st.sampled_from(["i8", "i8", "u8", "i1", "O", ">i8"])))
ends = st.one_of(st.sampled_from([[0, 1, 2, 3], np.array([0, 2, 2, 3], np.int32), [0, 0, 0, 0]]), integers)
matrices = st.builds(
    SimpleNamespace,
    indptr=ends,
    indices=st.one_of(st.sampled_from([[0, 1, 2], np.array([2, 0, 2], np.int32)]), integers),
    data=st.one_of(st.sampled_from([[0.5, 1, 2], [np.nan, 0, -0.0], [1e308, 1e308, 1]]), arrays()),
    shape=either(st.tuples(st.sampled_from([3, 3, 3, 6, 2**62]), st.sampled_from([3, 3, 3, 6, 0, -1, 2**63]))),
)
labels = st.one_of(st.sampled_from([[1, -1, 1], [0, 1, np.nan], np.ma.MaskedArray([1, -1, 1], [True, False, False])]), arrays(), anything)


def try_train(data: Any, more: dict[str, Any], **promise: Any) -> None:
    """As `try_release`; the model is asked of what it was trained on."""
    if isinstance(data, (str, bytes, os.PathLike)):
        data = os.path.join(folder.name, os.fsdecode(data))
    try:
        model = surety.train(data, **{"algorithm": "gradient-descent", "steps": 2, **more}, **promise, ledger=surety.Ledger.in_memory())
        repr(model), model._repr_html_(), model.text(), model.lines(), model.predict(data)
    except REFUSALS as error:
        assert "secret" not in str(error)
        raise


def try_matrix(matrix: Any, labels: Any, features: Any) -> None:
    """What nothing but its data can refuse, and what a model of as many features says of it."""
    try_model = models_of_sparse_rows[features]
    try:
        try_model.predict(matrix)
    except REFUSALS:
        pass
    try_train((matrix, labels), {}, unit=None, epsilon=1, delta=1e-6, adjacency="replace-one")


def sparse_model(features: int) -> surety.Model:
    rows = SimpleNamespace(indptr=[0, 1, 2], indices=[0, 1], data=[1, 2], shape=(2, features))
    return surety.train((rows, [1, -1]), algorithm="gradient-descent", steps=2, unit=None, epsilon=1, delta=1e-6, adjacency="replace-one", ledger=surety.Ledger.in_memory())


models_of_sparse_rows = {3: sparse_model(3), 6: sparse_model(6)}


def try_path(path: Any, adjacency: Any, budget: Any, owner: Any, rows: Any) -> None:
    """A ledger in a folder of its own, whatever its name."""
    with tempfile.TemporaryDirectory() as own:
        if isinstance(path, str):
            path = os.path.join(own, path.replace("/", "_")[:300])
        elif isinstance(path, bytes):
            path = os.path.join(os.fsencode(own), path.replace(b"/", b"_"))
        else:
            with pytest.raises(REFUSALS):
                surety.Ledger(path)
            return
        with surety.Ledger.create(path, adjacency=adjacency, epsilon=budget, delta=budget, owner=owner, most_rows=rows) as made:
            made.audit(1e-5)


def try_pickle(data: bytes) -> None:
    """A pickle that was tampered with where events are texts."""
    whole = pickle.dumps(surety.Event("gaussian(2)", "zero-out"), protocol=2)
    text = surety.Event("gaussian(2)", "zero-out").json().encode()
    pickle.loads(whole.replace(text, (data + text)[: len(text)].replace(b"\n", b" ").decode("ascii", "replace").replace("\ufffd", "?").encode()))


CALLS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (surety.Event, {"text": either(st.one_of(st.just("repeat(n, gaussian(z))"), event_texts)), "adjacency": adjacency, "values": either(st.fixed_dictionaries({"n": whole, "z": scale}))}),
    (surety.Event.from_json, {"text": either(st.one_of(st.builds(surety.Event.json, events), either(json_texts)))}),
    (surety.epsilon, {"event": event, "delta": delta, **about}),
    (surety.delta, {"event": event, "epsilon": epsilon, **about}),
    (surety.explain, {"event": event, "delta": either(st.none()), "epsilon": epsilon, **about}),
    (surety.curve, {"event": event, "epsilons": points, **about}),
    (surety.tradeoff, {"event": either(events), "false_positive_rates": either(st.lists(st.floats(0.01, 1), max_size=3)), **about}),
    (surety.risk, {"event": either(charged), "false_positive_rates": st.lists(delta, max_size=1), "prior": delta, "floor": delta}),
    (
        surety.calibrate,
        {
            "event": either(st.sampled_from(["gaussian(z)", "laplace(z)", "repeat(n, gaussian(30))"])),
            "adjacency": adjacency,
            "solve": either(st.sampled_from(["z", "z", "z", "n"])),
            "epsilon": either(st.sampled_from([1.0, None])),
            "delta": either(st.sampled_from([1e-5, None])),
            "advantage": either(st.none()),
            "true_positive_rate": either(st.none()),
        },
    ),
    (lambda event, count: (count * event, event * count), {"event": events, "count": count}),
    (lambda event, other: event + other, {"event": events, "other": either(events)}),
    (lambda event, other: (event == other, hash(event), event in [other]), {"event": events, "other": anything}),
    (
        surety.GaussianNoise,
        {"multiplier": scale, "sensitivity": scale, "dimension": whole, "adjacency": adjacency, "step": either(st.sampled_from([0.5, None]))},
    ),
    (surety.LaplaceNoise, {"scale": scale, "sensitivity": scale, "dimension": whole, "adjacency": adjacency}),
    (surety.DiscreteGaussianNoise, {"sigma": scale, "sensitivity": whole, "adjacency": adjacency}),
    (surety.DiscreteGaussianNoise, {"sigma": scale, "l2_sensitivity": scale, "adjacency": adjacency}),
    (surety.DiscreteLaplaceNoise, {"scale": scale, "sensitivity": whole, "adjacency": adjacency}),
    (surety.BinomialNoise, {"flips": whole, "sensitivity": whole, "adjacency": adjacency}),
    (surety.SkellamNoise, {"mean": scale, "sensitivity": whole, "adjacency": adjacency}),
    (surety.KNormNoise, {"scale": scale, "norm": either(st.sampled_from(["l1", "l2", "linf"])), "sensitivity": scale, "dimension": whole, "adjacency": adjacency}),
    (surety.GeneralizedGaussianNoise, {"multiplier": scale, "r": scale, "sensitivity": scale, "dimension": whole, "adjacency": adjacency}),
    (surety.TruncatedGeometricNoise, {"scale": scale, "sensitivity": whole, "lowest": count, "highest": whole, "adjacency": adjacency}),
    (lambda noise, values: noise.add_to(values), {"noise": st.sampled_from(noises), "values": values}),
    (lambda noise, values: noise.fill(values), {"noise": st.sampled_from(noises), "values": values}),
    (lambda noise, values: noise.release(values), {"noise": st.sampled_from(noises), "values": values}),
    (lambda noise, rows, clip: noise.release_sum(rows, clip=clip), {"noise": st.sampled_from(noises), "rows": values, "clip": scale}),
    (surety._library.curve, {"event": st.just(noises[0].event._handle), **dict.fromkeys(["epsilons", "lower", "upper"], doubles), "width": st.none(), "limit_seconds": either(st.none())}),
    (surety._library.draw_from_secure_bits, {"capsule": anything}),
    (lambda released: run.spend(released), {"released": either(st.one_of(charged, events))}),
    (lambda values: run.release(noises[0], values), {"values": values}),
    (lambda rows, clip: run.release_sum(noises[0], rows, clip=clip), {"rows": values, "clip": scale}),
    (lambda event, note, promise: ledger.reserve(event, note=note, promise=promise), {"event": either(charged), "note": either(st.text()), "promise": either(st.none())}),
    (lambda run, released: ledger.settle(run, released), {"run": count, "released": either(st.one_of(st.none(), events))}),
    (lambda delta: small.audit(delta), {"delta": either(st.just(1e-5))}),
    (
        try_path,
        {
            "path": st.one_of(texts, st.binary(max_size=10), anything),
            "adjacency": adjacency,
            "budget": st.one_of(st.none(), delta),
            "owner": st.one_of(st.none(), texts),
            "rows": count,
        },
    ),
    (try_pickle, {"data": st.binary(max_size=30)}),
    *[
        (
            try_parts,
            {
                "data": tables,
                "owners": st.one_of(columns, anything),
                "number": either(st.integers(-1, 3)),
                "unit": st.sampled_from([None, "g"]),
                "changed": either(st.builds(lambda data, end: bytes(data)[:end], st.sampled_from(list(tickets.values())), st.integers(0, 500))),
            },
        )
    ]
    * 4,
    *[(try_table, {"data": tables, "unit": st.sampled_from([None, None, "x", "g"])})] * 4,
    *[(try_matrix, {"matrix": either(matrices), "labels": labels, "features": st.sampled_from([3, 6])})] * 4,
    *[
        (
            try_train,
            {
                "data": st.one_of(tables, tables, st.tuples(matrices, labels)),
                "more": st.fixed_dictionaries(
                    {"label": either(st.sampled_from(["x", "g", None]))},
                    optional={
                        "above": either(st.just(0)),
                        "equals": either(st.sampled_from(["a", 1])),
                        "classes": either(st.just(["0", "1", "2"])),
                        "bounds": either(st.just({"x": (0, 1)})),
                        "categories": either(st.just({"g": ["a", "b"]})),
                        "loss": either(st.just("squared")),
                        "label_bound": either(st.just(1)),
                        "features": either(st.just(3)),
                        "format": either(st.sampled_from(["csv", "libsvm", "records"])),
                        "algorithm": either(st.sampled_from(["auto", "constant", "private-ftrl"])),
                        "drop": anything,
                        "nothing": anything,
                    },
                ),
                **promises,
            },
        )
    ]
    * 4,
    *[
        (
            try_release,
            {
                "data": tables,
                "statistics": statistics,
                "ledger": st.one_of(st.none(), st.none(), st.none(), st.sampled_from([ledger, small]), st.integers()),
                "more": st.dictionaries(st.sampled_from(["missing", "complete", "confidence", "noise", "no_limits", "form_is_public", "replay_seed", "columns", "nothing"]), anything, max_size=1),
                **promises,
            },
        )
    ]
    * 8,
]


def attempt(call: Callable[..., Any], arguments: dict[str, Any]) -> None:
    try:
        call(**arguments)
    except REFUSALS:
        pass


cases = st.sampled_from(CALLS).flatmap(lambda call: st.tuples(st.just(call[0]), st.fixed_dictionaries(call[1])))


def limited(test: Callable[..., None], examples: int) -> Callable[..., None]:
    chosen = settings(max_examples=examples, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    return seed(1)(chosen(test))


def in_threads(case: tuple[Callable[..., Any], dict[str, Any]]) -> None:
    threads = [threading.Thread(target=attempt, args=case) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.filterwarnings("ignore")
def test_hostile_calls_are_answered_or_refused() -> None:
    limited(given(cases)(lambda case: attempt(*case)), EXAMPLES - 100)()


@pytest.mark.filterwarnings("ignore")
def test_hostile_calls_by_eight_threads_at_once() -> None:
    limited(given(cases)(in_threads), 100)()


@pytest.mark.skipif(SECONDS == 0, reason="SURETY_FUZZ_SECONDS is not set")
@pytest.mark.filterwarnings("ignore")
def test_hostile_calls_for_as_long_as_asked() -> None:
    end = time.monotonic() + SECONDS
    rounds = 0
    while time.monotonic() < end:
        rounds += 1
        for work in (lambda case: attempt(*case), in_threads):
            seed(1000 + rounds)(limited(given(cases)(work), 200))()
    print(f"{rounds} rounds of 400 calls")
