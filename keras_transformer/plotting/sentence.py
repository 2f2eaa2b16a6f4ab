"""One sentence on its way through a trained model, with the real numbers."""

from typing import Any

import numpy as np
from keras import ops
from matplotlib.figure import Figure

from keras_transformer._utils.special_tokens import PADDING_ID, START_ID
from keras_transformer._utils.types import PathLike
from keras_transformer.layers.record_attention import record_attention
from keras_transformer.models.transformer import TransformerModel
from keras_transformer.plotting._figures import COLORS, make_figure, save_figure

_SHOWN, _WORDS = 4, 5  # dimensions of a vector, and candidates for the next word


def draw_sentence(
    translate: Any,
    sentence: str,
    position: int = 0,
    layer: int = -1,
    head: int = 0,
    path: PathLike | None = None,
) -> Figure:
    """Draws how a model finds one word of a translation, step by step, with its own numbers.

    From top to bottom: the tokens of the source and their ids; the first numbers of their
    embeddings; the attention weights of one head of the cross-attention for the word that is to be
    written; the values of this head and their mixture; and the most probable next words.

    Args:
        translate: a `Translate` of a `TransformerModel`.
        sentence: a short sentence.
        position: position of the word in the translation, from 0.
        layer: layer of the decoder, from 0.
        head: head of its cross-attention, from 0.
        path: path of the image file to write, if any: .png, .svg or .pdf.

    Returns:
        The figure.

    Raises:
        ValueError: if the translation has no such position, or the model no such layer or head.

    Example:
        translate = kt.Translate.from_run("data/bundled-run")
        kt.draw_sentence(translate, "We have a new car.", position=3, path="sentence.png")
    """
    numbers = _numbers(translate, sentence, position, layer, head)
    width = len(numbers["tokens"])
    figure = make_figure(5.2, 6.6)
    rows = {"embedding": _SHOWN, "weights": 1.7, "values": _SHOWN, "words": 3.2}
    grid = figure.subplot_mosaic([[name] for name in rows], height_ratios=list(rows.values()))
    written = " ".join(numbers["written"]) or "nothing yet"
    figure.suptitle(f"“{sentence}”\nWritten so far: “{written}”. What comes next?", fontsize=10)
    labels = [f"{x}\n{i}" for x, i in zip(numbers["tokens"], numbers["ids"], strict=True)]
    title = f"1. tokens, ids, and {_SHOWN} of {numbers['d_model']} numbers of each embedding"
    _draw_vectors(grid["embedding"], numbers["embedding"], title, labels)
    place = f"cross-attention of layer {numbers['layer'] + 1}, head {numbers['head'] + 1}"
    title = f"2. {place}: weights that sum to 1"
    _draw_weights(grid["weights"], numbers["weights"], title)
    vectors = np.concatenate([numbers["values"], numbers["mixture"][:, None]], axis=1)
    title = f"3. {_SHOWN} of {numbers['d_v']} numbers of the head's values; right: their mixture"
    _draw_vectors(grid["values"], vectors, title, ["×"] * width + ["= sum"])
    _draw_words(grid["words"], numbers["words"], "4. after all heads and layers: the next word")
    for name in ("embedding", "weights", "values"):
        grid[name].set_xlim(-0.5, width + 0.5)  # one column for the mixture
    save_figure(figure, path)
    return figure


def _numbers(translate, sentence, position, layer, head):
    """Computes everything that is drawn, as a dictionary."""
    model = translate.model
    if not isinstance(model, TransformerModel):
        raise ValueError(
            "Give a `Translate` of a `TransformerModel`, whose steps are drawn. "
            f"Received: one of {type(model).__name__}"
        )
    layers = model.decoder.layers
    _check_index(layer=layer, number=len(layers))
    hypothesis = translate.hypotheses(sentence)[0][0]
    if not 0 <= position < len(hypothesis.tokens):
        raise ValueError(
            f"The translation has the positions 0 to {len(hypothesis.tokens) - 1}. "
            f"Received: position={position}"
        )
    ids = [_ids(translate.source_tokenizer, hypothesis.source_tokens)]
    written = hypothesis.tokens[:position]
    # Keras warns of a softmax over the single position of a start token, but not with padding.
    following = _ids(translate.target_tokenizer, written) or [PADDING_ID]
    target = np.array([[START_ID, *following]], "int32")
    source = np.array(ids, "int32")
    encoded = model.encode(source)
    attention = layers[layer].cross_attention
    with record_attention() as recorded:
        logits = model.decode(target, encoded, source)
    weights = _array(model.group_attention(recorded)["cross"][layer])[0]  # (N, T, S)
    _check_index(head=head, number=len(weights))
    values = _array(attention.project(encoded, encoded)[1])[0]  # (M, S, d_v)
    head %= len(weights)
    weights, values = weights[head, position], values[head * len(values) // len(weights)]
    probabilities = _array(ops.softmax(logits[0, position]))
    best = probabilities.argsort()[::-1][:_WORDS]
    words = translate.target_tokenizer.tokens(best)
    embedding = _array(model.source_embedding(source))[0]
    return {
        "tokens": _plain(hypothesis.source_tokens),
        "ids": ids[0],
        "written": _plain(written),
        "embedding": embedding[:, :_SHOWN].T,
        "d_model": embedding.shape[1],
        "layer": layer % len(layers),
        "head": head,
        "weights": weights,
        "values": values[:, :_SHOWN].T,
        "d_v": values.shape[1],
        "mixture": (weights @ values)[:_SHOWN],
        "words": list(zip(_plain(words), probabilities[best].tolist(), strict=True)),
    }


def _check_index(number, **index):
    [(name, i)] = index.items()
    if not -number <= i < number:
        raise ValueError(f"There are {number} {name}s, from 0. Received: {name}={i}")


def _ids(tokenizer, tokens):
    index = {token: i for i, token in enumerate(tokenizer.tokens(range(tokenizer.vocab_size)))}
    return [index[token] for token in tokens]


def _plain(tokens):
    return [token.removeprefix("▁") for token in tokens]


def _array(x):
    return ops.convert_to_numpy(ops.cast(x, "float32"))


def _draw_vectors(axes, vectors, title, labels):
    """Draws vectors as columns of numbers on colors: (dimensions, tokens)."""
    limit = 1.3 * np.abs(vectors).max()
    axes.imshow(vectors, "RdBu", vmin=-limit, vmax=limit, aspect="auto")
    for (row, column), number in np.ndenumerate(vectors):
        ink = "white" if abs(number) > 0.7 * limit else "black"
        text = f"{number:.2f}".replace("-", "−")
        axes.text(column, row, text, ha="center", va="center", fontsize=8, color=ink)
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(labels)), labels, fontsize=8.5)
    _finish(axes, title)


def _draw_weights(axes, weights, title):
    axes.bar(range(len(weights)), weights, 0.6, color=COLORS[0])
    for i, weight in enumerate(weights):
        axes.text(i, weight + 0.05, f"{weight:.2f}", ha="center", fontsize=8)
    axes.set(ylim=(0, 1.3), xticks=())
    _finish(axes, title)


def _draw_words(axes, words, title):
    names, probabilities = zip(*words[::-1], strict=True)
    axes.barh(range(len(names)), probabilities, color=COLORS[2])
    for i, probability in enumerate(probabilities):
        axes.text(probability + 0.01, i, f"{probability:.1%}", va="center", fontsize=8)
    axes.set(xlim=(0, 1.15), xticks=())
    _finish(axes, title)
    axes.set_yticks(range(len(names)), names, fontsize=9)


def _finish(axes, title):
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_yticks(())
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
