"""Writes the trained model's folder: Llama's files, tokenizer and card."""

from pathlib import Path

from attention.loading import save_model
from attention.model import LanguageModel
from attention.training.card import CardFacts, write_card


def export_model(model: LanguageModel, facts: CardFacts, folder: Path) -> None:
    """Write config.json, model.safetensors (float16), tokenizer.json and README.md.

    Args:
        model: the trained model, with its tokenizer.
        facts: for the card.
        folder: made if it does not exist; files there are replaced.
    """
    save_model(model, folder)
    (folder / "model.safetensors").chmod(0o644)  # safetensors lets nobody else read its files
    (folder / "README.md").write_text(write_card(facts), encoding="utf-8")
