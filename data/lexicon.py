"""The words of the corpus: nouns, verbs, adjectives, names, places and times.

Each table is compact text, one word to a line, read into the dataclasses of `grammar` below
it. Tags sort words by meaning, so that the corpus only says what makes sense.
"""

from dataclasses import dataclass

from grammar import Adjective, Adverbial, Noun, Verb, weak_participle

# article  singular/plural ("-": none, "*": weak noun) = English[/plural] : tags
_NOUNS = """
der Lehrer/Lehrer = teacher : person job
der Arzt/Ärzte = doctor : person job
der Nachbar*/Nachbarn = neighbor : person relation
der Student*/Studenten = student : person job
der Polizist*/Polizisten = police officer : person job
der Kellner/Kellner = waiter : person job
die Kellnerin/Kellnerinnen = waitress : person job
der Verkäufer/Verkäufer = salesman/salesmen : person job
die Krankenschwester/Krankenschwestern = nurse : person job
der Bäcker/Bäcker = baker : person job
der Koch/Köche = cook : person job
der Bauer*/Bauern = farmer : person job
der Tourist*/Touristen = tourist : person job
der Fahrer/Fahrer = driver : person job
der Musiker/Musiker = musician : person job
der Künstler/Künstler = artist : person job
die Sängerin/Sängerinnen = singer : person job
der Gast/Gäste = guest : person
der Kunde*/Kunden = customer : person job
der Junge*/Jungen = boy : person young
das Mädchen/Mädchen = girl : person young
das Kind/Kinder = child/children : person young
das Baby/Babys = baby/babies : baby
der Mann/Männer = man/men : person adult
die Frau/Frauen = woman/women : person adult
der Chef/Chefs = boss/bosses : person relation
der Kollege*/Kollegen = colleague : person relation
der Freund/Freunde = friend : person relation
die Mutter/Mütter = mother : person family
der Vater/Väter = father : person family
der Bruder/Brüder = brother : person family sibling
die Schwester/Schwestern = sister : person family sibling
der Sohn/Söhne = son : person family sibling
die Tochter/Töchter = daughter : person family sibling
die Großmutter/Großmütter = grandmother : person family
der Großvater/Großväter = grandfather : person family
der Onkel/Onkel = uncle : person family
die Tante/Tanten = aunt : person family
der Hund/Hunde = dog : animal pet
die Katze/Katzen = cat : animal pet
das Pferd/Pferde = horse : animal
der Vogel/Vögel = bird : animal
die Kuh/Kühe = cow : animal
das Schaf/Schafe = sheep/sheep : animal
der Bär*/Bären = bear : animal wild
das Kaninchen/Kaninchen = rabbit : animal pet
das Brot/- = bread : mass food breakfast
das Fleisch/- = meat : mass food
der Fisch/Fische = fish/fish : mass food cooked
der Käse/- = cheese : mass food breakfast
die Butter/- = butter : mass ware
der Reis/- = rice : mass food cooked
das Gemüse/- = vegetables : mass food cooked
die Schokolade/- = chocolate : mass food sweet
der Apfel/Äpfel = apple : count food fruit
die Banane/Bananen = banana : count food fruit
die Birne/Birnen = pear : count food fruit
die Orange/Orangen = orange : count food fruit
die Tomate/Tomaten = tomato/tomatoes : count food fruit
die Kartoffel/Kartoffeln = potato/potatoes : count food cooked
das Ei/Eier = egg : count food cooked breakfast
das Brötchen/Brötchen = roll : count food breakfast
der Kuchen/Kuchen = cake : dish food sweet baked
die Pizza/Pizzas = pizza : dish food baked
die Suppe/Suppen = soup : dish food cooked
der Salat/Salate = salad : dish food
das Wasser/- = water : mass drink
der Kaffee/- = coffee : mass drink hotdrink breakfast
der Tee/- = tea : mass drink hotdrink
die Milch/- = milk : mass drink
das Bier/- = beer : mass drink
der Wein/- = wine : mass drink
der Saft/- = juice : mass drink
das Buch/Bücher = book : text own thing
die Zeitung/Zeitungen = newspaper : text press thing
die Zeitschrift/Zeitschriften = magazine : text press thing
der Brief/Briefe = letter : text mail
der Roman/Romane = novel : text
die Geschichte/Geschichten = story/stories : text told
das Gedicht/Gedichte = poem : text
die E-Mail/E-Mails = email : text mail
das Lied/Lieder = song : heard
der Film/Filme = movie : watched
das Spiel/Spiele = game : watched
der Mantel/Mäntel = coat : clothes outdoor
die Jacke/Jacken = jacket : clothes outdoor
das Hemd/Hemden = shirt : clothes washed
das Kleid/Kleider = dress/dresses : clothes washed
der Rock/Röcke = skirt : clothes washed
der Pullover/Pullover = sweater : clothes washed
der Hut/Hüte = hat : clothes outdoor
die Mütze/Mützen = cap : clothes outdoor
der Schal/Schals = scarf/scarves : clothes outdoor
die Bluse/Blusen = blouse : clothes washed
der Schlüssel/Schlüssel = key : own thing
die Tasche/Taschen = bag : own thing luggage
das Handy/Handys = phone : own thing device
die Uhr/Uhren = watch/watches : own thing broken
der Regenschirm/Regenschirme = umbrella : own thing
die Kamera/Kameras = camera : own thing broken
der Koffer/Koffer = suitcase : own luggage
der Rucksack/Rucksäcke = backpack : own luggage
der Ball/Bälle = ball : thing toy
der Ring/Ringe = ring : own thing
das Foto/Fotos = photo : thing shown
das Bild/Bilder = picture : shown
das Geschenk/Geschenke = gift : thing shown
die Fahrkarte/Fahrkarten = ticket : own thing
das Messer/Messer = knife/knives : tableware thing
die Gabel/Gabeln = fork : tableware thing
der Löffel/Löffel = spoon : tableware thing
der Teller/Teller = plate : tableware thing
die Tasse/Tassen = cup : tableware thing
das Glas/Gläser = glass/glasses : tableware thing
die Flasche/Flaschen = bottle : tableware thing opened
die Blume/Blumen = flower : plant
der Baum/Bäume = tree : plant tall
die Gitarre/Gitarren = guitar : instrument own
der Computer/Computer = computer : device broken own
das Radio/Radios = radio : device broken
der Fernseher/Fernseher = television : device broken
die Lampe/Lampen = lamp : device broken
das Licht/Lichter = light : lit
der Tisch/Tische = table : furniture top
der Stuhl/Stühle = chair : furniture top
das Bett/Betten = bed : furniture top
das Sofa/Sofas = sofa : furniture top
der Schreibtisch/Schreibtische = desk : furniture top
das Regal/Regale = shelf/shelves : furniture
der Schrank/Schränke = closet : furniture box
die Schublade/Schubladen = drawer : box
der Teppich/Teppiche = carpet : furnishing
die Tür/Türen = door : opened painted
das Fenster/Fenster = window : opened
das Fahrrad/Fahrräder = bike : vehicle broken own owned ridden
das Auto/Autos = car : vehicle broken own owned
der Zug/Züge = train : vehicle line
der Bus/Busse = bus/buses : vehicle line
das Schiff/Schiffe = ship : vehicle
das Flugzeug/Flugzeuge = plane : vehicle
das Taxi/Taxis = taxi : vehicle
die Straßenbahn/Straßenbahnen = tram : vehicle line
das Haus/Häuser = house : building home
die Wohnung/Wohnungen = apartment : home
das Zimmer/Zimmer = room : rooms
die Küche/Küchen = kitchen : rooms
das Badezimmer/Badezimmer = bathroom : rooms
das Wohnzimmer/Wohnzimmer = living room : rooms
der Garten/Gärten = garden : outside green
die Schule/Schulen = school : building
die Kirche/Kirchen = church/churches : building sight
das Büro/Büros = office : rooms
das Hotel/Hotels = hotel : building inn
das Restaurant/Restaurants = restaurant : inn
das Café/Cafés = café : inn
der Supermarkt/Supermärkte = supermarket : shop
die Apotheke/Apotheken = pharmacy/pharmacies : shop
die Bäckerei/Bäckereien = bakery/bakeries : shop
das Museum/Museen = museum : building sight shop
das Theater/Theater = theater : building
das Kino/Kinos = movie theater : building
das Krankenhaus/Krankenhäuser = hospital : building
die Bibliothek/Bibliotheken = library/libraries : building shop
die Bank/Banken = bank : shop
der Bahnhof/Bahnhöfe = train station : building
der Flughafen/Flughäfen = airport : far
das Schloss/Schlösser = castle : sight
die Brücke/Brücken = bridge : sight
der Park/Parks = park : outside green
der Wald/Wälder = forest : nature green
der See/Seen = lake : nature waters
der Fluss/Flüsse = river : nature waters
der Berg/Berge = mountain : nature
der Strand/Strände = beach/beaches : nature
das Meer/- = sea : waters
die Insel/Inseln = island : nature
die Stadt/Städte = city/cities : town
das Dorf/Dörfer = village : town
die Straße/Straßen = street : outside
die Frage/Fragen = question : said
die Antwort/Antworten = answer : said
das Problem/Probleme = problem : matter
die Idee/Ideen = idea : matter
der Plan/Pläne = plan : matter
der Fehler/Fehler = mistake : matter
das Wort/Wörter = word : said
die Sprache/Sprachen = language : learned
die Reise/Reisen = trip : event
die Prüfung/Prüfungen = exam : event
das Konzert/Konzerte = concert : event
das Fest/Feste = party/parties : event
der Urlaub/Urlaube = vacation : leave
das Wetter/- = weather : weather
das Essen/- = meal : meal
die Musik/- = music : mass heard
das Geld/- = money : mass wealth
die Zeit/- = time : mass wealth
die Hilfe/- = help : mass wealth
die Arbeit/- = work : mass
die Rechnung/Rechnungen = bill : bill
der Geburtstag/Geburtstage = birthday : dated
das Stück/Stück = piece : measure
"""

