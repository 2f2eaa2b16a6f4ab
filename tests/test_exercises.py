"""The exercises of the notebooks: solutions are right, mistakes are named, and nothing crashes."""

import ast
import contextlib
import io
import re
from pathlib import Path

import keras
import numpy as np
import own_cells
import pytest
import sacrebleu
from exercises import CHECKS, check, verdict
from exercises.numbers import Numbers
from keras import ops
from solutions import SOLUTIONS, softmax
from tokenizers import Tokenizer
from tokenizers.models import WordPiece

import keras_transformer as kt
from keras_transformer.data.series import make_windows

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
SOURCES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
# Notebooks 12 and 13 have none: they are practice from beginning to end.
PRACTICES = [path for path in SOURCES if "# ## Practice\n" in path.read_text(encoding="utf-8")]
HEADING = re.compile(r"^# ### (\d+\.\d+) (★+) \S", re.MULTILINE)

every_exercise = pytest.mark.parametrize("name", CHECKS)


def practice(source):
    """Returns the section with the exercises of a notebook."""
    return source.read_text(encoding="utf-8").split("# ## Practice\n")[1]


def code_cells(text):
    cells = re.split(r"^# %%(.*)\n", text, flags=re.MULTILINE)
    kinds, contents = cells[1::2], cells[2::2]
    return [text for kind, text in zip(kinds, contents, strict=True) if not kind.strip()]


def test_every_notebook_but_the_last_three_has_exercises_of_three_levels():
    assert SOURCES[:-3] == PRACTICES
    headings = [HEADING.findall(practice(source)) for source in PRACTICES]
    assert [name for found in headings for name, _ in found] == list(CHECKS)
    assert len(CHECKS) >= 40
    for i, found in enumerate(headings, start=1):
        assert [name for name, _ in found] == [f"{i}.{j}" for j in range(1, len(found) + 1)]
        assert {level for _, level in found} == {"★", "★★", "★★★"}


@pytest.mark.parametrize("source", PRACTICES, ids=lambda source: source.stem)
def test_the_cells_run_before_they_are_solved(source):
    text, printed = practice(source), []
    namespace = {"EncoderLayer": own_cells.EncoderLayer}
    for cell in code_cells(text):
        with contextlib.redirect_stdout(io.StringIO()) as stdout:
            exec(compile(cell, str(source), "exec"), namespace)
        printed += stdout.getvalue().splitlines()
    names = [name for name, _ in HEADING.findall(text)]
    assert printed == [f"{name}: Still to do: replace the dots." for name in names]


