/* The skeleton of a module, as skeleton.py makes it, and to the byte the same: see there for what it is and why.
 *
 * Every function here is named after its twin in Python, and the tests compare the two on whole libraries. What is a
 * regular expression there is a loop here; each says which. Whoever changes one changes the other.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#define LONGEST_HEADER 20000
#define TEXT_OF(literal) literal, (Py_ssize_t)(sizeof(literal) - 1)

#ifndef SOURCE_DIGEST
#define SOURCE_DIGEST ""
#endif

typedef struct {
    const char *text;
    Py_ssize_t size;
} Source;

/* --- characters ------------------------------------------------------------------------------------------- */

static int is_blank(char c) { return c == ' ' || c == '\t'; }

static int is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

static int starts_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_word(char c) { return starts_name(c) || (c >= '0' && c <= '9'); }

static int is_quote(char c) { return c == '"' || c == '\''; }

static int is_ascii(const char *text, Py_ssize_t size) {
    for (Py_ssize_t i = 0; i < size; i++)
        if ((unsigned char)text[i] > 127) return 0;
    return 1;
}

/* --- searching -------------------------------------------------------------------------------------------- */

/* A word, with the place in it of the letter that is rarest in sources: looking for that one finds few others. */
typedef struct {
    const char *text;
    Py_ssize_t size, rare;
} Word;

#define WORD(literal, rare) {literal, (Py_ssize_t)(sizeof(literal) - 1), rare}

static const Word DEF = WORD("def ", 2), IMPORT = WORD("import ", 2), LAMBDA = WORD("lambda", 3), AWAIT = WORD("await", 1);
static const Word DOUBLE = WORD("\"\"\"", 2), SINGLE = WORD("'''", 2);

/* Offset of a word in text[from:to], or -1. */
static Py_ssize_t find(const char *text, Py_ssize_t from, Py_ssize_t to, const Word *word) {
    const char letter = word->text[word->rare];
    Py_ssize_t at = from + word->rare, behind = to - word->size + word->rare + 1;
    while (at < behind) {
        const char *found = memchr(text + at, letter, (size_t)(behind - at));
        if (found == NULL) return -1;
        at = found - text;
        if (memcmp(found - word->rare, word->text, (size_t)word->size) == 0) return at - word->rare;
        at++;
    }
    return -1;
}

static Py_ssize_t find_newline(const char *text, Py_ssize_t from, Py_ssize_t to) {
    const char *found = from < to ? memchr(text + from, '\n', (size_t)(to - from)) : NULL;
    return found == NULL ? -1 : found - text;
}

/* Offset behind the last newline of text[from:to], or `from`. */
static Py_ssize_t line_start(const char *text, Py_ssize_t from, Py_ssize_t to) {
    while (to > from && text[to - 1] != '\n') to--;
    return to;
}

static Py_ssize_t count(const char *text, Py_ssize_t from, Py_ssize_t to, char c) {
    Py_ssize_t found = 0;
    for (Py_ssize_t at = from; at < to; at++) found += text[at] == c;
    return found;
}

/* True when text[from:to] ends with a backslash and a newline. */
static int is_carried_over(const char *text, Py_ssize_t from, Py_ssize_t to) {
    return to - from >= 2 && text[to - 1] == '\n' && text[to - 2] == '\\';
}

/* --- strings ---------------------------------------------------------------------------------------------- */

typedef struct {
    Py_ssize_t *starts, *ends;
    Py_ssize_t count, room;
} Strings;

static int add_string(Strings *placed, Py_ssize_t start, Py_ssize_t end) {
    if (placed->count == placed->room) {
        Py_ssize_t room = placed->room ? 2 * placed->room : 64;
        Py_ssize_t *starts = PyMem_Realloc(placed->starts, (size_t)room * sizeof(Py_ssize_t));
        if (starts == NULL) return -1;
        placed->starts = starts;
        Py_ssize_t *ends = PyMem_Realloc(placed->ends, (size_t)room * sizeof(Py_ssize_t));
        if (ends == NULL) return -1;
        placed->ends = ends;
        placed->room = room;
    }
    placed->starts[placed->count] = start;
    placed->ends[placed->count++] = end;
    return 0;
}

/* _INLINE at `at`: the end of the comment or one-line string that begins there; -1 for none. */
static Py_ssize_t inline_end(const char *text, Py_ssize_t at, Py_ssize_t to) {
    char quote = text[at];
    if (quote == '#') {
        Py_ssize_t end = find_newline(text, at, to);
        return end < 0 ? to : end;
    }
    if (!is_quote(quote)) return -1;
    if (at + 2 < to && text[at + 1] == quote && text[at + 2] == quote) return -1;
    for (Py_ssize_t i = at + 1; i < to; i++) {
        if (text[i] == quote) return i + 1;
        if (text[i] == '\n') return -1;
        if (text[i] == '\\') i++;
    }
    return -1;
}

