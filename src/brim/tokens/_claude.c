/* The compiled half of brim.tokens.claude: the same count as _claude_plain.py, many times faster.
 *
 *     text -> fold -> runs of one kind -> marked symbols -> cheapest tiling over the vocabulary
 *
 * Nothing but the folded text is kept: symbols go into a ring as long as the longest piece, and each one
 * looks back through a trie of reversed pieces. What a kind or a flag means stands in
 * scripts/build-claude-tables, which makes the tables.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

#include "_claude_tiles.h"

enum kind {
    IDEOGRAPH, WORD, STRAY, BLANK, NUMBER, SIGN, SYMBOL, DECIMAL, NUMERAL, SELECTOR,
    CONTROL, PRIVATE, SPACELIKE, HALF
};
enum flag { UPPER = 0x10, LOWER = 0x20, CASELESS = 0x40, BORDER = 0x80 };
enum marker { BOW = 0xE000, EOW = 0xE001, SHIFT = 0xE002, CAPS = 0xE003 };

enum { LONG_TEXT = 4096 }; /* from here on the interpreter lock is given up while counting */

/* ---- folding -------------------------------------------------------------------------------------- */

static inline uint32_t unquoted(uint32_t c)
{
    if (c == 0x2018 || c == 0x2019)
        return '\'';
    return c == 0x201C || c == 0x201D ? '"' : c;
}

/* Write what counts of NFC text into `out`, which has room for all of it; return how much that is. */
static Py_ssize_t fold(const Vocabulary *v, int width, const void *data, Py_ssize_t length, uint32_t *out)
{
    Py_ssize_t n = 0;
    uint32_t before = 0;       /* the last character that is no control: a private one parts its neighbours here */
    for (Py_ssize_t i = 0; i < length; i++) {
        uint32_t c = PyUnicode_READ(width, data, i);
        if (c < PLANE) {
            switch (v->kinds[c] & 15) {
            case CONTROL:
                continue;
            case PRIVATE:
                before = c;
                continue;
            case SPACELIKE:
                c = ' ';
                break;
            case HALF:
                c = 0xFFFD;
                break;
            default:
                if (v->fold_quotes)
                    c = unquoted(c);
            }
        }
        if (c == 0x0E32 && before == 0x0E4D) { /* Thai sara am in two parts */
            n--;
            c = 0x0E33;
        }
        out[n++] = before = c;
    }
    return n;
}

/* ---- runs ----------------------------------------------------------------------------------------- */

typedef struct {
    const Vocabulary *v;
    const uint32_t *text;
    Py_ssize_t length;
    int frame_bow;             /* the frame before the text ends in an opening marker */
    int quote;                 /* the last run is one apostrophe and nothing else */
    int stray;                 /* the last run is made of marks without a letter to carry them */
    int border, border_before; /* the last run, and the one before it, close with a border */
    int space;                 /* a single space waits: it vanishes between two markers */
    Tiling tiling;
} Stream;

typedef struct {
    Py_ssize_t start, end;
    int kind;                  /* of the first character */
    int uniform;               /* all of one kind */
} Run;

static inline int info(const Vocabulary *v, uint32_t c)
{
    return c < PLANE ? v->kinds[c] : IDEOGRAPH;
}

/* Which characters may continue a run, as a set of bits by kind. */
static const uint16_t FOLLOWERS[] = {
    [IDEOGRAPH] = 1 << IDEOGRAPH | 1 << SELECTOR,
    [WORD] = 1 << WORD | 1 << STRAY,
    [STRAY] = 1 << STRAY,
    [BLANK] = 1 << BLANK,
    [NUMBER] = 1 << NUMBER,
    [SIGN] = 1 << SIGN,
    [SYMBOL] = 1 << SYMBOL | 1 << SELECTOR,
    [DECIMAL] = 1 << DECIMAL | 1 << NUMERAL | 1 << SELECTOR,
    [NUMERAL] = 1 << DECIMAL | 1 << NUMERAL | 1 << SELECTOR,
    [SELECTOR] = 1 << IDEOGRAPH | 1 << SELECTOR,
};

