"""The HTTP server: application, request handler, batch queue, forms of requests and responses, and metrics.

The HTTP interface is public and described by `/docs`; the Python modules are internal.
"""

__all__ = [
    "api_docs",
    "application",
    "batch_queue",
    "body_checks",
    "bounds",
    "client_protocol",
    "decode_job",
    "decoding_cost",
    "event_stream",
    "fair_queue",
    "handler",
    "head_checks",
    "host_names",
    "input_checks",
    "middleware",
    "model_registry",
    "prepared_request",
    "prometheus_metrics",
    "request_error",
    "request_log",
    "requests",
    "response_schemas",
    "responses",
    "routes",
    "run_description",
    "server",
    "shared_call",
    "stream",
    "studio_page",
    "systemd",
    "upload",
]