/* _skip_inline: where the walk over strings and comments is when it reaches or passes `at`; -1 if unsure. */
static Py_ssize_t skip_inline(const Source *source, Py_ssize_t start, Py_ssize_t at) {
    Py_ssize_t position = start;
    while (position < at) {
        while (position < at && !is_quote(source->text[position]) && source->text[position] != '#') position++;
        if (position >= at) return at;
        position = inline_end(source->text, position, source->size);
        if (position < 0) return -1;
    }
    return position;
}

/* _closing: offset behind the closing triple quotes, or -1. */
static Py_ssize_t closing(const Source *source, Py_ssize_t position, const Word *quotes) {
    for (;;) {
        Py_ssize_t end = find(source->text, position, source->size, quotes);
        if (end < 0) return -1;
        Py_ssize_t backslashes = 0;
        while (source->text[end - 1 - backslashes] == '\\') backslashes++;
        if (backslashes % 2 == 0) return end + 3;
        position = end + 1;
    }
}

/* _strings: 1 when all triple-quoted strings were placed, 0 when a quote could not be, -1 without memory. */
static int place_strings(const Source *source, Strings *placed) {
    const char *text = source->text;
    Py_ssize_t size = source->size, position = 0;
    Py_ssize_t twice = find(text, 0, size, &DOUBLE), once = find(text, 0, size, &SINGLE);
    while (twice >= 0 || once >= 0) {
        int first = twice >= 0 && (once < 0 || twice < once);
        Py_ssize_t at = first ? twice : once;
        Py_ssize_t line = line_start(text, position, at);
        if (is_carried_over(text, 0, line)) return 0;
        Py_ssize_t skipped = skip_inline(source, line, at);
        if (skipped < 0) return 0;
        if (skipped > at) {
            position = skipped;
        } else {
            position = closing(source, at + 3, first ? &DOUBLE : &SINGLE);
            if (position < 0) return 0;
            if (add_string(placed, at, position) < 0) return -1;
        }
        if (twice >= 0 && twice < position) twice = find(text, position, size, &DOUBLE);
        if (once >= 0 && once < position) once = find(text, position, size, &SINGLE);
    }
    return 1;
}

/* The index of the last string that starts at or before `at`, or -1. */
static Py_ssize_t last_string(const Strings *placed, Py_ssize_t at) {
    Py_ssize_t low = 0, high = placed->count;
    while (low < high) {
        Py_ssize_t middle = (low + high) / 2;
        if (at < placed->starts[middle]) high = middle;
        else low = middle + 1;
    }
    return low - 1;
}

/* _within: the end of the triple-quoted string that holds an offset, or 0. */
static Py_ssize_t within(const Strings *placed, Py_ssize_t at) {
    Py_ssize_t index = last_string(placed, at);
    return index >= 0 && at < placed->ends[index] ? placed->ends[index] : 0;
}

/* --- a buffer ---------------------------------------------------------------------------------------------- */

typedef struct {
    char *text;
    Py_ssize_t size, room;
} Buffer;

static int reserve(Buffer *buffer, Py_ssize_t more) {
    if (buffer->size + more <= buffer->room) return 0;
    Py_ssize_t room = 2 * buffer->room > buffer->size + more ? 2 * buffer->room : buffer->size + more + 256;
    char *text = PyMem_Realloc(buffer->text, (size_t)room);
    if (text == NULL) return -1;
    buffer->text = text;
    buffer->room = room;
    return 0;
}

static int append(Buffer *buffer, const char *text, Py_ssize_t size) {
    if (reserve(buffer, size) < 0) return -1;
    memcpy(buffer->text + buffer->size, text, (size_t)size);
    buffer->size += size;
    return 0;
}

static int append_newlines(Buffer *buffer, Py_ssize_t times) {
    if (reserve(buffer, times) < 0) return -1;
    memset(buffer->text + buffer->size, '\n', (size_t)times);
    buffer->size += times;
    return 0;
}

/* _INLINE.sub(_blank): comments go, strings become "0". */
static int blank_inline(Buffer *out, const char *text, Py_ssize_t size) {
    out->size = 0;
    if (reserve(out, size) < 0) return -1;
    for (Py_ssize_t at = 0; at < size;) {
        char c = text[at];
        Py_ssize_t end = is_quote(c) || c == '#' ? inline_end(text, at, size) : -1;
        if (end < 0) {
            out->text[out->size++] = c;
            at++;
        } else {
            if (c != '#') out->text[out->size++] = '0';
            at = end;
        }
    }
    return 0;
}

/* --- headers ----------------------------------------------------------------------------------------------- */

