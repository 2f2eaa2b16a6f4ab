"""Translates a large corpus, files of sentences, on all cores, GPUs or machines with Ray."""

from _environment import run_command

if __name__ == "__main__":
    run_command("translate-corpus", prog="translate_corpus.py")
