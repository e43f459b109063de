r"""Secrets in text -> `[redacted]`: keys, tokens, passwords and private keys in their usual shapes; pure.

The shapes of vendors' keys are those of gitleaks (`vendors.json`), and some of its rules shortened to prefix, alphabet and a
least length, for keys that were cut or invented. A shape that ordinary words could have must hold a digit. In doubt, text is
redacted: a lost word costs little. A bare hash or UUID stays, since people search for those.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from memory_core.text.folding import clean

REDACTED = "[redacted]"
_REFERENCE = re.compile(
    r"\$(?:[A-Z][A-Z0-9_]*|\{[A-Z][A-Z0-9_]*\})[\"'),;.]*|(?:os\.environ|os\.getenv|process\.env)\b\S*"
)


def redact(text: str) -> str:
    """Replace every secret in a text by `[redacted]`.

    The name of a secret stays (`password=[redacted]`), and so does a reference to an environment variable. Line ends stay
    where they are, so that lines keep their numbers. Redacting again changes nothing. A text whose secret is
    disguised comes back as its reader sees it.
    """
    while (redacted := _redact_once(text)) != text:  # one secret may have hidden another from its pattern
        text = redacted
    # Entities, full-width letters and invisible characters disguise a name from its pattern.
    if (seen := clean(text)) != text and seen.count("\n") == text.count("\n") and _redact_once(seen) != seen:
        return redact(seen)
    return text


def _redact_once(text: str) -> str:
    lowered = text.lower()
    for rule in (*_RULES, *_load_vendors()):
        if any(map(lowered.__contains__, rule.hints)):
            text = rule.pattern.sub(_replace_secret, text)
    if any(map(lowered.__contains__, _NEAR_HINTS)):
        text = "\n".join(map(_blank_made_up, _blank_columns(text.split("\n"))))
    return _ACCOUNT.sub(_replace_account, _WALLET.sub(_replace_wallet, text))


def _blank_made_up(line: str) -> str:
    """Blank the words of a line that nobody speaks, letters with digits, where the line names a password or token near them."""
    named = [(found.start(), found.lastgroup) for found in _near().finditer(line)]
    starts = [start for start, _ in named]

    def blank(found: re.Match[str]) -> str:
        near = named[bisect_left(starts, found.start() - NEAR) : bisect_right(starts, found.end() + NEAR)]
        least = min((TOKEN_CHARS if kind == "token" else 8 for _, kind in near), default=len(line) + 1)
        return REDACTED if len(found[0]) >= least and not _KNOWN.match(found[0]) else found[0]

    return _MADE_UP.sub(blank, line) if named else line


def _blank_columns(lines: list[str]) -> Iterator[str]:
    """Blank the cells of a table's columns whose head names a password or token."""
    named: list[int] | None = None  # outside a table
    for line in lines:
        cells = line.split("|") if line.lstrip().startswith("|") else []
        if not cells:
            named = None
        elif named is None:
            named = [place for place, cell in enumerate(cells) if _near().fullmatch(cell.strip(" \t*_`"))]
        else:
            for place in named:
                if place < len(cells) and cells[place].strip(" \t:-"):
                    cells[place] = f" {REDACTED} "
        yield "|".join(cells) if named and cells else line


def _replace_wallet(match: re.Match[str]) -> str:
    """Blank a line of as many words as a wallet has, of which hardly one joins others in a sentence."""
    from memory_core.text.languages import STOP_WORDS

    words = re.findall("[a-z]+", match[0])
    joining = sum(any(word in common for common in STOP_WORDS.values()) for word in {*words})
    return REDACTED if len(words) in WALLET_WORDS and joining < 2 else match[0]


def _replace_account(match: re.Match[str]) -> str:
    """Blank the number of a payment card or a bank account, if its check digits are right."""
    digits = re.sub(r"[ -]", "", match[0])
    return REDACTED if (_is_card(digits) if digits.isdigit() else _is_iban(digits)) else match[0]


def _is_card(digits: str) -> bool:
    """Return True if the last digit checks the others (ISO/IEC 7812, Luhn)."""
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0