/* _FORMATTED.search: true when a formatted string begins in the text. */
static int is_formatted(const char *text, Py_ssize_t size) {
    for (Py_ssize_t i = 0; i + 1 < size; i++) {
        char c = (char)(text[i] | 0x20);
        if (c != 'f' && c != 't' && c != 'r') continue;
        if (c != 'r' && is_quote(text[i + 1])) return 1;
        if (i + 2 >= size || !is_quote(text[i + 2])) continue;
        char other = (char)(text[i + 1] | 0x20);
        if (c == 'r' ? other == 'f' || other == 't' : other == 'r') return 1;
    }
    return 0;
}

/* _PLAIN_HEADER.match: the offset behind the newline of a header with one pair of parentheses, or -1. */
static Py_ssize_t plain_header(const Source *source, Py_ssize_t at) {
    const char *text = source->text;
    Py_ssize_t size = source->size;
    while (at < size && strchr("()[]\"'#\\{}\n", text[at]) == NULL) at++;
    if (at >= size || text[at] != '(') return -1;
    for (at++; at < size;) {
        char c = text[at];
        if (c == ')') break;
        if (c == '#') {
            Py_ssize_t end = find_newline(text, at, size);
            at = end < 0 ? size : end;
        } else if (is_quote(c)) {
            if (at + 2 < size && text[at + 1] == c && text[at + 2] == c) return -1;
            for (at++; at < size && text[at] != c; at++)
                if (text[at] == '\\' || text[at] == '\n') return -1;
            at++;
        } else if (c == '(' || c == '\\' || c == '{' || c == '}') {
            return -1;
        } else {
            at++;
        }
    }
    if (at >= size) return -1;
    for (at++; at < size && strchr("()\"'#\\{}\n:", text[at]) == NULL; at++) {}
    if (at >= size || text[at] != ':') return -1;
    for (at++; at < size && is_blank(text[at]); at++) {}
    return at < size && text[at] == '\n' ? at + 1 : -1;
}

/* _HEADER_END.search on the last line of a text. */
static int ends_header(const char *text, Py_ssize_t size) {
    for (Py_ssize_t at = line_start(text, 0, size); at < size; at++) {
        if (text[at] != ':') continue;
        Py_ssize_t next = at + 1;
        while (next < size && is_blank(text[next])) next++;
        if (next == size || text[next] == '#') return 1;
    }
    return 0;
}

static int has_quote_or_comment(const char *text, Py_ssize_t size) {
    return memchr(text, '"', (size_t)size) || memchr(text, '\'', (size_t)size) || memchr(text, '#', (size_t)size);
}

static int has_lambda_or_await(const char *text, Py_ssize_t size) {
    return find(text, 0, size, &LAMBDA) >= 0 || find(text, 0, size, &AWAIT) >= 0;
}

typedef struct {
    Py_ssize_t body;
    int stripped; /* whether the header's name is enough */
    const char *text;
    Py_ssize_t size;
} Header;

/* _header: 1 when the header was understood, 0 when not, -1 without memory. `scratch` holds a changed text. */
static int read_header(const Source *source, Py_ssize_t position, Buffer *scratch, Header *header) {
    Py_ssize_t plain = plain_header(source, position);
    if (plain >= 0 && plain - position <= LONGEST_HEADER) {
        const char *text = source->text + position;
        Py_ssize_t size = plain - 1 - position;
        int quoted = has_quote_or_comment(text, size);
        if (!quoted || !is_formatted(text, size)) {
            if (quoted) {
                if (blank_inline(scratch, text, size) < 0) return -1;
                text = scratch->text;
                size = scratch->size;
            }
            if (count(text, 0, size, '[') == count(text, 0, size, ']') && !has_lambda_or_await(text, size)) {
                *header = (Header){plain, 1, text, size};
                return 1;
            }
        }
    }
    int calls = 0;
    Py_ssize_t end = find_newline(source->text, position, source->size);
    for (; end >= 0 && end - position <= LONGEST_HEADER; end = find_newline(source->text, end + 1, source->size)) {
        const char *text = source->text + position;
        Py_ssize_t size = end - position;
        if (has_quote_or_comment(text, size)) {
            if (find(text, 0, size, &DOUBLE) >= 0 || find(text, 0, size, &SINGLE) >= 0) return 0;
            calls = is_formatted(text, size);
            if (blank_inline(scratch, text, size) < 0) return -1;
            text = scratch->text;
            size = scratch->size;
            if (memchr(text, '"', (size_t)size) || memchr(text, '\'', (size_t)size)) return 0;
        }
        Py_ssize_t opened = count(text, 0, size, '(');
        if (opened != count(text, 0, size, ')') || count(text, 0, size, '[') != count(text, 0, size, ']')) continue;
        if (!ends_header(text, size) || memchr(text, '\\', (size_t)size)) return 0;
        int strip = opened == 1 && !calls && !memchr(text, '{', (size_t)size) && !has_lambda_or_await(text, size);
        *header = (Header){end + 1, strip, text, size};
        return 1;
    }
    return 0;
}

