/* The compiled half of brim.relevance.term_spread: what a term gives to entries, and what of it reaches their neighbours.
 *
 * The same sums in the same order as in plain Python, so that a plan does not depend on a compiler.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>

typedef struct {
    Py_ssize_t entries, touched;
    double *best;            /* what reaches each entry; one more, which nothing does */
    Py_ssize_t *order;       /* the entries that something reaches */
    const double *decay;
    const unsigned char *kinds;
    int asks;
    double answer, faintest;
} Spread;

static double step(const Spread *s, Py_ssize_t entry)
{
    return entry < s->entries ? s->decay[entry] : 0.0;
}

static void reach(Spread *s, Py_ssize_t entry, double value)
{
    if (s->best[entry] == 0.0)
        s->order[s->touched++] = entry;
    s->best[entry] = value;
}

static void spread(Spread *s, Py_ssize_t from, double value)
{
    double faintest = value * s->faintest;
    Py_ssize_t at = from + 1;
    double carried = (s->kinds[from] & s->asks ? value * s->answer : value) * step(s, at);
    while (at < s->entries && carried >= faintest && s->best[at] < carried) {
        reach(s, at, carried);
        carried *= step(s, ++at);
    }
    at = from;
    carried = value * step(s, at);
    while (at > 0 && carried >= faintest && s->best[at - 1] < carried) {
        reach(s, --at, carried);
        carried *= step(s, at);
    }
}

static int read_hit(const Spread *s, PyObject *number, PyObject *found, Py_ssize_t *entry, double *value)
{
    *entry = PyLong_AsSsize_t(number);
    *value = PyFloat_AsDouble(found);
    if (PyErr_Occurred())
        return -1;
    if (*entry < 0 || *entry >= s->entries) {
        PyErr_SetString(PyExc_IndexError, "no such entry");
        return -1;
    }
    return 0;
}

static int spread_all(Spread *s, PyObject *hits, double *totals)
{
    PyObject *number, *found;
    Py_ssize_t at = 0, entry;
    double value;
    while (PyDict_Next(hits, &at, &number, &found)) {
        if (read_hit(s, number, found, &entry, &value) < 0)
            return -1;
        if (value > 0.0)
            reach(s, entry, value);
    }
    at = 0;
    while (PyDict_Next(hits, &at, &number, &found)) {
        if (read_hit(s, number, found, &entry, &value) < 0)
            return -1;
        spread(s, entry, value);
    }
    for (Py_ssize_t n = 0; n < s->touched; n++)
        totals[s->order[n]] += s->best[s->order[n]];
    return 0;
}

/* Look at what was given, and make room; 0 with an error if something is missing. */
static int start(Spread *s, const Py_buffer *decay, const Py_buffer *kinds, Py_ssize_t entries)
{
    s->entries = entries;
    s->decay = decay->buf;
    s->kinds = kinds->buf;
    if (decay->len != s->entries * (Py_ssize_t)sizeof(double) || kinds->len != s->entries)
        PyErr_SetString(PyExc_ValueError, "one step and one kind are needed for every entry");
    else {
        s->best = PyMem_Calloc((size_t)s->entries + 1, sizeof *s->best);
        s->order = PyMem_Malloc(((size_t)s->entries + 1) * sizeof *s->order);
        if (s->best != NULL && s->order != NULL)
            return 1;
        PyErr_NoMemory();
    }
    return 0;
}

static void finish(Spread *s, Py_buffer *decay, Py_buffer *kinds)
{
    PyMem_Free(s->best);
    PyMem_Free(s->order);
    PyBuffer_Release(decay);
    PyBuffer_Release(kinds);
}

