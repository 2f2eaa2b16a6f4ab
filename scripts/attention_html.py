"""Writes an HTML page that shows the attention weights of a translator or a BERT."""

from _environment import run_command

if __name__ == "__main__":
    run_command("attention-page", prog="attention_html.py")
