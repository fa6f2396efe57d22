#!/usr/bin/env python3
"""Makes the test vectors of the worker contract, from the text of docs/worker-contract.md alone.

This is a second implementation on purpose: it shares no code with the Go one, so that a mistake in either shows as a
difference. It needs nothing but Python's standard library.

    python3 make_vectors.py DIRECTORY    writes the JSON files there
"""

import hashlib
import json
import pathlib
import struct
import sys

WORD = (1 << 64) - 1


# Section 1.1


def mix(x):
    z = (x + 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def chain(x, length):
    """The bytes of M(x), M(M(x)) …, little-endian, cut to length."""
    out = b""
    while len(out) < length:
        x = mix(x)
        out += struct.pack("<Q", x)
    return out[:length]


# Section 1.2


def ycsb_hash(n):
    h = 0xCBF29CE484222325
    for _ in range(8):
        h = ((h ^ (n & 255)) * 1099511628211) & WORD
        n >>= 8
    return (-h) & WORD if h >> 63 else h


def key_of_length(shape, index):
    stretch = [s for s in shape["lengths"] if s.get("from", 0) <= index][-1]
    n = index - stretch.get("from", 0) + stretch.get("first", 0)
    if shape.get("scatter"):
        n = mix(n)
    made = shape.get("prefix", "").encode()
    left = stretch["bytes"] - len(made)
    if shape["format"] == "decimal":
        made += str(n).rjust(min(left, 20), "0").encode()
        return made + bytes(ord("a") + b % 16 for b in chain(n, stretch["bytes"] - len(made)))
    if left < 8:
        return made + struct.pack(">Q", n)[8 - left :]
    return made + struct.pack(">Q", n) + chain(n, left - 8)


def key(shape, index):
    if "lengths" in shape:
        return key_of_length(shape, index)
    n = mix(index) if shape.get("scatter") else index
    before, after = shape.get("prefix", "").encode(), shape.get("suffix", "").encode()
    if shape["format"] == "decimal":
        return before + str(n + shape.get("first", 0)).rjust(shape.get("digits", 0), "0").encode() + after
    if shape["format"] == "ycsb":
        return before + str(ycsb_hash(n)).encode() + after
    length = shape["bytes"] - len(before)
    if length < 8:
        return before + struct.pack(">Q", n)[8 - length :]
    return before + struct.pack(">Q", n) + chain(n, length - 8)


# Section 1.3


def version(phase, thread, sequence):
    return phase << 56 | thread << 40 | sequence


def block(shape, b):
    fresh_bytes = 64 - (64 * shape["repeated_permille"]) // 1000
    fresh = chain(shape["pool_seed"] ^ (b << 8), 64)
    same = chain(shape["pool_seed"] ^ 0x5045415445440000, 64)
    return fresh[:fresh_bytes] + same[fresh_bytes:]


def pool(shape):
    blocks = (shape["pool_bytes"] + shape["length_max"] + 63) // 64
    return b"".join(block(shape, b) for b in range(blocks))


def value(shape, bytes_of_pool, index, of_version, length):
    if length < 24:
        return chain(index ^ shape["trial_tag"] ^ length << 56, length)
    h = mix(index ^ (of_version * 0xFF51AFD7ED558CCD & WORD))
    check = (h >> 32) ^ length ^ shape["trial_tag"]
    offset = (h % shape["pool_bytes"]) & ~63
    body = bytes_of_pool[offset : offset + length - 24]
    return struct.pack("<QQII", index, of_version, length, check) + body


# Section 2


# Section 1.5


def stamp(c, position, index, of_version):
    modulo, least = c["stamp"]["modulo"], 1
    while least < modulo:
        least *= 10
    of_write = mix(index ^ (of_version * 0xFF51AFD7ED558CCD & WORD) ^ (position + 1) << 56)
    return str(least + of_write % modulo).encode()


def column(shape, bytes_of_pool, c, position, index, of_version):
    if c.get("counter"):
        return b"0"
    if "stamp" in c:
        return stamp(c, position, index, of_version)
    if "constant" in c:
        return c["constant"].encode()
    if "proof" in c:
        return value(shape, bytes_of_pool, index, of_version, c["proof"])
    if "parts" in c:
        return b"".join(part(p, index) for p in c["parts"])
    return sequence(c["sequence"], index)


def part(p, index):
    if "text" in p:
        return p["text"].encode()
    if "sequence" in p:
        return sequence(p["sequence"], index)
    return words(p["words"]["letters"], p["words"]["counts"], index)


def words(letters, counts, index):
    laps, place = divmod(index, len(counts))
    first = laps * sum(counts) + sum(counts[:place])
    taken = []
    for number in range(first, first + counts[place]):
        word_ = ""
        for _ in range(letters):
            number, letter = divmod(number, 26)
            word_ = chr(ord("a") + letter) + word_
        taken.append(word_)  # a number of too many digits loses the highest: it begins again
    return " ".join(taken).encode()


def sequence(q, index):
    if steps := q.get("steps"):
        n, rest = index // sum(steps) * len(steps), index % sum(steps)
        for width in steps:
            if rest < width:
                break
            n, rest = n + 1, rest - width
    else:
        n = index // (q.get("divide") or 1)
    n += q.get("shift", 0)
    if q.get("modulo"):
        n %= q["modulo"]
    n = n * (q.get("multiply") or 1) + q.get("add", 0)
    return q.get("prefix", "").encode() + str(n & WORD).encode() + q.get("suffix", "").encode()


def record(shape, bytes_of_pool, columns, index, of_version):
    out = b""
    for position, c in enumerate(columns):
        data = column(shape, bytes_of_pool, c, position, index, of_version)
        out += struct.pack("<H", len(data)) + data
    return out


def fnv1a(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & WORD
    return h


def entry(e):
    return (
        e["index"]
        | e.get("size_class", 0) << 48
        | e["operation"] << 56
        | e.get("grows", False) << 61
        | e.get("member", False) << 62
        | e.get("recorded", False) << 63
    )


def align(n):
    return (n + 63) // 64 * 64


def trace_file(t):
    threads = t["threads"]
    at = align(4096 + 128 * len(threads))
    directory, body = b"", b"\0" * (at - 4096 - 128 * len(threads))

    def place(words):
        nonlocal at, body
        offset = at
        data = b"".join(struct.pack("<Q", w) for w in words)
        body += data + b"\0" * (align(len(data)) - len(data))
        at += align(len(data))
        return offset

    for thread in threads:
        entries = [entry(e) for e in thread["entries"]]
        entries_at = place(entries)
        due_at = place(thread["due"]) if thread.get("due") else 0
        directory += struct.pack(
            "<QQQQQIIQQQ56x",
            entries_at,
            len(entries),
            thread.get("stride", 0),
            due_at,
            thread.get("lap_ns", 0),
            thread.get("group", 0),
            thread.get("endpoint", 0),
            thread.get("limit", 0),
            thread.get("from_ns", 0),
            thread.get("until_ns", 0),
        )
    rest = directory + body
    header = struct.pack(
        "<8sIIIIQIIQQ8x",
        b"ASSAYTRC",
        3,
        4096,
        len(threads),
        t["flags"],
        4096 + len(rest),
        t["groups"],
        len(t["operations"]),
        t["seed"],
        fnv1a(rest),
    )
    header += bytes(t["operations"]).ljust(256, b"\0")
    header += bytes(t["queries"]).ljust(256, b"\0")
    header = header.ljust(1024, b"\0")
    amounts = t["amounts"] + [0] * (256 - len(t["amounts"]))
    header += struct.pack("<256I", *amounts)
    return header.ljust(4096, b"\0") + rest


# Section 3


def counters_layout(threads, slots, response, observed, handle_times=False):
    slot_bytes = 128 + 8 * 4608 * (2 if response else 1)
    taken = 8 * 4608 if handle_times else 0
    thread_bytes = (256 + slots * slot_bytes + 8 * 256 + taken + 127) // 128 * 128
    end = 4096 + threads * thread_bytes
    return {
        "threads": threads,
        "slots": slots,
        "response": response,
        "handle_times": handle_times,
        "observed_entries": observed,
        "slot_bytes": slot_bytes,
        "thread_bytes": thread_bytes,
        "thread_offsets": [4096 + i * thread_bytes for i in range(threads)],
        "slot_offsets": [[4096 + i * thread_bytes + 256 + k * slot_bytes for k in range(slots)] for i in range(threads)],
        "error_place_offsets": [
            [4096 + i * thread_bytes + 256 + slots * slot_bytes + 256 * p for p in range(8)] for i in range(threads)
        ],
        "handle_times_offsets": [
            4096 + i * thread_bytes + 256 + slots * slot_bytes + 256 * 8 for i in range(threads if handle_times else 0)
        ],
        "observed_offset": end if observed else 0,
        "file_bytes": end + 8 * observed,
    }


# Section 3.5


def history_file(h):
    each = h["records_each"]
    area = 128 + 32 * each
    data = struct.pack("<8sIIIIQQ", b"ASSAYHIS", 2, 4096, len(h["threads"]), 32, each, 4096 + area * len(h["threads"]))
    data = data.ljust(4096, b"\0")
    for thread in h["threads"]:
        part = struct.pack("<QQ", len(thread["records"]), thread["dropped"]).ljust(128, b"\0")
        for r in thread["records"]:
            part += struct.pack("<QQQQ", r["begin_ns"], r["end_ns"], r["sequence"] | r["outcome"] << 40, r["read"])
        data += part.ljust(area, b"\0")
    return data


def bucket(v):
    v = min(v, (1 << 42) - 1)
    if v < 128:
        return v
    e = v.bit_length() - 1
    return (e - 7 + 1) * 128 + (v >> (e - 7)) - 128


# The vectors. 64-bit numbers are hexadecimal strings, because JSON readers of many languages round them; bytes are
# hexadecimal; of long ones the SHA-256 stands beside the first 64 bytes.


def word(n):
    return f"{n:016x}"


def long_bytes(data):
    return {"first": data[:64].hex(), "sha256": hashlib.sha256(data).hexdigest()}


INDEXES = [0, 1, 2, 9, 10, 255, 256, 65535, 65536, 999999, 4294967295, 4294967296, 10**12 + 7, (1 << 48) - 1]


def mix_vectors():
    words = INDEXES + [1 << 63, WORD, 0x0123456789ABCDEF]
    return [{"x": word(x), "mix": word(mix(x)), "ycsb_hash": word(ycsb_hash(x))} for x in words]


def key_vectors():
    shapes = [{"format": "binary", "bytes": n} for n in range(1, 41)]
    shapes += [{"format": "binary", "bytes": n, "scatter": True} for n in list(range(8, 41)) + [1000]]
    for bytes_, before in ((16, "user"), (9, "3fa85b12"), (20, "ä:"), (1000, "x" * 255)):
        shapes.append({"format": "binary", "bytes": bytes_, "prefix": before})
    shapes.append({"format": "binary", "bytes": 24, "prefix": "3fa85b12:", "scatter": True})
    for scatter in (False, True):
        for digits in (0, 1, 8, 12, 16, 20):
            for before, after in (("", ""), ("", "asdf"), ("user", ""), ("päfix:", ":ende")):
                shapes.append({"format": "decimal", "digits": digits, "prefix": before, "suffix": after, "scatter": scatter})
        if not scatter:
            shapes.append({"format": "decimal", "prefix": "news_", "first": 1})
            shapes.append({"format": "decimal", "digits": 15, "suffix": "x", "first": (1 << 48) - 1})
        for before, after in (("user", ""), ("", ""), ("a", "b")):
            shapes.append({"format": "ycsb", "prefix": before, "suffix": after, "scatter": scatter})
    shapes += [
        {"format": "binary", "lengths": [{"bytes": 1}, {"from": 200, "bytes": 3}, {"from": 256, "bytes": 7}, {"from": 65535, "bytes": 8},
            {"from": 65536, "bytes": 21}, {"from": 999999, "bytes": 5, "first": 56}, {"from": 4294967295, "bytes": 300}]},
        {"format": "binary", "prefix": "3fa85b12", "lengths": [{"bytes": 9}, {"from": 10, "bytes": 16}, {"from": 65536, "bytes": 40}]},
        {"format": "binary", "scatter": True, "lengths": [{"bytes": 8}, {"from": 9, "bytes": 12}, {"from": 10, "bytes": 8, "first": 9}]},
        {"format": "decimal", "lengths": [{"bytes": 1}, {"from": 10, "bytes": 5}, {"from": 65536, "bytes": 20},
            {"from": 999999, "bytes": 21}, {"from": 4294967295, "bytes": 45}, {"from": 4294967296, "bytes": 255}]},
        {"format": "decimal", "prefix": "user", "lengths": [{"bytes": 20}, {"from": 256, "bytes": 33}]},
    ]
    vectors = []
    for shape in shapes:
        number_bytes = shape.get("bytes", 8) - len(shape.get("prefix", "").encode())
        if shape["format"] == "binary" and number_bytes < 6:
            indexes = [i for i in INDEXES if i < 256**number_bytes]
        else:
            indexes = INDEXES
        vectors.append({"shape": shape, "keys": [{"index": word(i), "key": key(shape, i).hex()} for i in indexes]})
    return vectors


SHAPES = [
    {"pool_bytes": 4096, "pool_seed": 0, "repeated_permille": 0, "length_max": 2000, "short_lengths": 0, "trial_tag": 1},
    {"pool_bytes": 65536, "pool_seed": 42, "repeated_permille": 500, "length_max": 2000, "short_lengths": 0, "trial_tag": 0xFFFFFFFF},
    {"pool_bytes": 4096, "pool_seed": 0xFEDCBA9876543210, "repeated_permille": 333, "length_max": 2001, "short_lengths": 1 << 23 | 1 << 8, "trial_tag": 0x3FA85B12},
    {"pool_bytes": 4096, "pool_seed": 7, "repeated_permille": 1000, "length_max": 100, "short_lengths": 1, "trial_tag": 0x80000000},
]


def shape_json(shape):
    return dict(shape, pool_seed=word(shape["pool_seed"]))


def pool_vectors():
    vectors = []
    for shape in SHAPES:
        all_bytes = pool(shape)
        blocks = [0, 1, 2, 63, len(all_bytes) // 64 - 1]
        vectors.append(
            {
                "shape": shape_json(shape),
                "bytes": len(all_bytes),
                "sha256": hashlib.sha256(all_bytes).hexdigest(),
                "blocks": [{"block": b, "bytes": block(shape, b).hex()} for b in blocks],
            }
        )
    return vectors


VERSIONS = [0, 1, version(0, 0, (1 << 40) - 1), version(1, 2, 3), version(255, 65535, (1 << 40) - 1)]


def value_vectors():
    vectors = []
    for shape in SHAPES:
        all_bytes = pool(shape)
        lengths = list(range(24, 200, 5)) + [24, 25, 63, 64, 65, 87, 88, 89, 100, 1000, 1024, 1999, 2000, 2001]
        lengths = sorted({n for n in lengths if n <= shape["length_max"]})
        values = []
        for i, length in enumerate(lengths):
            index, v = INDEXES[i % len(INDEXES)], VERSIONS[i % len(VERSIONS)]
            made = value(shape, all_bytes, index, v, length)
            values.append(dict(index=word(index), version=word(v), length=length, **long_bytes(made)))
        vectors.append({"shape": shape_json(shape), "values": values})
    return vectors


def short_value_vectors():
    vectors = []
    for i, index in enumerate(INDEXES):
        shape = SHAPES[i % len(SHAPES)]
        values = [value(shape, b"", index, 99, length).hex() for length in range(24)]
        vectors.append({"index": word(index), "trial_tag": shape["trial_tag"], "values": values})
    return vectors


def check_vectors():
    """Values that came back, for steps 1 and 2 of section 1.4: right ones, and right ones with something changed."""
    shape = SHAPES[2]
    all_bytes = pool(shape)
    vectors = []

    def add(name, index, bytes_read, right, of_version=0, other_trial=False):
        vectors.append(
            {
                "name": name,
                "index": word(index),
                "value": bytes_read.hex(),
                "right": right,
                "version": word(of_version),
                "other_trial": other_trial,
            }
        )

    v = version(3, 2, 1)
    good = value(shape, all_bytes, 77, v, 100)
    add("right", 77, good, True, v)
    add("right, the stamp alone", 77, value(shape, all_bytes, 77, v, 24), True, v)
    add("right, version 0", 77, value(shape, all_bytes, 77, 0, 100), True, 0)
    short = value(shape, b"", 77, v, 23)
    add("right, short", 77, short, True)
    add("of another index", 78, good, False)
    add("cut by a byte", 77, good[:-1], False)
    add("longer by a byte", 77, good + b"\0", False)
    add("cut to the stamp", 77, good[:24], False)
    add("cut below the stamp", 77, good[:23], False)
    add("empty, which no value is", 77, good[:0], False)
    add("short, of a length that no value has", 77, value(shape, b"", 77, v, 22), False)
    add("short, cut to another length that values have", 77, short[:8], False)
    add("short, of another index", 78, short, False)
    add("short, of another length", 77, short[:-1] + b"\0", False)
    later = dict(shape, trial_tag=shape["trial_tag"] ^ 0x1234)
    add("of another trial", 77, value(later, all_bytes, 77, v, 100), False, other_trial=True)
    add("of another trial, loaded", 77, value(later, all_bytes, 77, 0, 100), False, other_trial=True)
    add("of another trial, the stamp alone", 77, value(later, all_bytes, 77, v, 24), False, other_trial=True)
    add("of another trial and another index", 78, value(later, all_bytes, 77, v, 100), False)
    add("of another trial, damaged", 77, value(later, all_bytes, 77, v, 100)[:-1] + b"\0", False)
    add("short, of another trial: it can't tell", 77, value(later, b"", 77, v, 23), False)
    add("without a tag", 77, value(dict(shape, trial_tag=0), all_bytes, 77, v, 100), False, other_trial=True)
    for at in (0, 7, 8, 15, 16, 19, 20, 23, 24, 25, 99):
        changed = bytearray(good)
        changed[at] ^= 1
        # The check proves index, version, length and trial at once: with all else right, it is another trial's.
        add(f"byte {at} changed", 77, bytes(changed), False, other_trial=at in (20, 23))
    other = value(shape, all_bytes, 77, version(3, 2, 2), 100)
    add("body of another version", 77, good[:24] + other[24:], False)
    add("stamp's version of another write", 77, good[:8] + other[8:16] + good[16:], False)
    add("all zeros", 77, bytes(100), False)
    add("longer than any value", 77, value(shape, all_bytes * 2, 77, v, 7000), False)
    return {"shape": shape_json(shape), "values": vectors}


def text(name, **sequence):
    return {"name": name, "type": "text", "sequence": sequence}


RECORDS = {
    "table-insert": [
        text("name", prefix="mikio"),
        {"name": "age", "type": "integer", "constant": "30"},
        {"name": "lang", "type": "text", "constant": "ja,en,c"},
    ],
    "proof in the middle": [
        {"name": "category", "type": "integer", "sequence": {"divide": 55, "modulo": 20000, "multiply": 3, "add": 1}},
        {"name": "v", "type": "bytes", "proof": 100},
        text("title", prefix="päge ", multiply=7, add=5, suffix=" of news"),
    ],
    "news": [
        text("title", prefix="This is title of news ", add=1),
        {"name": "category", "type": "integer", "sequence": {"steps": [20, 30, 40, 50, 60, 70, 80, 90, 100, 10], "add": 1}},
        {"name": "user", "type": "integer", "sequence": {"steps": [20, 30, 40, 50, 60, 70, 80, 90, 100, 10], "shift": 1, "modulo": 10000}},
        text("tag", prefix="Tag_", shift=1, modulo=5),
        text("wide", steps=[(1 << 48) - 1] * 64, shift=(1 << 48) - 1, modulo=3),
    ],
    "news, as published": [
        {
            "name": "tags",
            "type": "text",
            "parts": [
                {"text": "Tag_"},
                {"sequence": {"steps": [20, 30, 40, 50, 60, 70, 80, 90, 100, 10], "shift": 1, "modulo": 3}},
                {"text": "_"},
                {"sequence": {"shift": 1, "modulo": 5}},
                {"text": " "},
                {"words": {"letters": 3, "counts": [2, 3, 4, 5, 1]}},
            ],
        },
        {
            "name": "more",
            "type": "bytes",
            "parts": [
                {"words": {"letters": 8, "counts": list(range(9, 0, -1))}},
                {"sequence": {"prefix": "ä", "multiply": 3, "suffix": "ö"}},
                {"words": {"letters": 1, "counts": [1, 30]}},
            ],
        },
        text("title", prefix="n", add=1),
    ],
    "stamps on both sides of the proof": [
        {"name": "one", "type": "integer", "stamp": {"modulo": 1}},
        {"name": "score", "type": "integer", "stamp": {"modulo": 1000}},
        {"name": "v", "type": "bytes", "proof": 30},
        text("title", prefix="title "),
        {"name": "again", "type": "integer", "stamp": {"modulo": 1000}},
        {"name": "wide", "type": "integer", "stamp": {"modulo": 10**17}},
    ],
    "a counter": [
        {"name": "views", "type": "integer", "counter": True},
        {"name": "v", "type": "bytes", "proof": 24},
    ],
    "one column, empty": [{"name": "a", "type": "bytes", "constant": ""}],
    "proof alone, the shortest": [{"name": "v", "type": "bytes", "proof": 24}],
    "all bits": [text("n", multiply=65535, add=(1 << 64) - 65535 * ((1 << 48) - 1) - 2), text("m", modulo=1, suffix="x" * 300)],
}


def record_vectors():
    shape = SHAPES[1]
    all_bytes = pool(shape)
    vectors = []
    for name, columns in RECORDS.items():
        made, checks = [], []
        for i, index in enumerate(INDEXES):
            v = VERSIONS[i % len(VERSIONS)]
            made.append({"index": word(index), "version": word(v), "record": record(shape, all_bytes, columns, index, v).hex()})

        def check(what, index, bytes_read, right, of_version=0):
            checks.append({"name": what, "index": word(index), "record": bytes_read.hex(), "right": right, "version": word(of_version)})

        v = version(3, 2, 1)
        good = record(shape, all_bytes, columns, 77, v)
        proven = v if any("proof" in c for c in columns) else 0
        check("right", 77, good, True, proven)
        check("one byte more", 77, good + b"\0", False)
        check("one byte less", 77, good[:-1], False)
        check("a column more", 77, good + b"\0\0", False)
        check("nothing", 77, b"", False)
        check("a length that is too long", 77, b"\xff\xff" + good[2:], False)
        if len(good) > 2:
            check("a changed byte", 77, good[:2] + bytes([good[2] ^ 128]) + good[3:], False)
            check("another record's", 78, good, False)
        if columns[0].get("counter"):
            for digits in (b"1", b"10", b"999999999999999999"):
                check(f"counted to {digits.decode()}", 77, struct.pack("<H", len(digits)) + digits + good[3:], True, proven)
            for digits in (b"", b"01", b"-1", b"1 ", b"1000000000000000000"):
                check(f"no number: {digits.decode()!r}", 77, struct.pack("<H", len(digits)) + digits + good[3:], False)
        if any("stamp" in c for c in columns):
            other = record(shape, all_bytes, columns, 77, version(3, 2, 2))
            for at in range(len(good)):
                if good[at] != other[at]:
                    check(f"byte {at} of another write's", 77, good[:at] + other[at : at + 1] + good[at + 1 :], False)
                    break
            check("stamps of another write before the proof", 77, other[:9] + good[9:], False)
            check("stamps of another write behind the proof", 77, good[:50] + other[50:], False)
        vectors.append({"name": name, "shape": shape_json(shape), "columns": columns, "records": made, "checks": checks})
    return vectors


def bucket_vectors():
    values = {0, 1, 127, 128, 255, 256, 257, 258, 511, 512, 1000, 10**6, 10**9, 10**12, (1 << 42) - 1, 1 << 42, WORD}
    for e in range(7, 43):
        values |= {(1 << e) - 1, 1 << e, (1 << e) + 1, (1 << e) + (1 << (e - 1)), (1 << e) + (1 << max(e - 7, 0))}
    return [{"value": word(v), "bucket": bucket(v)} for v in sorted(values)]


def trace_vectors():
    def e(operation, index=0, size_class=0, grows=False, member=False, recorded=False):
        return {
            "operation": operation,
            "index": index,
            "size_class": size_class,
            "grows": grows,
            "member": member,
            "recorded": recorded,
        }

    every = {
        "flags": 5,
        "groups": 2,
        "seed": 0x1122334455667788,
        "operations": list(range(1, 11)),
        "queries": [0] * 10,
        "amounts": [100, 3, 24, 0, 50, 4294967295],
        "threads": [
            {
                "entries": [
                    e(1, 5, recorded=True),
                    e(2, 1000, 0, True),
                    e(3, (1 << 48) - 1, 2, recorded=True),
                    e(4, 7, 3),
                    e(5, 8),
                    e(6, 9, 4),
                    e(7, 0, 1, recorded=True),
                    e(2, 1001, 0, True, True),
                    e(3, 3, 2, False, True, recorded=True),
                    e(5, 4, 0, False, True),
                    e(8, 11, 0),
                    e(9, 12, 0),
                    e(10, 1002, 0, True),
                ],
                "stride": 30,
                "due": [0, 10, 10, 20, 30, 40, 50, 50, 50, 50, 60, 70, 80],
                "lap_ns": 90,
                "group": 1,
                "endpoint": 3,
                "limit": 19,
                "from_ns": 500,
                "until_ns": 1 << 40,
            },
            {"entries": [], "due": []},
            {"entries": [e(1, 1000, 0, True)], "stride": 2, "due": [5], "lap_ns": 1000, "limit": 0},
        ],
    }
    verify = {
        "flags": 2,
        "groups": 1,
        "seed": 0,
        "operations": [1],
        "queries": [0],
        "amounts": [],
        "threads": [{"entries": [e(1, 0), e(1, 1)], "limit": 2}, {"entries": [e(1, 2)], "limit": 1}],
    }
    requests = {
        "flags": 5,
        "groups": 1,
        "seed": 5,
        "operations": [1, 2, 3, 9, 13, 14, 15],
        "queries": [0] * 7,
        "amounts": [300, 600, 3, 4],
        "threads": [
            {
                "entries": [
                    e(2, 1000, 0, True),
                    e(1, 1000, 0, True),
                    e(3, 1000, 1, True),
                    e(14, 1000, 2, True),
                    e(1, 4, recorded=True),
                    e(9, 4, 1, recorded=True),
                    e(13, 4, recorded=True),
                    e(15, 4, recorded=True),
                    e(14, 4, 3),
                ],
                "stride": 1,
                "due": [5, 5, 5, 5, 90, 90, 90, 90, 90],
                "lap_ns": 100,
                "limit": 22,
            },
        ],
    }
    questions = {
        "flags": 0,
        "groups": 1,
        "seed": 6,
        "operations": [1, 11, 11, 12, 16],
        "queries": [0, 0, 63, 5, 0],
        "amounts": [63, 5, 0],
        "threads": [{"entries": [e(11, 3, 2), e(1, 4, 2), e(12, 5, 1), e(11, 6, 0), e(16, 7, 2), e(11, 8, 2)], "limit": 7}],
    }
    vectors = []
    for name, t in (("every feature", every), ("verify phase", verify), ("requests", requests), ("questions", questions)):
        data = trace_file(t)
        walks = []
        for thread in t["threads"]:
            n = len(thread["entries"])
            walk = []
            for sequence in range(3 * n):
                e_ = thread["entries"][sequence % n]
                lap = sequence // n
                walk.append(word(e_["index"] + (lap * thread.get("stride", 0) if e_["grows"] else 0)))
            walks.append(walk)
        threads = [dict(thread, entries=[word(entry(e_)) for e_ in thread["entries"]]) for thread in t["threads"]]
        vectors.append(
            {
                "name": name,
                "trace": dict(t, seed=word(t["seed"]), threads=threads),
                "effective_indexes": walks,
                "bytes": len(data),
                # Header and amounts are mostly zeros: from each offset, the bytes up to the next run of zeros.
                "file": sparse(data),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
        )
    return vectors


def sparse(data):
    """The 64-byte blocks that are not all zeros, by offset."""
    blocks = {}
    for at in range(0, len(data), 64):
        if any(data[at : at + 64]):
            blocks[str(at)] = data[at : at + 64].hex()
    return blocks


def version_vectors():
    triples = [(0, 0, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (3, 2, 1), (255, 65535, (1 << 40) - 1), (128, 32768, 1 << 39)]
    return [{"phase": p, "thread": t, "sequence": s, "version": word(version(p, t, s))} for p, t, s in triples]


def counters_vectors():
    return [
        counters_layout(1, 1, False, 0),
        counters_layout(3, 2, False, 0),
        counters_layout(2, 10, True, 0),
        counters_layout(2, 1, False, 3),
        counters_layout(2, 3, True, 0, True),
    ]


def history_vectors():
    def r(begin, end, sequence, outcome, read):
        return {"begin_ns": begin, "end_ns": end, "sequence": sequence, "outcome": outcome, "read": read}

    not_read = WORD - 3
    files = [
        {"records_each": 4, "threads": [{"dropped": 0, "records": []}]},
        {
            "records_each": 8,
            "threads": [
                {
                    "dropped": 0,
                    "records": [
                        r(0, 250, 0, 0, version(1, 0, 3)),
                        r(250, 400, 1, 0, not_read),
                        r(400, 1 << 40, (1 << 40) - 1, 6, not_read),
                    ],
                },
                {"dropped": 3, "records": [r(10 * i, 10 * i + 9, i, i % 7, WORD - i % 6) for i in range(8)]},
            ],
        },
    ]
    vectors = []
    for h in files:
        data = history_file(h)
        area = 128 + 32 * h["records_each"]
        threads = [dict(t, records=[dict(x, read=word(x["read"])) for x in t["records"]]) for t in h["threads"]]
        vectors.append(
            {
                "records_each": h["records_each"],
                "threads": threads,
                "thread_offsets": [4096 + i * area for i in range(len(threads))],
                "bytes": len(data),
                "file": sparse(data),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
        )
    return vectors


VECTORS = {
    "mix": mix_vectors,
    "keys": key_vectors,
    "pool": pool_vectors,
    "values": value_vectors,
    "short_values": short_value_vectors,
    "checks": check_vectors,
    "versions": version_vectors,
    "buckets": bucket_vectors,
    "traces": trace_vectors,
    "counters": counters_vectors,
    "records": record_vectors,
    "history": history_vectors,
}


def main():
    directory = pathlib.Path(sys.argv[1])
    for name, make in VECTORS.items():
        text = json.dumps(make(), indent=1, ensure_ascii=True)
        (directory / f"{name}.json").write_text(text + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
