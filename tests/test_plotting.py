"""What the curves promise: a whole picture, for any number of runs and epochs."""

import os

import pytest

from keras_transformer.plotting import plot_losses


def make_history(validation_losses):
    return [
        {
            "epoch": epoch,
            "loss": 5 / epoch,
            "accuracy": 1 - 1 / epoch,
            "validation_loss": loss,
            "validation_accuracy": 1 - loss / 9,
            "learning_rate": 1e-4 * epoch,
        }
        for epoch, loss in enumerate(validation_losses, start=1)
    ]


RUN = make_history([4.0, 2.5, 3.0])
HISTORIES = {
    "one run": {"run": RUN},
    "two runs": {"first": RUN, "second": make_history([5.0, 4.0])},
    "one epoch": {"run": RUN[:1]},
    "read from CSV": {"run": [{name: float(x) for name, x in row.items()} for row in RUN]},
}


def texts(histories, tmp_path):
    """What is written in a picture: Matplotlib's SVG has each text as a comment."""
    plot_losses(histories, tmp_path / "curves.svg")
    return (tmp_path / "curves.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("histories", HISTORIES.values(), ids=HISTORIES)
def test_draws_a_picture(tmp_path, histories):
    plot_losses(histories, tmp_path / "curves.png")
    picture = (tmp_path / "curves.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n") and picture.endswith(b"IEND\xaeB`\x82")
    assert len(picture) > 10_000
    assert os.listdir(tmp_path) == ["curves.png"]


def test_another_history_is_another_picture(tmp_path):
    pictures = []
    for losses in ([4.0, 2.5, 3.0], [4.0, 2.5, 3.0], [4.0, 2.0, 3.0]):
        plot_losses({"run": make_history(losses)}, tmp_path / "curves.png")
        pictures.append((tmp_path / "curves.png").read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]


def test_says_which_epoch_was_the_best(tmp_path):
    assert "best 2.50 in epoch 2" in texts(HISTORIES["one run"], tmp_path)


def test_tells_the_runs_apart(tmp_path):
    found = texts(HISTORIES["two runs"], tmp_path)
    for text in ("first: training", "first: validation", "second: training", "second: validation"):
        assert text in found
    for text in ("best 2.50 in epoch 2", "best 4.00 in epoch 2"):
        assert text in found


@pytest.mark.parametrize("histories", [{}, {"run": []}, {"first": RUN, "second": []}])
def test_refuses_to_draw_nothing(tmp_path, histories):
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_losses(histories, tmp_path / "curves.png")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("fails", ["os.replace", "os.fsync"])
def test_a_picture_that_cannot_be_written_keeps_the_last_one(tmp_path, monkeypatch, fails):
    def fail(*arguments):
        raise OSError("disk full")

    path = tmp_path / "curves.png"
    path.write_text("old")
    monkeypatch.setattr(fails, fail)
    with pytest.raises(OSError, match="unharmed"):
        plot_losses(HISTORIES["one run"], path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == [path.name]
