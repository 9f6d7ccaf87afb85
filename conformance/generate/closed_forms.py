"""Privacy curves in ball arithmetic (Arb, by python-flint): every number that comes out is an interval that contains the truth.

Shares no code and no method with Surety's accountants: finite sums, error functions, thresholds and quadrature at hundreds of bits.
curve(event, adjacency) gives (delta as a function of epsilon, how) or None where no formula is known here.
A parameter is the double nearest to its decimal.
"""

from flint import acb, arb, arb_poly, ctx


class Undecided(Exception):
    """The precision does not decide a comparison; ask again with more bits."""


def number(text):
    return arb(float(text))


def less(a, b):
    if a < b:
        return True
    if a >= b:
        return False
    raise Undecided


def normal(x):
    return (-x / arb(2).sqrt()).erfc() / 2


def largest(values):
    best = arb(0)
    for value in values:
        best = best.max(value)
    return best


# --- Gaussians -----------------------------------------------------------------------------------------------------------------------


def gaussian_mu(event, adjacency):
    """The mu of what is Gaussian after all composition, squared, or None."""
    kind = event["mechanism"]
    if kind == "gaussian":
        return 1 / number(event["noise_multiplier"]) ** 2
    if kind == "record_sum":
        return (4 if adjacency == "replace-one" else 1) / number(event["noise_multiplier"]) ** 2
    if kind == "repeat":
        inner = gaussian_mu(event["of"], adjacency)
        return None if inner is None else int(event["count"]) * inner
    if kind == "compose":
        inner = [gaussian_mu(part, adjacency) for part in event["parts"]]
        return None if any(part is None for part in inner) else sum(inner, arb(0))
    if kind == "users":
        inner = gaussian_mu(event["of"], adjacency)
        return None if inner is None else int(event["records"]) ** 2 * inner
    return None


def gaussian_delta(mu, epsilon):
    return normal(mu / 2 - epsilon / mu) - epsilon.exp() * normal(-mu / 2 - epsilon / mu)


# --- Losses on a lattice: a polynomial of masses, its unit, its offset, what is left to infinity ---------------------------------------


class Lattice:
    """Loss (offset + index) * unit with mass masses[index] under the first law; `lost` bounds the mass that was cut off; `bad` has infinite loss."""

    def __init__(self, unit, offset, masses, lost=arb(0), bad=arb(0)):
        self.unit, self.offset, self.masses, self.lost, self.bad = unit, offset, masses, lost, bad

    def repeated(self, count):
        return Lattice(self.unit, self.offset * count, self.masses ** count, self.lost * count, 1 - (1 - self.bad) ** count)

    def atoms(self):
        for index in range(self.masses.length()):
            yield (self.offset + index) * self.unit, self.masses[index]

    def delta(self, epsilon):
        total = arb(0)
        for loss, mass in self.atoms():
            gap = 1 - (epsilon - loss).exp()
            total += mass * gap.max(arb(0))
        total += arb(0.5, 0.5) * self.lost
        return self.bad + (1 - self.bad) * total


def lattice(event, adjacency):
    kind = event["mechanism"]
    if kind == "pure":
        truth = 1 / (1 + (-number(event["epsilon"])).exp())
        return Lattice(2 * number(event["epsilon"]), arb(-0.5), arb_poly([1 - truth, truth]))
    if kind == "approx":
        inner = lattice({"mechanism": "pure", "epsilon": event["epsilon"]}, adjacency)
        inner.bad = number(event["delta"])
        return inner
    if kind == "randomized_response" and adjacency != "add-or-remove-one":
        truth = number(event["truth"])
        other = (1 - truth) / (int(event["categories"]) - 1)
        return Lattice((truth / other).log(), arb(-1), arb_poly([other, 1 - truth - other, truth]))
    if kind == "discrete_laplace":
        scale, far = number(event["scale"]), int(event["sensitivity"])
        ratio = (-1 / scale).exp()
        masses = [arb(0)] * (2 * far + 1)
        masses[2 * far] = 1 / (1 + ratio)
        masses[0] = ratio ** far / (1 + ratio)
        for x in range(1, far):
            masses[2 * (far - x)] = (1 - ratio) / (1 + ratio) * ratio ** x
        return Lattice(1 / scale, arb(-far), arb_poly(masses))
    if kind == "discrete_gaussian":
        # Cut off where the tail is below 2^-600: exp(-n^2 / 2 sigma^2) n times, and a geometric series behind it.
        sigma, far = number(event["sigma"]), int(event["sensitivity"])
        reach = int(float(event["sigma"]) * 30) + 10
        weights = [(-arb(x) ** 2 / (2 * sigma ** 2)).exp() for x in range(-reach, reach + 1)]
        beyond = 4 * (float(event["sigma"]) ** 2 + 1) * (-arb(reach) ** 2 / (2 * sigma ** 2)).exp()
        whole = sum(weights, arb(0)) + arb(0.5, 0.5) * beyond
        # The loss at x is (s^2 - 2 s x) / 2 sigma^2: in units of s / sigma^2 it is s / 2 - x.
        return Lattice(far / sigma ** 2, arb(far) / 2 - reach, arb_poly([weight / whole for weight in weights]), beyond / whole)
    if kind == "repeat":
        inner = lattice(event["of"], adjacency)
        return None if inner is None else inner.repeated(int(event["count"]))
    return None


