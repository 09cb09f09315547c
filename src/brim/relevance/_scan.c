/* The compiled half of brim.relevance.scan: which texts hold words that begin as wanted, in one pass over all.
 *
 *     text -> three characters -> a trie of beginnings -> the few words that may count, each asked about once
 *
 * A word is looked at where it begins, and where a part of an identifier does (getUserName, user_name), if its first three
 * characters are those of something wanted. Texts beyond ASCII are left to plain Python, which knows what a letter is.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { LETTERS = 37, CLASSES = 38, NO_LETTER = 37 }; /* a-z, 0-9 and the underscore; all others are one class */
enum sort { OUTSIDE, SMALL, CAPITAL, DIGIT, UNDERSCORE, SORTS };
enum { BEGINS = 1, IS_WORD = 2 };        /* at a node: a wanted beginning, or a whole marked word, ends here */

typedef struct {
    int32_t next[LETTERS];
    int flags;
} Node;

typedef struct {
    const unsigned char *word;           /* lies in a text, or in a marked word */
    Py_ssize_t length;
    PyObject *lists;                     /* a tuple of the lists that note its texts; NULL until it was asked about */
    int marks;
} Slot;

typedef struct {
    Node *nodes;
    int32_t used, room;
    uint64_t thirds[CLASSES * CLASSES]; /* by the first two characters of what is wanted the classes of the third, as bits */
    unsigned char *wanted;               /* by two bytes of a text whether there are any */
    Slot *slots;
    size_t taken, mask;                  /* the number of slots is a power of two, mask one less */
    PyObject *given;
    int asks;                            /* the mark of a text with a question mark among its last characters */
    Py_ssize_t ending;                   /* so many of them */
} Scanner;

static unsigned char class_of[256], sort_of[256];
static unsigned char begins[SORTS][SORTS]; /* by the sorts of two neighbours: whether the second begins a part of a word */

static void make_classes(void)
{
    memset(class_of, NO_LETTER, sizeof class_of);
    for (int n = 0; n < 26; n++) {
        class_of['a' + n] = class_of['A' + n] = (unsigned char)n;
        sort_of['a' + n] = SMALL;
        sort_of['A' + n] = CAPITAL;
    }
    for (int n = 0; n < 10; n++) {
        class_of['0' + n] = (unsigned char)(26 + n);
        sort_of['0' + n] = DIGIT;
    }
    class_of['_'] = 36;
    sort_of['_'] = UNDERSCORE;
    for (int now = SMALL; now < SORTS; now++) {
        begins[OUTSIDE][now] = 1;
        for (int before = SMALL; before < SORTS; before++)
            begins[before][now] = now == CAPITAL || (now == DIGIT && before != DIGIT) ||
                                  (now == SMALL && (before == DIGIT || before == UNDERSCORE));
    }
}

/* ---- the trie ------------------------------------------------------------------------------------- */