/* --- bodies ------------------------------------------------------------------------------------------------ */

/* The pattern of `bodies`: the offset of the first newline from `at` on that a line outside the body follows, or -1. */
static Py_ssize_t dedent(const Source *source, Py_ssize_t at, const char *indent, Py_ssize_t width) {
    const char *text = source->text;
    Py_ssize_t size = source->size;
    for (at = find_newline(text, at, size); at >= 0; at = find_newline(text, at + 1, size)) {
        Py_ssize_t next = at + 1;
        if (next + width < size && memcmp(text + next, indent, (size_t)width) == 0 && is_blank(text[next + width]))
            continue;
        while (next < size && is_blank(text[next])) next++;
        if (next < size && text[next] != '\n' && text[next] != '#') return at;
    }
    return -1;
}

/* _body_end: the offset behind the last line that belongs to the body that begins at `start`. */
static Py_ssize_t body_end(
    const Source *source, const Strings *placed, Py_ssize_t start, const char *indent, Py_ssize_t width
) {
    Py_ssize_t position = start - 1;
    for (;;) {
        Py_ssize_t found = dedent(source, position, indent, width);
        if (found < 0) return source->size;
        Py_ssize_t end = found + 1, inside = within(placed, end);
        if (inside == 0 || placed->starts[last_string(placed, end)] == end) return end;
        position = inside;
    }
}

/* --- plain imports ---------------------------------------------------------------------------------------- */

static const char *const KEYWORDS[] = {
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
};

static int is_keyword(const char *word, Py_ssize_t size) {
    if (size < 2 || size > 8) return 0;
    for (size_t i = 0; i < sizeof(KEYWORDS) / sizeof(*KEYWORDS); i++)
        if (KEYWORDS[i][0] == word[0] && (Py_ssize_t)strlen(KEYWORDS[i]) == size &&
            memcmp(KEYWORDS[i], word, (size_t)size) == 0)
            return 1;
    return 0;
}

/* What is read of an import, and where; `at` is -1 once it turned out not to be plain. */
typedef struct {
    const char *text;
    Py_ssize_t at, size;
    Py_ssize_t closed; /* where the last parenthesis stands, or the statement begins */
    int level;
    PyObject *module, *names;
} Import;

/* Read a word if one stands there; 0 if not. */
static int take_word(Import *import, const char *word, Py_ssize_t size) {
    if (import->at + size > import->size || memcmp(import->text + import->at, word, (size_t)size) != 0) return 0;
    import->at += size;
    return 1;
}

/* Read a name, with dots between names if it may have them; its size, or 0 where there is none or a keyword. */
static Py_ssize_t take_name(Import *import, int dotted) {
    const char *text = import->text;
    Py_ssize_t start = import->at, first;
    do {
        if (import->at > start) import->at++;
        first = import->at;
        if (first >= import->size || !starts_name(text[first])) return 0;
        while (import->at < import->size && is_word(text[import->at])) import->at++;
        if (is_keyword(text + first, import->at - first)) return 0;
    } while (dotted && import->at + 1 < import->size && text[import->at] == '.' && starts_name(text[import->at + 1]));
    return import->at - start;
}

static PyObject *interned(const char *text, Py_ssize_t size) {
    PyObject *name = PyUnicode_FromStringAndSize(text, size);
    if (name != NULL) PyUnicode_InternInPlace(&name);
    return name;
}

/* Read one name with its alias: 1 when there was one, 0 when not, -1 without memory. */
static int take_alias(Import *import, int dotted) {
    Py_ssize_t start = import->at, size = take_name(import, dotted), alias_size = 0;
    if (size == 0) return 0;
    Py_ssize_t behind = import->at;
    if (take_word(import, TEXT_OF(" as ")) && import->at < import->size && starts_name(import->text[import->at])) {
        alias_size = take_name(import, 0);
        if (alias_size == 0) return 0;
    } else {
        import->at = behind;
    }
    PyObject *name = interned(import->text + start, size);
    PyObject *alias = alias_size ? interned(import->text + import->at - alias_size, alias_size) : Py_NewRef(Py_None);
    PyObject *pair = name != NULL && alias != NULL ? PyTuple_Pack(2, name, alias) : NULL;
    int failed = pair == NULL || PyList_Append(import->names, pair) < 0;
    Py_XDECREF(name);
    Py_XDECREF(alias);
    Py_XDECREF(pair);
    return failed ? -1 : 1;
}

