"""Optional packages."""


def import_ctranslate2():
    """Imports CTranslate2, or raises an ImportError that says how to install it."""
    try:
        import ctranslate2
    except ImportError as error:
        raise ImportError(
            "CTranslate2 is not installed: run pip install 'keras3-transformer[ctranslate2]'. "
            f"Received: {error}"
        ) from error
    return ctranslate2
