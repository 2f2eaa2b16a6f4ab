"""Exports a trained run for TensorFlow Serving or for CTranslate2."""

from keras_transformer.cli import run_command

if __name__ == "__main__":
    run_command("export", prog="export.py")