def _is_iban(text: str) -> bool:
    """Return True if the two digits behind the country check the rest (ISO 13616, modulo 97)."""
    return int("".join(str(int(letter, 36)) for letter in text[4:] + text[:4])) % 97 == 1


def _replace_secret(match: re.Match[str]) -> str:
    secret = match["secret"]
    if _REFERENCE.fullmatch(secret):
        return match[0]
    start, end = match.start("secret") - match.start(), match.end("secret") - match.start()
    return match[0][:start] + REDACTED + "\n" * secret.count("\n") + match[0][end:]


@dataclass(frozen=True)
class _Rule:
    """One kind of secret.

    Attributes:
        hints: Lower-case strings; every text that the pattern matches holds at least one, and most texts hold none.
        expression: A regular expression whose group `secret` is replaced.
        flags: How it is compiled.
    """

    hints: tuple[str, ...]
    expression: str
    flags: re.RegexFlag

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when a text holds a hint."""
        return re.compile(self.expression, self.flags)


@cache
def _load_vendors() -> tuple[_Rule, ...]:
    """Return the rules for the keys of vendors."""
    document = json.loads(Path(__file__).with_name("vendors.json").read_bytes())
    return tuple(_Rule(tuple(rule["hints"]), rule["pattern"], re.NOFLAG) for rule in document["rules"])


def _rule(hints: str, pattern: str) -> _Rule:
    """Make the rule for a secret that is recognised by its context."""
    return _Rule(tuple(hints.split()), pattern, re.VERBOSE | re.IGNORECASE)


def _named(hints: str, name: str) -> tuple[_Rule, _Rule]:
    """Make the rules for a value that is recognised by its name: all between quotes, or else all up to a space."""
    quoted = r"""(?P<quote> \\?["'`] ) (?P<secret> (?: (?!(?P=quote)) (?:\\[^\n]|[^\n]) )+ ) (?=(?P=quote))"""
    bare = r"""(?! \\?["'`]\[redacted\] ) (?P<secret> \S+ )"""
    return _rule(hints, f"{name} {quoted}"), _rule(hints, f"{name} {bare}")


def _key(hints: str, shape: str) -> _Rule:
    """Make the rule for a secret that is recognised by its own letters; case counts."""
    return _Rule(tuple(hints.split()), rf"(?<![A-Za-z0-9])(?P<secret>{shape})", re.ASCII)


# ---- Words that somebody has made up, near the name of a secret: "Sunflower92 is my password".

NEAR = 70  # characters
TOKEN_CHARS = 20  # of a token, at least
_MADE_UP = re.compile(
    r"""(?<![\w./@#$-])(?=[^\s\d]{1,40}\d|\d{1,40}[A-Za-z])[^\s,;:?"'()<>\[\]{}/\\=.`]{8,200}(?![\w/@=(]|\.\w)"""
)
# Words of that form which are names: versions, "16-character", commits, algorithms, programs, days.
_KNOWN = re.compile(
    r"\A(?:v?\d+(?:[.-]\d+)+|\d+-[a-z]|[0-9a-f]{7,12}\b|1password|keepass|p[a4]ss|argon2|sha-?\d|md5|pbkdf2|oauth2|base\d\d|ed25519"
    r"|rsa\d|aes)",
    re.IGNORECASE,
)


@cache
def _near() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<password> {_PASSWORDS} | unlock ) | (?P<token> \b {_TOKENS} \b )", re.VERBOSE | re.IGNORECASE
    )


# ---- Secrets as people tell them, in English, German, French, Spanish, Italian and Portuguese.

_IS_TOLD = r"""(?: is | was | are | it's | ist | sind | lautet | war | das[ ]ist | est | sont | était | c'est | es | son | era | è
    | sono | é | são | foi | fue | to | auf | jest | это | är | er | [:=]>? )"""
