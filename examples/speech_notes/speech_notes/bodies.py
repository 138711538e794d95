"""Reading a transcript from a request: never more of it than is allowed, and nothing that is no text."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from fastapi import HTTPException, Request
from starlette.requests import ClientDisconnect

JSON_TYPE = "application/json"
TEXT_TYPE = "text/plain"
PATIENCE = 8 << 20
"""So many bytes too many are read and dropped: who is cut off while sending may miss the answer."""


async def transcript(request: Request, most: int) -> str:
    """The transcript in a request, as text/plain or as JSON with a `text`."""
    kind = request.headers.get("content-type", TEXT_TYPE).partition(";")[0].strip().lower()
    if kind not in (JSON_TYPE, TEXT_TYPE):
        raise _refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send {TEXT_TYPE} or {JSON_TYPE}, not {kind}")
    # JSON may write a character as six of "\\u0041", and has a frame around the text.
    text = _text(await _bounded(request, most if kind == TEXT_TYPE else 6 * most + 64), kind)
    if len(text.encode("utf-8", "surrogatepass")) > most:
        raise _too_large(most)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _refused(HTTPStatus.UNPROCESSABLE_ENTITY, "the text holds half a character") from None
    if "\0" in text:
        raise _refused(HTTPStatus.UNPROCESSABLE_ENTITY, "the text holds a null character")
    if not any(letter.isalnum() for letter in text):
        raise _refused(HTTPStatus.UNPROCESSABLE_ENTITY, "there are no words in it")
    return text


async def _bounded(request: Request, most: int) -> bytes:
    """The body; of one that is too large nothing is kept, and not all is read."""
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced) > most + PATIENCE:
        raise _too_large(most)
    body = bytearray()
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > most + PATIENCE:
                break
            if size <= most:
                body += chunk
    except ClientDisconnect:
        # Nobody hears this, and it is no fault of ours that would have to be told of in the log.
        raise _refused(HTTPStatus.BAD_REQUEST, "the client hung up in the middle of it") from None
    if size > most:
        raise _too_large(most)
    return bytes(body)


def _text(body: bytes, kind: str) -> str:
    try:
        if kind == TEXT_TYPE:
            return body.decode("utf-8-sig")
        sent: Any = json.loads(body)
    except UnicodeDecodeError:
        raise _refused(HTTPStatus.BAD_REQUEST, "the body is no UTF-8") from None
    except (ValueError, RecursionError):
        raise _refused(HTTPStatus.BAD_REQUEST, "the body is no JSON") from None
    if not isinstance(sent, dict) or not isinstance(sent.get("text"), str) or len(sent) != 1:
        raise _refused(HTTPStatus.UNPROCESSABLE_ENTITY, 'send {"text": "..."}')
    text: str = sent["text"]
    return text


def _too_large(most: int) -> HTTPException:
    return _refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a transcript may have {most} bytes here")


def _refused(status: HTTPStatus, why: str) -> HTTPException:
    # What is left of the body is not read, so nothing can follow on this connection.
    return HTTPException(status, why, {"connection": "close"})
