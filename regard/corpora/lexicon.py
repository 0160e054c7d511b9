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
        car Auto n Autos; bus Bus m Busse; train Zug m Züge; truck Lastwagen m Lastwagen
        bicycle Fahrrad n Fahrräder; motorcycle Motorrad n Motorräder; tractor Traktor m Traktoren
        ship Schiff n Schiffe; boat Boot n Boote; plane Flugzeug n Flugzeuge
        taxi Taxi n Taxis; carriage Kutsche f Kutschen; tram Straßenbahn f Straßenbahnen
        sled Schlitten m Schlitten; cart Karren m Karren; plow Pflug m Pflüge
        trailer Anhänger m Anhänger; ferry Fähre f Fähren; balloon Ballon m Ballons
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
        backpack Rucksack m Rucksäcke; basket Korb m Körbe; drawer Schublade f Schubladen
        package Paket n Pakete; barrel Fass n Fässer; sack Sack m Säcke; compartment Fach n Fächer
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


# An exclamation mark: absolute, it takes no "too" and no "very".
ADJECTIVE_TABLE = """
    old alt; young jung; new neu; big groß; small klein; friendly freundlich; tired müde; sick krank
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
    interesting interessant; boring langweilig; difficult schwierig; easy einfach
    important wichtig; funny lustig; dark dunkel; bright hell; round rund !; comfortable bequem
    dangerous gefährlich; wild wild; tame zahm; greedy gierig; playful verspielt; sleepy schläfrig
    injured verletzt !; shy scheu; exhausted erschöpft !; colorful bunt; sturdy stabil
    strange seltsam; elegant elegant; valuable wertvoll; useful nützlich; tiny winzig !
    huge riesig !; restless unruhig; overloaded überladen !; agile flink; shallow flach
    bumpy holprig; crowded überfüllt; right richtig !; wrong falsch !; wet nass; fragile zerbrechlich
    clumsy ungeschickt; stubborn stur; bulky sperrig; torn zerrissen !; crooked schief
"""