/* _GAP: blanks, newlines and comments. */
static void take_gap(Import *import) {
    while (import->at < import->size) {
        char c = import->text[import->at];
        if (c == '#') {
            Py_ssize_t end = find_newline(import->text, import->at, import->size);
            import->at = end < 0 ? import->size : end;
        } else if (is_blank(c) || c == '\n') {
            import->at++;
        } else {
            return;
        }
    }
}

/* Names with commas between them on one line: as take_alias. */
static int take_names(Import *import, int dotted) {
    for (;;) {
        int taken = take_alias(import, dotted);
        if (taken <= 0) return taken;
        Py_ssize_t behind = import->at;
        if (!take_word(import, ",", 1)) return 1;
        take_word(import, " ", 1);
        if (import->at >= import->size || !starts_name(import->text[import->at])) {
            import->at = behind; /* the comma is no part of it, and nothing else may stand there */
            return 1;
        }
    }
}

/* Names in parentheses: as take_alias. */
static int take_listed(Import *import) {
    take_gap(import);
    for (;;) {
        int taken = take_alias(import, 0);
        if (taken <= 0) return taken;
        take_gap(import);
        int comma = take_word(import, ",", 1);
        take_gap(import);
        if (import->at < import->size && import->text[import->at] == ')') {
            import->closed = import->at++;
            return 1;
        }
        if (!comma) return 0;
    }
}

/* The end of the line behind an import: 1 when nothing else stands there. */
static int take_end(Import *import) {
    while (import->at < import->size && is_blank(import->text[import->at])) import->at++;
    if (import->at < import->size && import->text[import->at] == '#') {
        Py_ssize_t end = find_newline(import->text, import->at, import->size);
        if (end < 0) return 0;
        import->at = end;
    }
    return take_word(import, "\n", 1);
}

/* What stands between `from` and `import`: 1 when it is plain. */
static int take_source(Import *import) {
    for (import->level = 0; take_word(import, ".", 1);) import->level++;
    Py_ssize_t size = 0;
    if (import->at < import->size && starts_name(import->text[import->at])) {
        size = take_name(import, 1);
        if (size == 0 || (size == 10 && memcmp(import->text + import->at - 10, "__future__", 10) == 0)) return 0;
    }
    if (size == 0 && import->level == 0) return 0;
    import->module = size ? PyUnicode_FromStringAndSize(import->text + import->at - size, size) : Py_NewRef(Py_None);
    return import->module == NULL ? -1 : take_word(import, TEXT_OF(" import "));
}

/* plain_import: 1 when a plain import was read, 0 when there is none, -1 without memory. */
static int take_import(Import *import) {
    int taken;
    import->closed = import->at;
    import->names = PyList_New(0);
    if (import->names == NULL) return -1;
    if (take_word(import, TEXT_OF("import "))) {
        import->level = -1;
        import->module = Py_NewRef(Py_None);
        taken = take_names(import, 1);
    } else if (take_word(import, TEXT_OF("from "))) {
        taken = take_source(import);
        if (taken == 1) taken = take_word(import, "(", 1) ? take_listed(import) : take_names(import, 0);
    } else {
        return 0;
    }
    return taken == 1 ? take_end(import) : taken;
}

/* _BEYOND: whether something else than comments stands between two offsets, the first of which begins a line. */
static int is_beyond(const char *text, Py_ssize_t from, Py_ssize_t to) {
    Import gap = {.text = text, .at = from, .size = to};
    take_gap(&gap);
    return gap.at < to;
}

/* --- writing ----------------------------------------------------------------------------------------------- */

typedef struct {
    const Source *source;
    Buffer out, scratch;
    Py_ssize_t position, line, counted;
    const Strings *placed;
    PyObject *spans, *names, *met, *runs, *imports;
    PyObject *run;           /* the lines of the run just written, borrowed from `runs`; NULL for none */
    const char *run_indent;
    Py_ssize_t run_width;
    Py_ssize_t run_newlines; /* what follows the run's names is written when it ends */
} Writer;

static int put_number(PyObject *list, Py_ssize_t number) {
    PyObject *made = PyLong_FromSsize_t(number);
    if (made == NULL) return -1;
    int failed = PyList_Append(list, made);
    Py_DECREF(made);
    return failed;
}

/* End the run just written. */
static int end_run(Writer *writer) {
    if (writer->run == NULL) return 0;
    writer->run = NULL;
    return append(&writer->out, "0", 1) < 0 || append_newlines(&writer->out, writer->run_newlines) < 0 ? -1 : 0;
}

/* _count: the line of an offset behind the last one that was asked for. */
static Py_ssize_t line_of(Writer *writer, Py_ssize_t offset) {
    writer->line += count(writer->source->text, writer->counted, offset, '\n');
    writer->counted = offset;
    return writer->line;
}

