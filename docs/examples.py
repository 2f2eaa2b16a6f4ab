"""An extension of Griffe: the examples of docstrings are shown as code."""

import re

import griffe

# A section "Example:" and its indented lines, up to a line that is indented no deeper.
_EXAMPLE = re.compile(r"^( *)Example:.*\n((?:\1 +.*\n?|[ \t]*\n)+)", re.MULTILINE)


class Examples(griffe.Extension):
    """Fences the code of the section `Example:` in every docstring."""

    def on_instance(self, *, obj, **kwargs):
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(_fence, obj.docstring.value)


def _fence(match):
    indent, lines = match[1], match[2].rstrip()
    language = "pycon" if ">>>" in lines else "python"
    return f"{indent}Example:\n{indent}    ```{language}\n{lines}\n{indent}    ```\n\n"
