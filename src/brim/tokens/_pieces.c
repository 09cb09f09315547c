/* Counting with SentencePiece's BPE vocabularies: the number that the plain way gives, many times faster.
 *
 *     text -> segments -> cached size, or merges by rank -> pieces left
 *
 * The text is cut wherever no piece of the vocabulary has the two characters side by side: no merge can cross such a
 * place, so segments are counted by themselves. Most are words, and most words were seen before.
 * A space stands for SentencePiece's word boundary (U+2581), which is how the pieces come in.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum {
    LONG_TEXT = 4096,   /* from here on the interpreter lock is given up while counting */
    SHORT_SEGMENT = 48, /* characters up to which looking at every pair is faster than a heap */
    LONGEST = 1 << 20,  /* bytes of a segment that are merged at once, which takes 50 times as much memory */
    KEY = 27,           /* bytes of a segment that is remembered: with its length and size 32 bytes an entry */
    CACHED = 1 << 15,   /* entries, a megabyte: more words than a long document has */
    PAIR_BITS = 22      /* of the filter of character pairs: 262,144 pieces set about a tenth of them */
};
#define NO_RANK UINT32_MAX

typedef struct {
    uint32_t at, length, rank, tag;
} Slot;

typedef struct {
    uint32_t size;
    uint8_t length;
    char key[KEY];
} Entry;

typedef struct {
    PyObject_HEAD
    char *bytes;
    Slot *slots;
    uint32_t mask;
    uint8_t *pairs;
    Entry *cache;
    PyThread_type_lock lock;
    int prefix; /* whether a text begins with a word boundary of its own */
} Pieces;

/* ---- the vocabulary ------------------------------------------------------------------------------- */

static inline uint64_t hashed(const char *bytes, size_t length)
{
    uint64_t h = 0x9E3779B97F4A7C15ull ^ length;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        h = (h ^ word) * 0xFF51AFD7ED558CCDull;
        h ^= h >> 32;
        bytes += 8;
        length -= 8;
    }
    uint64_t word = 0;
    for (size_t i = 0; i < length; i++)
        word |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    h = (h ^ word) * 0xC4CEB9FE1A85EC53ull;
    return h ^ (h >> 29);
}

static uint32_t rank_of(const Pieces *v, const char *bytes, size_t length)
{
    uint64_t h = hashed(bytes, length);
    uint32_t tag = (uint32_t)(h >> 32);
    for (uint32_t at = (uint32_t)h & v->mask; v->slots[at].length; at = (at + 1) & v->mask) {
        const Slot *slot = &v->slots[at];
        if (slot->tag == tag && slot->length == length && !memcmp(v->bytes + slot->at, bytes, length))
            return slot->rank;
    }
    return NO_RANK;
}

