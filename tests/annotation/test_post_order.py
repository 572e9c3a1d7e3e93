"""Hard posts are spread out; every order is a real one and the same seed gives the same."""

import random
from itertools import pairwise

import pytest

from davy.annotation.labelling.store.items import random_order
from davy.annotation.project.post_allocation import spread_severe


@pytest.mark.parametrize(
    "severities", [[], [1], [0, 0], [1, 1, 1], [0] * 97 + [1] * 3, [0, 1] * 50, [2, 1, 0] * 40, [0] + [1] * 9]
)
def test_each_place_is_given_once(severities):
    for seed in range(20):
        places = spread_severe(severities, seed=seed)
        assert sorted(places) == list(range(len(severities)))
        assert list(places) == list(spread_severe(severities, seed=seed))


def test_each_place_is_given_once_whatever_the_shares():
    chance = random.Random(4)
    for _ in range(300):
        severities = [chance.choice([0, 0, 1, 2, 3]) for _ in range(chance.randrange(1, 60))]
        assert sorted(spread_severe(severities, seed=1)) == list(range(len(severities)))


def test_hard_posts_keep_their_distance_where_chance_would_put_them_in_a_row():
    chance = random.Random(5)
    severities = [int(number < 100) for number in range(1000)]
    chance.shuffle(severities)

    def gaps(places):
        hard = sorted(place for place, severity in zip(places, severities, strict=True) if severity)
        return [after - before for before, after in pairwise(hard)]

    assert min(gaps(spread_severe(severities, seed=1))) >= 5
    assert max(gaps(spread_severe(severities, seed=1))) <= 15
    assert min(gaps(random_order(1000, 1))) == 1


def test_fine_severities_are_taken_in_steps():
    chance = random.Random(2)
    severities = [chance.random() for _ in range(20_000)]
    places = spread_severe(severities, seed=1)
    assert sorted(places) == list(range(20_000))
    hardest = sorted(place for place, severity in zip(places, severities, strict=True) if severity > 7 / 8)
    assert max(after - before for before, after in pairwise(hardest)) < 16


def test_other_seeds_give_other_orders_and_the_rest_is_by_chance():
    severities = [0] * 200 + [1] * 20
    one, two = spread_severe(severities, seed=1), spread_severe(severities, seed=2)
    assert list(one) != list(two)
    assert sum(a < b for a, b in pairwise(one)) == pytest.approx(110, abs=25)
