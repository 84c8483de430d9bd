"""The page's choice of a model under AppTest, for the tests of it."""

import torch
from streamlit.testing.v1 import AppTest

from attention.loading import save_model
from components.model_picker import POPOVER, TYPED
from tests import builders


def script():
    import streamlit as st

    from components import messages, sidebar, state
    from components.messages import errors_as_sentences

    state.begin()
    messages.begin()
    with errors_as_sentences():
        st.session_state["run_seen"] = sidebar.controls()
    state.end()


def open_page(**query):
    page = AppTest.from_function(script, default_timeout=60)
    for name, value in query.items():
        page.query_params[name] = str(value)
    page.run()
    assert not page.exception
    return page


def seen(page):
    """The model that the page shows."""
    return page.session_state["run_seen"].model


def said(page):
    return [alert.value.replace("\\", "") for alert in (*page.info, *page.warning, *page.error)]


def look_behind_the_button(page):
    page.session_state[POPOVER] = True
    page.run()
    assert not page.exception
    return page


def listed(page):
    """The buttons of the models in the list, by their titles."""
    buttons = [button for button in page.button if (button.key or "").startswith("model_found")]
    return {button.label.replace("\\", ""): button for button in buttons}


def pick(page, title):
    listed(look_behind_the_button(page))[title].click().run()
    assert not page.exception


def type_in(page, source):
    look_behind_the_button(page).text_input(key=TYPED).set_value(source).run()
    assert not page.exception


def address(page, key):
    """What the address holds of a key; None where it says nothing."""
    values = page.query_params.get(key)
    return values[0] if isinstance(values, list) else values


def saved(folder, **sizes):
    """A folder with a small model that has no tokenizer. Returns its path as text."""
    save_model(builders.small_model(builders.model_config(**sizes)), folder)
    return str(folder)


def book_file(path, *, width, layers=1, vocab_size=31):
    """The state dict of the book's GPTModel, which says nothing of heads. Returns its path."""
    generator = torch.Generator().manual_seed(7)

    def random(*shape):
        return torch.randn(*shape, generator=generator)

    state = {
        "tok_emb.weight": random(vocab_size, width),
        "pos_emb.weight": random(23, width),
        "final_norm.scale": torch.ones(width),
        "final_norm.shift": torch.zeros(width),
        "out_head.weight": random(vocab_size, width),
    }
    for block in (f"trf_blocks.{i}." for i in range(layers)):
        for name in ("W_query", "W_key", "W_value", "out_proj"):
            state[f"{block}att.{name}.weight"] = random(width, width)
        state[f"{block}att.out_proj.bias"] = random(width)
        for name, shape in (("0", (4 * width, width)), ("2", (width, 4 * width))):
            state[f"{block}ff.layers.{name}.weight"] = random(*shape)
            state[f"{block}ff.layers.{name}.bias"] = random(shape[0])
        for name in ("norm1", "norm2"):
            state[f"{block}{name}.scale"] = torch.ones(width)
            state[f"{block}{name}.shift"] = torch.zeros(width)
    torch.save(state, path)
    return str(path)
