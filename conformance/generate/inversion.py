"""Privacy curves of long compositions by inverting the transform of the loss, in doubles: values with a measured error, no enclosures.

delta(epsilon) = E (1 - e^(epsilon - L))_+ is the integral of M(s) e^(-s epsilon) / (s (s + 1)) over a vertical line right of 0, M(s) = E e^(sL).
The line goes through the saddle point, so that tiny deltas keep their digits. M - 1 is summed over a grid of one release by expm1, and T releases
are exp(T log1p(M - 1)). Every value is computed on two grids and two lines; `digits` is how many figures agree, and never more than 12.
Shares no code with Surety's accountants; its contour accountant inverts the same transform by other formulas.
"""

import math

import numpy as np


class Unsettled(Exception):
    """The digits do not settle: this program has no answer."""


class Sampled:
    """One release of a pair of mixtures of normal laws, {centre: weight}, standard deviation z."""

    def __init__(self, z, first, second):
        self.z, self.first, self.second, self.grids = z, first, second, {}

    def logs(self, x, weights):
        terms = [math.log(w) - (x - i) ** 2 / (2 * self.z ** 2) for i, w in weights.items() if w > 0]
        return np.logaddexp.reduce(np.array(terms), axis=0) - math.log(self.z * math.sqrt(2 * math.pi))

    def grid(self, tilt, fine):
        """Loss and mass at the nodes that matter for real parts up to `tilt`."""
        if (tilt, fine) not in self.grids:
            far = max(abs(i) for w in (self.first, self.second) for i in w)
            reach = 13 * self.z + far * (2 * tilt + 2)
            count = int(2 * reach / (self.z * 0.1)) * fine
            x = np.linspace(-reach, reach, count + 1)
            p, q = self.logs(x, self.first), self.logs(x, self.second)
            keep = np.maximum(p, p + tilt * (p - q)) > -80
            self.grids[tilt, fine] = (p - q)[keep], np.exp(p[keep]) * (2 * reach / count)
        return self.grids[tilt, fine]

    def excess(self, s, fine):
        """E_first e^(sL) - 1 for an array of s of one real part."""
        loss, mass = self.grid(2 ** math.ceil(math.log2(float(s[0].real) + 1)), fine)
        out = np.empty(len(s), dtype=complex)
        for begin in range(0, len(s), 256):
            out[begin:begin + 256] = np.expm1(np.outer(s[begin:begin + 256], loss)) @ mass
        return out


class Normal:
    def __init__(self, squared):
        self.squared = squared

    def excess(self, s, fine):
        return np.expm1(s * (s + 1) * self.squared / 2)


class Laplace:
    def __init__(self, scale):
        self.t = 1 / scale

    def excess(self, s, fine):
        return (np.exp(self.t * s) * (s + 1) + np.exp(-self.t * (s + 1)) * s) / (2 * s + 1) - 1


class Two:
    """Pure: loss +-epsilon."""

    def __init__(self, epsilon):
        self.epsilon, self.truth = epsilon, 1 / (1 + math.exp(-epsilon))

    def excess(self, s, fine):
        return self.truth * np.expm1(s * self.epsilon) + (1 - self.truth) * np.expm1(-s * self.epsilon)


def one_delta(parts, epsilon, fine):
    def log_size(c):
        s = np.array([complex(c)])
        return sum(n * math.log1p(part.excess(s, fine)[0].real) for part, n in parts) - c * epsilon - math.log(c * (c + 1))

    # The saddle on the real axis, by golden section over log c.
    low, high = math.log(1e-3), math.log(300.0)
    for _ in range(45):
        a, b = low + 0.382 * (high - low), low + 0.618 * (high - low)
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                left, right = log_size(math.exp(a)), log_size(math.exp(b))
            except (OverflowError, ValueError):
                left, right = 0.0, math.inf
        if not left > right:
            high = b
        else:
            low = a
    c = math.exp((low + high) / 2) * (1.0 if fine == 1 else 1.07)
    peak = log_size(c)
    # The width of the integrand, by its second difference; the step is refined with `fine`.
    h = c * 1e-3
    curvature = (log_size(c + h) + log_size(c - h) - 2 * peak) / h ** 2
    step = min(c, 1 / math.sqrt(abs(curvature))) / (8 * fine)
    total, k, block = 0.0, 0, 512
    quiet = 0
    while k < 12000 * fine:
        t = step * np.arange(k, k + block)
        s = c + 1j * t
        exponent = sum(n * np.log1p(part.excess(s, fine)) for part, n in parts) - s * epsilon - peak
        value = (np.exp(exponent) / (s * (s + 1))).real
        if k == 0:
            value[0] /= 2
        total += float(np.sum(value))
        k += block
        if np.max(np.abs(np.exp(exponent.real) / (s * (s + 1)))) * k < 1e-15 * abs(total):
            quiet += 1
            if quiet > 1:
                break
    else:
        raise Unsettled
    if not total > 0:
        raise Unsettled
    return math.log(total * step / math.pi) + peak


