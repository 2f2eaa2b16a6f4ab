"""Checks of notebooks 01 to 03: attention, recurrent networks, Bahdanau and Luong."""

import numpy as np

from exercises.numbers import Numbers
from keras_transformer.build_it.checking import (
    Wrong,
    call_for_numbers,
    compare,
    numbers,
    several,
    softmax,
)


def _stable_attention(function):
    queries = np.array([[1.0, 0.0], [0.0, 2.0]])
    keys = np.array([[1.0, 0.5], [0.0, 1.0], [-1.0, 0.0]])
    values = np.array([[8.0, 0.0], [0.0, 8.0], [4.0, 4.0]])
    products = queries @ keys.T
    found = call_for_numbers(function, queries, keys, values, shape=(2, 2))
    compare(
        found,
        softmax(products / np.sqrt(2)) @ values,
        "Follow the formula at the top of the notebook: scores, weights, output.",
        (
            softmax(products) @ values,
            "The scores are not divided by the root of d, which is 2 here.",
        ),
        (
            softmax(products / np.sqrt(3)) @ values,
            "d is the size of a key, not the number of keys.",
        ),
        (softmax(products / 2) @ values, "The scores are divided by d instead of its root."),
        (
            softmax(products / np.sqrt(2), axis=0) @ values,
            "The weights of a query sum to 1, not those of a key: the softmax runs along a row.",
        ),
    )
    found = call_for_numbers(function, 1000 * queries, keys, values, shape=(2, 2), finite=False)
    if not np.isfinite(found).all():
        raise Wrong(
            "Right for small scores, but scores of 1000 give NaN: exp(1000) is infinite. Subtract "
            "something from each row first that does not change the weights."
        )
    hard = values[products.argmax(axis=1)]
    compare(found, hard, "Right for small scores, but not for scores of 1000.")


def _factor(answer):
    factor = float(numbers(answer, ()))
    if np.isclose(factor, np.log(9), rtol=5e-3):
        return
    weight = 1 / (1 + np.exp(-factor))
    raise Wrong(
        f"With this factor the larger weight is {weight:.3f}. Write it as a fraction of "
        "exponentials, and solve for the exponent."
    )


def _two_inputs(answer):
    kernel, recurrent, bias = several(answer, ("W_x", "W_h", "b"))
    kernel, recurrent, bias = (
        numbers(part, shape)
        for part, shape in ((kernel, (1, 2)), (recurrent, (2, 2)), (bias, (2,)))
    )
    inputs, state = np.array([3.0, 1.0, 4.0, 1.0, 5.0]), np.zeros(2)
    previous = 0.0
    for t, x in enumerate(inputs, start=1):
        state = x * kernel[0] + state @ recurrent + bias
        if not np.isclose(state[0], x):
            raise Wrong(
                f"For the inputs 3, 1, 4, 1, 5 the first entry of h_{t} should be the input {x:g}; "
                f"it is {state[0]:g}."
            )
        if not np.isclose(state[1], previous):
            raise Wrong(
                f"For the inputs 3, 1, 4, 1, 5 the second entry of h_{t} should be {previous:g}, "
                f"the input before; it is {state[1]:g}. Row i of W_h says where entry i of the old "
                "state goes."
            )
        previous = x


def _gru(x, h, kernels, recurrent, biases, exchanged=False, late=False, sigmoid=True):
    def gate(name):
        y = x @ kernels[name] + h @ recurrent[name] + biases[name]
        return 1 / (1 + np.exp(-y)) if sigmoid else y

    z, r = gate("z"), gate("r")
    memory = r * (h @ recurrent["h"]) if late else (r * h) @ recurrent["h"]
    candidate = np.tanh(x @ kernels["h"] + memory + biases["h"])
    return (1 - z) * h + z * candidate if exchanged else z * h + (1 - z) * candidate


def _gru_step(function):
    random = np.random.default_rng(0)
    x, h = random.normal(size=(4, 3)), random.normal(size=(4, 2))
    weights = [
        {name: random.normal(size=size) for name in ("z", "r", "h")} for size in ((3, 2), (2, 2), 2)
    ]
    found = call_for_numbers(function, x, h, *weights, shape=(4, 2))
    compare(
        found,
        _gru(x, h, *weights),
        "Compare line by line: two gates with the sigmoid, a candidate with the tanh, a mixture.",
        (
            _gru(x, h, *weights, exchanged=True),
            "z and 1 - z are exchanged: where z is 1, the old state stays.",
        ),
        (
            _gru(x, h, *weights, late=True),
            "r multiplies the old state before the product with U, not the product.",
        ),
        (_gru(x, h, *weights, sigmoid=False), "The sigmoid of the gates is missing."),
    )