# English[/past/participle] ; German infinitive ("ein·kaufen", "sich freuen") ; changed stem ;
# participle where irregular ; "sein" where the perfect takes it
_VERBS = """
be/was/been ; sein ; - ; gewesen ; sein
have/had/had ; haben ; - ; gehabt
eat/ate/eaten ; essen ; iss ; gegessen
drink/drank/drunk ; trinken ; - ; getrunken
buy/bought/bought ; kaufen
sell/sold/sold ; verkaufen
read/read/read ; lesen ; lies ; gelesen
write/wrote/written ; schreiben ; - ; geschrieben
see/saw/seen ; sehen ; sieh ; gesehen
watch ; sich(dat) an·sehen ; sieh ; gesehen
look for ; suchen
find/found/found ; finden ; - ; gefunden
take/took/taken ; nehmen ; nimm ; genommen
need ; brauchen
like ; mögen ; - ; gemocht
love ; lieben
cook ; kochen
bake ; backen ; - ; gebacken
open ; öffnen
close ; schließen ; - ; geschlossen
clean ; putzen
tidy ; auf·räumen
wash ; waschen ; wäsch ; gewaschen
repair ; reparieren
paint ; malen
draw/drew/drawn ; zeichnen
visit ; besuchen
know/knew/known ; kennen ; - ; gekannt
meet/met/met ; treffen ; triff ; getroffen
help ; helfen ; hilf ; geholfen
thank ; danken
answer ; antworten
listen to ; zu·hören
follow ; folgen ; - ; - ; sein
congratulate ; gratulieren
believe ; glauben
invite ; ein·laden ; läd ; geladen
call ; an·rufen ; - ; gerufen
pick up ; ab·holen
put on/put on/put on ; an·ziehen ; - ; gezogen
take off/took off/taken off ; aus·ziehen ; - ; gezogen
turn on ; ein·schalten
turn off ; aus·schalten
bring along/brought along/brought along ; mit·bringen ; - ; gebracht
bring/brought/brought ; bringen ; - ; gebracht
carry ; tragen ; träg ; getragen
wear/wore/worn ; tragen ; träg ; getragen
forget/forgot/forgotten ; vergessen ; vergiss ; vergessen
lose/lost/lost ; verlieren ; - ; verloren
explain ; erklären
understand/understood/understood ; verstehen ; - ; verstanden
repeat ; wiederholen ; - ; wiederholt
hear/heard/heard ; hören
sing/sang/sung ; singen ; - ; gesungen
play ; spielen
order ; bestellen ; - ; bestellt
pay/paid/paid ; bezahlen ; - ; bezahlt
show/showed/shown ; zeigen
give/gave/given ; geben ; gib ; gegeben
send/sent/sent ; schicken
lend/lent/lent ; leihen ; - ; geliehen
tell/told/told ; erzählen
learn ; lernen
solve ; lösen
plan/planned/planned ; planen
miss ; verpassen ; - ; verpasst
hide/hid/hidden ; verstecken ; - ; versteckt
feed/fed/fed ; füttern
water ; gießen ; - ; gegossen
photograph ; fotografieren
rent ; mieten
build/built/built ; bauen
try on ; an·probieren
throw away/threw away/thrown away ; weg·werfen ; wirf ; geworfen
put/put/put ; legen
set/set/set ; stellen
hang/hung/hung ; hängen
sleep/slept/slept ; schlafen ; schläf ; geschlafen
work ; arbeiten
laugh ; lachen
cry ; weinen
smile ; lächeln
dance ; tanzen
swim/swam/swum ; schwimmen ; - ; geschwommen ; sein
run/ran/run ; laufen ; läuf ; gelaufen ; sein
go/went/gone ; gehen ; - ; gegangen ; sein
go for a walk/went for a walk/gone for a walk ; spazieren ·gehen ; - ; gegangen ; sein
go shopping/went shopping/gone shopping ; ein·kaufen
wait ; warten
wait for ; warten
get up/got up/gotten up ; auf·stehen ; - ; gestanden ; sein
fall asleep/fell asleep/fallen asleep ; ein·schlafen ; schläf ; geschlafen ; sein
wake up/woke up/woken up ; auf·wachen ; - ; - ; sein
arrive ; an·kommen ; - ; gekommen ; sein
leave/left/left ; ab·fahren ; fähr ; gefahren ; sein
come/came/come ; kommen ; - ; gekommen ; sein
come back/came back/come back ; zurück·kommen ; - ; gekommen ; sein
come along/came along/come along ; mit·kommen ; - ; gekommen ; sein
stay ; bleiben ; - ; geblieben ; sein
travel ; reisen ; - ; - ; sein
drive/drove/driven ; fahren ; fähr ; gefahren ; sein
fly/flew/flown ; fliegen ; - ; geflogen ; sein
live ; wohnen
sit/sat/sat ; sitzen ; - ; gesessen
lie/lay/lain ; liegen ; - ; gelegen
hurry ; sich beeilen ; - ; beeilt
be happy about/was happy about/been happy about ; sich freuen
look forward to ; sich freuen
remember ; sich erinnern ; - ; erinnert
be interested in/was interested in/been interested in ; sich interessieren
take care of/took care of/taken care of ; sich kümmern
get annoyed about/got annoyed about/gotten annoyed about ; sich ärgern
complain about ; sich beschweren ; - ; beschwert
think of/thought of/thought of ; denken ; - ; gedacht
dream of ; träumen
talk about ; sprechen ; sprich ; gesprochen
laugh about ; lachen
ask ; fragen
speak/spoke/spoken ; sprechen ; sprich ; gesprochen
study ; studieren
rest ; sich aus·ruhen
smell ; riechen ; - ; gerochen
taste ; schmecken
cost/cost/cost ; kosten
become/became/become ; werden ; - ; geworden ; sein
rain ; regnen
snow ; schneien
belong to ; gehören ; - ; gehört
know that/knew that/known that ; wissen ; - ; gewusst
say/said/said ; sagen
hope ; hoffen
think/thought/thought ; glauben
try ; versuchen ; - ; versucht
promise ; versprechen ; versprich ; versprochen
decide ; beschließen ; - ; beschlossen
have breakfast/had breakfast/had breakfast ; frühstücken
speak/spoke/spoken ; sprechen ; sprich ; gesprochen
walk ; gehen ; - ; gegangen ; sein
"""