_WORDS = (
    r"(?: [ \t]+ (?! (?:is|was|ist|lautet|est|es|è|é)\b ) [^\s\d:=]{1,20} ){0,6}?"  # "for the garage", "of our account"
)
# What a code opens, with its compounds: "Haustür", "garage door".
_LOCKS = r"""(?: door | gate | alarm | garage | entry | entrance | access | security | safe | lock | key[ ]?pad
    | pad[ ]?lock | bike
    | verification | recovery | backup | 2fa | sms | login | one-time | bank | card | sim | phone | voicemail | house
    | flat | apartment
    | office | building | shed | wi-?fi | wlan | router | laptop | computer | vault | elevator | gym | storage
    | t(?:ü|ue)r | wohnung | haus | tor | tresor | schloss | schließfach | spind | keller | büro | karte | handy | telefon | konto
    | zugang | eingang | aufzug | rechner | hof | porte | portail | coffre | cadenas | immeuble | entrée | maison
    | appartement | bureau
    | carte | téléphone | compte | casier | ordinateur | vélo | cave | accès | puerta | portal | garaje | caja[ ]fuerte | candado
    | edificio | entrada | casa | piso | oficina | tarjeta | teléfono | móvil | celular | cuenta | taquilla | ordenador
    | bici | acceso
    | porta | portone | cancello | cassaforte | lucchetto | palazzo | ingresso | ufficio | carta | bancomat | telefono
    | cellulare | conto
    | armadietto | accesso | portão | garagem | alarme | cofre | cadeado | prédio | apartamento | escritório | cartão | telefone
    | telemóvel | conta | armário | computador | acesso | двер | подъезд | домофон | сейф | ворот | гараж | карт | телефон )"""
_CODES = r"""(?: pin(?:[ -]code)? | (?<!area[ ])(?<!zip[ ])(?<!postal[ ])(?<!error[ ])(?<!country[ ]) (?:[\w-]{0,20}) code
    | codes | combination | combo | (?:zahlen)?kombination | geheimzahl | combinaison
    | digicode | código | codigo | clave | combinación | codice | combinazione | combinação | senha | код | пин (?:-?код)? )"""
_ONE_CODE = r"[*\#]? (?: \d [\dA-Z-]{2,11} (?:[ -]\d{2,4}){0,3} | \d\d (?:[ ]\d\d){1,3} ) [*\#]?"
_CODE = rf"(?P<secret> {_ONE_CODE} (?: [ ]? [,;/] [ ]? {_ONE_CODE} ){{0,15}} ) (?!\w)"
_CODE_HINTS = "pin code comb kombination geheimzahl código codigo clave codice senha код пин"
_PASSWORDS = r"""(?: p[a4@](?:ss|\$\$|ß)[ -]?(?:w[o0]r[dt]|code|wd|phrase)s? | pwd? | kennwort | mot[ ]de[ ]passe | mdp
    | contraseña
    | contrasena | clave | parola[ ]d'ordine
    | senha | palavra-passe | wachtwoord | парол[ья] | hasło | lösenord | adgangskode
    | (?: wi-?fi | wlan | wpa\d? | network | netzwerk ) [ -]? (?:key|code|schlüssel)
        | (?:clé|clave|chiave|chave)[ ](?:du|del|do)[ ]wi-?fi )
    (?! [ ](?: manager | rules? | polic(?:y|ies) | field | hash\w* | reset | generator | database | file | prompt | length
        | page | form ) )"""
_NAMED_HINTS = (
    "pass p4ss p@ss pa$$ paß pw kennwort mdp contrase clave parola senha wachtwoord парол hasło lösenord adgangskode"
    " wifi wi-fi wlan wpa network netzwerk"
)
_TOKENS = r"""(?: (?:api|access|auth|bearer|bot|refresh|security|private|secret|encryption|licen[cs]e|webhook|master|client|app)
    [ _-] (?:token|key|secret|schlüssel) | api-?schlüssel | (?:clé|clef)[ ](?:d['’])?api | clave[ ](?:de[ ])?(?:la[ ])?api
    | chiave[ ](?:dell['’])?api | chave[ ](?:da[ ])?api | token | credentials )"""
_NEAR_HINTS = f"{_NAMED_HINTS} unlock token key secret schlüssel credentials clé clef chiave chave".split()
_CHANGED = r"""(?: chang\w* | set | reset | updat\w* | renew\w* | geändert | änder\w* | gesetzt | wechsel\w* | gewechselt
    | modifi\w*
    | cambi\w* | actualic\w* | aggiorn\w* | mud\w* | alter\w* | troqu\w* | troc\w* )"""
