"""The words of the corpus: nouns, verbs, adjectives, names, places and times.

Each table is compact text, one word to a line, read into the dataclasses of `grammar` below
it. Tags sort words by meaning, so that the corpus only says what makes sense.
"""

from dataclasses import dataclass

from grammar import Adjective, Adverbial, Noun, Verb, weak_participle

# article  singular/plural ("-": none, "*": weak noun) = English[/plural] : tags
# The article "pl" marks a German word without singular; "several" an English one (pants), and
# "pairs" words that are always said in the plural in both languages (shoes, parents).
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
der Musiker/Musiker = musician : person job
der Künstler/Künstler = artist : person job
der Ingenieur/Ingenieure = engineer : person job
der Tourist*/Touristen = tourist : person job
der Fahrer/Fahrer = driver : person job
der Gast/Gäste = guest : person
der Junge*/Jungen = boy : person young
das Mädchen/Mädchen = girl : person young
das Kind/Kinder = child/children : person young
das Baby/Babys = baby/babies : baby
der Mann/Männer = man/men : person adult
die Frau/Frauen = woman/women : person adult
der Chef/Chefs = boss/bosses : person relation
der Kollege*/Kollegen = colleague : person relation
der Freund/Freunde = friend : person relation
der Friseur/Friseure = hairdresser : person job
der Zahnarzt/Zahnärzte = dentist : person job
der Spieler/Spieler = player : person job
pl Eltern/Eltern = parent : person family pairs
pl Großeltern/Großeltern = grandparent : person family pairs
der Mann/Männer = husband : person family spouse
die Frau/Frauen = wife/wives : person family spouse
der Cousin/Cousins = cousin : person family
die Mutter/Mütter = mother : person family
der Vater/Väter = father : person family
der Bruder/Brüder = brother : person family sibling
die Schwester/Schwestern = sister : person family sibling
der Sohn/Söhne = son : person family sibling
die Tochter/Töchter = daughter : person family sibling
die Großmutter/Großmütter = grandmother : person family
der Großvater/Großväter = grandfather : person family
die Oma/Omas = grandma : person family
der Opa/Opas = grandpa : person family
der Enkel/Enkel = grandson : person family
die Enkelin/Enkelinnen = granddaughter : person family
der Onkel/Onkel = uncle : person family
die Tante/Tanten = aunt : person family
der Hund/Hunde = dog : animal pet
die Katze/Katzen = cat : animal pet
das Pferd/Pferde = horse : animal
der Vogel/Vögel = bird : animal
die Kuh/Kühe = cow : animal
das Schaf/Schafe = sheep/sheep : animal
das Schwein/Schweine = pig : animal
die Ente/Enten = duck : animal
die Maus/Mäuse = mouse/mice : animal
der Elefant*/Elefanten = elephant : animal wild
der Löwe*/Löwen = lion : animal wild
der Tiger/Tiger = tiger : animal wild
der Affe*/Affen = monkey : animal wild
der Wolf/Wölfe = wolf/wolves : animal wild
die Schildkröte/Schildkröten = turtle : animal pet
der Bär*/Bären = bear : animal wild
das Kaninchen/Kaninchen = rabbit : animal pet
das Brot/- = bread : mass food breakfast
das Fleisch/- = meat : mass food
der Fisch/Fische = fish/fish : mass food cooked
der Käse/- = cheese : mass food breakfast
die Butter/- = butter : mass ware
der Reis/- = rice : mass food cooked
der Lachs/- = salmon : mass food cooked
das Gemüse/- = vegetables : mass food cooked
die Schokolade/- = chocolate : mass food sweet
das Hähnchen/- = chicken : mass food cooked
pl Nudeln/Nudeln = pasta : mass food cooked
das Eis/- = ice cream : mass food sweet
der Joghurt/- = yogurt : mass food breakfast
der Schinken/- = ham : mass food breakfast
die Marmelade/- = jam : mass ware
der Honig/- = honey : mass ware
der Zucker/- = sugar : mass ware
das Salz/- = salt : mass ware
das Obst/- = fruit : mass ware
das Mehl/- = flour : mass ware
das Öl/- = oil : mass ware
der Pfeffer/- = pepper : mass ware
die Seife/- = soap : mass ware
die Zahnpasta/- = toothpaste : mass ware
das Papier/- = paper : mass ware
das Müsli/- = cereal : mass food breakfast
das Rindfleisch/- = beef : mass food cooked
das Schweinefleisch/- = pork : mass food cooked
der Pilz/Pilze = mushroom : count raw
der Apfel/Äpfel = apple : count food fruit
die Banane/Bananen = banana : count food fruit
die Birne/Birnen = pear : count food fruit
die Orange/Orangen = orange : count food fruit
die Tomate/Tomaten = tomato/tomatoes : count food fruit
die Erdbeere/Erdbeeren = strawberry/strawberries : count food fruit
die Kirsche/Kirschen = cherry/cherries : count food fruit
die Karotte/Karotten = carrot : count food fruit
die Gurke/Gurken = cucumber : count food fruit
die Zwiebel/Zwiebeln = onion : count raw
die Zitrone/Zitronen = lemon : count raw
der Keks/Kekse = cookie : count food sweet
die Wurst/Würste = sausage : count food cooked
die Kartoffel/Kartoffeln = potato/potatoes : count food cooked
das Ei/Eier = egg : count food cooked breakfast
das Brötchen/Brötchen = roll : count food breakfast
der Kuchen/Kuchen = cake : dish food sweet baked
die Pizza/Pizzas = pizza : dish food baked
die Suppe/Suppen = soup : dish food cooked
der Salat/Salate = salad : dish food
das Sandwich/Sandwiches = sandwich/sandwiches : dish food
der Hamburger/Hamburger = hamburger : dish food
das Steak/Steaks = steak : dish food cooked
das Frühstück/- = breakfast : repast
das Mittagessen/- = lunch : repast
das Abendessen/- = dinner : repast
das Wasser/- = water : mass drink
der Kaffee/- = coffee : mass drink hotdrink breakfast
der Tee/- = tea : mass drink hotdrink
die Milch/- = milk : mass drink
das Bier/- = beer : mass drink
der Wein/- = wine : mass drink
der Saft/- = juice : mass drink
die Limonade/- = lemonade : mass drink
die Cola/- = cola : mass drink
der Orangensaft/- = orange juice : mass drink
das Mineralwasser/- = mineral water : mass drink
der Kakao/- = hot chocolate : mass drink hotdrink
das Buch/Bücher = book : text own thing
die Zeitung/Zeitungen = newspaper : text press thing
die Zeitschrift/Zeitschriften = magazine : text press thing
der Brief/Briefe = letter : text mail
der Roman/Romane = novel : text
die Geschichte/Geschichten = story/stories : text told
das Gedicht/Gedichte = poem : text
die E-Mail/E-Mails = email : text mail
die Postkarte/Postkarten = postcard : text mail
das Lied/Lieder = song : heard
der Film/Filme = movie : watched
das Video/Videos = video : watched
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
das T-Shirt/T-Shirts = T-shirt : clothes washed
der Anzug/Anzüge = suit : clothes
die Krawatte/Krawatten = tie : clothes
der Gürtel/Gürtel = belt : clothes
der Badeanzug/Badeanzüge = swimsuit : clothes
die Sonnenbrille/Sonnenbrillen = sunglasses/sunglasses : worn several
der Schlafanzug/Schlafanzüge = pajamas/pajamas : worn several
der Turnschuh/Turnschuhe = sneaker : worn pairs
die Hose/Hosen = pants/pants : worn several
die Jeans/Jeans = jeans/jeans : worn several
pl Shorts/Shorts = short : worn pairs
der Schuh/Schuhe = shoe : worn pairs
der Stiefel/Stiefel = boot : worn pairs
die Socke/Socken = sock : worn pairs
der Handschuh/Handschuhe = glove : worn pairs
der Schlüssel/Schlüssel = key : own thing
die Tasche/Taschen = bag : own thing luggage
das Handy/Handys = phone : own thing device
die Uhr/Uhren = watch/watches : own thing broken
die Handtasche/Handtaschen = handbag : own thing
die Briefmarke/Briefmarken = stamp : thing
die Kerze/Kerzen = candle : thing lit
der Kalender/Kalender = calendar : thing
der Ausweis/Ausweise = ID card : own
der Regenschirm/Regenschirme = umbrella : own thing
die Kamera/Kameras = camera : own thing broken
der Laptop/Laptops = laptop : own thing device broken
der Pass/Pässe = passport : own
die Kreditkarte/Kreditkarten = credit card : own
der Geldbeutel/Geldbeutel = wallet : own
der Stift/Stifte = pen : own thing
der Bleistift/Bleistifte = pencil : own thing
das Heft/Hefte = notebook : own thing
das Wörterbuch/Wörterbücher = dictionary/dictionaries : own thing
der Stadtplan/Stadtpläne = map : own
die Zahnbürste/Zahnbürsten = toothbrush/toothbrushes : own
der Koffer/Koffer = suitcase : own luggage
der Rucksack/Rucksäcke = backpack : own luggage
der Ball/Bälle = ball : thing toy
die Puppe/Puppen = doll : thing toy
der Ring/Ringe = ring : own thing
das Foto/Fotos = photo : thing shown
das Poster/Poster = poster : thing shown
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
die Schüssel/Schüsseln = bowl : tableware thing
der Topf/Töpfe = pot : tableware thing
die Blume/Blumen = flower : plant
die Pflanze/Pflanzen = plant : plant
der Baum/Bäume = tree : plant tall
die Gitarre/Gitarren = guitar : instrument own
das Klavier/Klaviere = piano : instrument
die Geige/Geigen = violin : instrument own
die Flöte/Flöten = flute : instrument own
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
der Sessel/Sessel = armchair : furniture top
der Kühlschrank/Kühlschränke = refrigerator : machine broken
die Mikrowelle/Mikrowellen = microwave : machine broken
die Spülmaschine/Spülmaschinen = dishwasher : machine broken
der Ofen/Öfen = oven : machine broken
der Herd/Herde = stove : machine broken
die Waschmaschine/Waschmaschinen = washing machine : machine broken
die Dusche/Duschen = shower : machine broken
der Spiegel/Spiegel = mirror : thing
der Vorhang/Vorhänge = curtain : furnishing opened
das Kissen/Kissen = pillow : bedding
die Decke/Decken = blanket : bedding
das Handtuch/Handtücher = towel : bedding
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
das Motorrad/Motorräder = motorcycle : vehicle broken own owned
die U-Bahn/U-Bahnen = subway : vehicle line
das Boot/Boote = boat : vehicle
das Haus/Häuser = house : building home
die Wohnung/Wohnungen = apartment : home
das Zimmer/Zimmer = room : rooms
die Küche/Küchen = kitchen : rooms
das Badezimmer/Badezimmer = bathroom : rooms
das Wohnzimmer/Wohnzimmer = living room : rooms
das Schlafzimmer/Schlafzimmer = bedroom : rooms
das Esszimmer/Esszimmer = dining room : rooms
der Keller/Keller = basement : rooms
der Balkon/Balkone = balcony/balconies : homely
die Garage/Garagen = garage : homely
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
die Universität/Universitäten = university/universities : building
der Kindergarten/Kindergärten = kindergarten : building
das Stadion/Stadien = stadium : building
das Einkaufszentrum/Einkaufszentren = mall : shop
das Fitnessstudio/Fitnessstudios = gym : building
das Rathaus/Rathäuser = town hall : building sight
der Turm/Türme = tower : sight
die Fabrik/Fabriken = factory/factories : building
das Schwimmbad/Schwimmbäder = swimming pool : building
das Geschäft/Geschäfte = store : shop
das Kaufhaus/Kaufhäuser = department store : shop
die Buchhandlung/Buchhandlungen = bookstore : shop
die Tankstelle/Tankstellen = gas station : stop
die Bushaltestelle/Bushaltestellen = bus stop : stop
der Parkplatz/Parkplätze = parking lot : stop
der Spielplatz/Spielplätze = playground : stop
der Markt/Märkte = market : stop
die Toilette/Toiletten = restroom : stop
die Post/- = post office : stop
die Firma/Firmen = company/companies : workplace
die Mannschaft/Mannschaften = team : group
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
die Hauptstadt/Hauptstädte = capital : chief
die Frage/Fragen = question : said
die Antwort/Antworten = answer : said
das Problem/Probleme = problem : matter
die Idee/Ideen = idea : matter
der Plan/Pläne = plan : matter
der Fehler/Fehler = mistake : matter
das Wort/Wörter = word : said
der Satz/Sätze = sentence : said
die Übung/Übungen = exercise : matter
pl Hausaufgaben/Hausaufgaben = homework/homework : task
das Beispiel/Beispiele = example : matter
die Klasse/Klassen = class/classes : group
die Sprache/Sprachen = language : learned
die Reise/Reisen = trip : event
die Prüfung/Prüfungen = exam : event
das Konzert/Konzerte = concert : event
das Fest/Feste = party/parties : event
der Termin/Termine = appointment : event
die Besprechung/Besprechungen = meeting : event
der Kurs/Kurse = course : event
der Test/Tests = test : event
der Ausflug/Ausflüge = excursion : event
die Hochzeit/Hochzeiten = wedding : event
das Hobby/Hobbys = hobby/hobbies : pastime
der Sport/- = sport : pastime
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
der Kopf/Köpfe = head : body
die Hand/Hände = hand : body
der Arm/Arme = arm : body
das Bein/Beine = leg : body
der Fuß/Füße = foot/feet : body
das Auge/Augen = eye : body
das Ohr/Ohren = ear : body
die Nase/Nasen = nose : body
der Mund/Münder = mouth : body
der Zahn/Zähne = tooth/teeth : body
der Rücken/Rücken = back : body
der Bauch/Bäuche = stomach : body
das Knie/Knie = knee : body
der Finger/Finger = finger : body
der Hals/Hälse = throat : body
die Schulter/Schultern = shoulder : body
pl Haare/Haare = hair : body
das Gesicht/Gesichter = face : body
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
feed/fed/fed ; füttern
water ; gießen ; - ; gegossen
photograph ; fotografieren
rent ; mieten
build/built/built ; bauen
try on ; an·probieren
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
teach/taught/taught ; unterrichten ; - ; unterrichtet
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
do/did/done ; machen
celebrate ; feiern
pack ; packen
book ; buchen
reserve ; reservieren
cut/cut/cut ; schneiden ; - ; geschnitten
use ; benutzen ; - ; benutzt
translate ; übersetzen ; - ; übersetzt
collect ; sammeln
marry ; heiraten
practice ; üben
win/won/won ; gewinnen ; - ; gewonnen
spell ; buchstabieren
borrow ; sich(dat) aus·leihen ; - ; geliehen
get/got/gotten ; bekommen ; - ; bekommen
prepare ; vor·bereiten ; - ; bereitet
finish ; beenden ; - ; beendet
introduce ; vor·stellen
stand/stood/stood ; stehen ; - ; gestanden
shower ; duschen
hike ; wandern ; - ; - ; sein
jog/jogged/jogged ; joggen ; - ; - ; sein
ski ; Ski ·fahren ; fähr ; gefahren ; sein
ride bikes/rode bikes/ridden bikes ; Rad ·fahren ; fähr ; gefahren ; sein
camp ; zelten
fish ; angeln
watch television/watched television/watched television ; fern·sehen ; sieh ; gesehen
exercise ; Sport ·machen
smoke ; rauchen
make phone calls/made phone calls/made phone calls ; telefonieren
move ; um·ziehen ; - ; gezogen ; sein
start ; beginnen ; - ; begonnen
end ; enden
hurt/hurt/hurt ; weh·tun ; - ; getan
walk ; gehen ; - ; gegangen ; sein
"""

# English [comparative superlative] ; German [comparative superlative] : nouns or tags it suits
_ADJECTIVES = """
old older oldest ; alt älter ältest ; man woman teacher friend animal book car house bike \
coat hat town furniture broken building castle toy guitar bag photo tree
new newer newest ; neu neuer neuest ; team test book novel magazine plan idea clothes own \
furniture \
device machine vehicle home building shop colleague boss neighbor teacher game movie song
big bigger biggest ; groß größer größt ; nose mouth hand foot ear team dog horse bird \
bear tree furniture home rooms garden \
park forest town luggage shop hotel ball lake river island castle
large larger largest ; groß größer größt ; home rooms garden town hotel luggage furniture
small smaller smallest ; klein kleiner kleinst ; nose mouth hand foot ear young dog \
cat bird table chair bed home rooms \
garden park town hotel luggage ball plate cup gift church island lamp
beautiful ; schön schöner schönst ; dress blouse ring town nature sight plant song story poem \
picture photo garden park house apartment guitar horse carpet
expensive ; teuer teurer teuerst ; clothes ring watch phone camera computer bike car hotel \
restaurant apartment guitar furnishing sofa trip
cheap cheaper cheapest ; billig billiger billigst ; clothes watch phone camera computer bike \
car hotel restaurant apartment ticket sofa
red redder reddest ; rot röter rötest ; nose face light clothes car bike flower apple ball \
bag umbrella \
furnishing door bus
blue bluer bluest ; blau blauer blaust ; clothes car bike flower ball bag umbrella furnishing \
door cup
green greener greenest ; grün grüner grünst ; light clothes car bike ball bag apple \
furnishing door \
bottle
black blacker blackest ; schwarz schwärzer schwärzest ; clothes car dog cat horse luggage \
umbrella
white whiter whitest ; weiß weißer weißest ; clothes car cat horse rabbit flower plate cup door
yellow yellower yellowest ; gelb gelber gelbst ; clothes flower ball bag umbrella cup
brown browner brownest ; braun brauner braunst ; dog horse bear luggage coat jacket hat table
warm warmer warmest ; warm wärmer wärmst ; hand foot coat jacket sweater scarf cap room kitchen
cold colder coldest ; kalt kälter kältest ; nose hand foot drink room basement
fresh fresher freshest ; frisch frischer frischest ; fruit bread roll milk
sweet sweeter sweetest ; süß süßer süßest ; apple banana pear orange strawberry cherry cookie
long longer longest ; lang länger längst ; nose letter email story book novel poem river street \
trip coat skirt dress movie
short shorter shortest ; kurz kürzer kürzest ; nose test letter email poem story novel trip skirt \
dress movie
heavy heavier heaviest ; schwer schwerer schwerst ; luggage furniture
light lighter lightest ; leicht leichter leichtest ; suitcase backpack bag camera jacket
difficult ; schwierig schwieriger schwierigst ; question test exam language problem word
easy easier easiest ; einfach einfacher einfachst ; question test exam answer language word
interesting ; interessant interessanter interessantest ; text movie museum town idea plan \
trip exam question answer
boring ; langweilig langweiliger langweiligst ; video text movie game town party concert
exciting ; spannend spannender spannendst ; story book novel movie game trip
funny funnier funniest ; lustig lustiger lustigst ; video story book movie song photo picture game
sad sadder saddest ; traurig trauriger traurigst ; story book movie song poem letter
nice nicer nicest ; nett netter nettest ; job relation man woman boy girl guest
friendly friendlier friendliest ; freundlich freundlicher freundlichst ; guest job neighbor \
colleague boss man woman dog guest
young younger youngest ; jung jünger jüngst ; job man woman dog cat
tired ; müde müder müdest ; child boy girl tourist driver
sick ; krank kränker kränkst ; child animal boy girl man woman
strong stronger strongest ; stark stärker stärkst ; team man woman horse bear
fast faster fastest ; schnell schneller schnellst ; car train bike ship plane horse
slow slower slowest ; langsam langsamer langsamst ; train bus computer tram
good better best ; gut besser best ; team inn book novel story poem movie doctor teacher cook \
friend idea plan computer camera song answer question
bad worse worst ; schlecht schlechter schlechtest ; team idea plan weather hotel restaurant movie \
answer
important ; wichtig wichtiger wichtigst ; test guest question answer exam letter email problem \
word plan
quiet quieter quietest ; ruhig ruhiger ruhigst ; street town hotel park room garden child
loud louder loudest ; laut lauter lautest ; street song radio music
clean cleaner cleanest ; sauber sauberer sauberst ; plate cup fork spoon knife glass table \
room shirt dress blouse window
dirty dirtier dirtiest ; schmutzig schmutziger schmutzigst ; hand face foot plate cup fork \
spoon knife glass \
table room shirt window car bike street
empty emptier emptiest ; leer leerer leerst ; bottle glass plate cup room drawer closet suitcase
dark darker darkest ; dunkel dunkler dunkelst ; room forest street
bright brighter brightest ; hell heller hellst ; light room apartment kitchen
modern ; modern moderner modernst ; home building device kitchen car machine company
comfortable ; bequem bequemer bequemst ; chair sofa bed armchair
dangerous ; gefährlich gefährlicher gefährlichst ; wild street river motorcycle
famous ; berühmt berühmter berühmtest ; sight book novel movie song
rich richer richest ; reich reicher reichst ; man woman
poor poorer poorest ; arm ärmer ärmst ; man woman
smart smarter smartest ; klug klüger klügst ; young student man woman dog
lazy lazier laziest ; faul fauler faulst ; student cat dog boy
polite ; höflich höflicher höflichst ; guest young waiter waitress salesman student
high higher highest ; hoch höher höchst ; mountain
hot hotter hottest ; heiß heißer heißest ; tea coffee soup hot-chocolate shower
tall taller tallest ; groß größer größt ; boy girl man woman waiter tree tower
gray grayer grayest ; grau grauer graust ; clothes car cat mouse carpet sofa
pink ; rosa rosaer rosast ; dress blouse T-shirt bag flower umbrella skirt
purple ; lila lilaer lilast ; dress blouse flower sweater scarf
thick thicker thickest ; dick dicker dickst ; book dictionary blanket sweater coat
thin thinner thinnest ; dünn dünner dünnst ; jacket blanket notebook book
round rounder roundest ; rund runder rundest ; nose face table mirror carpet tower
full fuller fullest ; voll voller vollst ; bottle glass bowl bag suitcase bus train
wet wetter wettest ; nass nasser nassest ; coat jacket shirt towel umbrella dog street
dry drier driest ; trocken trockener trockenst ; towel blanket shirt bread basement
salty saltier saltiest ; salzig salziger salzigst ; soup fish meat cheese ham
sour ; sauer saurer sauerst ; lemon apple orange cherry
spicy spicier spiciest ; scharf schärfer schärfst ; soup sausage meat
healthy healthier healthiest ; gesund gesünder gesündest ; vegetables salad yogurt child baby
hard harder hardest ; hart härter härtest ; bed chair bread pillow
soft softer softest ; weich weicher weichst ; bed sofa armchair pillow blanket towel
ugly uglier ugliest ; hässlich hässlicher hässlichst ; house tie hat carpet building picture
pretty prettier prettiest ; hübsch hübscher hübschest ; nose face girl woman dress skirt \
blouse apartment
elegant ; elegant eleganter elegantest ; suit dress coat hat
practical ; praktisch praktischer praktischst ; bag backpack suitcase kitchen map
useful ; nützlich nützlicher nützlichst ; dictionary book map example gift
strange stranger strangest ; seltsam seltsamer seltsamst ; story man idea question
shy shyer shyest ; schüchtern schüchterner schüchternst ; boy girl child cat
wonderful ; wunderbar wunderbarer wunderbarst ; trip vacation party wedding concert city
great greater greatest ; toll toller tollst ; party concert movie idea game
fantastic ; fantastisch fantastischer fantastischst ; party concert movie idea trip vacation city
popular ; beliebt beliebter beliebtest ; team teacher movie book song game beach \
restaurant
stupid stupider stupidest ; dumm dümmer dümmst ; question answer idea mistake
slim slimmer slimmest ; schlank schlanker schlankst ; man woman boy girl
terrible ; schrecklich schrecklicher schrecklichst ; weather movie story dream exam
right ; richtig richtiger richtigst ; answer word sentence
wrong ; falsch falscher falschest ; answer word sentence bill
broken ; kaputt kaputter kaputtest ; broken machine
delicious ; lecker leckerer leckerst ; cake pizza soup salad bread hamburger sandwich steak \
cookie strawberry sausage chicken ice-cream
"""

# Subject-only adjectives: said of people with "to be", never before a noun.
_MOODS = """
happy = glücklich
tired = müde
sad = traurig
sick = krank
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
at work = bei der Arbeit
busy = beschäftigt
proud = stolz
unhappy = unglücklich
married = verheiratet
single = ledig
divorced = geschieden
in love = verliebt
curious = neugierig
shy = schüchtern
punctual = pünktlich
relaxed = entspannt
"""

# English ; gender ; the same name is used in both languages
_NAMES = (
    "Anna f, Paul m, Maria f, Peter m, Julia f, Lukas m, Emma f, Felix m, Laura f, Max m, "
    "Thomas m, David m, Tom m, Lisa f, Sarah f, Ben m, Daniel m, Martin m, John m, Mary f, "
    "Michael m"
)
SURNAMES = ("Weber", "Schmidt", "Becker", "Fischer", "Wagner", "Keller", "Vogel", "Klein")
SURNAMES += ("Meyer", "Hoffmann", "Schneider", "Braun", "Smith", "Miller")

# English = German, used without an article; "language" belongs to countries only
CITIES = (
    ("Berlin", "Berlin"), ("Hamburg", "Hamburg"), ("Munich", "München"), ("Cologne", "Köln"),
    ("Vienna", "Wien"), ("Zurich", "Zürich"), ("Paris", "Paris"), ("London", "London"),
    ("Rome", "Rom"), ("Prague", "Prag"), ("Leipzig", "Leipzig"), ("Dresden", "Dresden"),
    ("Frankfurt", "Frankfurt"), ("Stuttgart", "Stuttgart"), ("Salzburg", "Salzburg"),
    ("Madrid", "Madrid"), ("New York", "New York"), ("Warsaw", "Warschau"),
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
    ("Portugal", "Portugal", "Portuguese", "Portugiesisch"),
    ("China", "China", "Chinese", "Chinesisch"),
    ("Denmark", "Dänemark", "Danish", "Dänisch"),
)
# English country ; German "in", "aus" and "nach" with the country, for all that one comes from
_HOMELANDS = """
Austria ; in Österreich ; aus Österreich ; nach Österreich
Switzerland ; in der Schweiz ; aus der Schweiz ; in die Schweiz
Turkey ; in der Türkei ; aus der Türkei ; in die Türkei
Ukraine ; in der Ukraine ; aus der Ukraine ; in die Ukraine
the United States ; in den USA ; aus den USA ; in die USA
the Netherlands ; in den Niederlanden ; aus den Niederlanden ; in die Niederlande
America ; in Amerika ; aus Amerika ; nach Amerika
Canada ; in Kanada ; aus Kanada ; nach Kanada
Brazil ; in Brasilien ; aus Brasilien ; nach Brasilien
Mexico ; in Mexiko ; aus Mexiko ; nach Mexiko
India ; in Indien ; aus Indien ; nach Indien
Australia ; in Australien ; aus Australien ; nach Australien
Europe ; in Europa ; aus Europa ; nach Europa
Africa ; in Afrika ; aus Afrika ; nach Afrika
"""
# English adjective ; German man, woman and several people
_NATIONALITIES = """
German ; Deutscher ; Deutsche ; Deutsche
American ; Amerikaner ; Amerikanerin ; Amerikaner
English ; Engländer ; Engländerin ; Engländer
French ; Franzose ; Französin ; Franzosen
Italian ; Italiener ; Italienerin ; Italiener
Spanish ; Spanier ; Spanierin ; Spanier
Polish ; Pole ; Polin ; Polen
Japanese ; Japaner ; Japanerin ; Japaner
Russian ; Russe ; Russin ; Russen
Greek ; Grieche ; Griechin ; Griechen
Turkish ; Türke ; Türkin ; Türken
Austrian ; Österreicher ; Österreicherin ; Österreicher
Swiss ; Schweizer ; Schweizerin ; Schweizer
Canadian ; Kanadier ; Kanadierin ; Kanadier
Chinese ; Chinese ; Chinesin ; Chinesen
"""
SUBJECTS_OF_STUDY = (
    ("mathematics", "Mathematik"), ("history", "Geschichte"), ("medicine", "Medizin"),
    ("biology", "Biologie"), ("music", "Musik"), ("law", "Jura"), ("physics", "Physik"),
    ("art", "Kunst"),
)  # fmt: skip

# English place ; German place ; English goal ; German goal ("-": none) : what people do there
_PLACES = """
in the garden ; im Garten ; into the garden ; in den Garten : play work read rest paint dine \
dance plant
in the park ; im Park ; to the park ; in den Park : play read rest run walk meet paint go
in the forest ; im Wald ; into the forest ; in den Wald : play walk run go
on the beach ; am Strand ; to the beach ; an den Strand : play read rest walk run go sleep lie
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
at the train station ; am Bahnhof ; to the train station ; zum Bahnhof : wait stand meet go
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
at the stadium ; im Stadion ; to the stadium ; ins Stadion : work go meet
at the playground ; auf dem Spielplatz ; to the playground ; auf den Spielplatz : play go
at the dentist's ; beim Zahnarzt ; to the dentist ; zum Zahnarzt : go
at the hairdresser's ; beim Friseur ; to the hairdresser ; zum Friseur : go
at the post office ; auf der Post ; to the post office ; zur Post : work go
at the bookstore ; in der Buchhandlung ; to the bookstore ; in die Buchhandlung : work go
at the department store ; im Kaufhaus ; to the department store ; ins Kaufhaus : work go
at the gas station ; an der Tankstelle ; to the gas station ; zur Tankstelle : work go
at the bus stop ; an der Bushaltestelle ; to the bus stop ; zur Bushaltestelle : wait stand go meet
at the factory ; in der Fabrik ; to the factory ; in die Fabrik : work
at the town hall ; im Rathaus ; to the town hall ; zum Rathaus : work go
at kindergarten ; im Kindergarten ; to kindergarten ; in den Kindergarten : sing paint
at work ; bei der Arbeit ; to work ; zur Arbeit : go
in bed ; im Bett ; to bed ; ins Bett : read go lie
in the bedroom ; im Schlafzimmer ; into the bedroom ; ins Schlafzimmer : sleep read rest
in the dining room ; im Esszimmer ; into the dining room ; ins Esszimmer : dine
on the balcony ; auf dem Balkon ; onto the balcony ; auf den Balkon : read rest dine smoke
on the farm ; auf dem Bauernhof ; to the farm ; auf den Bauernhof : work
in the mountains ; in den Bergen ; to the mountains ; in die Berge : hike camp
at the river ; am Fluss ; to the river ; an den Fluss : fish camp rest go
on the subway ; in der U-Bahn ; - ; - : read sleep
in the bus ; im Bus ; - ; - : sleep
on the train ; im Zug ; - ; - : read sleep
in the street ; auf der Straße ; - ; - : play dance stand
on the sofa ; auf dem Sofa ; - ; - : lie sleep read
at the gym ; im Fitnessstudio ; to the gym ; ins Fitnessstudio : exercise work go
at the mall ; im Einkaufszentrum ; to the mall ; ins Einkaufszentrum : shop work go meet
at the opera ; in der Oper ; to the opera ; in die Oper : go
in the classroom ; im Klassenzimmer ; into the classroom ; ins Klassenzimmer : learn wait
in the hallway ; im Flur ; into the hallway ; in den Flur : wait stand
in the yard ; im Hof ; into the yard ; in den Hof : play
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
this week = diese Woche : future
this weekend = dieses Wochenende : future
next weekend = nächstes Wochenende : future
next week = nächste Woche : future
next month = nächsten Monat : future long
next year = nächstes Jahr : future long
in the summer = im Sommer : future long
this afternoon = heute Nachmittag : future near
the day after tomorrow = übermorgen : future
soon = bald : future long
on Monday morning = am Montagmorgen : past future
on Friday evening = am Freitagabend : past future
on Saturday evening = am Samstagabend : past future
on Sunday afternoon = am Sonntagnachmittag : past future
yesterday morning = gestern Morgen : past near
yesterday evening = gestern Abend : past near
last weekend = letztes Wochenende : past
last summer = letzten Sommer : past long
last winter = letzten Winter : past long
an hour ago = vor einer Stunde : past near
this evening = heute Abend : future near
in the winter = im Winter : future long
in the spring = im Frühling : future long
in the fall = im Herbst : future long
in two weeks = in zwei Wochen : future
in three days = in drei Tagen : future
in an hour = in einer Stunde : future near
later = später : future near
in May = im Mai : future long
in July = im Juli : future long
in August = im August : future long
in October = im Oktober : future long
in December = im Dezember : future long
every day = jeden Tag : habit
every morning = jeden Morgen : habit
every evening = jeden Abend : habit
every week = jede Woche : habit seldom
every month = jeden Monat : habit seldom
every year = jedes Jahr : habit seldom
every weekend = jedes Wochenende : habit
once a week = einmal in der Woche : habit seldom
twice a week = zweimal in der Woche : habit
in the afternoon = am Nachmittag : habit
at night = in der Nacht : night
at noon = am Mittag : habit
before breakfast = vor dem Frühstück : habit seldom
after lunch = nach dem Mittagessen : habit seldom
after dinner = nach dem Abendessen : habit seldom
on Mondays = montags : habit
on Tuesdays = dienstags : habit
on Wednesdays = mittwochs : habit
on Thursdays = donnerstags : habit
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
quickly = schnell : eat run drink speak work
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
buy ; bread meat fish cheese butter rice vegetables fruit potato soap oil ; n ; h ; shop
buy ; chocolate egg roll cake milk ham chicken sausage pasta ice-cream jam honey flour paper \
toothpaste pepper beef ; n ; h ; shop
buy ; clothes bag watch umbrella suitcase backpack newspaper magazine book gift ; id ; - ; -
buy ; furniture car bike computer lamp television carpet ; id ; - ; -
sell ; car house bike guitar camera apartment ; dp ; - ; -
read ; text ; idt ; h ; read
write ; letter email story poem ; id ; h ; -
write ; book novel ; i ; l ; -
see ; pet horse bird cow bear elephant lion sight plane ; id ; s ; -
watch ; movie game video ; idt ; - ; -
look for ; own ; p ; - ; -
look for ; hotel pharmacy museum bakery restaurant bank supermarket stop bookstore ; i ; - ; -
find ; own ring ; p ; - ; -
take ; bus train tram subway ; d ; h ; -
need ; own clothes chair table bed lamp pillow blanket towel washing-machine refrigerator \
worn appointment ; i ; s ; -
need ; money time help ; i ; s ; -
have ; pet bike car phone guitar camera computer garden television laptop dictionary \
motorcycle piano violin balcony garage hobby map credit-card appointment ; i ; s ; -
like ; fruit cheese fish soup salad coffee tea milk pizza chocolate music potato pet \
ice-cream pasta honey yogurt cola lemonade chicken cookie sausage animal ; n ; s ; -
love ; music chocolate animal ; n ; s ; -
cook ; soup rice vegetables meat fish pasta chicken ; i ; h ; cook
bake ; cake bread pizza ; i ; h ; -
open ; window door bottle suitcase letter ; d ; - ; -
close ; window door drawer closet suitcase ; d ; - ; -
clean ; kitchen bathroom window ; d ; h ; -
tidy ; kitchen room living-room office bedroom basement garage ; dp ; h ; -
wash ; washed car ; dp ; h ; -
wash ; face ; p ; h ; -
repair ; broken ; dp ; - ; -
see ; light team ; d ; s ; -
clean ; dining-room lamp ; d ; h ; -
prepare ; test dinner lunch ; d ; - ; -
forget ; test ; d ; - ; -
write ; test ; i ; - ; -
paint ; picture flower tree horse ; i ; h ; paint
draw ; boat animal house tree flower face nose mouth ; i ; - ; -
visit ; relation family ; p ; h ; -
visit ; museum castle church town-hall tower capital ; d ; - ; -
know ; song movie story museum restaurant book hotel guest man woman ; t ; s ; -
meet ; relation ; p ; h ; meet
invite ; relation family ; p ; - ; -
call ; relation family ; p ; h ; -
pick up ; child grandmother son daughter sister friend ; p ; - ; -
put on ; coat jacket washed sweater ; p ; - ; -
take off ; coat jacket sweater ; p ; - ; -
turn on ; computer radio television lamp light ; d ; - ; -
turn off ; computer radio television lamp light ; d ; - ; -
bring along ; cake salad soup game guitar camera ; di ; - ; -
carry ; suitcase backpack bag chair table armchair mirror ; d ; - ; -
wear ; clothes ; it ; h ; -
forget ; key ticket umbrella bag phone jacket camera ; p ; - ; -
lose ; key ticket umbrella ring watch bag phone passport wallet credit-card pen glove ; p ; - ; -
explain ; problem plan word game exercise sentence example ; d ; - ; -
understand ; question answer word problem plan sentence exercise example ; dt ; s ; -
repeat ; question answer word ; d ; - ; -
hear ; song bird music train ; d ; s ; -
sing ; song ; id ; h ; sing
order ; pizza soup salad cake coffee beer tea juice steak hamburger sandwich chicken \
lemonade cola orange-juice hot-chocolate mineral-water pasta ; i ; - ; dineout
pay ; bill ; d ; - ; -
solve ; problem ; dt ; - ; -
plan ; trip party ; id ; - ; -
miss ; bus train plane subway appointment meeting ; d ; - ; -
feed ; dog cat horse bird rabbit cow sheep baby pig duck turtle ; d ; h ; -
water ; plant ; d ; h ; -
rent ; apartment car house bike room boat ; i ; l ; -
build ; house shelf table ; i ; l ; -
learn ; language ; i ; l ; -
try on ; coat jacket dress hat skirt sweater shirt suit T-shirt worn ; dt ; - ; -
wear ; worn ; i ; h ; -
put on ; shoe boot sock glove pants jeans shorts sneaker pajamas ; p ; - ; -
take off ; shoe boot glove ; p ; - ; -
buy ; worn ; i ; - ; -
buy ; sugar salt yogurt cucumber carrot raw cookie cola mineral-water pork cereal stamp \
candle ; n ; h ; shop
buy ; pillow blanket towel mirror washing-machine refrigerator stove doll ; i ; - ; -
look for ; shoe sock glove jeans pants ; p ; - ; -
clean ; shoe boot shower stove refrigerator mirror bedroom basement ; dp ; h ; -
wash ; sock jeans pants towel blanket ; dp ; h ; -
do ; homework ; p ; h ; -
do ; exercise ; d ; h ; -
celebrate ; birthday ; p ; - ; -
celebrate ; wedding ; d ; - ; -
pack ; suitcase backpack bag ; p ; - ; -
book ; trip hotel room course excursion ; i ; - ; -
reserve ; table room ; i ; - ; -
cut ; bread meat vegetables ham cheese onion cake pizza ; d ; - ; -
use ; computer laptop dictionary map credit-card pen pencil phone ; dp ; h ; -
translate ; sentence letter word story poem song ; dt ; - ; -
collect ; book map postcard photo doll watch ; n ; s ; -
practice ; word sentence song ; d ; h ; -
spell ; word ; dt ; - ; -
borrow ; book bike car umbrella pen dictionary ; i ; - ; -
plan ; excursion vacation wedding meeting ; di ; - ; -
forget ; appointment homework passport wallet notebook toothbrush ; p ; - ; -
buy ; handbag calendar swimsuit microwave dishwasher oven curtain ; i ; - ; -
need ; paper soap toothpaste ; i ; s ; -
need ; stamp candle ID-card calendar microwave dishwasher ; i ; s ; -
get ; letter email gift postcard bill answer ; i ; - ; -
prepare ; party exam meeting trip course ; d ; - ; -
finish ; homework book letter exercise work course ; d ; - ; -
introduce ; family relation ; p ; - ; -
like ; mushroom beef pork cereal ; n ; s ; -
lose ; ID-card handbag sunglasses calendar ; p ; - ; -
look for ; ID-card handbag sunglasses stamp candle ; p ; - ; -
use ; shower washing-machine microwave ; d ; h ; -
have ; shower test calendar microwave dishwasher oven grandma grandpa ; i ; s ; -
turn on ; oven microwave dishwasher ; d ; - ; -
turn on ; light ; d ; - ; -
turn off ; light ; d ; - ; -
turn off ; oven microwave dishwasher ; d ; - ; -
repair ; microwave dishwasher oven ; d ; - ; -
open ; curtain ; d ; - ; -
open ; mouth ; p ; - ; -
close ; curtain ; d ; - ; -
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
shower ; h ; -
hike ; h ; hike
jog ; h ; run
ski ; h ; -
ride bikes ; h ; -
watch television ; h ; -
exercise ; h ; exercise
smoke ; h ; smoke
make phone calls ; h ; -
learn ; h ; learn
read ; h ; read
sit ; - ; rest
"""

# verb ; German preposition and case ; objects ; determiners ; - or s for a state
_ABOUT = """
wait for ; auf acc ; bus train taxi tram subway guest ; d ; -
wait for ; auf acc ; relation family letter answer ; p ; -
think of ; an acc ; family vacation exam ; p ; -
dream of ; von dat ; vacation house trip car boat motorcycle wedding ; i ; -
talk about ; über acc ; movie book weather problem work plan exam meeting course ; d ; -
laugh about ; über acc ; story movie picture mistake ; d ; -
be happy about ; über acc ; gift letter answer weather idea ; d ; s
look forward to ; auf acc ; concert party vacation movie trip wedding excursion course ; d ; -
remember ; an acc ; trip song teacher word party wedding excursion ; d ; s
be interested in ; für acc ; music language animal sport book movie ; n ; s
take care of ; um acc ; child baby dog cat guest garden plant ; d ; -
get annoyed about ; über acc ; weather mistake bill exam test guest ; d ; s
complain about ; über acc ; meal weather bill hotel ; d ; -
"""

_THANKED = "help thank answer listen-to"
# verb ; things given ; determiners
_GIVING = """
show ; photo video picture letter gift key room garden map passport notebook ticket
give ; book key money flower newspaper ticket gift pen pencil map towel blanket
send ; letter email gift photo book postcard video
lend ; bike car book umbrella money camera laptop dictionary pen pencil motorcycle
tell ; story
bring ; newspaper gift coffee tea letter glass towel blanket pillow cookie
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
    gender = {"der": "m", "die": "f", "das": "n", "pl": "p"}[article]
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
HOMELANDS = [tuple(row) for row in _rows(_HOMELANDS)]
HOMELANDS += [
    (english, f"in {german}", f"aus {german}", f"nach {german}")
    for english, german, *_ in COUNTRIES + CITIES
]
NATIONALITIES = [tuple(row) for row in _rows(_NATIONALITIES)]


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