def _luong_scores(function):
    random = np.random.default_rng(0)
    s, h = random.normal(size=3), random.normal(size=(5, 4))
    square = random.normal(size=(5, 3))
    w, both, v = (random.normal(size=size) for size in ((3, 4), (6, 7), 6))
    first = "The scores are one number for each of the five states h, shape (5,). "
    found = call_for_numbers(function, "dot", s, square, None, None)
    if found.shape != (5,):
        raise Wrong(f"{first}Those of dot have the shape {found.shape}.")
    compare(found, square @ s, "Dot: the products of s with each h, without any matrix.")
    found = call_for_numbers(function, "general", s, h, w, None, shape=(5,))
    compare(found, h @ w.T @ s, "Dot is right. General: s, then W, then h.")
    found = call_for_numbers(function, "concat", s, h, both, v, shape=(5,))
    right, swapped, plain = (
        np.array([v @ f(both @ np.concatenate(pair)) for pair in pairs])
        for f, pairs in (
            (np.tanh, [(s, row) for row in h]),
            (np.tanh, [(row, s) for row in h]),
            (lambda x: x, [(s, row) for row in h]),
        )
    )
    compare(
        found,
        right,
        "Dot and general are right. Concat: put h below s, multiply with W, tanh, multiply with v.",
        (swapped, "Dot and general are right. Concat: s comes first, h below it."),
        (plain, "Dot and general are right. Concat: the tanh is missing."),
    )


def _backwards(function):
    for n in (3, 5):
        found = call_for_numbers(function, n, shape=(n, n))
        compare(
            found,
            np.eye(n)[::-1],
            "Row t of the matrix has a 1 where the source word of target word t stands, else 0.",
            (np.eye(n), "This is a language with the same word order. Here the order is reversed."),
        )


def _window(answer):
    found = sorted(numbers(answer).reshape(-1).tolist())
    if found == [5, 6, 7, 8]:
        return
    if found == [5, 6, 7, 8, 9]:
        raise Wrong("There is no position 9: nine words have the positions 0 to 8.")
    if any(position > 8 for position in found):
        raise Wrong("Some of these positions are behind the last word, which is 8.")
    if found in ([6, 7, 8], [5, 6, 7]):
        raise Wrong("The window reaches D = 2 positions to both sides of the center 7.")
    raise Wrong("The center is the target's own position, and D = 2 words on both sides are seen.")


CHECKS = {
    "1.1": Numbers(
        [0.125, 0.25, 0.625],
        "Take the exponential of each score, and divide by the sum of the three.",
        ([1, 2, 5], "These are the exponentials. Weights sum to 1: divide by the sum."),
        (
            np.log([1, 2, 5]) / np.log(10),
            "These are the scores divided by their sum. The softmax takes exponentials first.",
        ),
    ),
    "1.2": Numbers(
        [6, 7],
        "Multiply each value with its weight, and add the three vectors.",
        ([16 / 3, 16 / 3], "This is the plain average. Here the values have different weights."),
        (
            [5, 5],
            "This is the value with the largest weight, scaled. The others count as well.",
        ),
    ),
    "1.3": Numbers(
        8,
        "The variance of a sum of independent terms is the sum of their variances: 64 terms.",
        (64, "64 is the variance. The standard deviation is its root."),
        (1, "1 is what it becomes after the division by the root of 64."),
    ),
    "1.4": _factor,
    "1.5": _stable_attention,
    "2.1": Numbers(
        [49, 59],
        "Put the old state (20, 29) into the formula: h W_h + b, and the input adds nothing.",
        ([49, 58], "The bias (0, 1) is missing: it is added at every step."),
        ([20, 79], "The state is a row: it multiplies the columns of W_h, not its rows."),
        ([20, 78], "The state multiplies the columns of W_h, and the bias is added."),
        ([0, 1], "The state before is missing: that is the memory of the network."),
    ),
    "2.2": Numbers(
        0.9**20,
        "Each step multiplies by 0.9. How many steps are there from 1 to 21?",
        (0.9**21, "From step 1 to step 21 there are 20 steps, not 21."),
        (0.9 * 20, "The factors multiply, they do not add."),
        (0.9, "That is the factor of one step."),
    ),
    "2.3": Numbers(
        [88, 8],
        "The last window must leave one number for its target. Count the possible starts 0, 1, 2 …",
        ([89, 9], "Each window needs the number after it as its target, the last one too."),
        ([89, 8], "With stride 1, the last window needs a number after it as its target, too."),
        ([8, 88], "The order is: stride 1, then stride 12."),
    ),
    "2.4": _two_inputs,
    "2.5": _gru_step,
    "3.1": Numbers(
        [0.75 * np.log(3), 1],
        "The scores are s · h, the softmax makes weights of them, and c is the mixture of the h.",
        ([0.25, 0.75], "These are the weights. The context is the mixture of h_1 and h_2."),
        ([np.log(3), 4], "This is the sum of the states. They have the weights of the softmax."),
        ([0.5 * np.log(3), 2], "This is the mean of the states. Their scores differ: 0 and ln 3."),
    ),
    "3.2": _window,
    "3.3": Numbers(
        [10, np.exp(-2)],
        "The center is S · sigmoid(0). The bell is exp(-(j - p)² / (2 σ²)) with σ = D / 2.",
        ([10, np.exp(-0.5)], "The bell has σ = D / 2 = 2, not D."),
        ([0, np.exp(-2)], "The sigmoid of 0 is not 0."),
        ([10, np.exp(-4)], "In the exponent, σ² is doubled: 2 σ²."),
        ([10, np.exp(-8)], "In the exponent, the square of 4 is divided by 2 σ² = 8, not by 2."),
    ),
    "3.4": _backwards,
    "3.5": _luong_scores,
}
