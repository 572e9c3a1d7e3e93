"""The screens and the API, one module each, named as in their address."""

from fastapi import APIRouter

from davy.serve.pages import (
    account,
    api,
    audit,
    consent,
    health,
    home,
    invitation,
    jobs,
    keys,
    label,
    people,
    posts,
    project,
    projects,
    rest,
    score,
    sign_in,
    watch,
)
from davy.serve.pages import static as static_files

ROUTERS: tuple[APIRouter, ...] = (
    home.router,
    projects.router,
    project.router,
    consent.router,
    label.router,
    rest.router,
    watch.router,
    sign_in.router,
    invitation.router,
    people.router,
    account.router,
    keys.router,
    jobs.router,
    audit.router,
    score.router,
    posts.router,
    api.router,
    health.router,
    static_files.router,
)