# English [comparative superlative] ; German [comparative superlative] : nouns or tags it suits
_ADJECTIVES = """
old older oldest ; alt älter ältest ; man woman teacher friend animal book car house bike \
coat hat town furniture broken building castle toy guitar bag photo tree
new newer newest ; neu neuer neuest ; book novel magazine plan idea clothes own furniture \
device vehicle home building shop colleague boss neighbor teacher game movie song
big bigger biggest ; groß größer größt ; dog horse bird bear tree furniture home rooms garden \
park forest town luggage shop hotel ball lake river island castle
small smaller smallest ; klein kleiner kleinst ; young dog cat bird table chair bed home rooms \
garden park town hotel luggage ball plate cup gift church island lamp
beautiful ; schön schöner schönst ; dress blouse ring town nature sight plant song story poem \
picture photo garden park house apartment guitar horse carpet 
expensive ; teuer teurer teuerst ; clothes ring watch phone camera computer bike car hotel \
restaurant apartment guitar furnishing sofa trip
cheap cheaper cheapest ; billig billiger billigst ; clothes watch phone camera computer bike \
car hotel restaurant apartment ticket sofa
red redder reddest ; rot röter rötest ; clothes car bike flower apple ball bag umbrella \
furnishing door bus
blue bluer bluest ; blau blauer blaust ; clothes car bike flower ball bag umbrella furnishing \
door cup
green greener greenest ; grün grüner grünst ; clothes car bike ball bag apple furnishing door \
bottle
black blacker blackest ; schwarz schwärzer schwärzest ; clothes car dog cat horse luggage \
umbrella
white whiter whitest ; weiß weißer weißest ; clothes car cat horse rabbit flower plate cup door
yellow yellower yellowest ; gelb gelber gelbst ; clothes flower ball bag umbrella cup
brown browner brownest ; braun brauner braunst ; dog horse bear luggage coat jacket hat table
warm warmer warmest ; warm wärmer wärmst ; coat jacket sweater scarf cap room kitchen
cold colder coldest ; kalt kälter kältest ; drink water room
fresh fresher freshest ; frisch frischer frischest ; fruit bread roll milk
sweet sweeter sweetest ; süß süßer süßest ; apple banana pear orange
long longer longest ; lang länger längst ; letter email story book novel poem river street \
trip coat skirt dress movie
short shorter shortest ; kurz kürzer kürzest ; letter email poem story novel trip skirt dress \
movie
heavy heavier heaviest ; schwer schwerer schwerst ; luggage furniture
light lighter lightest ; leicht leichter leichtest ; suitcase backpack bag camera jacket
difficult ; schwierig schwieriger schwierigst ; question exam language problem word
easy easier easiest ; einfach einfacher einfachst ; question exam answer language word
interesting ; interessant interessanter interessantest ; text movie museum town idea plan \
trip exam question answer
boring ; langweilig langweiliger langweiligst ; text movie game town party concert
exciting ; spannend spannender spannendst ; story book novel movie game trip
funny funnier funniest ; lustig lustiger lustigst ; story book movie song photo picture game
sad sadder saddest ; traurig trauriger traurigst ; story book movie song poem letter
nice nicer nicest ; nett netter nettest ; job relation man woman boy girl guest
friendly friendlier friendliest ; freundlich freundlicher freundlichst ; job neighbor \
colleague boss man woman dog guest
young younger youngest ; jung jünger jüngst ; job man woman dog cat
tired ; müde müder müdest ; child boy girl tourist driver
sick ; krank kränker kränkst ; child animal boy girl man woman
hungry hungrier hungriest ; hungrig hungriger hungrigst ; child dog cat bear bird guest
strong stronger strongest ; stark stärker stärkst ; man woman horse bear
fast faster fastest ; schnell schneller schnellst ; car train bike ship plane horse
slow slower slowest ; langsam langsamer langsamst ; train bus computer tram
good better best ; gut besser best ; inn book novel story poem movie doctor teacher cook \
friend idea plan computer camera song answer question
bad worse worst ; schlecht schlechter schlechtest ; idea plan weather hotel restaurant movie \
answer
important ; wichtig wichtiger wichtigst ; question answer exam letter email problem word plan
quiet quieter quietest ; ruhig ruhiger ruhigst ; street town hotel park room garden child
loud louder loudest ; laut lauter lautest ; street song radio music
clean cleaner cleanest ; sauber sauberer sauberst ; plate cup fork spoon knife glass table \
room shirt dress blouse window
dirty dirtier dirtiest ; schmutzig schmutziger schmutzigst ; plate cup fork spoon knife glass \
table room shirt window car bike street
empty emptier emptiest ; leer leerer leerst ; bottle glass plate cup room drawer closet suitcase
dark darker darkest ; dunkel dunkler dunkelst ; room forest street
bright brighter brightest ; hell heller hellst ; room apartment
modern ; modern moderner modernst ; home building device kitchen car
comfortable ; bequem bequemer bequemst ; chair sofa bed
dangerous ; gefährlich gefährlicher gefährlichst ; bear street river
famous ; berühmt berühmter berühmtest ; sight artist singer musician book novel movie song
rich richer richest ; reich reicher reichst ; man woman
poor poorer poorest ; arm ärmer ärmst ; man woman artist farmer musician
smart smarter smartest ; klug klüger klügst ; young student man woman dog
lazy lazier laziest ; faul fauler faulst ; student cat dog boy
polite ; höflich höflicher höflichst ; young waiter waitress salesman student
deep deeper deepest ; tief tiefer tiefst ; lake river
high higher highest ; hoch höher höchst ; mountain
wide wider widest ; breit breiter breitest ; street river
delicious ; lecker leckerer leckerst ; cake pizza soup salad bread
"""

