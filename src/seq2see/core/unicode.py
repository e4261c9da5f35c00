"""Unicode checks."""


def is_text(string: str) -> bool:
    """Tell whether a string can be written as UTF-8; one with lone surrogates, from undecodable bytes, cannot."""
    try:
        string.encode()
    except UnicodeEncodeError:
        return False
    return True
