/* The compiled half of brim.plan.relevance.find: which texts hold which strings, all of them in one pass.
 *
 * A string is looked at only where its first two characters stand, which a table of pairs tells. Characters are
 * 63 classes there, so that the table stays in the fastest memory; what a pair promises is compared in full.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

enum { TOGETHER = 64, CLASSES = 64, NOTHING = 63 };

/* So many strings as a word has bits, each by its ASCII bytes. */
typedef struct {
    int count;
    uint64_t empty;                    /* those of no character, which every text holds */
    const unsigned char *bytes[TOGETHER];
    Py_ssize_t length[TOGETHER];
    uint64_t pairs[CLASSES * CLASSES]; /* by two classes the strings that may begin there */
} Wanted;

static unsigned char lowered[256], class_of[256];

static void make_classes(void)
{
    for (int c = 0; c < 256; c++) {
        lowered[c] = (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        int low = lowered[c];
        class_of[c] = (unsigned char)(low >= 'a' && low <= 'z' ? low - 'a' : 26 + low % (NOTHING - 26));
    }
}

static int bit_of(uint64_t bits)
{
#if defined(__GNUC__)
    return __builtin_ctzll(bits);
#else
    int n = 0;
    while (!(bits >> n & 1))
        n++;
    return n;
#endif
}

static int stands_at(const unsigned char *text, const unsigned char *wanted, Py_ssize_t length)
{
    for (Py_ssize_t i = 0; i < length; i++)
        if (lowered[text[i]] != wanted[i])
            return 0;
    return 1;
}

/* Those of `open` that stand in an ASCII text, in any letter case. */
static uint64_t held(const Wanted *wanted, uint64_t open, const unsigned char *text, Py_ssize_t length)
{
    uint64_t found = wanted->empty, begun;
    int before = NOTHING;
    for (Py_ssize_t end = 0; end <= length; end++) {
        /* Past the end nothing stands: only strings of one character can begin at the last one. */
        int now = end < length ? class_of[text[end]] : NOTHING;
        begun = wanted->pairs[before * CLASSES + now] & open;
        before = now;
        while (begun) {
            int n = bit_of(begun);
            begun &= begun - 1;
            if (wanted->length[n] <= length - (end - 1) && stands_at(text + end - 1, wanted->bytes[n], wanted->length[n])) {
                found |= (uint64_t)1 << n;
                open &= ~((uint64_t)1 << n);
                if (!open)
                    return found;
            }
        }
    }
    return found;
}

static void want(Wanted *wanted, PyObject *strings, Py_ssize_t first)
{
    Py_ssize_t all = PyList_GET_SIZE(strings);
    memset(wanted, 0, sizeof *wanted);
    wanted->count = (int)(all - first < TOGETHER ? all - first : TOGETHER);
    for (int n = 0; n < wanted->count; n++) {
        PyObject *string = PyList_GET_ITEM(strings, first + n);
        uint64_t bit = (uint64_t)1 << n;
        if (!PyUnicode_IS_ASCII(string))
            continue;
        const unsigned char *bytes = PyUnicode_1BYTE_DATA(string);
        wanted->bytes[n] = bytes;
        wanted->length[n] = PyUnicode_GET_LENGTH(string);
        if (wanted->length[n] == 0)
            wanted->empty |= bit;
        else if (wanted->length[n] == 1)
            for (int next = 0; next < CLASSES; next++)
                wanted->pairs[class_of[bytes[0]] * CLASSES + next] |= bit;
        else
            wanted->pairs[class_of[bytes[0]] * CLASSES + class_of[bytes[1]]] |= bit;
    }
}

/* Those that stand in a text with other characters, in which the interpreter knows best what a small letter is. */
static int held_beyond_ascii(PyObject *text, PyObject *strings, Py_ssize_t first, int count, uint64_t *found)
{
    PyObject *low = PyObject_CallMethod(text, "lower", NULL);
    if (low == NULL)
        return -1;
    for (int n = 0; n < count; n++) {
        int in = PyUnicode_Contains(low, PyList_GET_ITEM(strings, first + n));
        if (in < 0) {
            Py_DECREF(low);
            return -1;
        }
        *found |= (uint64_t)in << n;
    }
    Py_DECREF(low);
    return 0;
}

static int note(PyObject *holders, Py_ssize_t first, uint64_t found, Py_ssize_t number)
{
    PyObject *counted = found ? PyLong_FromSsize_t(number) : NULL;
    while (found && counted != NULL) {
        if (PyList_Append(PyList_GET_ITEM(holders, first + bit_of(found)), counted) < 0)
            Py_CLEAR(counted);
        else
            found &= found - 1;
    }
    Py_XDECREF(counted);
    return found ? -1 : 0;
}

static int look(PyObject *texts, PyObject *strings, PyObject *holders)
{
    Wanted wanted;
    for (Py_ssize_t first = 0; first < PyList_GET_SIZE(strings); first += TOGETHER) {
        want(&wanted, strings, first);
        uint64_t every = wanted.count == TOGETHER ? ~(uint64_t)0 : ((uint64_t)1 << wanted.count) - 1;
        for (Py_ssize_t number = 0; number < PyList_GET_SIZE(texts); number++) {
            PyObject *text = PyList_GET_ITEM(texts, number);
            uint64_t found = 0;
            if (PyUnicode_IS_ASCII(text))
                found = held(&wanted, every, PyUnicode_1BYTE_DATA(text), PyUnicode_GET_LENGTH(text));
            else if (held_beyond_ascii(text, strings, first, wanted.count, &found) < 0)
                return -1;
            if (note(holders, first, found, number) < 0)
                return -1;
        }
    }
    return 0;
}

static int all_strings(PyObject *list, const char *what)
{
    for (Py_ssize_t n = 0; n < PyList_GET_SIZE(list); n++)
        if (!PyUnicode_CheckExact(PyList_GET_ITEM(list, n)) || PyUnicode_READY(PyList_GET_ITEM(list, n)) < 0) {
            PyErr_Format(PyExc_TypeError, "%s must be a list of strings", what);
            return 0;
        }
    return 1;
}

static PyObject *holders(PyObject *self, PyObject *args)
{
    PyObject *texts, *strings;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &texts, &PyList_Type, &strings))
        return NULL;
    if (!all_strings(texts, "texts") || !all_strings(strings, "strings"))
        return NULL;
    PyObject *found = PyList_New(PyList_GET_SIZE(strings));
    for (Py_ssize_t n = 0; found != NULL && n < PyList_GET_SIZE(strings); n++) {
        PyObject *empty = PyList_New(0);
        if (empty == NULL)
            Py_CLEAR(found);
        else
            PyList_SET_ITEM(found, n, empty);
    }
    if (found != NULL && look(texts, strings, found) < 0)
        Py_CLEAR(found);
    return found;
}

static PyMethodDef methods[] = {
    {"holders", holders, METH_VARARGS,
     "holders(texts, strings): for each lower-case string the numbers of the texts that hold it, in any letter case."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "brim.plan.relevance._find", NULL, 0, methods};

PyMODINIT_FUNC PyInit__find(void)
{
    make_classes();
    return PyModule_Create(&module);
}
