/* The compiled half of brim.wire.plain: a long list of messages, read in one go.
 *
 * Most messages are nothing but a role and a text. Those are read here; every other is handed on as its bytes, and a
 * list that is not plainly a list of objects is not read at all: whoever reads with more care says what is wrong.
 * Python's own objects are read without writing the whole list as JSON first.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
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

/* A message of its role by its name here, a text and its JSON; takes over the JSON. */
static PyObject *made(Reader *r, PyObject *name, PyObject *called, PyObject *said, PyObject *raw)
{
    PyObject *part = NULL, *parts = NULL, *message = NULL;
    if (raw != NULL) {
        PyObject *given[] = {r->kind, r->path, r->none, said};
        part = PyObject_Vectorcall(r->part, given, 4, NULL);
    }
    if (part != NULL)
        parts = PyTuple_Pack(1, part);
    if (parts != NULL) {
        if (!PyObject_IS_GC(part))
            PyObject_GC_UnTrack(parts); /* it is part of no cycle: thousands need not be looked through for one */
        int same = name == called || PyUnicode_Compare(name, called) == 0;
        PyObject *given[] = {called, parts, raw, r->nothing, r->none, r->none, same ? Py_True : Py_False};
        message = PyObject_Vectorcall(r->message, given, 7, NULL);
    }
    Py_XDECREF(raw);
    Py_XDECREF(part);
    Py_XDECREF(parts);
    return message;
}

/* The message that lies between two places; NULL without an error if more care is needed to read it. */
static PyObject *read_plain(Reader *r, const char *begin, const Span *role, const Span *text)
{
    PyObject *name, *called, *said, *message = NULL;
    name = role->escapes ? NULL : PyUnicode_DecodeUTF8(role->begin, role->close - role->begin, NULL);
    called = name == NULL ? NULL : PyDict_GetItemWithError(r->roles, name);
    said = called == NULL ? NULL : text_of(r, text);
    if (said == NULL)
        PyErr_Clear(); /* not UTF-8: it is told by who reads the bytes */
    else
        message = made(r, name, called, said, PyBytes_FromStringAndSize(begin, r->at - begin));
    Py_XDECREF(name);
    Py_XDECREF(said);
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
        PyObject *message = read_plain(r, begin, &role, &text);
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

/* What every message is made with; 0 with an error if there is no memory. */
static int start(Reader *r)
{
    r->kind = PyUnicode_InternFromString("text");
    r->path = Py_BuildValue("(s)", "content");
    r->none = PyTuple_New(0);
    r->nothing = PyBytes_FromStringAndSize(NULL, 0);
    r->room = NULL;
    return r->kind && r->path && r->none && r->nothing;
}

static void finish(Reader *r)
{
    Py_XDECREF(r->kind);
    Py_XDECREF(r->path);
    Py_XDECREF(r->none);
    Py_XDECREF(r->nothing);
    PyMem_Free(r->room);
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
    int started = start(&r);
    PyObject *found = PyList_New(0), *others = PyList_New(0), *both = NULL;
    r.room = PyMem_Malloc((size_t)length + 1);
    if (r.room == NULL)
        PyErr_NoMemory();
    else if (started && found && others)
        both = read_list(&r, found, others) ? PyTuple_Pack(2, found, others)
             : PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    Py_XDECREF(found);
    Py_XDECREF(others);
    finish(&r);
    return both;
}

/* The role and the text of an object that is nothing else; 0 for any other. Both are borrowed. */
static int plain_object(PyObject *item, PyObject **role, PyObject **text, int *role_first)
{
    PyObject *keys[2], *values[2];
    Py_ssize_t at = 0;
    if (!PyDict_CheckExact(item) || PyDict_GET_SIZE(item) != 2)
        return 0;
    for (int n = 0; n < 2; n++)
        if (!PyDict_Next(item, &at, &keys[n], &values[n]) || !PyUnicode_CheckExact(keys[n]) ||
            !PyUnicode_CheckExact(values[n]))
            return 0;
    *role_first = PyUnicode_CompareWithASCIIString(keys[0], "role") == 0;
    if (PyUnicode_CompareWithASCIIString(keys[!*role_first], "role") != 0 ||
        PyUnicode_CompareWithASCIIString(keys[*role_first], "content") != 0)
        return 0;
    *role = values[!*role_first];
    *text = values[*role_first];
    return 1;
}

/* How a byte stands in a JSON string: 0 as it is, a letter behind a backslash, or 'u' for its number. */
static char escape_of(unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    if (c >= 0x20 && c != '"' && c != '\\')
        return 0;
    const char *known = c ? strchr(from, c) : NULL;
    return known ? to[known - from] : 'u';
}

/* How many bytes more a text takes between the quotes of JSON. */
static Py_ssize_t more_escaped(const char *at, const char *end)
{
    Py_ssize_t more = 0;
    for (; at < end; at++) {
        while (end - at >= 8 && !ends_plain_text(at))
            at += 8;
        if (at == end)
            break;
        char sign = escape_of((unsigned char)*at);
        more += sign == 0 ? 0 : sign == 'u' ? 5 : 1;
    }
    return more;
}

static char *put_escaped(char *out, const char *at, const char *end)
{
    static const char digits[] = "0123456789abcdef";
    for (; at < end; at++) {
        unsigned char c = (unsigned char)*at;
        char sign = escape_of(c);
        if (sign == 0) {
            *out++ = *at;
            continue;
        }
        *out++ = '\\';
        *out++ = sign;
        if (sign == 'u') {
            *out++ = '0';
            *out++ = '0';
            *out++ = digits[c >> 4];
            *out++ = digits[c & 15];
        }
    }
    return out;
}

static char *put(char *out, const char *text, Py_ssize_t length)
{
    memcpy(out, text, (size_t)length);
    return out + length;
}

/* The bytes of a text: its own, or those of `held`, which is new. NULL with an error for half a pair of surrogates. */
static const char *bytes_of(PyObject *text, Py_ssize_t *length, PyObject **held)
{
    *held = NULL;
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        *length = PyUnicode_GET_LENGTH(text);
        return PyUnicode_DATA(text);
    }
    *held = PyUnicode_AsUTF8String(text); /* not kept in the caller's text */
    if (*held == NULL)
        return NULL;
    *length = PyBytes_GET_SIZE(*held);
    return PyBytes_AS_STRING(*held);
}

