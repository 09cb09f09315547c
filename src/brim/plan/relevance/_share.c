/* The compiled half of brim.plan.relevance.share: what entries are found by reaches their neighbours.
 *
 * The same sums in the same order as in plain Python, so that a plan does not depend on a compiler.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>

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

static int spread_all(Spread *s, PyObject *hits, PyObject *totals, PyObject *roots)
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
        entry = s->order[n];
        if (add(totals, entry, s->best[entry]) < 0 || (roots != Py_None && add(roots, entry, sqrt(s->best[entry])) < 0))
            return -1;
    }
    return 0;
}

static PyObject *share(PyObject *self, PyObject *args)
{
    PyObject *hits, *totals, *roots;
    Py_buffer decay, kinds;
    Spread s = {0};
    if (!PyArg_ParseTuple(args, "O!O!Oy*y*idd", &PyDict_Type, &hits, &PyList_Type, &totals, &roots, &decay, &kinds,
                          &s.asks, &s.answer, &s.faintest))
        return NULL;
    int failed = 1;
    s.entries = PyList_GET_SIZE(totals);
    s.decay = decay.buf;
    s.kinds = kinds.buf;
    if (decay.len != s.entries * (Py_ssize_t)sizeof(double) || kinds.len != s.entries)
        PyErr_SetString(PyExc_ValueError, "one step and one kind are needed for every entry");
    else if (roots != Py_None && (!PyList_CheckExact(roots) || PyList_GET_SIZE(roots) != s.entries))
        PyErr_SetString(PyExc_ValueError, "roots must be a list with one number for every entry");
    else {
        s.best = PyMem_Calloc((size_t)s.entries + 1, sizeof *s.best);
        s.order = PyMem_Malloc(((size_t)s.entries + 1) * sizeof *s.order);
        if (s.best == NULL || s.order == NULL)
            PyErr_NoMemory();
        else
            failed = spread_all(&s, hits, totals, roots) < 0;
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
     "share(hits, totals, roots, decay, kinds, asks, answer, faintest): add hits to the totals, and their roots to the "
     "roots; neighbours get what is left on the way."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "brim.plan.relevance._share", NULL, 0, methods};

PyMODINIT_FUNC PyInit__share(void)
{
    return PyModule_Create(&module);
}
