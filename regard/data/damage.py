"""What can be wrong with a line or a pair by itself: training and the doctor share these rules."""

from __future__ import annotations

import re
from html.entities import html5

EXTREME_RATIO = 9
"""One side of a pair has more than this many times the characters of the other."""

LIKELY_TASK = 0.5
"""What more than this share of the pairs have is the task rather than damage: copying, or a
document and its class."""

_COPIED = 0.85
_FEW = 5
"""Words of which all must be copied; of more, this share."""

_SHORT = 20
"""Characters up to which the longer side of a pair is not called too long."""

# Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer do not write spaces between all words:
# there a character counts as a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+")
_DIGIT = re.compile(r"\d")
_NOT_A_WORD = re.compile(r"[\W_]+")

# The control characters but tab, LF and CR; and code points that no text needs.
_CONTROL = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff\ue000-\uf8ff]")

# The characters that bytes 0x80 to 0xBF become if UTF-8 is read as Windows-1252 or Latin-1.
_LATIN = (
    "\x80-\xbf\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d"
    "\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178"
)
_LATIN_MARKS = (
    "\x80-\x9f\xa1-\xaa\xac-\xba\xbc-\xbf\u0192\u0160\u0152\u017d\u2122\u0161\u0153\u017e\u0178"
)
_CYRILLIC = "\u0402-\u040f\u0452-\u045f\u0490\u0491\u2013-\u203a\u20ac\u2116\u2122\xa0-\xbb"
_GARBLED = re.compile(
    "\ufffd|\u00e2[\u20ac\x80]|\u00ef\u00bb\u00bf|\u00f0\u0178"
    f"|\u00c3[\x80-\xbf\u0192\u2018-\u201c\u201e\u2013\u0152\u0153\u0160\u0161\u0178\u017d\u2020-\u2022\u02c6\u2030\u2039\u203a]"
    f"|\u00c2[\x80-\xbf]|[\u00c4\u00c5][{_LATIN_MARKS}]"
    f"|(?:[\u00ce-\u00de][{_LATIN}]|[\u00e0-\u00ef][{_LATIN}]{{2}}){{2}}"
    f"|(?:[\u0420\u0421][{_CYRILLIC}]){{3}}"
)

_TAGS = (
    "a|abbr|article|aside|b|big|blockquote|body|br|button|center|code|dd|div|dl|dt|em|font|footer|"
    "form|frame|h[1-6]|head|header|hr|html|i|iframe|img|input|label|li|link|main|meta|nav|nobr|ol|"
    "option|p|pre|s|script|section|select|small|span|strike|strong|style|sub|sup|table|tbody|td|"
    "textarea|tfoot|th|thead|title|tr|tt|u|ul|video"
)
_TAG = re.compile(rf"</?(?:{_TAGS})(?:\s[^<>]{{0,300}})?/?>|<!--|<!\[CDATA\[", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#(?:[0-9]{1,7}|[xX][0-9a-fA-F]{1,6})|([a-zA-Z]{2,31}[0-9]{0,2}));")


def words_of(text: str) -> list[str]:
    """The words of a line in lower case, without punctuation."""
    return _WORD.findall(text.lower())


def normalised(text: str) -> str:
    """Without what near-duplicates differ by: case, punctuation, white space and digits."""
    plain = _NOT_A_WORD.sub(" ", _DIGIT.sub("0", text.casefold())).strip()
    return plain or text.strip()


def is_garbled(text: str) -> bool:
    """Whether a wrong conversion to UTF-8 left something behind, such as `Ã¤`."""
    return not text.isascii() and _GARBLED.search(text) is not None


def has_controls(text: str) -> bool:
    """Whether there are control characters or others that no text needs."""
    return not text.isprintable() and _CONTROL.search(text) is not None


def has_markup(text: str) -> bool:
    """Whether tags, comments or character references of HTML are left."""
    if "<" in text and _TAG.search(text):
        return True
    if "&" not in text:
        return False
    return any(not each[1] or f"{each[1]};" in html5 for each in _ENTITY.finditer(text))


def is_extreme(source: str, target: str) -> bool:
    """Whether one side is far longer than the other."""
    shorter, longer = sorted((len(source), len(target)))
    return bool(shorter) and longer > max(EXTREME_RATIO * shorter, _SHORT)


def is_copy(source: str, target: str) -> bool:
    """Whether the target is the source, or nearly; names and numbers alone may well be."""
    known, kept = words_of(source), words_of(target)
    words = set(known)
    shared = sum(word in words for word in kept)
    if not kept or shared <= _COPIED * max(len(kept), len(known)):
        return False
    if len(kept) <= _FEW and known != kept:
        return False
    given = source.split()
    usual = sum(word[:1].islower() for word in given)
    return usual > 1 or (len(given) > 2 and source.isupper()) or _is_caseless(source)


def _is_caseless(text: str) -> bool:
    """Whether a text of some length is of a script without capitals."""
    return len(text) >= 8 and text.lower() == text.upper() and any(map(str.isalpha, text))
