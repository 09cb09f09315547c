/* The vocabulary as a trie of reversed pieces, and the cheapest tiling of a stream of symbols over it. */
#ifndef BRIM_CLAUDE_TILES_H
#define BRIM_CLAUDE_TILES_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

enum {
    PLANE = 0x10000,           /* the tables cover the basic plane: everything above is an ideograph */
    BLOCKS = 0x110000 >> 6,
    RING = 256                 /* a power of two, above the length of the longest piece */
};

typedef struct {
    PyObject_HEAD
    PyObject *kinds_bytes, *lower_bytes, *floors_bytes; /* own the memory behind the next three */
    const uint8_t *kinds;      /* kind | flags of each code point */
    const uint8_t *lower;      /* small form of each code point, 16 bits, native order */
    const uint8_t *floors;     /* tokens of a character that is no piece, by block of 64 */
    uint32_t *roots;           /* node of each last character, 0 for none */
    uint32_t *children;        /* children of node i are children[i] .. children[i + 1] */
    uint16_t *labels;
    uint8_t *ends;             /* whether a piece starts here (the trie runs backwards) */
    int fold_quotes;
    Py_ssize_t caps_from;      /* shortest all-capital word that takes a marker, 0 for none */
} Vocabulary;

/* ---- the trie ------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t low, high;        /* the pieces below a node */
    uint32_t depth;
} Range;

typedef struct {
    const Py_UCS2 *text;
    uint32_t *from, *to;       /* where each piece stands in `text` */
    uint32_t count;
} Pieces;

static int split_pieces(Pieces *pieces, const Py_UCS2 *text, Py_ssize_t length)
{
    uint32_t count = 1;
    for (Py_ssize_t i = 0; i < length; i++)
        count += text[i] == 0;
    pieces->text = text;
    pieces->from = PyMem_Malloc(count * sizeof(uint32_t));
    pieces->to = PyMem_Malloc(count * sizeof(uint32_t));
    if (!pieces->from || !pieces->to) {
        PyErr_NoMemory();
        return -1;
    }
    pieces->count = 0;
    Py_ssize_t start = 0;
    for (Py_ssize_t i = 0; i <= length; i++) {
        if (i < length && text[i] != 0)
            continue;
        if (i == start || i - start >= RING) {
            PyErr_SetString(PyExc_ValueError, "a piece is empty or too long");
            return -1;
        }
        pieces->from[pieces->count] = (uint32_t)start;
        pieces->to[pieces->count++] = (uint32_t)i;
        start = i + 1;
    }
    return 0;
}

/* Breadth first, so that the children of a node lie side by side. `ranges` has room for every node. */
static uint32_t grow_trie(Vocabulary *v, const Pieces *pieces, Range *ranges)
{
    uint32_t nodes = 1;
    ranges[0] = (Range){0, pieces->count, 0};
    for (uint32_t node = 0; node < nodes; node++) {
        Range range = ranges[node];
        v->children[node] = nodes;
        v->ends[node] = 0;
        for (uint32_t i = range.low; i < range.high; i++) {
            if (pieces->to[i] - pieces->from[i] == range.depth) {
                v->ends[node] = 1;
                continue;
            }
            uint16_t label = pieces->text[pieces->to[i] - 1 - range.depth];
            if (nodes > v->children[node] && v->labels[nodes - 1] == label) {
                ranges[nodes - 1].high = i + 1;
                continue;
            }
            v->labels[nodes] = label;
            ranges[nodes++] = (Range){i, i + 1, range.depth + 1};
        }
    }
    v->children[nodes] = nodes;
    for (uint32_t i = v->children[0]; i < v->children[1]; i++)
        v->roots[v->labels[i]] = i;
    return nodes;
}

static int build_trie(Vocabulary *v, PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    if (PyUnicode_KIND(text) != PyUnicode_2BYTE_KIND || length > 0x7FFFFFF) {
        PyErr_SetString(PyExc_ValueError, "pieces must be text of the basic plane");
        return -1;
    }
    Pieces pieces = {0};
    Range *ranges = PyMem_Malloc((size_t)(length + 2) * sizeof(Range));
    v->roots = PyMem_Calloc(PLANE, sizeof(uint32_t));
    v->children = PyMem_Malloc((size_t)(length + 3) * sizeof(uint32_t));
    v->labels = PyMem_Calloc((size_t)(length + 2), sizeof(uint16_t));
    v->ends = PyMem_Calloc((size_t)(length + 2), 1);
    int failed = -1;
    if (!ranges || !v->roots || !v->children || !v->labels || !v->ends)
        PyErr_NoMemory();
    else if (split_pieces(&pieces, PyUnicode_2BYTE_DATA(text), length) == 0) {
        grow_trie(v, &pieces, ranges);
        failed = 0;
    }
    PyMem_Free(ranges);
    PyMem_Free(pieces.from);
    PyMem_Free(pieces.to);
    return failed;
}

static inline uint32_t child(const Vocabulary *v, uint32_t node, uint16_t label)
{
    uint32_t low = v->children[node], high = v->children[node + 1];
    while (high - low > 6) {
        uint32_t middle = low + (high - low) / 2;
        if (v->labels[middle] <= label)
            low = middle;
        else
            high = middle;
    }
    for (; low < high; low++)
        if (v->labels[low] == label)
            return low;
    return 0;
}

/* ---- the tiling ----------------------------------------------------------------------------------- */

typedef struct {
    const Vocabulary *v;
    Py_ssize_t at;             /* symbols so far */
    uint32_t last;             /* the newest symbol */
    uint16_t symbols[RING];    /* 0 where nothing was written: it is in no piece */
    Py_ssize_t best[RING];     /* fewest tokens for everything up to and with each symbol */
} Tiling;

static void tiling_start(Tiling *t, const Vocabulary *v)
{
    memset(t, 0, sizeof *t);
    t->v = v;
}

static inline Py_ssize_t tiling_total(const Tiling *t)
{
    return t->best[(t->at - 1) & (RING - 1)]; /* best[-1] is 0 at the start: the ring is all zeros */
}

static inline void push(Tiling *t, uint32_t symbol)
{
    const Vocabulary *v = t->v;
    Py_ssize_t before = tiling_total(t);
    uint32_t node = symbol < PLANE ? v->roots[symbol] : 0;
    Py_ssize_t best = before + (node && v->ends[node] ? 1 : v->floors[symbol >> 6]);
    Py_ssize_t at = t->at;
    for (Py_ssize_t back = 1; node; back++) {
        node = child(v, node, t->symbols[(at - back) & (RING - 1)]);
        if (node && v->ends[node]) {
            Py_ssize_t candidate = t->best[(at - back - 1) & (RING - 1)] + 1;
            if (candidate < best)
                best = candidate;
        }
    }
    t->symbols[at & (RING - 1)] = symbol < PLANE ? (uint16_t)symbol : 0;
    t->best[at & (RING - 1)] = best;
    t->last = symbol;
    t->at = at + 1;
}

/* The frame adds two newlines and pays for the last token of the run that they close. */
static Py_ssize_t count_tail(const Vocabulary *v, Py_ssize_t newlines)
{
    Tiling tiling;
    if (newlines == 0)
        return 0;
    tiling_start(&tiling, v);
    for (Py_ssize_t i = 0; i < newlines + 2; i++)
        push(&tiling, '\n');
    return tiling_total(&tiling) - 1;
}

#endif
