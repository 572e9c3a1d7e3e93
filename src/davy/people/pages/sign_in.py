"""Signing in and out.

An unknown login, a wrong password and an account that is switched off get the same answer in about the same time. A
session's token is always new, so that one planted before sign-in is worth nothing after it. A stranger who guesses at
an account uses up its tries. Its owner has tries of their own on a browser that signed in before (OWASP's device
cookies), so that nobody can be kept out from elsewhere.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

import secrets
from datetime import timedelta

from fastapi import APIRouter
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from davy.people.pages.visitor import Anyone, Form, check_rate, client_address, field, find_visitor
from davy.people.passwords import check_password, needs_rehash, rehash_password
from davy.people.store import sessions, users
from davy.people.store.users import User
from davy.store import events
from davy.web import cookies, render
from davy.web.context import context_of
from davy.web.i18n import LANGUAGES

router = APIRouter(include_in_schema=False)


def remember_device(request: Request, response: Response, user_id: str) -> None:
    """Mark this browser as one on which the person knows their password."""
    cookies.write(request, response, "device", _signer(request).dumps([user_id, secrets.token_hex(8)]))


def sign_in_rate_key(request: Request, user_id: str | None, login: str) -> tuple[str, str]:
    """Return the rate limit of a try to sign in: this browser's own where it is known, else the account's."""
    cookie = cookies.read(request, "device")
    if cookie and user_id is not None:
        try:
            owner, device = _signer(request).loads(cookie, max_age=cookies.YEAR)
        except (BadSignature, ValueError, TypeError):
            owner = device = None
        if owner == user_id:
            return "sign-in device", str(device)
    return "sign-in account", login


def _signer(request: Request) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(context_of(request).settings.secret_key, salt="device")


@router.get("/sign-in")
def ask(request: Request, who: Anyone, next: str = "/") -> Response:
    """Return the sign-in page; who is signed in already goes on."""
    if who.account:
        return RedirectResponse(render.own_path(next), 303)
    return _page(request, next)


@router.post("/sign-in")
def sign_in(request: Request, who: Anyone, form: Form) -> Response:
    """Start a session if login and password match, and go on to where the person wanted to be."""
    login, password = field(form, "login", most=2000), str(form.get("password") or "")
    next_path = render.own_path(field(form, "next", most=2000))
    context = context_of(request)
    check_rate(request, "sign-in address", client_address(request))
    with context.store.read() as db:
        account = users.by_login(db, login)
    kind, name = sign_in_rate_key(request, account.id if account else None, users.fold_login(login)[:254])
    check_rate(request, kind, name)
    right = check_password(password, account.password_hash if account else None)
    if not right or account is None or account.disabled:
        _note_refusal(request, account)
        words = render.translator_of(request)
        return _page(request, next_path, login=login[:254], wrong=words("sign_in.wrong"), status=401)
    context.limiter.forget(kind, name)
    if account.password_hash and needs_rehash(account.password_hash):
        fresh = rehash_password(password)
        with context.store.write() as db:
            users.rehash_password(db, account.id, fresh)
    chosen = cookies.read(request, "lang")
    if chosen in LANGUAGES and chosen != account.language:
        # Chosen on this browser before signing in: the newer wish.
        with context.store.write() as db:
            users.set_language(db, account.id, str(chosen), by=account.id)
    return start_session(request, account, render.redirect(request, next_path))


@router.post("/sign-out")
def sign_out(request: Request, who: Anyone, form: Form) -> Response:
    """End this session."""
    if who.account and who.session_id:
        with context_of(request).store.write() as db:
            sessions.end(db, who.session_id, by=who.account.id)
    response = render.redirect(request, "/", "signed_out")
    cookies.clear(request, response, "session")
    return response


def start_session(request: Request, account: User, response: Response) -> Response:
    """Sign an account in on this browser: a new session, whatever cookies came with the request."""
    context = context_of(request)
    hours = timedelta(hours=context.settings.session_hours)
    client = _shown_client(request.headers.get("user-agent", ""))
    before = find_visitor(request)
    with context.store.write() as db:
        if before.account and before.session_id:
            sessions.end(db, before.session_id, by=before.account.id)
        sessions.sweep(db)
        _, token = sessions.start(db, account.id, client=client, lasts=hours)
    context.metrics.count("sign_ins")
    cookies.write(request, response, "session", token, lasts=int(hours.total_seconds()))
    cookies.clear(request, response, "visitor")
    remember_device(request, response, account.id)
    return response


def _note_refusal(request: Request, account: User | None) -> None:
    """Keep a wrong password in the audit of the account that it was for; the rate limits bound how many there are."""
    context = context_of(request)
    context.metrics.count("sign_ins_refused")
    if account is not None:
        with context.store.write() as db:
            events.record(db, by=events.SYSTEM, what="sign-in refused", about=f"user {account.id}")


def _page(request: Request, next_path: str, *, login: str = "", wrong: str = "", status: int = 200) -> Response:
    people = context_of(request).settings.demo_accounts
    return render.page(
        request, "sign_in.html", status=status, next=render.own_path(next_path), login=login, wrong=wrong, people=people
    )


def _shown_client(agent: str) -> str:
    """Return a browser's name for people, such as `Firefox, Linux`; programs by their own short name."""
    # Order matters: Edge and Opera also say Chrome, Chrome also says Safari.
    browsers = {"Edg/": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari"}
    systems = {
        "Android": "Android",
        "iPhone": "iPhone",
        "iPad": "iPad",
        "Windows": "Windows",
        "Mac OS": "macOS",
        "Linux": "Linux",
    }
    browser = next((name for mark, name in browsers.items() if mark in agent), None)
    system = next((name for mark, name in systems.items() if mark in agent), None)
    if browser is None:
        return "".join(c for c in agent if c.isprintable()).partition(" ")[0][:40] or "?"
    return f"{browser}, {system}" if system else browser