/* Bytes of the character that begins here; `text` is valid UTF-8. */
static inline size_t width(const char *text)
{
    unsigned char c = (unsigned char)*text;
    return c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

static inline uint32_t character(const char *text, size_t bytes)
{
    uint32_t c = 0;
    for (size_t i = 0; i < bytes; i++)
        c = c << 8 | (unsigned char)text[i];
    return c;
}

/* Two characters of ASCII have a bit of their own; others share some, which only makes segments longer. */
static inline uint32_t pair_bit(uint32_t left, uint32_t right)
{
    if ((left | right) < 0x80)
        return left << 7 | right;
    uint64_t h = ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15ull;
    return (uint32_t)(h >> (64 - PAIR_BITS)) | 1u << 14;
}

static inline int joined(const Pieces *v, uint32_t left, uint32_t right)
{
    uint32_t bit = pair_bit(left, right);
    return v->pairs[bit >> 3] >> (bit & 7) & 1;
}

static void add_piece(Pieces *v, uint32_t at, uint32_t length, uint32_t rank)
{
    const char *bytes = v->bytes + at;
    uint64_t h = hashed(bytes, length);
    uint32_t tag = (uint32_t)(h >> 32), place = (uint32_t)h & v->mask;
    for (; v->slots[place].length; place = (place + 1) & v->mask) {
        const Slot *slot = &v->slots[place];
        if (slot->tag == tag && slot->length == length && !memcmp(v->bytes + slot->at, bytes, length))
            return; /* the first of two equal pieces holds */
    }
    v->slots[place] = (Slot){at, length, rank, tag};
    uint32_t before = 0;
    for (uint32_t i = 0; i < length;) {
        size_t step = width(bytes + i);
        uint32_t here = character(bytes + i, step);
        if (i) {
            uint32_t bit = pair_bit(before, here);
            v->pairs[bit >> 3] |= (uint8_t)(1 << (bit & 7));
        }
        before = here;
        i += (uint32_t)step;
    }
}

/* ---- merging -------------------------------------------------------------------------------------- */

/* Tokens of a symbol that nothing was merged into: one, or its bytes where the vocabulary lacks it. */
static inline uint32_t lone(const Pieces *v, const char *bytes, size_t length)
{
    return length == 1 || rank_of(v, bytes, length) != NO_RANK ? 1 : (uint32_t)length;
}

static uint32_t merge_short(const Pieces *v, const char *text, size_t length)
{
    uint8_t start[SHORT_SEGMENT + 1], whole[SHORT_SEGMENT];
    uint32_t ranks[SHORT_SEGMENT];
    uint32_t n = 0;
    for (size_t at = 0; at < length; at += width(text + at)) {
        whole[n] = 0;
        start[n++] = (uint8_t)at;
    }
    start[n] = (uint8_t)length;
    for (uint32_t i = 0; i + 1 < n; i++)
        ranks[i] = rank_of(v, text + start[i], start[i + 2] - start[i]);
    while (n > 1) {
        uint32_t best = 0;
        for (uint32_t i = 1; i + 1 < n; i++)
            if (ranks[i] < ranks[best])
                best = i;
        if (ranks[best] == NO_RANK)
            break;
        memmove(start + best + 1, start + best + 2, n - best - 1);
        memmove(whole + best + 1, whole + best + 2, n - best - 2);
        memmove(ranks + best, ranks + best + 1, (n - best - 2) * sizeof *ranks);
        whole[best] = 1;
        n--;
        if (best)
            ranks[best - 1] = rank_of(v, text + start[best - 1], start[best + 1] - start[best - 1]);
        if (best + 1 < n)
            ranks[best] = rank_of(v, text + start[best], start[best + 2] - start[best]);
    }
    uint32_t size = 0;
    for (uint32_t i = 0; i < n; i++)
        size += whole[i] ? 1 : lone(v, text + start[i], start[i + 1] - start[i]);
    return size;
}

typedef struct {
    uint32_t at, length, before, after;
} Symbol;

typedef struct {
    uint32_t rank, left, length;
} Merge;

static inline int comes_first(const Merge *a, const Merge *b)
{
    return a->rank < b->rank || (a->rank == b->rank && a->left < b->left);
}

static void heap_push(Merge *heap, size_t *size, Merge merge)
{
    size_t at = (*size)++;
    for (; at && comes_first(&merge, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = merge;
}

static Merge heap_pop(Merge *heap, size_t *size)
{
    Merge top = heap[0], last = heap[--*size];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < *size; at = child) {
        if (child + 1 < *size && comes_first(&heap[child + 1], &heap[child]))
            child++;
        if (!comes_first(&heap[child], &last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

static void offer(const Pieces *v, const char *text, const Symbol *symbols, uint32_t left, Merge *heap, size_t *size)
{
    uint32_t length = symbols[left].length + symbols[symbols[left].after].length;
    uint32_t rank = rank_of(v, text + symbols[left].at, length);
    if (rank != NO_RANK)
        heap_push(heap, size, (Merge){rank, left, length});
}

/* As merge_short for more characters; -1 where there is no memory for them. */
static int64_t merge_many(const Pieces *v, const char *text, size_t length)
{
    const uint32_t none = UINT32_MAX;
    size_t n = 0, size = 0;
    for (size_t at = 0; at < length; at += width(text + at))
        n++;
    /* Each merge takes one symbol away and offers two pairs at most. */
    Symbol *symbols = PyMem_RawMalloc(n * sizeof *symbols);
    Merge *heap = PyMem_RawMalloc(3 * n * sizeof *heap);
    if (!symbols || !heap) {
        PyMem_RawFree(symbols);
        PyMem_RawFree(heap);
        return -1;
    }
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        size_t step = width(text + at);
        symbols[i] = (Symbol){(uint32_t)at, (uint32_t)step, i ? i - 1 : none, i + 1 < n ? i + 1 : none};
        at += step;
    }
    for (uint32_t i = 0; i + 1 < n; i++)
        offer(v, text, symbols, i, heap, &size);
    while (size) {
        Merge merge = heap_pop(heap, &size);
        Symbol *left = &symbols[merge.left];
        /* A symbol that changed since the pair was offered has another length, or none. */
        if (!left->length || left->after == none || left->length + symbols[left->after].length != merge.length)
            continue;
        Symbol *right = &symbols[left->after];
        left->length = merge.length;
        right->length = 0;
        left->after = right->after;
        if (left->after != none) {
            symbols[left->after].before = merge.left;
            offer(v, text, symbols, merge.left, heap, &size);
        }
        if (left->before != none)
            offer(v, text, symbols, left->before, heap, &size);
    }
    int64_t total = 0;
    for (uint32_t i = 0; i < n; i++)
        if (symbols[i].length)
            total += lone(v, text + symbols[i].at, symbols[i].length);
    PyMem_RawFree(symbols);
    PyMem_RawFree(heap);
    return total;
}

/* As merge_many for any length. What is longer than any word of any language is cut, and the two sides of a cut may
 * have been one piece: the sum is the number itself or a little more. */
static int64_t merge_long(const Pieces *v, const char *text, size_t length)
{
    int64_t total = 0;
    while (length > LONGEST) {
        size_t end = LONGEST;
        while (((unsigned char)text[end] & 0xC0) == 0x80)
            end--;
        int64_t size = merge_many(v, text, end);
        if (size < 0)
            return -1;
        total += size;
        text += end;
        length -= end;
    }
    int64_t size = merge_many(v, text, length);
    return size < 0 ? -1 : total + size;
}

/* ---- counting ------------------------------------------------------------------------------------- */

static int64_t segment_size(const Pieces *v, Entry *cache, const char *text, size_t length, size_t characters)
{
    if (length == 1)
        return 1;
    Entry *entry = NULL;
    if (cache && length <= KEY) {
        entry = &cache[hashed(text, length) & (CACHED - 1)];
        if (entry->length == length && !memcmp(entry->key, text, length))
            return entry->size;
    }
    int fits = characters <= SHORT_SEGMENT && length <= UINT8_MAX;
    int64_t size = fits ? merge_short(v, text, length) : merge_long(v, text, length);
    if (entry && size >= 0) {
        entry->size = (uint32_t)size;
        entry->length = (uint8_t)length;
        memcpy(entry->key, text, length);
    }
    return size;
}

static int64_t count_bytes(const Pieces *v, Entry *cache, const char *text, size_t length)
{
    int64_t total = 0;
    size_t begin = 0, characters = 1;
    size_t at = length ? width(text) : 0;
    uint32_t before = character(text, at);
    while (at < length) {
        size_t step = width(text + at);
        uint32_t here = character(text + at, step);
        if (!joined(v, before, here)) {
            int64_t size = segment_size(v, cache, text + begin, at - begin, characters);
            if (size < 0)
                return -1;
            total += size;
            begin = at;
            characters = 0;
        }
        before = here;
        at += step;
        characters++;
    }
    if (begin < length) {
        int64_t size = segment_size(v, cache, text + begin, length - begin, characters);
        if (size < 0)
            return -1;
        total += size;
    }
    return total;
}

/* `text` behind the word boundary that it begins with, and with U+2581 as the space that it stands for. */
static size_t normalized(const Pieces *v, const char *text, size_t length, char *out)
{
    char *to = out;
    if (v->prefix)
        *to++ = ' ';
    const char *end = text + length;
    while (text < end) {
        const char *mark = memchr(text, 0xE2, (size_t)(end - text));
        size_t plain = (size_t)((mark ? mark : end) - text);
        memcpy(to, text, plain);
        to += plain;
        text += plain;
        if (!mark)
            break;
        if (end - text >= 3 && !memcmp(text, "\xE2\x96\x81", 3)) {
            *to++ = ' ';
            text += 3;
        } else {
            *to++ = *text++;
        }
    }
    return (size_t)(to - out);
}

static PyObject *pieces_count(PyObject *self, PyObject *text)
{
    Pieces *v = (Pieces *)self;
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "text must be str");
        return NULL;
    }
    if (!PyUnicode_GET_LENGTH(text))
        return PyLong_FromLong(0);
    /* The bytes are not left in the string, which may live long. */
    PyObject *held = PyUnicode_IS_ASCII(text) ? NULL : PyUnicode_AsUTF8String(text);
    if (!held && !PyUnicode_IS_ASCII(text))
        return NULL;
    const char *bytes = held ? PyBytes_AS_STRING(held) : (const char *)PyUnicode_1BYTE_DATA(text);
    size_t length = (size_t)(held ? PyBytes_GET_SIZE(held) : PyUnicode_GET_LENGTH(text));
    if (length >= UINT32_MAX / 2) {
        Py_XDECREF(held);
        PyErr_SetString(PyExc_OverflowError, "text is too long");
        return NULL;
    }
    char small[512];
    char *room = length < sizeof small ? small : PyMem_RawMalloc(length + 1);
    if (!room) {
        Py_XDECREF(held);
        return PyErr_NoMemory();
    }
    /* Who comes while another counts does without the cache, and waits for no one. */
    int alone = PyThread_acquire_lock(v->lock, NOWAIT_LOCK);
    Entry *cache = alone ? v->cache : NULL;
    int64_t total;
    if (length < LONG_TEXT) {
        total = count_bytes(v, cache, room, normalized(v, bytes, length, room));
    } else {
        Py_BEGIN_ALLOW_THREADS
        total = count_bytes(v, cache, room, normalized(v, bytes, length, room));
        Py_END_ALLOW_THREADS
    }
    if (alone)
        PyThread_release_lock(v->lock);
    if (room != small)
        PyMem_RawFree(room);
    Py_XDECREF(held);
    return total < 0 ? PyErr_NoMemory() : PyLong_FromLongLong(total);
}

/* ---- the type ------------------------------------------------------------------------------------- */

static void pieces_dealloc(PyObject *self)
{
    Pieces *v = (Pieces *)self;
    PyMem_RawFree(v->bytes);
    PyMem_RawFree(v->slots);
    PyMem_RawFree(v->pairs);
    PyMem_RawFree(v->cache);
    if (v->lock)
        PyThread_free_lock(v->lock);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Whether a piece is text of its own: a single byte of a longer character is not. */
static int is_text(const char *bytes, Py_ssize_t length)
{
    unsigned char first = (unsigned char)*bytes;
    return length > 0 && (first < 0x80 || (first >= 0xC2 && length >= (Py_ssize_t)width(bytes)));
}

/* Whether a piece is one blank character again and again. */
static int is_run(const char *bytes, Py_ssize_t length)
{
    return length > 1 && strchr(" \n\t", *bytes) && !memcmp(bytes, bytes + 1, (size_t)length - 1);
}

static int load(Pieces *v, PyObject *listed, int runs_first)
{
    Py_ssize_t n = PyList_GET_SIZE(listed);
    size_t total = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!PyBytes_Check(PyList_GET_ITEM(listed, i))) {
            PyErr_SetString(PyExc_TypeError, "pieces must be bytes");
            return -1;
        }
        total += (size_t)PyBytes_GET_SIZE(PyList_GET_ITEM(listed, i));
    }
    uint32_t slots = 1024;
    while (slots < 2 * (size_t)n)
        slots *= 2;
    v->mask = slots - 1;
    v->bytes = PyMem_RawMalloc(total + 1);
    v->slots = PyMem_RawCalloc(slots, sizeof *v->slots);
    v->pairs = PyMem_RawCalloc((1u << PAIR_BITS) / 8, 1);
    v->cache = PyMem_RawCalloc(CACHED, sizeof *v->cache);
    v->lock = PyThread_allocate_lock();
    if (!v->bytes || !v->slots || !v->pairs || !v->cache || !v->lock) {
        PyErr_NoMemory();
        return -1;
    }
    uint32_t at = 0, runs = runs_first ? 0 : (uint32_t)n + 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        const char *bytes = PyBytes_AS_STRING(PyList_GET_ITEM(listed, i));
        Py_ssize_t length = PyBytes_GET_SIZE(PyList_GET_ITEM(listed, i));
        if (!is_text(bytes, length))
            continue;
        memcpy(v->bytes + at, bytes, (size_t)length);
        add_piece(v, at, (uint32_t)length, is_run(bytes, length) ? runs : (uint32_t)i + 1);
        at += (uint32_t)length;
    }
    return 0;
}

static PyObject *pieces_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "prefix", "runs_first", NULL};
    PyObject *listed;
    int prefix, runs_first;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!$pp", names, &PyList_Type, &listed, &prefix, &runs_first))
        return NULL;
    Pieces *v = (Pieces *)type->tp_alloc(type, 0);
    if (!v)
        return NULL;
    v->prefix = prefix;
    if (load(v, listed, runs_first) < 0)
        Py_CLEAR(v);
    return (PyObject *)v;
}

static PyMethodDef pieces_methods[] = {
    {"count", pieces_count, METH_O, "count(text) -> tokens"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot pieces_slots[] = {
    {Py_tp_new, pieces_new},
    {Py_tp_dealloc, pieces_dealloc},
    {Py_tp_methods, pieces_methods},
    {0, NULL},
};

static PyType_Spec pieces_spec = {
    .name = "brim.tokens._pieces.Pieces",
    .basicsize = sizeof(Pieces),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = pieces_slots,
};

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&pieces_spec);
    int failed = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
    Py_XDECREF(type);
    return failed;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "brim.tokens._pieces",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__pieces(void)
{
    return PyModuleDef_Init(&module_definition);
}