static inline Run next_run(const Stream *s, Py_ssize_t start)
{
    Run run = {start, start + 1, info(s->v, s->text[start]) & 15, 1};
    unsigned followers = FOLLOWERS[run.kind];
    for (; run.end < s->length; run.end++) {
        int kind = info(s->v, s->text[run.end]) & 15;
        if (!(followers >> kind & 1))
            break;
        run.uniform &= kind == run.kind;
    }
    return run;
}

/* Before the first character, after the last one, and beside anything but one space: no marker. */
static inline int space_before(const Stream *s, Py_ssize_t start)
{
    return start == 0 ? s->frame_bow : s->text[start - 1] == ' ';
}

static inline int space_after(const Stream *s, Py_ssize_t end)
{
    return end < s->length && s->text[end] == ' ' && (end + 1 == s->length || s->text[end + 1] != ' ');
}

static inline int word_follows(const Stream *s, Py_ssize_t end)
{
    if (end == s->length)
        return 0;
    int kind = info(s->v, s->text[end]) & 15;
    return kind == WORD || kind == STRAY;
}

static void push_span(Stream *s, const Run *run, int open, int close)
{
    if (open)
        push(&s->tiling, BOW);
    for (Py_ssize_t i = run->start; i < run->end; i++)
        push(&s->tiling, s->text[i]);
    if (close)
        push(&s->tiling, EOW);
}

/* SHIFT, CAPS or 0: how the case of a word is written. */
static uint32_t case_marker(const Stream *s, const Run *run)
{
    const uint32_t *text = s->text;
    int all = 0, tail = 0, dotted = 0, head = info(s->v, text[run->start]);
    for (Py_ssize_t i = run->start; i < run->end; i++) {
        if (text[i] == 0x1E9E) /* the capital sharp s has no small form here */
            return 0;
        if (text[i] == 0x0130) { /* the dotted capital I stays, and hides from the test of the tail */
            dotted = 1;
            continue;
        }
        int flags = info(s->v, text[i]);
        all |= flags;
        if (i > run->start)
            tail |= flags;
    }
    if (!dotted && s->v->caps_from && run->end - run->start >= s->v->caps_from && all & UPPER &&
        !(all & (LOWER | CASELESS)))
        return CAPS;
    return head & UPPER && text[run->start] != 0x0130 && !(tail & UPPER) ? SHIFT : 0;
}

static void push_word(Stream *s, const Run *run, int open)
{
    uint32_t marker = open ? case_marker(s, run) : 0;
    if (!marker) {
        push_span(s, run, open, 1);
        return;
    }
    push(&s->tiling, marker);
    push(&s->tiling, BOW);
    for (Py_ssize_t i = run->start; i < run->end; i++) {
        uint16_t small;
        memcpy(&small, s->v->lower + 2 * s->text[i], sizeof small); /* words are of the basic plane */
        push(&s->tiling, small);
    }
    push(&s->tiling, EOW);
}

/* Whether the word is the end of a contraction, such as the s of "it's": then it opens no word. */
static int contraction(const Stream *s, const Run *run)
{
    const uint32_t *c = s->text + run->start;
    if (!s->quote || s->border_before)
        return 0;
    if (run->end - run->start == 1)
        return c[0] == 's' || c[0] == 't' || c[0] == 'd' || c[0] == 'm';
    if (run->end - run->start != 2)
        return 0;
    return (c[0] == 'l' && c[1] == 'l') || ((c[0] == 'r' || c[0] == 'v') && c[1] == 'e');
}

static void push_waiting_space(Stream *s, int opens)
{
    if (s->space && !opens)
        push(&s->tiling, ' ');
    s->space = 0;
}

/* The run that opens the message also says what becomes of the marker that the frame ends in. */
static void push_frame(Stream *s, const Run *run, int opens, int word_opener)
{
    if (run->start != 0 || !s->frame_bow || opens)
        return;
    if (word_opener)
        push(&s->tiling, ' ');
    else if (s->text[0] != ' ')
        push(&s->tiling, BOW);
}

