"""The HTTP server: its application, handlers, batch queue, request and response forms, and metrics.

The HTTP interface is public and described by `/docs`; the Python modules are internal.
"""

__all__ = [
    "api_docs",
    "application",
    "batch_queue",
    "handler",
    "input_checks",
    "middleware",
    "model_registry",
    "prometheus_metrics",
    "requests",
    "response_schemas",
    "responses",
    "routes",
    "server",
    "stream",
    "studio_page",
    "upload",
]
