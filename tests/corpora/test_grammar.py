"""The grammar must be right in both languages, and the corpus must keep what it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from regard.corpora.clause import (
    Asking,
    Both,
    Case,
    Clause,
    Determiner,
    Modal,
    Name,
    NounPhrase,
    Personal,
    Phrase,
    Predicate,
    Prepositional,
    Referring,
    Relative,
    Sentence,
    Tense,
)
from regard.corpora.grammar import (
    LARGEST,
    PART_OF,
    RIDDLES,
    STREET,
    Corpus,
    Pair,
    Part,
    draw,
    fill,
    generate,
    realise,
    right_pronoun,
    write,
)
from regard.corpora.lexicon import (
    ADJECTIVES,
    ADVERBIALS,
    ALL,
    BARE,
    BE,
    EVERY,
    HOW_MANY,
    KINDS,
    MANY,
    MODALS,
    NO,
    NOUNS,
    NUMBERS,
    POSSESSIVES,
    PRONOUNS,
    THAT_VERBS,
    THE,
    THIS,
    VERBS,
    WHAT,
    WHETHER_VERBS,
    WHICH,
    WHO,
    A,
)

PAST, PRESENT, PERFECT, FUTURE = Tense.PAST, Tense.PRESENT, Tense.PERFECT, Tense.FUTURE
MY, YOUR, HIS, HER, OUR, THEIR = POSSESSIVES
TWO, THREE = NUMBERS[:2]
TIMES = {
    " ".join(word for chunk in time.english for word in chunk): time
    for times in ADVERBIALS.values()
    for time in times
}
MODAL = {modal.english: modal for modal in MODALS}


def noun(
    name: str, determiner: Determiner = THE, plural: bool = False, adjective: str = ""
) -> NounPhrase:
    return NounPhrase(NOUNS[name], determiner, plural, ADJECTIVES.get(adjective))


def person(name: str) -> Personal:
    return Personal(PRONOUNS[name])


def clause(subject: Phrase, verb: str, *objects: Phrase, tense: Tense = PAST) -> Clause:
    built = Clause(subject, VERBS[verb], tense)
    for argument, phrase in zip(built.verb.arguments, objects, strict=True):
        fill(built, argument, phrase)
    return built


def changed(
    built: Clause,
    *,
    negative: bool = False,
    question: bool = False,
    modal: Modal | None = None,
    time: str = "",
    time_first: bool = False,
    often: tuple[str, str] | None = None,
    place: Prepositional | None = None,
    front: Phrase | None = None,
) -> Clause:
    built.negative, built.question, built.modal = negative, question, modal
    built.time, built.time_first = TIMES.get(time), time_first
    built.frequency, built.place, built.front = often, place, front
    return built


def describe(
    subject: Phrase, adjective: str, degree: tuple[str, str] | None = None, tense: Tense = PAST
) -> Clause:
    return Clause(subject, BE, tense, predicate=Predicate(ADJECTIVES[adjective], degree))


def with_relative(
    phrase: NounPhrase, verb: str, *objects: Phrase, subject: Phrase | None = None
) -> NounPhrase:
    """Give the phrase a relative clause in the past; without a subject it is the subject itself."""
    pronoun = Relative(phrase)
    places = (*objects, pronoun) if subject else objects
    phrase.relative = clause(subject or pronoun, verb, *places)
    phrase.relative.front = pronoun
    return phrase


def simple_sentences() -> list[tuple[Sentence, str, str]]:
    """Cases, endings, tenses, negation and the order of the middle field."""
    garden = Prepositional("in", "in", Case.DATIVE, noun("garden"))
    bench = Prepositional("in front of", "vor", Case.DATIVE, noun("house", A, adjective="old"))
    cases: list[tuple[Clause, str, str]] = [
        (
            clause(noun("man"), "kaufen", noun("car", A, adjective="big")),
            "The man bought a big car.",
            "Der Mann kaufte ein großes Auto.",
        ),
        (
            clause(noun("boy"), "helfen", noun("neighbor"), tense=PRESENT),
            "The boy helps the neighbor.",
            "Der Junge hilft dem Nachbarn.",
        ),
        (
            clause(noun("dog", A, adjective="small"), "folgen", noun("child", plural=True)),
            "A small dog followed the children.",
            "Ein kleiner Hund folgte den Kindern.",
        ),
        (
            clause(noun("cat", THIS, True, "black"), "folgen", noun("bear", adjective="old")),
            "These black cats followed the old bear.",
            "Diese schwarzen Katzen folgten dem alten Bären.",
        ),
        (
            clause(noun("woman", EVERY, adjective="young"), "kennen", noun("city"), tense=PRESENT),
            "Every young woman knows the city.",
            "Jede junge Frau kennt die Stadt.",
        ),
        (
            clause(
                noun("student", NO, adjective="lazy"), "verstehen", noun("question"), tense=PRESENT
            ),
            "No lazy student understands the question.",
            "Kein fauler Student versteht die Frage.",
        ),
        (
            clause(noun("guest", ALL, True, "polite"), "danken", noun("queen")),
            "All polite guests thanked the queen.",
            "Alle höflichen Gäste dankten der Königin.",
        ),
        (
            clause(
                noun("farmer", MANY, True, "old"), "besitzen", noun("horse", TWO, True, "beautiful")
            ),
            "Many old farmers owned two beautiful horses.",
            "Viele alte Bauern besaßen zwei schöne Pferde.",
        ),
        (
            clause(person("I"), "trinken", noun("coffee", BARE, adjective="hot"), tense=PRESENT),
            "I drink hot coffee.",
            "Ich trinke heißen Kaffee.",
        ),
        (
            clause(person("you"), "essen", noun("apple", MY, True, "expensive"), tense=PRESENT),
            "You eat my expensive apples.",
            "Du isst meine teuren Äpfel.",
        ),
        (
            clause(person("she"), "geben", noun("child"), noun("book", A)),
            "She gave the child a book.",
            "Sie gab dem Kind ein Buch.",
        ),
        (
            changed(
                clause(person("we"), "schicken", person("they"), noun("letter", OUR)),
                time="yesterday",
            ),
            "We sent them our letter yesterday.",
            "Wir schickten ihnen gestern unseren Brief.",
        ),
        (
            changed(clause(noun("man"), "kaufen", noun("car")), negative=True, time="yesterday"),
            "The man didn't buy the car yesterday.",
            "Der Mann kaufte das Auto gestern nicht.",
        ),
        (
            changed(clause(noun("girl"), "lesen", noun("book", A), tense=PERFECT), negative=True),
            "The girl hasn't read a book.",
            "Das Mädchen hat kein Buch gelesen.",
        ),
        (
            changed(
                clause(person("he"), "trinken", noun("milk", BARE), tense=PRESENT), negative=True
            ),
            "He doesn't drink milk.",
            "Er trinkt keine Milch.",
        ),
        (
            clause(noun("train"), "ankommen", tense=PERFECT),
            "The train has arrived.",
            "Der Zug ist angekommen.",
        ),
        (
            clause(Name("Anna"), "anrufen", noun("doctor", HER)),
            "Anna called her doctor.",
            "Anna rief ihren Arzt an.",
        ),
        (
            changed(clause(person("they"), "einschalten", noun("lamp")), negative=True),
            "They didn't turn on the lamp.",
            "Sie schalteten die Lampe nicht ein.",
        ),
        (
            changed(
                clause(noun("teacher"), "reparieren", noun("radio", HIS), tense=PRESENT),
                modal=MODAL["want"],
                negative=True,
            ),
            "The teacher doesn't want to repair his radio.",
            "Der Lehrer will sein Radio nicht reparieren.",
        ),
        (
            changed(
                clause(person("you"), "aufräumen", noun("room", YOUR), tense=PRESENT),
                modal=MODAL["must"],
            ),
            "You must tidy up your room.",
            "Du musst dein Zimmer aufräumen.",
        ),
        (
            changed(
                clause(Both(noun("king"), noun("queen")), "schlafen"),
                modal=MODAL["could"],
                negative=True,
            ),
            "The king and the queen couldn't sleep.",
            "Der König und die Königin konnten nicht schlafen.",
        ),
        (
            changed(
                clause(noun("child", plural=True), "spielen"),
                place=garden,
                time="yesterday",
                time_first=True,
            ),
            "Yesterday the children played in the garden.",
            "Gestern spielten die Kinder im Garten.",
        ),
        (
            changed(
                clause(noun("woman"), "lesen", noun("letter", A)),
                place=bench,
                time="in the evening",
            ),
            "The woman read a letter in front of an old house in the evening.",
            "Die Frau las am Abend vor einem alten Haus einen Brief.",
        ),
        (
            changed(
                clause(person("I"), "sehen", person("he"), tense=PERFECT),
                time="today",
                negative=True,
            ),
            "I haven't seen him today.",
            "Ich habe ihn heute nicht gesehen.",
        ),
        (
            clause(noun("friend", MY), "warten auf", noun("bus"), tense=FUTURE),
            "My friend will wait for the bus.",
            "Mein Freund wird auf den Bus warten.",
        ),
        (
            changed(
                clause(person("she"), "gehen zu", noun("school"), tense=PRESENT),
                time="every morning",
            ),
            "She goes to the school every morning.",
            "Sie geht jeden Morgen zur Schule.",
        ),
        (
            clause(noun("dog", plural=True), "rennen in", noun("house")),
            "The dogs ran into the house.",
            "Die Hunde rannten ins Haus.",
        ),
        (
            changed(clause(noun("woman"), "legen auf", noun("key"), noun("table")), negative=True),
            "The woman didn't put the key on the table.",
            "Die Frau legte den Schlüssel nicht auf den Tisch.",
        ),
        (
            changed(
                clause(Name("Peter"), "besuchen", noun("aunt", HIS), tense=PERFECT),
                often=("never", "nie"),
            ),
            "Peter has never visited his aunt.",
            "Peter hat seine Tante nie besucht.",
        ),
        (
            describe(person("I"), "tired", ("very", "sehr"), PRESENT),
            "I am very tired.",
            "Ich bin sehr müde.",
        ),
        (
            changed(describe(person("I"), "hungry", tense=PRESENT), negative=True),
            "I am not hungry.",
            "Ich bin nicht hungrig.",
        ),
    ]
    return [(Sentence(built), english, german) for built, english, german in cases]


def questions() -> list[tuple[Sentence, str, str]]:
    """Yes and no, and question words in every place."""
    who, what = Personal(WHO), Personal(WHAT)
    which, many = noun("coat", WHICH, adjective="new"), noun("book", HOW_MANY, True)
    why = Asking("why", "warum")
    cases: list[tuple[Clause, str, str]] = [
        (
            changed(clause(noun("man"), "verkaufen", noun("house")), question=True),
            "Did the man sell the house?",
            "Verkaufte der Mann das Haus?",
        ),
        (
            changed(
                clause(person("you"), "einladen", noun("colleague"), tense=PERFECT), question=True
            ),
            "Have you invited the colleague?",
            "Hast du den Kollegen eingeladen?",
        ),
        (
            changed(clause(who, "essen", noun("cake")), question=True, front=who),
            "Who ate the cake?",
            "Wer aß den Kuchen?",
        ),
        (
            changed(
                clause(noun("sister", YOUR), "suchen", what, tense=PRESENT),
                question=True,
                front=what,
            ),
            "What does your sister look for?",
            "Was sucht deine Schwester?",
        ),
        (
            changed(clause(person("she"), "anprobieren", which), question=True, front=which),
            "Which new coat did she try on?",
            "Welchen neuen Mantel probierte sie an?",
        ),
        (
            changed(
                clause(person("they"), "lesen", many, tense=PERFECT), question=True, front=many
            ),
            "How many books have they read?",
            "Wie viele Bücher haben sie gelesen?",
        ),
        (
            changed(
                clause(noun("boy"), "zuhören", noun("teacher")),
                question=True,
                front=why,
                negative=True,
            ),
            "Why didn't the boy listen to the teacher?",
            "Warum hörte der Junge dem Lehrer nicht zu?",
        ),
    ]
    return [(Sentence(built), english, german) for built, english, german in cases]


def complex_sentences() -> list[tuple[Sentence, str, str]]:
    """Relative and subordinate clauses, and two main clauses."""
    guest = with_relative(noun("guest"), "abholen", noun("package"))
    woman = with_relative(noun("woman", A), "helfen", subject=noun("soldier"))
    bus = with_relative(noun("bus"), "warten auf", subject=person("we"))
    child = with_relative(noun("child", THE, True), "danken", subject=noun("nurse"))
    lake = with_relative(noun("lake"), "fahren zu", subject=person("they"))
    know, ask = (
        Clause(person("I"), THAT_VERBS[0], PRESENT),
        Clause(noun("judge"), WHETHER_VERBS[1], PAST),
    )
    shelf = noun("shelf")
    return [
        (
            Sentence(describe(guest, "nice", tense=PRESENT)),
            "The guest who picked up the package is nice.",
            "Der Gast, der das Paket abholte, ist nett.",
        ),
        (
            Sentence(clause(person("he"), "sehen", woman, tense=PERFECT)),
            "He has seen a woman whom the soldier helped.",
            "Er hat eine Frau gesehen, der der Soldat half.",
        ),
        (
            Sentence(changed(clause(bus, "anhalten"), negative=True)),
            "The bus that we waited for didn't stop.",
            "Der Bus, auf den wir warteten, hielt nicht an.",
        ),
        (
            Sentence(clause(person("we"), "kennen", child)),
            "We knew the children whom the nurse thanked.",
            "Wir kannten die Kinder, denen die Krankenschwester dankte.",
        ),
        (
            Sentence(clause(person("I"), "schwimmen in", lake, tense=PRESENT)),
            "I swim in the lake that they drove to.",
            "Ich schwimme in dem See, zu dem sie fuhren.",
        ),
        (
            Sentence(know, ("that", "dass"), clause(noun("ship"), "abfahren", tense=PRESENT)),
            "I know that the ship leaves.",
            "Ich weiß, dass das Schiff abfährt.",
        ),
        (
            Sentence(
                ask,
                ("whether", "ob"),
                changed(clause(person("she"), "lösen", noun("problem")), modal=MODAL["could"]),
            ),
            "The judge asked whether she could solve the problem.",
            "Der Richter fragte, ob sie das Problem lösen konnte.",
        ),
        (
            Sentence(
                clause(person("they"), "lachen"),
                ("when", "als"),
                clause(person("I"), "aufstehen"),
                other_first=True,
            ),
            "When I got up, they laughed.",
            "Als ich aufstand, lachten sie.",
        ),
        (
            Sentence(
                clause(person("we"), "tanzen", tense=PRESENT),
                ("when", "wenn"),
                clause(noun("musician"), "singen", tense=PRESENT),
            ),
            "We dance when the musician sings.",
            "Wir tanzen, wenn der Musiker singt.",
        ),
        (
            Sentence(
                clause(noun("pilot"), "weinen"),
                ("but", "aber"),
                changed(
                    clause(person("you"), "fragen", person("he"), tense=PERFECT), negative=True
                ),
                coordinated=True,
            ),
            "The pilot cried, but you haven't asked him.",
            "Der Pilot weinte, aber du hast ihn nicht gefragt.",
        ),
        (
            Sentence(
                clause(person("I"), "kochen", noun("soup"), tense=FUTURE),
                ("if", "falls"),
                clause(person("you"), "mitbringen", noun("wine"), tense=PRESENT),
            ),
            "I will cook the soup if you bring along the wine.",
            "Ich werde die Suppe kochen, falls du den Wein mitbringst.",
        ),
        (
            Sentence(
                changed(clause(noun("guitar"), "passen in", noun("bag")), negative=True),
                ("since", "da"),
                describe(Referring(noun("guitar")), "big", ("too", "zu")),
            ),
            "The guitar didn't fit into the bag since it was too big.",
            "Die Gitarre passte nicht in die Tasche, da sie zu groß war.",
        ),
        (
            Sentence(
                clause(noun("cat"), "klettern auf", shelf, tense=PERFECT),
                ("although", "obwohl"),
                describe(Referring(shelf), "high", ("very", "sehr")),
            ),
            "The cat has climbed onto the shelf although it was very high.",
            "Die Katze ist auf das Regal geklettert, obwohl es sehr hoch war.",
        ),
    ]


SENTENCES = [*simple_sentences(), *questions(), *complex_sentences()]


@pytest.mark.parametrize(
    ("sentence", "english", "german"), SENTENCES, ids=[row[1] for row in SENTENCES]
)
def test_hand_checked_sentences(sentence: Sentence, english: str, german: str) -> None:
    pair = realise(sentence)
    assert (pair.source, pair.target) == (english, german)
    check_structure(pair)
    aligned = {target for _, target in pair.alignment}
    assert len(aligned) == len(german.split(" "))


def test_alignment_follows_the_bracket() -> None:
    sentence = Sentence(
        changed(clause(Name("Anna"), "anrufen", noun("doctor", HER)), negative=True)
    )
    pair = realise(sentence)
    assert pair.source == "Anna didn't call her doctor."
    assert pair.target == "Anna rief ihren Arzt nicht an."
    assert pair.alignment == ((0, 0), (1, 4), (2, 1), (2, 5), (3, 2), (4, 3))
    assert pair.heads == (2, 2, -1, 4, 2)


def test_contraction_stands_for_both_words() -> None:
    pair = realise(Sentence(clause(noun("girl"), "rennen in", noun("garden"))))
    assert pair.target == "Das Mädchen rannte in den Garten."
    pair = realise(Sentence(clause(noun("girl"), "rennen in", noun("room"))))
    assert pair.target == "Das Mädchen rannte ins Zimmer."
    assert {(3, 3), (4, 3)} <= set(pair.alignment)


def check_structure(pair: Pair) -> None:
    source, target = pair.source.split(" "), pair.target.split(" ")
    assert "" not in source
    assert "" not in target
    assert len(pair.heads) == len(source)
    assert pair.heads.count(-1) == 1
    for start in range(len(source)):
        place, steps = start, 0
        while place != -1:
            place, steps = pair.heads[place], steps + 1
            assert steps <= len(source)
    assert all(0 <= a < len(source) and 0 <= b < len(target) for a, b in pair.alignment)
    assert list(pair.alignment) == sorted(set(pair.alignment))
    # Every English word is rendered, and every German one renders something.
    assert {a for a, _ in pair.alignment} == set(range(len(source)))
    assert {b for _, b in pair.alignment} == set(range(len(target)))


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return generate(20_000, seed=3, held_out=1000)


def everything(corpus: Corpus) -> list[Pair]:
    return corpus.train + corpus.valid + corpus.test


def test_structure_of_every_pair(corpus: Corpus) -> None:
    for pair in everything(corpus):
        check_structure(pair)


def test_spelling(corpus: Corpus) -> None:
    for pair in everything(corpus):
        assert pair.source[0].isupper()
        assert pair.target[0].isupper()
        assert pair.source[-1] == pair.target[-1]
        assert pair.source[-1] in ".?"
        assert ",," not in pair.target
        assert 2 <= len(pair.source.split(" ")) <= 24


def test_sizes_and_distinctness(corpus: Corpus) -> None:
    assert (len(corpus.train), len(corpus.valid), len(corpus.test)) == (20_000, 1000, 1000)
    pairs = everything(corpus)
    assert len({pair.source for pair in pairs}) == len(pairs)
    assert len({pair.target for pair in pairs}) == len(pairs)


def test_the_street_is_as_in_the_notes(corpus: Corpus) -> None:
    tired, wide = STREET
    assert tired.source == "The animal didn't cross the street because it was too tired."
    assert tired.target == "Das Tier überquerte die Straße nicht, weil es zu müde war."
    assert wide.source == "The animal didn't cross the street because it was too wide."
    assert wide.target == "Das Tier überquerte die Straße nicht, weil sie zu breit war."
    assert tired.target.split(" ")[tired.pronoun or 0] == "es"
    assert wide.target.split(" ")[wide.pronoun or 0] == "sie"
    assert not {tired.source, wide.source} & {pair.source for pair in everything(corpus)}
    for pair in STREET:
        check_structure(pair)


def combination(pair: Pair) -> tuple[str, str]:
    """Antecedent and adjective, found in the sentence alone: the noun of the pronoun's gender."""
    words = [word.strip(".,").lower() for word in pair.source.split(" ")]
    candidates = [word for word in words if word in NOUNS]
    assert len(candidates) == 2
    assert pair.pronoun is not None
    gender = {"er": "m", "sie": "f", "es": "n"}[pair.target.split(" ")[pair.pronoun]]
    [antecedent] = [word for word in candidates if NOUNS[word].gender == gender]
    return antecedent, words[-1]


