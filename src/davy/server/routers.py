"""The screens and the API, one module each, named as in their address."""

from fastapi import APIRouter

from davy.annotation.care.pages import care, consent, hours, picture_report, survey
from davy.annotation.exchange.pages import exports
from davy.annotation.labelling.pages import label, my_answers
from davy.annotation.project.pages import (
    add_posts,
    channel,
    guideline,
    images,
    phase,
    phase_settings,
    posts,
    project,
    project_api,
    project_settings,
    projects,
    roster,
    watch,
)
from davy.annotation.settling.pages import calibration, discussion, expert, expert_many, open_coding, verdicts
from davy.challenges.pages import (
    challenge,
    challenge_analysis,
    challenge_api,
    challenge_organise,
    challenge_team,
    challenges,
)
from davy.memes.pages import (
    library,
    meme_build,
    meme_confound,
    meme_drawing,
    meme_families,
    meme_figures,
    meme_filter,
    memes,
)
from davy.moderation.pages import api, comments, communities, detectors, moderations
from davy.people.pages import (
    account,
    audit,
    confirm,
    invitation,
    keys,
    my_data,
    password_reset,
    people,
    retention,
    sign_in,
)
from davy.rounds.pages import attack, round_close, round_contrast, round_entry, rounds
from davy.runs.pages import job_runs, jobs, score, suites, train
from davy.scheme_editor.pages import scheme, schemes
from davy.server.pages import health
from davy.web.pages import static as static_files

ROUTERS: tuple[APIRouter, ...] = (
    label.router,  # the first ones are asked most: a request is compared with route after route
    api.router,
    comments.router,
    moderations.router,
    projects.router,
    schemes.router,
    scheme.router,
    project.router,
    add_posts.router,
    roster.router,
    round_close.router,
    rounds.router,
    round_entry.router,
    round_contrast.router,
    guideline.router,
    project_settings.router,
    project_api.router,
    consent.router,
    discussion.router,
    care.router,
    hours.router,
    channel.router,
    survey.router,
    my_answers.router,
    my_data.router,
    open_coding.router,
    watch.router,
    exports.router,
    challenges.router,  # before the one challenge, since `new` is no name
    challenge.router,
    challenge_team.router,
    challenge_organise.router,
    challenge_analysis.router,
    challenge_api.router,
    job_runs.router,  # before the trainings, since `runs` and `suites` are none
    suites.router,
    train.router,
    attack.router,
    expert_many.router,  # before `expert/{case_id}`
    expert.router,
    verdicts.router,
    phase.router,
    phase_settings.router,
    calibration.router,
    sign_in.router,
    confirm.router,
    invitation.router,
    password_reset.router,
    people.router,
    account.router,
    keys.router,
    detectors.router,
    communities.router,
    jobs.router,
    audit.router,
    retention.router,
    score.router,
    posts.router,
    images.router,
    library.router,
    memes.router,
    meme_filter.router,
    meme_build.router,
    meme_confound.router,
    meme_families.router,
    meme_figures.router,
    meme_drawing.router,
    picture_report.router,
    health.router,
    static_files.router,
)