# What can be said of each kind of noun, before it or after "is".
DESCRIBES = {
    "person": "old young friendly tired sick hungry thirsty happy sad angry lazy clever strong weak"
    " rich poor famous nice polite brave nervous curious careful patient honest quiet funny strange",
    "animal": "old young small big tired hungry thirsty lazy clever strong weak fast slow"
    " frightened curious wild tame brown black white gray nervous dangerous shy greedy playful"
    " beautiful strange",
    "food": "fresh sweet sour bitter salty hot cold warm tasty juicy dry hard soft spicy expensive",
    "fodder": "fresh dry wet green",
    "drink": "fresh sweet hot cold warm expensive cheap bitter",
    "reading": "old new long short interesting boring important funny difficult famous beautiful",
    "clothing": "old new big small red blue green yellow white black brown gray beautiful ugly"
    " expensive cheap warm dirty clean wet elegant modern",
    "vehicle": "old new big small fast slow expensive cheap broken dirty red blue green modern",
    "furniture": "old new big small heavy expensive cheap beautiful ugly comfortable modern white"
    " brown black",
    "container": "old new big small heavy empty full red blue brown black",
    "object": "old new big small beautiful ugly expensive cheap red blue green yellow valuable"
    " useful strange",
    "tool": "old new long short heavy useful rusty strange",
    "instrument": "old new expensive cheap beautiful valuable broken",
    "building": "old new big small modern famous beautiful ugly expensive empty dark",
    "room": "big small dark bright warm cold clean dirty empty beautiful",
    "area": "big small dark quiet beautiful dangerous",
    "way": "wide narrow long beautiful dangerous",
    "nature": "big small beautiful high",
    "barrier": "old new high low long",
    "part": "big small old wide narrow dark",
    "abstract": "old new interesting boring difficult easy important funny strange right wrong",
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
POSSESSIVES = [
    Determiner(english, english, german, EIN, MIXED)
    for english, german in zip(
        "my your his her our their".split(), "mein dein sein ihr unser ihr".split(), strict=True
    )
]
NUMBERS = [
    Determiner("", english, german, UNINFLECTED, STRONG, definite=False)
    for english, german in zip(
        "two three four five six seven eight nine ten eleven twelve".split(),
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split(),
        strict=True,
    )
]

PRONOUNS = {
    entry[0]: Pronoun(entry[0], entry[1], (entry[2], entry[3], entry[4]), int(entry[5]), plural)
    for line in """
        I me ich mich mir 1; you you du dich dir 2; he him er ihn ihm 3; she her sie sie ihr 3
        it it es es ihm 3; we us wir uns uns 1 plural; they them sie sie ihnen 3 plural
    """.strip().replace("\n", ";").split(";")
    for entry, plural in [(line.split(), line.endswith("plural"))]
}

MEN = "Peter Thomas Paul Max Jonas Martin Felix David".split()
WOMEN = "Anna Maria Lena Julia Sophie Laura Emma Clara".split()

# The last column: may be negated and asked; "mustn't" and "didn't have to" mean something else.
MODALS = [
    Modal("can", "can", "", False, "können", "kann", "konnte", False, True),
    Modal("could", "could", "", True, "können", "kann", "konnte", True, True),
    Modal("must", "must", "", False, "müssen", "muss", "musste", False, False),
    Modal("had", "had", "have", True, "müssen", "muss", "musste", True, False),
    Modal("should", "should", "", False, "sollen", "soll", "sollte", True, True),
    Modal("may", "may", "", False, "dürfen", "darf", "durfte", False, True),
    Modal("want", "wants", "want", False, "wollen", "will", "wollte", False, True),
    Modal("wanted", "wanted", "want", True, "wollen", "will", "wollte", True, True),
]
COULD = MODALS[1]

# A group of words in either language; the bar parts the chunks that render each other.
ADVERBIALS = {
    tense: [
        Adverbial(*(tuple(tuple(part.split()) for part in side.split("|")) for side in sides))
        for sides in (entry.split("=") for entry in table.strip().replace("\n", ";").split(";"))
    ]
    for tense, table in {
        "past": """
            yesterday=gestern; last|week=letzte|Woche; last|year=letztes|Jahr
            last|summer=letzten|Sommer; on|Monday=am|Montag; on|Sunday=am|Sonntag
            in the|evening=am|Abend; this|morning=heute|Morgen; last|night=letzte|Nacht
        """,
        "present": """
            today=heute; now=jetzt; every|day=jeden|Tag; every|week=jede|Woche
            every|evening=jeden|Abend; every|morning=jeden|Morgen; in the|winter=im|Winter
        """,
        "future": """
            tomorrow=morgen; next|week=nächste|Woche; next|year=nächstes|Jahr; soon=bald
            next|summer=nächsten|Sommer; on|Friday=am|Freitag; on|Saturday=am|Samstag
        """,
        "perfect": "today=heute; this|week=diese|Woche; this|year=dieses|Jahr",
    }.items()
}
FREQUENCIES = [
    ("often", "oft"),
    ("always", "immer"),
    ("sometimes", "manchmal"),
    ("never", "nie"),
    ("rarely", "selten"),
]

# English parts | German parts | subjects | arguments | flags. A deeper line continues the row.
# Flags: p takes a place, s is a state and so stands in the present and the simple past only.
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
        person,animal | |
    wake woke woken up | auf-wachen wacht wachte aufgewacht sein | person,animal | |
    get got gotten up | auf-stehen steht stand aufgestanden sein | person | |
    fall fell fallen asleep | ein-schlafen schläft schlief eingeschlafen sein | person,animal | |
    come came come back | zurück-kommen kommt kam zurückgekommen sein | person,animal | |
    arrive arrived arrived | an-kommen kommt kam angekommen sein | person,bus,train,ship,ferry,
        taxi | |
    stop stopped stopped | an-halten hält hielt angehalten | bus,train,truck,taxi,tram,car | |
    leave left left | ab-fahren fährt fuhr abgefahren sein | bus,train,ship,ferry,tram | |
    begin began begun | an-fangen fängt fing angefangen | film,game,song | |
    see saw seen | sehen sieht sah gesehen | person,animal | acc:person,animal,vehicle,building |
    hear heard heard | hören hört hörte gehört | person | acc:person,animal,song,train,ship |
    find found found | finden findet fand gefunden | person | acc:object,clothing,container,tool,
        animal |
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
    hate hated hated | hassen hasst hasste gehasst | person | acc:person,cheese,fish,game,
        school | s
    know knew known | kennen kennt kannte gekannt | person | acc:person,song,story,city,village,
        answer,secret | s
    understand understood understood | verstehen versteht verstand verstanden | person |
        acc:person,question,answer,language,story,problem,word,exercise,plan |
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
        horse | s
    save saved saved | retten rettet rettete gerettet | person | acc:person,animal |
    notice noticed noticed | bemerken bemerkt bemerkte bemerkt | person | acc:person,animal,gap,
        hole |
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
        machine,radio,clock,roof,fence,lamp,computer,camera |
    carry carried carried | tragen trägt trug getragen | person | acc:container,chair,box,ladder,
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
        umbrella,coin,game,map |
    forget forgot forgotten | vergessen vergisst vergaß vergessen | person | acc:name,question,
        key,umbrella,word,camera,ticket |
    hide hid hidden | verstecken versteckt versteckte versteckt | person | acc:key,letter,ring,
        present,coin,chocolate |
    steal stole stolen | stehlen stiehlt stahl gestohlen | thief,man,boy,woman,monkey | acc:ring,
        car,bicycle,picture,camera,bag,cookie,apple |
    break broke broken | zerbrechen zerbricht zerbrach zerbrochen | person | acc:cup,plate,glass,
        vase,mirror,bottle |
    build built built | bauen baut baute gebaut | person | acc:house,bridge,boat,wall,tower,hut,
        machine,ship,shelf |
    plant planted planted | pflanzen pflanzt pflanzte gepflanzt | person | acc:tree,flower,bush,
        hedge,carrot,tomato |
    feed fed fed | füttern füttert fütterte gefüttert | person | acc:animal |
    ride rode ridden | reiten reitet ritt geritten | person | acc:horse,donkey,pony,camel |
    learn learned learned | lernen lernt lernte gelernt | person | acc:language,song,poem,word |
    win won won | gewinnen gewinnt gewann gewonnen | person | acc:game |
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
        horse,island,game |
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
    jump jumped jumped | springen springt sprang gesprungen sein | animal |
        over>über:acc:barrier |
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
    sleep slept slept | schlafen schläft schlief geschlafen | animal | in>in:dat:stable,barn,basket |
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
PLACES = [
    (english, german, tuple(names.split()))
    for english, german, names in [
        ("in", "in", "garden kitchen park forest house school hotel library cellar room village"),
        ("in", "in", "city museum office barn hut castle restaurant garage theater factory"),
        ("on", "auf", "bench sofa ship island bridge roof"),
        ("under", "unter", "tree bridge"),
        ("behind", "hinter", "house church school hedge barn castle"),
        ("in front of", "vor", "house church school hotel museum theater bakery"),
        ("next to", "neben", "church tree pharmacy gate bakery river"),
    ]
]


@dataclass(frozen=True)
class Frame:
    """A sentence with two nouns and an "it" that only the adjective can resolve.

    "The animal didn't cross the street because it was too tired": what speaks against crossing
    is a property either of animals or of streets. What speaks for it goes with a positive verb.
    """

    verb: str
    subjects: str
    objects: str
    subject_against: str = ""
    object_against: str = ""
    subject_for: str = ""
    object_for: str = ""


WALKERS = (
    "animal dog cat horse cow pig goat fox wolf bear elephant lion monkey hare tiger donkey hedgehog"
    " stag camel squirrel rabbit calf lamb foal pony zebra giraffe kangaroo antelope mouse rat"
    " turtle goose duck hen frog"
)
JUMPERS = (
    "horse dog cat goat stag pony hare kangaroo lion fox zebra antelope foal rabbit donkey tiger cow"
)
WEARY = "tired lazy weak frightened exhausted injured sick nervous sleepy shy"
EAGER = "hungry thirsty curious brave restless"
OMNIVORES = "dog pig rat bear mouse monkey hen hedgehog fox animal goose"
HERBIVORES = "horse cow goat rabbit hare donkey camel zebra pony calf lamb foal giraffe elephant"
HUNTERS = "cat lion wolf tiger fox eagle dog crocodile snake owl animal"
PREY = "mouse hare rabbit bird duck rat frog squirrel antelope hen goose pigeon foal lamb"
THINGS = (
    "ball book lamp bottle shoe plate picture clock guitar violin coat dress pillow blanket pan vase"
    " pot umbrella doll toy radio camera jacket carpet cello towel mirror"
)
FRAMES = [
    Frame(
        "überqueren",
        WALKERS,
        "street bridge square highway intersection",
        WEARY,
        "wide icy slippery busy closed flooded",
        EAGER,
        "empty narrow",
    ),
    Frame("überqueren", WALKERS, "path track bridge field", WEARY, "icy slippery closed flooded"),
    Frame(
        "überqueren", WALKERS, "river brook canal lake bog", WEARY, "wide deep", EAGER,
        "shallow narrow frozen",
    ),
    Frame("überqueren", WALKERS, "field meadow yard", WEARY, "wide muddy flooded icy", EAGER),
    Frame("überqueren", WALKERS, "valley desert bog", WEARY, "wide", EAGER),
    Frame(
        "überqueren",
        "car bus truck tractor carriage tram motorcycle taxi",
        "bridge street square intersection field track",
        "heavy overloaded broken slow",
        "icy closed slippery flooded narrow",
    ),
    Frame(
        "fressen",
        OMNIVORES,
        "bread cake cheese sausage egg cookie roll potato pizza",
        "tired sick shy frightened sleepy",
        "hard moldy salty hot frozen spicy",
        "hungry greedy",
        "fresh tasty soft warm",
    ),
    Frame(
        "fressen",
        OMNIVORES + " " + HERBIVORES,
        "apple pear banana plum carrot salad cabbage",
        "tired sick shy frightened sleepy",
        "bitter hard moldy frozen",
        "hungry greedy",
        "fresh tasty juicy",
    ),
    Frame(
        "fressen",
        HERBIVORES,
        "hay grass straw cabbage salad",
        "tired sick shy frightened sleepy",
        "bitter moldy tough frozen",
        "hungry greedy",
        "fresh soft tasty",
    ),
    Frame(
        "fressen",
        HUNTERS,
        "meat fish sausage ham schnitzel",
        "tired sick shy frightened sleepy",
        "salty spicy tough frozen moldy hot",
        "hungry greedy",
        "fresh tasty soft juicy",
    ),
    Frame(
        "trinken",
        "dog cat bear monkey elephant horse cow donkey camel pig calf lamb animal foal goat",
        "water milk juice tea coffee lemonade beer wine",
        "sick nervous shy frightened",
        "hot bitter salty cold",
        "thirsty",
        "fresh sweet tasty",
    ),
    Frame(
        "springen über",
        JUMPERS,
        "fence wall hedge gate obstacle",
        WEARY + " clumsy stubborn",
        "high wide",
        EAGER + " agile",
        "low",
    ),
    Frame(
        "springen über",
        JUMPERS,
        "ditch puddle brook hole",
        WEARY + " clumsy stubborn",
        "wide deep",
        EAGER + " agile",
        "narrow",
    ),
    Frame(
        "klettern auf",
        "cat squirrel monkey bear mouse rat goat animal lion",
        "tree rock roof wall ladder tower hill shelf",
        WEARY + " clumsy stubborn",
        "high slippery",
        "curious playful restless hungry agile",
        "low",
    ),
    Frame(
        "klettern auf",
        "cat squirrel monkey bear goat animal lion dog fox",
        "rock roof hill mountain",
        WEARY + " clumsy stubborn",
        "steep icy high",
        "curious playful restless hungry agile",
    ),
    Frame(
        "ziehen",
        "horse donkey elephant camel pony cow dog goat",
        "cart sled carriage boat plow trailer log chest",
        WEARY + " small young stubborn",
        "heavy big bulky overloaded",
        "strong",
        "light",
    ),
    Frame(
        "tragen",
        "donkey horse camel elephant pony cow goat zebra",
        "sack bag box basket package barrel suitcase chest",
        WEARY + " small young stubborn",
        "heavy big bulky full",
        "strong",
        "light empty",
    ),
    Frame(
        "passen in",
        THINGS,
        "suitcase bag box backpack basket drawer package compartment chest",
        "big long thick bulky huge",
        "small narrow full tiny",
        "thin short",
        "empty",
    ),
    Frame(
        "passen durch",
        "truck bus piano sofa table bed cupboard machine bathtub tractor carriage armchair bench",
        "door gate window tunnel gap corridor hole",
        "big wide high bulky huge",
        "small narrow low",
    ),
    Frame(
        "fliegen über",
        "bird eagle owl pigeon seagull goose duck",
        "mountain hill tower wall castle tree",
        "tired weak exhausted injured sick lazy frightened",
        "high",
        EAGER,
        "low",
    ),
    Frame(
        "fliegen über",
        "bird eagle owl pigeon seagull goose duck",
        "sea lake valley desert river",
        "tired weak exhausted injured sick lazy frightened",
        "wide",
        EAGER,
        "narrow",
    ),
    Frame(
        "fliegen über",
        "plane balloon",
        "mountain hill tower castle wall",
        "heavy overloaded broken slow",
        "high",
        "light",
        "low",
    ),
    Frame(
        "fangen",
        HUNTERS,
        PREY,
        "slow tired lazy clumsy weak exhausted injured sleepy",
        "fast agile clever careful",
        "hungry greedy",
    ),
    Frame(
        "folgen",
        HUNTERS,
        PREY,
        "slow tired lazy clumsy weak exhausted injured sleepy",
        "fast agile",
        "hungry greedy curious",
    ),
    Frame(
        "schlafen in",
        "dog cat mouse hedgehog bear fox wolf pony calf lamb goat pig horse donkey rabbit hen",
        "basket bed nest stable cave hut barn box",
        "hungry nervous restless thirsty frightened",
        "narrow small crowded flooded",
        "tired sleepy exhausted sick lazy",
        "comfortable clean empty",
    ),
    Frame(
        "spielen mit",
        "dog cat monkey squirrel bear foal rabbit lamb calf goat pony mouse fox",
        "ball doll rope shoe blanket bone pillow toy branch cap",
        "tired lazy sick sleepy shy injured exhausted",
        "heavy hard broken big",
        "playful curious young restless",
        "soft colorful",
    ),
    Frame(
        "schneiden",
        "knife saw axe sword machine",
        "bread cheese sausage meat rope branch board ham cabbage",
        "blunt rusty broken",
        "hard thick tough frozen",
    ),
    Frame(
        "halten",
        "rope chain branch hook shelf nail board net thread",
        "lamp boat box picture bag barrel sack basket mirror clock",
        "thin weak brittle",
        "heavy big bulky",
        "sturdy strong",
        "light",
    ),
    Frame(
        "bedecken",
        "cloth blanket towel carpet",
        "table bed sofa bench chest hole piano armchair car",
        "small short narrow torn",
        "big long wide high huge",
    ),
    Frame(
        "erreichen",
        "dog cat mouse goat monkey squirrel lion lamb calf hedgehog",
        "branch shelf window roof nest lamp",
        "small clumsy tired weak slow",
        "high",
        EAGER,
        "low",
    ),
]
# Adjectives before the two nouns that say nothing about which of them "it" is.
NEUTRAL = {"animal": "brown black white gray beautiful strange"}
NEUTRAL |= dict.fromkeys(["way", "nature", "barrier", "part", "building"], "beautiful strange old")
NEUTRAL |= dict.fromkeys(["vehicle", "container", "clothing", "object"], "red blue old new strange")
NEUTRAL |= dict.fromkeys(["furniture", "instrument", "tool"], "old new beautiful strange")