static PyObject *share(PyObject *self, PyObject *args)
{
    PyObject *hits;
    Py_buffer totals, decay, kinds;
    Spread s = {0};
    if (!PyArg_ParseTuple(args, "O!w*y*y*idd", &PyDict_Type, &hits, &totals, &decay, &kinds, &s.asks, &s.answer,
                          &s.faintest))
        return NULL;
    int failed = !start(&s, &decay, &kinds, totals.len / (Py_ssize_t)sizeof(double)) ||
                 spread_all(&s, hits, totals.buf) < 0;
    finish(&s, &decay, &kinds);
    PyBuffer_Release(&totals);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- what a term gives ---------------------------------------------------------------------------- */

typedef struct {
    const int64_t *lengths;
    double flat, slope, most;
} Bm25;

/* Take over what a term gives to the entries that hold it, where it is more than what they have. */
static int take_hits(Spread *s, const Bm25 *b, PyObject *held, double weight)
{
    Py_ssize_t size = PyList_GET_SIZE(held), holders = 0;
    Py_ssize_t before = -1, entry;
    for (Py_ssize_t n = 0; n < size; n++, before = entry) {
        entry = PyLong_AsSsize_t(PyList_GET_ITEM(held, n));
        if (entry == -1 && PyErr_Occurred())
            return -1;
        if (entry < 0 || entry >= s->entries || entry < before) {
            PyErr_SetString(PyExc_IndexError, "no such entry, or not in order");
            return -1;
        }
        holders += entry != before;
    }
    double rarity = log(1 + ((double)(s->entries - holders) + 0.5) / ((double)holders + 0.5));
    double top = weight * rarity * b->most;
    for (Py_ssize_t n = 0; n < size;) {
        entry = PyLong_AsSsize_t(PyList_GET_ITEM(held, n));
        double count = 0;
        for (; n < size && PyLong_AsSsize_t(PyList_GET_ITEM(held, n)) == entry; n++)
            count++;
        double value = top * count / (count + b->flat + b->slope * (double)b->lengths[entry]);
        if (value > s->best[entry])
            reach(s, entry, value);
    }
    return 0;
}

static int gather_all(Spread *s, const Bm25 *b, PyObject *found, double widest, double *totals, double *roots)
{
    for (Py_ssize_t n = 0; n < PyList_GET_SIZE(found); n++) {
        PyObject *held;
        double weight;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(found, n), "O!d", &PyList_Type, &held, &weight) ||
            take_hits(s, b, held, weight) < 0)
            return -1;
    }
    Py_ssize_t hits = s->touched;
    if ((double)hits <= widest) {
        double *values = PyMem_Malloc(((size_t)hits + 1) * sizeof *values);
        if (values == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        for (Py_ssize_t n = 0; n < hits; n++)
            values[n] = s->best[s->order[n]]; /* neighbours may raise them */
        for (Py_ssize_t n = 0; n < hits; n++)
            spread(s, s->order[n], values[n]);
        PyMem_Free(values);
    }
    for (Py_ssize_t n = 0; n < s->touched; n++) {
        Py_ssize_t entry = s->order[n];
        totals[entry] += s->best[entry];
        roots[entry] += sqrt(s->best[entry]);
    }
    return 0;
}

static PyObject *gather(PyObject *self, PyObject *args)
{
    PyObject *found;
    Py_buffer totals, roots, lengths, decay, kinds;
    Spread s = {0};
    Bm25 b;
    double widest;
    if (!PyArg_ParseTuple(args, "O!w*w*y*y*y*ddddidd", &PyList_Type, &found, &totals, &roots, &lengths, &decay, &kinds,
                          &b.flat, &b.slope, &b.most, &widest, &s.asks, &s.answer, &s.faintest))
        return NULL;
    int failed = 1;
    b.lengths = lengths.buf;
    if (start(&s, &decay, &kinds, totals.len / (Py_ssize_t)sizeof(double))) {
        if (lengths.len != s.entries * (Py_ssize_t)sizeof(int64_t) || roots.len != totals.len)
            PyErr_SetString(PyExc_ValueError, "one length and one root are needed for every entry");
        else
            failed = gather_all(&s, &b, found, widest, totals.buf, roots.buf) < 0;
    }
    finish(&s, &decay, &kinds);
    PyBuffer_Release(&lengths);
    PyBuffer_Release(&roots);
    PyBuffer_Release(&totals);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- whole columns -------------------------------------------------------------------------------- */

static PyObject *meet(PyObject *self, PyObject *args)
{
    Py_buffer totals, roots;
    double together;
    if (!PyArg_ParseTuple(args, "w*y*d", &totals, &roots, &together))
        return NULL;
    int good = totals.len == roots.len;
    double *total = totals.buf;
    const double *root = roots.buf;
    for (Py_ssize_t n = 0; good && n < totals.len / (Py_ssize_t)sizeof *total; n++)
        total[n] = total[n] + together * (root[n] * root[n] - total[n]) / 2;
    PyBuffer_Release(&totals);
    PyBuffer_Release(&roots);
    if (good)
        Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "one root is needed for every entry");
    return NULL;
}