_LOGINS = r"""(?: log[ -]?ins? | user(?:name)? | credentials? | zugang | zugangsdaten | anmeldedaten | identifiants? | accès
    | acceso
    | credenciales | accesso | credenziali | acesso | credenciais )"""
_PHRASES = r"""(?: (?:seed|recovery)[ ]phrase | wiederherstellungsphrase | phrase[ ]de[ ]récupération
    | frase[ ](?:semilla|de[ ]recuperación)
    | frase[ ]di[ ]recupero | frase[ ]de[ ]recuperação )"""
_OWN = r"""(?: my|our|his|her|their|the | mein|unser|sein|ihr|das|die | mon|notre|son|leur|le | mi|nuestra|su|la | mia|nostra|sua
    | minha|nossa|a|o )"""
_NO_VALUE = r"""(?! (?: wrong | not | too | the[ ]same | expired | weak | strong | saved | stored | in | on | incorrect
    | safe | long | short
    | required | still | now | being | reset | missing | lost | about | ok | fine | unknown | falsch | nicht | zu
    | abgelaufen | schwach | sicher
    | gespeichert | im | noch | jetzt | weg | lang | kurz | faux | fausse | pas | trop | expiré | incorrect[eo]? | dans
    | encore | perdu | sûr
    | no | demasiado | caducad[ao] | débil | guardad[ao] | en | segur[ao] | larg[ao] | cort[ao] | sbagliat[ao] | non
    | troppo | scadut[ao]
    | salvat[ao] | errad[ao] | não | muito | expirad[ao] | guardada
    | hashed | salted | encrypted | see | siehe | voir | ver | vedi | ask | stands? | the | that | dass | der | la | el | que
        | il )\b )"""
# Numbers of papers and accounts.
_PAPERS = r"""(?: (?: social[ ]security | national[ ]insurance | passport | driv(?:er'?s|ing)[ ]licen[cs]e | tax(?:payer)?[ ]id
    | (?:bank[ ])?account | routing | sort[ ]code | credit[ ]card | debit[ ]card | insurance[ ]policy | identity[ ]card ) [ ]
    (?:number|no\.?|nr\.?)
    | ssn | (?:reise)?passnummer | (?:personal)?ausweisnummer | kontonummer | kreditkartennummer | steuer(?:-id|nummer)
    | sozialversicherungsnummer
    | num[ée]ro[ ]de[ ](?:sécurité[ ]sociale|passeport|compte|carte)
    | número[ ]de[ ](?:(?:la[ ])?seguridad[ ]social|pasaporte|cuenta|tarjeta)
    | dni | nie | numero[ ](?:di|del)[ ](?:passaporto|conto|carta) | codice[ ]fiscale
    | número[ ](?:do|da)[ ](?:passaporte|conta|cartão) | cpf | nif )"""