# Subject-only adjectives: said of people with "to be", never before a noun.
_MOODS = """
happy = glücklich
tired = müde
sad = traurig
sick = krank
hungry = hungrig
thirsty = durstig
angry = wütend
nervous = nervös
satisfied = zufrieden
healthy = gesund
disappointed = enttäuscht
surprised = überrascht
excited = aufgeregt
lonely = einsam
worried = besorgt
alone = allein
at home = zu Hause
busy = beschäftigt
proud = stolz
unhappy = unglücklich
"""

# English ; gender ; the same name is used in both languages
_NAMES = (
    "Anna f, Paul m, Maria f, Peter m, Julia f, Lukas m, Emma f, Felix m, Laura f, Max m, "
    "Sophie f, Thomas m, Lena f, David m, Nina f, Jonas m"
)
SURNAMES = ("Weber", "Schmidt", "Becker", "Fischer", "Wagner", "Keller", "Vogel", "Klein")

# English = German, used without an article; "language" belongs to countries only
CITIES = (
    ("Berlin", "Berlin"), ("Hamburg", "Hamburg"), ("Munich", "München"), ("Cologne", "Köln"),
    ("Vienna", "Wien"), ("Zurich", "Zürich"), ("Paris", "Paris"), ("London", "London"),
    ("Rome", "Rom"), ("Prague", "Prag"), ("Leipzig", "Leipzig"), ("Dresden", "Dresden"),
)  # fmt: skip
COUNTRIES = (
    ("Germany", "Deutschland", "German", "Deutsch"),
    ("France", "Frankreich", "French", "Französisch"),
    ("Italy", "Italien", "Italian", "Italienisch"),
    ("Spain", "Spanien", "Spanish", "Spanisch"),
    ("England", "England", "English", "Englisch"),
    ("Poland", "Polen", "Polish", "Polnisch"),
    ("Japan", "Japan", "Japanese", "Japanisch"),
    ("Russia", "Russland", "Russian", "Russisch"),
    ("Sweden", "Schweden", "Swedish", "Schwedisch"),
    ("Greece", "Griechenland", "Greek", "Griechisch"),
)
SUBJECTS_OF_STUDY = (
    ("mathematics", "Mathematik"), ("history", "Geschichte"), ("medicine", "Medizin"),
    ("biology", "Biologie"), ("music", "Musik"), ("law", "Jura"),
)  # fmt: skip