def test_held_out_combinations(corpus: Corpus) -> None:
    train, valid, test = (
        {combination(pair) for pair in part if pair.pronoun is not None}
        for part in (corpus.train, corpus.valid, corpus.test)
    )
    assert not train & valid
    assert not train & test
    assert not valid & test
    for held in (valid, test):
        assert {name for name, _ in held} <= {name for name, _ in train}
        assert {name for _, name in held} <= {name for _, name in train}


def test_every_word_of_a_riddle_is_left_to_training() -> None:
    train = {pair for pair, part in PART_OF.items() if part is Part.TRAIN}
    assert {noun for noun, _ in PART_OF} == {noun for noun, _ in train}
    assert {adjective for _, adjective in PART_OF} == {adjective for _, adjective in train}
    assert PART_OF["animal", "tired"] is PART_OF["street", "wide"] is Part.TEST
    counts = Counter(PART_OF.values())
    assert counts[Part.VALID] > 200
    assert counts[Part.TEST] > 200


def test_a_riddle_has_one_answer() -> None:
    """No adjective fits both places of a frame with the same polarity."""
    for frame in {id(riddle.frame): riddle.frame for riddle in RIDDLES}.values():
        assert not set(frame.subject_against) & set(frame.object_against)
        assert not set(frame.subject_for) & set(frame.object_for)


