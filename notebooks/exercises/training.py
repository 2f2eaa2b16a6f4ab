"""Checks of notebooks 07 and 08: training and translating."""

import itertools

import numpy as np

from exercises.numbers import Numbers
from keras_transformer.build_it.checking import Wrong, call, compare, numbers, several

_END, _LONGEST = 0, 4


def _adamw(
    w, g, m, v, t, rate, beta_1, beta_2, epsilon, decay, corrected=True, inside=False, sign=-1
):
    m, v = beta_1 * m + (1 - beta_1) * g, beta_2 * v + (1 - beta_2) * g**2
    mean, square = (m / (1 - beta_1**t), v / (1 - beta_2**t)) if corrected else (m, v)
    root = np.sqrt(square + epsilon) if inside else np.sqrt(square) + epsilon
    return w + sign * rate * mean / root - rate * decay * w, m, v


def _adamw_step(function):
    random = np.random.default_rng(0)
    w, g, m, later = random.normal(size=(4, 3))
    zero, (rate, decay) = np.zeros(3), (0.1, 0.2)
    for arguments in ((w, g, zero, zero, 1), (w, later, m, m**2 + 0.5, 3)):
        gradient, old_m, _, t = arguments[1:]
        arguments = (*arguments, rate, 0.9, 0.98, 0.01, decay)
        parts = several(call(function, *arguments), ("the new w", "the new m", "the new v"))
        found_w, found_m, found_v = (numbers(part, (3,)) for part in parts)
        expected_w, expected_m, expected_v = _adamw(*arguments)
        compare(
            found_m,
            expected_m,
            "m is not right: beta_1 of the old one, and 1 - beta_1 of the gradient.",
            (
                expected_m / (1 - 0.9**t),
                "m is returned with its correction. Return it as it was before, for the next step.",
            ),
            (
                0.9 * old_m + 0.1 * (gradient + decay * w),
                "The decay is not a part of the gradient: m and v are those of Adam.",
            ),
        )
        compare(
            found_v,
            expected_v,
            "m is right. v is not: beta_2 of the old one, and 1 - beta_2 of the squared gradient.",
            (
                expected_v / (1 - 0.98**t),
                "v is returned with its correction. Return it as it was before, for the next step.",
            ),
        )
        compare(
            found_w,
            expected_w,
            "m and v are right. w is not: divide the corrected m by the root of the corrected v, "
            "add decay times the old w, and multiply both by the rate.",
            (
                expected_w + rate * decay * w,
                "m and v are right, and w is Adam's: the decay is missing.",
            ),
            (
                expected_w + rate * decay * w - decay * w,
                "m and v are right. In w, the decay is multiplied by the rate, too.",
            ),
            (
                (expected_w + rate * decay * w) * (1 - rate * decay),
                "m and v are right. The decay is a share of the old w, not of the new one.",
            ),
            (
                _adamw(*arguments, corrected=False)[0],
                "m and v are right, but not corrected in w: they begin at 0, so the first ones are "
                "too small by 1 - beta ** t.",
            ),
            (
                _adamw(*arguments, inside=True)[0],
                "In w, epsilon is added to the root, not inside it.",
            ),
            (_adamw(*arguments, sign=1)[0], "w goes up the hill: the step is subtracted."),
        )


def _cached_attention(function):
    random = np.random.default_rng(0)
    queries, keys, values = random.normal(size=(3, 5, 4))
    cache = None
    for t in range(5):
        found = call(function, queries[t], keys[t], values[t], cache)
        output, cache = several(found, ("the output", "the cache"))
        kept = several(cache, ("the keys so far", "the values so far"))
        found_keys, found_values = (numbers(part) for part in kept)
        if found_keys.shape != (t + 1, 4) or found_values.shape != (t + 1, 4):
            raise Wrong(
                f"After {t + 1} words the cache must hold {t + 1} keys and values of size 4. Yours "
                f"have the shapes {found_keys.shape} and {found_values.shape}."
            )
        compare(found_keys, keys[: t + 1], "The cached keys are not those of the words, in order.")
        compare(found_values, values[: t + 1], "The cached values are not those of the words.")
        compare(
            numbers(output, (4,)),
            _attend(queries[t], keys[: t + 1], values[: t + 1]),
            f"The output for word {t + 1} is not that of attention to all words so far.",
            (
                _attend(queries[t], keys[:t], values[:t]),
                "A word sees itself, too: append its key and value before you attend.",
            ),
            (
                _attend(2 * queries[t], keys[: t + 1], values[: t + 1]),
                "The scores are not divided by the root of d.",
            ),
        )


def _attend(query, keys, values):
    weights = np.exp(keys @ query / np.sqrt(len(query)))
    return weights / weights.sum() @ values if len(keys) else np.full_like(query, np.nan)


class _Language:
    """A random language of three words, the first of which ends a sentence of at most four."""

    def __init__(self, seed):
        self.seed, self.calls = seed, 0

    def __deepcopy__(self, memory):
        return self  # counts the calls

    def __call__(self, words):
        self.calls += 1
        words = [int(word) for word in words]
        if _END in words:
            raise ValueError("A finished hypothesis was extended: it ends with word 0.")
        if self.calls > 1000:
            raise RuntimeError(
                "The search does not end. Finished hypotheses keep their place in the beam, and it "
                "ends when all of the beam are finished."
            )
        with np.errstate(divide="ignore"):
            if len(words) >= _LONGEST - 1:
                return np.log([1.0, 0.0, 0.0])
            weights = np.random.default_rng([self.seed, *words]).dirichlet([1, 1, 1])
            return np.log(weights)

    def score(self, words):
        return sum(self(words[:i])[word] for i, word in enumerate(words))

    def search(self, size):
        beam = [(0.0, [])]
        while any(_END not in words for _, words in beam):
            longer = [entry for entry in beam if _END in entry[1]]
            for score, words in beam:
                if _END not in words:
                    gains = self(words)
                    longer += [(score + gains[i], [*words, i]) for i in range(3)]
            beam = sorted(longer, key=lambda entry: -entry[0])[:size]
        return beam[0]

    def best(self):
        lengths = (itertools.product((1, 2), repeat=n) for n in range(_LONGEST))
        sentences = [[*words, _END] for words in itertools.chain(*lengths)]
        return max((self.score(words), words) for words in sentences)