# --- One release of integer noise, by its masses ---------------------------------------------------------------------------------------


class Shifted:
    """Symmetric noise on the integers against itself moved by `far`; `beyond` is at least the mass that is left out."""

    def __init__(self, masses, far, beyond):
        self.masses, self.far, self.beyond = masses, far, beyond

    def delta(self, epsilon):
        odds, total = epsilon.exp(), arb(0, 1) * self.beyond
        for x, mass in enumerate(self.masses):
            moved = self.masses[x - self.far] if x >= self.far else arb(0)
            total += largest([mass - odds * moved])
        return total


def integers(event):
    if event["mechanism"] == "binomial":
        flips, mass, masses = int(event["flips"]), arb(1) / arb(2) ** int(event["flips"]), []
        for heads in range(flips + 1):
            masses.append(mass)
            mass = mass * (flips - heads) / (heads + 1)
        return Shifted(masses, int(event["sensitivity"]), arb(0))
    if event["mechanism"] == "skellam":
        mean, far = number(event["poisson_mean"]), int(event["sensitivity"])
        # The first mass that is left out has no mass beyond it either, far from the mean: their ratio is below mean / x.
        reach = int(30 * float(event["poisson_mean"]) ** 0.5 + 4 * float(event["poisson_mean"])) + 120
        side = [(-2 * mean).exp() * (2 * mean).bessel_i(arb(x)) for x in range(reach + 1)]
        beyond = 4 * side[reach]
        return Shifted(side[:0:-1] + side, far, beyond + far * side[reach - far])
    return None


# --- Laplace, composed: the transform of the loss is (e^(ts) (s+1) + e^(-ts) e^(-t) s) / (2s+1); residues at 0, -1/2 and -1 -------------


class Laplace:
    def __init__(self, scale, count):
        self.t, self.count, self.rows = 1 / scale, count, {}

    def row(self, j):
        """Coefficients of (u + 1/2)^(k-j-1) (u - 1/2)^(j-1) up to u^(k-1), u = s + 1/2."""
        if j not in self.rows:
            k = self.count

            def series(root, power):
                if power >= 0:
                    return arb_poly([root, 1]) ** power
                return arb_poly([(-1) ** n / root ** (n + 1) for n in range(k)])  # 1 / (root + u)

            self.rows[j] = series(arb(0.5), k - j - 1) * series(arb(-0.5), j - 1)
        return self.rows[j]

    def delta(self, epsilon):
        k, total, binomial = self.count, arb(0), 1
        for j in range(k + 1):
            y = (k - 2 * j) * self.t - epsilon
            if y <= 0:
                break
            y = y.max(arb(0))  # each term begins at 0 without a jump
            row, power, tail = self.row(j), arb(1), arb(0)
            powers = []
            for n in range(k):
                powers.append(power)
                power = power * y / (n + 1)
            for n in range(k):
                if k - 1 - n < row.length():
                    tail += row[k - 1 - n] * powers[n]
            value = tail * (-y / 2).exp() / arb(2) ** k
            if j == 0:
                value += 1
            if j == k:
                value -= (-y).exp()
            total += binomial * (-j * self.t).exp() * value
            binomial = binomial * (k - j) // (j + 1)
        return total


def laplace(event, adjacency):
    """A record sum moves by twice what one record contributes where one is replaced."""
    one, count = (event["of"], int(event["count"])) if event["mechanism"] == "repeat" else (event, 1)
    if one["mechanism"] not in ("laplace", "laplace_record_sum"):
        return None
    return Laplace(number(one["scale"]) / (2 if one["mechanism"] == "laplace_record_sum" and adjacency == "replace-one" else 1), count)


# --- Mixtures of Gaussians on a line, whose likelihood ratio rises: a threshold decides ------------------------------------------------


