"""Configurations of papers as YAML files; `seq2see presets` lists them.

There is no code here. The header of each file says what it needs, how long it takes and what score to expect.
"""

__all__: list[str] = []