static PyObject *raise_kinds(PyObject *self, PyObject *args)
{
    Py_buffer totals, kinds, gains;
    double least;
    if (!PyArg_ParseTuple(args, "w*y*y*d", &totals, &kinds, &gains, &least))
        return NULL;
    double *total = totals.buf;
    const double *gain = gains.buf;
    const unsigned char *kind = kinds.buf;
    Py_ssize_t size = totals.len / (Py_ssize_t)sizeof *total, all = gains.len / (Py_ssize_t)sizeof *gain;
    int good = kinds.len == size;
    for (Py_ssize_t n = 0; good && n < size; n++)
        if ((good = kind[n] < all))
            total[n] = (total[n] + least) * gain[kind[n]];
    PyBuffer_Release(&totals);
    PyBuffer_Release(&kinds);
    PyBuffer_Release(&gains);
    if (good)
        Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "one kind with a gain is needed for every entry");
    return NULL;
}

static PyObject *scale(PyObject *self, PyObject *args)
{
    Py_buffer totals;
    if (!PyArg_ParseTuple(args, "w*", &totals))
        return NULL;
    double *total = totals.buf, top = 0.0;
    Py_ssize_t size = totals.len / (Py_ssize_t)sizeof *total;
    for (Py_ssize_t n = 0; n < size; n++)
        top = total[n] > top ? total[n] : top;
    for (Py_ssize_t n = 0; top > 0.0 && n < size; n++)
        total[n] /= top;
    PyBuffer_Release(&totals);
    return PyBool_FromLong(top > 0.0);
}

/* Whether one entry stands before another: by rank, and of equal ones the newer. */
static int before(const double *ranks, Py_ssize_t one, Py_ssize_t other)
{
    return ranks[one] > ranks[other] || (ranks[one] == ranks[other] && one > other);
}

static void sink(const double *ranks, Py_ssize_t *heap, Py_ssize_t size, Py_ssize_t at)
{
    for (Py_ssize_t entry = heap[at], child; (child = 2 * at + 1) < size; at = child) {
        child += child + 1 < size && before(ranks, heap[child + 1], heap[child]);
        if (!before(ranks, heap[child], entry))
            return;
        heap[at] = heap[child];
        heap[child] = entry;
    }
}

/* Add the best entries to `chosen`, best first, until one is larger than what is left. */
static int choose(const double *ranks, PyObject *lengths, Py_ssize_t *heap, double left, PyObject *chosen)
{
    Py_ssize_t size = PyList_GET_SIZE(lengths);
    for (Py_ssize_t n = 0; n < size; n++)
        heap[n] = n;
    for (Py_ssize_t n = size / 2; n-- > 0;)
        sink(ranks, heap, size, n);
    while (size) {
        PyObject *entry = PyLong_FromSsize_t(heap[0]);
        int held = entry == NULL ? -1 : PySet_Contains(chosen, entry);
        if (held == 0) {
            double length = PyFloat_AsDouble(PyList_GET_ITEM(lengths, heap[0]));
            left -= length;
            if (left < 0 || PyErr_Occurred())
                size = 1; /* the last */
            else
                held = PySet_Add(chosen, entry);
        }
        Py_XDECREF(entry);
        if (held < 0 || PyErr_Occurred())
            return -1;
        heap[0] = heap[--size];
        sink(ranks, heap, size, 0);
    }
    return 0;
}

