"""What is a text, and what are other bytes that Python has read as one."""


def is_text(words: str) -> bool:
    """Whether it can be written as UTF-8."""
    try:
        words.encode()
    except UnicodeEncodeError:
        return False
    return True