def _spoken() -> tuple[_Rule, ...]:
    """Make the rules for secrets as people tell them: "the door code is 4471", "mein Passwort ist Schwertfisch"."""
    told = rf"(?: [ \t]* [:=\#]? [ \t]* | 's[ ] | {_WORDS} [ \t]+ {_IS_TOLD} [ \t]+ (?:le|der|die|das|el|la|il|o|a)?[ \t]* )"
    return (
        _rule(_CODE_HINTS, rf"\b [\w-]{{0,20}}? {_LOCKS} [\w-]{{0,8}} [ -]? {_CODES} {told} {_CODE}"),
        _rule(
            _CODE_HINTS,
            rf"""\b {_CODES} (?: [ \t]+ [^\s\d:=]{{1,20}} ){{0,4}}? [ \t]+ (?:\w{{1,3}}')? [\w-]{{0,20}}? {_LOCKS} \w{{0,8}}
            {told} {_CODE}""",
        ),
        _rule(  # "4471 opens the gate", "the gate opens with 4471"
            "open öffne auf ouvr abre apr",
            rf"""\b {_LOCKS} \w{{0,8}} {_WORDS} [ \t]+ (?: opens? | unlocks? | geht[ ]auf | öffnet (?:[ ]sich)? | s'ouvre
    | se[ ]abre | si[ ]apre | abre )
            [ \t]+ (?: with | mit | avec | con | com ) [ \t]+ {_CODE}""",
        ),
        _rule(
            _CODE_HINTS,
            rf"""(?<![\w.]) {_CODE} [ \t]+ {_IS_TOLD} (?: [ \t]+ [^\s\d:=.]{{1,20}} ){{0,6}}? [ \t]+ [\w-]{{0,20}}?
            (?: {_CODES} {_WORDS} [ \t]+ (?:\w'|\w\w')? [\w-]{{0,20}}? {_LOCKS} | {_LOCKS} [\w-]{{0,8}} [ -]? {_CODES} )""",
        ),
        _rule(
            "pin tan cvv cvc otp puk",
            rf"""\b (?:pin|tan|cvv2?|cvc2?|otp|puk) (?:[ -](?:code|number))?
            (?: [ \t]* [:=] [ \t]* | 's[ ] | [ ](?=\d{{4,8}}\b)
                | {_WORDS} [ \t]+ {_IS_TOLD} [ \t]+ (?:le|el|la|il|o)?[ ]? ) {_CODE}""",
        ),
        _rule(
            "social ssn",
            r"\b (?: ssn | social (?:[ ]security)? (?:[ ]number)? ) \b [^\n\d]{0,20} (?P<secret> \d{3}-\d\d-\d{4} ) (?!\w)",
        ),
        _rule(
            "combination geheimcode secret segreto",
            rf"""\b (?: combination | secret[ ]code | geheimcode | code[ ]secret | código[ ]secreto | codice[ ]segreto )
            {_WORDS} [ \t]+ {_IS_TOLD} [ \t]+ {_CODE}""",
        ),
        _rule(
            "number no nr ssn num númer dni nie fiscale cpf nif steuer",
            rf"""\b {_PAPERS} {told}
            (?! (?:is|was)\b ) (?P<secret> (?=[A-Z0-9 -]{{0,30}}\d) [A-Z0-9]{{2,20}} (?:[ -]?\d\w{{1,20}}){{0,6}}
            (?: [ -]? \d{{1,4}} [A-Z]? )? )""",
        ),
        _rule(
            _NAMED_HINTS,
            rf"""\b [\w-]{{0,20}}? {_PASSWORDS} {_WORDS} [ \t]+ {_IS_TOLD} [ \t]+
            (?P<secret> (?=\S{{0,60}}[\d!@\#$%^&*_]) [^\s.,;:?]{{4,60}} \S* )""",
        ),
        _rule(
            f"{_NAMED_HINTS} phrase frase",
            rf"""\b {_OWN}\w{{0,2}} [ ] (?:[\w-]{{1,20}}[ ]){{0,3}}? (?: [\w-]{{0,20}}? {_PASSWORDS}
    | {_PHRASES} ) {_WORDS} [ ] {_IS_TOLD} [ ]
            {_NO_VALUE} (?P<secret> [^\n.]{{3,}} )""",
        ),
        _rule(
            "login user credential zugang anmeldedaten identifiant acc acesso credencia",
            rf"""\b {_LOGINS} \b [^\n/]{{0,40}}? {_IS_TOLD} [ ] [\w.@-]{{1,60}} [ ]? / [ ]?
            (?P<secret> (?=\S{{0,60}}\d) \S{{5,}} )""",
        ),
        _rule(
            _NAMED_HINTS,
            rf"\b [\w-]{{0,20}}? {_PASSWORDS} (?: [ ] {_IS_TOLD} )? [ ]? :? [ ]? \n (?: [ \t]* \n (?= \S{{0,60}}\d ) )?"
            r" [ \t]* (?P<secret> \S{6,60} ) [ \t]* (?= \n | \Z )",
        ),
        _rule(
            "log sign",
            r"\b (?:log|sign)[ ]?in [ ] (?:with|as) [ ] [\w.@-]{1,60} [ ]? [:/] [ ]? (?P<secret> \S{5,60} )",
        ),
        _rule(  # "I changed the password to Sunflower"
            _NAMED_HINTS,
            rf"""\b {_CHANGED} \b (?: [ ] [^\s\d]{{1,20}} ){{1,4}}? [ ] [\w-]{{0,20}}? {_PASSWORDS} {_WORDS}
            [ ] (?: to | auf | zu | para
                | (?:in|en|a|por|per) (?=[ ]\S{{0,60}}\d) ) [ ] {_NO_VALUE} (?P<secret> [^\s.,;:?]{{4,60}} )""",
        ),
        _rule(  # "the password for the wifi: gartenzwerg"
            _NAMED_HINTS,
            rf"""\b {_OWN}\w{{0,2}} [ ] (?:[\w-]{{1,20}}[ ]){{0,3}}? [\w-]{{0,20}}? {_PASSWORDS} {_WORDS} [ ]? : [ ]
            {_NO_VALUE} (?P<secret> [^\n.]{{3,}} )""",
        ),
        _rule(  # of wallets
            "key wallet",
            r"\b (?: key | wallet ) [ ]? [:=]? [ ]? (?: is[ ] )? (?P<secret> (?:0x)? [0-9a-f]{64} ) (?!\w)",
        ),
        _rule(
            "key",
            rf"""\b (?: recovery | backup | rescue | bitlocker ) [ -] key \b {told}
            (?P<secret> [A-Z0-9]{{4,8}} (?: -[A-Z0-9]{{4,8}} ){{2,9}} )""",
        ),
        _rule("wifi:", r"\b WIFI: [^\n]{0,120}? \b P: (?P<secret> [^;\n]+ )"),  # as in QR codes
        _rule(
            "_key",
            r"""\b [A-Z][A-Z0-9_]{0,60}_KEY = ["']? (?P<secret> (?! [~./] ) (?= [^\s"']{0,200}\d ) [^\s"'/]{12,} )""",
        ),
        _rule(
            "seed recovery",
            r"""\b (?: seed (?:[ ](?:words?|phrase))? | recovery[ ](?:words?|phrase) ) [ ]? (?:is|are)? [ ]? :? [ ]?
            (?P<secret> (?: (?:\d{1,2}[.)][ ]?)? [a-z]{3,8} [ ] ){11,23} (?:\d{1,2}[.)][ ]?)? [a-z]{3,8} )""",
        ),
        _rule(
            "code",
            r"""\b (?: recovery | backup | 2fa | one-time | wiederherstellungs | ersatz ) [ -]? codes? [ ]? :? [ ]?
            (?P<secret> (?: \n [ \t]* (?: [-*] | \d{1,2}[.)] )? [ \t]* [\w-]{6,30} (?= [ \t]* (?:\n|\Z) ) ){1,20} )""",
        ),
        _rule(
            "sshpass mysql mariadb docker redis-cli smbclient ldap",
            r"""\b (?: sshpass | mysql\w* | mariadb\w* | docker[ ]login | redis-cli | smbclient | ldap\w+ ) \b [^\n]{0,120}?
            [ ] -[paw] [ ]? ["']? (?P<secret> [^\s"']{4,} )""",
        ),
        _rule("pass pw", rf"(?: \b | _ ) (?: pass | pw ) {_IS} {_LIKELY.format(6)}"),
        _rule("cvv cvc puk otp", rf"\b (?: cvv2? | cvc2? | puk | otp ) [ ] {_CODE}"),
        _rule(
            "密码 密碼 パスワード 暗証番号 비밀번호",
            r"""(?: 密[码碼] | パスワード | 暗証番号 | 비밀번호 ) [^\s：:=]{0,12}? (?: 是 | 为 | 為 | は | 는 | 은 | ： | : )
            [ ]? (?P<secret> [!-~]{4,60} )""",
        ),
    )


