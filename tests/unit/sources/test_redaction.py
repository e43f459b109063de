"""Secrets in their usual shapes are blanked, ordinary words stay, lines keep their numbers."""

from __future__ import annotations

import base64
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_core.sources.redaction import REDACTED, redact
from tests.growth import MOST_GROWTH, measure_growth

HEX = "0123456789abcdef" * 4
MIXED = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6"

KEYS = {
    "OpenAI": f"sk-{MIXED[:48]}",
    "OpenAI project": f"sk-proj-{MIXED[:20]}T3BlbkFJ{MIXED[:20]}",
    "Anthropic": f"sk-ant-api03-{MIXED}-{MIXED}AA",
    "OpenRouter": f"sk-or-v1-{HEX}",
    "Google": f"AIzaSy{MIXED[:33]}",
    "Google OAuth": f"ya29.{MIXED}",
    "Google client": f"GOCSPX-{MIXED[:28]}",
    "GitHub": f"ghp_{MIXED[:36]}",
    "GitHub server": f"ghs_{MIXED[:36]}",
    "GitHub fine-grained": f"github_pat_{MIXED[:22]}_{MIXED}{MIXED[:7]}",
    "GitLab": f"glpat-{MIXED[:20]}",
    "GitLab runner": f"glrt-{MIXED[:20]}",
    "Slack bot": f"xoxb-123456789012-1234567890123-{MIXED[:24]}",
    "Slack app": f"xapp-1-A0B1C2D3E4F-123-{HEX}",
    "AWS": "AKIAIOSFODNN7EXAMPLE",
    "AWS session": "ASIAIOSFODNN7EXAMPLE",
    "Stripe": f"sk_live_{MIXED[:24]}",
    "Stripe restricted": f"rk_test_{MIXED[:24]}",
    "Stripe webhook": f"whsec_{MIXED[:32]}",
    "npm": f"npm_{MIXED[:36]}",
    "PyPI": f"pypi-AgEIcHlwaS5vcmc{MIXED}",
    "Hugging Face": f"hf_{MIXED[:34]}",
    "Groq": f"gsk_{MIXED}",
    "Perplexity": f"pplx-{MIXED[:48]}",
    "Voyage": f"pa-{MIXED[:43]}",
    "SendGrid": f"SG.{MIXED[:22]}.{MIXED[:43]}",
    "Telegram bot": f"123456789:AA{MIXED[:33]}",
    "Discord bot": f"MTIz{MIXED[:20]}.Gabc12.{MIXED[:38]}",
    "JSON Web Token": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{MIXED[:43]}",
    "DigitalOcean": f"dop_v1_{HEX}",
    "New Relic": f"NRAK-{MIXED[:27].upper()}",
    "Netlify": f"nfp_{MIXED[:36]}",
    "Tailscale": f"tskey-auth-{MIXED[:12]}-{MIXED[:32]}",
    "Heroku": f"HRKU-{MIXED[:40]}",
    "Airtable": f"pat{MIXED[:14]}.{HEX}",
    "Mailchimp": f"{HEX[:32]}-us14",
    "hash of a password": f"$6$a1b2c3d4${MIXED}",
    "Cerebras": f"csk-{MIXED[:48].lower()}",
    "Firecrawl": f"fc-{HEX[:32]}",
    "E2B": f"e2b_{HEX[:40]}",
    "Resend": f"re_{MIXED[:8]}_{MIXED[8:32]}",
    "HubSpot": "pat-na1-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f",
    "NuGet": f"oy2{MIXED[:43].lower()}",
    "CircleCI": f"CCIPAT_{MIXED[:22]}_{HEX[:40]}",
    "Azure OpenAI": f"{MIXED}JQQJ99BCACYeBjFXJ3w3AAABACOG{MIXED[:4]}",
    "age": f"AGE-SECRET-KEY-1{'QPZRY9X8GF' * 6}",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize(
    "around", ["{}", "I use {}, is that right?", "('{}')", "first\n{}\nlast", "x={}", "今は{}です"]
)
def test_keys_of_the_usual_vendors(key: str, around: str) -> None:
    shown = redact(around.format(key))
    assert key not in shown
    assert key[-12:] not in shown
    assert shown == around.format(REDACTED)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password=hunter2", "password=[redacted]"),
        ("Password: hunter2", "Password: [redacted]"),
        ("**Password:** `hunter2`", "**Password:** `[redacted]`"),
        ("DB_PASSWORD_PROD=x1", "DB_PASSWORD_PROD=[redacted]"),
        ("'pwd' => 'two words',", "'pwd' => '[redacted]',"),
        ('{"password": "my \\" pass", "user": "bob"}', '{"password": "[redacted]", "user": "bob"}'),
        (r"{\"password\": \"two words\", \"a\": 1}", r"{\"password\": \"[redacted]\", \"a\": 1}"),
        ("api_key: abcdef", "api_key: [redacted]"),
        ("MY_API_KEY = 'abc'", "MY_API_KEY = '[redacted]'"),
        ("x-api-key: abc", "x-api-key: [redacted]"),
        ("client_secret=abc", "client_secret=[redacted]"),
        ("refreshToken: abc", "refreshToken: [redacted]"),
        (f"aws_secret_access_key = {MIXED[:40]}", "aws_secret_access_key = [redacted]"),
        (f"AKIAIOSFODNN7EXAMPLE, {MIXED[:38]}/+", "[redacted], [redacted]"),
        (f"AKIAIOSFODNN7EXAMPLE\n{MIXED[:38]}/+", "[redacted]\n[redacted]"),
        ("token: abcd1234efgh", "token: [redacted]"),
        ("the password is hunter2.", "the password is [redacted]"),
        ("Passwort: geheim", "Passwort: [redacted]"),
        ("密码：abc123", "密码：[redacted]"),
        ("seed phrase: apple banana cherry", "seed phrase: [redacted]"),
        ("mysql --password hunter2 --verbose", "mysql --password [redacted] --verbose"),
        ('login --token="a b"', 'login --token="[redacted]"'),
        ("curl -u bob:hunter2 https://x", "curl -u bob:[redacted] https://x"),
        ("postgres://bob:s3cr3t@db.example.org/app", "postgres://bob:[redacted]@db.example.org/app"),
        ("redis://:hunter2@localhost:6379", "redis://:[redacted]@localhost:6379"),
        ("https://bob:p@ss@host/x", "https://bob:[redacted]@host/x"),
        (f"https://{HEX[:32]}@sentry.example.org/1", "https://[redacted]@sentry.example.org/1"),
        ("Authorization: Bearer abc.def-1234567", "Authorization: Bearer [redacted]"),
        ('-H "Authorization: Basic dXNlcjpwYXNz" x', '-H "Authorization: Basic [redacted]" x'),
        ("'Authorization': 'token abc'", "'Authorization': 'token [redacted]'"),
        ('Proxy-Authorization: Digest username="a", response="b"', "Proxy-Authorization: Digest [redacted]"),
        (f"authorization: {MIXED[:20]}", "authorization: [redacted]"),
        (f"a bearer {MIXED[:30]} was sent", "a bearer [redacted] was sent"),
        ("Set-Cookie: sid=abc; path=/", "Set-Cookie: [redacted]"),
        ("https://hooks.slack.com/services/T00000000/B00000000/abcdefgh", "https://hooks.slack.com/[redacted]"),
    ],
)
def test_what_a_name_gives_away(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_a_name_that_is_escaped_again_and_again_takes_no_quadratic_time() -> None:
    def escape(depth: int) -> str:
        return redact("\n".join(f"password&{'amp;' * times}#61;hunter2" for times in range(depth)))

    assert escape(9) == "\n".join(["password=[redacted]"] * 9)
    assert measure_growth(lambda length: escape(int(length**0.5)), 14_400) < MOST_GROWTH


BODY = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn\nygWyF8PbnGy0AHB7MJD2gDsa3mNKLJ+/=\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            f"key:\n-----BEGIN RSA PRIVATE KEY-----\n{BODY}-----END RSA PRIVATE KEY-----\nthat was it",
            "key:\n[redacted]\n\n\n\nthat was it",
        ),
        (
            f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 2\n\n{BODY}-----END PGP PRIVATE KEY BLOCK-----",
            "[redacted]\n\n\n\n\n",
        ),
        (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY}and so on", "[redacted]\n\n\nand so on"),
        ('{"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\\n", "a": 1}',
         '{"private_key": "[redacted]", "a": 1}'),
    ],
)  # fmt: skip
def test_private_keys_are_blanked_whole(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_a_public_key_or_certificate_stays() -> None:
    text = f"-----BEGIN CERTIFICATE-----\n{BODY}-----END CERTIFICATE-----"
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "The token budget is 400 tokens, max_tokens=4000, token_count: 12345678",
        "password manager: we chose one; forgot your password? Reset it.",
        "commit a828e60 is 8b1a9953c4611296a827abf8c47804d7, id 2f1d0e5c-8a4b-4f6e-9c3d-7b2a1e0f9d8c",
        "the session key agent:main:telegram:group:42",
        "see https://example.org:8080/path@2x.png and git@example.org:a/b.git",
        "sk-learn-pipelines and task-oriented-dialogue-systems",
        "export OPENAI_API_KEY=$OPENAI_API_KEY, PASSWORD=${DB_PASSWORD}",
        'api_key = os.environ["OPENAI_API_KEY"]',
        "apiKey: process.env.OPENAI_API_KEY,",
        "the bearer of bad news",
        "the secret is to whisk; the token is valid",
        "authorization: we need it",
        "12:30:00 meeting at 10:45",
        "",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


_AROUND = st.sampled_from(
    [
        "password", "api_key", "token", "secret", "=", ":", ": ", " is ", '"', "'", "`", "\\", '\\"', "\n",
        "\n\n", " ", "@", "://", "https://bob:", "Bearer ", "Authorization: Basic ", "Cookie: a=", "-u a:", "--token ",
        "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----", BODY, REDACTED, "[", "]", "$HOME", "密码：",
        "hunter2", "x", "\ud800", "\x00", "İ", "seed phrase: ",
    ]
)  # fmt: skip

_FRAGMENTS = st.one_of(_AROUND, st.sampled_from(list(KEYS.values())))


@given(st.one_of(st.lists(_FRAGMENTS, max_size=20).map("".join), st.text()))
@example(f"AKIAIOSFODNN7EXAMPLE{KEYS['OpenAI']}")
@example('password="a" b[redacted]"')
def test_redaction_is_idempotent_and_keeps_the_lines(text: str) -> None:
    once = redact(text)
    assert redact(once) == once
    assert once.count("\n") == text.count("\n")


@given(st.sampled_from(list(KEYS.values())), st.lists(_AROUND, max_size=6), st.lists(_AROUND, max_size=6))
def test_a_key_is_found_whatever_stands_around_it(key: str, before: list[str], after: list[str]) -> None:
    assert key not in redact(f"{''.join(before)} {key} {''.join(after)}")


@pytest.mark.parametrize(
    "piece",
    ["sk-", "-eyJ", "token=", "cookie:", "-----BEGIN PRIVATE KEY-----", "://a:", 'password="', "authorization: ", "AKIA",
     "N-", "password", "bearer ", "1234567890:A", "passphrase ", "pwd='pwd=\"pwd=`",
     KEYS["Heroku"], KEYS["HubSpot"], KEYS["HubSpot"] + KEYS["Firecrawl"]],
)  # fmt: skip
def test_hostile_text_takes_no_quadratic_time(piece: str) -> None:
    assert measure_growth(lambda length: redact(piece * (length // len(piece))), 100_000) < MOST_GROWTH


@pytest.mark.parametrize("width", [76, 40_000])
def test_pasted_base64_takes_no_quadratic_time(width: int) -> None:
    pasted = base64.b64encode(random.Random(7).randbytes(30_000)).decode()

    def paste(length: int) -> str:
        return redact("\n".join(pasted[start : start + width] for start in range(0, length, width)))

    assert "[[" not in paste(40_000), "what is blanked is not blanked again"
    assert measure_growth(paste, 40_000) < MOST_GROWTH


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("my PIN: 4821", "4821"),
        ("PIN 4821", "4821"),
        ("my pin's 4821", "4821"),
        ("pw: gannet77", "gannet77"),
        ("the wifi code is gannet77", "gannet77"),
        ("passcode 125316 for the meeting", "125316"),
        ("le digicode est 349265", "349265"),
        ("il codice dell'allarme è 598746", "598746"),
        ("onthoud dat mijn pincode 667507 is", "667507"),
        ("De deurcode is 676111", "676111"),
        ("ma phrase secrète : tournesol92", "tournesol92"),
        ("https://x.example/c?sv=2&sig=a1B2c3D4e5F6g7H8i9J0k1L2%3D", "a1B2c3D4e5F6g7H8i9J0k1L2%3D"),
        ("my social is 219-09-9999", "219-09-9999"),
        ("код от подъезда 4471", "4471"),
        ("the door code is 4471, tell the courier", "4471"),
        ("remember the alarm code 9917 please", "9917"),
        ("the gate code for the parking is #2580", "#2580"),
        ("The combination to the safe is 12-34-56.", "12-34-56"),
        ("your verification code is 482913", "482913"),
        ("card 4111 1111 1111 1111", "4111 1111 1111 1111"),
        ("amex 378282246310005.", "378282246310005"),
        ("IBAN DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130 00"),
        ("my social security number is 078-05-1120", "078-05-1120"),
        ("My bank account number is 12345678", "12345678"),
        ("the wifi password at home is bluesky-42", "bluesky-42"),
        ("My Netflix password is swordfish", "swordfish"),
        ("my passphrase is correct horse battery staple", "correct horse battery staple"),
        ("the login for the router is admin / admin1234", "admin1234"),
        ("Zugang zum NAS ist admin / Zebra-7-Streifen", "Zebra-7-Streifen"),
        ("the API token for the heating is 9f8e7d6c5b4a39281706f5e4d3c2b1a0", "9f8e7d6c5b4a39281706f5e4d3c2b1a0"),
        ("I always log in with the password Sunflower92, too", "Sunflower92"),
        ("we use Sunflower92 as the password for staging", "Sunflower92"),
        ("My password? Sunflower92", "Sunflower92"),
        ("user alice, pw Sunflower92", "Sunflower92"),
        ("my p4ssw0rd is Sunflower92", "Sunflower92"),
        ("I changed my password to sunflower.", "sunflower"),
        ("J'ai changé mon mot de passe en Tournesol92", "Tournesol92"),
        ("He cambiado mi contraseña a Girasol88", "Girasol88"),
        ("Le mot de passe du wifi, c'est tournesol bleu", "tournesol bleu"),
        ("Das Passwort fürs WLAN: gartenzwerg", "gartenzwerg"),
        ("the wifi key is correct horse battery staple", "correct horse battery staple"),
        ("2FA backup codes 1234-5678, 8765-4321", "1234-5678, 8765-4321"),
        ("exp 12/27 cvv 123", "123"),
        ("Mijn wachtwoord is Zonnebloem92", "Zonnebloem92"),
        ("Moje hasło to Slonecznik92", "Slonecznik92"),
        ("мой пароль Подсолнух92", "Подсолнух92"),
        ("密码是Xylo9988", "Xylo9988"),
        ("パスワードはXylo9988です", "Xylo9988"),
        ("The password? It's Lavender77.", "Lavender77"),
        ("Lavender77 is my password", "Lavender77"),
        ("Lavendel77 ist mein Passwort", "Lavendel77"),
        ("Lavande77 est mon mot de passe", "Lavande77"),
        ("Lavanda77 es mi contraseña", "Lavanda77"),
        ("use Lavender77 to unlock my laptop", "Lavender77"),
        ("Username: bob\nPassword:\nLavender77", "Lavender77"),
        ("log in with bob:Lavender77!", "Lavender77!"),
        ("the new password is: Lavender77!", "Lavender77!"),
        ("export DB_PASS=Lavender77", "Lavender77"),
        ("sshpass -p 'Lavender77' ssh bob@host", "Lavender77"),
        ("mysql -u root -pLavender77 shop", "Lavender77"),
        ("Mein Geheimcode ist 4821", "4821"),
        ("Le code PIN de ma carte est le 4821", "4821"),
        ("the garage code's 4821", "4821"),
        ("La clé API du journal est 0a9b8c7d6e5f40312213f4e5d6c7b8a9", "0a9b8c7d6e5f40312213f4e5d6c7b8a9"),
        ("API key for the weather: 0a9b8c7d6e5f40312213f4e5d6c7b8a9", "0a9b8c7d6e5f40312213f4e5d6c7b8a9"),
        ("my seed words are " + " ".join(["apple", "river"] * 6), " ".join(["apple", "river"] * 6)),
        ("my seed phrase is: about above " + "apple " * 9 + "river", "about above " + "apple " * 9 + "river"),
        ("wallet recovery words: " + "apple " * 11 + "river", "apple " * 11 + "river"),
        ("Mitt lösenord är fjell42", "fjell42"),
        ("Passordet mitt er fjell42", "fjell42"),
        ("Adgangskoden til skuret er fjell42", "fjell42"),
        ("Salasanani on kallio42", "kallio42"),
        ("Pinkoden är 4821, och larmet är på", "4821"),
        ("Koden till dörren är 4821", "4821"),
        ("Kód ke dveřím je 4821", "4821"),
        ("Heslo k wifi: skala42", "skala42"),
        ("Пароль от вайфая skala42", "skala42"),
        ("Şifrem tepe42", "tepe42"),
        ("A jelszavam domb42", "domb42"),
        ("Ο κωδικός μου είναι vrachos42", "vrachos42"),
        ("Mật khẩu của tôi là nui42", "nui42"),
        ("Kata sandi saya adalah bukit42", "bukit42"),
        ("मेरा पासवर्ड pahad42 है", "pahad42"),
        ("كلمة المرور هي jabal42", "jabal42"),
        ("הסיסמה שלי היא giva42", "giva42"),
    ],
)
def test_secrets_as_people_tell_them(text: str, secret: str) -> None:
    assert redact(text) == text.replace(secret, REDACTED)


def test_a_line_of_the_words_of_a_wallet_is_a_secret() -> None:
    words = " ".join(["apple", "river", "stone", "cloud", "tiger", "lemon"] * 2)
    assert redact(f"Mine:\n{words}\nDone.") == "Mine:\n[redacted]\nDone."
    assert redact(f"{words} ocean") == f"{words} ocean"  # no wallet has 13
    numbered = " ".join(f"{at}. {word}" for at, word in enumerate(words.split(), start=1))
    assert redact(numbered) == "[redacted]"
    assert redact(words.replace("river", "thank")) == "[redacted]"  # one word that joins others, said twice


def test_codes_on_lines_of_their_own_are_secrets() -> None:
    assert redact("Recovery codes:\n1. abcd-efgh\n2. ijkl-mnop\nDone.") == "Recovery codes:[redacted]\n\n\nDone."


@pytest.mark.parametrize(
    "text",
    [
        "my order number is 4512 3456 7890 1235",
        "DE88 3704 0044 0532 0130 00 has wrong check digits",
        "the zip code is 94110",
        "the error code is 404",
        "the security code review is on 12 May",
        "The access code path in main.py line 120 is slow",
        "We use PIN 13 of the board",
        "GPIO pin 17 is the relay",
        "my social circle met on 2026-10-03",
        "My insurance policy ends in 2027",
        "the account manager is Anna",
        "the password is stored in 1Password",
        "my password is wrong",
        "Our login page is /login2024",
        "The password policy changed in 2024.",
        "We changed the password rules to a stricter set.",
        "The token bucket for the limiter is 12345678 wide",
        "The wifi key hangs on the fridge.",
        "Reset the passcode in Settings.",
        "My password manager is 1Password.",
        "The password hashing uses argon2id with 64 MB.",
        "user stories: alice / bob2",
        "a 16-character password is long enough",
        "commit a1b2c3d4 mends the password reset",
        "the password is hashed by argon2id since v2.13.1",
        "the password form is in login2.py",
        "the reset token lives for 3600 s in release 2024-spring",
        "we bought apples pears plums cherries figs dates and the rest",
        "wir gehen morgen dann also noch mal zum arzt und danach einkaufen",
        "nous allons demain chez ton oncle pour manger avec toute notre famille",
        "the first item",
        "Пароль меняли в 2024 году.",
        "Hasło ma 12 znaków i wygasa 12.03.2026.",
        "Lösenordet byttes 2026-03-01.",
        "La parola del giorno è covid19.",
        "Koden i repo kräver Python 3.11 och port 8080.",
        "key_for_the_user_2_table_name_long",
    ],
)
def test_words_that_only_sound_like_secrets_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("My pass\u200bword is fernweh8831.", "fernweh8831"),
        ("Das Kenn\u00adwort lautet moosgrau71", "moosgrau71"),
        ("My \uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44 is pumpernick554.", "pumpernick554"),
        ("My pass&#119;ord is fernweh8831.", "fernweh8831"),
        ("The password is\n\ngrindelwick45", "grindelwick45"),
        ("| user | **Password** |\n|---|:--|\n| bob | kaleido |\n\nend", "kaleido"),
        ("The recovery key for the disk is ABCD-EFGH-1234-JKLM-5678-NOPQ.", "EFGH-1234"),
        ("WIFI:T:WPA;S:home;P:kanzelbach;;", "kanzelbach"),
        ("export PAYMENT_KEY='zz-plonk-8872-abq'", "zz-plonk-8872-abq"),
    ],
)
def test_disguised_and_scattered_secrets_are_blanked(text: str, secret: str) -> None:
    shown = redact(text)
    assert secret not in shown
    assert shown.count("\n") == text.count("\n")
    assert redact(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "\uff21\uff22 and soft\u00adhyphens stay",
        "SSH_KEY=~/.ssh/id_ed25519_work",
        "The password is\n\nIntroduction",
        "| user | password length |\n|---|---|\n| bob | kaleido |",
        "| password |\n|---|\n|  |\n\n| user |\n|---|\n| bob |",
        "The backup key is on the shelf",
    ],
)
def test_disguises_without_a_secret_stay(text: str) -> None:
    assert redact(text) == text
