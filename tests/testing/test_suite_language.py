"""The suite language: templates, slots, agreement, tests of three kinds, stable ids, and every kind of broken file."""

import textwrap

import pytest

from davy.core import UserError
from davy.testing import suites
from davy.testing.suites import expansion

SMALL = """\
name: small
version: 1
lexicons:
  group:
    - {name: bakers, target: bakers, text: bakers, one: a baker, emoji: 🧑‍🍳}
    - {name: cooks, target: cooks, text: cooks, one: a cook, emoji: 🍳}
  mood: [😡, 🤮]
functionalities:
  - name: append
    title: Append
    label: hateful
    labels: {no emoji: not hateful}
    templates:
      - id: a-1
        text: "{Group} came by {mood}"
        identity: "The post came by {mood}"
        polarity: "{Group} came by 😊"
        no emoji: "{Group} came by"
"""


@pytest.fixture
def write(tmp_path):
    def written(text, name="small.yaml"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return written


def messages(path):
    return [str(problem).removeprefix(str(path)) for problem in suites.read(path).problems]


def test_a_template_is_filled_with_every_set_of_entries(write):
    suite = suites.load(write(SMALL))
    texts = {(case.set, case.text): case for case in suite.cases}
    assert len(texts) == 4 + 2 + 2 + 2
    assert texts["original", "Bakers came by 😡"].expected == "hateful"
    assert texts["original", "Bakers came by 😡"].target == "bakers"
    assert texts["identity", "The post came by 🤮"].expected == "not hateful"
    assert texts["identity", "The post came by 🤮"].target is None
    assert texts["no emoji", "Cooks came by"].expected == "not hateful", "the functionality says so"
    assert len(suite.links) == 4 * 3
    assert suite.titled("append") == "Append"


def test_ids_stay_when_templates_and_entries_are_added_and_texts_are_mended(write):
    before = {case.id for case in suites.load(write(SMALL)).cases}
    grown = SMALL.replace("  mood: [😡, 🤮]", "  mood: [🤢, 😡, 🤮]").replace("came by 😊", "dropped in 😊")
    grown = grown.replace("    templates:\n", '    templates:\n      - {id: a-0, text: "{Group} again {mood}"}\n')
    after = {case.id for case in suites.load(write(grown)).cases}
    assert before < after


def test_words_agree_in_number_and_case_with_what_stands_in_a_slot(write):
    german = """\
    name: deutsch
    version: 1
    lang: de
    lexicons:
      ding:
        - {text: die Katze, dativ: der Katze, geschlecht: f, zahl: eins}
        - {text: der Hund, dativ: dem Hund, geschlecht: m, zahl: eins}
        - {text: die Pferde, dativ: den Pferden, geschlecht: f, zahl: viele}
    functionalities:
      - name: f
        label: hateful
        templates:
          - id: t
            text: "{Ding} {ding.zahl? eins: ist, viele: sind} laut, mit {ding.dativ} lebt man gern"
    """
    texts = [case.text for case in suites.load(write(german)).cases]
    assert texts == [
        "Die Katze ist laut, mit der Katze lebt man gern",
        "Der Hund ist laut, mit dem Hund lebt man gern",
        "Die Pferde sind laut, mit den Pferden lebt man gern",
    ]


def test_letters_are_replaced_as_the_spelling_says(write):
    text = """\
    name: leet
    version: 1
    lexicons:
      leet:
        - {name: number, spell: {a: 4, e: 3, s: 5}}
        - {name: star, spell: {vowel: "*"}}
    functionalities:
      - name: f
        label: hateful
        templates:
          - {id: t, text: "we {'spurn'~leet} {'Eating'~leet}"}
    """
    assert [case.text for case in suites.load(write(text)).cases] == ["we 5purn 3ating", "we sp*rn *ating"]


def test_fills_fit_only_where_their_conditions_are_met(write):
    text = """\
    name: fit
    version: 1
    lexicons:
      who: [{text: ants, tags: small}, bears]
      how: [{text: loud, not: small}, {text: tiny, only: small}, plain]
    functionalities:
      - name: f
        label: hateful
        templates:
          - {id: t, text: "{who} {how}"}
          - {id: u, text: "just {who}", without: small}
    """
    texts = [case.text for case in suites.load(write(text)).cases]
    assert texts == ["ants tiny", "ants plain", "bears loud", "bears plain", "just bears"]


def test_invariance_and_direction_tests_are_compared_with_their_original(write):
    text = """\
    name: kinds
    version: 1
    sets: {typo: {test: INV}, praise: {test: DIR, expect: lower}}
    functionalities:
      - name: f
        label: hateful
        templates:
          - {id: t, text: "a bad thing", typo: "a bda thing", praise: "a bad thing, much loved"}
    """
    original, typo, praise = suites.load(write(text)).cases
    assert (typo.test, typo.expected, typo.pair) == ("INV", "same", original.id)
    assert (praise.test, praise.expected, praise.pair) == ("DIR", "lower", original.id)


def test_counts_that_change_by_accident_are_problems_with_their_line(write):
    declared = SMALL + "counts:\n  cases: 10\n  templates: 1\n  cells:\n    append: {original: 4, identity: 3}\n"
    found = messages(write(declared))
    assert len(found) == 3
    assert found[0].startswith(":23:")
    assert "append × identity is declared as 3, but the suite makes 2" in found[0]
    assert "append × polarity is declared as 0, but the suite makes 2" in found[1]


BROKEN = [
    ('"{Group} came by 😊"', '"{Gruop} came by 😊"', 17, "there is no lexicon of that name. Did you mean 'group'?"),
    ("  mood: [😡, 🤮]", "  mood: []", 15, "slot {mood} has no fills left"),
    ('"{Group} came by 😊"', '"{Group.two} came by 😊"', 17, "has no form 'two'"),
    ('"{Group} came by 😊"', '"{Group came by 😊"', 17, "a brace is not closed"),
    ('"{Group} came by 😊"', '"{Group} came by 😡"', 17, "expects 'not hateful' where that expects 'hateful'"),
    ('polarity: "{Group}', 'polarty: "{Group}', 17, "no field 'polarty'"),
    ("label: hateful", "label: nasty", 14, "'nasty' is not a label of 'hate'"),
    ("version: 1", "version: one", 2, "must be a whole number"),
]


@pytest.mark.parametrize(("old", "new", "line", "said"), BROKEN, ids=[said[:30] for *_, said in BROKEN])
def test_what_is_wrong_is_named_with_file_and_line(write, old, new, line, said):
    found = messages(write(SMALL.replace(old, new, 1)))
    assert any(message.startswith(f":{line}: ") and said in message for message in found), found


def test_a_broken_template_leaves_the_rest_standing_and_is_named_as_missing(write):
    more = SMALL + '      - {id: a-2, text: "{nobody} came by"}\n'
    suite = suites.load(write(more))
    assert len(suite.cases) == 10
    assert len(suite.missing) == 1
    assert "small.yaml:19" in suite.missing[0]


def test_two_templates_of_one_id_and_one_text_twice_are_problems(write):
    more = SMALL + '      - {id: a-1, text: "x"}\n      - {id: a-3, text: "Cooks came by"}\n'
    found = messages(write(more.replace("labels: {no emoji: not hateful}", "labels: {no emoji: hateful}")))
    assert any("Two templates have the id 'a-1'" in message for message in found)
    assert any(
        message.startswith(":20:") and "makes a text that template 'a-1', no emoji" in message for message in found
    )


ENTRIES_TWICE = [
    "[{name: b, text: bakers}, {name: b, text: cooks}, {name: c, text: clerks}]",
    "{file: groups.tsv, columns: [name, text]}",
]


@pytest.mark.parametrize("lexicon", ENTRIES_TWICE)
def test_of_two_entries_with_one_name_the_first_stays_and_the_slip_has_its_line(write, tmp_path, lexicon):
    (tmp_path / "groups.tsv").write_text("b\tbakers\nb\tcooks\nc\tclerks\n")
    text = f"name: twice\nversion: 1\nlexicons:\n  group: {lexicon}\n"
    text += 'functionalities:\n  - name: f\n    label: hateful\n    templates: [{id: t, text: "{group} again"}]\n'
    reading = suites.read(write(text))
    assert [case.text for case in reading.suite.cases] == ["bakers again", "clerks again"]
    (problem,) = reading.problems
    assert problem.line == 4
    assert "two entries called" in str(problem)


def test_a_fill_that_is_listed_twice_makes_one_case(write):
    text = SMALL.replace("      - id: a-1\n", "      - id: a-1\n        fills: {mood: [😡, 😡]}\n")
    assert len(suites.load(write(text)).cases) == 2 + 1 + 2 + 2


def test_a_twin_is_left_out_with_the_original_that_it_is_compared_with(write):
    text = """\
    name: twins
    version: 1
    sets: {typo: {test: INV}, other: {label: other}}
    functionalities:
      - name: f
        label: hateful
        templates:
          - {id: t, text: "a bad thing"}
          - id: u
            text: "a bad thing"
            typo: "a bda thing"
            other: "a good thing"
    """
    reading = suites.read(write(text))
    assert [case.text for case in reading.suite.cases] == ["a bad thing", "a good thing"]
    assert reading.suite.links == ()
    assert [(problem.line, problem.message) for problem in reading.problems] == [
        (10, "template 'u' makes a text that template 't' on line 8 makes too."),
        (11, "template 'u', typo is compared with an original that is left out."),
    ]


def test_links_join_only_cases_that_the_suite_has(write):
    text = """\
    name: part
    version: 1
    lexicons: {group: [bakers, cooks]}
    sets: {typo: {test: INV}}
    functionalities:
      - name: f
        label: hateful
        templates:
          - id: t
            text: "{group} again"
            fills: {group: [bakers]}
            typo: {text: "{group} agian", fills: {group: [bakers, cooks]}}
    """
    suite = suites.load(write(text))
    assert {each for link in suite.links for each in link} <= {case.id for case in suite.cases}


def test_a_template_that_would_make_too_many_cases_is_refused(write):
    many = ", ".join(f"w{i}" for i in range(200))
    text = f"name: big\nversion: 1\nlexicons: {{a: [{many}], b: [{many}]}}\n"
    text += "functionalities:\n  - name: f\n    label: hateful\n"
    text += '    templates: [{id: t, text: "{a} {b}"}, {id: u, text: fine}]\n'
    found = messages(write(text))
    assert "would make up to 40000 cases" in found[0]


def templates(n, text, **more):
    """Return so many templates of one text, as YAML."""
    words = "".join(f"\n        {name}: {value!r}" for name, value in more.items())
    return "".join(f"\n      - id: t-{i}\n        text: 'no. {i}: {text}'{words}" for i in range(n))


def suite_of(found, entries=100, word="x"):
    listed = ", ".join(f"{word}{i}" for i in range(entries))
    return f"""name: wide
version: 1
lexicons:
  one: [{listed}]
  two: [{listed}]
functionalities:
  - name: append
    label: hateful
    templates:{found}
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (suite_of(templates(6, "{one} {two}")), "The suite would make up to 60,000 cases; the most is 50,000."),
        (suite_of(templates(300, "{one} and", identity="{two} and")), "up to 60,000 cases; the most is 50,000."),
        (suite_of(templates(1, "{one} {two}" + "{one}" * 200), word="x" * 20), "characters together; the most is"),
        (suite_of(templates(1, "{one} {two}" + "x" * 3_000)), "characters together; the most is 20,000,000."),
    ],
    ids=["many templates", "many perturbations", "long fills", "long texts"],
)
def test_a_suite_that_would_be_too_large_makes_no_case_at_all(write, monkeypatch, text, says):
    def expand(*_):
        raise AssertionError("no case should be made")

    monkeypatch.setattr(expansion, "expand", expand)
    reading = suites.read(write(text))
    (problem,) = reading.problems
    assert (says in problem.message, problem.line) == (True, 6)
    assert reading.suite.cases == ()
    assert reading.suite.missing == (str(problem),)


def test_more_pairs_of_cases_than_can_be_held_are_refused_and_the_rest_stands(write):
    found = templates(1, "{one} here", identity="{two} here") + "\n      - {id: plain, text: only this}"
    reading = suites.read(write(suite_of(found, entries=500)))
    assert [problem.message[:70] for problem in reading.problems] == [
        "template 't-0': with it the suite would have more than 200,000 pairs o"
    ]
    assert [case.text for case in reading.suite.cases] == ["only this"]


@pytest.mark.parametrize("name", suites.names())
def test_suites_that_ship_stay_far_below_the_bounds(name, monkeypatch):
    for bound in ("MOST", "MOST_IN_SUITE", "MOST_CHARACTERS", "MOST_LINKS"):
        monkeypatch.setattr(expansion, bound, getattr(expansion, bound) // 5)
    assert suites.read(name).problems == ()


def test_a_file_that_is_no_suite_is_one_clear_error(write, tmp_path):
    with pytest.raises(UserError, match=r"The file is empty"):
        suites.load(write("", "empty.yaml"))
    with pytest.raises(UserError, match=r"There is no suite 'emoji-em'.*Did you mean 'emoji-en'"):
        suites.load("emoji-em")
    with pytest.raises(UserError, match="is a folder"):
        suites.load(tmp_path)
    with pytest.raises(UserError, match="no file"):
        suites.load(tmp_path / "none.yaml")


def test_words_from_an_encoded_file_are_masked_and_never_named_in_problems(write, tmp_path):
    from davy.text.lexicons.read import encode_line

    (tmp_path / "w.lexicon").write_text("# words\n" + encode_line("w1\tgrumblefop\tgrumblefops\tbakers") + "\n")
    text = """\
    name: enc
    version: 1
    lexicons:
      slur: {file: w.lexicon, columns: [name, text, many, target]}
    functionalities:
      - name: f
        label: hateful
        templates:
          - {id: t, text: "you {slur}"}
          - {id: u, text: "you {slur.few}"}
    """
    path = write(text)
    suite = suites.load(path)
    assert [case.text for case in suite.cases] == ["you grumblefop"]
    assert suite.cases[0].target == "bakers"
    assert suites.masker(suite)("you Grumblefop!") == "you Gr*mblefop!"
    assert "grumblefop" not in " ".join(messages(path))


def test_a_word_list_that_can_t_be_decoded_is_a_problem_with_its_line(write, tmp_path):
    (tmp_path / "w.lexicon").write_text("not base64 at all\n")
    text = """\
    name: enc
    version: 1
    lexicons:
      slur: {file: w.lexicon, columns: [name, text]}
      gone: {file: ../w.lexicon, columns: [name, text]}
    functionalities:
      - name: f
        label: hateful
        templates: [{id: t, text: "you {slur}"}, {id: u, text: "you"}]
    """
    found = messages(write(text))
    assert any(message.startswith(":4: ") and "can't be read" in message for message in found)
    assert any(message.startswith(":5: ") and "beside the suite" in message for message in found)
