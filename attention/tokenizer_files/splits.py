r"""How a byte-level tokenizer cuts a text into words before it merges bytes within each.

The expressions are those of the models' published tokenizer.json files; the names and what goes
with them are those of llama.cpp (`src/llama-vocab.cpp`), whose converter writes them into GGUF
files. The library reads them with Oniguruma, which knows \p{L} and (?i:...).
"""

from dataclasses import dataclass

from tokenizers import Regex, normalizers, pre_tokenizers

from attention.errors import ModelError

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
ENGLISH = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
REST_SLASH = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = ENGLISH + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + REST
QWEN2 = ENGLISH + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + REST
QWEN35 = (
    ENGLISH
    + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    + r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LOWER = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
UPPER = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
TEKKEN = LOWER + "|" + UPPER + r"|\p{N}" + REST_SLASH
GPT4O = LOWER + ENGLISH + "?|" + UPPER + ENGLISH + r"?|\p{N}{1,3}" + REST_SLASH


@dataclass(frozen=True)
class WordSplit:
    """How words are cut, and what goes with it.

    Attributes:
        patterns: what each step sets apart; the next one works on what it left together.
        composed: whether the text is first brought into NFC (e + U+0301 becomes é).
        whole_words: whether a word in the vocabulary is one token whatever the merges say.
        adds_bos: whether its models expect BOS where their file does not say.
    """

    patterns: tuple[str, ...]
    composed: bool = False
    whole_words: bool = False
    adds_bos: bool = False

    @property
    def normalizer(self) -> normalizers.Normalizer | None:
        """What the text goes through first."""
        return normalizers.NFC() if self.composed else None

    def pre_tokenizer(self, *, prefix_space: bool = False) -> pre_tokenizers.PreTokenizer:
        """The words, in the byte alphabet.

        Args:
            prefix_space: whether a text that does not begin with a blank gets one.

        Raises:
            ModelError: for a prefix where the words are cut first: each would get one.
        """
        if prefix_space and self.patterns != (GPT2,):
            raise ModelError("add_prefix_space must be off for this way to cut words; got on.")
        to_bytes = pre_tokenizers.ByteLevel(
            add_prefix_space=prefix_space, trim_offsets=False, use_regex=self.patterns == (GPT2,)
        )
        if self.patterns == (GPT2,):  # the library's own
            return to_bytes
        cuts = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in self.patterns]
        return pre_tokenizers.Sequence([*cuts, to_bytes])


GPT2_WORDS = WordSplit((GPT2,))
NEOX_WORDS = WordSplit((GPT2,), composed=True)
QWEN2_WORDS = WordSplit((QWEN2,), composed=True)
LLAMA3_WORDS = WordSplit((LLAMA3,), whole_words=True, adds_bos=True)
SINGLE_DIGITS = WordSplit((r"\p{N}", GPT2))
DEFAULT_WORDS = WordSplit((r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"))

WORD_SPLITS = {  # tokenizer.ggml.pre of a GGUF file
    "default": DEFAULT_WORDS,
    "gpt-2": GPT2_WORDS,
    "phi-2": GPT2_WORDS,
    "mpt": GPT2_WORDS,
    "olmo": NEOX_WORDS,
    "smollm": SINGLE_DIGITS,
    "starcoder": SINGLE_DIGITS,
    "refact": SINGLE_DIGITS,
    "command-r": SINGLE_DIGITS,
    "llama3": LLAMA3_WORDS,
    "llama-v3": LLAMA3_WORDS,
    "llama-bpe": LLAMA3_WORDS,
    "falcon3": LLAMA3_WORDS,
    "lfm2": LLAMA3_WORDS,
    "dbrx": WordSplit((LLAMA3,)),
    "smaug-bpe": WordSplit((LLAMA3,)),
    "qwen2": QWEN2_WORDS,
    "deepseek-r1-qwen": WordSplit((QWEN2,)),
    "megrez": WordSplit((QWEN2,)),
    "stablelm2": WordSplit((QWEN2,)),
    "qwen35": WordSplit((QWEN35,), composed=True),
    "tekken": WordSplit((TEKKEN,), whole_words=True, adds_bos=True),
    "gpt-4o": WordSplit((GPT4O,)),
    "llama4": WordSplit((GPT4O,)),
}
