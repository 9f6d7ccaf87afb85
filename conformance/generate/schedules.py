"""Privacy curves of one epoch of allocated rounds, in doubles: values with a measured error, no enclosures.

One of t rounds adds the record, so the likelihood ratio is R = (1/t) sum exp(g_i / z - 1 / 2 z^2), g_i standard normal under the law without it.
Removing costs E (R - e^epsilon)+, adding E (1 - e^epsilon R)+; R is positive, so both come from E (K - R)+, whose transform is E e^(-sR) / s^2.
Two rounds are an integral over one of them of the formula of Black and Scholes. Under replace-one the cost is E D+ with
D = (1/t) sum (exp(g_i m - m^2/2) - e^epsilon exp(-g_i m - m^2/2)), by E |D| = (2/pi) int (1 - Re E e^(iwD)) / w^2 dw.
Shares no code and no formula with Surety's accountants, which bound a distribution on a grid.
"""

import math

import numpy as np
from scipy.special import ndtr

NORMAL = 12.0


def line(fine):
    g = np.linspace(-NORMAL, NORMAL, 1600 * fine + 1)
    weight = np.exp(-g * g / 2) / math.sqrt(2 * math.pi) * (2 * NORMAL / (1600 * fine))
    return g, weight


def put(t, mu, strike, fine):
    """E (strike - R)+ for t rounds, by the line of integration through the saddle."""
    g, weight = line(fine)
    ratio = np.exp(mu * g - mu * mu / 2)
    if t == 2:
        return two_rounds(mu, strike, fine)

    def log_transform(s):
        return np.array([t * np.log1p(np.expm1(-one / t * ratio) @ weight) for one in np.atleast_1d(s)])

    def size(c):
        return float((log_transform(complex(c))[0]).real) + c * strike - 2 * math.log(c)

    low, high = math.log(1e-2), math.log(1e5)
    for _ in range(60):
        a, b = low + 0.382 * (high - low), low + 0.618 * (high - low)
        if size(math.exp(a)) > size(math.exp(b)):
            low = a
        else:
            high = b
    c = math.exp((low + high) / 2) * (1.0 if fine == 1 else 1.1)
    peak = size(c)
    h = c * 1e-3
    step = min(c, 1 / math.sqrt(abs(size(c + h) + size(c - h) - 2 * peak) / h ** 2)) / (8 * fine)
    total, k = 0.0, 0
    while k < 40000:
        s = c + 1j * step * np.arange(k, k + 256)
        value = np.exp(log_transform(s) + s * strike - peak) / s ** 2
        if k == 0:
            value[0] /= 2
        total += float(np.sum(value.real))
        k += 256
        if np.max(np.abs(value)) * k < 1e-15 * abs(total):
            return total * step / math.pi * math.exp(peak)
    raise ValueError("the line does not end")


def two_rounds(mu, strike, fine):
    """Two rounds: the integral over one of them ends where its ratio alone reaches twice the strike; Gauss-Legendre up to there."""
    end = (math.log(2 * strike) + mu * mu / 2) / mu
    nodes, weights = np.polynomial.legendre.leggauss(100 * fine)
    pieces, total = np.linspace(-NORMAL, end, 9), 0.0
    for begin, stop in zip(pieces[:-1], pieces[1:]):
        g = begin + (stop - begin) * (nodes + 1) / 2
        rest = 2 * strike - np.exp(mu * g - mu * mu / 2)
        rest = np.maximum(rest, 1e-300)  # at the end, where the integrand is 0 with all its derivatives
        d = (np.log(rest) + mu * mu / 2) / mu
        value = rest * ndtr(d) - ndtr(d - mu)
        total += float((value * np.exp(-g * g / 2)) @ weights) * (stop - begin) / 2
    return total / math.sqrt(2 * math.pi) / 2


def replaced(t, mu, grown, fine):
    g, weight = line(fine)
    loss = np.exp(mu * g - mu * mu / 2) - grown * np.exp(-mu * g - mu * mu / 2)
    spread = math.sqrt(float((loss - (1 - grown)) ** 2 @ weight) / t)
    step, total, k = 0.05 / (spread + abs(1 - grown)) / fine, 0.0, 0
    while k < 200000:
        w = step * (np.arange(k, k + 256) + 0.5)  # midpoints: the integrand is even and smooth
        phi = np.array([np.exp(t * np.log1p(np.expm1(1j * one / t * loss) @ weight)) for one in w])
        total += float(np.sum((1 - phi.real) / w ** 2)) * step
        k += 256
        if np.max(np.abs(phi)) < 1e-17:
            # What is left of (1 - phi) / w^2 is 1 / w^2; the midpoint sum of it beyond k, with its next term.
            edge = step * k
            total += 1 / edge - step * step / (12 * edge ** 3)
            return (1 - grown + 2 / math.pi * total) / 2
    raise ValueError("the characteristic function does not end")


def delta(event, adjacency, epsilon, fine):
    t, grown = int(event["rounds"]), math.exp(epsilon)
    mu = 1 / float(event["of"]["noise_multiplier"])
    if adjacency == "replace-one":
        return replaced(t, mu, grown, fine)
    return max(put(t, mu, grown, fine) + 1 - grown, grown * put(t, mu, 1 / grown, fine))


def answer(event, adjacency, ask, at, start):
    if event["mechanism"] != "allocated" or event["of"]["mechanism"] not in ("gaussian", "record_sum"):
        return None
    values = []
    for fine in (1, 2):
        if ask == "delta":
            values.append(delta(event, adjacency, float(at), fine))
            continue
        old, now, goal = start, start * (1 + 1e-4), math.log(float(at))
        f_old, f_now = math.log(delta(event, adjacency, old, fine)) - goal, math.log(delta(event, adjacency, now, fine)) - goal
        for _ in range(8):
            new = now - f_now * (now - old) / (f_now - f_old)
            old, f_old, now = now, f_now, new
            if abs(now - old) < 1e-10 * now:
                break
            f_now = math.log(delta(event, adjacency, now, fine)) - goal
        values.append(now)
    gap = abs(values[0] / values[1] - 1)
    return repr(float(values[1])), 12 if gap == 0 else min(12, int(-math.log10(gap))), "inversion of the transform of the likelihood ratio in doubles, on two grids and two lines"