class Mixtures:
    """(sum_i p_i N(i, z^2), sum_i q_i N(i, z^2)), both directions."""

    def __init__(self, z, first, second):
        self.z, self.first, self.second = z, first, second

    def density(self, weights, x):
        return sum((w * ((2 * i * x - i * i) / (2 * self.z ** 2)).exp() for i, w in weights.items()), arb(0))

    def above(self, weights, x):
        return sum((w * normal((i - x) / self.z) for i, w in weights.items()), arb(0))

    def below(self, weights, x):
        return sum((w * normal((x - i) / self.z) for i, w in weights.items()), arb(0))

    def threshold(self, level):
        """Where first = level * second, as a ball; None where the ratio is above the level everywhere; its limit on the left decides that."""
        def excess(x):
            return self.density(self.first, x) - level * self.density(self.second, x)

        if set(self.second) == {0} and 0 in self.first and self.first[0] >= level:
            return None
        low, high = arb(-1), arb(1)
        while not excess(low) < 0:
            low *= 2
            if low < -10 ** 6:
                raise Undecided
        while not excess(high) > 0:
            high *= 2
        while True:
            middle = ((low + high) / 2).mid()
            value = excess(middle)
            if not (value < 0 or value > 0):  # the root itself may be a dyadic number
                middle = (low * 0.625 + high * 0.375).mid()
                value = excess(middle)
            if value < 0:
                new = (middle, high)
            elif value > 0:
                new = (low, middle)
            else:
                break
            low, high = new
            if (high - low) < arb(2) ** (-ctx.prec // 2):
                break
        return low.union(high)

    def delta(self, epsilon):
        values = []
        x = self.threshold(epsilon.exp())
        if x is not None:
            values.append(self.above(self.first, x) - epsilon.exp() * self.above(self.second, x))
        x = self.threshold((-epsilon).exp())
        if x is not None:
            values.append(self.below(self.second, x) - epsilon.exp() * self.below(self.first, x))
        return largest(values)


def binomial_weights(count, rate, sign=1):
    weights, binomial = {}, 1
    for i in range(count + 1):
        weights[sign * i] = binomial * rate ** i * (1 - rate) ** (count - i)
        binomial = binomial * (count - i) // (i + 1)
    return weights


def mixtures(event, adjacency):
    records = 1
    if event["mechanism"] == "users":
        records, event = int(event["records"]), event["of"]
    if event["mechanism"] != "poisson":
        return None
    rate, inner = number(event["sampling_rate"]), event["of"]
    if adjacency == "replace-one":
        if inner["mechanism"] != "record_sum":
            return None
        return Mixtures(number(inner["noise_multiplier"]), binomial_weights(records, rate), binomial_weights(records, rate, -1))
    mu = gaussian_mu(inner, adjacency)
    return None if mu is None else Mixtures(1 / mu.sqrt(), binomial_weights(records, rate), {0: arb(1)})


# --- All together ----------------------------------------------------------------------------------------------------------------------


def sampled(delta, rate, both):
    """(1 - q) Q + q P against Q, and back: of a pair (P, Q) whose curve is the same both ways, at epsilon >= 0."""

    def answer(epsilon):
        grown = epsilon.exp()
        values = [rate * delta((1 + (grown - 1) / rate).log())]
        rest = 1 - grown * (1 - rate)
        if both and less(arb(0), rest):
            values.append(rest * delta((grown * rate / rest).log()))
        return largest(values)

    return answer


def curve(event, adjacency):
    kind = event["mechanism"]
    squared = gaussian_mu(event, adjacency)
    if squared is not None:
        mu = squared.sqrt()
        return (lambda epsilon: gaussian_delta(mu, epsilon)), "closed form of the Gaussian mechanism in ball arithmetic"
    whole = integers(event)
    if whole is not None:
        return whole.delta, "sum over the integers in ball arithmetic"
    finite = lattice(event, adjacency)
    if finite is not None:
        return finite.delta, "exact sum over the loss of all releases in ball arithmetic"
    lap = laplace(event, adjacency)
    if lap is not None:
        return lap.delta, "residues of the transform of the Laplace loss in ball arithmetic"
    mixed = mixtures(event, adjacency)
    if mixed is not None:
        return mixed.delta, "threshold of the likelihood ratio of Gaussian mixtures in ball arithmetic"
    if kind == "poisson" and adjacency != "replace-one":
        inner = curve(event["of"], adjacency)
        if inner and event["of"]["mechanism"] in ("laplace", "discrete_laplace", "discrete_gaussian"):
            return sampled(inner[0], number(event["sampling_rate"]), True), "identity of the sampled pair in ball arithmetic; inside, " + inner[1]
    if kind == "without_replacement" and adjacency == "replace-one":
        inner = curve(event["of"], adjacency)
        if inner and event["of"]["mechanism"] in ("gaussian", "record_sum", "laplace"):
            rate = arb(int(event["batch_size"])) / int(event["records"])
            return sampled(inner[0], rate, False), "identity of the sampled pair in ball arithmetic; inside, " + inner[1]
    if kind == "exponential":
        size = number(event["epsilon"])

        def choice(epsilon):
            if not less(epsilon, size):
                return arb(0)
            return (1 - ((epsilon - size) / 2).exp()) ** 2 / (1 - (-size).exp())

        return choice, "closed form of one choice of bounded range in ball arithmetic"
    if kind == "parallel":
        parts = [curve(part, adjacency) for part in event["parts"]]
        if all(parts):
            return (lambda epsilon: largest([part[0](epsilon) for part in parts])), "the largest of its parts, each in ball arithmetic"
    if kind == "compose":
        return composed(event, adjacency)
    return None


def composed(event, adjacency):
    """One Gaussian with lattices and at most one Laplace; or lattices alone, by all their atoms."""
    squared, finite, laps = arb(0), [], []
    for part in event["parts"]:
        mu = gaussian_mu(part, adjacency)
        if mu is not None:
            squared += mu
        elif part["mechanism"] == "laplace":
            laps.append(number(part["scale"]))
        else:
            one = lattice(part, adjacency)
            if one is None:
                return None
            finite.append(one)
    if len(laps) > 1 or any(one.lost != 0 for one in finite):
        return None
    atoms, bad = [(arb(0), arb(1))], arb(0)
    for one in finite:
        atoms = [(loss + more, mass * weight) for loss, mass in atoms for more, weight in one.atoms()]
        bad = 1 - (1 - bad) * (1 - one.bad)
    if len(atoms) > 5000:
        return None
    if not laps and squared > 0:
        mu = squared.sqrt()
        how = "sum over the losses of the finite releases of the Gaussian closed form in ball arithmetic"
        return (lambda epsilon: bad + (1 - bad) * sum((mass * gaussian_delta(mu, epsilon - loss) for loss, mass in atoms), arb(0))), how
    if not laps:
        def finite_delta(epsilon):
            return bad + (1 - bad) * sum((mass * (1 - (epsilon - loss).exp()).max(arb(0)) for loss, mass in atoms), arb(0))
        return finite_delta, "exact sum over the losses of all releases in ball arithmetic"
    if not squared > 0 or finite:
        return None
    mu, t = squared.sqrt(), 1 / laps[0]

    def integrated(epsilon):
        def inner(x, _):
            at = acb(epsilon) - (acb(t) - 2 * x)
            root = acb(2).sqrt()
            first = (-(acb(mu) / 2 - at / mu) / root).erfc() / 2
            second = (-(-acb(mu) / 2 - at / mu) / root).erfc() / 2
            return (-x).exp() / 2 * (first - at.exp() * second)

        middle = acb.integral(inner, acb(0), acb(t)).real
        return gaussian_delta(mu, epsilon - t) / 2 + (-t).exp() / 2 * gaussian_delta(mu, epsilon + t) + middle

    return integrated, "rigorous quadrature over the Laplace loss of the Gaussian closed form in ball arithmetic"


def enclose(event, adjacency, ask, at, bits=400):
    """(lower, upper, how) as arbs for epsilon at a delta or delta at an epsilon, narrow to 30 digits; None where there is no formula."""
    while bits <= 30000:
        ctx.prec = bits
        try:
            found = curve(event, adjacency)
            if found is None:
                return None
            delta, how = found
            if ask == "delta":
                value = delta(number(at))
                if value.rel_accuracy_bits() > 100 or (value == 0):
                    return value.lower(), value.upper(), how
            else:
                return (*epsilon_at(delta, number(at)), how)
        except Undecided:
            pass
        bits *= 2
    raise Undecided


def epsilon_at(delta, target):
    if less(delta(arb(0)), target) or delta(arb(0)) == target:
        return arb(0), arb(0)
    low, high = arb(0), arb(1)
    while less(target, delta(high)):
        low, high = high, high * 2
    # Regula falsi on log delta would be quicker; 130 halvings are certain.
    for _ in range(130):
        middle = ((low + high) / 2).mid()
        try:
            above = less(target, delta(middle))
        except Undecided:
            middle = (low * 0.625 + high * 0.375).mid()
            above = less(target, delta(middle))
        low, high = (middle, high) if above else (low, middle)
    return low, high
