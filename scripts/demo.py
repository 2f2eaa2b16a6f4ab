"""Opens a web page that translates what is typed and shows how."""

from _environment import run_command

if __name__ == "__main__":
    run_command("demo", prog="demo.py")
