"""What to look at in a text: a sample's sentence, and the heads that show it best."""

from collections.abc import Mapping

import streamlit as st

from components import sentences, state
from components.explanations import EXPLANATIONS
from components.first_map import Habit, Habits
from components.messages import plain
from components.samples import SAMPLES

Place = tuple[int, int]  # layer, head


def draw(text: str, habits: Habits | None) -> None:
    """Draw the line above the pictures: of a sample its own sentence, else what heads do clearly.

    Args:
        text: what was run.
        habits: what each head mostly does on it, [layer][head]; None while it is not known of all.
    """
    best = clearest(habits or [])
    sample = next((sample for sample in SAMPLES if sample.text == text), None)
    with st.container(key="guide", horizontal=True, vertical_alignment="center", gap="small"):
        if sample is None:
            if habits is None:
                st.markdown("What all heads do is told once all have been looked at.")
                return
            some = "Clear on this text:" if best else "No head has a clear habit on this text."
            st.markdown(some, width="content")
            for metric, (place, habit) in best.items():
                _offer(metric, place, f"{habit.label} {_name(place)}")
            return
        st.markdown(plain(sample.look_for), width="content")
        if sample.shows is None or habits is None:
            return
        if sample.shows not in best:
            st.caption("No head of this model does it clearly.", width="content")
            return
        place, habit = best[sample.shows]
        _offer(sample.shows, place, f"Look at head {_name(place)}: {sentences.tag(habit)}")


def clearest(habits: Habits) -> Mapping[str, tuple[Place, Habit]]:
    """For each metric that labels a head, the head with the highest score and its label.

    Args:
        habits: what each head mostly does, [layer][head].
    """
    found: dict[str, tuple[Place, Habit]] = {}
    for layer, heads in enumerate(habits):
        for head, habit in enumerate(heads):
            if habit is None:
                continue
            if habit.metric not in found or habit.value > found[habit.metric][1].value:
                found[habit.metric] = ((layer, head), habit)
    order = [*EXPLANATIONS, *found]
    return {metric: found[metric] for metric in sorted(found, key=order.index)}


def _name(place: Place) -> str:
    return "{}.{}".format(*place)


def _offer(metric: str, place: Place, title: str) -> None:
    st.button(title, key=f"guide_{metric}", type="tertiary", on_click=_choose, args=place)


def _choose(layer: int, head: int) -> None:
    state.put("layer", layer)
    state.put("head", head)
