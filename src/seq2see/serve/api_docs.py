"""The documentation of the API: an OpenAPI document for programs, and a page for people."""

import html
import json
from collections.abc import Collection
from copy import deepcopy
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from seq2see import __version__
from seq2see.render.html.page import read_style
from seq2see.serve.bounds import Bounds
from seq2see.serve.middleware import needs_token
from seq2see.serve.response_schemas import ErrorResponse

Schema = dict[str, Any]  # a JSON schema, or a part of an OpenAPI document, as pydantic and FastAPI write it

ERRORS = {
    400: "The form cannot be read, or the head of the request is not as it should be.",
    403: "Pages of other sites may not use this server.",
    404: "There is no such run.",
    408: "The body took too long to arrive.",
    409: "The request contradicts itself, or this run cannot do it; the sentence says why.",
    413: "The body, its JSON or its image is too large.",
    415: "The body is neither JSON nor a form, or it is compressed.",
    421: "The host of the request is not served.",
    422: "The body is not as it is described here; the sentence says where.",
    429: "The queue is full, or the client has too many requests; Retry-After says when to try again.",
    431: "The head of the request is too large.",
    500: "The server failed.",
    503: "The run cannot be used, or the server is about to stop.",
    504: "The response took too long.",
}
ALWAYS = (400, 403, 413, 415, 421, 431, 500)  # errors of every path
EVENTS = {  # schema of the events of a stream
    "type": "object",
    "properties": {
        "event": {"enum": ["start", "token", "draft", "done", "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}
BASE64 = "^(data:[^,]*base64,)?([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
SOURCES = ("text", "texts", "document", "image")
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>seq2see: the API</title><style>{style}</style></head>
<body><main><h1>seq2see {version}: the API</h1>
<p>A request is JSON, with exactly one source; everything else may be left out. An image may also come as a file of a
form, with the rest as JSON in a field <code>request</code>. An error is
<code>{{"error": "a sentence"}}</code>.</p>
<pre class="scroller">curl {address}v1/predict -H "content-type: application/json" -d '{{"text": "abc", "beam": 4}}'
curl {address}v1/predict -F image=@photo.jpg -F 'request={{"beam": 4}}'</pre>
<p>All of it for programs: <a href="openapi.json">openapi.json</a>. To try it by hand: <a href=".">the page</a>.</p>
{parts}</main></body></html>
"""


def describe_errors(*statuses: int) -> dict[int | str, Schema]:
    """Return the error responses of a path in the form of OpenAPI.

    Args:
        *statuses: the HTTP statuses of its errors, besides those that every path has.
    """
    return {status: _describe_error(ERRORS[status]) for status in sorted({*ALWAYS, *statuses})}


def _describe_error(when: str) -> Schema:
    sentence = {"schema": {"$ref": f"#/components/schemas/{ErrorResponse.__name__}"}}
    return {"description": when, "content": {"application/json": sentence}}


def describe_body(shape: type[object], bounds: Bounds, *, texts: int, form: bool = True) -> Schema:
    """Return the description of a request body in the form of OpenAPI, because the routes read bodies themselves.

    Args:
        shape: the class of the body, such as `PredictRequest`.
        bounds: how much a request may ask for; they become limits in the schema.
        texts: the most texts in the field `texts`.
        form: whether the body may also be a form with an image.
    """
    schema = TypeAdapter(shape).json_schema()
    for each in (schema, *schema.get("$defs", {}).values()):
        if set(SOURCES) <= set(each["properties"]):
            _bound(each, bounds, texts)
    flat = _flatten(schema)
    content: Schema = {"application/json": {"schema": flat}}
    if form:
        rest = {name: field for name, field in flat["properties"].items() if name not in SOURCES}
        request = {"type": "object", "properties": rest, "additionalProperties": False}
        parts = {"image": {"type": "string", "format": "binary"}, "request": request}
        whole = {"type": "object", "properties": parts, "required": ["image"], "additionalProperties": False}
        encoding = {"request": {"contentType": "application/json"}}
        content["multipart/form-data"] = {"schema": whole, "encoding": encoding}
    return {"requestBody": {"required": True, "content": content}}


def _bound(schema: Schema, bounds: Bounds, texts: int) -> None:
    """Add the bounds of this server to a schema, and the rule that there is exactly one source."""
    properties = schema["properties"]
    text = {"type": "string", "maxLength": bounds.text}
    image = {"type": "string", "contentEncoding": "base64", "pattern": BASE64}
    several = {"type": "array", "items": text, "minItems": 1, "maxItems": texts}
    bounded: dict[str, list[Schema]] = {
        "text": [text],
        "texts": [several],
        "document": [text, {"type": "array", "items": text, "maxItems": bounds.sentences}],
        "image": [image],
        "prefix": [text, {"type": "array", "items": text, "maxItems": texts}],
        "target": [text],
    }
    for name in bounded.keys() & properties.keys():
        properties[name]["anyOf"] = [*bounded[name], {"type": "null"}]
    properties["prefix_ids"]["anyOf"][0]["maxItems"] = bounds.length
    for name, most in bounds.options.items():
        properties[name]["anyOf"][0]["maximum"] = most
    given = {name: {"not": {"type": "null"}} for name in SOURCES}
    schema["oneOf"] = [{"required": [name], "properties": {name: rule}} for name, rule in given.items()]


def _flatten(schema: Schema) -> Schema:
    """Return a schema in which each reference is replaced by its definition."""
    definitions = schema.get("$defs", {})

    def resolve(node: object) -> object:
        if isinstance(node, dict):
            if "$ref" in node:
                return resolve(definitions[node["$ref"].rpartition("/")[2]])
            return {key: resolve(value) for key, value in node.items() if key != "$defs"}
        return [resolve(each) for each in node] if isinstance(node, list) else node

    return {key: resolve(value) for key, value in deepcopy(schema).items() if key != "$defs"}


def describe_api(app: FastAPI, *, token: bool) -> Schema:
    """Return the OpenAPI document of an application.

    Args:
        app: the application with all its routes.
        token: whether clients need a token; the document then says which paths require it.
    """
    document = get_openapi(title="seq2see", version=__version__, routes=app.routes)
    document["components"]["schemas"][ErrorResponse.__name__] = ErrorResponse.model_json_schema()
    if token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path in filter(needs_token, document["paths"]):
            for operation in document["paths"][path].values():
                operation["security"] = [{"token": []}]
                operation["responses"]["401"] = _describe_error("The token is missing or wrong.")
    return document


def render_docs(document: Schema, address: str) -> str:
    """Return the documentation as an HTML page that loads nothing from the network.

    Args:
        document: the OpenAPI document.
        address: the address of the server with a slash at its end, for the examples.
    """
    parts = [
        _render_operation(path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return PAGE.format(style=read_style(), version=__version__, address=html.escape(address), parts="\n".join(parts))


def _render_operation(path: str, method: str, operation: Schema) -> str:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    fields = sorted(body.get("properties", {}).items(), key=lambda field: field[0] not in SOURCES)  # sources first
    rows = [(name, _name_type(field), field.get("description", "")) for name, field in fields]
    responses = [(status, response["description"]) for status, response in sorted(operation["responses"].items())]
    return (
        f"<h2>{method.upper()} {html.escape(path)}</h2><p>{html.escape(operation['description'])}</p>"
        f"{_render_table(('field', 'type', 'meaning'), rows)}{_render_table(('status', 'when'), responses)}"
    )


def _render_table(heads: Collection[str], rows: Collection[Collection[str]]) -> str:
    if not rows:
        return ""
    cells = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    top = "".join(f"<th>{head}</th>" for head in heads)
    return (
        f'<div class="scroller"><table class="sheet"><thead><tr>{top}</tr></thead><tbody>{cells}</tbody></table></div>'
    )


def _name_type(field: Schema) -> str:
    """Return the type of a schema in a few words, with its range and its default value."""
    if "anyOf" in field:
        said = " or ".join(_name_type(each) for each in field["anyOf"] if each.get("type") != "null")
    elif "enum" in field:
        said = ", ".join(field["enum"])
    elif field.get("type") == "array":
        limit = f" (up to {field['maxItems']})" if "maxItems" in field else ""
        said = f"a list{limit} of: {_name_type(field.get('items', {}))}"
    elif "properties" in field:
        said = "an object of " + ", ".join(field["properties"])
    else:
        said = " ".join([field.get("type", "anything"), *_name_range(field)])
    preset = field.get("default")
    return said if preset in (None, [], "") else f"{said}; {json.dumps(preset)} if left out"


def _name_range(field: Schema) -> list[str]:
    words = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
    said = [f"{word} {field[name]:,.10g}" for name, word in words.items() if name in field]
    said += [f"in {field['contentEncoding']}"] if "contentEncoding" in field else []
    return [*said, f"of up to {field['maxLength']:,} characters"] if "maxLength" in field else said