/* What stands in a plain message before, between and after its role and its text, in either order. */
static const char *const signs[2][3] = {{"{\"content\":\"", "\",\"role\":\"", "\"}"},
                                        {"{\"role\":\"", "\",\"content\":\"", "\"}"}};
enum { FRAME = 24 }; /* its length */

/* Write a message of a role and a text, of which `more` bytes are escapes. */
static char *put_message(char *out, PyObject *role, const char *said, Py_ssize_t length, Py_ssize_t more, int role_first)
{
    const char *const *sign = signs[role_first];
    for (int n = 0; n < 2; n++) {
        out = put(out, sign[n], (Py_ssize_t)strlen(sign[n]));
        out = (n == 0) == role_first ? put(out, PyUnicode_DATA(role), PyUnicode_GET_LENGTH(role))
            : more ? put_escaped(out, said, said + length) : put(out, said, length);
    }
    return put(out, sign[2], (Py_ssize_t)strlen(sign[2]));
}

/* A plain object as JSON; NULL with an error for half a pair of surrogates. Its role needs no escapes. */
static PyObject *json_of(PyObject *role, PyObject *text, int role_first)
{
    Py_ssize_t length;
    PyObject *held, *raw = NULL;
    const char *said = bytes_of(text, &length, &held);
    if (said != NULL) {
        Py_ssize_t more = more_escaped(said, said + length);
        raw = PyBytes_FromStringAndSize(NULL, FRAME + PyUnicode_GET_LENGTH(role) + length + more);
        if (raw != NULL)
            put_message(PyBytes_AS_STRING(raw), role, said, length, more, role_first);
    }
    Py_XDECREF(held);
    return raw;
}

/* The message of an object; NULL without an error if more care is needed to read it. */
static PyObject *message_of(Reader *r, PyObject *item, Py_ssize_t *bytes)
{
    PyObject *role, *text, *called;
    int role_first;
    if (!plain_object(item, &role, &text, &role_first))
        return NULL;
    called = PyDict_GetItemWithError(r->roles, role);
    if (called == NULL || !PyUnicode_IS_COMPACT_ASCII(role))
        return NULL;
    if (role_first && PyUnicode_IS_COMPACT_ASCII(text) && PyUnicode_Compare(role, called) == 0) {
        *bytes += FRAME + PyUnicode_GET_LENGTH(role) + PyUnicode_GET_LENGTH(text) + 1;
        return made(r, called, called, text, Py_NewRef(r->nothing)); /* written when somebody wants its bytes */
    }
    PyObject *raw = json_of(role, text, role_first);
    if (raw == NULL) {
        if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            PyErr_Clear();
        return NULL;
    }
    *bytes += PyBytes_GET_SIZE(raw) + 1;
    return made(r, role, called, text, raw);
}

