"""The verbs: their principal parts, possible subjects and arguments."""

from __future__ import annotations

from functools import cache

from regard.corpora.inflection import Argument, Case, Conjugation, Modal, Noun, Tense, Verb
from regard.corpora.lexicon.nouns import nouns_of
from regard.corpora.lexicon.tables import rows

# English parts | German parts | subjects | arguments | flags. A deeper line continues the row.
# Flags: p can have a location; s is stative: only in the present and the simple past; i is
# involuntary: the subject can neither want it nor have a reason for it.
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
    return Argument(
        case=Case.ACCUSATIVE if case == "acc" else Case.DATIVE,
        kinds=tuple(kinds.split(",")),
        english=english.replace("_", " "),
        german=german,
    )


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
        german=Conjugation(stem, german_present, german_past),
        german_participle=german_participle,
        auxiliary="".join(auxiliary) or "haben",
        subjects=tuple(subjects.split(",")),
        arguments=tuple(read_argument(argument) for argument in arguments.split()),
        takes_location="p" in flags,
        stative="s" in flags,
        involuntary="i" in flags,
    )


def read_verbs(table: str) -> dict[str, Verb]:
    """Read a table; the key is the German infinitive, followed by its preposition if any."""
    verbs: dict[str, Verb] = {}
    for row in rows(table):
        verb = read_verb(row)
        prepositions = [argument.german for argument in verb.arguments if argument.german]
        key = " ".join([verb.infinitive, *prepositions])
        verbs[key + " +" if key in verbs else key] = verb
    return verbs


VERBS = read_verbs(VERB_TABLE)
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

# English, third person and, if it takes "do", base | tense | German parts | flags.
# Flags: p German uses the past form; f can be negated and questioned.
MODAL_TABLE = """
    can can | present | können kann konnte | f
    could could | past | können kann konnte | pf
    must must | present | müssen muss musste |
    had had have | past | müssen muss musste | p
    should should | present | sollen soll sollte | pf
    may may | present | dürfen darf durfte | f
    want wants want | present | wollen will wollte | f
    wanted wanted want | past | wollen will wollte | pf
"""


def read_modal(row: str) -> Modal:
    """Read one row of the table of modal verbs."""
    english, tense, german, flags = (cell.strip() for cell in row.split("|"))
    word, third_person, *base = english.split()
    return Modal(
        english=word,
        third_person=third_person,
        base="".join(base),
        tense=Tense(tense),
        german=Conjugation(*german.split()),
        german_past="p" in flags,
        free="f" in flags,
    )


MODALS = {modal.english: modal for modal in map(read_modal, rows(MODAL_TABLE))}


@cache
def verbs_with_subject(noun: Noun) -> list[Verb]:
    """The verbs that the noun can be the subject of."""
    return [verb for verb in VERBS.values() if noun in nouns_of(verb.subjects)]


@cache
def verbs_with_object(noun: Noun) -> list[Verb]:
    """The verbs with one object, which the noun can be."""
    return [
        verb
        for verb in VERBS.values()
        if len(verb.arguments) == 1 and noun in nouns_of(verb.arguments[0].kinds)
    ]