# English place ; German place ; English goal ; German goal ("-": none) : what people do there
_PLACES = """
in the garden ; im Garten ; into the garden ; in den Garten : play work read rest paint dine \
dance plant
in the park ; im Park ; to the park ; in den Park : play read rest run walk meet paint go
in the forest ; im Wald ; into the forest ; in den Wald : play walk run go
on the beach ; am Strand ; to the beach ; an den Strand : play read rest walk run go sleep
at the lake ; am See ; to the lake ; an den See : rest walk meet go
at school ; in der Schule ; to school ; in die Schule : learn sing paint
at the office ; im Büro ; to the office ; ins Büro : work go
at the restaurant ; im Restaurant ; to the restaurant ; ins Restaurant : dine work meet go
at the café ; im Café ; to the café ; ins Café : dine work meet go wait
in the kitchen ; in der Küche ; into the kitchen ; in die Küche : cook dine work clean
in the living room ; im Wohnzimmer ; into the living room ; ins Wohnzimmer : read play rest \
sleep dance
at the market ; auf dem Markt ; to the market ; auf den Markt : shop work go meet
at the supermarket ; im Supermarkt ; to the supermarket ; in den Supermarkt : shop work go
at the train station ; am Bahnhof ; to the train station ; zum Bahnhof : wait meet go
at the airport ; am Flughafen ; to the airport ; zum Flughafen : wait work go meet
at the hospital ; im Krankenhaus ; to the hospital ; ins Krankenhaus : work go
at the library ; in der Bibliothek ; to the library ; in die Bibliothek : read learn work go \
meet
at the university ; an der Universität ; to the university ; zur Universität : study work go
at the hotel ; im Hotel ; to the hotel ; ins Hotel : work sleep wait
at the museum ; im Museum ; to the museum ; ins Museum : work meet go
at the theater ; im Theater ; to the theater ; ins Theater : work go
at the movies ; im Kino ; to the movies ; ins Kino : go
at the zoo ; im Zoo ; to the zoo ; in den Zoo : work go meet
at church ; in der Kirche ; to church ; in die Kirche : sing go
at the bakery ; in der Bäckerei ; to the bakery ; in die Bäckerei : work shopbread go
at the pharmacy ; in der Apotheke ; to the pharmacy ; in die Apotheke : work go
at the bank ; in der Bank ; to the bank ; zur Bank : go
at the doctor's ; beim Arzt ; to the doctor ; zum Arzt : go
at the pool ; im Schwimmbad ; to the pool ; ins Schwimmbad : swim go
in the lake ; im See ; - ; - : swim
in the sea ; im Meer ; - ; - : swim
in the city ; in der Stadt ; into the city ; in die Stadt : work live meet shop go
in the village ; im Dorf ; to the village ; ins Dorf : live
in the country ; auf dem Land ; to the country ; aufs Land : live
in the mountains ; in den Bergen ; to the mountains ; in die Berge : walk far
at the seaside ; am Meer ; to the seaside ; ans Meer : walk far live
on the island ; auf der Insel ; to the island ; auf die Insel : far live
at home ; zu Hause ; home ; nach Hause : read play rest work cook dine learn sleep sing home
in the bus ; im Bus ; - ; - : sleep
on the train ; im Zug ; - ; - : read sleep
in the street ; auf der Straße ; - ; - : play dance
"""