static PyObject *of_objects(PyObject *self, PyObject *args)
{
    Reader r;
    PyObject *items, *found, *both = NULL;
    Py_ssize_t bytes = 1, number = 0;
    if (!PyArg_ParseTuple(args, "O!O!OO", &PyList_Type, &items, &PyDict_Type, &r.roles, &r.part, &r.message))
        return NULL;
    int started = start(&r);
    found = PyTuple_New(PyList_GET_SIZE(items));
    if (started && found) {
        for (; number < PyTuple_GET_SIZE(found) && number < PyList_GET_SIZE(items); number++) {
            PyObject *message = message_of(&r, PyList_GET_ITEM(items, number), &bytes);
            if (message == NULL)
                break;
            PyTuple_SET_ITEM(found, number, message);
        }
        if (!PyErr_Occurred())
            both = number == PyTuple_GET_SIZE(found) ? Py_BuildValue("(On)", found, bytes) : Py_NewRef(Py_None);
    }
    Py_XDECREF(found);
    finish(&r);
    return both;
}

static PyObject *survey(PyObject *self, PyObject *items)
{
    PyObject *roles, *role, *text, *last = NULL;
    Py_ssize_t characters = 0;
    int role_first;
    if (!PyList_CheckExact(items))
        Py_RETURN_NONE;
    roles = PySet_New(NULL);
    if (roles == NULL)
        return NULL;
    for (Py_ssize_t number = 0; number < PyList_GET_SIZE(items); number++) {
        if (!plain_object(PyList_GET_ITEM(items, number), &role, &text, &role_first)) {
            Py_DECREF(roles);
            Py_RETURN_NONE;
        }
        characters += PyUnicode_GET_LENGTH(text);
        if (role != last && PySet_Add(roles, role) < 0) {
            Py_DECREF(roles);
            return NULL;
        }
        last = role;
    }
    return Py_BuildValue("(Nn)", roles, characters);
}

/* ---- columns of messages -------------------------------------------------------------------------- */

typedef struct {
    PyTypeObject *message, *part;
    Py_ssize_t raw, plain, role, parts, text; /* where the fields lie: sooner read than asked for by name */
    PyObject *lengths, *texts, *systems, *others;
} Columns;

/* Where a field of a class with slots lies; -1 with an error for any other. */
static Py_ssize_t place_of(PyTypeObject *type, const char *name)
{
    PyObject *field = PyObject_GetAttrString((PyObject *)type, name);
    Py_ssize_t place = -1;
    if (field != NULL && Py_IS_TYPE(field, &PyMemberDescr_Type))
        place = ((PyMemberDescrObject *)field)->d_member->offset;
    else if (field != NULL)
        PyErr_Format(PyExc_TypeError, "%s is no field", name);
    Py_XDECREF(field);
    return place;
}

static PyObject *field_of(PyObject *object, Py_ssize_t place)
{
    return *(PyObject **)((char *)object + place);
}

static int append_new(PyObject *list, PyObject *item)
{
    int added = item == NULL ? -1 : PyList_Append(list, item);
    Py_XDECREF(item);
    return added;
}

/* The text of a plain message is that of its one part; others are asked for theirs. */
static PyObject *text_in(const Columns *c, PyObject *message, int plain)
{
    PyObject *parts = field_of(message, c->parts);
    if (plain && PyTuple_GET_SIZE(parts) == 1 && Py_IS_TYPE(PyTuple_GET_ITEM(parts, 0), c->part))
        return Py_NewRef(field_of(PyTuple_GET_ITEM(parts, 0), c->text));
    return PyObject_GetAttrString(message, "text");
}

static int add_row(const Columns *c, PyObject *message, Py_ssize_t number)
{
    if (!Py_IS_TYPE(message, c->message)) {
        PyErr_SetString(PyExc_TypeError, "only messages have columns");
        return 0;
    }
    int plain = field_of(message, c->plain) == Py_True;
    if (PyUnicode_CompareWithASCIIString(field_of(message, c->role), "system") == 0 &&
        append_new(c->systems, PyLong_FromSsize_t(number)) < 0)
        return 0;
    if (!plain && append_new(c->others, PyLong_FromSsize_t(number)) < 0)
        return 0;
    PyObject *text = text_in(c, message, plain);
    if (append_new(c->texts, text) < 0)
        return 0;
    int simple = plain && PyUnicode_IS_COMPACT_ASCII(text); /* known without its bytes, which may not be written yet */
    Py_ssize_t length = simple ? FRAME + PyUnicode_GET_LENGTH(field_of(message, c->role)) + PyUnicode_GET_LENGTH(text)
                               : PyBytes_GET_SIZE(field_of(message, c->raw));
    return append_new(c->lengths, PyLong_FromSsize_t(length)) == 0;
}