static int32_t new_node(Scanner *s)
{
    if (s->used == s->room) {
        int32_t room = s->room ? 2 * s->room : 64;
        Node *nodes = PyMem_Realloc(s->nodes, (size_t)room * sizeof *nodes);
        if (nodes == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        s->nodes = nodes;
        s->room = room;
    }
    memset(&s->nodes[s->used], 0, sizeof *s->nodes);
    return s->used++;
}

/* Note how a path begins: what is outside words, or whatever follows a beginning, has a place in it too. */
static void note_start(Scanner *s, const unsigned char *bytes, Py_ssize_t length, int flag)
{
    static const uint64_t ALL = ~UINT64_C(0);
    int first = length > 0 ? class_of[bytes[0]] : 0, second = length > 1 ? class_of[bytes[1]] : NO_LETTER;
    uint64_t *thirds = s->thirds + first * CLASSES + second;
    if (length > 2)
        *thirds |= UINT64_C(1) << class_of[bytes[2]];
    else if (flag == IS_WORD && length > 0)
        *thirds |= length == 2 ? UINT64_C(1) << NO_LETTER : ALL;
    else if (length == 2)
        *thirds = ALL;
    else
        for (int n = 0; n < (length ? CLASSES : CLASSES * CLASSES); n++)
            s->thirds[first * CLASSES + n] = ALL;
}

/* Add a beginning, or a whole word; one with another character than a word of ASCII has cannot be met. */
static int add_path(Scanner *s, PyObject *string, int flag)
{
    if (!PyUnicode_CheckExact(string)) {
        PyErr_SetString(PyExc_TypeError, "beginnings and marked words must be strings");
        return -1;
    }
    if (!PyUnicode_IS_ASCII(string))
        return 0;
    const unsigned char *bytes = PyUnicode_1BYTE_DATA(string);
    int32_t at = 0;
    for (Py_ssize_t n = 0; n < PyUnicode_GET_LENGTH(string); n++) {
        int letter = class_of[bytes[n]];
        if (letter == NO_LETTER)
            return 0;
        int32_t next = s->nodes[at].next[letter];
        if (!next) {
            next = new_node(s);
            if (next < 0)
                return -1;
            s->nodes[at].next[letter] = next;
        }
        at = next;
    }
    s->nodes[at].flags |= flag;
    note_start(s, bytes, PyUnicode_GET_LENGTH(string), flag);
    return 0;
}

/* What the trie says of a word from one of its characters on. */
static int walk(const Scanner *s, const unsigned char *at, const unsigned char *end)
{
    const Node *node = s->nodes;
    int flags = node->flags & BEGINS;
    for (; at < end; at++) {
        int32_t next = node->next[class_of[*at]]; /* there is nothing but letters between them */
        if (!next)
            return flags;
        node = &s->nodes[next];
        flags |= node->flags & BEGINS;
    }
    return flags | node->flags;
}

/* ---- the words that were met ---------------------------------------------------------------------- */

static Slot *slot_of(const Scanner *s, const unsigned char *word, Py_ssize_t length)
{
    uint64_t hash = 14695981039346656037u;
    for (Py_ssize_t n = 0; n < length; n++)
        hash = (hash ^ word[n]) * 1099511628211u;
    size_t at = (size_t)(hash ^ hash >> 29) & s->mask;
    for (;; at = (at + 1) & s->mask) {
        Slot *slot = &s->slots[at];
        if (slot->word == NULL || (slot->length == length && memcmp(slot->word, word, (size_t)length) == 0))
            return slot;
    }
}

static int make_slots(Scanner *s, size_t count)
{
    Slot *before = s->slots;
    size_t old = before == NULL ? 0 : s->mask + 1;
    s->slots = PyMem_Calloc(count, sizeof *s->slots);
    if (s->slots == NULL) {
        s->slots = before;
        PyErr_NoMemory();
        return -1;
    }
    s->mask = count - 1;
    for (size_t n = 0; n < old; n++)
        if (before[n].word != NULL)
            *slot_of(s, before[n].word, before[n].length) = before[n];
    PyMem_Free(before);
    return 0;
}

static Slot *met(Scanner *s, const unsigned char *word, Py_ssize_t length)
{
    Slot *slot = slot_of(s, word, length);
    if (slot->word != NULL)
        return slot;
    if (2 * ++s->taken > s->mask) {
        if (make_slots(s, 2 * (s->mask + 1)) < 0)
            return NULL;
        slot = slot_of(s, word, length);
    }
    slot->word = word;
    slot->length = length;
    return slot;
}

/* Ask once in which lists a word is noted. */
static int ask(Scanner *s, Slot *slot)
{
    PyObject *word = PyUnicode_FromKindAndData(PyUnicode_1BYTE_KIND, slot->word, slot->length);
    PyObject *lists = word == NULL ? NULL : PyObject_CallOneArg(s->given, word);
    Py_XDECREF(word);
    if (lists == NULL)
        return -1;
    int good = PyTuple_CheckExact(lists);
    for (Py_ssize_t n = 0; good && n < PyTuple_GET_SIZE(lists); n++)
        good = PyList_CheckExact(PyTuple_GET_ITEM(lists, n));
    if (!good) {
        Py_DECREF(lists);
        PyErr_SetString(PyExc_TypeError, "a word must be given a tuple of lists");
        return -1;
    }
    slot->lists = lists;
    return 0;
}

/* ---- the texts ------------------------------------------------------------------------------------ */

static int note_word(Scanner *s, const unsigned char *word, Py_ssize_t length, int flags, PyObject *number, int *marks)
{
    Slot *slot = met(s, word, length);
    if (slot == NULL || (flags & BEGINS && slot->lists == NULL && ask(s, slot) < 0))
        return -1;
    *marks |= slot->marks;
    for (Py_ssize_t n = 0; slot->lists != NULL && n < PyTuple_GET_SIZE(slot->lists); n++)
        if (PyList_Append(PyTuple_GET_ITEM(slot->lists, n), number) < 0)
            return -1;
    return 0;
}

/* Note the word around a place, if what begins there is wanted; it is noted once, at the first such place. */
static int note_at(Scanner *s, const unsigned char *text, const unsigned char *at, const unsigned char *end,
                   const unsigned char **noted, PyObject *number, int *marks)
{
    const unsigned char *word = at, *after = at + 1;
    while (word > text && sort_of[word[-1]])
        word--;
    if (word == *noted)
        return 0;
    while (after < end && sort_of[*after])
        after++;
    int flags = walk(s, at, after);
    if (at > word)
        flags &= BEGINS;
    if (!flags)
        return 0;
    if (flags & BEGINS)
        *noted = word;
    return note_word(s, word, after - word, flags, number, marks);
}

/* Whether what begins with three characters may be wanted. */
static int may_begin(const Scanner *s, int first, int second, int third)
{
    return (int)(s->thirds[class_of[first] * CLASSES + class_of[second]] >> class_of[third] & 1);
}

#ifdef __SSE2__
/* Which of sixteen bytes lie between two of ASCII. */
static uint32_t between(__m128i bytes, char low, char high)
{
    __m128i over = _mm_cmpgt_epi8(bytes, _mm_set1_epi8((char)(low - 1)));
    return (uint32_t)_mm_movemask_epi8(_mm_and_si128(over, _mm_cmplt_epi8(bytes, _mm_set1_epi8((char)(high + 1)))));
}

/* Of sixteen bytes those that begin a word, or a part of one, as `begins` says; what is before the first is carried. */
static uint32_t begin_here(const unsigned char *at, uint32_t *letters, uint32_t *digits, uint32_t *lows)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)at);
    uint32_t small = between(bytes, 'a', 'z'), capital = between(bytes, 'A', 'Z'), digit = between(bytes, '0', '9');
    uint32_t low = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('_')));
    uint32_t letter = small | capital;
    uint32_t after_letter = letter << 1 | *letters, after_digit = digit << 1 | *digits, after_low = low << 1 | *lows;
    uint32_t alone = ~(after_letter | after_digit | after_low);
    *letters = letter >> 15;
    *digits = digit >> 15;
    *lows = low >> 15;
    return ((small & (alone | after_digit | after_low)) | capital | (digit & ~after_digit) | (low & alone)) & 0xFFFF;
}