# A digit further on in the same word. Bounds in lookaheads and before a mark keep hostile text from taking quadratic time.
_DIGIT = r"(?=[\w.~+/=-]{0,200}\d)"

_KEYS = (
    _key("sk-", rf"sk-{_DIGIT}[\w-]{{16,}}"),  # OpenAI, Anthropic, OpenRouter, DeepSeek and others
    _key("k_ whsec_", rf"[sr]k_(?:live|test|prod)_\w{{10,}}|sk_{_DIGIT}\w{{32,}}|whsec_[\w+/=]{{16,}}"),  # Stripe
    _key("aiza gocspx- ya29. aq.", r"AIza[\w-]{30,}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}|AQ\.[\w-]{30,}"),  # Google
    _key("ghp_ gho_ ghs_ ghu_ ghr_ github_pat_", r"gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"),
    _key("gl", r"gl(?:pat|ptt|dt|rt|rtr|cbt|ft|oas|imt|agent|soat|ffct|sa)[-_][\w.=-]{16,}"),  # GitLab, Grafana
    _key("xox xapp-", r"xox[a-z](?:\.xox[a-z])?-[\w-]{10,}|xapp-\d-[\w-]{10,}"),  # Slack
    _key("hooks.slack.com", r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/+-]{20,}"),
    _key("/api/webhooks/", r"(?<=/api/webhooks/)\d{10,}/[\w-]{30,}"),  # Discord
    _key(".", r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}"),  # Discord's bots
    _key(":", r"\d{8,10}:[A-Za-z][\w-]{33,}"),  # Telegram's bots
    _key("a3t akia asia abia acca", r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),  # AWS
    _key("npm_ hf_ gsk_ ntn_ secret_", rf"(?:npm|hf|gsk|ntn|secret)_{_DIGIT}\w{{20,}}"),
    _key("pplx- tvly- nvapi- xai- pa-", rf"(?:pplx|tvly|nvapi|xai|pa)-{_DIGIT}[\w-]{{24,}}"),
    _key("r8_ sbp_ fw_ jina_ phc_ phx_ lsv2_", rf"(?:r8|sbp|fw|jina|ph[cx]|lsv2_[ps]t)_{_DIGIT}\w{{20,}}"),
    _key("pypi- hvs. sntrys_ _v1_", r"pypi-[\w-]{50,}|hvs\.[\w-]{24,}|sntrys_[\w+/=]{30,}|do[opr]_v1_\w{40,}"),
    _key("figd_ lin_api_ shp dapi", r"(?:figd_|lin_api_)[\w-]{20,}|(?:shp(?:at|ca|pa|ss)_|dapi)[A-Fa-f0-9]{32}"),
    _key("sg. ltai age-", r"SG\.[\w-]{16,}\.[\w-]{16,}|LTAI[A-Za-z0-9]{12,}|AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    _key(
        "dckr_ atatt3 fm1 fm2", r"dckr_[po]at_[\w-]{16,}|ATATT3[\w=-]{20,}|fm[12][ar]?_[\w+/=-]{20,}"
    ),  # Docker, Atlassian, Fly
    _key("key- eaa", r"key-[0-9a-f]{32}(?![0-9a-f])|EAA[A-Z][A-Za-z0-9]{30,}"),  # Mailgun, Facebook
    _key("5 k l", r"[5KL][1-9A-HJ-NP-Za-km-z]{50,51}(?![A-Za-z0-9])"),  # wallets of Bitcoin
    _key("eyj", r"eyJ[\w-]{8,2000}\.[\w-]{8,}(?:\.[\w-]*){0,3}"),  # JSON Web Tokens
)

