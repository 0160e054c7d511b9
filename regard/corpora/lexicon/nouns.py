"""The nouns, by semantic kind, which decides the verbs and adjectives they can go with."""

from __future__ import annotations

from functools import cache

from regard.corpora.inflection import Noun
from regard.corpora.lexicon.tables import entries

# English singular and, if irregular, plural; German singular, gender and plural.
# The gender w is a weak masculine noun; a noun without a plural (-) is a mass noun.
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


def plural_of(noun: str) -> str:
    """The regular English plural."""
    if noun.endswith(("s", "x", "sh", "ch")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeou":
        return noun[:-1] + "ies"
    return noun + "s"


def read_noun(kind: str, entry: str) -> Noun:
    """Read an entry such as `mouse/mice Maus f Mäuse`."""
    english, german, gender, plural = entry.split()
    singular, _, irregular = english.partition("/")
    return Noun(
        english=singular,
        english_plural=irregular or plural_of(singular),
        german=german,
        gender="m" if gender == "w" else gender,
        german_plural="" if plural == "-" else plural,
        weak=gender == "w",
        kind=kind,
    )


KINDS = {
    kind: [read_noun(kind, entry) for entry in entries(table)]
    for kind, table in NOUN_TABLES.items()
}
NOUNS = {noun.english: noun for nouns in KINDS.values() for noun in nouns}


@cache
def nouns_of(names: tuple[str, ...]) -> tuple[Noun, ...]:
    """All nouns of the named kinds; a name that is not a kind is the noun itself."""
    return tuple(noun for name in names for noun in KINDS.get(name) or [NOUNS[name]])


# Nouns that take a possessive: a friend but not a tourist, a dog but not a wolf.
OWNED_NAMES = """
    food drink reading clothing vehicle furniture container object tool instrument room child
    neighbor friend brother sister mother father son daughter uncle aunt grandmother grandfather
    teacher doctor boss colleague guest customer lawyer secretary student dog cat horse cow pig
    goat donkey hen rabbit pony calf lamb foal duck goose camel house office hotel restaurant
    factory castle hut bakery question answer song language game problem idea name secret exercise
    plan drawer door window roof
"""
OWNED = frozenset(nouns_of(tuple(OWNED_NAMES.split())))
FAMILY_NAMES = "brother sister mother father son daughter uncle aunt grandmother grandfather"
FAMILY = frozenset(nouns_of(tuple(FAMILY_NAMES.split())))