# English = German : tense
_TIMES = """
today = heute : any
now = jetzt : now
right now = gerade : gerade
yesterday = gestern : past near
last week = letzte Woche : past
last year = letztes Jahr : past long
last month = letzten Monat : past long
last night = gestern Abend : past near
this morning = heute Morgen : past near
on Monday = am Montag : past future
on Tuesday = am Dienstag : past future
on Wednesday = am Mittwoch : past future
on Thursday = am Donnerstag : past future
on Friday = am Freitag : past future
on Saturday = am Samstag : past future
on Sunday = am Sonntag : past future
the day before yesterday = vorgestern : past
on the weekend = am Wochenende : past future
two days ago = vor zwei Tagen : past
a week ago = vor einer Woche : past
three weeks ago = vor drei Wochen : past long
a month ago = vor einem Monat : past long
tomorrow = morgen : future near
tonight = heute Abend : future near
tomorrow morning = morgen früh : future near
next week = nächste Woche : future
next month = nächsten Monat : future long
next year = nächstes Jahr : future long
in the summer = im Sommer : future long
this afternoon = heute Nachmittag : future near
the day after tomorrow = übermorgen : future
soon = bald : future long
every day = jeden Tag : habit
every morning = jeden Morgen : habit
every evening = jeden Abend : habit
every week = jede Woche : habit
in the evening = am Abend : habit
in the morning = am Morgen : habit
on Sundays = sonntags : habit
on Saturdays = samstags : habit
on Fridays = freitags : habit
"""
_FREQUENCIES = """
often = oft
always = immer
sometimes = manchmal
usually = meistens
never = nie
rarely = selten
"""
_MANNERS = """
slowly = langsam : eat drive run drink speak work
fast = schnell : run drive speak work swim
loudly = laut : sing laugh speak cry
quietly = leise : speak cry sing
together = zusammen : cook eat play dance sing work learn laugh
alone = allein : travel work eat live play cook dance learn
well = gut : sleep swim sing dance cook speak
hard = hart : work
patiently = geduldig : wait
"""

