"""What each kind of head does, how to see it and what it is for; a line for each head metric."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """A kind of head, for somebody who meets it for the first time.

    Attributes:
        term: what it is called, as in docs/glossary.md.
        habit: what one such head does, to follow "Head 1.3"; {} is its score in percent.
        does: the same in one sentence, without the score.
        see: how it shows in the picture.
        use: what a model has it for.
    """

    term: str
    habit: str
    does: str
    see: str
    use: str


HOW_TO_READ = (
    "Each row is a token; its cells are how much it looks at each token up to itself, and sum to "
    "1. The hatched half is later tokens, which it cannot see; where a layer has a window, the "
    "hatched corner is tokens too far back for it."
)
NO_HABIT = (
    "No one habit stands out on this text. Many heads act only where there is something to find: "
    "try a sample, or a text that repeats itself."
)
EXPLANATIONS: dict[str, Explanation] = {  # the keys of attention.scores.HEAD_METRICS
    "previous_token": Explanation(
        term="previous-token head",
        habit="looks one token back, the stripe just below the diagonal: {} of its weight on "
        "average",
        does="Each token looks at the one just before it.",
        see="The bright stripe one cell below the diagonal.",
        use="It notes beside each token which one came before. Induction heads in later layers "
        "read that note.",
    ),
    "current_token": Explanation(
        term="current-token head",
        habit="looks at the token itself, the diagonal: {} of its weight on average",
        does="Each token looks at itself.",
        see="The bright diagonal.",
        use="It works on each token alone, as a layer without attention would: it adds to what the "
        "token means by itself.",
    ),
    "first_token": Explanation(
        term="sink head",
        habit="rests on the first token, the left column: {} of its weight on average",
        does="Most tokens look at the first one, which tells them little.",
        see="Everything in the first column. Hide the first token to see what is left.",
        use="A row must sum to 1, so a head that finds nothing to do has to put its weight "
        "somewhere: there it does no harm.",
    ),
    "duplicate_token": Explanation(
        term="duplicate-token head",
        habit="looks at earlier copies of the token: {} of its weight where there are any",
        does="Each token looks at earlier copies of itself.",
        see="Bright cells where a word meets its copy; a stripe parallel to the diagonal where a "
        "whole passage comes again.",
        use="It tells the model that something was mentioned before, such as a name.",
    ),
    "induction": Explanation(
        term="induction head",
        habit="looks at what followed the token last time, one step right of its copy: {} of its "
        "weight where it repeats",
        does="Each token looks at what came after its earlier copy: in “A B … A” at B.",
        see="The stripe parallel to the diagonal, one step right of where the text repeats.",
        use="It lets the model go on with what it has read once. It needs a previous-token head "
        "in an earlier layer.",
    ),
    "entropy": Explanation(
        term="broad head",
        habit="spreads its weight broadly, an even wash: {} of the entropy of an even spread",
        does="Each token looks a little at everything before it.",
        see="An even wash, paler further down, where each row has more to share its weight among.",
        use="It takes an average of the text so far: what it is about, not where anything stands.",
    ),
}
