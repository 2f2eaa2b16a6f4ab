"""Bucketed batches: every example once per epoch, few shapes and little padding."""

import keras
import numpy as np
import pytest

from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID
from keras_transformer.data.batches import LengthBuckets, bucket_length, pad_ids

VOCAB_SIZE = 200
BUCKET_LENGTHS = [4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192]


def make_examples(count=150):
    """Creates examples of many lengths, each with a unique word."""
    random = np.random.default_rng(0)
    lengths = random.integers(1, 20, (count, 2)).tolist()
    return [
        ([10 + i] * source + [END_ID], [START_ID] + [10 + i] * target + [END_ID])
        for i, (source, target) in enumerate(lengths)
    ]


EXAMPLES = make_examples()


def make(examples=EXAMPLES, batch_size=8, seed=None, **options):
    return LengthBuckets(examples, batch_size, VOCAB_SIZE, VOCAB_SIZE, seed=seed, **options)


def epoch(batches):
    return [batches[i] for i in range(len(batches))]


def examples_in(batches):
    """Reassembles the examples of an epoch, without rows of padding."""
    found = []
    for (sources, inputs), outputs in epoch(batches):
        for source, decoder_input, output in zip(sources, inputs, outputs, strict=True):
            target = [*decoder_input[:1].tolist(), *output.tolist()]
            found.append(([i for i in source.tolist() if i], [i for i in target if i]))
    return [example for example in found if any(example)]


def as_lists(batches):
    return [(x.tolist(), y.tolist(), z.tolist()) for (x, y), z in epoch(batches)]


# Lengths


def test_bucket_length_rounds_up_to_the_next_bucket():
    for length in range(1, 193):
        assert bucket_length(length) == min(bucket for bucket in BUCKET_LENGTHS if bucket >= length)


def test_more_steps_give_finer_buckets():
    lengths = [bucket_length(length, steps=4) for length in range(1, 65)]
    assert sorted(set(lengths)) == [4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64]
    assert all(length <= bucket for length, bucket in enumerate(lengths, start=1))
    assert lengths == sorted(lengths)


def test_pad_ids_pads_at_the_end():
    padded = pad_ids([[5, 6], [7], []], 3)
    assert padded.dtype == "int32" and padded.tolist() == [[5, 6, 0], [7, 0, 0], [0, 0, 0]]


def test_batch_length_is_set_by_the_longer_side():
    batches = make([([4] * 5, [2, 3]), ([4], [2, 4, 4, 4, 4, 4, 4, 3]), ([4], [2] * 5)], 1)
    # The decoder input is one id shorter than the target: 1, 7 and 4 ids.
    lengths = {x.shape[1]: (x != 0).sum() for (x, _), _ in epoch(batches)}
    assert lengths == {4: 1, 6: 5, 8: 1}


@pytest.mark.parametrize("seed", [None, 3])
def test_each_bucket_has_one_shape(seed):
    batches = make(seed=seed)
    shapes = set()
    for (source, inputs), outputs in epoch(batches):
        assert source.dtype == inputs.dtype == outputs.dtype == "int32"
        assert source.shape == inputs.shape == outputs.shape
        longest = max(
            np.count_nonzero(source, axis=1).max(), np.count_nonzero(outputs, axis=1).max()
        )
        assert source.shape[1] == bucket_length(int(longest), steps=4)
        shapes.add(source.shape)
    assert shapes == {(8, length) for length in batches.shapes}
    assert batches.shapes == [4, 6, 8, 10, 12, 14, 16, 20]


def test_padding_share_matches_a_hand_computed_value():
    batches = make([([4, 3], [2, 5, 3]), ([4, 5, 6, 3], [2, 4, 3])], 2)
    # Sources: 2 rows of length 4 hold 2 + 4 tokens. Targets: 2 rows of length 4 + 1 hold 3 + 3.
    assert batches.padding_share == pytest.approx(1 - 12 / 18)


def test_padding_share_includes_batches_of_padding():
    batches = make([([4, 3], [2, 5, 3])] * 3, 2, multiple=3)
    # Two batches and one of padding have 2 rows of lengths 4 and 4 + 1; 3 rows hold 2 + 3 tokens.
    assert batches.padding_share == pytest.approx(1 - 15 / 54)


def test_bucketing_leaves_little_padding():
    examples = [([4] * n, [2] + [4] * n) for n in range(4, 129)]
    assert make(examples, 1).padding_share < 1 / 8
    padded_to_128 = sum(128 - n for n in range(4, 129)) / (125 * 128)
    assert padded_to_128 > 3 * make(examples, 1).padding_share


# Contents


@pytest.mark.parametrize("batch_size", [1, 8, 1000])
@pytest.mark.parametrize("seed", [None, 0, 3])
def test_every_example_occurs_once_in_every_epoch(batch_size, seed):
    batches = make(batch_size=batch_size, seed=seed)
    for number in range(3):
        batches.set_epoch(number)
        assert sorted(examples_in(batches)) == sorted(EXAMPLES)


def test_decoder_inputs_are_the_shifted_targets():
    for (_, inputs), outputs in epoch(make()):
        rows = inputs.any(axis=1)
        assert (inputs[rows, 0] == START_ID).all()
        ends = np.count_nonzero(outputs[rows], axis=1) - 1
        assert (outputs[rows, ends] == END_ID).all()
        assert (inputs[:, 1:] == outputs[:, :-1]).all()


