"""Unicode checks."""


def is_text(string: str) -> bool:
    """Tell whether a string can be written as UTF-8.

    Args:
        string: any string; one with lone surrogates, which come from undecodable bytes, cannot be written.
    """
    try:
        string.encode()
    except UnicodeEncodeError:
        return False
    return True