/* Where the fields of messages and parts lie; 0 with an error if they are no fields. */
static int find_places(Columns *c)
{
    return (c->raw = place_of(c->message, "told_raw")) >= 0 && (c->plain = place_of(c->message, "plain")) >= 0 &&
           (c->role = place_of(c->message, "role")) >= 0 && (c->parts = place_of(c->message, "parts")) >= 0 &&
           (c->text = place_of(c->part, "text")) >= 0;
}

static PyObject *columns(PyObject *self, PyObject *args)
{
    PyObject *messages, *found = NULL;
    Columns c = {0};
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyTuple_Type, &messages, &PyType_Type, &c.part, &PyType_Type, &c.message))
        return NULL;
    if (!find_places(&c))
        return NULL;
    c.lengths = PyList_New(0);
    c.texts = PyList_New(0);
    c.systems = PyList_New(0);
    c.others = PyList_New(0);
    int good = c.lengths && c.texts && c.systems && c.others;
    for (Py_ssize_t n = 0; good && n < PyTuple_GET_SIZE(messages); n++)
        good = add_row(&c, PyTuple_GET_ITEM(messages, n), n);
    if (good)
        found = PyTuple_Pack(4, c.lengths, c.texts, c.systems, c.others);
    Py_XDECREF(c.lengths);
    Py_XDECREF(c.texts);
    Py_XDECREF(c.systems);
    Py_XDECREF(c.others);
    return found;
}

/* The bytes of a message that is written; NULL for one that is not, with its text, or -1 with an error for another. */
static const char *written(const Columns *c, PyObject *message, PyObject **text, Py_ssize_t *length)
{
    *length = -1;
    if (!Py_IS_TYPE(message, c->message)) {
        PyErr_SetString(PyExc_TypeError, "only messages have lines");
        return NULL;
    }
    PyObject *raw = field_of(message, c->raw);
    *length = PyBytes_GET_SIZE(raw);
    if (*length)
        return PyBytes_AS_STRING(raw);
    *text = field_of(PyTuple_GET_ITEM(field_of(message, c->parts), 0), c->text);
    *length = PyUnicode_GET_LENGTH(*text);
    return NULL;
}

/* How many bytes some lines take, each with a line feed, and how many of each are escapes; -1 with an error. */
static Py_ssize_t room_for(const Columns *c, PyObject *messages, Py_ssize_t *more)
{
    Py_ssize_t room = 0, length;
    PyObject *text;
    for (Py_ssize_t n = 0; n < PyList_GET_SIZE(messages); n++) {
        PyObject *message = PyList_GET_ITEM(messages, n);
        if (written(c, message, &text, &length) == NULL) {
            if (length < 0)
                return -1;
            const char *said = PyUnicode_DATA(text);
            more[n] = more_escaped(said, said + length);
            length += FRAME + PyUnicode_GET_LENGTH(field_of(message, c->role)) + more[n];
        }
        room += length + 1;
    }
    return room;
}

static void put_lines(const Columns *c, PyObject *messages, const Py_ssize_t *more, char *out)
{
    PyObject *text;
    Py_ssize_t length;
    for (Py_ssize_t n = 0; n < PyList_GET_SIZE(messages); n++) {
        PyObject *message = PyList_GET_ITEM(messages, n);
        const char *raw = written(c, message, &text, &length);
        if (n)
            *out++ = '\n';
        out = raw != NULL ? put(out, raw, length)
                          : put_message(out, field_of(message, c->role), PyUnicode_DATA(text), length, more[n], 1);
    }
}

static PyObject *lines(PyObject *self, PyObject *args)
{
    PyObject *messages, *joined = NULL;
    Columns c = {0};
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyList_Type, &messages, &PyType_Type, &c.part, &PyType_Type, &c.message) ||
        !find_places(&c))
        return NULL;
    Py_ssize_t *more = PyMem_Malloc(((size_t)PyList_GET_SIZE(messages) + 1) * sizeof *more);
    if (more == NULL)
        return PyErr_NoMemory();
    Py_ssize_t room = room_for(&c, messages, more);
    if (room >= 0)
        joined = PyBytes_FromStringAndSize(NULL, room ? room - 1 : 0);
    if (joined != NULL)
        put_lines(&c, messages, more, PyBytes_AS_STRING(joined));
    PyMem_Free(more);
    return joined;
}