def test_the_last_batch_of_a_bucket_is_filled_with_padding():
    batches = make([([4, 3], [2, 5, 3])] * 5, 3)
    assert len(batches) == 2
    (source, inputs), outputs = batches[1]
    assert source[:2].any(axis=1).all()
    for ids in (source, inputs, outputs):
        assert ids.shape == (3, 4) and (ids[2] == PADDING_ID).all()


def test_batch_tokens_gives_short_sequences_more_rows():
    batches = LengthBuckets(EXAMPLES, None, VOCAB_SIZE, VOCAB_SIZE, seed=0, batch_tokens=48)
    for (source, inputs), outputs in epoch(batches):
        rows, length = source.shape
        assert rows == 48 // length and inputs.shape == outputs.shape == (rows, length)
    assert sorted(examples_in(batches)) == sorted(EXAMPLES)
    assert len({x.shape[0] for (x, _), _ in epoch(batches)}) > 3


def test_a_sentence_longer_than_batch_tokens_is_a_batch_by_itself():
    batches = LengthBuckets([([4] * 9, [2, 3])], None, VOCAB_SIZE, VOCAB_SIZE, batch_tokens=5)
    assert batches[0][0][0].shape == (1, 10)


def test_examples_can_be_recreated_for_each_epoch():
    made = iter([[([n], [2, 3])] for n in (5, 6, 7)])
    batches = LengthBuckets(lambda: next(made), 1, VOCAB_SIZE, VOCAB_SIZE)
    for number, word in ((0, 5), (1, 6), (2, 7)):
        if number:
            batches.set_epoch(number)
        assert batches[0][0][0][0, 0] == word


# Order


def test_epochs_differ_and_are_reproducible_from_the_seed():
    first, second = make(seed=5), make(seed=5)
    zeroth = as_lists(first)
    assert zeroth == as_lists(second)
    first.on_epoch_end()
    second.set_epoch(1)
    assert first.epoch == second.epoch == 1
    assert as_lists(first) == as_lists(second) != zeroth
    first.set_epoch(0)
    assert as_lists(first) == zeroth != as_lists(make(seed=6))


def test_without_seed_every_epoch_is_the_same():
    batches = make()
    before = as_lists(batches)
    batches.on_epoch_end()
    assert as_lists(batches) == before


def test_a_seed_shuffles_rows_and_batches():
    plain, shuffled = make(), make(seed=1)

    def lengths(batches):
        return [x.shape[1] for (x, _), _ in epoch(batches)]

    def row_groups(batches):
        return {frozenset(source[0] for source in x.tolist()) for (x, _), _ in epoch(batches)}

    assert sorted(lengths(plain)) == sorted(lengths(shuffled))
    assert lengths(plain) != lengths(shuffled)
    assert row_groups(plain) != row_groups(shuffled)


def test_the_first_two_batches_have_different_lengths():
    examples = [([4], [2, 3])] * 60 + [([4] * 9, [2, 3])]
    for seed in (None, 0, 1, 2):
        batches = make(examples, 2, seed)
        for number in range(5):
            batches.set_epoch(number)
            lengths = [x.shape[1] for (x, _), _ in epoch(batches)]
            assert lengths[0] != lengths[1] and sorted(lengths) == [4] * 30 + [10]


def test_a_single_bucket_is_enough():
    batches = make([([4], [2, 3])], 2, seed=0)
    assert len(batches) == 1 and batches.shapes == [4]


def test_is_a_keras_py_dataset():
    batches = make(seed=1, batch_size=10)
    assert isinstance(batches, keras.utils.PyDataset)
    sizes = [sum(len(x.any(axis=1)) for (x, _), _ in epoch(batches))]
    assert sizes == [10 * len(batches)]
    with pytest.raises(IndexError):
        batches[len(batches)]


# Errors


def test_batches_are_a_positive_multiple():
    with pytest.raises(ValueError, match="`multiple` must be a positive int"):
        LengthBuckets(EXAMPLES, 4, VOCAB_SIZE, VOCAB_SIZE, multiple=0)


@pytest.mark.parametrize("sizes", [(4, 100), (None, None), (0, None), (None, 0)])
def test_exactly_one_positive_batch_size_is_required(sizes):
    rows, tokens = sizes
    with pytest.raises(ValueError, match=r"Received: .*batch_(size|tokens)="):
        LengthBuckets(EXAMPLES, rows, VOCAB_SIZE, VOCAB_SIZE, batch_tokens=tokens)


def test_refuses_an_empty_list():
    with pytest.raises(ValueError, match=r"Received: none$"):
        make([])


@pytest.mark.parametrize("wrong", [-1, VOCAB_SIZE])
@pytest.mark.parametrize("side", ["source", "target"])
def test_refuses_ids_outside_the_vocabulary(side, wrong):
    right = [4, 5, VOCAB_SIZE - 1]
    example = ([wrong, 3], [2, 3]) if side == "source" else ([4, 3], [2, wrong, 3])
    make([(right, right)])
    with pytest.raises(ValueError, match=rf"The {side} ids .*Received: ids from .*{wrong}"):
        make([(right, right), example])