def test_the_exercises_hide_no_definition_of_the_cells():
    """`own_cells` returns the first definition of a name and runs all of a notebook."""
    names = {
        source: [
            node.name
            for node in ast.parse(source.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        for source in SOURCES
    }
    everywhere = [name for found in names.values() for name in found]
    for source in PRACTICES:
        stubs = re.findall(r"^(?:def|class) (\w+)", practice(source), re.MULTILINE)
        assert all(everywhere.count(name) == 1 for name in stubs)


@every_exercise
def test_the_solution_is_right(name):
    assert verdict(name, SOLUTIONS[name]) == "Right."


@every_exercise
def test_an_unsolved_exercise_is_still_to_do(name):
    assert verdict(name, ...) == "Still to do: replace the dots."


ODD_ANSWERS = {
    "None": None,
    "text": "2",
    "complex": 1j,
    "set": {1, 2},
    "empty": [],
    "ragged": [[1], [1, 2]],
    "not only numbers": [None, 1],
    "NaN": np.nan,
    "infinity": [np.inf] * 3,
    "huge": -1e30,
    "too many axes": np.zeros((3, 3, 3)),
    "object": object(),
    "class": int,
    "takes nothing": lambda: 0,
    "raises": lambda *_: 1 / 0,
    "returns None": lambda *_: None,
    "returns text": lambda *_: "text",
    "returns odd pair": lambda *_: (np.array(["a"]), object()),
    "returns NaN": lambda *_: np.full((5, 5), np.nan),
    "returns its argument": lambda x, *_: x,
}


@every_exercise
def test_no_answer_stops_the_cell(name):
    for kind, answer in ODD_ANSWERS.items():
        text = verdict(name, answer)
        assert text.startswith("Not yet. ") and "cannot use" not in text, (kind, text)


@every_exercise
def test_each_known_mistake_is_named(name):
    numbers = CHECKS[name]
    if isinstance(numbers, Numbers):
        assert numbers.mistakes
        for mistake, sentence in numbers.mistakes:
            assert verdict(name, mistake) == f"Not yet. {sentence}"


def plain_attention(queries, keys, values):
    exponentials = np.exp(queries @ keys.T / 2**0.5)
    return exponentials / exponentials.sum(axis=1, keepdims=True) @ values


def undivided_attention(queries, keys, values):
    return softmax(queries @ keys.T) @ values


def gru_that_keeps_too_little(x, h, W, U, b):
    new = SOLUTIONS["2.5"](x, h, W, U, b)
    z = 1 / (1 + np.exp(-(x @ W["z"] + h @ U["z"] + b["z"])))
    candidate = (new - z * h) / (1 - z)
    return (1 - z) * h + z * candidate


def concat_without_tanh(kind, s, h, W, v):
    if kind != "concat":
        return SOLUTIONS["3.5"](kind, s, h, W, v)
    return np.concatenate([np.tile(s, (len(h), 1)), h], axis=1) @ W.T @ v


def adamw_without_correction(w, g, m, v, t, rate, beta_1, beta_2, epsilon, decay):
    m, v = beta_1 * m + (1 - beta_1) * g, beta_2 * v + (1 - beta_2) * g**2
    return w - rate * (m / (np.sqrt(v) + epsilon) + decay * w), m, v


def adam_with_decay_in_the_gradient(w, g, *settings):
    return SOLUTIONS["7.5"](w, g + settings[-1] * w, *settings[:-1], 0.0)


def adam_without_decay(*arguments):
    return SOLUTIONS["7.5"](*arguments[:-1], 0.0)


def adamw_that_shrinks_the_new_weights(*arguments):
    w, m, v = SOLUTIONS["7.5"](*arguments[:-1], 0.0)
    return w * (1 - arguments[5] * arguments[-1]), m, v


def attention_that_forgets(query, key, value, cache):
    return value, (key[None], value[None])


def attention_without_itself(query, key, value, cache):
    _, (keys, values) = SOLUTIONS["8.4"](query, key, value, cache)
    if cache is None:
        return value, (keys, values)
    return softmax(keys[:-1] @ query / 2) @ values[:-1], (keys, values)


def greedy_search(log_probabilities, size):
    return SOLUTIONS["8.5"](log_probabilities, 1)


def beam_that_extends_finished(log_probabilities, size):
    beam = [(0.0, [])]
    for _ in range(4):
        longer = []
        for total, words in beam:
            longer += [
                (total + gain, [*words, i]) for i, gain in enumerate(log_probabilities(words))
            ]
        beam = sorted(longer, reverse=True)[:size]
    return beam[0]


def beam_that_drops_finished(log_probabilities, size):
    beam, finished = [(0.0, [])], []
    for _ in range(4):
        longer = []
        for total, words in beam:
            gains = log_probabilities(words)
            longer += [(total + gains[i], [*words, i]) for i in range(3)]
        longer = sorted(longer, reverse=True)[:size]
        finished = [entry for entry in longer if entry[1][-1] == 0]  # should be +=
        beam = [entry for entry in longer if entry[1][-1] != 0]
        if not beam:
            break
    return max(finished)


def shortest_pieces(word, vocabulary):
    found, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        ends = range(start + 1, len(word) + 1)
        end = next((end for end in ends if prefix + word[start:end] in vocabulary), None)
        if end is None:
            return ["[UNK]"]
        found.append(prefix + word[start:end])
        start = end
    return found


def hide_special_words(ids, random):
    chosen = random.random(ids.shape) < 0.15
    return np.where(chosen, 4, ids), chosen


def hide_always(ids, random):
    chosen = (ids >= 5) & (random.random(ids.shape) < 0.15)
    return np.where(chosen, 4, ids), chosen


def unmasked(layer_class):
    class Unmasked(layer_class):
        def call(self, x, attention_mask=None):
            return super().call(x)

    return Unmasked


def post_norm():
    return SOLUTIONS["6.5"]


MISTAKES = [
    ("1.1", [0.1, 0.2, 0.7], "Take the exponential"),
    ("1.1", [0.125, 0.25, 0.6], "2 of 3 numbers are right"),
    ("1.1", [0.125, 0.875], "Expected a list of 3 numbers, but this is a list of 2 numbers"),
    ("1.4", 2, "larger weight is 0.881"),
    ("1.5", plain_attention, "scores of 1000 give NaN"),
    ("1.5", undivided_attention, "root of d"),
    ("1.5", lambda q, k, v: softmax(q @ k.T / 2**0.5), "Expected an array of shape (2, 2)"),
    ("1.5", lambda q, k: q, "TypeError"),
    ("1.5", plain_attention(*np.ones((3, 2, 2))), "the function itself"),
    ("2.4", ([[1, 0]], [[1, 0], [0, 0]], [0, 0]), "first entry of h_2 should be the input 1"),
    ("2.4", ([[1, 0]], [[0, 0], [0, 0]], [0, 0]), "second entry of h_2 should be 3"),
    ("2.5", gru_that_keeps_too_little, "exchanged"),
    ("3.2", [5, 6, 7, 8, 9], "no position 9"),
    ("3.2", [6, 7, 8], "D = 2 positions to both sides"),
    ("3.4", np.eye, "same word order"),
    ("3.5", lambda kind, s, h, W, v: h @ s, "Your code stopped"),
    ("3.5", concat_without_tanh, "the tanh is missing"),
    ("4.5", lambda n, k: 2 * k - SOLUTIONS["4.5"](n, k), "sign is reversed"),
    ("4.5", lambda n, k: np.arange(n) - np.arange(n)[:, None] + k, "must be cut off"),
    ("4.6", lambda x, positions: SOLUTIONS["4.6"](x, -positions), "wrong direction"),
    ("4.6", lambda x, positions: x, "Pair i"),
    ("4.6", lambda x, positions: x + positions[:, None], "no rotation"),
    ("5.6", lambda s: np.tri(len(s), dtype=bool), "see padding"),
    ("5.6", lambda s: (s[:, None] == s) & (s != 0), "causal"),
    ("5.6", lambda s: np.tri(len(s), dtype=bool) & (s != 0), "another sentence"),
    ("5.6", lambda s: np.eye(len(s), dtype=bool) & (s != 0), "do not see what they may"),
    ("6.2", ([2], [0, 1, 2, 3, 4]), "All later positions"),
    ("6.2", ([3, 4], [0, 1, 2, 3, 4]), "The decoder reads word 2 at position 2"),
    ("6.2", ([2, 3, 4], [2, 3, 4]), "No causal mask hides the source"),
    ("6.2", [2, 3, 4], "Expected 2 things"),
    (
        "6.4",
        lambda x, a, b: (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) * a + b,
        "is [nan nan nan nan]",
    ),
    ("6.4", lambda x, a, b: (x - x.mean(0)) / (x.var(0) + 1e-5) ** 0.5 * a + b, "the last axis"),
    ("6.5", post_norm().__bases__[0], "still pre-norm"),
    ("6.5", unmasked(post_norm()), "mask is not passed on"),
    ("6.5", lambda *sizes: None, "the class itself"),
    ("7.5", adamw_without_correction, "not corrected"),
    ("7.5", adam_with_decay_in_the_gradient, "not a part of the gradient"),
    ("7.5", adam_without_decay, "the decay is missing"),
    ("7.5", adamw_that_shrinks_the_new_weights, "not of the new one"),
    ("7.5", lambda w, *_: w, "Expected 3 things: the new w, the new m, the new v"),
    ("8.4", attention_that_forgets, "After 2 words the cache must hold 2"),
    ("8.4", attention_without_itself, "append its key and value before"),
    ("8.5", greedy_search, "A beam of 15 forgets nothing"),
    ("8.5", beam_that_extends_finished, "A finished hypothesis was extended"),
    ("8.5", beam_that_drops_finished, "must return"),
    ("9.2", [False, False, True], "a: "),
    ("9.2", [True, True, True], "b: "),
    ("9.2", [True, False, False], "c: "),
    ("9.4", lambda x, size: x.reshape(2, 6, 12), "Reshape alone"),
    ("9.5", lambda x, height, width, size: x.reshape(2, height, width, 3), "Reshape alone"),
    ("10.2", ["un", "##aff", "##able"], "longest possible piece"),
    ("10.2", ["una", "ffa", "ble"], "must begin with ##"),
    ("10.2", ["una", "##ffa"], "do not spell"),
    ("10.4", shortest_pieces, "unaffable is not unknown"),
    ("10.4", lambda word, vocabulary: [word], "not in the vocabulary"),
    ("10.5", hide_special_words, "special tokens were chosen"),
    ("10.5", hide_always, "100% become [MASK]"),
    ("11.5", lambda logits, k: softmax(logits), "nothing was cut off"),
    (
        "11.5",
        lambda logits, k: softmax(np.where(logits >= np.sort(logits)[-k], logits, 0)),
        "-np.inf",
    ),
    ("11.6", lambda sentences, words: SOLUTIONS["11.6"](sentences, words).T, "The word before is"),
    ("11.6", lambda sentences, words: np.ones((words, words)) / words, "one more than"),
]


@pytest.mark.parametrize(("name", "answer", "words"), MISTAKES)
def test_a_plausible_mistake_is_named(name, answer, words):
    text = verdict(name, answer)
    assert text.startswith("Not yet. ") and words in text


def test_every_exercise_has_a_plausible_mistake():
    numbers = {name for name, found in CHECKS.items() if isinstance(found, Numbers)}
    assert numbers | {name for name, _, _ in MISTAKES} == set(CHECKS)


def test_an_exception_names_its_line():
    def broken(queries, keys, values):
        scores = queries @ keys.T
        return scores / undefined  # noqa: F821

    assert "in line 3: NameError" in verdict("1.5", broken)


def test_a_name_may_be_a_number(capsys):
    check(1.3, 8)
    assert capsys.readouterr().out == "1.3: Right.\n"


def test_check_prints_the_verdict(capsys):
    check("1.3", 8)
    check("1.3", 64)
    check("99", 1)
    right, wrong, unknown = capsys.readouterr().out.splitlines()
    assert right == "1.3: Right."
    assert wrong.startswith("1.3: Not yet. 64 is the variance.")
    assert unknown.startswith("99: There is no such exercise.")


def test_three_digits_are_enough():
    for name, answer in {
        "1.4": 2.2,
        "2.2": 0.122,
        "7.4": 3906,
        "11.1": 3.999,
        "11.3": [0.556, 0.278, 0.167, 0],
    }.items():
        assert verdict(name, answer) == "Right."


def test_right_answers_may_be_written_in_other_ways():
    def adamw_in_place(w, g, m, v, t, rate, beta_1, beta_2, epsilon, decay):
        w *= 1 - rate * decay
        m *= beta_1
        m += (1 - beta_1) * g
        v *= beta_2
        v += (1 - beta_2) * g**2
        w -= rate * m / (1 - beta_1**t) / (np.sqrt(v / (1 - beta_2**t)) + epsilon)
        return np.stack([w, m, v])

    def cache_as_one_array(query, key, value, cache):
        new = np.stack([key, value])[:, None]
        cache = new if cache is None else np.concatenate([cache, new], axis=1)
        weights = np.exp(cache[0] @ query / len(query) ** 0.5)
        return weights / weights.sum() @ cache[1], cache

    assert verdict("7.5", adamw_in_place) == "Right."
    assert verdict("8.4", cache_as_one_array) == "Right."
    assert verdict("7.2", np.array([[2, 7, 8, 9], [7, 8, 9, 3]])) == "Right."


def test_counts_must_be_exact():
    assert verdict("4.4", 512 * 768 + 1) != "Right."


def test_the_answers_about_recurrent_networks_are_those_of_the_library():
    windows = [len(make_windows(np.arange(100.0), 12, stride)[0]) for stride in (1, 12)]
    assert windows == SOLUTIONS["2.3"]
    layer, random = keras.layers.GRU(2, reset_after=False), np.random.default_rng(0)
    x, h = random.normal(size=(4, 1, 3)), random.normal(size=(4, 2))
    layer.build((4, 1, 3))
    weights = [random.normal(size=weight.shape) for weight in layer.get_weights()]
    layer.set_weights(weights)
    parts = [dict(zip("zrh", np.split(w, 3, axis=-1), strict=True)) for w in weights]
    found = ops.convert_to_numpy(layer(x, initial_state=h))
    np.testing.assert_allclose(found, SOLUTIONS["2.5"](x[:, 0], h, *parts), atol=1e-5)


def test_the_answers_about_scores_are_those_of_the_library():
    random = np.random.default_rng(0)
    s, h = random.normal(size=(1, 1, 6)), random.normal(size=(1, 5, 6))
    for kind in ("dot", "general"):
        layer = kt.LuongAttention(kind)
        with kt.record_attention() as recorded:
            layer(s, h)
        w = layer.get_weights()[0].T if kind == "general" else None
        scores = SOLUTIONS["3.5"](kind, s[0, 0], h[0], w, None)
        weights = ops.convert_to_numpy(recorded[layer])[0, 0]
        np.testing.assert_allclose(weights, softmax(scores), atol=1e-5)
    local = kt.LuongAttention("dot", window=2)
    with kt.record_attention() as recorded:
        local(random.normal(size=(1, 12, 6)), random.normal(size=(1, 9, 6)))
    assert np.flatnonzero(recorded[local][0, 7]).tolist() == SOLUTIONS["3.2"]


def test_the_answers_about_masks_are_those_of_the_library():
    values = np.array([[[1.0, 5], [2, 6], [3, 7]]])
    nothing = np.zeros((1, 3), bool)
    keys, query = np.ones((1, 3, 2)), np.ones((1, 1, 2))
    library = kt.DotProductAttention()(query, keys, values, attention_mask=nothing)
    yours = own_cells.attention(query, keys, values, nothing)
    found = [np.array(library)[0, 0], np.array(yours)[0, 0]]
    np.testing.assert_allclose(found, SOLUTIONS["5.2"], atol=1e-6)
    ids = np.array([[7, 8, 9, 0, 0]])
    both = kt.combine_masks(kt.padding_mask(ids), kt.causal_mask(5))
    assert np.array(both).sum() == SOLUTIONS["5.4"]


def test_the_answers_about_parameters_are_those_of_the_library():
    settings = kt.BlockSettings(h=8, d_model=512, d_ff=2048)
    encoder, decoder = kt.EncoderLayer(settings=settings), kt.DecoderLayer(settings=settings)
    encoder.build((None, None, 512))
    decoder.build((None, None, 512), (None, None, 512))
    assert [6 * encoder.count_params(), 6 * decoder.count_params()] == SOLUTIONS["6.3"]
    small = kt.BlockSettings(h=4, d_model=64, d_ff=64, n=1)
    images = kt.VisionTransformer(32, 4, num_classes=2, settings=small)
    images.build((None, 32, 32, 3))
    assert images.embedding.count_params() == SOLUTIONS["9.3"]


def test_the_answers_about_training_are_those_of_the_library():
    target = np.array([[1]])
    logits = np.log([[[0.1, 0.6, 0.1, 0.1, 0.1]]])
    loss = kt.MaskedCrossEntropy(label_smoothing=0.1)(target, logits)
    np.testing.assert_allclose(float(loss), SOLUTIONS["7.3"], rtol=1e-5)
    schedule = kt.WarmupSchedule(256, round(SOLUTIONS["7.4"]))
    np.testing.assert_allclose(ops.max(schedule(np.arange(5000))), 0.001, rtol=1e-3)
    w, g = np.random.default_rng(0).normal(size=(2, 3))
    variable = keras.Variable(w)
    optimizer = keras.optimizers.AdamW(0.1, weight_decay=0.2, epsilon=1e-9)
    m = v = np.zeros(3)
    for t in (1, 2, 3):
        optimizer.apply([keras.ops.convert_to_tensor(t * g, "float32")], [variable])
        w, m, v = SOLUTIONS["7.5"](w, t * g, m, v, t, 0.1, 0.9, 0.999, 1e-9, 0.2)
        np.testing.assert_allclose(variable, w, rtol=1e-4)


def test_the_answers_about_search_are_those_of_the_library():
    bleu = sacrebleu.sentence_bleu("das ist ein kleines Haus", ["das ist ein Haus"])
    found = [a / b for a, b in zip(bleu.counts, bleu.totals, strict=True)]
    np.testing.assert_allclose([*found, bleu.bp], SOLUTIONS["8.1"])
    words = ["un", "una", "##a", "##aff", "##ffa", "##able", "##ble", "##le", "##b", "[UNK]"]
    pieces = Tokenizer(WordPiece({word: i for i, word in enumerate(words)}))
    assert pieces.encode("unaffable").tokens == SOLUTIONS["10.2"]


def test_the_rotations_make_products_depend_on_distances():
    query, key = np.random.default_rng(0).normal(size=(2, 1, 8))
    products = [
        SOLUTIONS["4.6"](query, np.array([t])) @ SOLUTIONS["4.6"](key, np.array([t + 3.0])).T
        for t in (0.0, 1.0, 50.0)
    ]
    np.testing.assert_allclose(products, [products[0]] * 3, rtol=1e-5)
