"""The words of comments and documents, as far as a program can check them (CONTRIBUTING.md, Words)."""
import re
import statistics

# Beginnings of a sentence that leave its subject to guess.
BAD_START = re.compile(r"(Of|Those (of|that|who)|That of|What|Who|Whoever|Whom|Whose)\b")
# Words that name no thing, or that name it by a picture; who and its kind are for people.
BAD_WORDS = re.compile(
    r"\b(whom|whoever|whosoever|for ever|(go|goes|going|went|gone) on|let(s|ting)? go|g[ia]ve(s|n)? up|giving up"
    r"|(is|are|was|were|be|been) told|tells? (of|what|how|why|which|whether)|told of|says? so|said so"
    r"|(its|their|our|a|last) words?)\b", re.I)
# A sentence, with its lists and code, has at most so many words, and the middle one of a folder or a document fewer.
SENTENCE_WORDS_MAX = 30
MEDIAN_WORDS_MAX = 15

# who is for people: "the user who", "nobody who".
BAD_WHO = re.compile(r"(?<!\busers )(?<!\buser )(?<!\bpeople )(?<!\bperson )(?<!body )(?<!\banyone )\bwho\b", re.I)

SENTENCE_END = re.compile(r"(?<=[.!?])\*{0,2}\s+(?=[A-Z`\"*]|- [A-Z]|(?:- )?_[A-Z]|--?[a-z]|\w+\(\d\)|\\[nr]"
                          r"|dtrain|libdtrain|sshd?\b|mpirun|torchrun|horovodrun|libc\b|libssh2|ps-lite|toml\+\+|waitid)")
DRAWING = re.compile(r"[│─▶◀▲▼└┌┐┘├┬↗↘]|^ {3}")
COMMENT_LINE = re.compile(r"\s*///?<? ?(.*)")
TAIL_LINE = re.compile(r"\s*///<")
COMMENT_TAIL = re.compile(r"[;,{})]\s+///?<? (.*)")

# Comments and literals of C and C++. `block` is the inside of a /* comment */ that is no argument's name.
LITERALS = re.compile(
    r'//[^\n]*|/\*\**\s(?P<block>.*?)\*/|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'", re.S)
BLOCK_LINE = re.compile(r"\s*\*(?: (.*))?")


def block_comments(text):
    """(line, text) of each paragraph of a /* comment */, with or without " * " before its lines; no code."""
    for match in LITERALS.finditer(text):
        if match["block"] is None:
            continue
        paragraph, start = [], 0
        for number, line in enumerate(match["block"].split("\n") + [""], text.count("\n", 0, match.start("block")) + 1):
            starred = BLOCK_LINE.fullmatch(line)
            content = starred[1] or "" if starred else line.strip()
            ends = not content.strip() or content.startswith("  ")
            if paragraph and ends:
                yield start, " ".join(paragraph)
                paragraph = []
            if not ends:
                start = start if paragraph else number
                paragraph.append(content.strip())


def line_comments(text, split_tails=False):
    """(line, text) of each comment; lines of // that follow each other are one. With `split_tails`, a comment behind
    code ends before one that stands alone."""
    block, start, of_tail = [], 0, False
    for number, line in enumerate(text.split("\n") + [""], 1):
        alone, tail = COMMENT_LINE.fullmatch(line), COMMENT_TAIL.search(line)
        if block and split_tails and of_tail and not TAIL_LINE.match(line):
            yield start, " ".join(block)
            block = []
        if alone and DRAWING.search(alone.group(1)):
            alone = None
        if alone and block:
            block.append(alone.group(1))
            continue
        if block:
            yield start, " ".join(block)
            block = []
        if alone or tail:
            block, start, of_tail = [(alone or tail).group(1)], number, not alone
    if block:
        yield start, " ".join(block)


def comments(text, split_tails=False):
    """(line, text) of each comment of both kinds."""
    yield from line_comments(text, split_tails)
    yield from block_comments(text)


def prose(text):
    """(line, text) of each paragraph, item and heading of a Markdown text; no code, no tables."""
    fenced, block, start = False, [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        ends = fenced or not line.strip() or line.lstrip().startswith(("#", "|", "```")) or line.startswith("    ")
        if block and (ends or re.match(r"\s*([-*]|\d+\.) ", line)):
            yield start, " ".join(block)
            block = []
        if not ends:
            start = start if block else number
            block.append(re.sub(r"^\s*([-*]|\d+\.) ", "", line).strip())


def sentences(text):
    """The sentences of one comment or paragraph; code, quotes and links are one word."""
    plain = re.sub(r"`[^`]*`|\"[^\"]*\"|\[[^\]]*\]\([^)]*\)|\*\*[^*]*\*\*", "X", text)
    return [sentence.strip() for sentence in SENTENCE_END.split(plain)]


def faults(text):
    """What is wrong with the sentences of one comment or paragraph."""
    for sentence in sentences(text):
        start = BAD_START.match(sentence)
        if start and not sentence.endswith("?"):
            yield f"a sentence begins with \"{start.group()}\""
        for match in BAD_WORDS.finditer(sentence):
            yield f"\"{match.group()}\""
        if not sentence.endswith("?") and not start and BAD_WHO.search(sentence):
            yield "\"who\", which is for people"
        if len(sentence.split()) > SENTENCE_WORDS_MAX:
            yield f"a sentence of {len(sentence.split())} words: \"{' '.join(sentence.split()[:6])} …\""


SPOKEN = (".cc", ".h", ".hpp", ".c", ".md")


def check_sentences(tree):
    """Comments and documents are sentences that a stranger understands."""
    for path, text in tree.items():
        if path.endswith(SPOKEN):
            for line, block in (prose if path.endswith(".md") else comments)(text):
                for fault in faults(block):
                    yield f"{path}:{line}: {fault}"


def check_median_length(tree):
    """The sentences of a top folder, and those of a document, have at most MEDIAN_WORDS_MAX words at the median."""
    lengths = {}
    for path, text in tree.items():
        if not path.endswith(SPOKEN):
            continue
        document = path.endswith(".md")
        place = path if document else path.split("/")[0] + "/"
        for _, block in prose(text) if document else comments(text, split_tails=True):
            lengths.setdefault(place, []).extend(len(sentence.split()) for sentence in sentences(block))
    for place, counts in lengths.items():
        median = statistics.median_low(counts)
        if median > MEDIAN_WORDS_MAX:
            yield f"{place}: {median} words a sentence at the median; at most {MEDIAN_WORDS_MAX}"