/* Add an import to the run of them that begins at `first`. */
static int note_import(Writer *writer, const Import *import, Py_ssize_t first, Py_ssize_t start) {
    Py_ssize_t line = writer->line, last = line + count(import->text, start, import->closed, '\n');
    PyObject *key = PyLong_FromSsize_t(first), *names = PyList_AsTuple(import->names), *run = NULL;
    PyObject *record = names == NULL ? NULL : Py_BuildValue("(nnOiO)", line, last, import->module, import->level, names);
    int failed = key == NULL || record == NULL;
    if (!failed) {
        run = PyDict_GetItemWithError(writer->imports, key); /* borrowed */
        if (run == NULL && !PyErr_Occurred()) {
            PyObject *made = PyList_New(0);
            failed = made == NULL || PyDict_SetItem(writer->imports, key, made) < 0;
            Py_XDECREF(made);
            run = made;
        }
        failed = failed || run == NULL || PyList_Append(run, record) < 0;
    }
    Py_XDECREF(key);
    Py_XDECREF(names);
    Py_XDECREF(record);
    return failed ? -1 : 0;
}

/* Leave an import out that may be plain: the offset behind it, 0 if it is not, -1 on failure. */
static Py_ssize_t leave_out(Writer *writer, Py_ssize_t position, Py_ssize_t start, Py_ssize_t end, Py_ssize_t *first) {
    const char *text = writer->source->text;
    Import import = {.text = text, .at = start, .size = end};
    Py_ssize_t behind = 0;
    int taken = take_import(&import);
    if (taken == 1 && !is_carried_over(text, 0, start) && !within(writer->placed, start)) {
        int goes_on = *first > 0 && !is_beyond(text, position, start);
        Py_ssize_t line = line_of(writer, start);
        if (!goes_on) *first = line;
        int failed = append(&writer->out, text + position, start - position) < 0 ||
                     (!goes_on && append(&writer->out, TEXT_OF("pass")) < 0) ||
                     append_newlines(&writer->out, count(text, start, import.at, '\n')) < 0 ||
                     note_import(writer, &import, *first, start) < 0;
        behind = failed ? -1 : import.at;
    } else if (taken < 0) {
        behind = -1;
    }
    Py_XDECREF(import.module);
    Py_XDECREF(import.names);
    return behind;
}

/* _leave: leave what stands before an offset as it is, but for the plain imports of the module. */
static int leave(Writer *writer, Py_ssize_t end) {
    const char *text = writer->source->text;
    Py_ssize_t position = writer->position, first = 0;
    if (end > position && end_run(writer) < 0) return -1;
    for (Py_ssize_t at = position; (at = find(text, at, end, &IMPORT)) >= 0;) {
        Py_ssize_t start = line_start(text, position, at);
        Py_ssize_t behind = leave_out(writer, position, start, end, &first);
        if (behind < 0) return -1;
        if (behind > 0) position = behind;
        at = behind > 0 ? behind : at + 1;
    }
    return append(&writer->out, text + position, end - position);
}

/* _reach: leave all before a function as it is, but for plain imports, and note where the function stands. */
static int reach(Writer *writer, Py_ssize_t start, Py_ssize_t end) {
    if (leave(writer, start) < 0) return -1;
    line_of(writer, start);
    writer->position = end;
    PyObject *line = PyLong_FromSsize_t(writer->line), *span = Py_BuildValue("(nn)", start, end);
    int failed = line == NULL || span == NULL || PyDict_SetItem(writer->spans, line, span) < 0;
    Py_XDECREF(line);
    Py_XDECREF(span);
    return failed ? -1 : 0;
}

/* Writer.headed: a function whose header is to be parsed. */
static int write_headed(
    Writer *writer, const char *indent, Py_ssize_t width, Py_ssize_t start, Py_ssize_t body, Py_ssize_t end
) {
    const char *text = writer->source->text;
    if (reach(writer, start, end) < 0 || end_run(writer) < 0) return -1;
    if (append(&writer->out, text + start, body - start) < 0) return -1;
    if (append(&writer->out, indent, width) < 0 || append(&writer->out, " 0", 2) < 0) return -1;
    return append_newlines(&writer->out, count(text, body, end, '\n'));
}

/* _DOTTED.findall and what `_note_names` does with it, for one part of a header. */
static int note_dotted(Writer *writer, const char *text, Py_ssize_t size) {
    for (Py_ssize_t at = 0; at < size;) {
        Py_ssize_t start = at;
        if (!starts_name(text[at])) {
            at++;
            continue;
        }
        while (at < size && is_word(text[at])) at++;
        Py_ssize_t first = at;
        while (at + 1 < size && text[at] == '.' && starts_name(text[at + 1]))
            for (at++; at < size && is_word(text[at]); at++) {}
        if (at == first) continue;
        PyObject *name = PyBytes_FromStringAndSize(text + start, at - start);
        PyObject *line = PyLong_FromSsize_t(writer->line);
        int failed = name == NULL || line == NULL || PyDict_SetDefault(writer->names, name, line) == NULL;
        Py_XDECREF(name);
        Py_XDECREF(line);
        if (failed) return -1;
    }
    return 0;
}