def test_pronouns_are_balanced(corpus: Corpus) -> None:
    for part in (corpus.train, corpus.valid, corpus.test):
        riddles = [pair for pair in part if pair.pronoun is not None]
        assert 0.25 < len(riddles) / len(part) < 0.30
        answers = Counter(pair.target.split(" ")[pair.pronoun or 0] for pair in riddles)
        assert set(answers) == {"er", "sie", "es"}
        assert all(0.32 < count / len(riddles) < 0.35 for count in answers.values())
        first = [combination(pair)[0] in pair.source.lower().split(" ")[:4] for pair in riddles]
        assert 0.49 < sum(first) / len(first) < 0.51


def test_right_pronoun() -> None:
    tired, wide = STREET
    assert right_pronoun(tired, tired.target)
    assert right_pronoun(wide, wide.target)
    assert not right_pronoun(tired, wide.target)
    assert right_pronoun(tired, "Sie sah das Tier, weil es müde war.")
    assert right_pronoun(wide, "Es ging nicht, denn sie war zu breit.")
    assert not right_pronoun(wide, "Das Tier ging nicht, weil sie es sah.")
    assert not right_pronoun(wide, "sie sie sie")
    assert not right_pronoun(wide, "")
    plain = realise(Sentence(clause(person("I"), "schlafen")))
    with pytest.raises(ValueError, match="no pronoun"):
        right_pronoun(plain, plain.target)