# verb ; objects ; determiners (d the, i a/none, p possessive, t this, n bare plural) ;
# h habitual, l long-lasting, s state, - single deed ; where it is done
_FRAMES = """
eat ; food ; id ; h ; dine
drink ; drink ; i ; h ; dine
buy ; bread meat fish cheese butter rice vegetables fruit potato ; n ; h ; shop
buy ; chocolate egg roll cake milk ; n ; h ; shop
buy ; clothes bag watch umbrella suitcase backpack newspaper magazine book gift ; id ; - ; -
buy ; furniture car bike computer lamp television carpet ; id ; - ; -
sell ; car house bike guitar camera apartment ; dp ; - ; -
read ; text ; idt ; h ; read
write ; letter email story poem ; id ; h ; -
write ; book novel ; i ; l ; -
see ; animal sight ship plane ; id ; s ; -
watch ; movie game ; idt ; - ; -
look for ; own ; p ; - ; -
look for ; hotel pharmacy museum bakery restaurant bank supermarket ; i ; - ; -
find ; own ring ; p ; - ; -
take ; bus train tram ; d ; h ; -
need ; own clothes chair table bed lamp ; i ; s ; -
need ; money time help ; i ; s ; -
have ; pet bike car phone guitar camera computer garden television ; i ; s ; -
like ; fruit cheese fish soup salad coffee tea milk pizza chocolate music potato pet ; n ; s ; -
love ; music chocolate animal ; n ; s ; -
cook ; soup rice vegetables meat fish ; i ; h ; cook
bake ; cake bread pizza ; i ; h ; -
open ; window door bottle suitcase letter ; d ; - ; -
close ; window door drawer closet suitcase ; d ; - ; -
clean ; kitchen bathroom window ; d ; h ; -
tidy ; kitchen room living-room office ; dp ; h ; -
wash ; washed car ; dp ; h ; -
repair ; broken ; dp ; - ; -
paint ; picture flower tree horse ; i ; h ; paint
draw ; animal house tree flower ; i ; - ; -
visit ; relation family ; p ; h ; -
visit ; museum castle church ; d ; - ; -
know ; song movie story museum restaurant book hotel ; t ; s ; -
meet ; relation ; p ; h ; meet
invite ; relation family ; p ; - ; -
call ; relation family ; p ; h ; -
pick up ; child grandmother son daughter sister friend ; p ; - ; -
put on ; coat jacket washed sweater ; p ; - ; -
take off ; coat jacket sweater ; p ; - ; -
turn on ; computer radio television lamp light ; d ; - ; -
turn off ; computer radio television lamp light ; d ; - ; -
bring along ; cake salad soup game guitar camera ; di ; - ; -
carry ; suitcase backpack bag chair table ; d ; - ; -
wear ; clothes ; it ; h ; -
forget ; key ticket umbrella bag phone jacket camera ; p ; - ; -
lose ; key ticket umbrella ring watch bag phone ; p ; - ; -
explain ; problem plan word game ; d ; - ; -
understand ; question answer word problem plan ; dt ; s ; -
repeat ; question answer word ; d ; - ; -
hear ; song bird music train ; d ; s ; -
sing ; song ; id ; h ; sing
order ; pizza soup salad cake coffee beer tea juice ; i ; - ; dineout
pay ; bill ; d ; - ; -
solve ; problem ; dt ; - ; -
plan ; trip party ; id ; - ; -
miss ; bus train plane ; d ; - ; -
hide ; gift key money letter ; d ; - ; -
feed ; dog cat horse bird rabbit cow sheep baby ; d ; h ; -
water ; plant ; d ; h ; -
photograph ; sight animal ; d ; - ; -
rent ; apartment car house bike room ; i ; l ; -
build ; house shelf table ; i ; l ; -
learn ; language ; i ; l ; -
try on ; coat jacket dress hat skirt sweater shirt ; dt ; - ; -
throw away ; letter newspaper magazine bottle ; d ; - ; -
"""

# verb ; h habitual, - single deed, s state ; where ("goal" takes a goal, "far" a city)
_DEEDS = """
sleep ; h ; sleep
work ; h ; work
laugh ; - ; -
cry ; - ; -
smile ; - ; -
sing ; h ; sing
dance ; h ; dance
swim ; h ; swim
run ; h ; run
play ; h ; play
cook ; h ; -
rest ; h ; rest
wait ; - ; wait
go for a walk ; h ; walk
go shopping ; h ; -
get up ; - ; -
fall asleep ; - ; -
wake up ; - ; -
come back ; - ; -
come along ; - ; -
hurry ; - ; -
learn ; h ; learn
read ; h ; read
"""

# verb ; German preposition and case ; objects ; determiners ; - or s for a state
_ABOUT = """
wait for ; auf acc ; bus train taxi tram ; d ; -
wait for ; auf acc ; relation family letter answer ; p ; -
think of ; an acc ; family vacation exam ; p ; -
dream of ; von dat ; vacation house trip car ; i ; -
talk about ; über acc ; movie book weather problem work plan exam ; d ; -
laugh about ; über acc ; story movie picture mistake ; d ; -
be happy about ; über acc ; gift letter answer weather idea ; d ; s
look forward to ; auf acc ; concert party vacation movie trip ; d ; -
remember ; an acc ; trip song teacher word party ; d ; s
be interested in ; für acc ; music sight language animal ; n ; s
take care of ; um acc ; child baby dog cat guest garden plant ; d ; -
get annoyed about ; über acc ; weather mistake bill exam ; d ; s
complain about ; über acc ; meal weather bill hotel ; d ; -
"""

_THANKED = "help thank answer listen-to follow congratulate believe"
# verb ; things given ; determiners
_GIVING = """
show ; photo picture letter gift key room garden
give ; book key money flower newspaper ticket gift
send ; letter email gift photo book
lend ; bike car book umbrella money camera
tell ; story
bring ; newspaper gift coffee tea letter glass
"""


def _rows(table):
    """The fields of each line of a table, parted by " ; "."""
    return [[field.strip() for field in line.split(" ; ")] for line in table.split("\n") if line]


def _read_noun(line):
    words, tags = line.split(" : ")
    german, english = words.split(" = ")
    article, forms = german.split(" ", 1)
    singular, plural = forms.split("/")
    english, _, english_plural = english.partition("/")
    if not english_plural:
        english_plural = english + ("es" if english.endswith("s") else "s")
    gender = {"der": "m", "die": "f", "das": "n"}[article]
    weak = singular.endswith("*")
    singular = singular.rstrip("*")
    return Noun(singular, gender, plural, english, english_plural, weak, tuple(tags.split()))


def _regular_past(base):
    """The regular English past of a verb: wash up, washed up."""
    word, _, rest = base.partition(" ")
    if word.endswith("e"):
        form = word + "d"
    elif word.endswith("y") and word[-2] not in "aeiou":
        form = word[:-1] + "ied"
    else:
        form = word + "ed"
    return f"{form} {rest}".strip()


