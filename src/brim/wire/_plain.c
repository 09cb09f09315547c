/* The compiled half of brim.wire.plain: a long list of messages, read in one go.
 *
 * Most messages are nothing but a role and a text. Those are read here; every other is handed on as its bytes, and a
 * list that is not plainly a list of objects is not read at all: whoever reads with more care says what is wrong.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

enum { DEEPEST = 512 };

typedef struct {
    const char *at, *end;
    PyObject *roles;   /* by the name in the JSON what it is called in a message */
    PyObject *part, *message;
    PyObject *kind, *path, *none, *nothing; /* "text", ("content",), () and b"" */
    char *room;        /* for texts with escapes */
} Reader;

static void skip_blank(Reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

/* Whether a sign comes next; if so it is passed, and the blanks around it. */
static int pass(Reader *r, char sign)
{
    skip_blank(r);
    if (r->at >= r->end || *r->at != sign)
        return 0;
    r->at++;
    skip_blank(r);
    return 1;
}

/* Whether any of eight bytes is a quote, a backslash or a control character. */
static int ends_plain_text(const char *at)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t eight, quote, slash;
    memcpy(&eight, at, 8);
    quote = eight ^ ones * '"';
    slash = eight ^ ones * '\\';
    return (((eight - ones * 0x20) & ~eight) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & highs ? 1 : 0;
}

/* Pass a string and say where it lies between its quotes; `escapes` is set if it has any. */
static int pass_string(Reader *r, const char **begin, const char **close, int *escapes)
{
    if (r->at >= r->end || *r->at != '"')
        return 0;
    const char *at = r->at + 1;
    *begin = at;
    *escapes = 0;
    for (; at < r->end; at++) {
        while (r->end - at > 8 && !ends_plain_text(at))
            at += 8;
        unsigned char c = (unsigned char)*at;
        if (c == '"') {
            *close = at;
            r->at = at + 1;
            return 1;
        }
        if (c < 0x20)
            return 0;
        if (c == '\\') {
            *escapes = 1;
            at++;
        }
    }
    return 0;
}

static int hex4(const char *at, const char *end)
{
    int value = 0;
    if (end - at < 4)
        return -1;
    for (int n = 0; n < 4; n++) {
        char c = at[n];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static char *put_utf8(char *out, unsigned int c)
{
    if (c < 0x80) {
        *out++ = (char)c;
        return out;
    }
    if (c < 0x800)
        *out++ = (char)(0xC0 | c >> 6);
    else {
        if (c < 0x10000)
            *out++ = (char)(0xE0 | c >> 12);
        else {
            *out++ = (char)(0xF0 | c >> 18);
            *out++ = (char)(0x80 | (c >> 12 & 63));
        }
        *out++ = (char)(0x80 | (c >> 6 & 63));
    }
    *out++ = (char)(0x80 | (c & 63));
    return out;
}

/* The string without its escapes, in `room`; how long it is, or -1 for an escape that is none and for half a pair. */
static Py_ssize_t unescape(const char *at, const char *end, char *room)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char *out = room;
    while (at < end) {
        if (*at != '\\') {
            *out++ = *at++;
            continue;
        }
        char sign = at[1];
        at += 2;
        if (sign == 'u') {
            int c = hex4(at, end);
            at += 4;
            if (c >= 0xD800 && c < 0xDC00) {
                int low = end - at >= 6 && at[0] == '\\' && at[1] == 'u' ? hex4(at + 2, end) : -1;
                if (low < 0xDC00 || low > 0xDFFF)
                    return -1;
                c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
                at += 6;
            }
            else if (c < 0 || (c >= 0xDC00 && c < 0xE000))
                return -1;
            out = put_utf8(out, (unsigned int)c);
        }
        else {
            const char *known = sign ? strchr(from, sign) : NULL;
            if (known == NULL)
                return -1;
            *out++ = to[known - from];
        }
    }
    return out - room;
}

/* The field that comes next, if it has this name and a string: where that lies. */
static int pass_field(Reader *r, const char *name, const char **begin, const char **close, int *escapes)
{
    int odd;
    return pass_string(r, begin, close, &odd) && !odd && (size_t)(*close - *begin) == strlen(name) &&
           memcmp(*begin, name, strlen(name)) == 0 && pass(r, ':') && pass_string(r, begin, close, escapes);
}

typedef struct {
    const char *begin, *close;
    int escapes;
} Span;

/* A message of a role and a text, in either order; 0 if it is another kind. */
static int pass_plain(Reader *r, Span *role, Span *text)
{
    if (!pass(r, '{'))
        return 0;
    int role_first = r->end - r->at > 1 && r->at[1] == 'r';
    Span *first = role_first ? role : text, *second = role_first ? text : role;
    const char *names[] = {role_first ? "role" : "content", role_first ? "content" : "role"};
    return pass_field(r, names[0], &first->begin, &first->close, &first->escapes) && pass(r, ',') &&
           pass_field(r, names[1], &second->begin, &second->close, &second->escapes) && pass(r, '}');
}

/* Pass an object or a list whatever is in it: only its brackets and strings are looked at. */
static int pass_any(Reader *r)
{
    char open[DEEPEST];
    int depth = 0, odd;
    const char *begin, *close;
    while (r->at < r->end) {
        char c = *r->at;
        if (c == '"') {
            if (!pass_string(r, &begin, &close, &odd))
                return 0;
            continue;
        }
        r->at++;
        if (c == '{' || c == '[') {
            if (depth == DEEPEST)
                return 0;
            open[depth++] = c == '{' ? '}' : ']';
        }
        else if (c == '}' || c == ']') {
            if (!depth || open[--depth] != c)
                return 0;
            if (!depth)
                return 1;
        }
    }
    return 0;
}

static PyObject *text_of(Reader *r, const Span *text)
{
    if (!text->escapes)
        return PyUnicode_DecodeUTF8(text->begin, text->close - text->begin, NULL);
    Py_ssize_t length = unescape(text->begin, text->close, r->room);
    if (length < 0)
        return NULL;
    return PyUnicode_DecodeUTF8(r->room, length, NULL);
}

/* The message that lies between two places; NULL without an error if more care is needed to read it. */
static PyObject *made(Reader *r, const char *begin, const Span *role, const Span *text)
{
    PyObject *name, *called, *raw, *said = NULL, *part = NULL, *parts = NULL, *message = NULL;
    name = role->escapes ? NULL : PyUnicode_DecodeUTF8(role->begin, role->close - role->begin, NULL);
    called = name == NULL ? NULL : PyDict_GetItemWithError(r->roles, name);
    if (called == NULL) {
        Py_XDECREF(name);
        PyErr_Clear();
        return NULL;
    }
    said = text_of(r, text);
    if (said == NULL)
        PyErr_Clear(); /* not UTF-8: it is told by who reads the bytes */
    raw = said == NULL ? NULL : PyBytes_FromStringAndSize(begin, r->at - begin);
    if (raw != NULL) {
        PyObject *given[] = {r->kind, r->path, r->none, said};
        part = PyObject_Vectorcall(r->part, given, 4, NULL);
    }
    if (part != NULL)
        parts = PyTuple_Pack(1, part);
    if (parts != NULL) {
        int same = PyUnicode_Compare(name, called) == 0;
        PyObject *given[] = {called, parts, raw, r->nothing, r->none, r->none, same ? Py_True : Py_False};
        message = PyObject_Vectorcall(r->message, given, 7, NULL);
    }
    Py_XDECREF(name);
    Py_XDECREF(raw);
    Py_XDECREF(said);
    Py_XDECREF(part);
    Py_XDECREF(parts);
    return message;
}

/* The next message, or its bytes; NULL if the list cannot be read, with or without an error. */
static PyObject *next_message(Reader *r)
{
    Span role, text;
    const char *begin = r->at;
    if (pass_plain(r, &role, &text)) {
        while (r->at[-1] != '}') /* the blanks behind it are not its own */
            r->at--;
        PyObject *message = made(r, begin, &role, &text);
        if (message != NULL || PyErr_Occurred())
            return message;
    }
    r->at = begin;
    if (r->at >= r->end || *r->at != '{' || !pass_any(r))
        return NULL;
    return PyBytes_FromStringAndSize(begin, r->at - begin);
}

/* Put the next message into a list, and its number into another if it is only its bytes. */
static int add_next(Reader *r, PyObject *found, PyObject *others)
{
    PyObject *message = next_message(r), *number = NULL;
    int added = message != NULL && PyList_Append(found, message) == 0;
    if (added && PyBytes_CheckExact(message)) {
        number = PyLong_FromSsize_t(PyList_GET_SIZE(found) - 1);
        added = number != NULL && PyList_Append(others, number) == 0;
    }
    Py_XDECREF(message);
    Py_XDECREF(number);
    return added;
}

static int read_list(Reader *r, PyObject *found, PyObject *others)
{
    if (!pass(r, '['))
        return 0;
    if (!pass(r, ']')) {
        do {
            if (!add_next(r, found, others))
                return 0;
        } while (pass(r, ','));
        if (!pass(r, ']'))
            return 0;
    }
    return r->at == r->end;
}

static PyObject *messages(PyObject *self, PyObject *args)
{
    Reader r;
    const char *raw;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "y#O!OO", &raw, &length, &PyDict_Type, &r.roles, &r.part, &r.message))
        return NULL;
    r.at = raw;
    r.end = raw + length;
    r.kind = PyUnicode_InternFromString("text");
    r.path = Py_BuildValue("(s)", "content");
    r.none = PyTuple_New(0);
    r.nothing = PyBytes_FromStringAndSize(NULL, 0);
    r.room = PyMem_Malloc((size_t)length + 1);
    PyObject *found = PyList_New(0), *others = PyList_New(0), *both = NULL;
    if (r.room == NULL)
        PyErr_NoMemory();
    else if (r.kind && r.path && r.none && r.nothing && found && others)
        both = read_list(&r, found, others) ? PyTuple_Pack(2, found, others)
             : PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    Py_XDECREF(found);
    Py_XDECREF(others);
    Py_XDECREF(r.kind);
    Py_XDECREF(r.path);
    Py_XDECREF(r.none);
    Py_XDECREF(r.nothing);
    PyMem_Free(r.room);
    return both;
}

static PyMethodDef methods[] = {
    {"messages", messages, METH_VARARGS,
     "messages(raw, roles, part, message): the messages of a JSON list, those that are not only a role and a text as "
     "their bytes, and the numbers of the latter. None for a list that has to be read with more care."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "brim.wire._plain", NULL, 0, methods};

PyMODINIT_FUNC PyInit__plain(void)
{
    return PyModule_Create(&module);
}
