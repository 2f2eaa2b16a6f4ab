"""Trains a vision transformer on scikit-learn's 8x8 digits, then fine-tunes it at 16x16."""

import argparse
import time
from pathlib import Path

import numpy as np

import keras_transformer as kt
from keras_transformer.training.process import tune_process

SIZES = {"h": 4, "d_k": 12, "d_v": 12, "d_model": 48, "d_ff_inner": 96, "n": 3, "rate": 0.0}


def make_parser():
    parser = argparse.ArgumentParser(prog="train_vit.py", description=__doc__)
    parser.add_argument("--run", type=Path, default=Path("runs/digits"), help="folder to write")
    parser.add_argument("--epochs", type=int, default=300, help="a tenth as many to fine-tune")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def fit(model, images, labels, epochs, rate, seed):
    """Trains with the first half and tests with the last, as scikit-learn's own example."""
    import keras

    half, side, started = len(images) // 2, images.shape[1], time.process_time()
    changes = {"turn": 15.0, "stretch": 0.15, "slant": 0.2, "move": side / 11}
    batches = kt.AugmentedImages(images[:half], labels[:half], 32, seed, **changes)
    adam = keras.optimizers.AdamW(kt.warmup_cosine(rate, epochs * len(batches)), weight_decay=0.05)
    model.compile(adam, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(kt.as_dataset(batches), epochs=epochs, shuffle=False, verbose=0)
    found = model.predict(images[half:], verbose=0).argmax(axis=-1)
    right, seconds = np.mean(found == labels[half:]), time.process_time() - started
    print(f"{side}x{side}: {right:.2%} right, {seconds:.0f} s of processor time", flush=True)


def main():
    arguments = make_parser().parse_args()
    run, epochs, seed = arguments.run, arguments.epochs, arguments.seed
    tune_process()  # before Keras is imported

    import keras
    from sklearn.datasets import load_digits  # of scikit-learn: pip install scikit-learn

    keras.utils.set_random_seed(seed)
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype("float32").reshape(-1, 8, 8, 1)
    model = kt.VisionTransformer(8, 2, 10, **SIZES, d_head=48)
    fit(model, images, labels, epochs, 3e-3, seed)
    run.mkdir(parents=True, exist_ok=True)
    model.save(run / "vit.keras")
    kt.plot_patch_filters(model, run / "filters.png")
    kt.plot_position_similarity(model, run / "positions.png")
    tuned = model.for_fine_tuning(10, image_size=16)
    images = np.array(keras.ops.image.resize(images, (16, 16)))
    fit(tuned, images, labels, max(1, epochs // 10), 1e-3, seed)
    tuned.save(run / "vit_16x16.keras")


if __name__ == "__main__":
    main()
