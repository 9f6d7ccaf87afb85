"""Asking a program that reads a line of JSON and answers one, and keeping what it answered: for scripts/conformance. Python's standard library alone."""

import json
import math
import os
import pathlib
import select
import signal
import subprocess
import time

WALL = 10  # as many seconds of wall time as of processor time, for a program that waits for others


class Program:
    """A program that answers a line of JSON by a line of JSON. It is started again after it ended, was late, or said what nobody understands."""

    def __init__(self, command, seconds, **options):
        self.command, self.seconds, self.options = command, seconds, options
        self.process, self.buffer, self.fresh = None, b"", True

    def ask(self, message):
        """What it answered, or what became of it: a dictionary with `state` where it is no answer of the program itself."""
        for _ in range(2):
            started = self.fresh
            said = self.once(json.dumps(message).encode() + b"\n")
            # A program that answers one line and ends is asked again by a new process, which is its first question.
            if said is not None or started:
                break
        return {"state": "failed", "reason": "the program ended without an answer"} if said is None else said

    def once(self, line):
        if self.process is None or self.process.poll() is not None:
            self.close()
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True, **self.options)
            self.buffer, self.fresh = b"", True
        try:
            self.process.stdin.write(line)
        except BrokenPipeError:
            self.close()
            return None
        begin, wall = self.used(), time.monotonic()
        while b"\n" not in self.buffer:
            if self.used() - begin > self.seconds or time.monotonic() - wall > WALL * self.seconds:
                self.close()
                return {"state": "timeout", "seconds": self.seconds}
            if not select.select([self.process.stdout], [], [], min(0.5, self.seconds))[0]:
                continue
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                self.close()
                return None
            self.buffer += more
        self.fresh = False
        said, self.buffer = self.buffer.split(b"\n", 1)
        try:
            answer = json.loads(said, parse_float=str, parse_int=str, parse_constant=str)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or self.buffer:
            self.close()
            return {"state": "failed", "reason": "no object of JSON on a line of its own: %r" % said.decode(errors="replace")[:80]}
        return answer

    def used(self):
        """Processor seconds of the process and of children that it waited for: others may use the machine, too."""
        try:
            fields = pathlib.Path("/proc/%d/stat" % self.process.pid).read_text().rsplit(")", 1)[1].split()
            return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        except OSError:  # no /proc: the wall time alone
            return 0

    def close(self):
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)  # its own session, so its children with it
            except ProcessLookupError:
                pass
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
            self.process, self.fresh = None, True


class Kept:
    """Answers in a file, a line each, written as they come; the first line says whose they are. A line that was cut off by a failure is dropped."""

    def __init__(self, path, whose):
        self.path, self.answers = path, {}
        text = path.read_bytes() if path.exists() else b""
        lines = text[:text.rfind(b"\n") + 1].splitlines()
        try:
            self.whose = json.loads(lines[0]) if lines else None
            self.answers = {one["id"]: one for one in map(json.loads, lines[1:])}
        except (ValueError, KeyError, TypeError):
            raise SystemExit("conformance: error: %s holds no answers of scripts/conformance, must be a new file" % path)
        if self.whose is not None and self.whose != whose:
            raise Another(self.whose)
        if not lines:
            path.write_text(json.dumps(whose) + "\n")
        else:
            with path.open("r+b") as file:
                file.truncate(text.rfind(b"\n") + 1)

    def add(self, answer):
        self.answers[answer["id"]] = answer
        with self.path.open("a") as file:
            file.write(json.dumps(answer) + "\n")


class Another(Exception):
    """The file holds answers of another program."""


def understood(said, vector):
    """The answer that a program's line says about a vector, with `state`."""
    if "state" in said:
        return said
    if said.get("id", vector["id"]) != vector["id"]:
        return {"state": "failed", "reason": "answers %r where %r was asked" % (said["id"], vector["id"])}
    for state in ("refused", "failed"):
        if state in said:
            return {"state": state, "reason": " ".join(str(said[state]).split())[:160]}
    ends = {}
    for name in ("answer", "lower"):
        if name in said:
            try:
                ends[name] = float(said[name])
            except (TypeError, ValueError, OverflowError):
                return {"state": "failed", "reason": "%s is %r, must be a number" % (name, said[name])}
    if "answer" not in ends:
        return {"state": "failed", "reason": "has neither answer nor refused nor failed: %s" % json.dumps(said)[:80]}
    if math.isnan(ends["answer"]):
        return {"state": "failed", "reason": "answers nan"}
    if math.isinf(ends["answer"]):
        return {"state": "refused" if ends["answer"] > 0 else "failed", "reason": "answers %s" % ends["answer"]}
    return {"state": "answered", **{name: repr(value) for name, value in ends.items() if math.isfinite(value)}}