/* _note_names: the dotted names of a header that were not met before. */
static int note_names(Writer *writer, const char *text, Py_ssize_t size) {
    for (Py_ssize_t at = 0; at <= size;) {
        const char *comma = at < size ? memchr(text + at, ',', (size_t)(size - at)) : NULL;
        Py_ssize_t end = comma == NULL ? size : comma - text, length = end - at;
        const char *part = text + at;
        at = end + 1;
        if (length == 0 || memchr(part, '.', (size_t)length) == NULL) continue;
        const char *colon = memchr(part, ':', (size_t)length);
        const char *annotation = colon == NULL || colon + 1 == part + length ? part : colon + 1;
        PyObject *key = PyBytes_FromStringAndSize(annotation, part + length - annotation);
        if (key == NULL) return -1;
        int known = PySet_Contains(writer->met, key);
        int failed = known < 0 || (!known && PySet_Add(writer->met, key) < 0);
        Py_DECREF(key);
        if (failed || (!known && note_dotted(writer, part, length) < 0)) return -1;
    }
    return 0;
}

/* Begin a run of functions at the current line. */
static int begin_run(Writer *writer, const char *indent, Py_ssize_t width) {
    PyObject *lines = PyList_New(0), *line = PyLong_FromSsize_t(writer->line);
    int failed = lines == NULL || line == NULL || PyList_Append(lines, line) < 0 ||
                 PyDict_SetItem(writer->runs, line, lines) < 0;
    Py_XDECREF(lines);
    Py_XDECREF(line);
    if (failed) return -1;
    writer->run = lines; /* `runs` holds it */
    writer->run_indent = indent;
    writer->run_width = width;
    writer->run_newlines = 0;
    return append(&writer->out, indent, width);
}

/* Writer.stripped: a function of which the name is enough. */
static int write_stripped(
    Writer *writer, const char *indent, Py_ssize_t width, const char *keyword, Py_ssize_t keyword_size,
    const char *name, Py_ssize_t name_size, const Header *header, Py_ssize_t start, Py_ssize_t end
) {
    const char *text = writer->source->text;
    Py_ssize_t before = writer->position, lines = count(text, start, end, '\n');
    int plain = is_ascii(name, name_size);
    int goes_on = writer->run != NULL && start == before && plain && writer->run_width == width &&
                  memcmp(writer->run_indent, indent, (size_t)width) == 0;
    if (reach(writer, start, end) < 0) return -1;
    if (goes_on) {
        if (put_number(writer->run, writer->line) < 0) return -1;
    } else {
        if (end_run(writer) < 0) return -1;
        int decorated = before < start && memchr(text + before, '@', (size_t)(start - before)) != NULL;
        if (decorated || !plain) {
            Buffer *out = &writer->out;
            if (append(out, indent, width) < 0 || append(out, keyword, keyword_size) < 0 ||
                append(out, name, name_size) < 0 || append(out, TEXT_OF("():0")) < 0 ||
                append_newlines(out, lines) < 0)
                return -1;
            return memchr(header->text, '.', (size_t)header->size)
                       ? note_names(writer, header->text, header->size)
                       : 0;
        }
        if (begin_run(writer, indent, width) < 0) return -1;
    }
    if (append(&writer->out, name, name_size) < 0 || append(&writer->out, "=", 1) < 0) return -1;
    writer->run_newlines += lines;
    return memchr(header->text, '.', (size_t)header->size) ? note_names(writer, header->text, header->size) : 0;
}

/* --- the module -------------------------------------------------------------------------------------------- */