def delta(directions, epsilon):
    """(delta, digits): the larger of the directions."""
    best = None
    for parts in directions:
        first, second = one_delta(parts, epsilon, 1), one_delta(parts, epsilon, 2)
        gap = abs(math.expm1(second - first))
        digits = 12 if gap == 0 else min(12, int(-math.log10(gap)))
        if best is None or second > best[0]:
            best = (second, digits)
    return best


def epsilon_at(directions, target, start):
    """(epsilon, digits) where delta is the target: the secant method on log delta from `start`, until the step is below the last digit."""
    goal, found = math.log(target), []
    worst = max(directions, key=lambda parts: one_delta(parts, start, 1))
    for fine in (1, 2):
        old, now = start, start * (1 + 1e-5)
        f_old, f_now = one_delta(worst, old, fine) - goal, one_delta(worst, now, fine) - goal
        for _ in range(20):
            if f_now == f_old:
                break
            new = now - f_now * (now - old) / (f_now - f_old)
            if not 0 < new < 4 * start:
                raise Unsettled
            old, f_old, now = now, f_now, new
            if abs(now - old) < 1e-12 * now:
                break
            f_now = one_delta(worst, now, fine) - goal
        found.append(now)
    gap = abs(found[0] / found[1] - 1)
    return found[1], 12 if gap == 0 else min(12, int(-math.log10(gap)))


# --- From the neutral description -------------------------------------------------------------------------------------------------------


def binomial(count, rate, sign=1):
    return {sign * i: math.comb(count, i) * rate ** i * (1 - rate) ** (count - i) for i in range(count + 1)}


def squared_mu(event, adjacency):
    kind = event["mechanism"]
    if kind == "gaussian":
        return 1 / float(event["noise_multiplier"]) ** 2
    if kind == "record_sum":
        return (4 if adjacency == "replace-one" else 1) / float(event["noise_multiplier"]) ** 2
    if kind == "repeat":
        inner = squared_mu(event["of"], adjacency)
        return None if inner is None else int(event["count"]) * inner
    return None


def flat(event, adjacency, count=1):
    """[(forward part, backward part, count)], or None."""
    kind = event["mechanism"]
    if kind == "repeat":
        return flat(event["of"], adjacency, count * int(event["count"]))
    if kind == "compose":
        parts = [flat(part, adjacency, count) for part in event["parts"]]
        return None if any(part is None for part in parts) else sum(parts, [])
    if kind == "cyclic":
        once = -(-int(event["rounds"]) // int(event["groups"]))
        return flat({"mechanism": "poisson", "sampling_rate": event["sampling_rate"], "of": event["of"]}, adjacency, count * once)
    records = 1
    if kind == "users":
        records, event = int(event["records"]), event["of"]
        kind = event["mechanism"]
    if kind == "poisson":
        rate, inner = float(event["sampling_rate"]), event["of"]
        if adjacency == "replace-one":
            if inner["mechanism"] != "record_sum":
                return None
            z = float(inner["noise_multiplier"])
            pair = Sampled(z, binomial(records, rate), binomial(records, rate, -1))
            return [(pair, pair, count)]
        mu = squared_mu(inner, adjacency)
        if mu is None:
            return None
        z, mixed, none = 1 / math.sqrt(mu), binomial(records, rate), {0: 1.0}
        return [(Sampled(z, mixed, none), Sampled(z, none, mixed), count)]
    if records > 1:
        return None
    mu = squared_mu(event, adjacency)
    if mu is not None:
        return [(Normal(mu), Normal(mu), count)]
    if kind == "laplace":
        return [(Laplace(float(event["scale"])),) * 2 + (count,)]
    if kind == "pure":
        return [(Two(float(event["epsilon"])),) * 2 + (count,)]
    return None


def answer(event, adjacency, ask, at, start):
    """(value, digits, how) or None. `start` is where the search for an epsilon begins."""
    parts = flat(event, adjacency)
    if parts is None:
        return None
    directions = [[(forward, n) for forward, _, n in parts]]
    if any(forward is not backward for forward, backward, _ in parts):
        directions.append([(backward, n) for _, backward, n in parts])
    how = "inversion of the transform of the loss in doubles, on two grids and two lines"
    try:
        if ask == "epsilon":
            value, digits = epsilon_at(directions, float(at), start)
            return repr(value), digits, how
        logarithm, digits = delta(directions, float(at))
        from mpmath import mp
        return mp.nstr(mp.exp(mp.mpf(logarithm)), 15), min(digits, 15 - len(str(int(abs(logarithm))))), how
    except (Unsettled, OverflowError, ValueError, ZeroDivisionError, FloatingPointError):
        return None
