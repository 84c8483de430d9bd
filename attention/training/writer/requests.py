"""What the writer is asked for: everyday scenes and explanations, put together by chance."""

from collections.abc import Callable

import numpy as np

FORMS = (
    "a short story",
    "a short story for children",
    "a short story with a lot of dialogue",
    "a conversation",
    "a phone call",
    "a diary entry",
    "an email to a friend",
    "a blog post",
    "a funny story",
    "a story with a happy ending",
    "a few paragraphs of a novel",
    "a simple scene",
)
PEOPLE = (
    "Anna", "Ben", "Carla", "David", "Elena", "Farid", "Grace", "Hassan", "Ivy", "Jack",
    "Keiko", "Leo", "Maria", "Noah", "Olga", "Pedro", "Quinn", "Rosa", "Sam", "Tara",
    "Umar", "Vera", "Will", "Yusuf", "Zoe", "Mia", "Tom", "Lucy", "Max", "Emma",
)  # fmt: skip
KIN = (
    "a sister", "a brother", "the mother", "the father", "a grandmother", "a grandfather",
    "a friend", "a neighbor", "a teacher", "a classmate", "a doctor", "a police officer",
    "a nurse", "a boss", "a coach", "an uncle", "a cousin", "a roommate", "a stranger",
    "a bus driver", "a waiter", "a little girl", "a little boy", "an old man", "a scientist",
)  # fmt: skip
THINGS = (
    "a lost phone", "a new computer", "a broken car", "a cup of coffee", "a video game",
    "a birthday party", "a dog", "a cat", "a football game", "a bicycle", "a website",
    "a password", "a photo", "a movie", "a song", "a train ticket", "a job interview",
    "a math test", "a school project", "a pizza", "a recipe", "a garden", "a camera",
    "a robot", "a letter", "a secret", "a mistake", "a surprise", "the weather", "a snowstorm",
    "a new apartment", "a key", "a suitcase", "a credit card", "a text message", "a map",
    "a guitar", "a book from the library", "a broken window", "an old television", "a red coat",
    "a missed flight", "a long line", "a science lesson", "a painting", "the internet",
)  # fmt: skip
PLACES = (
    "at home", "in the kitchen", "at school", "at the office", "at the airport", "on the bus",
    "on a train", "in a supermarket", "at the hospital", "in the park", "at the beach",
    "in a small town", "in a big city", "at a restaurant", "in the library", "at the gym",
    "in a parking lot", "at the bus stop", "in an elevator", "at the zoo", "in a hotel",
    "on a farm", "at a gas station", "in the mountains", "at a bank", "at a museum",
)  # fmt: skip
TIMES = (
    "on a Monday morning", "late at night", "last weekend", "on a rainy day", "in the summer",
    "in the winter", "after school", "after work", "during lunch", "on the first day",
    "on a Friday evening", "early in the morning", "on vacation", "the day before a holiday",
)  # fmt: skip
LESSONS = (
    "Explain {topic} in simple words to {reader}.",
    "Write a short article about {topic} for {reader}.",
    "Write a few interesting facts about {topic} for {reader}.",
    "Give some simple advice about {topic} to {reader}.",
    "Write a short lesson about {topic} with an example for {reader}.",
    "Write a short news report about {topic} for {reader}.",
    "Answer a common question about {topic} from {reader}.",
    "Write a conversation about {topic} between an expert and {reader}.",
    "Describe {topic} to {reader}, step by step.",
    "Compare the good and the bad sides of {topic} for {reader}.",
)
READERS = (
    "a child", "a student", "a beginner", "a friend", "a curious reader", "a busy parent",
    "an old man", "a tourist", "a new teacher", "somebody who has never heard of it",
)  # fmt: skip
TOPICS = (
    "computers", "the internet", "websites", "email", "smartphones", "passwords", "robots",
    "artificial intelligence", "a neural network", "a computer program", "a loop in Python",
    "data and numbers", "a language model", "video games", "the keyboard and the screen",
    "electricity", "batteries", "solar energy", "the weather", "climate change", "the ocean",
    "rivers", "mountains", "volcanoes", "the moon", "the planets", "stars", "gravity", "light",
    "sound", "water", "atoms", "cells", "DNA", "the brain", "the heart", "sleep", "memory",
    "healthy food", "exercise", "vitamins", "a cold", "hospitals", "cats", "dogs", "birds",
    "fish", "insects", "elephants", "whales", "trees", "flowers", "forests", "farming", "bread",
    "coffee", "chocolate", "cooking pasta", "pizza", "breakfast", "a birthday cake", "cars",
    "trains", "airplanes", "bicycles", "buses and traffic", "bridges", "houses", "money",
    "banks", "shopping", "jobs", "a job interview", "a small company", "the law", "elections",
    "the government", "schools", "homework", "reading books", "learning a language", "grammar",
    "writing a letter", "fractions", "addition and subtraction", "triangles and circles",
    "probability", "maps", "time zones", "the calendar", "holidays", "Paris", "London",
    "New York", "Africa", "China", "the Roman Empire", "the Second World War", "the pyramids",
    "inventions", "newspapers", "television", "movies", "music", "the piano", "painting",
    "photography", "football", "basketball", "swimming", "chess", "dancing", "camping",
    "gardening", "cleaning the house", "recycling", "friendship", "being on time", "honesty",
    "fear", "dreams", "making a decision", "a family budget", "a trip by train", "the future",
)  # fmt: skip
CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"


def story(rng: np.random.Generator) -> str:
    """Draw a scene to write, as the writer's chat format has it."""
    form, who, whom, thing, place, when = _draw(rng, FORMS, PEOPLE, KIN, THINGS, PLACES, TIMES)
    wish = f"Write {form} about {who}, {whom} and {thing}, {place}, {when}."
    return CHAT.format(f"{wish} Use short sentences and simple everyday words.")


def explanation(rng: np.random.Generator) -> str:
    """Draw a thing of today to explain, as the writer's chat format has it."""
    lesson, topic, reader = _draw(rng, LESSONS, TOPICS, READERS)
    wish = lesson.format(topic=topic, reader=reader)
    return CHAT.format(f"{wish} Use short sentences and simple everyday words.")


def _draw(rng: np.random.Generator, *tables: tuple[str, ...]) -> list[str]:
    return [options[rng.integers(len(options))] for options in tables]


REQUESTS: dict[str, Callable[[np.random.Generator], str]] = {
    "stories": story,
    "explanations": explanation,
}