/* The JSON of a message, a new reference: it is written where it is not yet. */
static PyObject *raw_of(const Columns *c, PyObject *message)
{
    PyObject *text, **raw;
    Py_ssize_t length;
    if (written(c, message, &text, &length) == NULL) {
        PyObject *new = length < 0 ? NULL : json_of(field_of(message, c->role), text, 1);
        if (new == NULL)
            return NULL;
        raw = (PyObject **)((char *)message + c->raw);
        Py_SETREF(*raw, new);
    }
    return Py_NewRef(field_of(message, c->raw));
}

static PyObject *raws(PyObject *self, PyObject *args)
{
    PyObject *messages, *found;
    Columns c = {0};
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyList_Type, &messages, &PyType_Type, &c.part, &PyType_Type, &c.message) ||
        !find_places(&c) || (found = PyList_New(PyList_GET_SIZE(messages))) == NULL)
        return NULL;
    for (Py_ssize_t n = 0; n < PyList_GET_SIZE(found); n++) {
        PyObject *raw = raw_of(&c, PyList_GET_ITEM(messages, n));
        if (raw == NULL) {
            Py_DECREF(found);
            return NULL;
        }
        PyList_SET_ITEM(found, n, raw);
    }
    return found;
}

/* Whether an object is plain and says what a message says; -1 with an error. */
static int says(const Columns *c, PyObject *item, PyObject *message)
{
    PyObject *role, *text, *parts;
    int role_first;
    if (!Py_IS_TYPE(message, c->message) || field_of(message, c->plain) != Py_True ||
        !plain_object(item, &role, &text, &role_first))
        return 0;
    parts = field_of(message, c->parts);
    if (PyTuple_GET_SIZE(parts) != 1 || !Py_IS_TYPE(PyTuple_GET_ITEM(parts, 0), c->part))
        return 0;
    int same = PyObject_RichCompareBool(role, field_of(message, c->role), Py_EQ);
    return same <= 0 ? same : PyObject_RichCompareBool(text, field_of(PyTuple_GET_ITEM(parts, 0), c->text), Py_EQ);
}

static PyObject *common_start(PyObject *self, PyObject *args)
{
    PyObject *items, *messages;
    Columns c = {0};
    if (!PyArg_ParseTuple(args, "O!O!O!O!", &PyList_Type, &items, &PyTuple_Type, &messages, &PyType_Type, &c.part,
                          &PyType_Type, &c.message) ||
        !find_places(&c))
        return NULL;
    Py_ssize_t number = 0;
    while (number < PyList_GET_SIZE(items) && number < PyTuple_GET_SIZE(messages)) {
        int same = says(&c, PyList_GET_ITEM(items, number), PyTuple_GET_ITEM(messages, number));
        if (same < 0)
            return NULL;
        if (!same)
            break;
        number++;
    }
    return PyLong_FromSsize_t(number);
}

static PyMethodDef methods[] = {
    {"common_start", common_start, METH_VARARGS,
     "common_start(items, messages, part, message): how many objects say what the messages at the same places say."},
    {"lines", lines, METH_VARARGS,
     "lines(messages, part, message): messages as JSON, a line each; what is not written yet stays so."},
    {"raws", raws, METH_VARARGS,
     "raws(messages, part, message): the JSON of each message, written where it is not yet."},
    {"columns", columns, METH_VARARGS,
     "columns(messages, part, message): the number of bytes of each message and its text; which of them are instructions, and which "
     "are more than a role and a text."},
    {"messages", messages, METH_VARARGS,
     "messages(raw, roles, part, message): the messages of a JSON list, those that are not only a role and a text as "
     "their bytes, and the numbers of the latter. None for a list that has to be read with more care."},
    {"of_objects", of_objects, METH_VARARGS,
     "of_objects(items, roles, part, message): the messages of a list of objects, and about how many bytes it has as JSON. "
     "None for a list that has to be read with more care."},
    {"survey", survey, METH_O,
     "survey(items): the roles of objects that are nothing but a role and a text, and the length of all texts. "
     "None if any is more."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "brim.wire._plain", NULL, 0, methods};

PyMODINIT_FUNC PyInit__plain(void)
{
    return PyModule_Create(&module);
}
