"""Near-duplicate removal written as slowly and plainly as can be, with numpy: what the fast one is compared with.

Standard input: {"dimension", "rows": base64 of float32, "others": the same, "threshold"}. Rows stand in the order of ids.
"""

import base64
import json
import sys

import numpy

given = json.load(sys.stdin)


def table(text):
    return numpy.frombuffer(base64.b64decode(text), "<f4").reshape(-1, given["dimension"]).astype(numpy.float64)


rows, others = table(given["rows"]), table(given["others"])
limit = numpy.float32(given["threshold"])


def cosine(a, b):
    return numpy.float32((a * b).sum())


def greedy():
    kept, removed = [], []
    for row in range(len(rows)):
        pivot = next((pivot for pivot in kept if cosine(rows[pivot], rows[row]) > limit), None)
        if pivot is None:
            kept.append(row)
        else:
            removed.append([row, pivot, float(cosine(rows[pivot], rows[row]))])
    return removed


def components():
    near = [[j for j in range(len(rows)) if j != i and cosine(rows[i], rows[j]) > limit] for i in range(len(rows))]
    first = [None] * len(rows)
    for start in range(len(rows)):
        waiting = [start] if first[start] is None else []
        while waiting:
            row = waiting.pop()
            if first[row] is None:
                first[row] = start
                waiting += near[row]
    removed = []
    for row in range(len(rows)):
        if first[row] != row:
            pivot = max(near[row], key=lambda j: (cosine(rows[row], rows[j]), -j))
            removed.append([row, pivot, float(cosine(rows[row], rows[pivot])), first[row]])
    return removed


def nearest():
    found = []
    for row in range(len(rows)):
        cosines = [cosine(rows[row], other) for other in others]
        best = int(numpy.argmax(cosines))
        if cosines[best] > limit:
            found.append([row, best, float(cosines[best])])
    return found


# What Unicode folds to the same: every character with another folded form that this Python knows.
folds = [
    [chr(code), chr(code).casefold()]
    for code in range(0x110000)
    if not 0xD800 <= code < 0xE000 and chr(code).casefold() != chr(code)
]
print(json.dumps({"greedy": greedy(), "components": components(), "nearest": nearest(), "folds": folds}))
