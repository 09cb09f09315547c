/* The compiled half of brim.plan.relevance.share: what a term gives to entries, and what of it reaches their neighbours.
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

static int add(PyObject *list, Py_ssize_t at, double more)
{
    double before = PyFloat_AsDouble(PyList_GET_ITEM(list, at));
    PyObject *sum = PyErr_Occurred() ? NULL : PyFloat_FromDouble(before + more);
    return sum == NULL ? -1 : PyList_SetItem(list, at, sum);
}

static int spread_all(Spread *s, PyObject *hits, PyObject *totals)
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
        if (add(totals, s->order[n], s->best[s->order[n]]) < 0)
            return -1;
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
    PyObject *hits, *totals;
    Py_buffer decay, kinds;
    Spread s = {0};
    if (!PyArg_ParseTuple(args, "O!O!y*y*idd", &PyDict_Type, &hits, &PyList_Type, &totals, &decay, &kinds, &s.asks,
                          &s.answer, &s.faintest))
        return NULL;
    int failed = !start(&s, &decay, &kinds, PyList_GET_SIZE(totals)) || spread_all(&s, hits, totals) < 0;
    finish(&s, &decay, &kinds);
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

/* ---- the columns of texts that nobody has read ---------------------------------------------------- */

static PyObject *columns(PyObject *self, PyObject *args)
{
    PyObject *texts, *lengths = NULL, *tokens = NULL, *decay = NULL, *all = NULL;
    Py_buffer steps;
    double least;
    if (!PyArg_ParseTuple(args, "O!y*d", &PyList_Type, &texts, &steps, &least))
        return NULL;
    Py_ssize_t size = PyList_GET_SIZE(texts), far = steps.len / (Py_ssize_t)sizeof(double);
    int64_t total_length = 0, total_tokens = 0, before = 0;
    lengths = PyBytes_FromStringAndSize(NULL, size * (Py_ssize_t)sizeof(int64_t));
    tokens = PyBytes_FromStringAndSize(NULL, size * (Py_ssize_t)sizeof(int64_t));
    decay = PyBytes_FromStringAndSize(NULL, size * (Py_ssize_t)sizeof(double));
    int good = lengths && tokens && decay;
    for (Py_ssize_t n = 0; good && n < size; n++) {
        PyObject *text = PyList_GET_ITEM(texts, n);
        if (!PyUnicode_Check(text)) {
            PyErr_SetString(PyExc_TypeError, "texts must be strings");
            good = 0;
            break;
        }
        int64_t length = PyUnicode_GET_LENGTH(text), few = length / 4 ? length / 4 : 1, both = few + before;
        ((int64_t *)PyBytes_AS_STRING(lengths))[n] = length;
        ((int64_t *)PyBytes_AS_STRING(tokens))[n] = few;
        ((double *)PyBytes_AS_STRING(decay))[n] = n == 0 ? 0.0 : both < far ? ((double *)steps.buf)[both] : least;
        total_length += length;
        total_tokens += few;
        before = few;
    }
    if (good)
        all = Py_BuildValue("(OOOLL)", lengths, tokens, decay, (long long)total_length, (long long)total_tokens);
    Py_XDECREF(lengths);
    Py_XDECREF(tokens);
    Py_XDECREF(decay);
    PyBuffer_Release(&steps);
    return all;
}

static PyMethodDef methods[] = {
    {"gather", gather, METH_VARARGS,
     "gather(found, totals, roots, lengths, decay, kinds, flat, slope, most, widest, asks, answer, faintest): add what a "
     "term and those related to it give to the totals, and the roots of that to the roots."},
    {"columns", columns, METH_VARARGS,
     "columns(texts, steps, least): the lengths of texts, about their tokens and the steps between them, as bytes of "
     "arrays, and the sums of the first two."},
    {"share", share, METH_VARARGS,
     "share(hits, totals, decay, kinds, asks, answer, faintest): add hits to the totals; neighbours get what is left on "
     "the way."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "brim.plan.relevance._share", NULL, 0, methods};

PyMODINIT_FUNC PyInit__share(void)
{
    return PyModule_Create(&module);
}
