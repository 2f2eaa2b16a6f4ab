"""Trains a vision transformer on scikit-learn's 8x8 digits, then fine-tunes it at 16x16."""

import time

import keras_transformer as kt
from keras_transformer.cli.arguments import add_epochs, add_output_run, add_seed
from keras_transformer.cli.startup import import_backend

SIZES = {"h": 4, "d_model": 48, "d_ff": 96, "n": 3, "rate": 0.0}


def add_arguments(parser):
    """Adds the output folder, the number of epochs and the seed."""
    add_output_run(parser, "runs/digits")
    add_epochs(parser, 300)
    add_seed(parser)
    parser.epilog = "Fine-tuning runs for a tenth of the epochs."


def run(arguments):
    """Trains and fine-tunes, saves both models, and plots filters and position embeddings."""
    import_backend(tuned=True)

    import keras

    keras.utils.set_random_seed(arguments.seed)
    images, labels = _read_digits()
    model = kt.VisionTransformer(8, 2, 10, kt.BlockSettings(**SIZES), d_head=48)
    _fit(model, images, labels, arguments.epochs, 3e-3, arguments.seed)
    arguments.run.mkdir(parents=True, exist_ok=True)
    model.save(arguments.run / "vit.keras")
    kt.plot_patch_filters(model, arguments.run / "filters.png")
    kt.plot_position_similarity(model, arguments.run / "positions.png")
    tuned = model.for_fine_tuning(10, image_size=16)
    images = keras.ops.convert_to_numpy(keras.ops.image.resize(images, (16, 16)))
    _fit(tuned, images, labels, max(1, arguments.epochs // 10), 1e-3, arguments.seed)
    tuned.save(arguments.run / "vit_16x16.keras")


def _read_digits():
    """Returns the images, float32 (B, 8, 8, 1) in [0, 1], and their labels, (B,)."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise ImportError(
            f"The digits require scikit-learn: pip install scikit-learn. Received: {error}"
        ) from None

    images, labels = load_digits(return_X_y=True)
    return (images / 16).astype("float32").reshape(-1, 8, 8, 1), labels


def _fit(model, images, labels, epochs, rate, seed):
    """Trains on the first half of the images and tests on the second half."""
    half, side, start = len(images) // 2, images.shape[1], time.process_time()
    changes = {"rotation": 15.0, "scale": 0.15, "shear": 0.2, "shift": side / 11}
    batches = kt.AugmentedImages(images[:half], labels[:half], 32, seed, **changes)
    _compile(model, kt.warmup_cosine(rate, epochs * len(batches)))
    model.fit(kt.as_dataset(batches), epochs=epochs, shuffle=False, verbose=0)
    predicted = model.predict(images[half:], verbose=0).argmax(axis=-1)
    accuracy, seconds = (predicted == labels[half:]).mean(), time.process_time() - start
    print(f"{side}x{side}: accuracy {accuracy:.2%}, {seconds:.0f} s of CPU time", flush=True)


def _compile(model, schedule):
    import keras

    optimizer = keras.optimizers.AdamW(schedule, weight_decay=0.05)
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
