"""Answers of a hostile embeddings endpoint, made from the seed and the case's number, as pieces of raw HTTP."""

# ruff: noqa: E501 - lists of hostile values are kept short in lines, which are long
from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from tests.servers.loopback import vector_of
from tests.torture.leaks import spelled

DIMENSIONS = 8
RESET: Literal["reset"] = "reset"  # shut the connection so that the client gets an RST

# Bytes are sent, a number is waited in seconds.
Piece = bytes | float | Literal["reset"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One embeddings request: its texts and the key it came with."""

    texts: list[str]
    key: str


Answer = Callable[[random.Random, Asked], Iterator[Piece]]
_ANSWERS: dict[str, Answer] = {}
BULKY = frozenset({"gzip bomb", "endless", "huge error page"})  # given more time, so that what is unbounded shows


def kinds() -> list[str]:
    """The names of all kinds of answers, in a stable order."""
    return list(_ANSWERS)


def answer(kind: str, dice: random.Random, asked: Asked) -> Iterator[Piece]:
    """The pieces of an answer of that kind."""
    return _ANSWERS[kind](dice, asked)


def healthy(asked: Asked) -> bytes:
    """Return the answer of a good endpoint."""
    return http(200, json.dumps(well_formed(asked)).encode())


def well_formed(asked: Asked, dimensions: int = DIMENSIONS) -> dict[str, Any]:
    """The JSON of a good answer."""
    data = [
        {"object": "embedding", "index": at, "embedding": vector_of(text, dimensions)}
        for at, text in enumerate(asked.texts)
    ]
    return {"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def http(
    status: int | str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    *,
    reason: str = "Said",
    length: bool = True,
) -> bytes:
    """A whole HTTP answer; headers are sent as they are."""
    sized = {"Content-Length": str(len(body))} if length else {}
    lines = {"Content-Type": "application/json", **sized, "Connection": "close", **(headers or {})}
    return head(f"HTTP/1.1 {status} {reason}", lines) + body


def head(first: str, headers: Mapping[str, str]) -> bytes:
    """The first line and the headers."""
    lines = [first, *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


def kind(name: str) -> Callable[[Answer], Answer]:
    """Register a kind of answer."""

    def register(made: Answer) -> Answer:
        _ANSWERS[name] = made
        return made

    return register


def _complaint(dice: random.Random, asked: Asked) -> str:
    """An error message, often with the key in it."""
    words = dice.choice([
        "Incorrect API key provided", "rate limit reached", "model overloaded", "This model's maximum context length is exceeded",
        "insufficient_quota", "batch size 9 > maximum allowed batch size 0", "unknown field: encoding_format", "no such model",
        "internal error", "",
    ])  # fmt: skip
    return f"{words}: {spelled(asked.key, dice)}" if dice.random() < 0.8 else words


def _error_body(dice: random.Random, asked: Asked) -> bytes:
    """A body of a refusal in one of the shapes that servers have, and in some that none has."""
    said = _complaint(dice, asked)
    shapes: list[Any] = [
        {"error": {"message": said, "type": "error", "code": dice.choice(["invalid_api_key", None, 429, 10**400, 1.5, True, [], {}])}},
        {"error": said}, {"error": [said]}, {"error": {"message": {"message": said}}}, {"error": {"message": [said, said]}},
        {"detail": said}, {"detail": [{"msg": said, "loc": ["body", 1]}]}, {"message": said}, [said], said, {"error": None}, None,
        {"error": {"message": None}}, {"error": 10**400}, {"errors": {said: said}}, {said: {}},
    ]  # fmt: skip
    body = json.dumps(dice.choice(shapes), ensure_ascii=dice.random() < 0.5).encode("utf-8", "surrogatepass")
    return dice.choice([body, body, body, said.encode(), f"<html><body>{said}</body></html>".encode(), b""])


def _status(dice: random.Random) -> int | str:
    usual: list[int | str] = [
        400,
        401,
        402,
        403,
        404,
        405,
        408,
        409,
        413,
        415,
        418,
        422,
        429,
        500,
        501,
        502,
        503,
        504,
        507,
        511,
        520,
        529,
    ]
    return dice.choice(
        [*usual * 3, 201, 202, 204, 205, 206, 226, 299, 304, 399, 499, 599, 600, 777, 999, "099", "000", "-1", "2e2"]
    )


def _later(dice: random.Random) -> str:
    """A Retry-After. None asks for a pause that a sync would rightly wait out."""
    return dice.choice([
        "0", "0.01", "-1", "61", "86400", "9" * 400, "1e400", "nan", "inf", "", "soon", "Fri, 31 Dec 9999 23:59:59 GMT",
        "Mon, 01 Jan 0001 00:00:00 +2359", "Fri, 99 Foo 2026 99:99:99 GMT", "0x10", "\u0663", "1" * 5000, "Sat, 01 Jan 0000 00:00 -9999",
    ])  # fmt: skip


@kind("healthy")
def _healthy(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    yield healthy(asked)


@kind("bad gzip")
def _bad_gzip(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    good = json.dumps(well_formed(asked)).encode()
    packed = gzip.compress(good)
    encoding, body = dice.choice([
        ("gzip", b"not gzip at all"), ("gzip", packed[: dice.randrange(len(packed))]), ("gzip", packed[:-8] + b"\0" * 8),
        ("gzip", good), ("deflate", packed), ("deflate", dice.randbytes(300)), ("br", dice.randbytes(300)), ("zstd", dice.randbytes(300)),
        ("gzip, gzip", packed), ("gzip, gzip, gzip, br", packed), ("x-gzip", packed), ("GZIP;q=1", packed), ("identity, gzip", b""),
        ("gzip", packed + packed), ("gzip", packed + b"trailing"), ("gzip", b"\x1f\x8b\x08\xff" + dice.randbytes(50)), ("", packed),
        ("nonsense", good), ("br", good), ("zstd", b"\x28\xb5\x2f\xfd" + dice.randbytes(90)), (", " * 2000 + "gzip", packed),
    ])  # fmt: skip
    yield http(dice.choice([200, 200, 400, 401, 500]), body, {"Content-Encoding": encoding})


@cache
def _bomb(filling: bytes, megabytes: int) -> bytes:
    """A whole gzip stream that unpacks to so much; the compressed filling of one megabyte is repeated."""
    block = filling * ((1 << 20) // len(filling))
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    once = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    checked = 0
    for _ in range(megabytes):
        checked = zlib.crc32(block, checked)
    size = (len(block) * megabytes) & 0xFFFFFFFF
    start = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    return start + once * megabytes + b"\x03\0" + checked.to_bytes(4, "little") + size.to_bytes(4, "little")


@kind("gzip bomb")
def _gzip_bomb(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    body = _bomb(dice.choice([b"\0", b" ", b"[", b"9", b"a" * 64, b'{"a":']), dice.choice([40, 300, 400]))
    status = dice.choice([200, 200, 400, 401, 429, 500])
    if dice.random() < 0.3:
        yield http(status, gzip.compress(body), {"Content-Encoding": "gzip, gzip"})
    else:
        yield http(status, body, {"Content-Encoding": "gzip"})


@kind("endless")
def _endless(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    status = dice.choice([200, 200, 400, 500])
    block = dice.choice([b" ", b"[", b"0.1,", b"\0", b'{"error":', asked.key.encode()[:8]]) * 8192
    way = dice.choice(["plain", "plain", "chunked", "promised", "headers", "continues", "one header", "chunk size"])
    chunked = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    if way == "plain":
        yield http(status, length=False)
    elif way == "chunked":
        yield head(f"HTTP/1.1 {status} x", chunked)
        block = b"%x\r\n%s\r\n" % (len(block), block)
    elif way == "promised":
        yield http(status, headers={"Content-Length": str(10**12)})
    elif way == "headers":
        yield b"HTTP/1.1 200 OK\r\n"
        block = b"X-More: " + b"a" * 1000 + b"\r\n"
    elif way == "continues":
        block = b"HTTP/1.1 100 Continue\r\n\r\n"
    elif way == "one header":
        yield b"HTTP/1.1 200 OK\r\nX-More: "
    else:
        yield head(f"HTTP/1.1 {status} x", chunked)
        block = b"0" * 4096
    for _ in range((1 << 30) // len(block)):
        yield block
    yield 5.0


@kind("nested")
def _nested(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    depth = dice.choice([100, 900, 1100, 5000, 100_000, 1_000_000])
    opening, closing = dice.choice(
        [(b"[", b"]"), (b'{"a":', b"}"), (b'{"error":', b"}"), (b'{"data":[', b"]}"), (b'{"message":[', b"]}")]
    )
    inner = opening * depth + b"1" + (closing * depth if dice.random() < 0.5 else b"")
    around = dice.choice(
        [
            b"%s",
            b'{"data":[{"index":0,"embedding":%s}]}',
            b'{"data":%s}',
            b'{"error":{"message":%s}}',
            b'{"usage":%s,"data":[]}',
        ]
    )
    yield http(dice.choice([200, 200, 400, 401, 429, 500, 302]), around.replace(b"%s", inner))


@kind("numbers")
def _numbers(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    number = dice.choice([
        "9" * 400, "-" + "9" * 400, "9" * 5000, "9" * 100_000, "1e400", "-1e400", "1e39", "1e-400", "NaN", "Infinity", "-Infinity",
        "null", "true", '"1"', '""', "[]", "{}", "3.4028236e38", "1e308", "-0", "01", "0x1", "1_0", "1.7976931348623157e309", "[1]",
    ])  # fmt: skip
    whole = json.dumps(well_formed(asked))
    body = dice.choice([
        whole.replace('"index": 0', f'"index": {number}'),
        whole.replace('"embedding": [', f'"embedding": [{number}, ', 1),
        json.dumps({**well_formed(asked), "data": [{"index": 0, "embedding": "@"}] * len(asked.texts)}).replace('"@"', number),
        json.dumps({"data": [{"index": at, "embedding": ["@"] * DIMENSIONS} for at in range(len(asked.texts))]}).replace('"@"', number),
        '{"error": {"code": %s, "message": "x"}}' % number,  # noqa: UP031 - the braces are JSON's
        f'{{"data": {number}}}', number, whole.replace('"total_tokens": 1', f'"total_tokens": {number}'),
        f'{{"error": {{"code": 429, "message": "retry", "details": [{{"retryDelay": "{number}s"}}]}}}}',
    ])  # fmt: skip
    yield http(dice.choice([200, 200, 200, 400, 429, 500]), body.encode())


@kind("counts")
def _counts(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    whole = well_formed(asked)
    data = whole["data"]
    strange: Any = dice.choice([None, "0", True, -1, 10**9, 10**400, 0.0, [0], {}])
    whole["data"] = dice.choice([
        [], data[:-1], data + data[:1], data * 500, [{**one, "index": 0} for one in data], [{**one, "index": strange} for one in data],
        [one["embedding"] for one in data], [None] * len(data), "data", data[0], None, [*data[:-1], None], {"0": data[0]}, 5, True,
        [{**one, "embedding": None} for one in data], [{"index": at} for at in range(len(data))], [[]] * len(data), [{}] * len(data),
    ])  # fmt: skip
    yield http(200, json.dumps(whole).encode())


@kind("dimensions")
def _dimensions(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    sizes = dice.choice([[0], [1], [7], [9], [16], [3072], [100_000], [8, 7], [7, 8], [0, 8], [8, 0]])
    data = [{"index": at, "embedding": vector_of(text, sizes[at % len(sizes)])} for at, text in enumerate(asked.texts)]
    yield http(200, json.dumps({"data": data}).encode())


@kind("vectors")
def _vectors(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    vector = dice.choice([
        [0.0] * DIMENSIONS, [float("nan")] * DIMENSIONS, [float("inf")] * DIMENSIONS, [1e38] * DIMENSIONS, [1e-45] * DIMENSIONS,
        [None] * DIMENSIONS, ["1.0"] * DIMENSIONS, [[1.0]] * DIMENSIONS, [True] * DIMENSIONS, [{}] * DIMENSIONS, {"0": 1.0},
        "", "AAAA", "====", "not base64!", "AACAfwAAgH8AAIB/AACAfwAAgH8AAIB/AACAfwAAgH8=", "\ud800", "A" * 100_000, "AAAAAA", 5,
        [[1.0] * DIMENSIONS], [1.0, [1.0]], [1, 2.5, "3"], [10**30] * DIMENSIONS, "AADAfwAAwH8AAMB/AADAfwAAwH8AAMB/AADAfwAAwH8=",
    ])  # fmt: skip
    data = [{"index": at, "embedding": vector} for at in range(len(asked.texts))]
    yield http(200, json.dumps({"data": data}).encode())


@kind("content type")
def _content_type(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    text = json.dumps(well_formed(asked))
    body, shown = dice.choice([
        (text.encode(), "text/html"), (text.encode("utf-16"), "application/json; charset=utf-16"), (b"\xef\xbb\xbf" + text.encode(), "application/json"),
        (text.encode("utf-32"), "application/json"), (text.encode(), 'application/json; charset="nonsense"'), (b"<html>hello</html>", "text/html"),
        (text.encode(), "application/json; charset=\xff"), (text.encode(), "a" * 5000), (b"", "application/json"), (b"data: " + text.encode(), "text/event-stream"),
        (text.encode("cp037"), "application/json; charset=cp037"), (f"callback({text})".encode(), "text/javascript"), (text.encode(), "application/json; charset=rot13"),
        (text.encode(), "application/json; charset=base64"), (text.encode(), "multipart/mixed; boundary=x"), (text.encode() + b"\0", "application/json"),
    ])  # fmt: skip
    yield http(dice.choice([200, 200, 200, 400, 500]), body, {"Content-Type": shown})


@kind("surrogates")
def _surrogates(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    odd = dice.choice(["\\ud800", "\\udfff\\ud800", "\\u0000", "\\u001b[2J", "\\u202e", "\\uffff", "\\ud83d"])
    bodies = [
        f'{{"error": {{"message": "{odd} no {odd}", "code": "{odd}"}}}}', f'{{"data": [{{"embedding": "{odd}"}}]}}', f'"{odd}"',
        f'{{"model": "{odd}", "data": [], "{odd}": 1}}', f'{{"error": "{odd}"}}', f'{{"detail": [{{"msg": "{odd}"}}]}}',
    ]  # fmt: skip
    raw = [
        b'{"error": {"message": "\xed\xa0\x80"}}',
        b"\xff\xfe\xfd",
        b'{"error": "\x80\x81 \x00 \x1b[31m"}',
        b"\xc0\xaf" * 1000,
    ]
    yield http(dice.choice([200, 400, 401, 429, 500]), dice.choice([*(body.encode() for body in bodies), *raw]))


@kind("redirects")
def _redirects(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    place = dice.choice([
        "/v1/embeddings", "http://127.0.0.1:1/", "https://127.0.0.1:9/", "file:///etc/passwd", "", "//", "http://", "http://[::1", "\x00",
        f"http://127.0.0.1:9/?key={asked.key}", f"/{spelled(asked.key, dice)}", "?", "javascript:alert(1)", "http://" + "a" * 70_000, "/../" * 2000,
    ]).replace("\n", " ")  # fmt: skip
    headers = {} if dice.random() < 0.1 else {"Location": place}
    yield http(dice.choice([300, 301, 302, 303, 304, 305, 307, 308]), _error_body(dice, asked), headers)


@kind("truncated")
def _truncated(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    whole = healthy(asked)
    end: Piece = dice.choice([RESET, 0.0])
    if dice.random() < 0.5:
        yield whole[: dice.randrange(1, len(whole))]
    else:
        yield head("HTTP/1.1 200 OK", {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
        piece = whole.partition(b"\r\n\r\n")[2]
        wrong = dice.choice(
            [
                b"%x\r\n" % (len(piece) + 5),
                b"-1\r\n",
                b"zz\r\n",
                b"f" * 40 + b"\r\n",
                b"\r\n",
                b"%x;a=b\r\n" % len(piece),
            ]
        )
        yield wrong + piece + dice.choice([b"", b"\r\n", b"\r\n0\r\n", b"\r\n0\r\nX: y\r\n"])
    yield end


@kind("slow")
def _slow(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    whole = dice.choice([healthy(asked), http(400, _error_body(dice, asked)), http(503, _error_body(dice, asked))])
    at = dice.choice([0, 5, whole.index(b"\r\n\r\n"), len(whole) - 1])
    yield whole[:at]
    if dice.random() < 0.3:
        yield 6.0
        yield whole[at:]
    else:
        for mark in whole[at : at + 400]:
            yield bytes([mark])
            yield 0.02


@kind("status")
def _statuses(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    headers = {"Retry-After": _later(dice)} if dice.random() < 0.4 else {}
    if dice.random() < 0.2:
        headers["retry-after-ms"] = dice.choice(["1", "-1", "9" * 400, "1.5.5", "nan", "1e5"])
    if dice.random() < 0.2:
        headers["WWW-Authenticate"] = f'Bearer error="{spelled(asked.key, dice)}"'.replace("\n", " ")
    yield http(
        _status(dice),
        _error_body(dice, asked),
        headers,
        reason=dice.choice(["Said", "", asked.key, "\xff", "a" * 3000]),
    )


@kind("huge error page")
def _huge_page(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    size = dice.choice([20_000, 200_000, 2_000_000, 10_000_000])
    unit = dice.choice([
        f"{_complaint(dice, asked)} ", "a", "max_tokens ", "too long too ", "context ", "quota", " " * 64, "<p>", "batch size ", "Bearer ", "sk-" + "a" * 9,
        spelled(asked.key, dice), "retry in ", "1" * 64, "key=", "\\u0000", "per day ", '{"a": ', '"retryDelay": "',
    ])  # fmt: skip
    page = (unit * (size // len(unit) + 1))[:size]
    end = spelled(asked.key, dice)
    around = dice.choice(
        ["{}", '{{"error": {{"message": "{}"}}}}', "<html>{}</html>", '{{"error": "{}"}}', '{{"detail": ["{}"]}}']
    )
    body = (
        around.format((page + end).replace('"', "'").replace("\n", " "))
        if "{{" in around
        else around.format(page + end)
    )
    yield http(_status(dice), body.encode())


@kind("headers")
def _headers(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    body = json.dumps(well_formed(asked)).encode()
    good = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    odd: list[bytes] = [
        head("HTTP/1.1 200 OK", {**good, "X-Big": "a" * 200_000}) + body,
        head("HTTP/1.1 200 OK", {**good, **{f"X-{at}": "a" for at in range(3000)}}) + body,
        head("HTTP/1.1 200 OK", {**good, "Content-Length": "-5"}) + body, head("HTTP/1.1 200 OK", {**good, "Content-Length": "9" * 400}) + body,
        head("HTTP/1.1 200 OK", {**good, "Content-Length": "1, 2"}) + body, head("HTTP/1.1 200 OK", {**good, "content-length": "3"}) + body,
        head("HTTP/1.1 200 OK", {**good, "Transfer-Encoding": "chunked"}) + body, head("HTTP/1.1 200 OK", {**good, "Transfer-Encoding": "gzip"}) + body,
        head("HTTP/1.1 200 OK", {**good, "X-Nul": "a\0b"}) + body, head("HTTP/1.1 200 OK", {**good, "X-Uni": "\u2028\udcff"}) + body,
        head("HTTP/1.1 200 OK", {**good, "": "empty name"}) + body, head("HTTP/1.1 200 OK", {**good, "Bad Name": "x"}) + body,
        head("HTTP/1.1 200 OK", {**good, "X-Fold": "a\r\n b\r\n\tc"}) + body, head("HTTP/0.9 200 OK", good) + body, head("HTTP/2.0 200 OK", good) + body,
        head("HTTP/1.1 200", good) + body, head("HTTP/1.1", good) + body, head("ICY 200 OK", good) + body, body, b"\r\n\r\n" + body, b"\0" * 4096,
        head("HTTP/1.1 101 Switching Protocols", {"Upgrade": "websocket", "Connection": "Upgrade"}) + dice.randbytes(40),
        head("HTTP/1.1 200 OK", {**good, "Set-Cookie": f"key={asked.key}; Domain=x"}) + body, b"\x15\x03\x01\x00\x02\x02\x46", dice.randbytes(2000),
        head("HTTP/1.1 204 No Content", good) + body, head("HTTP/1.1 304 Not Modified", good) + body, head("HTTP/1.1 200 OK", good) + body * 3,
        head("HTTP/1.1 103 Early Hints", {"Link": "</x>"}) * 50 + healthy(asked), b"HTTP/1.1 200 OK\n" + b"Content-Length: 2\n\n{}",
    ]  # fmt: skip
    yield dice.choice(odd)
    yield dice.choice([0.0, 0.0, RESET])


@kind("resets")
def _resets(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    whole = healthy(asked)
    yield whole[: dice.choice([0, 0, 1, 12, 40, len(whole) // 2, len(whole) - 1])]
    if dice.random() < 0.3:
        yield 0.1
    yield RESET


@kind("errors within 200")
def _errors_within(dice: random.Random, asked: Asked) -> Iterator[Piece]:
    yield http(200, _error_body(dice, asked))
