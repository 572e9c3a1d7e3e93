"""What tests of `davy check` share: a small suite of harmless sentences."""

import textwrap

import pytest

from davy.testing import suites

SMALL = """\
name: small
version: 1
title: A small suite
lexicons:
  group:
    - {text: bakers, target: bakers, emoji: 🥖}
    - {text: cooks, target: cooks, emoji: 🍳}
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
  - name: swap
    title: Swap
    label: hateful
    templates:
      - id: s-1
        text: "Away with {group.emoji}"
        identity: "Away with 🌧️"
        polarity: "Hooray for {group.emoji}"
        no emoji: "Away with {group}"
"""


@pytest.fixture
def small_file(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(textwrap.dedent(SMALL), encoding="utf-8")
    return path


@pytest.fixture
def small(small_file):
    return suites.load(small_file)