def _read_verb(fields):
    english, german, changed, participle, auxiliary = (fields + ["-"] * 4)[:5]
    forms = english.split("/")
    base = forms[0]
    past, past_participle = forms[1:] if forms[1:] else [_regular_past(base)] * 2
    reflexive = ""
    if german.startswith("sich"):
        mark, german = german.split(" ")
        reflexive = "dat" if "dat" in mark else "acc"
    prefix, _, stem = german.rpartition("·")
    if participle == "-":
        participle = weak_participle(stem)
    changed = "" if changed == "-" else changed
    auxiliary = "haben" if auxiliary == "-" else auxiliary
    german_forms = (stem, changed, participle, auxiliary, prefix, reflexive)
    return Verb(base, past, past_participle, *german_forms)


def _read_adjective(fields):
    english, german, suits = fields
    words, forms = english.split(), german.split()
    comparison = words[1:] or [f"more {words[0]}", f"most {words[0]}"]
    return Adjective(words[0], *comparison, *forms, tuple(suits.split()))


def _read_pairs(table):
    return [tuple(line.split(" = ")) for line in table.split("\n") if line]


def _names():
    for entry in _NAMES.split(", "):
        name, gender = entry.split()
        yield Noun(name, gender, "-", name, "-", tags=("name",))


NOUNS = [_read_noun(line) for line in _NOUNS.split("\n") if line]
NOUN = {noun.english: noun for noun in NOUNS}
VERB = {row[0].split("/")[0]: _read_verb(row) for row in _rows(_VERBS)}
ADJECTIVES = [_read_adjective(row) for row in _rows(_ADJECTIVES)]
NAMES = list(_names())
MOODS = _read_pairs(_MOODS)


def select(words):
    """The nouns that any of the words names, be it a tag or the English noun itself."""
    wanted = [word.replace("-", " ") for word in words]
    return [n for n in NOUNS if n.english in wanted or any(tag in wanted for tag in n.tags)]


_SUITED = [(adjective, set(select(adjective.suits))) for adjective in ADJECTIVES]
ADJECTIVES_OF = {noun.english: [a for a, nouns in _SUITED if noun in nouns] for noun in NOUNS}


@dataclass(frozen=True)
class Place:
    """A place to be in, the same as a goal to go to (or None), and what people do there."""

    here: Adverbial
    goal: Adverbial | None
    deeds: tuple


@dataclass(frozen=True)
class Frame:
    """A transitive verb with the objects and determiners that make sense with it."""

    verb: Verb
    objects: tuple
    dets: str
    aspect: str
    place: str


@dataclass(frozen=True)
class Deed:
    """An intransitive verb, its aspect and the tag of the places where it is done."""

    verb: Verb
    aspect: str
    place: str


@dataclass(frozen=True)
class Topic:
    """A verb with a prepositional object."""

    verb: Verb
    preposition: str
    case: str
    objects: tuple
    dets: str
    aspect: str


@dataclass(frozen=True)
class Giving:
    """A verb of giving with the things that change hands."""

    verb: Verb
    objects: tuple


def _read_place(line):
    phrases, deeds = line.split(" : ")
    here_en, here_de, goal_en, goal_de = phrases.split(" ; ")
    goal = None if goal_en == "-" else Adverbial(goal_en, goal_de, "direction")
    return Place(Adverbial(here_en, here_de, "place"), goal, tuple(deeds.split()))


def _read_frame(fields):
    verb, objects, dets, aspect, place = fields
    return Frame(VERB[verb], tuple(select(objects.split())), dets, aspect, place)


def _read_topic(fields):
    verb, government, objects, dets, aspect = fields
    preposition, case = government.split()
    return Topic(VERB[verb], preposition, case, tuple(select(objects.split())), dets, aspect)


def _read_times():
    """Time adverbials by the tense they suit; "long" marks those for long-lasting deeds."""
    by_tense = {}
    for line in _TIMES.strip().split("\n"):
        pair, tags = line.split(" : ")
        english, german = pair.split(" = ")
        for tag in tags.split():
            by_tense.setdefault(tag, []).append(Adverbial(english, german, "time"))
    return by_tense


def _read_manners():
    by_verb = {}
    for line in _MANNERS.strip().split("\n"):
        pair, verbs = line.split(" : ")
        english, german = pair.split(" = ")
        for verb in verbs.split():
            by_verb.setdefault(verb, []).append(Adverbial(english, german, "manner"))
    return by_verb


PLACES = [_read_place(line) for line in _PLACES.strip().split("\n")]
TIMES = _read_times()
FREQUENCIES = [Adverbial(*pair, "often") for pair in _read_pairs(_FREQUENCIES)]
MANNERS = _read_manners()
FRAMES = [_read_frame(row) for row in _rows(_FRAMES)]
DEEDS = [Deed(VERB[verb], aspect, place) for verb, aspect, place in _rows(_DEEDS)]
TOPICS = [_read_topic(row) for row in _rows(_ABOUT)]
GIVINGS = [Giving(VERB[verb], tuple(select(things.split()))) for verb, things in _rows(_GIVING)]
THANKED = [VERB[verb.replace("-", " ")] for verb in _THANKED.split()]
