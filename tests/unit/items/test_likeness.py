"""Facts compared: other words for one fact, other facts in like words, and corrections. The examples are our own."""

from __future__ import annotations

import pytest

from memory_core.embeddings.static import StaticProvider
from memory_core.items.likeness import Fact, Words, corrects, is_same


@pytest.fixture(scope="module")
def words() -> Words:
    return Words(StaticProvider())


def cosine(words: Words, one: str, other: str) -> float:
    return float(words.embed(one) @ words.embed(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Our dentist is Dr. Okafor.", "Dr. Okafor is our dentist."),
        ("The workshop takes place on 3 June.", "The workshop is on June 3."),
        ("I never eat mushrooms.", "I don't eat mushrooms, ever."),
        ("We meet at noon on Mondays.", "On Mondays we meet at noon."),
        ("I keep apples and pears in the cellar.", "I keep pears and apples in the cellar."),
    ],
)
def test_other_words_for_one_fact(words: Words, one: str, other: str) -> None:
    assert is_same(Fact(one), Fact(other), words, cosine(words, one, other))
    assert is_same(Fact(other), Fact(one), words, cosine(words, one, other))
    assert not corrects(Fact(other), Fact(one), words, cosine(words, one, other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The workshop is on 3 June.", "The workshop is on 4 June."),
        ("Our dentist is Dr. Okafor.", "Our vet is Dr. Okafor."),
        ("I eat mushrooms.", "I don't eat mushrooms."),
        ("My sister lives in Porto.", "My brother lives in Porto."),
        ("I drink tea rather than coffee.", "I drink coffee rather than tea."),
        ("I live in Porto.", "I live in Lisbon."),
        ("The shop opens at nine.", "The shop closes at nine."),
        ("Rack a0 is full.", "Rack b0 is full."),
        ("I am in team A.", "I am in team B."),
        ("Port 80 forwards to port 8080.", "Port 8080 forwards to port 80."),
        ("Kettler pays 45 euros for 60 seats.", "Kettler pays 60 euros for 45 seats."),
        ("The shop opens at 9 and closes at 6.", "The shop opens at 6 and closes at 9."),
        ("The shop opens at nine and closes at six.", "The shop opens at six and closes at nine."),
        ("Version 4.12 replaces 4.11.", "Version 4.11 replaces 4.12."),
        ("The fair runs from 3 May to 5 May.", "The fair runs from 5 May to 3 May."),
        ("The office is open from nine to five.", "The office is open from five to nine."),
        ("Ticket 0 is assigned to team 0.", "Ticket 9 is assigned to team 0."),
        ("Ticket 12 blocks ticket 31.", "Ticket 31 blocks ticket 12."),
        ("Order 7 contains 7 boxes.", "Order 7 contains 8 boxes."),
        ("Tuesday's shift relieves Monday's.", "Monday's shift relieves Tuesday's."),
        ("The gateway calls the scheduler.", "The scheduler calls the gateway."),
        ("Das Gateway ruft den Planer auf.", "Der Planer ruft das Gateway auf."),
        ("Le port 80 renvoie au port 8080.", "Le port 8080 renvoie au port 80."),
        ("El equipo 2 sustituye al equipo 5.", "El equipo 5 sustituye al equipo 2."),
    ],
)
def test_other_facts_in_like_words(words: Words, one: str, other: str) -> None:
    assert not is_same(Fact(one), Fact(other), words, cosine(words, one, other))
    assert not is_same(Fact(other), Fact(one), words, cosine(words, one, other))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My bike is red.", "My bike is blue, not red."),
        ("I work at the bakery.", "I no longer work at the bakery."),
        ("The standup is at 9:30.", "The standup is at 10:15."),
        ("My mail address is kim@example.org.", "My mail address is kim@example.com."),
    ],
)
def test_corrections(words: Words, older: str, newer: str) -> None:
    assert corrects(Fact(newer), Fact(older), words, cosine(words, older, newer))


