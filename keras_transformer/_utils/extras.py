"""Optional packages."""

import contextlib


@contextlib.contextmanager
def extra(what, name):
    """Adds to an ImportError which extra has the missing package.

    Args:
        what: what needs the package, such as "Documents require sentencex".
        name: name of the extra.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"{what}: run pip install 'keras3-transformer[{name}]'. Received: {error}"
        ) from error


def import_ctranslate2():
    """Imports CTranslate2, or raises an ImportError that says how to install it."""
    with extra("CTranslate2 is not installed", "ctranslate2"):
        import ctranslate2
    return ctranslate2
