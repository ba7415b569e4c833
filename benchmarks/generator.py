"""Payloads that nothing was tuned on, drawn by kind of text and shape from a seed.

No threshold of the engine may be chosen by looking at these. If one ever is, give the generator
another default seed and other kinds, and say so in ``docs/performance.md``.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks.cases import Case, an_array, an_object, case, sentence, text

if TYPE_CHECKING:
    from collections.abc import Callable

#: The seed of a run that names none.
SEED = 411_207

_FRENCH = (
    "le jardin où l’été dernier nous avons planté trois rosiers a été arrosé à midi par ma sœur "
    "très tôt déjà fenêtre forêt çà garçon Noël maïs août naïve être côté élève goût pâte après"
).split()
_RUSSIAN = (
    "поливай папоротник до полудня и поверни его к окну затем запиши сколько новых листьев "
    "спроси о земле закажи два мешка передвинь стол налево покрась полку ещё раз съезд объём"
).split()
_PERSIAN = "گیاه را پیش از ظهر آب بده و به سوی پنجره بچرخان سپس بنویس چند برگ تازه دارد".split()
_CHINESE = "请在中午之前给蕨类植物浇水然后把它转向窗户记下新叶子的数量询问土壤订购两袋左边桌子，。"
_JAPANESE = (
    "正午までにシダに水をやり窓のほうへ向けてください新しい葉の数を書きとめて土を二袋注文する、。"
)
_EMOJI = ("😀", "🌱", "🪴", "👍🏽", "❤️", "☀️", "👩‍🌾", "🇫🇷", "ok", "yes!", "later", "🎉🎉")
_INVISIBLE = "\u200b\u00ad\ufeff\u2060\u202e\u200d\ufe0f\u2028\x0b\x7f\u3164"
_MARKDOWN = (
    "# {}\n\n",
    "- {}\n",
    '> "{}"\n',
    "1. **{}**\n",
    "`{}`\n\n",
    "{}\n",
    "\t{}\n",
    "{}  \n",
)
_CODE = (
    'if (a < {0} && b > {0}) {{ return "{0}"; }}\n',
    "\tconst {0} = list.map(x => x & 0xff);\n",
    '<li class="{0}">{0} &amp; more</li>\n',
    "path = r'C:\\{0}\\{0}.txt'\n",
)


def _words(words: list[str]) -> Callable[[Random, int], str]:
    def draw(rng: Random, length: int) -> str:
        made = ""
        while len(made) < length:
            made += rng.choice(words) + " "
        return made[:length]

    return draw


def _letters(letters: str) -> Callable[[Random, int], str]:
    return lambda rng, length: "".join(rng.choices(letters, k=length))


def _lines(patterns: tuple[str, ...]) -> Callable[[Random, int], str]:
    def draw(rng: Random, length: int) -> str:
        made = ""
        while len(made) < length:
            made += rng.choice(patterns).format(sentence(rng, rng.randint(6, 60)))
        return made[:length]

    return draw


def _emoji(rng: Random, length: int) -> str:
    made = ""
    while len(made) < length:
        made += rng.choice(_EMOJI) + " "
    return made[:length]


def _dirty(rng: Random, length: int) -> str:
    """English in which now and then something invisible stands, or a line break of another kind."""
    letters = list(sentence(rng, length))
    for _ in range(max(1, length // 80)):
        letters[rng.randrange(length)] = rng.choice(_INVISIBLE)
    return "".join(letters)[: length - 2] + "\r\n"


def _mixed(rng: Random, length: int) -> str:
    """English with a few typographic signs, as word processors write it."""
    letters = list(sentence(rng, length))
    for _ in range(max(1, length // 25)):
        letters[rng.randrange(length)] = rng.choice("–’“”…é€")
    return "".join(letters)


_KINDS: dict[str, Callable[[Random, int], str]] = {
    "English": sentence,
    "English, typographic": _mixed,
    "Markdown": _lines(_MARKDOWN),
    "code": _lines(_CODE),
    "French": _words(_FRENCH),
    "Russian": _words(_RUSSIAN),
    "Persian": _words(_PERSIAN),
    "Chinese": _letters(_CHINESE),
    "Japanese": _letters(_JAPANESE),
    "emoji": _emoji,
    "dirty": _dirty,
}


def _body(rng: Random, draw: Callable[[Random, int], str]) -> tuple[dict[str, Any], dict[str, Any]]:
    schema = an_object({"title": text(200), "body": text(20_000)})
    length = rng.randint(1_000, 8_000)
    return schema, {"title": draw(rng, rng.randint(10, 80)), "body": draw(rng, length)}


def _list(rng: Random, draw: Callable[[Random, int], str]) -> tuple[dict[str, Any], dict[str, Any]]:
    schema = an_object({"lines": an_array(text(400), 500), "after": text(40)}, ("after",))
    lines = [draw(rng, rng.randint(8, 140)) for _ in range(rng.randint(20, 200))]
    return schema, {"lines": lines}


def _records(
    rng: Random, draw: Callable[[Random, int], str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    states = ["open", "waiting", "done"]
    record = an_object(
        {
            "name": text(120),
            "state": {"type": "string", "enum": states},
            "place": {"type": "integer", "minimum": 0, "maximum": 500},
            "note": text(500),
        },
        ("note",),
    )
    schema = an_object({"items": an_array(record, 200)})
    items: list[dict[str, Any]] = []
    for place in range(rng.randint(15, 80)):
        item = {"name": draw(rng, rng.randint(6, 40)), "state": rng.choice(states), "place": place}
        if rng.random() < 0.4:
            item["note"] = draw(rng, rng.randint(20, 200))
        items.append(item)
    return schema, {"items": items}


_SHAPES = {"body": _body, "lines": _list, "records": _records}


def _tiny(rng: Random, draw: Callable[[Random, int], str]) -> Case:
    return case("", "", an_object({"text": text(500)}), {"text": draw(rng, rng.randint(12, 60))})


def _tags(rng: Random, *, dirty: bool) -> Case:
    tags = [sentence(rng, rng.randint(3, 12)) for _ in range(rng.randint(300, 700))]
    if dirty:
        tags[rng.randrange(len(tags))] += "\u200b"
    return case("", "", an_object({"tags": an_array(text(20), 1_000)}), {"tags": tags})


def _flat(rng: Random, given: int) -> Case:
    names = [f"field_{place}" for place in range(24)]
    kinds = (text(60), {"type": "integer"}, {"type": "boolean"})
    schema = an_object({name: kinds[at % 3] for at, name in enumerate(names)}, tuple(names))
    values = (lambda: sentence(rng, 20), lambda: rng.randint(-5_000, 5_000), lambda: True)
    chosen = sorted(rng.sample(range(24), given))
    return case("", "", schema, {names[at]: values[at % 3]() for at in chosen})


def _sparse(rng: Random) -> Case:
    member = {"type": "number", "minimum": -1_000, "maximum": 1_000}
    names = [f"m{place}" for place in range(12)]
    row = an_object(dict.fromkeys(names, member), tuple(names))
    rows = [
        {name: rng.randint(-900, 900) + 0.5 for name in names if rng.random() < 0.3}
        for _ in range(rng.randint(60, 160))
    ]
    return case("", "", an_object({"rows": an_array(row, 400)}), {"rows": rows})


def _numbers(rng: Random) -> Case:
    schema = an_object({"grid": an_array(an_array({"type": "integer"}, 40), 40)})
    grid = [[rng.randint(-999, 999) for _ in range(24)] for _ in range(24)]
    return case("", "", schema, {"grid": grid})


def _named(given: Case, name: str, *, escaped: bool = False) -> Case:
    data = json.dumps(given.value, separators=(",", ":")).encode() if escaped else given.data
    return Case(name, name, given.schema, given.value, data)


def payloads(seed: int = SEED) -> tuple[Case, ...]:
    """At least 30 payloads; the same seed gives the same ones, on every Python."""
    made: list[Case] = []
    for kind, draw in _KINDS.items():
        for shape, build in _SHAPES.items():
            name = f"{kind}, {shape}"
            made.append(case(name, name, *build(Random(f"{seed}/{name}"), draw)))
    for name, build_one in {
        "one line of English": lambda rng: _tiny(rng, sentence),
        "one line of French": lambda rng: _tiny(rng, _KINDS["French"]),
        "one line with a line feed": lambda rng: _tiny(rng, _KINDS["Markdown"]),
        "short tags": lambda rng: _tags(rng, dirty=False),
        "short tags, one dirty": lambda rng: _tags(rng, dirty=True),
        "24 optional fields, all given": lambda rng: _flat(rng, 24),
        "24 optional fields, 5 given": lambda rng: _flat(rng, 5),
        "sparse objects": _sparse,
        "a grid of integers": _numbers,
    }.items():
        made.append(_named(build_one(Random(f"{seed}/{name}")), name))
    # The same words as escapes, as many JSON writers put them.
    for kind in ("French", "Chinese"):
        name = f"{kind}, lines, escaped"
        schema, value = _list(Random(f"{seed}/{name}"), _KINDS[kind])
        made.append(_named(case("", "", schema, value), name, escaped=True))
    return tuple(made)