/* Handle the "def " at `at`: 1 when its function was written or left alone, -1 on failure. */
static int take(Writer *writer, Py_ssize_t at) {
    const Strings *placed = writer->placed;
    const Source *source = writer->source;
    const char *text = source->text;
    Py_ssize_t start = line_start(text, writer->position, at);
    if (is_carried_over(text, 0, start)) return 1;
    Py_ssize_t width = 0;
    while (start + width < at && is_space(text[start + width])) width++;
    const char *indent = text + start, *keyword = indent + width;
    Py_ssize_t keyword_size = text + at + 4 - keyword;
    if (keyword_size > 4) {
        if (keyword_size < 10 || memcmp(keyword, "async", 5) != 0) return 1;
        for (const char *c = keyword + 5; c < text + at; c++)
            if (!is_space(*c)) return 1;
    }
    Py_ssize_t name = at + 4;
    while (name < source->size && is_blank(text[name])) name++;
    Py_ssize_t behind = name;
    while (behind < source->size && !is_space(text[behind]) && strchr("([:", text[behind]) == NULL) behind++;
    if (behind == name || within(placed, start)) return 1;
    Header header;
    int understood = read_header(source, behind, &writer->scratch, &header);
    if (understood <= 0) return understood < 0 ? -1 : 1;
    Py_ssize_t end = body_end(source, placed, header.body, indent, width);
    if (end <= header.body || is_carried_over(text, header.body, end)) return 1;
    int failed = header.stripped ? write_stripped(writer, indent, width, keyword, keyword_size, text + name,
                                                  behind - name, &header, start, end)
                                 : write_headed(writer, indent, width, start, header.body, end);
    return failed < 0 ? -1 : 1;
}

static PyObject *written(Writer *writer) {
    const Source *source = writer->source;
    if (leave(writer, source->size) < 0 || end_run(writer) < 0) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    PyObject *text = PyBytes_FromStringAndSize(writer->out.text, writer->out.size);
    if (text == NULL) return NULL;
    return Py_BuildValue("(NOOOO)", text, writer->spans, writer->names, writer->runs, writer->imports);
}

static PyObject *blanked(const Source *source, const Strings *placed) {
    Writer writer = {.source = source, .placed = placed, .line = 1};
    PyObject *made = NULL;
    writer.spans = PyDict_New();
    writer.names = PyDict_New();
    writer.met = PySet_New(NULL);
    writer.runs = PyDict_New();
    writer.imports = PyDict_New();
    if (!writer.spans || !writer.names || !writer.met || !writer.runs || !writer.imports) goto out;
    if (reserve(&writer.out, source->size / 2 + 256) < 0) {
        PyErr_NoMemory();
        goto out;
    }
    for (Py_ssize_t at = 0;; at += 4) {
        at = find(source->text, at > writer.position ? at : writer.position, source->size, &DEF);
        if (at < 0) break;
        if (take(&writer, at) < 0) {
            if (!PyErr_Occurred()) PyErr_NoMemory();
            goto out;
        }
    }
    made = written(&writer);
out:
    PyMem_Free(writer.out.text);
    PyMem_Free(writer.scratch.text);
    Py_XDECREF(writer.spans);
    Py_XDECREF(writer.names);
    Py_XDECREF(writer.met);
    Py_XDECREF(writer.runs);
    Py_XDECREF(writer.imports);
    return made;
}

static PyObject *skeleton(PyObject *module, PyObject *argument) {
    (void)module;
    if (!PyBytes_Check(argument)) {
        PyErr_SetString(PyExc_TypeError, "the source has to be bytes");
        return NULL;
    }
    Source source = {PyBytes_AS_STRING(argument), PyBytes_GET_SIZE(argument)};
    if (memchr(source.text, '\f', (size_t)source.size) != NULL || memchr(source.text, '\0', (size_t)source.size))
        Py_RETURN_NONE;
    Strings placed = {NULL, NULL, 0, 0};
    PyObject *made = NULL;
    int known = place_strings(&source, &placed);
    if (known < 0) PyErr_NoMemory();
    else if (known == 0) made = Py_NewRef(Py_None);
    else made = blanked(&source, &placed);
    PyMem_Free(placed.starts);
    PyMem_Free(placed.ends);
    return made;
}

/* `words`: which of the words that ask for a closer look a source holds, a bit for each in its order. */
static const Word WORDS[] = {
    WORD("__future__", 2), WORD("lazy", 2), WORD("global", 3), WORD("coldfork:", 7),
};

static PyObject *words(PyObject *module, PyObject *argument) {
    (void)module;
    if (!PyBytes_Check(argument)) {
        PyErr_SetString(PyExc_TypeError, "the source has to be bytes");
        return NULL;
    }
    long held = 0;
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(*WORDS); i++)
        if (find(PyBytes_AS_STRING(argument), 0, PyBytes_GET_SIZE(argument), &WORDS[i]) >= 0) held |= 1L << i;
    return PyLong_FromLong(held);
}

static PyMethodDef functions[] = {
    {"skeleton", skeleton, METH_O, "The blanked source with its spans, header names, runs and imports; None to parse all of it."},
    {"words", words, METH_O, "Which words that ask for a closer look the source holds, a bit each."},
    {NULL, NULL, 0, NULL},
};

static int fill(PyObject *module) { return PyModule_AddStringConstant(module, "DIGEST", SOURCE_DIGEST); }

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill},
#ifdef Py_MOD_GIL_NOT_USED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_skeleton", "Blanks the function bodies of a module.", 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__skeleton(void) { return PyModuleDef_Init(&definition); }