# A line of short words alone, as a wallet is written down: https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki
_WALLET = re.compile(r"^(?:(?:\d\d?[.)] ?)?[a-z]{3,8} ){11,23}(?:\d\d?[.)] ?)?[a-z]{3,8}$", re.MULTILINE)
WALLET_WORDS = (12, 15, 18, 21, 24)

# The numbers of cards, which begin with 2, 4, 5, 6 or 34, 37, and of bank accounts, in groups or in one.
_ACCOUNT = re.compile(
    r"(?<![\w.-])(?:(?:[2456]\d{3}[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}|3[47]\d{2}[ -]?\d{6}[ -]?\d{5})"
    r"|[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)(?![\w-])",
    re.ASCII,
)

_NAME = r"""(?: pass(?:word|wort|wd|code|phrase)s? | pwd | kennwort | contraseña | senha | mot\ de\ passe
    | пароль | 密码 | 密碼 | パスワード | 비밀번호 | credentials?
    | api[\ _.-]?(?:key|token|secret) | secret[_\ -]?access[_\ -]?key
    | (?:secret|access|account|private|signing|encryption|license|master)[_\ -]?key(?:[_\ -]id)?
    | (?:client|app|webhook|shared|consumer)[_\ -]?secret
    | (?:access|refresh|auth|bearer|session|bot|app|id|personal|oauth|csrf|xsrf|deploy)[_\ -]?token )"""
