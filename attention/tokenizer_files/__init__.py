"""Tokenizers from the files that models come with, each as one of the Rust library.

What cannot be read for certain is refused by name: a wrong split would be a wrong picture.
"""

from attention.tokenizer_files.folder import find_tokenizer
from attention.tokenizer_files.gguf_fields import tokenizer_from_gguf

__all__ = ["find_tokenizer", "tokenizer_from_gguf"]
