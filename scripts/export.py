"""Exports a trained run as a TensorFlow SavedModel or a CTranslate2 model."""

from _environment import run_command

if __name__ == "__main__":
    run_command("export", prog="export.py")