def test_a_correction_may_swap_what_the_older_fact_says(words: Words) -> None:
    older, newer = "Port 80 forwards to port 8080.", "Port 8080 forwards to port 80."
    assert corrects(Fact(newer), Fact(older), words, cosine(words, older, newer), cued=True)
    assert not corrects(Fact(newer), Fact(older), words, cosine(words, older, newer))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My sister lives in Porto.", "My brother lives in Porto now."),
        ("The standup is at 9:30.", "The retro is on Friday at 15:00."),
        ("I play the cello.", "We use Terraform now."),
    ],
)
def test_no_corrections(words: Words, older: str, newer: str) -> None:
    assert not corrects(Fact(newer), Fact(older), words, cosine(words, older, newer))


# The later one of two facts of other persons, places, quantities or kinds: both stay.
BOTH_STAY = [
    ("The dentist's name is Dr. Lind.", "The dentist is now in Ghent."),
    ("The rent is due on the 3rd.", "The rent is now 900 euros."),
    ("Room 4 has 12 seats.", "Room 5 has 12 seats."),
    ("Bus 12 leaves at 9.", "Bus 14 leaves at 9."),
    ("Order 4711 ships on Monday.", "Order 4712 ships on Monday."),
    ("My sister drives a Corsa.", "I sold my Corsa."),
    ("Anna lives in Ghent.", "Ben no longer lives in Ghent."),
    ("Anna lives in Ghent.", "Ben moved to Antwerp."),
    ("I drink tea in the morning.", "I no longer drink coffee."),
    ("I work at Siemens.", "I no longer work on Fridays."),
    ("My brother works at Siemens.", "I no longer work at Siemens."),
    ("I am allergic to nuts.", "My daughter is allergic to nuts."),
    ("I don't eat pork.", "My wife eats pork."),
    ("I have two cats.", "I have two dogs."),
    ("We bought 12 apples.", "We bought 15 pears."),
    ("The meeting with Ann is on Monday.", "The meeting with Bob is on Tuesday."),
    ("The gym is on Main Street.", "I gave up running."),
    ("My office is in Berlin.", "My flat is now in Hamburg."),
    ("Our vet is Dr. Boer.", "The dentist is Dr. Lind, not Dr. Boer."),
    ("My son Tom plays the piano.", "My son Max no longer plays the piano."),
    ("Anna's phone number is 555-0101.", "Anna's office number is 555-0199."),
    ("The backup runs at 2 on server alpha.", "The backup now runs at 3 on server beta."),
    ("I like the blue mug.", "I don't like the red mug."),
    ("Mom's birthday is on 4 May.", "Dad's birthday is on 6 May."),
    ("We paid 9000 euros for the Corsa in 2015.", "We sold the Corsa."),
    ("I was born in Ghent.", "I moved to Antwerp."),
    ("Flights under 2 hours are fine by train.", "Flights over 4 hours are fine by train."),
    ("The heating in the kitchen is off at night.", "The heating in the bathroom is off at night."),
    ("The north gate opens at 7.", "The south gate opens at 8."),
    ("Lena takes 5 mg of the drug.", "Lena takes 5 ml of the syrup."),
    ("Meine Schwester wohnt in Köln.", "Mein Bruder wohnt nicht mehr in Köln."),
    ("Ich trinke morgens Tee.", "Ich trinke keinen Kaffee mehr."),
    ("Meine Frau arbeitet bei Bosch.", "Ich arbeite nicht mehr bei Bosch."),
    ("Zimmer 4 hat 12 Plätze.", "Zimmer 5 hat 12 Plätze."),
    ("Unser Hund heißt Bello.", "Unsere Katze heißt Minka."),
    ("Ma sœur habite à Lyon.", "Mon frère n'habite plus à Lyon."),
    ("Je bois du thé le matin.", "Je ne bois plus de café."),
    ("Notre chien s'appelle Rex.", "Notre chat s'appelle Mimi."),
    ("Mi hermana vive en Cádiz.", "Mi hermano ya no vive en Cádiz."),
    ("Bebo té por la mañana.", "Ya no bebo café."),
    ("Mi hijo tiene 7 años.", "Mi hija tiene 9 años."),
    ("I never eat meat.", "I never eat meat on Fridays with my parents-in-law."),
    ("I have a red bike and a blue bike.", "I sold the blue scooter."),
    ("We eat meat on Sundays.", "We no longer eat fish."),
    ("I take 5 mg of ramipril.", "I no longer take 5 mg of bisoprolol."),
    ("My mother has a garden in Bonn.", "We gave up the garden in Mainz."),
    ("I don't like jazz.", "I don't like jazz any more than blues."),
    ("Ich habe zwei Katzen.", "Ich habe zwei Hunde."),
    ("Ich esse Fleisch.", "Ich esse kein Fleisch."),
    ("Je mange de la viande.", "Je ne mange pas de viande."),
    ("Como carne.", "No como carne."),
    ("Mein Sohn Paul ist 7.", "Mein Sohn Emil ist 9."),
    ("Mon fils Paul a 7 ans.", "Mon fils Jules a 9 ans."),
    ("Wir fahren am 9. Mai nach Konstanz.", "Wir fahren am 9. Mai nach Bregenz."),
    ("Der Keller ist im Erdgeschoss links.", "Der Keller ist im Erdgeschoss rechts."),
    ("The cat gets 2 tablets a day.", "The dog gets 2 tablets a day."),
    ("We meet Anna on Mondays.", "We meet Berta on Mondays."),
    ("Flat 3 belongs to the Okafors.", "Flat 5 belongs to the Okafors."),
    ("I pay 20 euros a month for the gym.", "I pay 20 euros a month for the pool."),
    ("Tom owes me 50 euros.", "I owe Tom 50 euros."),
    ("The train from Bonn to Mainz takes 2 hours.", "The train from Mainz to Bonn takes 2 hours."),
    ("Lea trusts Max.", "Max trusts Lea."),
    ("Our dog Rex is vegan.", "We no longer have a cat."),
    ("I pay rent to Mr Okafor.", "I no longer pay Ms Brandt."),
    ("The kids go to school by bus.", "The kids no longer go to the pool on Saturdays."),
    ("We use Postgres in production.", "We no longer use Postgres in staging."),
    ("I take vitamin D in winter.", "I stopped taking magnesium."),
    ("My aunt Rita has a house in Bari.", "We sold the house in Como."),
    ("I'm a member of the rowing club.", "I gave up the membership of the chess club."),
    ("Paula's train leaves at 8:12.", "Paula's train home leaves at 17:40."),
    ("The invoice of March is 340 euros.", "The invoice of April is 340 euros."),
    ("Milk costs 1.20.", "Bread costs 2.40."),
    ("Server web-1 has 8 GB.", "Server web-2 has 16 GB."),
    ("Im Winter heizen wir mit Holz.", "Wir heizen nicht mehr mit Öl."),
    ("Meine Tochter Lena spielt Geige.", "Meine Tochter Mia spielt nicht mehr Geige."),
    ("Ich trinke Bier am Wochenende.", "Ich trinke keinen Wein mehr."),
    ("Ma fille joue du violon.", "Je ne joue plus du violon."),
    ("On va à Nice en août.", "On ne va plus à Cannes."),
    ("Mi madre vive en Vigo.", "Me he mudado a Lugo."),
    ("Trabajo los lunes en la tienda.", "Ya no trabajo los sábados."),
    ("I met Tom on Monday.", "I met Tom on Friday."),
    ("The spare key is with Ms Novak.", "The spare key for the shed is with Mr Lund now."),
    ("My aunt is allergic to shrimps.", "My aunt is not allergic to mussels."),
    ("The radio is loud upstairs.", "The radio is not loud downstairs."),
    ("The rear brake works.", "The front brake does not work."),
    ("Rosa sings alto on Mondays.", "Rosa does not sing alto on Fridays."),
    ("I lent Ben 100 euros.", "I lent Ben 200 euros."),
    ("We spent 40 euros at the market.", "We spent 60 euros at the market."),
    ("Ich habe Ben 100 Euro geliehen.", "Ich habe Ben 200 Euro geliehen."),
    ("J'ai prêté 100 euros à Ben.", "J'ai prêté 200 euros à Ben."),
    ("Le presté 100 euros a Ben.", "Le presté 200 euros a Ben."),
    ("The ferry to Turku leaves at 9:40.", "The ferry from Turku leaves at 18:20."),
    ("Die Fähre nach Turku geht um 9:40.", "Die Fähre von Turku geht um 18:20."),
    ("Le train pour Lyon part à 9:40.", "Le train de Lyon part à 18:20."),
    ("I moved from Ghent to Bruges in 2019.", "I moved from Bruges to Antwerp in 2023."),
    ("I use tea bags in the office.", "I no longer use tea."),
    ("My favourite colour is blue.", "My favourite season is spring."),
    ("My favourite dish is dal.", "My favourite dish is not risotto."),
    ("My sister's favourite colour is blue.", "My favourite colour is green."),
    ("I like jazz.", "I sold the piano and like jazz."),
    ("I work at Acme.", "I am not working on the report, that was wrong."),
]
# The later one says that the older one is over, or gives another value for the same thing.
OLDER_GOES = [
    ("We drive a Corsa.", "We sold the Corsa in March."),
    ("I go to the gym on Tuesdays.", "I gave up the gym."),
    ("I drink three coffees a day.", "I don't drink coffee any more."),
    ("I live in Ghent.", "I moved to Antwerp."),
    ("I smoke ten cigarettes a day.", "I've stopped smoking."),
    ("We have a contract with Vodafone.", "We cancelled the contract with Vodafone."),
    ("My sister lives in Ghent.", "My sister no longer lives in Ghent."),
    ("The party is at our place.", "The party is not at our place after all."),
    ("I play in a band called Moss.", "I quit the band."),
    ("The standup is at 9:30.", "The standup is now at 10:15."),
    ("Our meeting is on Monday.", "Our meeting is on Wednesday, not Monday."),
    ("My office is in Berlin.", "My office moved to Hamburg."),
    ("Wir haben einen Polo.", "Den Polo haben wir verkauft."),
    ("Ich wohne in Köln.", "Ich bin nach Bonn umgezogen."),
    ("Ich rauche zehn Zigaretten am Tag.", "Ich rauche nicht mehr."),
    ("Ich gehe dienstags ins Fitnessstudio.", "Das Fitnessstudio habe ich gekündigt."),
    ("J'habite à Lyon.", "J'ai déménagé à Nantes."),
    ("Nous avons une Clio.", "On a vendu la Clio."),
    ("Je fume dix cigarettes par jour.", "Je ne fume plus."),
    ("J'ai un abonnement à la salle de sport.", "J'ai résilié l'abonnement à la salle de sport."),
    ("Vivo en Cádiz.", "Me he mudado a Sevilla."),
    ("Tenemos un Ibiza.", "Vendimos el Ibiza en marzo."),
    ("Fumo diez cigarrillos al día.", "Ya no fumo."),
    ("Trabajo en Iberdrola.", "Ya no trabajo en Iberdrola."),
    ("I take the bus to work.", "I don't take the bus to work any more."),
    ("We subscribe to Netflix.", "We cancelled Netflix last month."),
    ("I eat meat twice a week.", "I gave up meat."),
    ("My brother lives in Porto.", "My brother moved to Faro."),
    ("We have a cat called Miso.", "We don't have a cat any more."),
    ("I work for Ikea as a designer.", "I quit Ikea in May."),
    ("We're going to Rome in June.", "We're not going to Rome after all."),
    ("We own a boat.", "We got rid of the boat."),
    ("The vet is Dr. Lind.", "The vet is Dr. Boer now, not Dr. Lind."),
    ("Ich spiele in einem Chor.", "Mit dem Chor habe ich aufgehört."),
    ("Wir haben einen Garten in Bonn.", "Den Garten in Bonn haben wir aufgegeben."),
    ("Ich arbeite bei Siemens.", "Ich arbeite nicht mehr bei Siemens."),
    ("Wir fahren im Juni nach Rom.", "Wir fahren doch nicht nach Rom."),
    ("Wir haben ein Boot.", "Wir haben unser Boot verkauft."),
    ("Je travaille chez Airbus.", "Je ne travaille plus chez Airbus."),
    ("Je joue dans un orchestre.", "J'ai quitté l'orchestre."),
    ("On a un jardin à Tours.", "On n'a plus de jardin."),
    ("Nous partons à Rome en juin.", "Finalement nous ne partons pas à Rome."),
    ("Toco en una orquesta.", "He dejado la orquesta."),
    ("Tenemos un huerto en Lugo.", "Ya no tenemos huerto."),
    ("Vivo en Madrid.", "Nos mudamos a Toledo."),
    ("Tenemos un barco.", "Hemos vendido el barco."),
    ("We go to the gym on Mondays.", "We don't go to the gym, any more."),
    ("The ferry to Turku leaves at 9:40.", "The ferry to Turku leaves at 10:15."),
    ("The radio is loud upstairs.", "The radio is no longer loud upstairs."),
    ("My favourite colour is blue.", "My favourite colour is green."),
    ("My usual coffee order is a cortado.", "My usual coffee order is a flat white."),
    ("Our default branch is main.", "Our default branch is trunk."),
    ("Meine Lieblingsfarbe ist Blau.", "Meine Lieblingsfarbe ist Grün."),
    ("Mon plat préféré est la raclette.", "Mon plat préféré est le cassoulet."),
    ("Mi color favorito es el azul.", "Mi color favorito es el verde."),
    ("I own a kayak.", "I sold the kayak and bought a canoe."),
    ("We have a lease in Bonn.", "We cancelled the lease in Bonn and moved to a farm."),
    ("Wir haben einen Polo.", "Wir haben den Polo verkauft und haben jetzt ein Rad."),
    ("I'm allergic to walnuts.", "I'm not allergic to walnuts, that was a mistake."),
    ("My niece is allergic to bees.", "My niece isn't allergic to bees after all."),
    ("Ich bin gegen Nüsse allergisch.", "Ich bin nicht gegen Nüsse allergisch, das war ein Irrtum."),
    ("Je suis allergique aux noix.", "Je ne suis pas allergique aux noix, c'était une erreur."),
    ("Wir wohnen in Kiel.", "Wir sind im Mai nach Husum gezogen."),
    ("We have a parrot called Otis.", "We don't have a parrot any more."),
    ("Soy alérgico a las nueces.", "No soy alérgico a las nueces, fue un error."),
]


@pytest.mark.parametrize(("older", "newer"), BOTH_STAY)
def test_facts_of_other_persons_places_and_quantities_both_stay(words: Words, older: str, newer: str) -> None:
    for one, other in ((older, newer), (newer, older)):
        assert not is_same(Fact(one), Fact(other), words, cosine(words, one, other))
    assert not corrects(Fact(newer), Fact(older), words, cosine(words, older, newer))


@pytest.mark.parametrize(("older", "newer"), OLDER_GOES)
def test_what_is_over_does_not_stay(words: Words, older: str, newer: str) -> None:
    assert not is_same(Fact(newer), Fact(older), words, cosine(words, older, newer))
    assert corrects(Fact(newer), Fact(older), words, cosine(words, older, newer))


@pytest.mark.parametrize(
    "text", ["", "7", "room", "Room 4", "not", "no longer", "ya no", "plus", ", ,", "It's over", "😀"]
)
def test_a_fact_of_few_words_replaces_none(words: Words, text: str) -> None:
    for other in ("Room 4 has 12 seats.", "We sold the boat."):
        assert not corrects(Fact(text), Fact(other), words, 0.5, cued=True)
        assert not corrects(Fact(other), Fact(text), words, 0.5, cued=True)
