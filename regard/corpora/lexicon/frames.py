"""The frames of the riddles: two nouns, and the adjectives that apply to one or the other."""

from __future__ import annotations

from dataclasses import dataclass

from regard.corpora.lexicon.adjectives import ADJECTIVES
from regard.corpora.lexicon.nouns import NOUNS
from regard.corpora.lexicon.tables import rows


@dataclass(frozen=True, eq=False)
class Frame:
    """A sentence with two nouns and an "it" that only the adjective can disambiguate.

    "The animal didn't cross the street because it was too tired": a reason against crossing is a
    property of either animals or streets. A reason for it goes with a positive verb.
    """

    verb: str
    subjects: list[str]
    objects: list[str]
    subject_against: list[str]
    object_against: list[str]
    subject_for: list[str]
    object_for: list[str]

    @property
    def dynamic(self) -> bool:
        """Whether it is about animals, which act at some time, unlike boxes and ropes."""
        return NOUNS[self.subjects[0]].kind == "animal"


WORD_LISTS = {
    "WALKERS": "animal dog cat horse cow pig goat fox wolf bear elephant lion monkey hare tiger"
    " donkey hedgehog stag camel squirrel rabbit calf lamb foal pony zebra giraffe kangaroo"
    " antelope mouse rat turtle goose duck hen frog",
    "JUMPERS": "horse dog cat goat stag pony hare kangaroo lion fox zebra antelope foal rabbit"
    " donkey tiger cow animal",
    "OMNIVORES": "dog pig rat bear mouse monkey hen hedgehog fox animal goose",
    "HERBIVORES": "horse cow goat rabbit hare donkey camel zebra pony calf lamb foal giraffe"
    " elephant",
    "HUNTERS": "cat lion wolf tiger fox eagle dog crocodile snake owl animal",
    "PREY": "mouse hare rabbit bird duck rat frog squirrel antelope hen goose pigeon foal lamb",
    "FLIERS": "bird eagle owl pigeon seagull goose duck",
    "PULLERS": "horse donkey elephant camel pony cow goat animal",
    "CLIMBERS": "cat squirrel monkey bear mouse rat goat animal lion",
    "SLEEPERS": "dog cat mouse hedgehog fox pony calf lamb goat pig horse donkey rabbit hen",
    "PLAYERS": "dog cat monkey squirrel bear foal rabbit lamb calf goat pony mouse fox",
    "THINGS": "ball book lamp bottle shoe plate picture clock guitar violin coat dress pillow"
    " blanket pan vase pot umbrella doll toy radio camera jacket carpet cello towel mirror",
    "WEARY": "tired lazy weak frightened exhausted injured sick nervous sleepy shy",
    "UNWELL": "tired sick shy frightened sleepy nervous",
    "EAGER": "hungry thirsty curious brave restless",
    "HELPLESS": "slow tired lazy clumsy weak exhausted injured sleepy",
}
# Verb: subjects > objects. Minus: reasons against it, about the subject > about the object.
# Plus: reasons for it. Words in capitals are names of the lists above.
FRAME_TABLE = """
    überqueren: WALKERS > street bridge square highway intersection
        - WEARY > wide icy slippery busy closed flooded
        + EAGER > empty narrow
    überqueren: WALKERS > path track bridge field - WEARY > icy slippery closed flooded
    überqueren: WALKERS > river brook canal lake bog
        - WEARY > wide deep
        + EAGER > shallow narrow frozen
    überqueren: WALKERS > field meadow yard - WEARY > wide muddy flooded icy + EAGER >
    überqueren: WALKERS > valley desert bog - WEARY > wide + EAGER >
    überqueren: car bus truck tractor carriage tram motorcycle taxi
        > square intersection field track
        - heavy overloaded broken slow > icy closed slippery flooded
    überqueren: car bus truck tractor carriage tram motorcycle taxi > bridge street path
        - heavy overloaded broken slow > icy closed slippery flooded narrow bumpy
    fressen: OMNIVORES > bread cake cheese sausage egg cookie roll potato pizza
        - UNWELL > hard moldy salty hot frozen spicy
        + hungry greedy > fresh tasty soft sweet
    fressen: OMNIVORES > apple pear banana plum carrot salad
        - UNWELL > bitter hard moldy frozen sour
        + hungry greedy > fresh tasty juicy sweet
    fressen: HERBIVORES > apple pear plum carrot cabbage salad
        - UNWELL > bitter hard moldy frozen
        + hungry greedy > fresh tasty juicy
    fressen: HERBIVORES > hay grass straw cabbage
        - UNWELL > bitter moldy tough frozen
        + hungry greedy > fresh tasty
    fressen: HUNTERS > meat fish sausage ham schnitzel
        - UNWELL > salty spicy tough frozen moldy hot
        + hungry greedy > fresh tasty soft juicy
    trinken: dog cat bear monkey elephant horse cow donkey camel pig calf lamb animal foal goat
        > water milk juice lemonade
        - sick nervous shy frightened > hot bitter salty cold sour
        + thirsty > fresh sweet tasty
    springen über: JUMPERS > fence wall hedge gate obstacle
        - WEARY clumsy stubborn > high wide
        + EAGER agile > low
    springen über: JUMPERS > ditch puddle brook hole
        - WEARY clumsy stubborn > wide deep
        + EAGER agile > narrow
    klettern auf: CLIMBERS > tree rock roof wall tower shelf bench
        - WEARY clumsy stubborn > high slippery
        + curious playful restless hungry agile > low
    klettern auf: cat monkey bear goat animal lion dog fox donkey zebra > rock roof hill mountain
        - WEARY clumsy stubborn > steep icy high
        + curious playful restless hungry agile >
    ziehen: PULLERS > cart sled carriage boat plow trailer log chest
        - WEARY small stubborn > heavy big bulky overloaded
        + strong > light
    tragen: PULLERS > sack bag box basket package barrel suitcase chest
        - WEARY small stubborn > heavy big bulky full
        + strong > light empty
    passen in: THINGS > suitcase bag box backpack basket drawer package compartment chest
        - big long thick bulky huge > small narrow full tiny
        + thin short > empty
    passen durch: truck bus piano sofa table bed cupboard machine bathtub tractor carriage bench
        > door gate window tunnel gap corridor hole
        - big wide high bulky huge > small narrow low
    fliegen über: FLIERS > mountain hill tower wall castle tree
        - WEARY > high
        + EAGER > low
    fliegen über: FLIERS > sea lake valley desert river
        - WEARY > wide
        + EAGER >
    fliegen über: plane balloon > mountain hill tower castle wall
        - heavy overloaded broken slow > high
        + light > low
    fangen: HUNTERS > PREY - HELPLESS > fast agile clever careful + hungry greedy >
    folgen: HUNTERS > PREY - HELPLESS > fast agile + hungry greedy curious >
    schlafen in: SLEEPERS > basket bed box
        - hungry nervous restless thirsty frightened > small narrow hard crooked
        + tired sleepy exhausted sick lazy > comfortable soft
    schlafen in: SLEEPERS > stable cave hut barn house
        - hungry nervous restless thirsty frightened > small crowded flooded
        + tired sleepy exhausted sick lazy > empty clean
    spielen mit: PLAYERS > ball doll rope shoe blanket bone pillow toy branch cap
        - tired lazy sick sleepy shy injured exhausted > heavy hard big
        + playful curious restless > soft colorful
    schneiden: knife sword machine > bread cheese sausage meat ham cabbage
        - blunt rusty broken > hard thick tough frozen
    schneiden: saw axe > rope branch board log
        - blunt rusty broken > hard thick
    halten: rope chain branch hook shelf nail board net thread
        > lamp boat box picture bag barrel sack basket mirror clock
        - thin weak brittle > heavy big bulky
        + sturdy > light
    bedecken: cloth blanket towel carpet > table bed sofa bench chest hole piano armchair
        - small short narrow torn > big long wide high huge
    erreichen: dog cat mouse goat monkey squirrel lion lamb calf hedgehog
        > branch shelf window roof nest lamp
        - small clumsy tired weak slow > high
        + curious restless agile > low
"""


