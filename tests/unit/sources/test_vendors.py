"""Keys of all vendors that are known, and secrets told in a sentence in six languages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from memory_core.items.capture import exchange, rules
from memory_core.sources import redaction
from memory_core.sources.redaction import REDACTED, redact

DOCUMENT: dict[str, Any] = json.loads(Path(redaction.__file__).with_name("vendors.json").read_bytes())
RULES = {rule["id"]: rule for rule in DOCUMENT["rules"]}


def test_source_and_license_are_named() -> None:
    assert "gitleaks" in DOCUMENT["source"]
    assert DOCUMENT["license"].startswith("MIT License. Copyright")
    assert len(RULES) == len(DOCUMENT["rules"]) > 200


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=3, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(data=st.data())
def test_a_key_of_each_vendor_is_blanked(name: str, data: st.DataObject) -> None:
    pattern = re.compile(RULES[name]["pattern"])
    text = data.draw(st.from_regex(pattern))
    found = pattern.search(text)
    assert found is not None
    shown = redact(f"{RULES[name]['hints'][0]} {text}")  # which a rule may take from the name of a file beside it
    assert pattern.search(shown) is None or REDACTED in shown
    assert found["secret"] not in shown or len(found["secret"]) < 8


TOLD = {
    "en": [
        "The code for the door is 4471.", "the garage code is 99881", "Our alarm code: 4471#", "The gate opens with 4471.",
        "4471 is the code for the front door.", "my password is swordfish", "The wifi password is hunter22",
        "My bank card's PIN is 4821.", "Her passport number is X1234567.",
    ],
    "de": [
        "Mein Passwort ist Schwertfisch.", "Das WLAN-Passwort lautet Sommer2024!", "Der Code für die Haustür ist 4471.",
        "Der Türcode ist 4471", "Die PIN meiner Karte ist 4471.", "Unser Alarmcode lautet 998877.",
        "Das Tor geht auf mit 4471.",
        "4471 ist der Code für die Garage.", "Die Zahlenkombination vom Fahrradschloss ist 4711.",
        "Meine Kontonummer ist 1234567890.",
    ],
    "fr": [
        "Mon mot de passe est poisson-rouge.", "Le mot de passe du wifi est Soleil42", "Le code de la porte est 4471.",
        "Le code PIN de ma carte est 4471.", "Le digicode de l'immeuble est 45A12.", "Le portail s'ouvre avec 4471.",
        "4471 est le code de l'alarme.", "Mon numéro de passeport est 12AB34567.",
    ],
    "es": [
        "Mi contraseña es pezespada.", "La clave del wifi es Verano2024", "El código de la puerta es 4471.",
        "El PIN de mi tarjeta es 4471.", "La puerta se abre con 4471.", "La combinación del candado es 4711.",
        "Mi DNI es 12345678Z.",
    ],
    "it": [
        "La mia password è pescespada.", "La password del wifi è Estate2024", "Il codice della porta è 4471.",
        "Il PIN del bancomat è 4471.", "Il cancello si apre con 4471.", "Il mio codice fiscale è RSSMRA85T10A562S.",
    ],
    "pt": [
        "Minha senha é peixeespada.", "A senha do wifi é Verao2024", "O código da porta é 4471.", "O PIN do meu cartão é 4471.",
        "O portão abre com 4471.", "A combinação do cofre é 4711.",
    ],
}  # fmt: skip
_PARTS = re.compile(r"[\w-]*\d[\w-]*\w|swordfish|Schwertfisch|poisson-rouge|pezespada|pescespada|peixeespada")


@pytest.mark.parametrize("sentence", [each for told in TOLD.values() for each in told])
@pytest.mark.parametrize("around", ["{}", "Remember this: {}", "Hi! {} Thanks."])
def test_a_secret_told_in_a_sentence_is_blanked_and_not_kept(sentence: str, around: str) -> None:
    said = around.format(sentence)
    [secret] = {found[0] for found in _PARTS.finditer(sentence)}
    assert secret not in redact(said)
    turns = exchange.read_exchange([{"role": "user", "content": said}], max_tokens=1000).turns
    assert not [found for found in rules.find_facts(turns, now=0) if secret in found.content]


@pytest.mark.parametrize(
    "sentence",
    [
        "The error code is 404.", "The zip code is 94107.", "Der Fehlercode ist 500.", "Le code postal est 75011.",
        "Mein Passwort ist abgelaufen.", "The password is too short.", "La clave es la paciencia.",
        "El código postal es 28013.",
        "The door is 210 cm high.", "Our house number is 42.", "The office is on floor 12.",
        "The meeting is at 1430 in building 12.", "Das Haus ist 120 Jahre alt.", "The building code is strict in 2024.",
        "Room 4471 is the office of Ana.", "The card is 12 cm wide.", "The phone costs 499 euros.", "My phone is a Pixel 9.",
        "the meeting code was refactored in 2024", "The area code for the office is 030.", "Die Postleitzahl ist 10115.",
        "O código do produto é 12345.", "Der Pin ist rot.", "our alarm goes off at 0630.", "The laptop has 1000 GB.",
        "Mon mot de passe est expiré.", "La mia password è scaduta.", "Minha senha é muito curta.",
    ],
)  # fmt: skip
def test_ordinary_sentences_stay(sentence: str) -> None:
    assert redact(sentence) == sentence