def _beam_search(function):
    for size, seed in itertools.product((1, 15, 2), range(8)):
        found = call(function, _Language(seed), size)
        score, words = several(found, ("the sum of the log probabilities", "the words"))
        score = float(numbers(score, ()))
        words = [int(word) for word in numbers(words).reshape(-1)]
        if words.count(_END) != 1 or words[-1] != _END:
            raise Wrong(f"The words {words} are not one sentence that ends with its only 0.")
        if not np.isclose(score, _Language(seed).score(words), atol=1e-6):
            raise Wrong(
                f"The sum {score:.3f} does not belong to the words {words}, which have "
                f"{_Language(seed).score(words):.3f}."
            )
        expected, right = _Language(seed).best() if size == 15 else _Language(seed).search(size)
        if not np.isclose(score, expected, atol=1e-6):
            raise Wrong(
                f"{_SEARCHES[size]} must return {right} with the sum {expected:.3f} in one of the "
                f"languages of this check. Yours returned {words} with {score:.3f}."
            )


_SEARCHES = {
    1: "A beam of 1 is greedy search, and",
    15: "A beam of 15 forgets nothing, and",
    2: "Beams of 1 and 15 are right. A beam of 2, where finished hypotheses compete unchanged,",
}

CHECKS = {
    "7.1": Numbers(
        (np.log(2) + np.log(4)) / 2,
        "Each word costs minus the logarithm of its probability. Take the mean over the words.",
        ((np.log(2) + np.log(4)) / 3, "Padding is not counted: there are two words, not three."),
        (np.log(64) / 3, "Padding must not count, neither in the sum nor in the number of words."),
        (np.log(8), "This is the sum. Asked is the mean per word."),
        (1.5, "Use the natural logarithm: the loss is in nats, not in bits."),
        (-np.log(3 / 8), "Take the logarithm of each probability first, then the mean."),
    ),
    "7.2": Numbers(
        [[2, 7, 8, 9], [7, 8, 9, 3]],
        "At each position, the decoder has read up to this word and predicts the one after it.",
        (
            [[2, 7, 8, 9], [2, 7, 8, 9]],
            "Then it would predict the word that it has just read: it would learn to copy.",
        ),
        (
            [[7, 8, 9, 3], [2, 7, 8, 9]],
            "The other way around: it reads the start token, and predicts 7.",
        ),
        ([[2, 7, 8, 9], [7, 8, 9, 0]], "The last thing to predict is the end of the sentence."),
    ),
    "7.3": Numbers(
        -0.92 * np.log(0.6) - 4 * 0.02 * np.log(0.1),
        "The target is 1 - ε + ε / V for the right word and ε / V for each other one.",
        (-np.log(0.6), "This is the loss without smoothing."),
        (
            -0.9 * np.log(0.6) - 0.1 * np.log(0.1),
            "ε is spread over all five words, the right one included.",
        ),
        (
            -0.9 * np.log(0.6) - 0.08 * np.log(0.1),
            "The targets do not sum to 1: the right word gets its share of ε, too.",
        ),
    ),
    "7.4": Numbers(
        1e6 / 256,
        "The peak is where t = w, and its height is (d w) ** -0.5. Solve for w.",
        (1e3 / 256, "The height is the root of 1 / (d w): square both sides."),
        (1e6, "That is d · w. Asked is w."),
        ((256 * 1e-3) ** -0.5, "The peak is given, and w is asked, not the other way around."),
    ),
    "7.5": _adamw_step,
    "8.1": Numbers(
        [4 / 5, 2 / 4, 1 / 3, 0, 1],
        "Count the runs of the translation, 5, 4, 3 and 2 of them, that the reference has, too.",
        (
            [4 / 5, 2 / 4, 1 / 3, 0, np.exp(1 / 5)],
            "B is at most 1: a translation is not rewarded for being longer.",
        ),
        (
            [4 / 5, 2 / 4, 1 / 3, 0, np.exp(1 - 5 / 4)],
            "B punishes translations that are shorter than the reference, and this one is longer.",
        ),
        (
            [4 / 4, 2 / 3, 1 / 2, 0, 1],
            "Divide by the number of runs in the translation, not in the reference.",
        ),
    ),
    "8.2": Numbers(
        [-2 / 1.5, -2.9 / (14 / 6)],
        "Divide each sum by ((5 + T) / 6) ** α, with T the number of words and α = 1.",
        ([-2 / 4, -2.9 / 9], "That is the mean per word. The penalty is ((5 + T) / 6) ** α."),
        ([-3, -2.9 * 14 / 6], "The sum is divided by the penalty, not multiplied."),
        ([-2, -2.9], "Those are the sums without a penalty, α = 0."),
    ),
    "8.3": Numbers(
        [0.2, 0.36],
        "Greedy follows its first word. The beam keeps two first words and compares products.",
        ([0.2, 0.2], "The beam keeps the second best first word, too. What follows it?"),
        ([0.5, 0.9], "The probability of a sentence is the product of both."),
        ([0.36, 0.36], "Greedy takes the most probable first word, and never takes it back."),
    ),
    "8.4": _cached_attention,
    "8.5": _beam_search,
}
