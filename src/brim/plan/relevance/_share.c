/* The compiled half of brim.plan.relevance.share: what entries are found by reaches their neighbours.
 *
 * The same sums in the same order as in plain Python, so that a plan does not depend on a compiler.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

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
    for (Py_ssize_t n = 0; n < s->touched; n++) {
        double before = PyFloat_AsDouble(PyList_GET_ITEM(totals, s->order[n]));
        PyObject *sum = PyFloat_FromDouble(before + s->best[s->order[n]]);
        if (sum == NULL || PyErr_Occurred()) {
            Py_XDECREF(sum);
            return -1;
        }
        PyList_SetItem(totals, s->order[n], sum);
    }
    return 0;
}

static PyObject *share(PyObject *self, PyObject *args)
{
    PyObject *hits, *totals;
    Py_buffer decay, kinds;
    Spread s = {0};
    if (!PyArg_ParseTuple(args, "O!O!y*y*idd", &PyDict_Type, &hits, &PyList_Type, &totals, &decay, &kinds, &s.asks,
                          &s.answer, &s.faintest))
        return NULL;
    int failed = 1;
    s.entries = PyList_GET_SIZE(totals);
    s.decay = decay.buf;
    s.kinds = kinds.buf;
    if (decay.len != s.entries * (Py_ssize_t)sizeof(double) || kinds.len != s.entries)
        PyErr_SetString(PyExc_ValueError, "one step and one kind are needed for every entry");
    else {
        s.best = PyMem_Calloc((size_t)s.entries + 1, sizeof *s.best);
        s.order = PyMem_Malloc(((size_t)s.entries + 1) * sizeof *s.order);
        if (s.best == NULL || s.order == NULL)
            PyErr_NoMemory();
        else
            failed = spread_all(&s, hits, totals) < 0;
    }
    PyMem_Free(s.best);
    PyMem_Free(s.order);
    PyBuffer_Release(&decay);
    PyBuffer_Release(&kinds);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"share", share, METH_VARARGS,
     "share(hits, totals, decay, kinds, asks, answer, faintest): add hits to the totals, a neighbour's with what is left."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "brim.plan.relevance._share", NULL, 0, methods};

PyMODINIT_FUNC PyInit__share(void)
{
    return PyModule_Create(&module);
}