_NAME_HINTS = "pass pwd kennwort contrase senha пароль 密 パスワード 비밀번호 credential key secret token"
_IS = r"""[\\"'`*_)\]]{0,4} [ \t]{0,8} (?> => | :=? | ==? | ： | ＝ ) [ \t*_]{0,8}+"""
_LIKELY = r"""\\?["'`]? (?P<secret> (?=[^\s"'`\\]{{0,200}}\d) [^\s"'`\\]{{{},}} )"""
_AUTHORIZATION = r"""authorization [\\"']{0,2} [ \t]{0,4} [:=] [ \t]{0,4} [\\"']{0,2}"""

_RULES = (
    _rule(
        "-----begin",
        r"""(?P<secret> -----BEGIN\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----
        (?: [^-]*+(?:-(?!----)[^-]*+)*+ -----END\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----
        | (?: (?:\s|\\[nr]|>){0,9} [A-Z0-9+/=]{16,} )* (?: \n [A-Z0-9+/=]{4,} (?= \n
            | \Z ) )? ) )""",  # if the end is missing, all that looks like a key
    ),
    _rule(
        "akia asia",  # the other half of an AWS key has no mark of its own
        r"""(?<![A-Z0-9]) A[KS]IA[A-Z0-9]{16} [\s,:;|/"'=]{1,8} (?P<secret> [A-Z0-9/+]{40} (?![A-Z0-9/+]) )""",
    ),
    *_KEYS,
    _rule("://", r"(?<=://) [^\s:/?\#@]* : (?P<secret> [^\s/?\#]+ ) (?=@)"),
    _rule("://", rf"(?<=://) (?P<secret> {_DIGIT} [\w-]{{20,}} ) (?=@)"),
    _rule(
        "authorization",
        rf"{_AUTHORIZATION} (?:basic|bearer|token|negotiate|api-?key|key) [ \t]+ (?P<secret> [^\s\\\"',;]+ )",
    ),
    _rule(
        "authorization",
        rf"{_AUTHORIZATION} (?:digest|hawk|aws4-hmac-sha256|oauth|signature) [ \t]+ (?P<secret> [^\n]+ )",
    ),
    _rule("authorization", rf"{_AUTHORIZATION} (?P<secret> {_DIGIT} [\w.~+/=-]{{12,}} )"),
    _rule("bearer", rf"\b bearer [ \t]+ (?P<secret> {_DIGIT} [\w.~+/=-]{{12,}} | [\w.~+/=-]{{24,}} )"),
    _rule("cookie", r"\b cookie [\"']? : [ \t]* (?P<secret> [^\s=]{1,200}=[^\n]+ )"),
    _rule(
        "phrase mnemonic",
        rf"\b (?: passphrase | (?:seed|recovery)[_\ -]?phrase | mnemonic ) {_IS} (?P<secret> [^\s*_][^\n]* )",
    ),
    *_named(_NAME_HINTS, rf"{_NAME} \w{{0,24}} {_IS}"),
    *_named("--", rf"(?<!\S) -- (?: {_NAME} | token | secret | auth ) [=\ \t]+"),
    _rule("secret token auth", rf"(?: secret | token | auth ) {_IS} {_LIKELY.format(8)}"),
    _rule(
        "pass pwd key token secret",
        r"""\b (?: password | passwd | passcode | passphrase | pwd | api[\ _-]?key | token | secret )
        [ \t]+ (?:is|was|are|to) [ \t]+ """
        + _LIKELY.format(6),
    ),
    *_spoken(),
    _rule("-u --user", r"""(?<!\S) (?:-u|--user) [ \t=]* ["']? [^\s:"']+ : (?P<secret> [^\s"']+ )"""),
)
