"""Makes every token readable: blanks, control characters and stray bytes become signs."""

import unicodedata
from functools import cache

SIGNS = {" ": "␣", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
INVISIBLE = ("C", "Z")  # Unicode categories: control, format, unassigned; separators
FILLERS = "\u115f\u1160\u2800\u3164\uffa0"  # letters and symbols without a picture


def visible(piece: bytes | str) -> str:
    r"""A label for a piece of text: never empty, never an invisible character.

    Args:
        piece: the token's text, or its bytes, which may be part of a character.

    Returns:
        blanks as ␣, newlines and tabs as \n and \t, other invisible characters as <U+200B>,
        stray bytes as <0xF0>, a lone combining mark on a dotted circle.
    """
    if isinstance(piece, str):
        return _visible_text(piece) or "<empty>"
    label, left = "", piece
    while left:
        try:
            return label + _visible_text(left.decode())
        except UnicodeDecodeError as error:
            label += _visible_text(left[: error.start].decode())
            label += "".join(f"<0x{byte:02X}>" for byte in left[error.start : error.end])
            left = left[error.end :]
    return label or "<empty>"


def _visible_text(text: str) -> str:
    label = ""
    for char in text:
        category = unicodedata.category(char)
        if char in SIGNS:
            label += SIGNS[char]
        elif category[0] in INVISIBLE or char in FILLERS:
            label += f"<0x{ord(char):02X}>" if ord(char) < 0x80 else f"<U+{ord(char):04X}>"
        elif category[0] == "M" and not label:
            label += "◌" + char
        else:
            label += char
    return label


@cache
def byte_alphabet() -> dict[str, int]:
    """GPT-2's printable stand-in for each byte, turned round: character to byte.

    Source: `bytes_to_unicode` of GPT-2's encoder; printable bytes stand for themselves,
    the rest follow from U+0100 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    alphabet = {chr(byte): byte for byte in printable}
    return alphabet | {chr(0x100 + i): byte for i, byte in enumerate(others)}
