"""The words of the bilingual grammar.

Every English word has exactly one German rendering, so that the corpus is a function that a small
model can learn. The tables are plain text because people, not programs, have to proofread them.
"""

from dataclasses import dataclass

from regard.corpora.clause import (
    DEFINITE,
    EIN,
    MIXED,
    STRONG,
    UNINFLECTED,
    WEAK,
    Adjective,
    Adverbial,
    Argument,
    Case,
    Determiner,
    Modal,
    Noun,
    Pronoun,
    Tense,
    Verb,
)


def plural_of(noun: str) -> str:
    """The regular English plural."""
    if noun.endswith(("s", "x", "sh", "ch")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeou":
        return noun[:-1] + "ies"
    return noun + "s"


def read_nouns(kind: str, table: str) -> list[Noun]:
    """Read entries such as `mouse/mice Maus f Mäuse`; w is a weak masculine, - has no plural."""
    nouns = []
    for entry in table.replace("\n", ";").split(";"):
        if not entry.strip():
            continue
        english, german, gender, plural = entry.split()
        singular, _, irregular = english.partition("/")
        nouns.append(
            Noun(
                singular,
                irregular or plural_of(singular),
                german,
                "m" if gender == "w" else gender,
                "" if plural == "-" else plural,
                gender == "w",
                kind,
            )
        )
    return nouns


NOUN_TABLES = {
    "person": """
        man/men Mann m Männer; woman/women Frau f Frauen; child/children Kind n Kinder
        boy Junge w Jungen; girl Mädchen n Mädchen; teacher Lehrer m Lehrer
        student Student w Studenten; pupil Schüler m Schüler; doctor Arzt m Ärzte
        nurse Krankenschwester f Krankenschwestern; neighbor Nachbar w Nachbarn
        friend Freund m Freunde; brother Bruder m Brüder; sister Schwester f Schwestern
        mother Mutter f Mütter; father Vater m Väter; son Sohn m Söhne
        daughter Tochter f Töchter; uncle Onkel m Onkel; aunt Tante f Tanten
        grandmother Großmutter f Großmütter; grandfather Großvater m Großväter
        king König m Könige; queen Königin f Königinnen; farmer Bauer w Bauern
        baker Bäcker m Bäcker; gardener Gärtner m Gärtner; painter Maler m Maler
        writer Schriftsteller m Schriftsteller; singer Sängerin f Sängerinnen
        dancer Tänzerin f Tänzerinnen; judge Richter m Richter; lawyer Anwalt m Anwälte
        policeman/policemen Polizist w Polizisten; soldier Soldat w Soldaten
        pilot Pilot w Piloten; driver Fahrer m Fahrer; waiter Kellner m Kellner
        waitress Kellnerin f Kellnerinnen; guest Gast m Gäste; tourist Tourist w Touristen
        journalist Journalist w Journalisten; scientist Wissenschaftler m Wissenschaftler
        engineer Ingenieur m Ingenieure; mechanic Mechaniker m Mechaniker
        hunter Jäger m Jäger; thief/thieves Dieb m Diebe; actor Schauspieler m Schauspieler
        actress Schauspielerin f Schauspielerinnen; prince Prinz w Prinzen
        princess Prinzessin f Prinzessinnen; artist Künstler m Künstler
        musician Musiker m Musiker; boss Chef m Chefs; colleague Kollege w Kollegen
        customer Kunde w Kunden; butcher Metzger m Metzger; secretary Sekretärin f Sekretärinnen
        professor Professor m Professoren; saleswoman/saleswomen Verkäuferin f Verkäuferinnen
    """,
    "animal": """
        animal Tier n Tiere; dog Hund m Hunde; cat Katze f Katzen; horse Pferd n Pferde
        cow Kuh f Kühe; pig Schwein n Schweine; mouse/mice Maus f Mäuse; duck Ente f Enten
        goat Ziege f Ziegen; goose/geese Gans f Gänse; snake Schlange f Schlangen
        turtle Schildkröte f Schildkröten; owl Eule f Eulen; rat Ratte f Ratten
        pigeon Taube f Tauben; seagull Möwe f Möwen; bird Vogel m Vögel; fox Fuchs m Füchse
        wolf/wolves Wolf m Wölfe; bear Bär w Bären; elephant Elefant w Elefanten
        lion Löwe w Löwen; monkey Affe w Affen; hare Hase w Hasen; tiger Tiger m Tiger
        donkey Esel m Esel; hedgehog Igel m Igel; frog Frosch m Frösche; stag Hirsch m Hirsche
        eagle Adler m Adler; camel Kamel n Kamele; hen Huhn n Hühner
        crocodile Krokodil n Krokodile; squirrel Eichhörnchen n Eichhörnchen
        rabbit Kaninchen n Kaninchen; calf/calves Kalb n Kälber; lamb Lamm n Lämmer
        foal Fohlen n Fohlen; pony Pony n Ponys; zebra Zebra n Zebras
        giraffe Giraffe f Giraffen; kangaroo Känguru n Kängurus; antelope Antilope f Antilopen
    """,
    "food": """
        bread Brot n -; cake Kuchen m Kuchen; apple Apfel m Äpfel; pear Birne f Birnen
        banana Banane f Bananen; cherry Kirsche f Kirschen; strawberry Erdbeere f Erdbeeren
        cheese Käse m -; butter Butter f -; egg Ei n Eier; meat Fleisch n -; fish Fisch m -
        sausage Wurst f Würste; ham Schinken m -; soup Suppe f Suppen; salad Salat m Salate
        potato/potatoes Kartoffel f Kartoffeln; tomato/tomatoes Tomate f Tomaten
        carrot Karotte f Karotten; rice Reis m -; chocolate Schokolade f -; honey Honig m -
        cookie Keks m Kekse; roll Brötchen n Brötchen; onion Zwiebel f Zwiebeln
        pizza Pizza f Pizzen; lemon Zitrone f Zitronen
        plum Pflaume f Pflaumen; grape Traube f Trauben; schnitzel Schnitzel n Schnitzel
    """,
    "fodder": """
        hay Heu n -; grass Gras n -; straw Stroh n -; cabbage Kohl m -
    """,
    "drink": """
        water Wasser n -; milk Milch f -; coffee Kaffee m -; tea Tee m -; juice Saft m -
        wine Wein m -; beer Bier n -; lemonade Limonade f -
    """,
    "reading": """
        book Buch n Bücher; letter Brief m Briefe; newspaper Zeitung f Zeitungen
        story Geschichte f Geschichten; poem Gedicht n Gedichte; novel Roman m Romane
        report Bericht m Berichte; message Nachricht f Nachrichten; article Artikel m Artikel
    """,
    "clothing": """
        shirt Hemd n Hemden; coat Mantel m Mäntel; jacket Jacke f Jacken; dress Kleid n Kleider
        skirt Rock m Röcke; hat Hut m Hüte; shoe Schuh m Schuhe; scarf/scarves Schal m Schals
        cap Mütze f Mützen; boot Stiefel m Stiefel; sock Socke f Socken
        glove Handschuh m Handschuhe; sweater Pullover m Pullover; blouse Bluse f Blusen
    """,
    "vehicle": """
        car Auto n Autos; truck Lastwagen m Lastwagen; bicycle Fahrrad n Fahrräder
        motorcycle Motorrad n Motorräder; tractor Traktor m Traktoren; boat Boot n Boote
        carriage Kutsche f Kutschen; sled Schlitten m Schlitten; cart Karren m Karren
        plow Pflug m Pflüge; trailer Anhänger m Anhänger
    """,
    "transport": """
        bus Bus m Busse; train Zug m Züge; ship Schiff n Schiffe; plane Flugzeug n Flugzeuge
        taxi Taxi n Taxis; tram Straßenbahn f Straßenbahnen; ferry Fähre f Fähren
        balloon Ballon m Ballons
    """,
    "furniture": """
        table Tisch m Tische; chair Stuhl m Stühle; bed Bett n Betten; sofa Sofa n Sofas
        cupboard Schrank m Schränke; shelf/shelves Regal n Regale; lamp Lampe f Lampen
        mirror Spiegel m Spiegel; bench Bank f Bänke; carpet Teppich m Teppiche
        armchair Sessel m Sessel; piano Klavier n Klaviere; bathtub Badewanne f Badewannen
        chest Truhe f Truhen
    """,
    "container": """
        suitcase Koffer m Koffer; bag Tasche f Taschen; box Kiste f Kisten
        backpack Rucksack m Rucksäcke; basket Korb m Körbe
        package Paket n Pakete; barrel Fass n Fässer; sack Sack m Säcke
    """,
    "object": """
        ball Ball m Bälle; key Schlüssel m Schlüssel; clock Uhr f Uhren; picture Bild n Bilder
        bottle Flasche f Flaschen; cup Tasse f Tassen; plate Teller m Teller
        knife/knives Messer n Messer
        spoon Löffel m Löffel; fork Gabel f Gabeln; glass Glas n Gläser; pot Topf m Töpfe
        pan Pfanne f Pfannen; vase Vase f Vasen; blanket Decke f Decken; pillow Kissen n Kissen
        towel Handtuch n Handtücher; umbrella Regenschirm m Regenschirme; doll Puppe f Puppen
        toy Spielzeug n Spielzeuge; camera Kamera f Kameras; computer Computer m Computer
        ring Ring m Ringe; coin Münze f Münzen; candle Kerze f Kerzen; pencil Bleistift m Bleistifte
        machine Maschine f Maschinen; radio Radio n Radios; present Geschenk n Geschenke
        ticket Fahrkarte f Fahrkarten; map Karte f Karten; flower Blume f Blumen
        cloth Tuch n Tücher; bone Knochen m Knochen
    """,
    "tool": """
        hammer Hammer m Hämmer; saw Säge f Sägen; axe Axt f Äxte; rope Seil n Seile
        chain Kette f Ketten; hook Haken m Haken; nail Nagel m Nägel; ladder Leiter f Leitern
        board Brett n Bretter; shovel Schaufel f Schaufeln; sword Schwert n Schwerter
        net Netz n Netze; thread Faden m Fäden
    """,
    "instrument": """
        guitar Gitarre f Gitarren; violin Geige f Geigen; flute Flöte f Flöten
        trumpet Trompete f Trompeten; drum Trommel f Trommeln; cello Cello n Cellos
    """,
    "building": """
        house Haus n Häuser; school Schule f Schulen; church Kirche f Kirchen
        museum Museum n Museen; hotel Hotel n Hotels; library Bibliothek f Bibliotheken
        hospital Krankenhaus n Krankenhäuser; theater Theater n Theater
        restaurant Restaurant n Restaurants; factory Fabrik f Fabriken; castle Schloss n Schlösser
        bakery Bäckerei f Bäckereien; office Büro n Büros; tower Turm m Türme
        pharmacy Apotheke f Apotheken; hut Hütte f Hütten; barn Scheune f Scheunen
        stable Stall m Ställe; airport Flughafen m Flughäfen
    """,
    "room": """
        kitchen Küche f Küchen; room Zimmer n Zimmer; garden Garten m Gärten
        cellar Keller m Keller; bathroom Badezimmer n Badezimmer; garage Garage f Garagen
    """,
    "area": """
        forest Wald m Wälder; park Park m Parks; city Stadt f Städte; village Dorf n Dörfer
    """,
    "way": """
        street Straße f Straßen; river Fluss m Flüsse; bridge Brücke f Brücken
        brook Bach m Bäche; path Pfad m Pfade; square Platz m Plätze; highway Autobahn f Autobahnen
        meadow Wiese f Wiesen; field Feld n Felder; valley Tal n Täler; bog Moor n Moore
        lake See m Seen; desert Wüste f Wüsten; intersection Kreuzung f Kreuzungen
        yard Hof m Höfe; track Gleis n Gleise; canal Kanal m Kanäle
    """,
    "nature": """
        tree Baum m Bäume; mountain Berg m Berge; hill Hügel m Hügel; rock Felsen m Felsen
        sea Meer n Meere; island Insel f Inseln; stone Stein m Steine; branch Ast m Äste
        cave Höhle f Höhlen; nest Nest n Nester; bush Busch m Büsche; log Baumstamm m Baumstämme
    """,
    "barrier": """
        fence Zaun m Zäune; wall Mauer f Mauern; hedge Hecke f Hecken; ditch Graben m Gräben
        gate Tor n Tore; obstacle Hindernis n Hindernisse; puddle Pfütze f Pfützen
    """,
    "part": """
        door Tür f Türen; window Fenster n Fenster; roof Dach n Dächer; tunnel Tunnel m Tunnel
        gap Lücke f Lücken; hole Loch n Löcher; corridor Gang m Gänge
        drawer Schublade f Schubladen; compartment Fach n Fächer
    """,
    "abstract": """
        question Frage f Fragen; answer Antwort f Antworten; song Lied n Lieder
        language Sprache f Sprachen; word Wort n Wörter; game Spiel n Spiele; film Film m Filme
        problem Problem n Probleme; idea Idee f Ideen; name Name w Namen
        secret Geheimnis n Geheimnisse; exercise Aufgabe f Aufgaben; plan Plan m Pläne
    """,
}

KINDS = {kind: read_nouns(kind, table) for kind, table in NOUN_TABLES.items()}
NOUNS = {noun.english: noun for nouns in KINDS.values() for noun in nouns}


def nouns_of(names: tuple[str, ...]) -> list[Noun]:
    """All nouns of the named kinds; a name that is no kind is the noun itself."""
    return [noun for name in names for noun in KINDS.get(name) or [NOUNS[name]]]


# What can be mine: a friend but not a tourist, a dog but not a wolf.
OWNED_NAMES = """
    food drink reading clothing vehicle furniture container object tool instrument room child
    neighbor friend brother sister mother father son daughter uncle aunt grandmother grandfather
    teacher doctor boss colleague guest customer lawyer secretary student dog cat horse cow pig
    goat donkey hen rabbit pony calf lamb foal duck goose camel house office hotel restaurant
    factory castle hut bakery question answer song language game problem idea name secret exercise
    plan drawer door window roof
"""
OWNED = nouns_of(tuple(OWNED_NAMES.split()))
FAMILY_NAMES = "brother sister mother father son daughter uncle aunt grandmother grandfather"
FAMILY = nouns_of(tuple(FAMILY_NAMES.split()))

# An exclamation mark: absolute, it takes no "too" and no "very".
ADJECTIVE_TABLE = """
    old alt; young jung; new neu; big groß; small klein; good gut; bad schlecht
    friendly freundlich; tired müde; sick krank
    hungry hungrig; thirsty durstig; happy glücklich; sad traurig; angry wütend; lazy faul
    clever klug; strong stark; weak schwach; rich reich; poor arm; famous berühmt; nice nett
    polite höflich; brave mutig; frightened ängstlich; nervous nervös; curious neugierig
    careful vorsichtig; patient geduldig; honest ehrlich; quiet ruhig; loud laut; fast schnell
    slow langsam; thick dick; thin dünn; wide breit; narrow schmal; deep tief; steep steil
    icy vereist; closed gesperrt !; muddy schlammig; slippery rutschig; flooded überflutet !
    busy belebt; high hoch; low niedrig; long lang; short kurz; heavy schwer; light leicht
    expensive teuer; cheap billig; broken kaputt !; dirty schmutzig; clean sauber; empty leer !
    full voll; hard hart; soft weich; spicy scharf; blunt stumpf; rusty rostig; brittle brüchig
    moldy schimmelig; fresh frisch; sweet süß; sour sauer; bitter bitter; salty salzig; hot heiß
    cold kalt; warm warm; tasty lecker; juicy saftig; dry trocken; frozen gefroren !; tough zäh
    red rot !; blue blau !; green grün !; yellow gelb !; white weiß !; black schwarz !
    brown braun !; gray grau !; beautiful schön; ugly hässlich; modern modern
    interesting interessant; boring langweilig; difficult schwierig
    important wichtig; funny lustig; dark dunkel; bright hell; comfortable bequem
    dangerous gefährlich; greedy gierig; playful verspielt; sleepy schläfrig
    injured verletzt !; shy scheu; exhausted erschöpft !; colorful bunt; sturdy stabil
    strange seltsam; elegant elegant; valuable wertvoll; useful nützlich; tiny winzig !
    huge riesig !; restless unruhig; overloaded überladen !; agile flink; shallow flach
    bumpy holprig; crowded überfüllt; wet nass
    clumsy ungeschickt; stubborn stur; bulky sperrig; torn zerrissen !; crooked schief
"""

# What can be said of each kind of noun, before it or after "is".
DESCRIBES = {
    "person": "old young friendly tired sick hungry thirsty happy sad angry lazy clever strong weak"
    " rich poor famous nice polite brave nervous curious careful patient honest quiet funny",
    "animal": "old young small big tired hungry thirsty lazy clever strong weak fast slow"
    " frightened curious brown black white nervous shy greedy beautiful",
    "food": "fresh tasty good bad expensive cheap cold warm",
    "fodder": "fresh dry wet",
    "drink": "cold warm good bad expensive cheap",
    "reading": "old new long short interesting boring important funny good bad",
    "clothing": "old new big small red blue green yellow white black brown gray beautiful ugly"
    " expensive cheap warm dirty clean wet elegant modern",
    "vehicle": "old new big small heavy expensive cheap broken dirty red blue green",
    "transport": "old new big small fast slow modern full empty white yellow",
    "furniture": "old new big small heavy expensive cheap beautiful ugly modern white brown black",
    "container": "old new big small heavy empty full red blue brown black",
    "object": "old new big small beautiful ugly expensive cheap valuable useful",
    "tool": "old new long short heavy useful good bad",
    "instrument": "old new expensive cheap beautiful valuable broken loud",
    "building": "old new big small modern famous beautiful ugly empty dark",
    "room": "big small dark bright warm cold clean dirty empty beautiful",
    "area": "big small dark quiet beautiful dangerous",
    "way": "wide beautiful dangerous",
    "nature": "big small beautiful",
    "barrier": "old new",
    "part": "big small old",
    "abstract": "new interesting boring difficult funny strange good bad",
}


def read_adjectives() -> dict[str, Adjective]:
    """Join the list of adjectives with the kinds of noun that each one describes."""
    adjectives = {}
    for entry in ADJECTIVE_TABLE.strip().replace("\n", ";").split(";"):
        english, german, *mark = entry.split()
        kinds = frozenset(kind for kind in DESCRIBES if english in DESCRIBES[kind].split())
        adjectives[english] = Adjective(english, german, kinds, bool(mark))
    return adjectives


ADJECTIVES = read_adjectives()
ADJECTIVES_OF = {kind: [ADJECTIVES[name] for name in DESCRIBES[kind].split()] for kind in DESCRIBES}
DEGREES = [("too", "zu"), ("so", "so"), ("very", "sehr"), ("quite", "ziemlich")]

THE = Determiner("the", "the", "", DEFINITE, WEAK)
A = Determiner("a", "", "ein", EIN, MIXED, definite=False)
NO = Determiner("no", "no", "kein", EIN, MIXED, definite=False)
BARE = Determiner("", "", "", UNINFLECTED, STRONG, definite=False)
THIS = Determiner("this", "these", "dies", STRONG, WEAK)
EVERY = Determiner("every", "", "jed", STRONG, WEAK)
ALL = Determiner("", "all", "all", STRONG, WEAK)
MANY = Determiner("", "many", "viel", STRONG, STRONG, definite=False)
SOME = Determiner("", "some", "einig", STRONG, STRONG, definite=False)
WHICH = Determiner("which", "which", "welch", STRONG, WEAK)
HOW_MANY = Determiner("", "how many", "wie viel", STRONG, STRONG, definite=False)
POSSESSIVE_TABLE = "my mein; your dein; his sein; her ihr; our unser; their ihr"
POSSESSIVES = [
    Determiner(english, english, german, EIN, MIXED)
    for english, german in (entry.split() for entry in POSSESSIVE_TABLE.split(";"))
]
NUMBER_TABLE = """
    two zwei; three drei; four vier; five fünf; six sechs; seven sieben; eight acht; nine neun
    ten zehn; eleven elf; twelve zwölf
"""
NUMBERS = [
    Determiner("", english, german, UNINFLECTED, STRONG, definite=False)
    for english, german in (
        entry.split() for entry in NUMBER_TABLE.strip().replace("\n", ";").split(";")
    )
]

PRONOUN_TABLE = """
    I me ich mich mir 1; you you du dich dir 2; he him er ihn ihm 3; she her sie sie ihr 3
    we us wir uns uns 1 plural; they them sie sie ihnen 3 plural
"""


def read_pronouns() -> dict[str, Pronoun]:
    """Subject, object, the three German cases, person, and perhaps plural."""
    pronouns = {}
    for entry in PRONOUN_TABLE.strip().replace("\n", ";").split(";"):
        subject, other, nominative, accusative, dative, person, *plural = entry.split()
        forms = (nominative, accusative, dative)
        pronouns[subject] = Pronoun(subject, other, forms, int(person), bool(plural))
    return pronouns


PRONOUNS = read_pronouns()

MEN = ["Peter", "Thomas", "Paul", "Max", "Jonas", "Martin", "Felix", "David"]
WOMEN = ["Anna", "Maria", "Lena", "Julia", "Sophie", "Laura", "Emma", "Clara"]

CAN = Modal("can", "can", "", Tense.PRESENT, "können", "kann", "konnte", False, True)
COULD = Modal("could", "could", "", Tense.PAST, "können", "kann", "konnte", True, True)
MODALS = [
    CAN,
    COULD,
    Modal("must", "must", "", Tense.PRESENT, "müssen", "muss", "musste", False, False),
    Modal("had", "had", "have", Tense.PAST, "müssen", "muss", "musste", True, False),
    Modal("should", "should", "", Tense.PRESENT, "sollen", "soll", "sollte", True, True),
    Modal("may", "may", "", Tense.PRESENT, "dürfen", "darf", "durfte", False, True),
    Modal("want", "wants", "want", Tense.PRESENT, "wollen", "will", "wollte", False, True),
    Modal("wanted", "wanted", "want", Tense.PAST, "wollen", "will", "wollte", True, True),
]

# The bar parts the chunks that render each other.
ADVERBIAL_TABLE = {
    "past": """
        yesterday=gestern; on|Monday=am|Montag; on|Sunday=am|Sonntag; in the|evening=am|Abend
        this|morning=heute|Morgen; last|night=letzte|Nacht; last|week=letzte|Woche
    """,
    "present": "today=heute; now=jetzt",
    "future": "tomorrow=morgen; on|Friday=am|Freitag; on|Saturday=am|Samstag",
    "perfect": "today=heute; this|week=diese|Woche",
    "long past": "last|year=letztes|Jahr; last|summer=letzten|Sommer",
    "habit": "every|day=jeden|Tag; every|week=jede|Woche; every|morning=jeden|Morgen",
    "far future": """
        soon=bald; next|week=nächste|Woche; next|year=nächstes|Jahr; next|summer=nächsten|Sommer
    """,
}


def read_adverbials(table: str) -> list[Adverbial]:
    """Read entries such as `in the|evening=am|Abend`."""
    found = []
    for entry in table.strip().replace("\n", ";").split(";"):
        sides = [side.split("|") for side in entry.strip().split("=")]
        english, german = (tuple(tuple(chunk.split()) for chunk in side) for side in sides)
        found.append(Adverbial(english, german))
    return found


ADVERBIALS = {tense: read_adverbials(table) for tense, table in ADVERBIAL_TABLE.items()}
FREQUENCIES = [
    ("never", "nie"),
    ("often", "oft"),
    ("always", "immer"),
    ("sometimes", "manchmal"),
    ("rarely", "selten"),
]

# English parts | German parts | subjects | arguments | flags. A deeper line continues the row.
# Flags: p takes a place; s is a state, and so stands in the present and the simple past only;
# i happens to somebody, who can neither want to do it nor have a reason.
VERB_TABLE = """
    sleep slept slept | schlafen schläft schlief geschlafen | person,animal | | p
    work worked worked | arbeiten arbeitet arbeitete gearbeitet | person | | p
    play played played | spielen spielt spielte gespielt | person | | p
    sing sang sung | singen singt sang gesungen | person | | p
    dance danced danced | tanzen tanzt tanzte getanzt | person | | p
    wait waited waited | warten wartet wartete gewartet | person | | p
    smoke smoked smoked | rauchen raucht rauchte geraucht | person | | p
    sit sat sat | sitzen sitzt saß gesessen | person,animal | | p
    laugh laughed laughed | lachen lacht lachte gelacht | person | |
    cry cried cried | weinen weint weinte geweint | person | |
    smile smiled smiled | lächeln lächelt lächelte gelächelt | person | |
    disappear disappeared disappeared | verschwinden verschwindet verschwand verschwunden sein |
        person,animal | | i
    wake woke woken up | auf-wachen wacht wachte aufgewacht sein | person,animal | | i
    get got gotten up | auf-stehen steht stand aufgestanden sein | person | |
    fall fell fallen asleep | ein-schlafen schläft schlief eingeschlafen sein | person,animal | | i
    come came come back | zurück-kommen kommt kam zurückgekommen sein | person,animal | |
    arrive arrived arrived | an-kommen kommt kam angekommen sein | person,bus,train,ship,ferry,
        taxi | |
    stop stopped stopped | an-halten hält hielt angehalten | bus,train,truck,taxi,tram,car | |
    leave left left | ab-fahren fährt fuhr abgefahren sein | bus,train,ship,ferry,tram | |
    begin began begun | an-fangen fängt fing angefangen | film,game,song | |
    see saw seen | sehen sieht sah gesehen | person |
        acc:person,animal,vehicle,transport,building | i
    hear heard heard | hören hört hörte gehört | person | acc:person,animal,song,train,drum | i
    find found found | finden findet fand gefunden | person | acc:object,clothing,container,tool,
        animal | i
    buy bought bought | kaufen kauft kaufte gekauft | person | acc:food,drink,clothing,vehicle,
        furniture,object,container,instrument,book,newspaper |
    sell sold sold | verkaufen verkauft verkaufte verkauft | person | acc:clothing,vehicle,
        furniture,object,food,instrument,house |
    need needed needed | brauchen braucht brauchte gebraucht | person | acc:object,clothing,tool,
        container,car,bicycle | s
    have had had | haben hat hatte gehabt | person | acc:animal,clothing,object,instrument,car,
        bicycle,boat,house,garden | s
    own owned owned | besitzen besitzt besaß besessen | person | acc:house,castle,hotel,car,boat,
        horse,factory,restaurant | s
    love loved loved | lieben liebt liebte geliebt | person | acc:person,animal,chocolate,cheese,
        film,song,language | s
    hate hated hated | hassen hasst hasste gehasst | person | acc:person,cheese,fish,soup,tea | s
    know knew known | kennen kennt kannte gekannt | person | acc:person,song,story,city,village,
        answer,secret | s
    understand understood understood | verstehen versteht verstand verstanden | person |
        acc:person,question,answer,language,story,problem,word,exercise,plan | i
    visit visited visited | besuchen besucht besuchte besucht | person | acc:person,museum,castle,
        city,village,church |
    meet met met | treffen trifft traf getroffen | person | acc:person |
    call called called | an-rufen ruft rief angerufen | person | acc:person |
    invite invited invited | ein-laden lädt lud eingeladen | person | acc:person |
    ask asked asked | fragen fragt fragte gefragt | person | acc:person |
    greet greeted greeted | grüßen grüßt grüßte gegrüßt | person | acc:person |
    admire admired admired | bewundern bewundert bewunderte bewundert | person | acc:person,
        picture,castle | s
    kiss kissed kissed | küssen küsst küsste geküsst | person | acc:person |
    hug hugged hugged | umarmen umarmt umarmte umarmt | person | acc:person |
    miss missed missed | vermissen vermisst vermisste vermisst | person | acc:person,dog,cat,
        horse | si
    save saved saved | retten rettet rettete gerettet | person | acc:person,animal |
    notice noticed noticed | bemerken bemerkt bemerkte bemerkt | person | acc:person,animal,gap,
        hole | i
    watch watched watched | beobachten beobachtet beobachtete beobachtet | person | acc:person,
        animal |
    draw drew drawn | zeichnen zeichnet zeichnete gezeichnet | person | acc:animal,house,tree,
        flower,church,ship,map |
    read read read | lesen liest las gelesen | person | acc:reading | p
    write wrote written | schreiben schreibt schrieb geschrieben | person | acc:reading | p
    translate translated translated | übersetzen übersetzt übersetzte übersetzt | person |
        acc:letter,story,poem,novel,report,article,message |
    eat ate eaten | essen isst aß gegessen | person | acc:food | p
    drink drank drunk | trinken trinkt trank getrunken | person | acc:drink | p
    eat ate eaten | fressen frisst fraß gefressen | goat,pig,rabbit,horse,bear,hare,donkey,calf,
        hen,mouse | acc:apple,carrot,pear,bread,cabbage,salad |
    cook cooked cooked | kochen kocht kochte gekocht | person | acc:soup,potato,rice,egg,meat,
        fish | p
    bake baked baked | backen backt backte gebacken | person | acc:cake,bread,roll,cookie,pizza |
        p
    cut cut cut | schneiden schneidet schnitt geschnitten | person | acc:bread,cheese,cake,onion,
        meat,tomato,hedge |
    wash washed washed | waschen wäscht wusch gewaschen | person | acc:clothing,car,apple,carrot,
        blanket,cup,plate |
    clean cleaned cleaned | putzen putzt putzte geputzt | person | acc:window,shoe,boot,kitchen,
        bathroom,lamp,mirror |
    repair repaired repaired | reparieren repariert reparierte repariert | person | acc:vehicle,
        machine,radio,clock,roof,fence,lamp,computer,camera,bus,ship |
    carry carried carried | tragen trägt trug getragen | person | acc:container,chair,ladder,
        stone |
    wear wore worn | tragen trägt trug getragen | person | acc:clothing,ring |
    pull pulled pulled | ziehen zieht zog gezogen | person,horse,donkey | acc:cart,sled,boat,
        trailer |
    push pushed pushed | schieben schiebt schob geschoben | person | acc:cart,bicycle,table,
        cupboard,car,motorcycle |
    open opened opened | öffnen öffnet öffnete geöffnet | person | acc:door,window,box,suitcase,
        drawer,bottle,letter,gate,package |
    close closed closed | zu-machen macht machte zugemacht | person | acc:door,window,box,
        suitcase,drawer,bag,gate,book |
    lock locked locked | ab-schließen schließt schloss abgeschlossen | person | acc:door,car,
        house,office,bicycle,garage |
    turn turned turned on | ein-schalten schaltet schaltete eingeschaltet | person | acc:lamp,
        radio,computer,machine |
    turn turned turned off | aus-schalten schaltet schaltete ausgeschaltet | person | acc:lamp,
        radio,computer,machine |
    put put put on | an-ziehen zieht zog angezogen | person | acc:shirt,coat,jacket,dress,skirt,
        shoe,boot,sock,glove,sweater,blouse |
    take took taken off | aus-ziehen zieht zog ausgezogen | person | acc:shirt,coat,jacket,dress,
        skirt,shoe,boot,sock,glove,sweater,blouse |
    try tried tried on | an-probieren probiert probierte anprobiert | person | acc:clothing |
    throw threw thrown away | weg-werfen wirft warf weggeworfen | person | acc:letter,newspaper,
        shoe,bottle,toy,pan,candle,pencil,cap |
    bring brought brought along | mit-bringen bringt brachte mitgebracht | person | acc:cake,
        present,guitar,camera,blanket,wine,friend,dog |
    pick picked picked up | ab-holen holt holte abgeholt | person | acc:package,child,guest,
        friend,tourist,suitcase,ticket |
    tidy tidied tidied up | auf-räumen räumt räumte aufgeräumt | person | acc:room,kitchen,cellar,
        garage,office |
    unpack unpacked unpacked | aus-packen packt packte ausgepackt | person | acc:suitcase,package,
        present,bag,backpack,box |
    give gave given back | zurück-geben gibt gab zurückgegeben | person | acc:book,ring,key,
        camera,umbrella,bicycle,letter |
    choose chose chosen | aus-suchen sucht suchte ausgesucht | person | acc:clothing,present,book,
        ring,picture,carpet |
    look looked looked at | an-sehen sieht sah angesehen | person | acc:picture,map,film,house,
        clock |
    look looked looked for | suchen sucht suchte gesucht | person | acc:object,person,animal,book,
        shoe,hat |
    lose lost lost | verlieren verliert verlor verloren | person | acc:key,ring,ticket,hat,glove,
        umbrella,coin,game,map | i
    forget forgot forgotten | vergessen vergisst vergaß vergessen | person | acc:name,question,
        key,umbrella,word,camera,ticket | i
    hide hid hidden | verstecken versteckt versteckte versteckt | person | acc:key,letter,ring,
        present,coin,chocolate |
    steal stole stolen | stehlen stiehlt stahl gestohlen | thief,man,boy,woman,monkey | acc:ring,
        car,bicycle,picture,camera,bag,cookie,apple |
    break broke broken | zerbrechen zerbricht zerbrach zerbrochen | person | acc:cup,plate,glass,
        vase,mirror,bottle | i
    build built built | bauen baut baute gebaut | person | acc:house,bridge,boat,wall,tower,hut,
        machine,ship,shelf |
    plant planted planted | pflanzen pflanzt pflanzte gepflanzt | person | acc:tree,flower,bush,
        hedge,carrot,tomato |
    feed fed fed | füttern füttert fütterte gefüttert | person | acc:animal |
    ride rode ridden | reiten reitet ritt geritten | person | acc:horse,donkey,pony,camel |
    learn learned learned | lernen lernt lernte gelernt | person | acc:language,song,poem,word |
    win won won | gewinnen gewinnt gewann gewonnen | person | acc:game | i
    solve solved solved | lösen löst löste gelöst | person | acc:problem,exercise |
    chase chased chased | jagen jagt jagte gejagt | dog,cat,fox,wolf,lion,tiger,eagle | acc:mouse,
        hare,rabbit,bird,duck,rat,squirrel |
    bite bit bitten | beißen beißt biss gebissen | dog,snake,rat,wolf,horse | acc:person |
    catch caught caught | fangen fängt fing gefangen | cat,fox,wolf,lion,tiger,dog,eagle |
        acc:mouse,hare,rabbit,bird,duck,rat,frog,squirrel,antelope,hen,goose,pigeon |
    cross crossed crossed | überqueren überquert überquerte überquert | person,animal |
        acc:street,river,bridge,square,field,meadow,valley |
    reach reached reached | erreichen erreicht erreichte erreicht | person | acc:house,city,
        village,island,bridge,castle,train |
    cover covered covered | bedecken bedeckt bedeckte bedeckt | cloth,blanket,towel | acc:table,
        bed,sofa,bench,chest |
    hold held held | halten hält hielt gehalten | person | acc:rope,bag,ball,umbrella,candle,
        ladder |
    lift lifted lifted | heben hebt hob gehoben | person | acc:stone,box,sack,barrel,suitcase |
    give gave given | geben gibt gab gegeben | person | dat:person acc:book,letter,present,key,
        ring,apple,coin,ticket,flower,camera |
    show showed shown | zeigen zeigt zeigte gezeigt | person | dat:person acc:picture,house,
        letter,city,map,ring,museum,report |
    send sent sent | schicken schickt schickte geschickt | person | dat:person acc:letter,package,
        message,picture,flower |
    lend lent lent | leihen leiht lieh geliehen | person | dat:person acc:book,car,bicycle,
        umbrella,camera,ladder |
    tell told told | erzählen erzählt erzählte erzählt | person | dat:person acc:story,secret |
    bring brought brought | bringen bringt brachte gebracht | person | dat:person acc:soup,coffee,
        tea,letter,newspaper,flower,chair |
    help helped helped | helfen hilft half geholfen | person | dat:person |
    thank thanked thanked | danken dankt dankte gedankt | person | dat:person |
    follow followed followed | folgen folgt folgte gefolgt sein | person,dog,cat | dat:person,
        animal |
    believe believed believed | glauben glaubt glaubte geglaubt | person | dat:person |
    trust trusted trusted | vertrauen vertraut vertraute vertraut | person | dat:person | s
    congratulate congratulated congratulated | gratulieren gratuliert gratulierte gratuliert |
        person | dat:person |
    listen listened listened to | zu-hören hört hörte zugehört | person | dat:person |
    belong belonged belonged to | gehören gehört gehörte gehört | vehicle,clothing,container,
        instrument,house,castle | dat:person | s
    wait waited waited | warten wartet wartete gewartet | person | for>auf:acc:bus,train,person,
        taxi,answer,letter,ferry |
    think thought thought | denken denkt dachte gedacht | person | of>an:acc:person,problem,
        question,game |
    talk talked talked | sprechen spricht sprach gesprochen | person | about>über:acc:problem,
        idea,film,plan,book,novel,article |
    talk talked talked | sprechen spricht sprach gesprochen | person | with>mit:dat:person |
    laugh laughed laughed | lachen lacht lachte gelacht | person | about>über:acc:story,film,idea,
        word,picture |
    dream dreamed dreamed | träumen träumt träumte geträumt | person | of>von:dat:person,castle,
        horse,island,game | i
    play played played | spielen spielt spielte gespielt | person,dog,cat | with>mit:dat:child,
        dog,cat,ball,doll,toy |
    live lived lived | wohnen wohnt wohnte gewohnt | person | in>in:dat:house,city,village,hut,
        castle,hotel | s
    go went gone | gehen geht ging gegangen sein | person | to>zu:dat:school,church,bakery,
        pharmacy,doctor,baker,river,bridge |
    drive drove driven | fahren fährt fuhr gefahren sein | person | to>zu:dat:hotel,museum,
        airport,hospital,theater,factory,lake |
    run ran run | rennen rennt rannte gerannt sein | person,dog,horse,cat | into>in:acc:house,
        garden,forest,kitchen,room,school,park |
    walk walked walked | laufen läuft lief gelaufen sein | person | through>durch:acc:city,forest,
        park,village,garden,street |
    come came come | kommen kommt kam gekommen sein | person,animal | out_of>aus:dat:house,forest,
        kitchen,garden,room |
    jump jumped jumped | springen springt sprang gesprungen sein | dog,cat,horse,goat,stag,hare,
        kangaroo,fox,rabbit,pony,tiger,lion | over>über:acc:fence,wall,hedge,ditch,gate,puddle |
    climb climbed climbed | klettern klettert kletterte geklettert sein | person,cat,squirrel,
        monkey | onto>auf:acc:tree,roof,table,rock,wall,tower |
    fly flew flown | fliegen fliegt flog geflogen sein | bird,eagle,owl,pigeon,seagull,duck,goose,
        plane,balloon | over>über:acc:city,house,forest,lake,sea,mountain,village |
    put put put | legen legt legte gelegt | person | acc:book,letter,key,knife,spoon,coin,hat,
        newspaper,camera on>auf:acc:table,chair,bed,bench,shelf |
    lie lay lain | liegen liegt lag gelegen | book,letter,key,newspaper,knife,pencil,coin,ticket,
        cat,dog | on>auf:dat:table,bed,chair,sofa,carpet | s
    stand stood stood | stehen steht stand gestanden | table,chair,cupboard,piano,vase,bicycle,
        lamp,armchair | in>in:dat:kitchen,room,cellar,garden,office,garage | s
    fit fit fit | passen passt passte gepasst | object | into>in:acc:container | s
    fit fit fit | passen passt passte gepasst | furniture | through>durch:acc:door | s
    sleep slept slept | schlafen schläft schlief geschlafen | horse,cow,goat,donkey,pony,calf,lamb,
        pig,hen | in>in:dat:stable,barn |
    swim swam swum | schwimmen schwimmt schwamm geschwommen sein | person,dog,duck,bear |
        in>in:dat:river,lake,sea |
"""


def read_argument(text: str) -> Argument:
    """Read `acc:food,drink` or, with a preposition, `for>auf:acc:bus,train`."""
    *preposition, case, kinds = text.split(":")
    english, _, german = "".join(preposition).partition(">")
    name = Case.ACCUSATIVE if case == "acc" else Case.DATIVE
    return Argument(name, tuple(kinds.split(",")), english.replace("_", " "), german)


def read_verb(row: str) -> Verb:
    """Read one row of the table of verbs."""
    english, german, subjects, arguments, flags = (cell.strip() for cell in row.split("|"))
    base, past, participle, *particle = english.split()
    infinitive, german_present, german_past, german_participle, *auxiliary = german.split()
    prefix, _, stem = infinitive.rpartition("-")
    return Verb(
        base=base,
        past=past,
        participle=participle,
        particle="".join(particle),
        prefix=prefix,
        infinitive=stem,
        german_present=german_present,
        german_past=german_past,
        german_participle=german_participle,
        auxiliary="".join(auxiliary) or "haben",
        subjects=tuple(subjects.split(",")),
        arguments=tuple(read_argument(argument) for argument in arguments.split()),
        flags=flags,
    )


def read_verbs() -> dict[str, Verb]:
    """Read the table; the key is the German infinitive with its preposition, if it has one."""
    verbs: dict[str, Verb] = {}
    for row in VERB_TABLE.strip().replace("\n        ", "").split("\n"):
        verb = read_verb(row)
        prepositions = [argument.german for argument in verb.arguments if argument.german]
        key = " ".join([verb.prefix + verb.infinitive, *prepositions])
        verbs[key + " +" if key in verbs else key] = verb
    return verbs


VERBS = read_verbs()
BE = read_verb("be was been | sein ist war gewesen sein | | |")
THAT_VERBS = [
    read_verb("know knew known | wissen weiß wusste gewusst | person | | s"),
    read_verb("say said said | sagen sagt sagte gesagt | person | |"),
    read_verb("believe believed believed | glauben glaubt glaubte geglaubt | person | | s"),
    read_verb("hope hoped hoped | hoffen hofft hoffte gehofft | person | | s"),
    read_verb("think thought thought | denken denkt dachte gedacht | person | | s"),
]
WHETHER_VERBS = [
    read_verb("know knew known | wissen weiß wusste gewusst | person | | s"),
    read_verb("ask asked asked | fragen fragt fragte gefragt | person | |"),
]
WHO = Pronoun("who", "whom", ("wer", "wen", "wem"), 3, False)
WHAT = Pronoun("what", "what", ("was", "was", "was"), 3, False)

# Where things happen: English and German preposition, and the places.
PLACE_TABLE = """
    in>in garden kitchen park forest house school hotel library cellar room village
    in>in city museum office barn hut castle restaurant garage theater factory
    on>auf bench sofa ship island bridge roof
    under>unter tree bridge
    behind>hinter house church school hedge barn castle
    in_front_of>vor house church school hotel museum theater bakery
    next_to>neben church tree pharmacy gate bakery river
"""
ANIMAL_PLACE_TABLE = """
    in>in garden park forest barn house stable cave
    under>unter tree table bridge bed
    behind>hinter house hedge barn wall
    next_to>neben tree gate river bench
"""


def read_places(table: str) -> list[tuple[str, str, list[str]]]:
    """Read rows of an English preposition, a German one, and the nouns they go with."""
    places = []
    for row in table.strip().split("\n"):
        prepositions, *names = row.split()
        english, _, german = prepositions.replace("_", " ").partition(">")
        places.append((english, german, names))
    return places


PLACES = read_places(PLACE_TABLE)
ANIMAL_PLACES = read_places(ANIMAL_PLACE_TABLE)


@dataclass(frozen=True, eq=False)
class Frame:
    """A sentence with two nouns and an "it" that only the adjective can resolve.

    "The animal didn't cross the street because it was too tired": what speaks against crossing
    is a property either of animals or of streets. What speaks for it goes with a positive verb.
    """

    verb: str
    subjects: list[str]
    objects: list[str]
    subject_against: list[str]
    object_against: list[str]
    subject_for: list[str]
    object_for: list[str]

    @property
    def lively(self) -> bool:
        """Whether it is about animals, which do things at some time, unlike boxes and ropes."""
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
# Verb: subjects > objects. A minus: what speaks against it, of the subject > of the object.
# A plus: what speaks for it. Words in capitals stand for the lists above.
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
    """Split a list of words and replace the names in capitals by their lists."""
    return [word for name in text.split() for word in WORD_LISTS.get(name, name).split()]


def read_frames() -> list[Frame]:
    """Read the table of frames."""
    frames = []
    for row in FRAME_TABLE.strip().replace("\n        ", " ").split("\n"):
        verb, _, rest = row.strip().partition(": ")
        rest, _, reasons_for = rest.partition(" + ")
        nouns, _, reasons_against = rest.partition(" - ")
        sides = [
            read_words(side)
            for pair in (nouns, reasons_against, reasons_for)
            for side in (pair.partition(">")[0], pair.partition(">")[2])
        ]
        frames.append(Frame(verb, *sides))
    return frames


FRAMES = read_frames()

# Adjectives before the two nouns that say nothing about which of them "it" is.
NEUTRAL = {
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
