"""The contracts every other package shares: memory, trace, state trees, interventions, registry, errors, tokens.

All of it is public to plug-ins. It imports no other package of seq2see.
"""

__all__ = [
    "axes",
    "box",
    "errors",
    "installation",
    "interventions",
    "json_text",
    "memory",
    "option_types",
    "part_docs",
    "part_sizes",
    "part_table",
    "plural",
    "registry",
    "sampled_choices",
    "special_tokens",
    "token",
    "trace",
    "tree",
    "trust",
    "unicode",
    "words",
]