static PyObject *choose_best(PyObject *self, PyObject *args)
{
    PyObject *lengths, *chosen;
    Py_buffer ranks;
    double left;
    if (!PyArg_ParseTuple(args, "y*O!dO!", &ranks, &PyList_Type, &lengths, &left, &PySet_Type, &chosen))
        return NULL;
    int failed = 1;
    Py_ssize_t *heap = NULL, size = PyList_GET_SIZE(lengths);
    if (ranks.len != size * (Py_ssize_t)sizeof(double))
        PyErr_SetString(PyExc_ValueError, "one rank is needed for every length");
    else if ((heap = PyMem_Malloc(((size_t)size + 1) * sizeof *heap)) == NULL)
        PyErr_NoMemory();
    else
        failed = choose(ranks.buf, lengths, heap, left, chosen) < 0;
    PyMem_Free(heap);
    PyBuffer_Release(&ranks);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

/* Fill the columns of texts that nobody has read. */
static int fill(PyObject *texts, const Py_buffer *steps, double least, int64_t *lengths, int64_t *tokens, double *decay,
                int64_t *totals)
{
    Py_ssize_t far = steps->len / (Py_ssize_t)sizeof(double);
    int64_t before = 0;
    for (Py_ssize_t n = 0; n < PyList_GET_SIZE(texts); n++) {
        PyObject *text = PyList_GET_ITEM(texts, n);
        if (!PyUnicode_Check(text)) {
            PyErr_SetString(PyExc_TypeError, "texts must be strings");
            return -1;
        }
        int64_t length = PyUnicode_GET_LENGTH(text), few = length / 4 ? length / 4 : 1, both = few + before;
        lengths[n] = length;
        tokens[n] = few;
        decay[n] = n == 0 ? 0.0 : both < far ? ((const double *)steps->buf)[both] : least;
        totals[0] += length;
        totals[1] += few;
        before = few;
    }
    return 0;
}

static PyObject *columns(PyObject *self, PyObject *args)
{
    PyObject *texts;
    Py_buffer steps, lengths, tokens, decay;
    double least;
    int64_t totals[2] = {0, 0};
    if (!PyArg_ParseTuple(args, "O!y*dw*w*w*", &PyList_Type, &texts, &steps, &least, &lengths, &tokens, &decay))
        return NULL;
    Py_ssize_t size = PyList_GET_SIZE(texts) * 8;
    int failed = 1;
    if (lengths.len != size || tokens.len != size || decay.len != size)
        PyErr_SetString(PyExc_ValueError, "one place is needed for every text");
    else
        failed = fill(texts, &steps, least, lengths.buf, tokens.buf, decay.buf, totals) < 0;
    PyBuffer_Release(&steps);
    PyBuffer_Release(&lengths);
    PyBuffer_Release(&tokens);
    PyBuffer_Release(&decay);
    return failed ? NULL : Py_BuildValue("(LL)", (long long)totals[0], (long long)totals[1]);
}

static PyMethodDef methods[] = {
    {"gather", gather, METH_VARARGS,
     "gather(found, totals, roots, lengths, decay, kinds, flat, slope, most, widest, asks, answer, faintest): add what a "
     "term and those related to it give to the totals, and the roots of that to the roots."},
    {"meet", meet, METH_VARARGS,
     "meet(totals, roots, together): add to each total what its terms give for being together."},
    {"raise_kinds", raise_kinds, METH_VARARGS,
     "raise_kinds(totals, kinds, gains, least): add the least to each total, times the gain of its kind."},
    {"scale", scale, METH_VARARGS, "scale(totals): divide them by the largest; whether it is above 0."},
    {"choose_best", choose_best, METH_VARARGS,
     "choose_best(ranks, lengths, left, chosen): add the best entries to the set while they are no longer than what is "
     "left."},
    {"columns", columns, METH_VARARGS,
     "columns(texts, steps, least, lengths, tokens, decay): fill the last three with the lengths of texts, about their "
     "tokens and the steps between them; returns the sums of the first two."},
    {"share", share, METH_VARARGS,
     "share(hits, totals, decay, kinds, asks, answer, faintest): add hits to the totals; neighbours get what is left on "
     "the way."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "brim.relevance._share", NULL, 0, methods};

PyMODINIT_FUNC PyInit__share(void)
{
    return PyModule_Create(&module);
}