static void push_blank(Stream *s, const Run *run)
{
    push_frame(s, run, 0, 0);
    if (run->end - run->start == 1 && s->text[run->start] == ' ' && s->tiling.at && s->tiling.last == EOW)
        s->space = 1;
    else
        push_span(s, run, 0, 0);
}

/* Numbers, signs and everything else that is no word: markers only where the run borders a space. */
static int push_other(Stream *s, const Run *run)
{
    uint32_t first = s->text[run->start], last = s->text[run->end - 1];
    int opens, closes, border, word_opener = 0;
    if (run->kind == SIGN) {
        word_opener = run->end - run->start == 1 && first == '\'' && word_follows(s, run->end);
        opens = !word_opener;
        closes = border = 1;
    } else {
        opens = (info(s->v, first) & BORDER) != 0;
        closes = border = (info(s->v, last) & BORDER) != 0;
        if (!opens && !closes && run->uniform &&
            (run->kind == NUMBER || run->kind == DECIMAL || run->kind == NUMERAL)) {
            opens = first >= 0x80;
            closes = border = last >= 0x80;
        }
    }
    opens = opens && space_before(s, run->start);
    push_waiting_space(s, opens);
    push_frame(s, run, opens, word_opener);
    push_span(s, run, opens, closes && space_after(s, run->end));
    return border;
}

static void push_run(Stream *s, const Run *run)
{
    int border = (info(s->v, s->text[run->end - 1]) & BORDER) != 0;
    if (run->kind == BLANK)
        push_blank(s, run);
    else if (run->kind == STRAY) {
        push_waiting_space(s, 1);
        push_span(s, run, 1, !word_follows(s, run->end));
    } else if (run->kind == WORD) {
        int open = !s->stray && !contraction(s, run);
        push_waiting_space(s, open);
        push_word(s, run, open);
    } else
        border = push_other(s, run);
    s->border_before = s->border;
    s->border = border;
    s->stray = run->kind == STRAY;
    s->quote = run->kind == SIGN && run->end - run->start == 1 && s->text[run->start] == '\'';
}

/* ---- the count ------------------------------------------------------------------------------------ */

static Py_ssize_t count_folded(const Vocabulary *v, const uint32_t *text, Py_ssize_t length, int frame_bow,
                               int head_space)
{
    Stream s;
    memset(&s, 0, offsetof(Stream, tiling));
    s.v = v;
    s.frame_bow = frame_bow;
    tiling_start(&s.tiling, v);
    Py_ssize_t newlines = 0;
    while (length && text[length - 1] == '\n') {
        length--;
        newlines++;
    }
    if (frame_bow && head_space && length && text[0] == ' ' && (length == 1 || text[1] != ' ')) {
        text++;                /* the marker at the end of the frame is this space */
        length--;
    }
    s.text = text;
    s.length = length;
    if (length == 0 && frame_bow)
        push(&s.tiling, BOW);
    for (Py_ssize_t start = 0; start < length;) {
        Run run = next_run(&s, start);
        push_run(&s, &run);
        start = run.end;
    }
    push_waiting_space(&s, 0);
    return tiling_total(&s.tiling) + count_tail(v, newlines);
}

static PyObject *vocabulary_count(PyObject *self, PyObject *args)
{
    const Vocabulary *v = (Vocabulary *)self;
    PyObject *text;
    int frame_bow, head_space;
    if (!PyArg_ParseTuple(args, "Upp:count", &text, &frame_bow, &head_space))
        return NULL;
    Py_ssize_t length = PyUnicode_GET_LENGTH(text), total;
    int width = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    uint32_t *folded = PyMem_RawMalloc(((size_t)length + 1) * sizeof(uint32_t));
    if (!folded)
        return PyErr_NoMemory();
    PyThreadState *state = length >= LONG_TEXT ? PyEval_SaveThread() : NULL;
    total = count_folded(v, folded, fold(v, width, data, length, folded), frame_bow, head_space);
    if (state)
        PyEval_RestoreThread(state);
    PyMem_RawFree(folded);
    return PyLong_FromSsize_t(total);
}