enum { AHEAD = 8, USUAL = 3 }; /* so many blocks are looked at before their words; so many words a block has, mostly */

/* Of what begins in a block keep the places where it may be wanted; returns how many are kept in all. Most blocks have
 * few words, so those are looked at without asking how many there are: to guess that wrong takes longer. */
static int keep_places(const Scanner *s, const unsigned char *block, uint32_t found, const unsigned char **places, int kept)
{
    for (int n = 0; n < USUAL || found; n++, found &= found - 1) {
        const unsigned char *at = block + __builtin_ctz(found | 1 << 16);
        places[kept] = at;
        kept += s->wanted[at[0] << 8 | at[1]] & (found != 0);
    }
    return kept;
}

/* Note the words of a text, sixteen bytes at a time, but for those at its end; returns where that begins, or -1. */
static Py_ssize_t read_blocks(Scanner *s, const unsigned char *text, const unsigned char *end,
                              const unsigned char **noted, PyObject *number, int *marks)
{
    const unsigned char *block = text, *places[16 * AHEAD + 1];
    uint32_t letters = 0, digits = 0, lows = 0;
    while (end - block > 17) { /* two bytes more, to be those after the last */
        int kept = 0;
        for (int n = 0; n < AHEAD && end - block > 17; n++, block += 16)
            kept = keep_places(s, block, begin_here(block, &letters, &digits, &lows), places, kept);
        for (int n = 0; n < kept; n++) {
            const unsigned char *at = places[n];
            if (may_begin(s, at[0], at[1], at[2]) && note_at(s, text, at, end, noted, number, marks) < 0)
                return -1;
        }
    }
    return block - text;
}
#else
static Py_ssize_t read_blocks(Scanner *s, const unsigned char *text, const unsigned char *end,
                              const unsigned char **noted, PyObject *number, int *marks)
{
    return 0;
}
#endif

