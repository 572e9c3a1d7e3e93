"""Every code block of docs/serve is run by a test, or is on a short list with its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from page_blocks import SERVE, blocks

ROOT = Path(__file__).parents[2]
CLIENTS, GUIDES = "tests/moderation/test_client_examples.py", "tests/server/test_serve_guides.py"
COMMUNITIES = "tests/moderation/test_moderation_guides.py"
LEAVING = "tests/moderation/test_leaving_perspective.py::test_a_team_leaves_perspective"

RUN_BY = {
    "clients.md": {
        "curl": f"{CLIENTS}::test_curl_gets_scores_in_both_shapes",
        "import os": f"{CLIENTS}::test_python_gets_scores",
        "const response": f"{CLIENTS}::test_javascript_gets_scores",
        '{"community": "forum", "decisions"': LEAVING,
        '{"community": "forum", "reviews"': LEAVING,
        '{"community": "forum", "appeals"': LEAVING,
        "import hashlib": f"{CLIENTS}::test_the_webhooks_example_believes_what_we_sign_and_nothing_else",
    },
    "communities.md": {"": f"{COMMUNITIES}::test_the_page_on_communities"},
    "jobs.md": {
        "$ davy job list": f"{GUIDES}::test_the_page_on_jobs",
        "from davy.jobs": f"{GUIDES}::test_the_job_of_the_page_on_jobs_runs",
    },
    "migrate-from-perspective.md": {
        "# before": f"{COMMUNITIES}::test_address_and_key_are_all_that_changes_in_code",
        "davy migrate compare": f"{COMMUNITIES}::test_a_log_becomes_thresholds_and_a_community",
        'model: "embedded"': f"{COMMUNITIES}::test_a_log_becomes_thresholds_and_a_community",
        "davy key list": f"{COMMUNITIES}::test_a_log_becomes_thresholds_and_a_community",
    },
    "perspective.md": {"": "tests/moderation/test_perspective_page.py::test_every_block_of_the_page_runs"},
    "running.md": {"$ davy": f"{GUIDES}::test_the_page_on_running_a_server"},
    "scale.md": {"": "tests/engines/test_scale_page.py::test_the_page_on_shards_and_clusters"},
    "serving.md": {
        "$ davy serve": f"{GUIDES}::test_the_servers_of_the_page_on_serving_start",
        "$ davy model": f"{GUIDES}::test_the_detectors_of_the_page_on_serving",
        "$ curl": f"{GUIDES}::test_the_requests_of_the_page_on_serving",
        '{"model"': f"{GUIDES}::test_the_requests_of_the_page_on_serving",
    },
    "store.md": {
        "$ davy database": f"{GUIDES}::test_the_databases_page",
        "$ davy user": f"{GUIDES}::test_the_databases_page",
        "davy database backup": f"{GUIDES}::test_a_database_moves_to_postgresql",
        "davy: sqlite": f"{GUIDES}::test_an_older_database_is_refused_in_the_words_of_the_page",
        "davy project export": f"{GUIDES}::test_a_project_goes_to_another_database",
        "from davy.people": f"{GUIDES}::test_the_library_lines_of_the_databases_page",
    },
}
"""By page and the beginning of a block: the test that runs it. The empty beginning: a test of the whole page."""
NOT_RUN = {
    "serving.md": {"davy.example.org {": "configures Caddy, which the machine of the tests does not have"},
}


@pytest.mark.parametrize("page", sorted(page.name for page in SERVE.glob("*.md")))
def test_every_code_block_is_run_or_has_its_reason(page):
    known = {**RUN_BY.get(page, {}), **NOT_RUN.get(page, {})}
    firsts = [block.text.splitlines()[0] for block in blocks(page)]
    assert [first for first in firsts if not any(first.startswith(it) for it in known)] == []
    assert [it for it in known if not any(first.startswith(it) for first in firsts)] == []


def test_the_tests_that_run_blocks_exist():
    tests = {test for known in RUN_BY.values() for test in known.values()}
    for path, _, name in (test.partition("::") for test in sorted(tests)):
        assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"), name