def read_words(text: str) -> list[str]:
    """Split a list of words, and expand the names in capitals."""
    return [word for name in text.split() for word in WORD_LISTS.get(name, name).split()]


def read_frame(row: str) -> Frame:
    """Read one row of the table of frames."""
    verb, _, rest = row.partition(": ")
    rest, _, reasons_for = rest.partition(" + ")
    nouns, _, reasons_against = rest.partition(" - ")
    sides = [
        read_words(side)
        for both in (nouns, reasons_against, reasons_for)
        for side in both.partition(">")[::2]
    ]
    return Frame(verb, *sides)


FRAMES = [read_frame(row) for row in rows(FRAME_TABLE, separator=" ")]

# Adjectives for the two nouns that do not reveal which of them "it" refers to.
NEUTRAL_TABLE = {
    "animal": "brown black white old beautiful",
    "nature": "beautiful",
    "building": "old",
    "vehicle": "red blue old new",
    "transport": "old new",
    "container": "red blue old new",
    "clothing": "red blue old new",
    "object": "old new beautiful",
    "furniture": "old new beautiful",
    "instrument": "old new beautiful",
    "tool": "old new",
}
NEUTRAL = {
    kind: [ADJECTIVES[name] for name in names.split()] for kind, names in NEUTRAL_TABLE.items()
}
