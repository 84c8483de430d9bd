"""What the writer is asked for: everyday scenes, put together by chance."""

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
CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"


def request(rng: np.random.Generator) -> str:
    """Draw a scene to write, as the writer's chat format has it."""
    form, who, whom, thing, place, when = (
        options[rng.integers(len(options))]
        for options in (FORMS, PEOPLE, KIN, THINGS, PLACES, TIMES)
    )
    wish = f"Write {form} about {who}, {whom} and {thing}, {place}, {when}."
    return CHAT.format(f"{wish} Use short sentences and simple everyday words.")