def test_test_set_does_not_depend_on_the_size_of_the_training_set() -> None:
    small, large = generate(100, held_out=50), generate(400, held_out=50)
    assert (small.valid, small.test) == (large.valid, large.test)
    assert small.train == large.train[:100]
    assert generate(100, seed=2, held_out=50).test != small.test


def test_the_same_in_every_process(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from regard.corpora.grammar import generate, write;"
        "write(generate(2000, seed=5, held_out=100), Path(sys.argv[1]))"
    )
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", program, str(tmp_path / seed)]
        subprocess.run(command, check=True, env=environment)
    names = sorted(path.name for path in (tmp_path / "0").iterdir())
    assert len(names) == 12
    for name in names:
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()


def test_too_much_is_refused() -> None:
    assert LARGEST > 1_000_000
    with pytest.raises(ValueError, match="distinct pairs"):
        generate(LARGEST)
    with pytest.raises(ValueError, match="negative"):
        generate(-1)


def test_a_hundred_thousand_distinct_pairs() -> None:
    seen: set[str] = set()
    assert len(draw(100_000, Part.TRAIN, 1, seen)) == 100_000
    assert len(seen) >= 199_000  # source and target may be the same word for word, but hardly are


def test_lexicon_is_a_function() -> None:
    assert len(NOUNS) == sum(len(nouns) for nouns in KINDS.values()) > 250
    assert len({noun.german for noun in NOUNS.values()}) == len(NOUNS)
    assert len({adjective.german for adjective in ADJECTIVES.values()}) == len(ADJECTIVES) > 80
    assert len(VERBS) > 80


def test_write(tmp_path: Path) -> None:
    corpus = generate(30, held_out=10)
    write(corpus, tmp_path / "deep" / "folder")
    folder = tmp_path / "deep" / "folder"
    assert len(list(folder.iterdir())) == 12
    for part, pairs in (("train", corpus.train), ("valid", corpus.valid), ("test", corpus.test)):
        columns = [
            (folder / f"{part}.{suffix}").read_text(encoding="utf-8").splitlines()
            for suffix in ("en", "de", "align", "heads")
        ]
        for pair, source, target, alignment, heads in zip(pairs, *columns, strict=True):
            assert (source, target) == (pair.source, pair.target)
            assert (
                tuple(tuple(map(int, link.split("-"))) for link in alignment.split())
                == pair.alignment
            )
            assert tuple(map(int, heads.split())) == pair.heads