/* Note the words of one text; returns its marks, or -1. */
static int read_text(Scanner *s, const unsigned char *text, Py_ssize_t length, PyObject *number)
{
    const unsigned char *end = text + length, *noted = NULL;
    int marks = 0;
    Py_ssize_t done = read_blocks(s, text, end, &noted, number, &marks);
    if (done < 0)
        return -1;
    int before = done ? sort_of[text[done - 1]] : OUTSIDE;
    for (const unsigned char *at = text + done; at < end; at++) {
        int now = sort_of[*at], second = at + 1 < end ? at[1] : 0, third = at + 2 < end ? at[2] : 0;
        if (begins[before][now] && may_begin(s, *at, second, third) &&
            note_at(s, text, at, end, &noted, number, &marks) < 0)
            return -1;
        before = now;
    }
    Py_ssize_t last = length < s->ending ? length : s->ending;
    return memchr(end - last, '?', (size_t)last) != NULL ? marks | s->asks : marks;
}

static int read_all(Scanner *s, PyObject *texts, char *marks, PyObject *others)
{
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(texts); n++) {
        PyObject *text = PyTuple_GET_ITEM(texts, n), *number = PyLong_FromSsize_t(n);
        int found = 0, failed = number == NULL;
        if (!failed && PyUnicode_CheckExact(text) && PyUnicode_IS_ASCII(text))
            failed = (found = read_text(s, PyUnicode_1BYTE_DATA(text), PyUnicode_GET_LENGTH(text), number)) < 0;
        else if (!failed)
            failed = PyList_Append(others, number) < 0;
        Py_XDECREF(number);
        if (failed)
            return -1;
        marks[n] = (char)found;
    }
    return 0;
}

/* Make the table of two bytes from that of two classes. */
static int spell_out(Scanner *s)
{
    s->wanted = PyMem_Malloc(128 * 256);
    if (s->wanted == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int first = 0; first < 128; first++)
        for (int second = 0; second < 128; second++) /* there is nothing beyond ASCII in what is read */
            s->wanted[first << 8 | second] = s->thirds[class_of[first] * CLASSES + class_of[second]] != 0;
    return 0;
}

static int prepare(Scanner *s, PyObject *starts, PyObject *marked)
{
    PyObject *word, *bits;
    Py_ssize_t at = 0;
    if (make_slots(s, 1024) < 0 || new_node(s) < 0)
        return -1;
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(starts); n++)
        if (add_path(s, PyTuple_GET_ITEM(starts, n), BEGINS) < 0)
            return -1;
    while (PyDict_Next(marked, &at, &word, &bits)) {
        if (add_path(s, word, IS_WORD) < 0)
            return -1;
        if (!PyUnicode_IS_ASCII(word))
            continue;
        Slot *slot = met(s, PyUnicode_1BYTE_DATA(word), PyUnicode_GET_LENGTH(word));
        long value = PyLong_AsLong(bits);
        if (slot == NULL || (value == -1 && PyErr_Occurred()))
            return -1;
        slot->marks = (int)(value & 127);
    }
    return spell_out(s);
}

static PyObject *scan(PyObject *self, PyObject *args)
{
    PyObject *texts, *starts, *marked, *others = PyList_New(0), *kinds = NULL, *found = NULL;
    Scanner s = {0};
    if (others == NULL)
        return NULL;
    if (PyArg_ParseTuple(args, "O!O!O!inO", &PyTuple_Type, &texts, &PyTuple_Type, &starts, &PyDict_Type, &marked,
                         &s.asks, &s.ending, &s.given))
        kinds = PyByteArray_FromStringAndSize(NULL, PyTuple_GET_SIZE(texts));
    if (kinds != NULL && prepare(&s, starts, marked) == 0 &&
        read_all(&s, texts, PyByteArray_AS_STRING(kinds), others) == 0)
        found = PyTuple_Pack(2, kinds, others);
    for (size_t n = 0; s.slots != NULL && n <= s.mask; n++)
        Py_XDECREF(s.slots[n].lists);
    PyMem_Free(s.slots);
    PyMem_Free(s.nodes);
    PyMem_Free(s.wanted);
    Py_XDECREF(kinds);
    Py_DECREF(others);
    return found;
}

static PyMethodDef methods[] = {
    {"scan", scan, METH_VARARGS,
     "scan(texts, starts, marked, asks, ending, given): append the number of each text to the lists that `given` names "
     "for those of its words that begin as wanted. Returns the marks of each text, and which texts were not read."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "brim.relevance._scan", NULL, 0, methods};

PyMODINIT_FUNC PyInit__scan(void)
{
    make_classes();
    return PyModule_Create(&module);
}
