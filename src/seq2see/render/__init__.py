"""Drawing: pages, figures and the terminal. Nothing here runs a model; it shows values that others computed.

`html/` makes self-contained pages from a payload, `figures/` matplotlib figures, and `terminal/` text in colours.
A renderer (`TraceRenderer`) offers all three for one kind of trace; the registry finds it by the trace's `kind`.
"""

__all__ = [
    "attention_renderer",
    "colours",
    "comparison_renderer",
    "comparison_table",
    "document_renderer",
    "evaluation_renderer",
    "figures",
    "html",
    "metric_names",
    "panel",
    "terminal",
    "text_direction",
    "token_label",
    "trace_renderer",
]