/* ---- the module ----------------------------------------------------------------------------------- */

static const uint8_t *table(PyObject *bytes, Py_ssize_t size)
{
    if (PyBytes_GET_SIZE(bytes) == size)
        return (const uint8_t *)PyBytes_AS_STRING(bytes);
    PyErr_Format(PyExc_ValueError, "a table has %zd bytes and not %zd", PyBytes_GET_SIZE(bytes), size);
    return NULL;
}

static PyObject *vocabulary_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"kinds", "lower", "floors", "pieces", "fold_quotes", "caps_from", NULL};
    PyObject *kinds, *lower, *floors, *pieces;
    int fold_quotes;
    Py_ssize_t caps_from;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "SSSUpn:Vocabulary", names, &kinds, &lower, &floors, &pieces,
                                     &fold_quotes, &caps_from))
        return NULL;
    Vocabulary *v = (Vocabulary *)type->tp_alloc(type, 0);
    if (!v)
        return NULL;
    v->kinds_bytes = Py_NewRef(kinds);
    v->lower_bytes = Py_NewRef(lower);
    v->floors_bytes = Py_NewRef(floors);
    v->fold_quotes = fold_quotes;
    v->caps_from = caps_from;
    if (!(v->kinds = table(kinds, PLANE)) || !(v->lower = table(lower, 2 * PLANE)) ||
        !(v->floors = table(floors, BLOCKS)) || build_trie(v, pieces) < 0) {
        Py_DECREF(v);
        return NULL;
    }
    return (PyObject *)v;
}

static void vocabulary_dealloc(PyObject *self)
{
    Vocabulary *v = (Vocabulary *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(v->kinds_bytes);
    Py_XDECREF(v->lower_bytes);
    Py_XDECREF(v->floors_bytes);
    PyMem_Free(v->roots);
    PyMem_Free(v->children);
    PyMem_Free(v->labels);
    PyMem_Free(v->ends);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Only marks from these ranges may change places when a text is composed. */
static inline int may_move(uint32_t c)
{
    return c >= 0x300 && (c < 0x3100 || (c >= 0xA66F && c < 0xAC00) || (c >= 0xFB1E && c < 0xFE30) ||
                          (c >= 0x10000 && c < 0x1F000));
}

static PyObject *longest_stretch(PyObject *module, PyObject *text)
{
    (void)module;
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "text must be str");
        return NULL;
    }
    Py_ssize_t longest = 0, run = 0, length = PyUnicode_GET_LENGTH(text);
    int width = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    for (Py_ssize_t i = 0; i < length; i++) {
        run = may_move(PyUnicode_READ(width, data, i)) ? run + 1 : 0;
        if (run > longest)
            longest = run;
    }
    return PyLong_FromSsize_t(longest);
}

static PyMethodDef vocabulary_methods[] = {
    {"count", vocabulary_count, METH_VARARGS, "count(text, frame_bow, head_space) -> tokens of NFC text"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot vocabulary_slots[] = {
    {Py_tp_new, vocabulary_new},
    {Py_tp_dealloc, vocabulary_dealloc},
    {Py_tp_methods, vocabulary_methods},
    {0, NULL},
};

static PyType_Spec vocabulary_spec = {
    .name = "brim.tokens._claude.Vocabulary",
    .basicsize = sizeof(Vocabulary),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = vocabulary_slots,
};

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&vocabulary_spec);
    int failed = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
    Py_XDECREF(type);
    return failed;
}

static PyMethodDef module_methods[] = {
    {"longest_stretch", longest_stretch, METH_O, "longest_stretch(text) -> longest run of characters that may change places"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "brim.tokens._claude",
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__claude(void)
{
    return PyModuleDef_Init(&module_definition);
}
