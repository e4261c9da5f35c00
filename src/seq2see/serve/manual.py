"""The manual: what may be asked and what is answered, for programs (OpenAPI) and for people (a page)."""

import html
import json
from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from seq2see import __version__
from seq2see.inspect.page import read_style
from seq2see.serve.guard import wants_token
from seq2see.serve.reply import Refused
from seq2see.serve.schema import Bounds, Shape

REFUSALS = {
    400: "The form cannot be read.",
    403: "Pages of other sites may not ask.",
    404: "There is no such run.",
    408: "The body took too long to arrive.",
    409: "What is asked for contradicts itself, or this run cannot do it; the sentence says why.",
    413: "The body, or its picture, is too large.",
    415: "The body is neither JSON nor a form.",
    421: "The host of the request is not served.",
    422: "The body is not as it is described here; the sentence says where.",
    429: "Too many wait; Retry-After says when to come back.",
    500: "The server made a mistake.",
    503: "The run cannot be used, or the server is about to stop.",
    504: "The answer took too long.",
}
ALWAYS = (403, 413, 421, 500)  # whatever is asked
EVENTS = {  # of a stream; data is JSON
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
<p>A question is JSON, with exactly one source; everything else may be left out. A picture may also come as a file of a
form, with the rest as JSON in a field <code>question</code>. What goes wrong is
<code>{{"error": "a sentence"}}</code>.</p>
<pre class="scroller">curl {address}v1/predict -H "content-type: application/json" -d '{{"text": "abc", "beam": 4}}'
curl {address}v1/predict -F image=@photo.jpg -F 'question={{"beam": 4}}'</pre>
<p>All of it for programs: <a href="openapi.json">openapi.json</a>. To try it by hand: <a href=".">the page</a>.</p>
{parts}</main></body></html>
"""


def refuse(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of the refusals of a path."""
    return {status: _refuse(REFUSALS[status]) for status in sorted({*ALWAYS, *statuses})}


def _refuse(when: str) -> dict[str, Any]:
    sentence = {"schema": {"$ref": f"#/components/schemas/{Refused.__name__}"}}
    return {"description": when, "content": {"application/json": sentence}}


def describe_body(shape: type[Shape], bounds: Bounds, *, texts: int, form: bool = True) -> dict[str, Any]:
    """What OpenAPI says of a body that we read ourselves: JSON, or a form with a picture."""
    schema = shape.model_json_schema()
    for each in (schema, *schema.get("$defs", {}).values()):
        if set(SOURCES) <= set(each["properties"]):
            _bound(each, bounds, texts)
    flat = _flatten(schema)
    content: dict[str, Any] = {"application/json": {"schema": flat}}
    if form:
        rest = {name: field for name, field in flat["properties"].items() if name not in SOURCES}
        question = {"type": "object", "properties": rest, "additionalProperties": False}
        parts = {"image": {"type": "string", "format": "binary"}, "question": question}
        whole = {"type": "object", "properties": parts, "required": ["image"], "additionalProperties": False}
        encoding = {"question": {"contentType": "application/json"}}
        content["multipart/form-data"] = {"schema": whole, "encoding": encoding}
    return {"requestBody": {"required": True, "content": content}}


def _bound(schema: dict[str, Any], bounds: Bounds, texts: int) -> None:
    """Say what this server permits: how much, and that there is one source."""
    properties = schema["properties"]
    text = {"type": "string", "maxLength": bounds.text}
    properties["text"] = {"anyOf": [text, {"type": "null"}]}
    properties["document"] = {"anyOf": [text, {"type": "array", "items": text}, {"type": "null"}]}
    picture = {"type": "string", "contentEncoding": "base64", "pattern": BASE64}
    properties["image"] = {"anyOf": [picture, {"type": "null"}]}
    several = {"type": "array", "items": text, "minItems": 1, "maxItems": texts}
    properties["prefix"] = {"anyOf": [text, {"type": "array", "items": text}, {"type": "null"}]}
    properties["prefix_ids"]["anyOf"][0]["maxItems"] = bounds.length
    if "target" in properties:
        properties["target"] = properties["text"]
    properties["texts"] = {"anyOf": [several, {"type": "null"}]}
    for name, most in (("beam", bounds.beam), ("max_length", bounds.length), ("min_length", bounds.length - 1)):
        properties[name]["anyOf"][0]["maximum"] = most
    properties["n_best"]["maximum"] = bounds.beam
    given = {name: {"not": {"type": "null"}} for name in SOURCES}
    schema["oneOf"] = [{"required": [name], "properties": {name: rule}} for name, rule in given.items()]


def _flatten(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema whose definitions stand where they are named."""
    definitions = schema.get("$defs", {})

    def resolve(node: Any) -> Any:
        if isinstance(node, dict):
            if "$ref" in node:
                return resolve(definitions[node["$ref"].rpartition("/")[2]])
            return {key: resolve(value) for key, value in node.items() if key != "$defs"}
        return [resolve(each) for each in node] if isinstance(node, list) else node

    flat: dict[str, Any] = resolve(deepcopy(dict(schema)))
    return flat


def describe_api(app: FastAPI, *, token: bool) -> dict[str, Any]:
    """The OpenAPI document; with a token, which paths want it."""
    document = get_openapi(title="seq2see", version=__version__, routes=app.routes)
    document["components"]["schemas"][Refused.__name__] = Refused.model_json_schema()
    if token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path in filter(wants_token, document["paths"]):
            for operation in document["paths"][path].values():
                operation["security"] = [{"token": []}]
                operation["responses"]["401"] = _refuse("The token is missing or wrong.")
    return document


def render_manual(document: Mapping[str, Any], address: str) -> str:
    """The same as a page that needs nothing from elsewhere."""
    parts = [
        _render_operation(path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return PAGE.format(style=read_style(), version=__version__, address=html.escape(address), parts="\n".join(parts))


def _render_operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    fields = sorted(body.get("properties", {}).items(), key=lambda field: field[0] not in SOURCES)  # what is read first
    rows = [(name, _name_type(field)) for name, field in fields]
    answers = [(status, answer["description"]) for status, answer in sorted(operation["responses"].items())]
    return (
        f"<h2>{method.upper()} {html.escape(path)}</h2><p>{html.escape(operation['description'])}</p>"
        f"{_render_table(('field', 'what it may be'), rows)}{_render_table(('status', 'when'), answers)}"
    )


def _render_table(heads: Collection[str], rows: Collection[Collection[str]]) -> str:
    if not rows:
        return ""
    cells = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    top = "".join(f"<th>{head}</th>" for head in heads)
    return (
        f'<div class="scroller"><table class="sheet"><thead><tr>{top}</tr></thead><tbody>{cells}</tbody></table></div>'
    )


def _name_type(field: Mapping[str, Any]) -> str:
    """A schema in a few words."""
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


def _name_range(field: Mapping[str, Any]) -> list[str]:
    words = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
    said = [f"{word} {field[name]:,.10g}" for name, word in words.items() if name in field]
    said += [f"in {field['contentEncoding']}"] if "contentEncoding" in field else []
    return [*said, f"of up to {field['maxLength']:,} characters"] if "maxLength" in field else said
